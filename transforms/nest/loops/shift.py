"""nest-shift: the variable of a loop runs over other numbers.

    nest.for "i" %i = 1 to %n {
      ... %x[%i - 1] ...
    }

becomes with by=-1

    nest.for "i" %i = 0 to %n - 1 {
      ... %x[%i] ...
    }

Iterations and their order stay, so nothing forbids it and a mark stays right. From Python `by` may also be an
index value or an affine expression that is known before the loop. It brings two loops to equal bounds, before
they are fused. `shift_loop` in Exo (by the new lower bound); Halide, TVM and NNC have no name for it.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.loop_bounds import as_point, refuse_unknown
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp
from ..rewrite.loops import replace_index


def why_not_shift(loop: ForOp, by: AffineList | SSAValue | int) -> NestorError | None:
    """The diagnostic that refuses the shift, None when it is legal."""
    if (refusal := refuse_unknown(loop, "shift", by)) is not None:
        return refusal
    # an unrolled loop has constant bounds
    return (
        refuse_marked(loop, "shift") if loop.kind == "unrolled" and as_point(by).constants() is None else None
    )


def shift(loop: ForOp, by: AffineList | SSAValue | int) -> ForOp:
    """Let the variable of `loop` be `by` larger in each iteration."""
    if (refusal := why_not_shift(loop, by)) is not None:
        raise refusal
    shift_by(loop, as_point(by))
    return loop


def shift_by(loop: ForOp, by: AffineList) -> None:
    """Add `by` to both bounds, and take it off where the variable is used."""
    loop.set_bounds(add_to_all(loop.lower, by), add_to_all(loop.upper, by))
    replace_index(loop.iv, AffineList.of(loop.iv).minus(by))


def add_to_all(bounds: AffineList, by: AffineList) -> AffineList:
    """Every expression plus the one expression `by`."""
    return AffineList.of(*(bounds[k].plus(by) for k in range(len(bounds))))
