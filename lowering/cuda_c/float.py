"""Floating-point arithmetic as C expressions, rounded after every operation as in NumPy."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute

from ...dialects.diagnostic import LoweringError, fail
from .expressions import (
    Printer,
    Rule,
    binary,
    call,
    join,
    mixed,
    negation,
    rounded,
    signed_operand,
)
from .types import (
    ADD,
    EQUALITY,
    LOGIC_OR,
    MUL,
    RELATION,
    UNARY,
    CExpr,
    is_short_float,
)


def float_binary(symbol: str, precedence: int) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        return rounded(p, op.result.type, binary(symbol, precedence, p.value(op.lhs), p.value(op.rhs)))

    return rule


def negate(p: Printer, op: Any) -> CExpr:
    operand = p.value(op.operand)
    text = operand.at(UNARY)
    return join(f"-({text})" if text.startswith("-") else f"-{text}", UNARY, operand)


def nan_minmax(name: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        function = p.helper(name, p.types.scalar(op.result.type))
        return call(function, p.value(op.lhs), p.value(op.rhs))

    return rule


def _c_math(name: str, type: Attribute) -> str:
    return name if isinstance(type, Float64Type) else f"{name}f"


def c_math_call(name: str) -> Rule:
    """A function of <math.h>: `name` on double, `namef` on the rest."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.results[0].type
        return rounded(p, type, call(_c_math(name, type), *(p.value(v) for v in op.operands)))

    return rule


def exponential(p: Printer, op: Any) -> CExpr:
    """exp; of 16-bit floats by the instruction for powers of two, more exact than these are; of f32 where asked for."""
    type = op.result.type
    if isinstance(type, Float32Type) and FastMathFlag.APPROX_FUNC in op.fastmath.data:
        return call(p.helper("nt_exp_approx"), p.value(op.operand))
    if not is_short_float(type):
        return c_math_call("exp")(p, op)
    name = "nt_exp_half" if isinstance(type, Float16Type) else "nt_exp_bf16"
    return rounded(p, type, call(p.helper(name), p.value(op.operand)))


def fma(p: Printer, op: Any) -> CExpr:
    if is_short_float(op.result.type):
        raise fail(
            op,
            f"a fused multiply-add of {op.result.type} would be rounded twice",
            hint="extend to f32, use math.fma there, and truncate",
            error=LoweringError,
        )
    return c_math_call("fma")(p, op)


def reciprocal_root(p: Printer, op: Any) -> CExpr:
    type = op.results[0].type
    root = call(_c_math("sqrt", type), p.value(op.operands[0]))
    return rounded(p, type, binary("/", MUL, p.types.floating(1.0, type), root))


def sigmoid(p: Printer, op: Any) -> CExpr:
    """exp(min(x, 0)) / (1 + exp(-|x|)): nothing overflows, and small results keep their digits."""
    type = op.results[0].type
    x, exp = p.value(op.operands[0]), _c_math("exp", type)
    above = call(exp, call(_c_math("fmin", type), x, p.types.floating(0.0, type)))
    small = call(exp, call(_c_math("copysign", type), x, p.types.floating(-1.0, type)))
    below = binary("+", ADD, p.types.floating(1.0, type), small)
    return rounded(p, type, binary("/", MUL, above, below))


def powi(p: Printer, op: Any) -> CExpr:
    type = op.results[0].type
    function = p.helper("nt_powi", p.types.scalar(type))
    return rounded(p, type, call(function, p.value(op.operands[0]), signed_operand(p, op.operands[1])))


def compare_floats(p: Printer, op: arith.CmpfOp) -> CExpr:
    predicate = op.predicate.value.data
    left, right = p.value(op.lhs), p.value(op.rhs)
    direct = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
    inverted = {9: "<=", 10: "<", 11: ">=", 12: ">"}
    if predicate in (0, 15):
        return CExpr("true" if predicate else "false", is_literal=True)
    if predicate in direct:
        symbol = direct[predicate]
        return binary(symbol, EQUALITY if symbol in ("==", "!=") else RELATION, left, right)
    if predicate in inverted:
        return negation(binary(inverted[predicate], RELATION, left, right))
    if predicate in (7, 14):
        return _is_unordered(p, op, left, right, predicate == 14)
    unequal = mixed("||", LOGIC_OR, binary("<", RELATION, left, right), binary(">", RELATION, left, right))
    return unequal if predicate == 6 else negation(unequal)


def _is_unordered(p: Printer, op: arith.CmpfOp, left: CExpr, right: CExpr, wanted: bool) -> CExpr:
    if op.lhs is op.rhs:
        return binary("!=" if wanted else "==", EQUALITY, left, right)
    unordered = call(p.helper("nt_unordered"), left, right)
    return unordered if wanted else negation(unordered)
