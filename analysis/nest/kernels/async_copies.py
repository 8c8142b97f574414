"""Copies to shared memory that are in flight while their thread continues: the annotation `nestor.async`.

    nest.for "v" %v = 0 to 8 vectorized(8) attributes {nestor.async} {
      %a = nest.load %x[%i, 8 * %t + %v] : memref<64x64xf16>
      nest.store "tile" %a, %tile[%r, 8 * %t + %v] : memref<64x64xf16, 3>
    }

Where the elements are together in memory and aligned, this is one `cp.async` of 4, 8 or 16 bytes; elsewhere, and in an
unrolled loop, it is one for each element of 4 or 8 bytes, and smaller ones stay ordinary copies. What nest-stage-factors
makes at an edge is such a copy, too: there `cp.async` writes zeros, and reads nothing.

      %e = nest.alloc "element" : memref<f32, 5>
      nest.store "element" %zero, %e[] : memref<f32, 5>
      %a = nest.load %x[%i, %k] : memref<63x63xf32>
      nest.store "element" %a, %e[] where (%k < 63) : memref<f32, 5>
      %f = nest.load %e[] : memref<f32, 5>
      nest.store "tile" %f, %tile[%r, %k] : memref<64x64xf32, 3>

In program order it means nothing. Whoever uses what was copied, or writes what was
copied from, must wait first, also the thread itself: nest-insert-barriers says at its barriers how many groups of copies
may be in flight behind them (`nestor.copies`). The copies of loops over threads that follow each other are one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import ASYNC, COPIES
from ....dialects.nest import AllocOp, BarrierOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.loop import THREAD_AXES
from ..buffers import declared_space, element_bytes


@dataclass(frozen=True, eq=False)
class AsyncCopy:
    """What an iteration copies: an element, or zero where `inside`, which keeps the element, does not run."""

    load: LoadOp
    store: StoreOp
    inside: StoreOp | None = None

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        assert isinstance(self.load.memref.type, MemRefType)
        return element_bytes(self.load.memref.type.element_type)

    @property
    def may_copy_elements(self) -> bool:
        """Whether an element can be in flight by itself."""
        return self.element_bytes in (4, 8)


def copy_in(loop: ForOp) -> AsyncCopy | None:
    """The copy that an iteration of the loop is, None where it is something else."""
    ops = [op for op in loop.body.block.ops if not isinstance(op, arith.ConstantOp)]
    match [op for op in ops if not isinstance(op, AllocOp)]:
        case [LoadOp() as load, StoreOp() as store] if store.value is load.result:
            return AsyncCopy(load, store)
        case [
            StoreOp() as zero,
            LoadOp() as load,
            StoreOp() as inside,
            LoadOp() as again,
            StoreOp() as store,
        ]:
            pass
        case [
            LoadOp() as load,
            StoreOp() as zero,
            StoreOp() as inside,
            LoadOp() as again,
            StoreOp() as store,
        ]:
            pass
        case _:
            return None
    element, values = inside.memref, (inside.value, store.value)
    if not isinstance(element.owner, AllocOp) or element.owner.parent is not loop.body.block:
        return None
    if len(inside.indices) or zero.memref is not element or again.memref is not element:
        return None
    stores = (zero, inside, store)
    is_whole = all(op.mask is None for op in stores) and zero.where is None and store.where is None
    if not is_whole or values != (load.result, again.result) or not _is_zero(zero.value):
        return None
    return AsyncCopy(load, store, inside)


def _is_zero(value: SSAValue) -> bool:
    """Whether a value is the constant whose bits are all zero."""
    number = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    if isinstance(number, FloatAttr):
        return number.value.data == 0 and copysign(1, number.value.data) > 0
    return isinstance(number, IntegerAttr) and number.value.data == 0


def why_not_async(loop: ForOp) -> tuple[Operation, str] | None:
    """What keeps a loop from being an asynchronous copy: an operation, and the reason; None when nothing does."""
    if loop.width is None and loop.kind != "unrolled":
        return loop, "it is not vectorized: the elements of an iteration are copied together"
    load, store = loop.body.block.first_op, loop.body.block.last_op
    copy = copy_in(loop)
    if copy is None:
        if isinstance(load, LoadOp) and isinstance(store, StoreOp) and load.next_op is store:
            return store, "it does not store what it loads"
        return loop, "it does more than copy: one element is loaded in it, and stored"
    source, target = copy.load.memref.type, copy.store.memref.type
    assert isinstance(source, MemRefType) and isinstance(target, MemRefType)
    if declared_space(target) != "shared" or declared_space(source) is not None:
        return loop, "it does not copy from global to shared memory"
    size = (1 if loop.width is None else loop.width.value.data) * copy.element_bytes
    if size not in (4, 8, 16):
        return loop, f"it copies {size} bytes at a time, and 4, 8 or 16 can be in flight"
    return None


def is_async(op: Operation) -> bool:
    """Whether `op` is in an asynchronous copy, or is one."""
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
    """How many groups of copies may be in flight behind a barrier; None where it does not speak of them."""
    count = barrier.attributes.get(COPIES)
    return count.value.data if isinstance(count, IntegerAttr) else None
