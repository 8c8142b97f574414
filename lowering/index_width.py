"""How wide the index arithmetic of kernels must be (part of convert-nest-to-gpu).

func.func @f(%x: memref<100x1000xf32>)     32 bits: every position is known to fit
func.func @g(%x: memref<?x?xf32>)          64 bits, unless the caller promises small arguments
%p = nest.load %k[%i] : memref<?xi64>      64 bits in any case: 2^32 must not become a valid 0
%q = arith.index_cast %p : i64 to index
"""

from __future__ import annotations

import math

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr

from ..dialects.affine import AffineList
from ..dialects.nest import AllocOp, ForOp, IndexOp, LoadOp
from .kernel_signature import LARGEST_SMALL


def width_of_indices(function: func.FuncOp, wanted: int) -> int:
    """The width of index arithmetic: 32 where all buffers are small, or `wanted` says so, and nothing else is large."""
    if wanted == 64 or _needs_wide_index(function) or _has_large_buffer(function):
        return 64
    return 32 if wanted == 32 or _is_small(function) else 64


def _needs_wide_index(function: func.FuncOp) -> bool:
    """Whether a kernel computes indices from 64-bit integers, which must be checked before they are cut to 32 bits.

    The host checks the scalars that it passes: only what is loaded or computed in a loop matters.
    """
    for op in function.walk():
        if isinstance(op, arith.IndexCastOp) and op.input.type == i64 and not is_known_to_host(op.input):
            return True
        if isinstance(op, ForOp) and any(_has_large_number(bound) for bound in (op.lower, op.upper)):
            return True
    return False


def _has_large_number(bound: AffineList) -> bool:
    pending = list(bound.exprs)
    while pending:
        expr = pending.pop()
        if isinstance(expr, AffineConstantExpr) and abs(expr.value) > LARGEST_SMALL:
            return True
        if isinstance(expr, AffineBinaryOpExpr):
            pending += [expr.lhs, expr.rhs]
    return False


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
