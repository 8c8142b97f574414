"""How C expressions are put together: parentheses, casts, unsigned arithmetic, 16-bit floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute, SSAValue

from .types import (
    ATOM,
    EQUALITY,
    LOGIC_AND,
    LOGIC_OR,
    SHIFT,
    UNARY,
    CExpr,
    CTypes,
)


class Printer(Protocol):
    """What the rules need of the kernel printer."""

    types: CTypes

    def value(self, value: SSAValue) -> CExpr: ...
    def helper(self, name: str, type: str | None = None) -> str: ...
    def element(self, buffer: SSAValue, indices: list[SSAValue]) -> CExpr: ...
    def extent(self, buffer: SSAValue, axis: int) -> CExpr: ...


Rule = Callable[[Printer, Any], CExpr]
"""How one kind of operation is written: the printer and the operation to an expression."""


def join(text: str, precedence: int, *parts: CExpr, **extra: Any) -> CExpr:
    if len(parts) == 1:
        reads, variables = parts[0].reads, parts[0].variables
    else:
        reads = frozenset().union(*(part.reads for part in parts))
        variables = frozenset().union(*(part.variables for part in parts))
    return CExpr(text, precedence, reads, variables, **extra)


def binary(symbol: str, precedence: int, left: CExpr, right: CExpr, **extra: Any) -> CExpr:
    text = f"{left.at(precedence)} {symbol} {right.at(precedence + 1)}"
    return join(text, precedence, left, right, **extra)


def call(name: str, *arguments: CExpr) -> CExpr:
    called = (name, arguments[0]) if len(arguments) == 1 else None
    return join(f"{name}({', '.join(a.text for a in arguments)})", ATOM, *arguments, called=called)


def cast(type: str, expr: CExpr) -> CExpr:
    """`(type)expr`."""
    return join(f"({type}){expr.at(UNARY)}", UNARY, expr)


def signed_operand(p: Printer, value: SSAValue) -> CExpr:
    """The value as an ordinary signed operand: threadIdx and its like are `unsigned` in C."""
    expr = p.value(value)
    return cast(p.types.scalar(value.type), expr) if expr.is_builtin else expr


def unsigned_operand(p: Printer, value: SSAValue) -> CExpr:
    expr = p.value(value)
    if expr.wrapped is not None:
        return join(*expr.wrapped, expr)
    if expr.is_builtin and p.types.bits(value.type) == 32:
        return expr
    return cast(p.types.unsigned(value.type), expr)


def from_unsigned(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """A signed value from an unsigned expression, which consumers that wrap around may use as it is."""
    signed = cast(p.types.scalar(type), expr)
    return join(signed.text, signed.precedence, expr, wrapped=(expr.text, expr.precedence))


def plain(expr: CExpr) -> CExpr:
    """A literal without the suffix that its type asks for, where the other operand has that type anyway."""
    return replace(expr, text=expr.text.removesuffix("LL")) if expr.is_literal else expr


def is_bool(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and type.width.data == 1


def is_narrow(p: Printer, op: Any) -> bool:
    return p.types.bits(op.result.type) < 32


def mixed(symbol: str, precedence: int, left: CExpr, right: CExpr) -> CExpr:
    """An operator whose binding few readers know: parentheses unless a side is an atom or its own kind."""
    least = EQUALITY if precedence in (LOGIC_AND, LOGIC_OR) else UNARY
    first = left.text if left.precedence == precedence else left.at(least)
    associative = right.precedence == precedence and precedence not in (SHIFT, EQUALITY)
    second = right.text if associative else right.at(least)
    return join(f"{first} {symbol} {second}", precedence, left, right)


def negation(condition: CExpr) -> CExpr:
    """`!condition`."""
    return join(f"!{condition.at(UNARY)}", UNARY, condition)


def typed_literal(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """min and max are overloaded: a literal must have the type of the other operand."""
    if isinstance(type, IndexType) and p.types.index_bits == 64 and expr.is_literal:
        return join(f"{plain(expr).text}LL", expr.precedence, expr)
    return expr


def rounded(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """`expr` rounded to the precision of a 16-bit float; as it is otherwise."""
    if isinstance(type, Float16Type):
        return call(p.helper("nt_round_half"), expr)
    if isinstance(type, BFloat16Type):
        return call(p.helper("nt_round_bf16"), expr)
    return expr


def float_from_memory(p: Printer, type: Attribute, bits: CExpr) -> CExpr:
    """The float that 16 bits of memory hold."""
    return call(p.helper("nt_half_to_float" if isinstance(type, Float16Type) else "nt_bf16_to_float"), bits)


def float_to_memory(p: Printer, type: Attribute, value: CExpr) -> CExpr:
    """The 16 bits of memory that hold a float: those it was loaded from, and rounded once."""
    name = "half" if isinstance(type, Float16Type) else "bf16"
    function, argument = value.called or ("", value)
    if function == f"nt_{name}_to_float":
        return argument
    exact = argument if function == f"nt_round_{name}" else value
    return call(p.helper(f"nt_float_to_{name}"), exact)
