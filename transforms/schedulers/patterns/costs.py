"""What loops cost: their iterations, the work of one, lanes of a vector, and results too big to be read from a cache."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IntegerType,
    MemRefType,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.sets.accesses import FRESH, VIEWS, argument_attribute, root_of
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, PrefetchOp, StoreOp

UNKNOWN_EXTENT = 1024
"""Iterations assumed of a loop whose extent only the run time knows."""

FEWEST_LANES = 4
"""Columns below which most lanes would be idle."""


# ---- memory -----------------------------------------------------------------------------------------


def is_streamed(store: StoreOp, cpu: Cpu, unknown: bool = False) -> bool:
    """Whether a store should be non-temporal: to a big result that is not read here.

    `unknown` is the answer for a size that only the run time knows.
    """
    root = root_of(store.memref)
    role = argument_attribute(root, ROLE)
    if role != StringAttr("out") or not isinstance(root.type, MemRefType):
        return False
    shape = root.type.get_shape()
    size = prod(shape) * bits_of(root.type.element_type) // 8
    is_big = unknown if DYNAMIC_INDEX in shape else size > cpu.non_temporal_bytes
    return is_big and all(isinstance(op, StoreOp | PrefetchOp) for op in _uses_of_buffer(root))


def _uses_of_buffer(buffer: SSAValue) -> list[Operation]:
    found: list[Operation] = []
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, VIEWS):
            found += _uses_of_buffer(op.results[0])
        elif not isinstance(op, memref.DimOp):
            found.append(op)
    return found


# ---- widths -----------------------------------------------------------------------------------------


def machine_lanes(loop: ForOp, vector_bits: int) -> int:
    """Lanes of one machine vector of the widest type that the loop computes with."""
    return max(1, vector_bits // max(map(bits_of, _element_types(loop)), default=32))


def _element_types(loop: ForOp):
    for op in loop.body.walk():
        if isinstance(op, (StoreOp, AccumulateOp)):
            yield from (value.type for value in (op.values if isinstance(op, AccumulateOp) else [op.value]))
        elif not isinstance(op, (ForOp, arith.ConstantOp)) and not _is_narrowed(op):
            yield from (result.type for result in op.results)


def _is_narrowed(op: Operation) -> bool:
    """Whether only the low bits of an integer are used: it is computed as a narrow one."""
    if isinstance(op, arith.IndexCastOp | arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return all(
            isinstance(u.operation, arith.TruncIOp) or _is_narrowed(u.operation) for u in op.results[0].uses
        )
    return False


def bits_of(type_) -> int:
    """The width of a number; 1 for what is not an element (masks, index values)."""
    if isinstance(type_, IntegerType):
        return type_.width.data
    return type_.bitwidth if isinstance(type_, AnyFloat) else 1


def padded_width(extent: int, lanes: int) -> int:
    """The lanes for `extent` iterations: whole machine vectors, or a power of two below one.

    >>> [padded_width(n, 16) for n in (1, 5, 16, 36)]
    [1, 8, 16, 48]
    """
    if extent >= lanes:
        return -(-extent // lanes) * lanes
    return power_above(extent)


# ---- work -------------------------------------------------------------------------------------------


def work_of(op: Operation) -> int:
    """Roughly how many element operations one run of `op` is; for a loop, of its body."""
    if not op.regions:
        return _weight(op)
    inner = sum(work_of(child) for region in op.regions for block in region.blocks for child in block.ops)
    return inner + _weight(op)


def work_inside(loop: ForOp) -> int:
    """Element operations of one iteration of `loop`."""
    total = 0
    for op in loop.body.block.ops:
        total += (
            work_inside(op) * (largest_extent(op) or UNKNOWN_EXTENT) if isinstance(op, ForOp) else work_of(op)
        )
    return max(1, total)


def _weight(op: Operation) -> int:
    if isinstance(op, (arith.ConstantOp, FuncOp, ForOp, *FRESH)):
        return 0
    if op.name.startswith(("math.", "special.")):
        return 12
    return 4 if op.name in ("arith.divf", "arith.remf", "arith.divsi", "arith.remsi") else 1


def arithmetic_in(loop: ForOp) -> int:
    """The weight of the operations of the loop that are not accesses."""
    skipped = (LoadOp, StoreOp, ForOp, arith.ConstantOp)
    return sum(_weight(op) for op in loop.body.walk() if not isinstance(op, skipped))


def nearest_divisor(extent: int, wanted: int, least: int, most: int) -> int | None:
    """The number from `least` to `most` nearest to `wanted` that divides an extent; None where there is none.

    >>> nearest_divisor(1000, 33, 16, 132), nearest_divisor(1009, 33, 16, 132)
    (40, None)
    """
    found = [n for n in range(least, most + 1) if extent % n == 0]
    return min(found, key=lambda n: abs(n - wanted), default=None)


def has_transcendental(loop: ForOp) -> bool:
    return any(op.name.startswith(("math.", "special.")) for op in loop.body.walk())


def has_fewer(loop: ForOp, count: int) -> bool:
    """Whether a loop is known to have fewer iterations."""
    extent = largest_extent(loop)
    return extent is not None and extent < count
