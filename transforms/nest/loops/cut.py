"""nest-cut: one loop into two, the first of which runs a given number of iterations.

    nest.for "i" %i = 2 to %n {
      ... %x[%i] ...
    }

becomes with at=3

    nest.for "i.0" %a = 2 to min(%n, 5) {
      ... %x[%a] ...
    }
    nest.for "i.1" %b = 5 to %n {
      ... %x[%b] ...
    }

`at` counts iterations; from Python it may also be an index value or an affine expression. A cut outside of the
range leaves one of the loops empty. Cutting keeps the order of iterations, so no dependence forbids it. Refused
where the lower bound is a max of several expressions: the cut is counted from it. `cut_loop` in Exo, `sliceHead`
in NNC, `loop_partition` in TVM and `partition` in Halide (which choose the point themselves).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.loop_bounds import as_point, largest, refuse_several, refuse_unknown, smallest
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp
from ....dialects.nest.common import name_hint_of
from ..rewrite.loops import fresh_names, rename_copies


def why_not_cut(loop: ForOp, at: AffineList | SSAValue | int) -> NestorError | None:
    """The diagnostic that refuses the cut, None when it is legal."""
    return (
        refuse_marked(loop, "cut") or refuse_unknown(loop, "cut", at) or refuse_several(loop, "cut", "lower")
    )


def cut(loop: ForOp, at: AffineList | SSAValue | int) -> tuple[ForOp, ForOp]:
    """Cut `loop` after `at` iterations: the loop before and the one after the cut. `loop` becomes the second."""
    if (refusal := why_not_cut(loop, at)) is not None:
        raise refusal
    return cut_as(loop, as_point(at), *fresh_names(loop, f"{loop.label}.0", f"{loop.label}.1"))


def cut_as(loop: ForOp, at: AffineList, first_name: str, second_name: str) -> tuple[ForOp, ForOp]:
    """Cut `loop` without a check, and name the two loops."""
    lower, upper = largest(loop.lower, loop), loop.upper
    point = lower.plus(at.times(loop.step_value))
    rename(loop, second_name)  # first: a loop inside of the copy is not to get this name
    before = copy_before(loop, first_name)
    before.set_bounds(lower, smallest(upper.concat(point), loop))
    loop.set_bounds(largest(lower.concat(point), loop), upper)
    return before, loop


def copy_before(loop: ForOp, name: str) -> ForOp:
    """A copy of `loop` in front of it; it and the loops inside get names of their own."""
    return _place(loop, name, before=True)


def copy_after(loop: ForOp, name: str) -> ForOp:
    """A copy of `loop` behind it; it and the loops inside get names of their own."""
    return _place(loop, name, before=False)


def _place(loop: ForOp, name: str, before: bool) -> ForOp:
    copy, block = loop.clone(), loop.parent
    assert block is not None
    rename(copy, name)
    if before:
        block.insert_op_before(copy, loop)
    else:
        block.insert_op_after(copy, loop)
    rename_copies(copy)
    return copy


def rename(loop: ForOp, name: str) -> None:
    """Give `loop` and its variable another name; a loop that has it already keeps its variable's."""
    if loop.label != name:
        loop.set_label(name)
        loop.iv.name_hint = name_hint_of(name)
