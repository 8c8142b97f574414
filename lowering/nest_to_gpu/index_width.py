"""How wide the index arithmetic of kernels must be (part of convert-nest-to-gpu).

func.func @f(%x: memref<100x1000xf32>)     32 bits: every position is known to fit
func.func @g(%x: memref<?x?xf32>)          64 bits, unless the caller promises small arguments
%p = nest.load %k[%i] : memref<?xi64>      64 bits in any case: 2^32 must not become a valid 0
%q = arith.index_cast %p : i64 to index
nest.for "i" %i = 0 to 4294967296          64 bits in any case, also where the loop was split: 4096 * %i.o
nest.for "i_j" %i = 0 to 100 * %n          64 bits in any case, where no buffer has as many elements

What the caller promises is that buffers have at most `LARGEST_SMALL` elements. That bounds extents, and products of the
extents of one buffer: indices and bounds of loops that are computed from these are added up from the largest values that
they may have. Positions in buffers need no proof: they are smaller than the number of its elements.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, NoneAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...analysis.nest.values.extent_keys import Product, extent_key, value_key
from ...dialects.affine import AffineList
from ...dialects.nest import AllocOp, ForOp, IndexOp, LoadOp
from ..abi.kernel_signature import LARGEST_SMALL


def width_of_indices(function: func.FuncOp, wanted: int) -> int:
    """The width of index arithmetic: 32 where all buffers are small, or `wanted` says so, and nothing else is large."""
    if wanted == 64 or any(why(function) for why in (_needs_wide_index, _has_large_buffer)):
        return 64
    if _has_large_index(function, None, LARGEST_SMALL) or _has_large_index(
        function, Extents(function), LARGEST
    ):
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


LARGEST = (1 << 31) - 1
"""What 32 bits hold. `LARGEST_SMALL` leaves room for the idle threads of a last block."""


class Extents:
    """The largest values of extents, and of products of these, where no buffer has more than `LARGEST_SMALL` elements."""

    def __init__(self, function: func.FuncOp):
        self._buffers: list[tuple[int, Counter[Hashable]]] = []
        """For each buffer the product of its known extents, and the keys of the others."""
        for buffer in buffers_of(function):
            assert isinstance(buffer.type, MemRefType)
            keys = [extent_key(buffer, axis) for axis in range(buffer.type.get_num_dims())]
            if is_row_major(buffer.type):
                known = math.prod(max(1, key) for key in keys if isinstance(key, int))
                self._buffers.append((known, Counter(key for key in keys if not isinstance(key, int))))

    def range_of(self, value: SSAValue) -> tuple[int, int]:
        """The least and the largest value that an index of the host's may have."""
        key = value_key(value)
        if isinstance(key, int):
            return key, key
        if isinstance(key, Product):
            return 0, key.number * self._largest_product(Counter(dict(key.powers)))
        if key is not value:
            return 0, self._largest_product(Counter([key]))
        owner = value.owner
        if (
            not isinstance(owner, Operation)
            or len(owner.operands) != 2
            or not isinstance(value.type, IndexType)
        ):
            return -LARGEST_SMALL, LARGEST_SMALL
        (a, b), (c, d) = map(self.range_of, owner.operands)
        if isinstance(owner, arith.AddiOp):
            return a + c, b + d
        if isinstance(owner, arith.SubiOp):
            return a - d, b - c
        if isinstance(owner, arith.MuliOp):
            return _product_of_ranges((a, b), (c, d))
        return min(a, c, -b, -d), max(b, d, -a, -c)  # the larger or smaller one, or a quotient

    def _largest_product(self, keys: Counter[Hashable]) -> int:
        """Of extents that one buffer has, what its other extents leave; of others, what each of them may be."""
        found = [
            LARGEST_SMALL // known
            for known, own in self._buffers
            if keys <= own or Counter({Product(1, frozenset(keys.items())): 1}) <= own
        ]
        if found:
            return min(found)
        if keys.total() == 1:
            return LARGEST_SMALL
        return math.prod(self._largest_product(Counter([key])) ** count for key, count in keys.items())


def _product_of_ranges(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _has_large_index(function: func.FuncOp, extents: Extents | None, limit: int) -> bool:
    """Whether a part of an index, a bound or a domain may be above a limit; without `extents`, as constants alone say.

    An index is smaller than an extent where it is used: what is added up to it may wrap around, unless it is divided.
    """
    sizes: dict[SSAValue, tuple[int, int]] = {}
    for op in function.body.walk():
        lists = [(name, getattr(op, name, None)) for name in COMPARED]
        found = {name: _sizes(one, sizes, extents) for name, one in lists if isinstance(one, AffineList)}
        if any(size.most > limit for one in found.values() for size in one):
            return True
        if isinstance(indices := getattr(op, "indices", None), AffineList):
            for size in _sizes(indices, sizes, extents):
                if (size.most if extents is None else size.divided) > limit:
                    return True
        if isinstance(op, ForOp):
            low, high = max(size.low for size in found["lower"]), min(size.high for size in found["upper"])
            sizes[op.iv] = (low, max(low, high - 1))
    return False


COMPARED = ("lower", "upper", "where", "index", "extent")
"""Expressions of operations that are compared."""


class Size(NamedTuple):
    """The values that an expression may have; the largest absolute one of its parts (-1 counts as 0), and of those of them
    that are divided."""

    low: int
    high: int
    most: int
    divided: int = 0


def _sizes(
    expressions: AffineList, sizes: Mapping[SSAValue, tuple[int, int]], extents: Extents | None
) -> list[Size]:
    """For each expression its size; 0 for what is not known."""
    known = {value: sizes[value] for value in expressions.operands if value in sizes}
    if extents is not None:
        known |= {value: extents.range_of(value) for value in expressions.operands if value not in sizes}
    return [_size(expr, expressions.operands, known) for expr in expressions.exprs]


def _size(expr: AffineExpr, operands: Sequence[SSAValue], known: Mapping[SSAValue, tuple[int, int]]) -> Size:
    if isinstance(expr, AffineConstantExpr):
        return Size(expr.value, expr.value, _magnitude(expr.value, expr.value))
    if isinstance(expr, AffineDimExpr):
        low, high = known.get(operands[expr.position], (0, 0))
        return Size(low, high, _magnitude(low, high))
    assert isinstance(expr, AffineBinaryOpExpr)
    left, right = _size(expr.lhs, operands, known), _size(expr.rhs, operands, known)
    divided = max(left.divided, right.divided)
    if expr.kind == AffineBinaryOpKind.Add:
        low, high = left.low + right.low, left.high + right.high
    elif expr.kind == AffineBinaryOpKind.Mul:
        low, high = _product_of_ranges(left[:2], right[:2])
    else:
        divided = max(divided, left.most)
        by = max(1, right.low)
        if expr.kind == AffineBinaryOpKind.Mod:
            low, high = 0, max(0, right.high - 1)
        elif expr.kind == AffineBinaryOpKind.CeilDiv:
            low, high = min(left.low, -(-left.low // by)), max(0, -(-left.high // by))
        else:
            low, high = min(left.low, left.low // by), max(0, left.high // by)
    return Size(low, high, max(_magnitude(low, high), left.most, right.most), divided)


def _magnitude(low: int, high: int) -> int:
    return max(-low - 1, high)


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
    return [buffer.type for buffer in buffers_of(function)]  # pyright: ignore[reportReturnType]


def buffers_of(function: func.FuncOp) -> list[SSAValue]:
    """The arguments of a function that are buffers, and what it allocates."""
    found = [*function.body.block.args]
    found += [op.memref for op in function.body.walk() if isinstance(op, AllocOp)]
    return [buffer for buffer in found if isinstance(buffer.type, MemRefType)]


def is_row_major(buffer: MemRefType) -> bool:
    """Whether the elements lie side by side in the order of the axes."""
    return isinstance(buffer.layout, NoneAttr)


def _elements(buffer: MemRefType) -> float:
    """How many elements lie between the first and the last; infinitely many where an extent or stride is unknown."""
    shape = buffer.get_shape()
    strides = buffer.get_strides()
    if DYNAMIC_INDEX in shape or strides is None or None in strides:
        return math.inf
    return 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True) if s is not None)
