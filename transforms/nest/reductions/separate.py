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

Before `nest-restrict`, by which sums along an axis in several chunks are made in parts. It is `nest-expand-buffer`, then
`nest-distribute`, where these are legal; other reductions stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import enclosing_loops, functions, is_inside
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ..loops.distribute import distribute, pieces_of, why_not_distribute
from ..memory.expand_buffer import expand_buffers, why_not_expand_buffer


def separate_reductions(function: FuncOp) -> None:
    """Give reductions in loops nests of their own, in place."""
    for update in [op for op in function.walk() if isinstance(op, AccumulateOp)]:
        while made := _makers_in_a_loop(update):
            loop = enclosing_loops(made[0])[-1]
            if any(why_not_expand_buffer(alloc, loop, together=made) for alloc in made):
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


@dataclass(frozen=True, eq=False)
class NestSeparateReductionsPass(ModulePass):
    """Give reductions in loops over rows nests and buffers of their own."""

    name = "nest-separate-reductions"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            separate_reductions(function)
