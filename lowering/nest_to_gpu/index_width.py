"""How wide the index arithmetic of kernels must be (part of convert-nest-to-gpu).

func.func @f(%x: memref<100x1000xf32>)     32 bits: every position is known to fit
func.func @g(%x: memref<?x?xf32>)          64 bits, unless the caller promises small arguments
%p = nest.load %k[%i] : memref<?xi64>      64 bits in any case: 2^32 must not become a valid 0
%q = arith.index_cast %p : i64 to index
nest.for "i" %i = 0 to 4294967296          64 bits in any case, also where the loop was split: 4096 * %i.o
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.affine import AffineList
from ...dialects.nest import AllocOp, ForOp, IndexOp, LoadOp
from ..abi.kernel_signature import LARGEST_SMALL


def width_of_indices(function: func.FuncOp, wanted: int) -> int:
    """The width of index arithmetic: 32 where all buffers are small, or `wanted` says so, and nothing else is large."""
    if wanted == 64 or any(why(function) for why in (_needs_wide_index, _has_large_buffer, _has_large_index)):
        return 64
    return 32 if wanted == 32 or _is_small(function) else 64


def _needs_wide_index(function: func.FuncOp) -> bool:
    """Whether a kernel computes indices from 64-bit integers, which must be checked before they are cut to 32 bits.

    The host checks the scalars that it passes: only what is loaded or computed in a loop matters.
    """
    for op in function.walk():
        if isinstance(op, arith.IndexCastOp) and op.input.type == i64 and not is_known_to_host(op.input):
            return True
    return False


def _has_large_index(function: func.FuncOp) -> bool:
    """Whether a part of an index, a bound or a domain may be large, as constant bounds of loops say."""
    sizes: dict[SSAValue, float] = {}
    for op in function.body.walk():
        lists = [
            (name, getattr(op, name, None))
            for name in ("lower", "upper", "indices", "where", "index", "extent")
        ]
        found = {name: _sizes(one, sizes) for name, one in lists if isinstance(one, AffineList)}
        if any(size > LARGEST_SMALL for one in found.values() for size in one):
            return True
        if isinstance(op, ForOp):
            sizes[op.iv] = max(min(found["lower"]), min(found["upper"]))
    return False


def _sizes(expressions: AffineList, sizes: Mapping[SSAValue, float]) -> list[float]:
    """For each expression the largest absolute value that it, or a part of it, may have; 0 for what is not known."""
    return [_size(expr, expressions.operands, sizes) for expr in expressions.exprs]


def _size(expr: AffineExpr, operands: Sequence[SSAValue], sizes: Mapping[SSAValue, float]) -> float:
    if isinstance(expr, AffineConstantExpr):
        return abs(expr.value)
    if isinstance(expr, AffineDimExpr):
        return sizes.get(operands[expr.position], 0)
    assert isinstance(expr, AffineBinaryOpExpr)
    left, right = _size(expr.lhs, operands, sizes), _size(expr.rhs, operands, sizes)
    if expr.kind == AffineBinaryOpKind.Add:
        return left + right
    if expr.kind == AffineBinaryOpKind.Mul:
        return max(left * right, left, right)
    return max(left, right)  # a quotient or a remainder


def is_known_to_host(value: SSAValue) -> bool:
    """Whether `value` is computed at the top level of the function, and not from elements."""
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block):
            if isinstance(owner.parent_op(), ForOp):
                return False
            continue
        if isinstance(owner, LoadOp | IndexOp):
            return False
        pending += owner.operands
    return True


def _is_small(function: func.FuncOp) -> bool:
    """Whether every buffer has static extents and few enough elements."""
    return all(_elements(t) <= LARGEST_SMALL for t in _buffers(function))


def _has_large_buffer(function: func.FuncOp) -> bool:
    """Whether a buffer is known to have too many elements."""
    return any(LARGEST_SMALL < _elements(t) < math.inf for t in _buffers(function))


def _buffers(function: func.FuncOp) -> list[MemRefType]:
    types = [a.type for a in function.body.block.args]
    types += [op.memref.type for op in function.body.walk() if isinstance(op, AllocOp)]
    return [t for t in types if isinstance(t, MemRefType)]


def _elements(buffer: MemRefType) -> float:
    """How many elements lie between the first and the last; infinitely many where an extent or stride is unknown."""
    shape = buffer.get_shape()
    strides = buffer.get_strides()
    if DYNAMIC_INDEX in shape or strides is None or None in strides:
        return math.inf
    return 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True) if s is not None)
