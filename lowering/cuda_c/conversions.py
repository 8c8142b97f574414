"""Conversions between scalar types as C expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float16Type,
    Float64Type,
    IntegerType,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import gpu as gpu_ext
from .expressions import (
    Printer,
    Rule,
    binary,
    call,
    cast,
    float_from_memory,
    float_to_memory,
    from_unsigned,
    is_bool,
    is_narrow,
    join,
    mixed,
    rounded,
    signed_operand,
    unsigned_operand,
)
from .types import (
    BIT_AND,
    EQUALITY,
    UNARY,
    CExpr,
    is_short_float,
)


def widen_signed(p: Printer, op: Any) -> CExpr:
    operand = signed_operand(p, op.input)
    if is_bool(op.input.type):
        operand = join(f"-(int){operand.at(UNARY)}", UNARY, operand)
    return cast(p.types.scalar(op.result.type), operand)


def widen_unsigned(p: Printer, op: Any) -> CExpr:
    if is_bool(op.input.type):
        operand = p.value(op.input)
        if p.types.bits(op.result.type) <= 32:
            return operand
        bits = cast(p.types.unsigned(op.result.type), operand)
        return replace(cast(p.types.scalar(op.result.type), operand), wrapped=(bits.text, bits.precedence))
    return cast(p.types.scalar(op.result.type), unsigned_operand(p, op.input))


def truncate(p: Printer, op: Any) -> CExpr:
    expr = p.value(op.input)
    # The low bits are those of an unsigned expression, too.
    is_signed = expr.is_literal or expr.wrapped is None
    operand = (signed_operand if is_signed else unsigned_operand)(p, op.input)
    if is_bool(op.result.type):
        return binary("!=", EQUALITY, mixed("&", BIT_AND, operand, CExpr("1")), CExpr("0"))
    truncated = cast(p.types.scalar(op.result.type), operand)
    if is_narrow(p, op):
        return truncated
    bits = cast(p.types.unsigned(op.result.type), operand)
    return replace(truncated, wrapped=(bits.text, bits.precedence))


def index_cast(p: Printer, op: Any) -> CExpr:
    operand = signed_operand(p, op.input)
    source, target = p.types.bits(op.input.type), p.types.bits(op.result.type)
    if is_bool(op.input.type):
        return join(f"-({p.types.scalar(op.result.type)}){operand.at(UNARY)}", UNARY, operand)
    return operand if source == target else cast(p.types.scalar(op.result.type), operand)


def from_integer(unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        operand = unsigned_operand(p, op.input) if unsigned else signed_operand(p, op.input)
        if is_bool(op.input.type) and not unsigned:
            operand = join(f"-(int){operand.at(UNARY)}", UNARY, operand)
        if not is_short_float(type) or p.types.bits(op.input.type) <= 16:
            return rounded(p, type, cast(p.types.scalar(type), operand))
        if p.types.bits(op.input.type) == 64:
            raise fail(
                op,
                f"a 64-bit integer has no exact path to {type} in CUDA C",
                hint="convert to f32 first where two roundings are acceptable",
                error=LoweringError,
            )
        return narrow_float(p, cast("double", operand), op.result.type)

    return rule


def narrow_float(p: Printer, expr: CExpr, type: Attribute) -> CExpr:
    """A double rounded once to a 16-bit float."""
    short = "half" if isinstance(type, Float16Type) else "bf16"
    return call(p.helper(f"nt_{short}_to_float"), call(p.helper(f"nt_double_to_{short}"), expr))


def to_integer(unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type, operand = op.result.type, p.value(op.input)
        if is_bool(type):
            return binary("!=", EQUALITY, cast("int", operand), CExpr("0"))
        if unsigned:
            return from_unsigned(p, type, cast(p.types.unsigned(type), operand))
        return cast(p.types.scalar(type), operand)

    return rule


def resize_float(p: Printer, op: Any) -> CExpr:
    type, operand = op.result.type, p.value(op.input)
    if not is_short_float(type):
        return cast("double", operand) if isinstance(type, Float64Type) else _to_float(op, operand)
    if isinstance(op.input.type, Float64Type):
        return narrow_float(p, operand, type)
    if _comes_from_lane(op.input, type):
        return operand
    return rounded(p, type, operand)


def _comes_from_lane(value: SSAValue, type: Attribute) -> bool:
    """Whether another lane has made a 16-bit float wider to send it: it is rounded already."""
    sent = value.owner.operands[0].owner if isinstance(value.owner, gpu_ext.ShuffleOp) else None
    return isinstance(sent, arith.ExtFOp) and sent.input.type == type


def _to_float(op: Any, operand: CExpr) -> CExpr:
    return cast("float", operand) if isinstance(op.input.type, Float64Type) else operand


def bitcast(p: Printer, op: Any) -> CExpr:
    source, target = op.input.type, op.result.type
    if source == target:
        return p.value(op.input)
    if is_short_float(source) and isinstance(target, IntegerType):
        return cast("short", float_to_memory(p, source, p.value(op.input)))
    if is_short_float(target) and isinstance(source, IntegerType):
        return float_from_memory(p, target, cast("unsigned short", p.value(op.input)))
    functions = {
        ("float", "int"): "__float_as_int",
        ("int", "float"): "__int_as_float",
        ("double", "long long"): "__double_as_longlong",
        ("long long", "double"): "__longlong_as_double",
    }
    pair = (p.types.scalar(source, op), p.types.scalar(target, op))
    if pair not in functions:
        raise fail(op, f"CUDA C cannot reinterpret {source} as {target}", error=LoweringError)
    return call(functions[pair], p.value(op.input))
