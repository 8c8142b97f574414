"""Axes that products read as one, on the CPU: nest-schedule-cpu lays them out so, that no index of a product is divided.

    %m = nest.alloc "mixed" : memref<8x8x128x64xf32>
    ... nest.load %m[%i, %l floordiv 64, %j, %l mod 64]
  becomes
    %m = nest.alloc "mixed" : memref<8x128x512xf32>
    ... nest.load %m[%i, %j, %l]

A matrix that is read as if two of its axes were one (heads that are put side by side again) is laid out that way. Where
that cannot be, the matrix being an argument, or would tear what is written contiguously apart, a product that uses its
elements often enough reads a copy:

    nest.for "joined.load.ax0" ... { ... nest.store "joined" %v, %joined[%a, %c, 64 * %b + %d] }    // of %x[%a, %b, %c, %d]
    ... nest.load %joined[%i, %j, %l]
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

from ....analysis.nest.buffers import buffer_name, buffers_in
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, ForOp, LoadOp
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.transform_layout import transform_layout, why_not_transform_layout
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import sum_in
from .product_tiles import WORTH_PACKING
from .vectors import outermost_loops


def join_axes(function: FuncOp, steps: Steps) -> None:
    """Lay matrices that are read as if two of their axes were one out that way, or copy them for products that do."""
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        layout = _joined_layout(alloc)
        if layout is not None and _is_named(alloc.memref, function):
            steps.do(transform_layout, alloc, layout=layout)
    for nest in list(outermost_loops(function)):
        for buffer in _worth_copies(perfect_band(nest)):
            if _is_named(buffer, function):
                _copy_for(nest, buffer, steps)


def _is_named(buffer: SSAValue, function: FuncOp) -> bool:
    """Whether its name is no other's: by it a recorded schedule says which buffer is meant."""
    return [buffer_name(other) for other in buffers_in(function)].count(buffer_name(buffer)) == 1


def _joined_layout(alloc: AllocOp, anywhere: bool = False) -> str | None:
    """Joins two axes that a load reads as one: the second is the last one, whose elements stay side by side, or any."""
    for use in alloc.memref.uses:
        load = use.operation
        axes = _joined(load) if isinstance(load, LoadOp) else None
        if axes is None or not (anywhere or axes[1] == len(load.indices) - 1):
            continue
        layout = _layout(alloc, *axes)
        if why_not_transform_layout(alloc, layout) is None:
            return layout
    return None


def _joined(load: LoadOp) -> tuple[int, int] | None:
    """The axis whose index is a number divided by the extent of another axis, and that other one: its index is the rest."""
    type_ = load.memref.type
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    for axis in range(len(shape)):
        divided = _divided(load.indices[axis], AffineBinaryOpKind.FloorDiv)
        if divided is None:
            continue
        for other in range(len(shape)):
            rest = _divided(load.indices[other], AffineBinaryOpKind.Mod)
            if divided == rest and divided[0] == shape[other]:
                return axis, other
    return None


def _divided(index: AffineList, kind: AffineBinaryOpKind) -> tuple[int, object, object] | None:
    """The divisor and what it divides, where an index is a division by a constant."""
    expr = index.exprs[0]
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind is not kind:
        return None
    if not isinstance(expr.rhs, AffineConstantExpr):
        return None
    return expr.rhs.value, expr.lhs, index.operands


def _layout(alloc: AllocOp, divided: int, rest: int) -> str:
    """The layout in which both axes are one, the last."""
    type_ = alloc.memref.type
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    others = [f"d{k}" for k in range(len(shape)) if k not in (divided, rest)]
    old = " ".join(f"d{k}" for k in range(len(shape)))
    return f"{old} -> {' '.join([*others, f'{shape[rest]}*d{divided}+d{rest}'])}"


# ---- copies -----------------------------------------------------------------------------------------


def _worth_copies(band: Sequence[ForOp]) -> list[SSAValue]:
    """The buffers that a sum of products reads at divided indices, once in its body and each element often."""
    found = sum_in(list(band)) if len(band) >= 3 else None
    if found is None:
        return []
    loads, _ = found
    buffers: list[SSAValue] = []
    for load in loads:
        others = [other for other in loads if other is not load and other.memref is load.memref]
        if _joined(load) is not None and not others and _uses(load, band) >= WORTH_PACKING:
            buffers.append(load.memref)
    return buffers


def _uses(load: LoadOp, band: Sequence[ForOp]) -> int:
    """How often an element is read, at most; loops of unknown extents count as worth a copy."""
    count = 1
    for loop in band:
        if loop.iv not in load.indices.operands:
            count *= largest_extent(loop) or WORTH_PACKING
    return count


def _copy_for(nest: ForOp, buffer: SSAValue, steps: Steps) -> None:
    """Let a nest read a copy of a buffer, in which the axes that it reads as one are one."""
    unit = steps.do(add_unit_loop, nest, name="joined")
    if why_not_cache_read(buffer, unit) is None:
        copy, _ = steps.do(cache_read, buffer, unit, name="joined")
        layout = _joined_layout(copy, anywhere=True)
        if layout is not None:
            steps.do(transform_layout, copy, layout=layout)
    steps.do(remove_unit_loop, unit)
