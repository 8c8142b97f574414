"""nest-reverse: run the iterations of a loop from the last to the first.

    nest.for "i" %i = 1 to %n {
      ... %x[%i] ...
    }

becomes

    nest.for "i" %i = 1 to %n {
      ... %x[%n - %i] ...
    }

The bounds stay, and the variable is replaced by the mirrored one. Refused when the loop carries a dependence
(reductions in any order do not count), when something in it can fail, and where the last iteration is not one
affine expression: a lower bound that is a max or an upper bound that is a min. Halide, TVM, Exo and NNC have no
name for it.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import may_fail, trip_count
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.sets.loop_bounds import refuse_several
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.loops import replace_index, simplify_bounds


def why_not_reverse(loop: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to reverse `loop`, None when it is legal."""
    refusal = (
        refuse_marked(loop, "reverse")
        or refuse_several(loop, "reverse", "lower")
        or refuse_several(loop, "reverse", "upper")
    )
    if refusal is not None:
        return refusal
    if (op := may_fail(loop)) is not None:
        return fail(
            loop,
            f'cannot reverse the loop "{loop.label}": an error must be that of the first iteration in program order',
            hint="nest-prove-bounds removes the checks that cannot fail",
            notes=[(op, "this check can fail")],
        )
    first = (dependences or Dependences(loop)).first_ordered(loop, lambda reduction: True)
    if first is None:
        return None
    return fail(
        loop,
        f'cannot reverse the loop "{loop.label}": {first.describe()}',
        notes=first.notes,
    )


def reverse(loop: ForOp, dependences: Dependences | None = None) -> ForOp:
    """Turn the order of iterations of `loop` around."""
    if (refusal := why_not_reverse(loop, dependences)) is not None:
        raise refusal
    simplify_bounds(loop)
    trips = trip_count(loop)
    assert trips is not None
    last = loop.lower.plus(trips.add(-1).times(loop.step_value))
    replace_index(loop.iv, loop.lower.plus(last).minus(AffineList.of(loop.iv)))
    return loop
