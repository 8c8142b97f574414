"""What the automatic schedulers know about cost: operations an iteration, streams, strides, element sizes."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.affine import dims_of, linear_terms
from ...dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from .dependence import Access, is_defined_outside, root_of

UNKNOWN_TRIPS = 256
"""What an extent that is not known is taken for in estimates."""

_WEIGHT = {
    "arith.divf": 4,
    "math.sqrt": 4,
    "math.rsqrt": 5,
    "arith.divsi": 8,
    "arith.divui": 8,
    "arith.remsi": 8,
}
_FREE = {"arith.constant", "nest.alloc", "memref.dim", "nest.yield"}
_CHEAP_MATH = {"math.absf", "math.absi", "math.fma", "math.copysign", "math.floor", "math.ceil", "math.trunc"}


def iteration_cost(loop: ForOp) -> int:
    """Element operations of one iteration of `loop`: a load, a store or an addition counts as 1."""
    return max(1, sum(_cost(op) for op in loop.body.block.ops))


def _cost(op: Operation) -> int:
    if isinstance(op, ForOp):
        trips = op.constant_trip_count()
        return iteration_cost(op) * (UNKNOWN_TRIPS if trips is None else trips)
    if op.regions:
        return sum(_cost(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    if op.name in _FREE:
        return 0
    if op.name.startswith("math.") and op.name not in _CHEAP_MATH and op.name not in _WEIGHT:
        return 12
    return _WEIGHT.get(op.name, 1)


def streams(loop: ForOp) -> int:
    """How many different buffers the loop touches."""
    return len({root_of(buffer) for op in loop.walk() for buffer in buffers_of(op)})


def buffers_of(op: Operation) -> list[SSAValue]:
    """The buffers that a load, store or accumulate names."""
    if isinstance(op, AccumulateOp):
        return list(op.memrefs)
    return [op.memref] if isinstance(op, (LoadOp, StoreOp)) else []


def widest_element_bits(loop: ForOp) -> int:
    """The size of the widest element that the loop loads or stores (8 when there is none)."""
    return max((element_bits(b.type) for op in loop.walk() for b in buffers_of(op)), default=8)


def element_bits(buffer_type) -> int:
    """The size of a buffer's element in bits."""
    element = buffer_type.element_type
    if isinstance(element, (AnyFloat, IntegerType)):
        return max(8, element.bitwidth)
    return 64


def stride_along(access: Access, loop: ForOp) -> int | None:
    """By how many elements the access moves from one iteration of `loop` to the next: 0, 1, or None (other)."""
    if access.buffer is None or access.indices is None or not isinstance(access.buffer.type, MemRefType):
        return None
    moving = []
    for k, expr in enumerate(access.indices.exprs):
        terms, _ = linear_terms(expr)
        for atom, factor in terms.items():
            values = [access.indices.operands[d] for d in dims_of(atom)]
            if loop.iv in values:
                moving.append((k, factor if isinstance(atom, AffineDimExpr) else None))
            elif any(not is_defined_outside(value, loop) for value in values):
                return None
    if not moving:
        return 0
    if len(moving) > 1 or moving[0][1] != 1:
        return None
    return 1 if moving[0][0] == unit_axis(access.buffer.type) else None


def unit_axis(buffer_type: MemRefType) -> int | None:
    """The axis along which neighbours are adjacent in memory, when it is known."""
    rank = buffer_type.get_num_dims()
    if isinstance(buffer_type.layout, NoneAttr):
        return rank - 1
    strides = buffer_type.layout.get_strides()  # pyright: ignore[reportAttributeAccessIssue]
    return next((k for k in reversed(range(rank)) if strides and strides[k] == 1), None)
