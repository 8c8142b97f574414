"""Extents of buffers as values that are never negative, and buffers made anew with other extents."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.sets.integer_sets import is_never_negative
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp
from ....dialects.nest.common import INDEX
from .loops import materialise


def at_least_zero(value: SSAValue, before: Operation) -> SSAValue:
    """The larger of a value and 0, computed before an operation."""
    block = before.parent
    assert block is not None
    zero = arith.ConstantOp(IntegerAttr(0, INDEX))
    larger = arith.MaxSIOp(value, zero.result)
    for op in (zero, larger):
        op.location = before.location
        block.insert_op_before(op, before)
    return larger.result


def size_of(extent: AffineList, before: Operation) -> int | SSAValue:
    """The extent as a number, or as a value that is computed before an operation and never negative."""
    if (numbers := extent.constants()) is not None:
        return max(0, numbers[0])
    block = before.parent
    assert block is not None
    size = materialise(extent, block, before)
    return size if is_never_negative(extent, before) else at_least_zero(size, before)


def reallocate(alloc: AllocOp, extents: Sequence[AffineList], before: Operation) -> AllocOp:
    """A buffer like `alloc` with other extents, made before an operation; `alloc` remains."""
    return like(alloc, [size_of(extent, before) for extent in extents], before)


def like(alloc: AllocOp, sizes: Sequence[int | SSAValue], before: Operation) -> AllocOp:
    """A buffer like `alloc` of other sizes, made before an operation; `alloc` remains."""
    old, block = alloc.memref.type, before.parent
    assert isinstance(old, MemRefType) and block is not None
    shape = [n if isinstance(n, int) else DYNAMIC_INDEX for n in sizes]
    new = AllocOp(
        alloc.label.data,
        MemRefType(old.element_type, shape, memory_space=old.memory_space),
        [n for n in sizes if not isinstance(n, int)],
    )
    new.attributes.update(alloc.attributes)
    new.location, new.memref.name_hint = alloc.location, alloc.memref.name_hint
    block.insert_op_before(new, before)
    return new


def replace(alloc: AllocOp, new: AllocOp) -> None:
    """Use `new` wherever `alloc` is used, and erase `alloc`."""
    alloc.memref.replace_all_uses_with(new.memref)
    alloc.detach()
    alloc.erase()
