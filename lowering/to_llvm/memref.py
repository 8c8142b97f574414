"""`memref` to llvm: element addresses by getelementptr, buffers from the C allocator or the stack.

    %v = memref.load %x[%i, %j] : memref<?x?xf32>
    ->
    %0 = llvm.mul %i, %m overflow<nsw> : i64            // %m: the extent of the second axis
    %1 = llvm.add %0, %j overflow<nsw> : i64
    %2 = llvm.getelementptr inbounds %x[%1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %2 {alignment = 4 : i64} : !llvm.ptr -> f32

Accesses are aligned to the element only: NumPy promises no more. Small buffers of static shape made by
`memref.alloca` live on the stack, where LLVM turns them into registers; others come from
`aligned_alloc`, checked (MemoryError), and are freed on every way out of their block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i32,
    i64,
)
from xdsl.ir import Operation, SSAValue

from ...analysis.machine import STACK_LIMIT
from ...analysis.nest.kernels.combiners import ATOMIC_KINDS
from ...dialects.attributes import NONTEMPORAL
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from ...dialects.ext.memref import PrefetchOp
from ..abi.error_codes import MEMORY_ERROR
from .builder import FunctionBuilder, Handler
from .types import PTR, UNIT, MemRef, Size, byte_size, lower_element


def layout_strides(op: Operation, type_: MemRefType) -> tuple[int | None, ...] | None:
    """The strides a memref type states (None: known at run time only), or None for the row-major layout."""
    if isinstance(type_.layout, NoneAttr):
        return None
    if not isinstance(type_.layout, StridedLayoutAttr):
        raise fail(
            op, f"no translation for the layout of {type_}", hint="use strided<...>", error=LoweringError
        )
    return tuple(type_.layout.get_strides())


def row_major(b: FunctionBuilder, sizes: Sequence[Size]) -> tuple[Size, ...]:
    strides: list[Size] = [1] * len(sizes)
    for k in reversed(range(len(sizes) - 1)):
        strides[k] = b.multiply(sizes[k + 1], strides[k + 1])
    return tuple(strides)


def address(b: FunctionBuilder, ref: MemRef, indices: Sequence[Size], inbounds: bool = True) -> SSAValue:
    """The pointer to an element. Outer axes are added first: they are what inner loops leave unchanged."""
    position: Size = ref.offset
    for index, stride in zip(indices, ref.strides, strict=True):
        position = b.add(position, b.multiply(index, stride))
    return b.gep(ref.base, position, ref.element, inbounds=inbounds)


def _load(b: FunctionBuilder, op: memref.LoadOp) -> None:
    ref = b.memref(op.memref)
    b.read.add(ref.base)
    pointer = address(b, ref, [b.index(i) for i in op.indices])
    b.bind(op.res, b.load(pointer, ref.element, byte_size(ref.element)))


def _store(b: FunctionBuilder, op: memref.StoreOp) -> None:
    ref = b.memref(op.memref)
    b.written.add(ref.base)
    pointer = address(b, ref, [b.index(i) for i in op.indices])
    b.store(b.value(op.value), pointer, byte_size(ref.element), NONTEMPORAL in op.attributes)


_UPDATES = {
    ATOMIC_KINDS[name]: update
    for name, update in {
        "add": "add",
        "maxsi": "max",
        "maxui": "umax",
        "minsi": "min",
        "minui": "umin",
        "or": "_or",
        "and": "_and",
        "xor": "_xor",
    }.items()
}
"""The update of `llvm.atomicrmw`, by the kind that `memref.atomic_rmw` has."""


def _atomic(b: FunctionBuilder, op: memref.AtomicRMWOp) -> None:
    ref, update = b.memref(op.memref), _UPDATES.get(op.kind.value.data)
    if update is None or not isinstance(ref.element, IntegerType):
        raise fail(op, f"no atomic update of this kind of {ref.element}", error=LoweringError)
    b.read.add(ref.base)
    b.written.add(ref.base)
    pointer = address(b, ref, [b.index(i) for i in op.indices])
    rmw = ext.AtomicRMWOp.of(update, pointer, b.value(op.value))
    b.block.add_op(rmw)
    b.bind(op.result, rmw.res)


def _prefetch(b: FunctionBuilder, op: PrefetchOp) -> None:
    """The address may be outside of the buffer."""
    if not op.isDataCache.value.data & 1:
        hint = "prefetch into the data cache: memref.prefetch ..., data"
        raise fail(
            op, "the instruction cache of this processor is not prefetched", hint=hint, error=LoweringError
        )
    ref = b.memref(op.memref)
    b.read.add(ref.base)
    pointer = address(b, ref, [b.index(i) for i in op.indices], inbounds=False)
    numbers = {"rw": op.isWrite.value.data & 1, "cache": op.isDataCache.value.data & 1}
    properties = {name: IntegerAttr(number, i32) for name, number in numbers.items()}
    b.emit(intr.PrefetchOp, (pointer,), None, {**properties, "hint": op.localityHint})


# --- buffers ---------------------------------------------------------------------------------------------


def _allocated_shape(b: FunctionBuilder, op: Any) -> tuple[MemRefType, tuple[Size, ...]]:
    type_ = op.memref.type
    if layout_strides(op, type_) is not None or op.symbol_operands:
        raise fail(op, f"allocates a buffer that is not row-major: {type_}", error=LoweringError)
    dynamic = iter(op.dynamic_sizes)
    sizes = tuple(b.index(next(dynamic)) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
    return type_, sizes


def _alloc(b: FunctionBuilder, op: memref.AllocOp) -> None:
    type_, sizes = _allocated_shape(b, op)
    _heap_buffer(b, op, type_, sizes)


def _heap_buffer(b: FunctionBuilder, op: Any, type_: MemRefType, sizes: tuple[Size, ...]) -> None:
    element = lower_element(op, type_.element_type)
    size: Size = byte_size(element)
    for extent in sizes:
        size = b.multiply(size, extent)
    # A whole number of cache lines, and never zero bytes: a null pointer must mean "out of memory".
    lines = b.binary(llvm.AndOp, b.size(b.add(size, 64)), b.integer(-64))
    allocate = b.module.declare("aligned_alloc", [i64, i64], PTR, res_attrs={"llvm.noalias": UNIT})
    pointer = b.call(allocate, [b.integer(64), lines], PTR)
    pointer.name_hint = op.memref.name_hint
    null = b.emit(llvm.ZeroOp, (), PTR)
    b.fail_unless(b.compare("ne", pointer, null), MEMORY_ERROR, 0)
    ref = MemRef(pointer, 0, sizes, row_major(b, sizes), element, noalias=True)
    b.bind_memref(op.memref, ref)
    b.own_buffer(ref)


def _alloca(b: FunctionBuilder, op: memref.AllocaOp) -> None:
    type_, sizes = _allocated_shape(b, op)
    element = lower_element(op, type_.element_type)
    static = [extent for extent in sizes if isinstance(extent, int)]
    count = prod(static)
    size = count * byte_size(element)
    if len(static) < len(sizes) or size > STACK_LIMIT:
        _heap_buffer(b, op, type_, sizes)
        return
    storage = element if count == 1 else llvm.LLVMArrayType(count, element)
    pointer = b.alloca(storage, 64 if size >= 64 else byte_size(element), op.memref.name_hint)
    b.bind_memref(op.memref, MemRef(pointer, 0, sizes, row_major(b, sizes), element, noalias=True))


def _dealloc(b: FunctionBuilder, op: memref.DeallocOp) -> None:
    b.release_buffer(op, b.memref(op.memref))


def _copy(b: FunctionBuilder, op: memref.CopyOp) -> None:
    source, target = b.memref(op.source), b.memref(op.destination)
    types = (op.source.type, op.destination.type)
    if any(layout_strides(op, t) is not None for t in types):  # type: ignore[arg-type]
        raise fail(op, "copies between strided memrefs are written as loops", error=LoweringError)
    size: Size = byte_size(source.element)
    for extent in source.sizes:
        size = b.multiply(size, extent)
    b.read.add(source.base)
    b.written.add(target.base)
    move = b.module.declare("memmove", [PTR, PTR, i64], PTR)
    pointers = [b.gep(ref.base, ref.offset, ref.element) for ref in (target, source)]
    b.call(move, [*pointers, b.size(size)], PTR)


# --- views -----------------------------------------------------------------------------------------------


def _dim(b: FunctionBuilder, op: memref.DimOp) -> None:
    axis = b.index(op.index)
    ref = b.memref(op.source)
    if not isinstance(axis, int) or not 0 <= axis < len(ref.sizes):
        raise fail(op, "memref.dim needs a constant axis within the rank", error=LoweringError)
    b.bind(op.result, b.size(ref.sizes[axis]))


def _cast(b: FunctionBuilder, op: memref.CastOp) -> None:
    b.bind_memref(op.dest, b.memref(op.source))


def _collapse_shape(b: FunctionBuilder, op: memref.CollapseShapeOp) -> None:
    ref = b.memref(op.src)
    groups = [[int(axis.value.data) for axis in group] for group in op.reassociation]
    sizes: list[Size] = []
    strides: list[Size] = []
    for group in groups:
        extent: Size = 1
        for axis in group:
            extent = b.multiply(extent, ref.sizes[axis])
        sizes.append(extent)
        strides.append(ref.strides[group[-1]])
    b.bind_memref(op.result, _view(ref, ref.offset, sizes, strides))


def _mixed(b: FunctionBuilder, static: Any, dynamic: Any) -> list[Size]:
    values = iter(dynamic)
    return [b.index(next(values)) if n == DYNAMIC_INDEX else n for n in static.iter_values()]


def _expand_shape(b: FunctionBuilder, op: memref.ExpandShapeOp) -> None:
    ref = b.memref(op.src)
    sizes = _mixed(b, op.static_output_shape, op.output_shape)
    strides: list[Size] = [1] * len(sizes)
    for axis, group in enumerate(op.reassociation):
        stride = ref.strides[axis]
        for k in reversed([int(member.value.data) for member in group]):
            strides[k] = stride
            stride = b.multiply(stride, sizes[k])
    b.bind_memref(op.result, _view(ref, ref.offset, sizes, strides))


def _reinterpret_cast(b: FunctionBuilder, op: memref.ReinterpretCastOp) -> None:
    ref = b.memref(op.source)
    offsets = _mixed(b, op.static_offsets, op.offsets)
    sizes = _mixed(b, op.static_sizes, op.sizes)
    strides = _mixed(b, op.static_strides, op.strides)
    # The new offset counts from the start of the buffer, which is where every argument's offset is 0.
    b.bind_memref(op.result, _view(ref, offsets[0], sizes, strides))


def _subview(b: FunctionBuilder, op: memref.SubviewOp) -> None:
    ref = b.memref(op.source)
    offsets = _mixed(b, op.static_offsets, op.offsets)
    sizes = _mixed(b, op.static_sizes, op.sizes)
    steps = _mixed(b, op.static_strides, op.strides)
    strides = [b.multiply(step, stride) for step, stride in zip(steps, ref.strides, strict=True)]
    kept = _kept_axes(op, strides)
    offset = ref.offset
    for start, stride in zip(offsets, ref.strides, strict=True):
        offset = b.add(offset, b.multiply(start, stride))
    b.bind_memref(op.result, _view(ref, offset, [sizes[k] for k in kept], [strides[k] for k in kept]))


def _kept_axes(op: memref.SubviewOp, strides: Sequence[Size]) -> tuple[int, ...]:
    """The axes that the result has: those not of size 1, and of the others the first ones that fit its type.

    Of an axis of size 1 only element 0 exists, so that its stride does not matter where the type leaves it open.
    """
    assert isinstance(op.result.type, MemRefType)
    shape, wanted = op.result.type.get_shape(), op.result.type.get_strides()
    static_sizes = list(op.static_sizes.iter_values())
    for kept in combinations(range(len(static_sizes)), len(shape)):
        dropped = set(range(len(static_sizes))).difference(kept)
        fits = all(static_sizes[k] == 1 for k in dropped)
        fits = fits and all(static_sizes[k] == n for k, n in zip(kept, shape, strict=True))
        if fits and all(
            n is None or not isinstance(strides[k], int) or strides[k] == n
            for k, n in zip(kept, wanted or (), strict=wanted is not None)
        ):
            return kept
    raise fail(
        op, "which axes of size 1 the subview drops does not follow from its type", error=LoweringError
    )


def _view(ref: MemRef, offset: Size, sizes: Sequence[Size], strides: Sequence[Size]) -> MemRef:
    return MemRef(ref.base, offset, tuple(sizes), tuple(strides), ref.element, ref.noalias)


MEMREF: dict[str, Handler] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.atomic_rmw": _atomic,
    "memref.prefetch": _prefetch,
    "memref.alloc": _alloc,
    "memref.alloca": _alloca,
    "memref.dealloc": _dealloc,
    "memref.copy": _copy,
    "memref.dim": _dim,
    "memref.cast": _cast,
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.subview": _subview,
}
