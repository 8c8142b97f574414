"""nest-insert-barriers: barriers where threads of a block touch what others of it touched, and nowhere else.

    nest.for "o" %o = 0 to 4 bind "block.x" {
      %s = nest.alloc "s" : memref<8xf32>
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        nest.store "s" %a, %s[%t]
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %b = nest.load %s[7 - %u]
      }
    }

becomes

    nest.for "o" %o = 0 to 4 bind "block.x" {
      %s = nest.alloc "s" : memref<8xf32>
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        nest.store "s" %a, %s[%t]
      }
      nest.barrier
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %b = nest.load %s[7 - %u]
      }
    }

Without a barrier a thread may run its iteration of "u" before another has run the one of "t" that writes what it
reads. Which threads touch which elements is asked of isl (`barriers.py`), for shared and for global memory; barriers that
are there already count. All threads of a block must come to the place: no barrier can
be in a branch, in a loop whose length differs between threads, or in a loop bound to threads some of which have no
iteration. convert-nest-to-gpu puts in barriers by itself where this pass did not run, one wherever a buffer is
written and used by other loops, whatever elements.

Copies in flight (kernels/async_copies.py) have arrived for no thread, not even the one that made them, before a
barrier `{nestor.copies = n}`: each thread waits there until at most its last n groups of copies are in flight. n is
what the barrier at the end of a loop can leave to the next iterations, which isl is asked: 1 where what they use was copied
two iterations before. TVM has the pass ThreadSync, Halide inserts `gpu_thread_barrier`
and NNC `SyncThreads` while they lower; Exo has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....analysis.nest.kernels.barrier_places import foreign_operation
from ....analysis.nest.kernels.barriers import Place, kernels_in, places
from ....analysis.nest.loop_structure import find_loop, functions
from ....dialects.attributes import COPIES
from ....dialects.diagnostic import NestorError
from ....dialects.nest import BarrierOp, ForOp


def insert_barriers(scope: Operation) -> tuple[BarrierOp, ...]:
    """Insert the barriers that are missing in the kernels of a function, or in those of a loop."""
    missing = [place for kernel in kernels_in(scope) for place in places(kernel)]
    return tuple(_insert(place) for place in missing)


def why_not_insert_barriers(scope: Operation) -> NestorError | None:
    """The diagnostic that says why a barrier that is missing has no place, None when all have one."""
    try:
        for kernel in kernels_in(scope):
            places(kernel)
    except NestorError as refusal:
        return refusal
    return None


def _insert(place: Place) -> BarrierOp:
    barrier = BarrierOp()
    barrier.location = place.op.location
    if place.copies is not None:
        barrier.attributes[COPIES] = IntegerAttr(place.copies, i64)
    block = place.block
    assert block is not None
    if place.at_end:
        block.add_op(barrier)
    else:
        block.insert_op_before(barrier, place.op)
    return barrier


@dataclass(frozen=True, eq=False)
class NestInsertBarriersPass(ModulePass):
    """Insert barriers where threads of a block touch what others of it touched, in the kernel of a loop or in all.

    With `known-only`, kernels with operations that it does not know are left to the lowering.
    """

    name = "nest-insert-barriers"

    loop: str | None = None
    func: str | None = None
    known_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scopes: list[ForOp] = []
        if self.loop is not None:
            scopes = kernels_in(find_loop(op, self.loop, self.func))
        else:
            scopes = [kernel for function in functions(op, self.func) for kernel in kernels_in(function)]
        for kernel in scopes:
            if not (self.known_only and foreign_operation(kernel) is not None):
                insert_barriers(kernel)
