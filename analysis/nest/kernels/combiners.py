"""The named combiners of `nest.accumulate` as scalar or vector operations."""

from __future__ import annotations

import sys

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from ....dialects.diagnostic import fail
from ....dialects.ext.arith import NO_OVERFLOW
from ....dialects.nest import AccumulateOp

NO_FASTMATH: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}

_FLOAT_OPS: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "maximum": arith.MaximumfOp,
    "minimum": arith.MinimumfOp,
}
_INT_OPS: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "maxsi": arith.MaxSIOp,
    "minsi": arith.MinSIOp,
    "maxui": arith.MaxUIOp,
    "minui": arith.MinUIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}
_LARGEST: dict[type[Attribute], float] = {
    Float16Type: 65504.0,
    BFloat16Type: (2 - 2.0**-7) * 2.0**127,
    Float32Type: (2 - 2.0**-23) * 2.0**127,
    Float64Type: sys.float_info.max,
}
ATOMIC_KINDS = {"add": 1, "maxsi": 4, "maxui": 5, "minsi": 7, "minui": 8, "or": 11, "and": 12, "xor": 15}
"""The number that `memref.atomic_rmw` has for a combiner of integers (arith::AtomicRMWKind)."""

VECTOR_KINDS = {"maximum": "maximumf", "minimum": "minimumf"}
"""The combining kind of `vector.reduction` where it has another name."""


def combiner_op(name: str, element: Attribute) -> tuple[type[Operation], dict[str, Attribute]]:
    """The operation class of a named combiner on this element type, and its properties."""
    if isinstance(element, IntegerType):
        return _INT_OPS[name], NO_OVERFLOW if name in ("add", "mul") else {}
    return _FLOAT_OPS[name], NO_FASTMATH


def identity(name: str, element: Attribute) -> FloatAttr | IntegerAttr:
    """The neutral element of a named combiner, as the attribute of a constant."""
    if isinstance(element, AnyFloat):
        # -0.0 is the neutral element of addition: 0.0 would turn a sum of -0.0 into 0.0
        value = {"add": -0.0, "mul": 1.0, "maximum": float("-inf"), "minimum": float("inf")}[name]
        return FloatAttr(value, element)
    assert isinstance(element, IntegerType)
    width = element.width.data
    smallest, largest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    value = {"mul": 1, "maxsi": smallest, "minsi": largest, "and": -1, "minui": -1}.get(name, 0)
    return IntegerAttr(value, element)


def largest_finite(element: AnyFloat) -> FloatAttr:
    """The largest finite number of a type."""
    return FloatAttr(_LARGEST[type(element)], element)


def zero(type_: Attribute) -> Attribute:
    """The constant 0 of a scalar type."""
    return FloatAttr(0.0, type_) if isinstance(type_, AnyFloat) else IntegerAttr(0, type_)  # pyright: ignore


def splat(attribute: Attribute, vector: VectorType) -> Attribute:
    """The constant of vector type that repeats `attribute`."""
    return DenseIntOrFPElementsAttr.from_list(vector, [attribute.value.data])  # pyright: ignore


def identities(op: AccumulateOp) -> list[FloatAttr | IntegerAttr]:
    """The values that leave a reduction as it is, one a buffer. Raises a diagnostic for complex numbers by name."""
    if op.combiner.data == "custom":
        assert isinstance(op.identity, ArrayAttr)
        return list(op.identity.data)  # pyright: ignore[reportReturnType]
    element = op.values[0].type
    if isinstance(element, ComplexType):
        hint = "run nest-expand-complex before"
        raise fail(op, f"the combiner '{op.combiner.data}' of {element} has no identity here", hint=hint)
    return [identity(op.combiner.data, element)]
