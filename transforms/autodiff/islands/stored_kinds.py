"""What scalars are in memory: a bit is a byte, an index is a number of 64 bits.

%c = arith.cmpf ogt, %a, %b : f64        %0 = arith.extui %c : i1 to i8 ; nest.store %0, %tape[%i] : memref<?xi8>
                                         %1 = nest.load %tape[%i] ; %c = arith.trunci %1 : i8 to i1
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType, i1, i8, i64
from xdsl.ir import Attribute, Operation, SSAValue

Put = Callable[[Operation], SSAValue]
"""Puts an operation somewhere, and gives its result."""


def stored_kind(kind: Attribute) -> Attribute | None:
    """The type that values of a type have in memory; None where they are not stored."""
    if kind == i1:
        return i8
    if isinstance(kind, IndexType):
        return i64
    return kind if isinstance(kind, IntegerType | AnyFloat | ComplexType) else None


def to_memory(value: SSAValue, put: Put) -> SSAValue:
    """A value as it is stored."""
    if value.type == i1:
        return put(arith.ExtUIOp(value, i8))
    return put(arith.IndexCastOp(value, i64)) if isinstance(value.type, IndexType) else value


def from_memory(value: SSAValue, kind: Attribute, put: Put) -> SSAValue:
    """A value of a type, as it was before it was stored."""
    if kind == i1:
        return put(arith.TruncIOp(value, i1))
    return put(arith.IndexCastOp(value, IndexType())) if isinstance(kind, IndexType) else value
