"""nest-beside: two loops that follow each other become the two iterations of one loop around them.

    nest.for "i" %i = 0 to 100 {
      nest.store "a" %v, %a[%i]
    }
    nest.for "j" %j = 0 to 400 {
      nest.store "b" %v, %b[%j]
    }

becomes

    nest.for "i_j" %w = 0 to 2 {
      nest.for "i" %i = 0 to -100 * %w + 100 {          // of the first iteration
        nest.store "a" %v, %a[%i]
      }
      nest.for "j" %j = -400 * %w + 400 to 400 {        // of the second one
        nest.store "b" %v, %b[%j]
      }
    }

All statements run in the order in which they did, so no dependence forbids it; whether the new loop can be parallel, so that
two threads do different things, is for nest-parallel to prove. What is between the loops moves before them, when it
computes or allocates. Refused for loops of unknown extents, and where something else is between them. OpenMP's
`sections`; Halide's `async` for whole functions; TVM, Exo and NNC have none.
"""

from __future__ import annotations

from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.accesses import FRESH, VIEWS
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.loops import fresh_names, simplify_bounds

PAIR = "pair"


def why_not_beside(first: ForOp, second: ForOp) -> NestorError | None:
    """The diagnostic that refuses to put two loops beside each other, None when it is legal."""
    for loop in (first, second):
        if (refusal := refuse_marked(loop, PAIR)) is not None:
            return refusal
        if len(loop.lower) != 1 or len(loop.upper) != 1 or loop.constant_trip_count() is None:
            return fail(
                loop,
                f'cannot pair the loop "{loop.label}": its iterations are not known in number',
                hint="cut it at a constant first",
            )
    if first is second or first.parent is not second.parent or not first.is_before_in_block(second):
        return fail(
            first,
            f'cannot pair the loops "{first.label}" and "{second.label}": the second one does not '
            "follow in the same body",
            notes=[(second, "the second loop is here")],
        )
    op = first.next_op
    while op is not None and op is not second:
        if not is_side_effect_free(op) and not isinstance(op, (*FRESH, *VIEWS)):
            return fail(
                first,
                f'cannot pair the loops "{first.label}" and "{second.label}": '
                "something other than computations is between them",
                hint="move it before the first loop, or after the second one",
                notes=[(op, "here")],
            )
        op = op.next_op
    return None


def beside(first: ForOp, second: ForOp) -> ForOp:
    """Make two loops the iterations of a new one around them, which is returned."""
    if (refusal := why_not_beside(first, second)) is not None:
        raise refusal
    block = first.parent
    assert block is not None
    while (op := first.next_op) is not second:
        assert op is not None
        op.detach()
        block.insert_op_before(op, first)
    (name,) = fresh_names(first, f"{first.label}_{second.label}")
    around = ForOp(name, AffineList.of(0), AffineList.of(2))
    around.location = first.location
    block.insert_op_before(around, first)
    for loop in (first, second):
        simplify_bounds(loop)
        loop.detach()
        around.body.block.add_op(loop)
    which = AffineList.of(around.iv)
    extent = _length(first)
    first.set_bounds(first.lower, first.upper.minus(which.times(extent)))
    extent = _length(second)
    second.set_bounds(second.lower.add(extent).minus(which.times(extent)), second.upper)
    return around


def _length(loop: ForOp) -> int:
    """What the upper bound is above the lower one, in whole steps."""
    trips = loop.constant_trip_count()
    assert trips is not None
    return trips * loop.step_value
