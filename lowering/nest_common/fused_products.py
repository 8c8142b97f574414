"""Sums of products as fused multiply-adds: which may be, and the permission on the operations."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue

from ...dialects.nest import AccumulateOp


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
