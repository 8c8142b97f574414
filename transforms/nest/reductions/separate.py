"""nest-separate-reductions: reductions in loops over rows are nests of their own, and what they reduce to is an array.

    nest.for "i" %i = 0 to %n {
      %s = nest.alloc "s" : memref<f64>
      nest.store "s" %zero, %s[]
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %s[]
      }
      %b = nest.load %s[]
      nest.store "y" %b, %y[%i]
    }

becomes

    %s = nest.alloc "s"(%n) : memref<?xf64>
    nest.for "i" %i = 0 to %n {
      nest.store "s" %zero, %s[%i]
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %s[%i]
      }
    }
    nest.for "i.1" %i = 0 to %n {
      %b = nest.load %s[%i]
      nest.store "y" %b, %y[%i]
    }

With `perfect` nothing but loops is around an update, so that `nest-restrict-relative` can look at it: what the reduction
starts from is set by a loop before, and what is computed for each row is computed for each element.

    nest.for "i" %i = 0 to %n { nest.store "s" %zero, %s[%i] }
    nest.for "i.2" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %s[%i]
      }
    }

Before `nest-restrict`, by which sums along an axis in several chunks are made in parts. It is `nest-expand-buffer`, then
`nest-distribute`, where these are legal; other reductions stay where they are, and those of a step in the loop over steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import enclosing_loops, functions, is_inside
from ....analysis.nest.sets.accesses import may_alias, root_of
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, YieldOp
from ..loops.distribute import distribute, pieces_of, why_not_distribute
from ..loops.unroll_steps import is_step
from ..memory.expand_buffer import expand_buffers, why_not_expand_buffer


def separate_reductions(function: FuncOp) -> None:
    """Give reductions in loops nests of their own, in place."""
    for update in [op for op in function.walk() if isinstance(op, AccumulateOp)]:
        while made := _makers_in_a_loop(update):
            loop = enclosing_loops(made[0])[-1]
            if is_step(loop) or any(why_not_expand_buffer(alloc, loop, together=made) for alloc in made):
                break
            expand_buffers(made, loop)
        _make_nest(update)


def _makers_in_a_loop(update: AccumulateOp) -> list[AllocOp]:
    """What makes the buffers of a reduction, where that is in one loop for all of them."""
    makers = [buffer.owner for buffer in update.memrefs if isinstance(buffer.owner, AllocOp)]
    loops = {enclosing_loops(alloc)[-1] if enclosing_loops(alloc) else None for alloc in makers}
    return makers if len(makers) == len(update.memrefs) and len(loops) == 1 and None not in loops else []


def _make_nest(update: AccumulateOp) -> None:
    """Cut the outermost loop behind a reduction, as long as something follows in it."""
    loops = enclosing_loops(update)
    if not loops or any(isinstance(o := b.owner, AllocOp) and enclosing_loops(o) for b in update.memrefs):
        return
    loop: ForOp = loops[0]
    pieces = pieces_of(loop)
    place = next(k for k, piece in enumerate(pieces) if piece is update or is_inside(update, piece))
    if place + 1 < len(pieces) and why_not_distribute(loop, place + 1) is None:
        distribute(loop, place + 1)


def make_perfect(update: AccumulateOp) -> bool:
    """Leave nothing but loops around an update, in place; whether that is so now. Refusals leave legal loops as they are."""
    loops = enclosing_loops(update)
    if not loops:
        return False
    pieces = pieces_of(loops[0])
    place = next(k for k, piece in enumerate(pieces) if piece is update or is_inside(update, piece))
    if place:
        if why_not_distribute(loops[0], place) is not None:
            return False
        distribute(loops[0], place)
        loops = enclosing_loops(update)
    return all(_sink_computations(outer, inner, update) for outer, inner in pairwise(loops))


def _sink_computations(outer: ForOp, inner: ForOp, update: AccumulateOp) -> bool:
    """Move what a loop computes beside an inner one into that."""
    ops = [op for op in outer.body.block.ops if op is not inner and not isinstance(op, YieldOp)]
    written = [root_of(buffer) for buffer in update.memrefs]
    for op in ops:
        is_load = isinstance(op, LoadOp) and not any(may_alias(root_of(op.memref), one) for one in written)
        if not op.is_before_in_block(inner) or not (is_load or is_side_effect_free(op)):
            return False
    first = inner.body.block.first_op
    assert first is not None
    if any(bound.owner in ops for bound in inner.operands):
        return False
    for op in ops:
        op.detach()
        inner.body.block.insert_op_before(op, first)
    return True


@dataclass(frozen=True, eq=False)
class NestSeparateReductionsPass(ModulePass):
    """Give reductions in loops over rows nests and buffers of their own."""

    name = "nest-separate-reductions"

    perfect: bool = False
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            separate_reductions(function)
            for update in [o for o in function.walk() if self.perfect and isinstance(o, AccumulateOp)]:
                make_perfect(update)
