"""Copies to shared memory that are under way while their thread goes on: the annotation `nestor.async`.

    nest.for "v" %v = 0 to 8 vectorized(8) attributes {nestor.async} {
      %a = nest.load %x[%i, 8 * %t + %v] : memref<64x64xf16>
      nest.store "tile" %a, %tile[%r, 8 * %t + %v] : memref<64x64xf16, 3>
    }

Where the elements are together in memory and aligned, and all of them there, this is one `cp.async` of 4, 8 or 16 bytes; at
an edge it stays a copy of elements. In program order it means nothing. Whoever uses what was copied, or writes what was
copied from, must wait first, also the thread itself: nest-insert-barriers says at its barriers how many groups of copies
may be under way behind them (`nestor.copies`). The copies of loops over threads that follow each other are one group.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation

from ..dialects.nest import AllocOp, BarrierOp, ForOp, LoadOp, StoreOp
from ..dialects.nest.loop import THREAD_AXES
from .gpu_accesses import declared_space
from .nest_body import element_bytes

ASYNC = "nestor.async"
"""The annotation of a vectorized loop whose copies may be under way."""

COPIES = "nestor.copies"
"""The attribute of a barrier: how many groups of copies may be under way when threads go on."""


def why_not_async(loop: ForOp) -> tuple[Operation, str] | None:
    """What keeps a loop from being an asynchronous copy: an operation, and the reason; None when nothing does."""
    if loop.width is None:
        return loop, "it is not vectorized: the elements of an iteration are copied together"
    load, store = loop.body.block.first_op, loop.body.block.last_op
    if not isinstance(load, LoadOp) or not isinstance(store, StoreOp) or load.next_op is not store:
        return loop, "it does more than copy: one element is loaded in it, and stored"
    if store.value is not load.result:
        return store, "it does not store what it loads"
    source, target = load.memref.type, store.memref.type
    assert isinstance(source, MemRefType) and isinstance(target, MemRefType)
    if declared_space(target) != "shared" or declared_space(source) is not None:
        return loop, "it does not copy from global to shared memory"
    size = loop.width.value.data * element_bytes(source.element_type)
    if size not in (4, 8, 16):
        return loop, f"it copies {size} bytes at a time, and 4, 8 or 16 can be under way"
    return None


def is_async(op: Operation) -> bool:
    """Whether `op` stands in an asynchronous copy, or is one."""
    found: Operation | None = op
    while found is not None and ASYNC not in found.attributes:
        found = found.parent_op()
    return found is not None


def holds_async(op: Operation) -> bool:
    """Whether there is an asynchronous copy in `op`."""
    return any(ASYNC in inner.attributes for inner in op.walk())


def closes_group(loop: ForOp) -> bool:
    """Whether what copies of `loop`, one over threads in no other such, and of the loops before it are a group."""
    if not holds_async(loop):
        return False
    following = loop.next_op
    while isinstance(following, AllocOp):
        following = following.next_op
    return not (isinstance(following, ForOp) and following.kind in THREAD_AXES and holds_async(following))


def groups_left(barrier: BarrierOp) -> int | None:
    """How many groups of copies may be under way behind a barrier; None where it does not speak of them."""
    count = barrier.attributes.get(COPIES)
    return count.value.data if isinstance(count, IntegerAttr) else None
