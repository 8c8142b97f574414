"""Products of integers of 8 bits with scales and zero points, in sums of 32 bits.

    (q - z) * s, (p - y) * t  ->  (sum(q p) - z sum(p) - y sum(q) + n z y) * (s t)

The bracket is computed in int32, modulo 2^32 on the way and exact at its end: as many terms are taken as cannot
overflow. Its rounding to float32, that of s t, and that of their product are to the nearest, and no others are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, f32, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects.nt import DotOp
from ...dialects.nt.constants import dtype_of
from ...dialects.nt.ops import shape_of
from ..autodiff.builder import Builder
from .quantised_forms import Spread, repeated

LARGEST_SUM = 2**31 - 1
WIDEST = 255
"""The largest magnitude of an integer less its zero point, where that is not known."""


@dataclass(frozen=True, eq=False)
class Integers:
    """A tensor of integers that stands for (q - zero) * scale."""

    q: SSAValue
    scale: Spread
    zero: Spread
    element: Attribute

    def magnitude(self) -> int:
        """The largest magnitude of an element less its zero point."""
        zero = self.zero.number()
        assert isinstance(self.element, IntegerType)
        info = np.iinfo(dtype_of(self.element))
        return WIDEST if zero is None else int(max(info.max - zero, zero - info.min))


def number_of_terms(op: DotOp) -> int | None:
    """The terms of an element of a product; None where only the run knows."""
    extents = [shape_of(op.lhs)[k] for k in op.contract[0]]
    return None if DYNAMIC_INDEX in extents else prod(extents)


def most_terms(left: int = WIDEST, right: int = WIDEST) -> int:
    """As many terms of these magnitudes as 32 bits can sum."""
    return LARGEST_SUM // (left * right)


def may_multiply(op: DotOp, left: Integers, right: Integers) -> bool:
    """Whether a product may be one of integers: no scale or zero point changes along a sum, and that cannot overflow."""
    for side, of in enumerate((left, right)):
        if {*of.scale.along, *of.zero.along} & {*op.contract[side]}:
            return False
    terms = number_of_terms(op)
    return terms is not None and 0 < terms <= most_terms(left.magnitude(), right.magnitude())


def multiplied(b: Builder, op: DotOp, left: Integers, right: Integers) -> SSAValue:
    """The product, in float32."""
    terms = number_of_terms(op)
    assert terms is not None
    q, p = left.q, right.q
    result = b.value(DotOp(q, p, op.contract, op.batch, i32))
    own = [_places(op, side) for side in (0, 1)]
    if right.zero.number() != 0:
        sums = _shifted(b, _sums(b, op, 0, q, own[0]), left.zero, terms, own[0])
        result = _minus_product(b, result, sums, _moved(right.zero, own[1]))
    if left.zero.number() != 0:
        result = _minus_product(b, result, _sums(b, op, 1, p, own[1]), _moved(left.zero, own[0]))
    scales = _moved(left.scale, own[0]), _moved(right.scale, own[1])
    scale = _product(b, *scales, result)
    return b.elementwise("multiply", b.cast(result, f32), repeated(b, scale, result))


def _places(op: DotOp, side: int) -> dict[int, int]:
    """Where the axes of an operand that are not summed are in the result."""
    batch, free = op.batch[side], op.free[side]
    start = len(batch) + (len(op.free[0]) if side else 0)
    return {**{axis: k for k, axis in enumerate(batch)}, **{axis: start + k for k, axis in enumerate(free)}}


def _moved(spread: Spread, places: dict[int, int]) -> Spread:
    return Spread(spread.value, tuple([places[axis] for axis in spread.along]))


def _sums(b: Builder, op: DotOp, side: int, q: SSAValue, places: dict[int, int]) -> Spread:
    """The sums of the elements of an operand along the terms, where they are in the result."""
    kept = [k for k in range(len(shape_of(q))) if k not in op.contract[side]]
    return Spread(b.sum(b.cast(q, i32), op.contract[side]), tuple([places[k] for k in kept]))


def _shifted(b: Builder, sums: Spread, zero: Spread, terms: int, places: dict[int, int]) -> Spread:
    """The sums less those of the zero points."""
    if zero.number() == 0:
        return sums
    moved = _moved(zero, places)
    own = Spread(moved.value, tuple([sums.along.index(axis) for axis in moved.along]))
    zeros = repeated(b, own, sums.value, i32)
    less = b.elementwise("multiply", zeros, b.uniform(terms, zeros))
    return Spread(b.elementwise("subtract", sums.value, less), sums.along)


def _minus_product(b: Builder, result: SSAValue, sums: Spread, zero: Spread) -> SSAValue:
    zero = Spread(b.cast(zero.value, i32), zero.along)
    return b.elementwise("subtract", result, repeated(b, _product(b, sums, zero, result), result))


def _product(b: Builder, one: Spread, other: Spread, like: SSAValue) -> Spread:
    """The products of numbers along axes of a tensor: of a few, where one is a number or they have the same axes."""
    if not one.along and other.along:
        one, other = other, one
    if not other.along or one.along == other.along:
        inner = Spread(other.value, tuple(range(len(other.along))))
        return Spread(b.elementwise("multiply", one.value, repeated(b, inner, one.value)), one.along)
    both = [repeated(b, spread, like) for spread in (one, other)]
    return Spread(b.elementwise("multiply", *both), tuple(range(len(shape_of(like)))))
