"""The named combiners of `nest.accumulate` as scalar or vector operations."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.nest import AccumulateOp
from ....lowering.nest_common.index_arithmetic import NO_OVERFLOW

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
VECTOR_KINDS = {"maximum": "maximumf", "minimum": "minimumf"}
"""The combining kind of `vector.reduction` where it has another name."""


def combiner_op(name: str, element: Attribute) -> tuple[type[Operation], dict[str, Attribute]]:
    """The operation class of a named combiner on this element type, and its properties."""
    if isinstance(element, IntegerType):
        return _INT_OPS[name], NO_OVERFLOW if name in ("add", "mul") else {}
    return _FLOAT_OPS[name], NO_FASTMATH


def product_to_fuse(op: AccumulateOp, value: SSAValue) -> arith.MulfOp | None:
    """The product that `op` adds, its lowered `value`, where the two may be one fused multiply-add.

    Only sums of `order any` are so free.
    """
    is_sum = op.combine is None and op.combiner.data == "add" and op.order_name == "any"
    if not is_sum or not isinstance(op.values[0].type, Float32Type | Float64Type):
        return None
    return value.owner if isinstance(value.owner, arith.MulfOp) else None


def allow_fma(op: AccumulateOp, total: SSAValue, value: SSAValue) -> None:
    """Let the product that `op` adds, lowered to `total = old + value`, become one fused multiply-add.

    Other uses of the product stay as they are, for contraction takes the permission of both operations.
    """
    product, addition = product_to_fuse(op, value), total.owner
    if product is not None and isinstance(addition, arith.AddfOp):
        for member in (product, addition):
            member.properties["fastmath"] = _with_contract(member.fastmath)


def _with_contract(flags: arith.FastMathFlagsAttr | None) -> arith.FastMathFlagsAttr:
    granted = () if flags is None else tuple(flags.data)
    return arith.FastMathFlagsAttr([*dict.fromkeys((*granted, FastMathFlag.ALLOW_CONTRACT))])


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


def zero(type_: Attribute) -> Attribute:
    """The constant 0 of a scalar type."""
    return FloatAttr(0.0, type_) if isinstance(type_, AnyFloat) else IntegerAttr(0, type_)  # pyright: ignore


def splat(attribute: Attribute, vector: VectorType) -> Attribute:
    """The constant of vector type that repeats `attribute`."""
    return DenseIntOrFPElementsAttr.from_list(vector, [attribute.value.data])  # pyright: ignore
