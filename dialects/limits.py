"""How large the types and numbers of a text may be.

Sizes, strides and bounds are computed with 64 bits at every level. A text that keeps to what memory can be addressed with
leaves room for what passes make of its numbers: sums of bounds, multiples by factors.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    IntAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineExpr

MAX_NUMBER = 2**48
"""Maximum of extents and indices: the bytes that a processor can address."""

MAX_LANES = 2**16
"""Maximum number of lanes: a vector is held in registers, and every lane becomes an instruction or a part of one."""

MAX_INTEGER_BITS = 2**12
MAX_SPLAT = 2**22
"""Maximum number of elements of a splat literal: it is expanded when it is read."""


def is_index(number: int) -> bool:
    """Whether the type `index` has this number."""
    return -(2**63) <= number < 2**63


def why_too_large(type: Attribute) -> str | None:
    """Why a type is larger than can be compiled; None where it is not."""
    if isinstance(type, IntegerType) and type.width.data > MAX_INTEGER_BITS:
        return f"integers have at most {MAX_INTEGER_BITS} bits"
    if not isinstance(type, TensorType | MemRefType | VectorType):
        return None
    count = known_elements(type)
    if isinstance(type, VectorType) and count > MAX_LANES:
        return f"a vector of {count} elements; there are at most {MAX_LANES}"
    largest = max([count * element_bytes(type.element_type), *type.get_shape(), *_layout(type)])
    if largest > MAX_NUMBER:
        return f"an extent, a stride or the size in bytes is {largest}; nothing is larger than 2^48"
    return None


def why_not_numbers(expressions: Iterable[AffineExpr]) -> str | None:
    """Why affine expressions of a text have a number that is no index; None where they have none."""
    pending = list(expressions)
    while pending:
        expr = pending.pop()
        if isinstance(expr, AffineConstantExpr) and abs(expr.value) > MAX_NUMBER:
            return f"the number {expr.value} is not an index: nothing is larger than 2^48"
        if isinstance(expr, AffineBinaryOpExpr):
            pending += [expr.lhs, expr.rhs]
    return None


def known_elements(type: TensorType | MemRefType | VectorType) -> int:
    """The product of the extents that are known."""
    return prod(extent for extent in type.get_shape() if extent != DYNAMIC_INDEX)


def element_bytes(type: Attribute) -> int:
    """What an element takes in memory, at least."""
    if isinstance(type, ComplexType):
        return 2 * element_bytes(type.element_type)
    if isinstance(type, IntegerType):
        return -(-type.width.data // 8)
    return type.bitwidth // 8 if isinstance(type, AnyFloat) else 8


def _layout(type: Attribute) -> Iterable[int]:
    """The strides and the offset of a buffer, without their signs."""
    if not isinstance(type, MemRefType) or not isinstance(type.layout, StridedLayoutAttr):
        return ()
    numbers = [*type.layout.strides, type.layout.offset]
    return (abs(number.data) for number in numbers if isinstance(number, IntAttr))
