"""Assignments that change a variable: `sum += e`, `count += (unsigned)n`."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from .expressions import Printer, unsigned_operand
from .types import CExpr, is_short_float

_FLOATS: dict[type[Operation], str] = {
    arith.AddfOp: "+",
    arith.SubfOp: "-",
    arith.MulfOp: "*",
    arith.DivfOp: "/",
}
_INTEGERS: dict[type[Operation], str] = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}


def update_of(p: Printer, value: SSAValue, name: str) -> tuple[str, CExpr] | None:
    """The operator and the term by which `value` is what `name` holds and one more operand; None where it is not.

    Integers wrap around: an unsigned term makes the arithmetic unsigned.
    """
    op = value.owner
    if (type(op) not in _FLOATS and type(op) not in _INTEGERS) or is_short_float(value.type):
        return None
    assert isinstance(op, Operation)
    old, term = op.operands
    if p.value(old).text != name or p.value(value).text.isidentifier():
        return None
    if (symbol := _FLOATS.get(type(op))) is not None:
        return symbol, p.value(term)
    symbol = _INTEGERS.get(type(op))
    if symbol is None or not isinstance(value.type, IntegerType) or value.type.width.data < 32:
        return None
    return symbol, unsigned_operand(p, term)
