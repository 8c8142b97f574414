"""Integer arithmetic as C expressions.

It wraps around as in NumPy, so it is done in unsigned where C leaves signed overflow undefined; `index`
arithmetic cannot overflow (the conversion chose `nestor.index_bits`) and stays signed.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue

from ...dialects.affine import constant_of
from ...dialects.diagnostic import LoweringError, fail
from .expressions import (
    Printer,
    Rule,
    binary,
    call,
    cast,
    from_unsigned,
    is_bool,
    is_narrow,
    join,
    mixed,
    negation,
    plain,
    signed_operand,
    typed_literal,
    unsigned_operand,
)
from .types import (
    ADD,
    ATOM,
    BIT_OR,
    EQUALITY,
    LOGIC_AND,
    LOGIC_OR,
    MUL,
    RELATION,
    SHIFT,
    TERNARY,
    UNARY,
    CExpr,
)

_RELATIONS = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">=", 6: "<", 7: "<=", 8: ">", 9: ">="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _index_sum(p: Printer, op: Any, symbol: str, precedence: int) -> CExpr:
    left, right = p.value(op.lhs), p.value(op.rhs)
    narrow = [e.is_builtin or e.is_literal for e in (left, right)]
    if symbol == "-" or not any(e.is_builtin for e in (left, right)):
        return binary(symbol, precedence, signed_operand(p, op.lhs), signed_operand(p, op.rhs))
    if p.types.index_bits == 64:  # one 64-bit operand makes the other one 64 bits wide
        if all(narrow) and left.is_builtin:
            left = signed_operand(p, op.lhs)
        elif all(narrow):
            right = signed_operand(p, op.rhs)
        return binary(symbol, precedence, left, right)
    return binary(symbol, precedence, left, right, is_builtin=True)


def wrapping(symbol: str, precedence: int, logical: str | None = None) -> Rule:
    """+, - and *: modulo 2^n on integers, plain on indices, exclusive or / and on booleans."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        if isinstance(type, IndexType):
            return _index_sum(p, op, symbol, precedence)
        left, right = p.value(op.lhs), p.value(op.rhs)
        if is_bool(type):
            return binary(logical or symbol, LOGIC_AND if logical == "&&" else EQUALITY, left, right)
        if p.types.bits(type) < 32:  # promoted to int, where nothing overflows
            return cast(p.types.scalar(type), binary(symbol, precedence, left, right))
        if p.types.bits(type) == 64 and is_short(p, op.result):
            constant = constant_of(op.rhs)
            if constant is None or constant >= 0:
                return binary(symbol, precedence, left, plain(right))
            negated = p.types.integer(-constant, type)
            return binary("-" if symbol == "+" else "+", precedence, left, plain(negated))
        return from_unsigned(p, type, _modular(p, op, symbol, precedence))

    return rule


def _modular(p: Printer, op: Any, symbol: str, precedence: int) -> CExpr:
    """Unsigned arithmetic: one unsigned operand makes the other one unsigned."""
    left, right = p.value(op.lhs), p.value(op.rhs)
    constant = constant_of(op.rhs)
    if symbol == "+" and constant is not None and -(2**31) < constant < 0:
        symbol, right = "-", p.types.integer(-constant, op.result.type)
        return binary(symbol, precedence, left, join(*right.wrapped, right))  # pyright: ignore
    if left.wrapped is not None and not left.is_literal:
        return binary(symbol, precedence, join(*left.wrapped, left), plain(right))
    if right.wrapped is not None:
        return binary(symbol, precedence, left, join(*right.wrapped, right))
    return binary(symbol, precedence, unsigned_operand(p, op.lhs), right)


def is_short(p: Printer, value: SSAValue, depth: int = 3) -> bool:
    """Whether an i64 is made of few indices of 32 bits, so that computing it cannot overflow."""
    op = value.owner
    if (constant := constant_of(value)) is not None:
        return -(2**31) < constant < 2**31
    if isinstance(op, arith.IndexCastOp):
        return isinstance(op.input.type, IndexType) and p.types.index_bits == 32
    if not isinstance(op, arith.AddiOp | arith.SubiOp) or not depth:
        return False
    return is_short(p, op.lhs, depth - 1) and is_short(p, op.rhs, depth - 1)


def bitwise(symbol: str, precedence: int, logical: str, logical_precedence: int) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        left, right = signed_operand(p, op.lhs), signed_operand(p, op.rhs)
        if not is_bool(op.result.type):
            if symbol == "^" and right.text in ("-1", "-1LL"):
                return join(f"~{left.at(UNARY)}", UNARY, left)
            return mixed(symbol, precedence, left, right)
        if logical == "!=" and right.text == "true":
            return opposite(p, op.lhs)
        return mixed(logical, logical_precedence, left, right)

    return rule


def shift_left(p: Printer, op: Any) -> CExpr:
    type = op.result.type
    amount = plain(signed_operand(p, op.rhs))
    shifted = mixed("<<", SHIFT, unsigned_operand(p, op.lhs), amount)
    return (
        from_unsigned(p, type, shifted) if p.types.bits(type) >= 32 else cast(p.types.scalar(type), shifted)
    )


def shift_right_signed(p: Printer, op: Any) -> CExpr:
    return mixed(">>", SHIFT, signed_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))


def shift_right_unsigned(p: Printer, op: Any) -> CExpr:
    shifted = mixed(">>", SHIFT, unsigned_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))
    return from_unsigned(p, op.result.type, shifted)


def signed_division(symbol: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        quotient = binary(symbol, MUL, signed_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))
        return cast(p.types.scalar(op.result.type), quotient) if is_narrow(p, op) else quotient

    return rule


def unsigned_division(symbol: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        left, right = unsigned_operand(p, op.lhs), unsigned_operand(p, op.rhs)
        if left.is_builtin and p.value(op.rhs).is_literal:  # unsigned by itself: threadIdx.x / 32
            right = p.value(op.rhs)
        elif (
            p.value(op.rhs).is_literal and p.value(op.lhs).wrapped is None and p.types.bits(op.lhs.type) >= 32
        ):
            left = signed_operand(p, op.lhs)  # made unsigned by the divisor
        return from_unsigned(p, op.result.type, binary(symbol, MUL, left, right))

    return rule


def integer_helper(name: str) -> Rule:
    """A helper that exists for int and long long; narrower integers compute in int."""

    def rule(p: Printer, op: Any) -> CExpr:
        wide = "long long" if p.types.bits(op.result.type) == 64 else "int"
        result = call(p.helper(name, wide), signed_operand(p, op.lhs), signed_operand(p, op.rhs))
        return cast(p.types.scalar(op.result.type), result) if is_narrow(p, op) else result

    return rule


def random_bits(p: Printer, op: Any) -> CExpr:
    """`nt_philox(counter, stream, key)`."""
    bits = call(p.helper("nt_philox"), *(unsigned_operand(p, v) for v in (op.counter, op.stream, op.key)))
    return from_unsigned(p, op.result.type, bits)


def ceil_div_unsigned(p: Printer, op: Any) -> CExpr:
    left, right = unsigned_operand(p, op.lhs), unsigned_operand(p, op.rhs)
    quotient, remainder = binary("/", MUL, left, right), binary("%", MUL, left, right)
    text = f"{quotient.text} + ({remainder.text} != 0)"
    return from_unsigned(p, op.result.type, join(text, ADD, left, right))


def integer_minmax(name: str, unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        if is_bool(type):  # signed i1: true is -1
            both = (name == "min") == unsigned
            left, right = p.value(op.lhs), p.value(op.rhs)
            return mixed("&&", LOGIC_AND, left, right) if both else mixed("||", LOGIC_OR, left, right)
        operand = unsigned_operand if unsigned else signed_operand
        arguments = [operand(p, v) for v in (op.lhs, op.rhs)]
        if not unsigned:
            arguments = [typed_literal(p, type, a) for a in arguments]
            result = call(name, *arguments)
            return cast(p.types.scalar(type), result) if is_narrow(p, op) else result
        if is_narrow(p, op):  # a literal would be unsigned, and the other operand an int
            values = [p.value(v) for v in (op.lhs, op.rhs)]
            literals = [cast(p.types.unsigned(type), v) for v in values]
            arguments = [
                c if v.is_literal else a for v, c, a in zip(values, literals, arguments, strict=True)
            ]
        return from_unsigned(p, type, call(name, *arguments))

    return rule


def compare_integers(p: Printer, op: arith.CmpiOp, opposite: bool = False) -> CExpr:
    predicate = op.predicate.value.data
    symbol = _RELATIONS[predicate]
    symbol = _OPPOSITE[symbol] if opposite else symbol
    if 2 <= predicate <= 5 and is_bool(op.lhs.type):  # signed i1: true is -1
        symbol = _MIRRORED[symbol]
    left, right = _uncast(op.lhs, op.rhs, predicate)
    operand = unsigned_operand if predicate >= 6 and not is_bool(op.lhs.type) else signed_operand
    precedence = EQUALITY if symbol in ("==", "!=") else RELATION
    return binary(symbol, precedence, operand(p, left), plain(operand(p, right)))


def _uncast(left: SSAValue, right: SSAValue, predicate: int) -> tuple[SSAValue, SSAValue]:
    """Two indices that were made integers of 64 bits to be compared: as indices they compare the same, in fewer bits."""
    casts = [value.owner for value in (left, right)]
    if predicate >= 6 or not all(isinstance(cast, arith.IndexCastOp) for cast in casts):
        return left, right
    first, second = (cast.input for cast in casts if isinstance(cast, arith.IndexCastOp))
    is_wide = left.type == i64 and isinstance(first.type, IndexType) and isinstance(second.type, IndexType)
    return (first, second) if is_wide else (left, right)


def opposite(p: Printer, condition: SSAValue) -> CExpr:
    """The negation of a condition; an integer comparison used only here is turned around."""
    op, expr = condition.owner, p.value(condition)
    if expr.precedence == ATOM or not condition.has_one_use():
        return negation(expr)
    if isinstance(op, arith.CmpiOp):
        return compare_integers(p, op, opposite=True)
    if isinstance(op, arith.AndIOp):
        return mixed("||", LOGIC_OR, opposite(p, op.lhs), opposite(p, op.rhs))
    if isinstance(op, arith.OrIOp):
        return mixed("&&", LOGIC_AND, opposite(p, op.lhs), opposite(p, op.rhs))
    return negation(expr)


def multiply_extended(p: Printer, op: Any) -> tuple[CExpr, CExpr]:
    """The low and the high half of a product: `arith.mului_extended` and `arith.mulsi_extended`."""
    type = op.lhs.type
    bits = p.types.bits(type)
    if bits not in (32, 64):
        raise fail(op, f"CUDA C has no high multiplication of {type}", error=LoweringError)
    left, right = unsigned_operand(p, op.lhs), unsigned_operand(p, op.rhs)
    low = from_unsigned(p, type, binary("*", MUL, left, right))
    suffix = "64hi" if bits == 64 else "hi"
    if isinstance(op, arith.MulSIExtendedOp):
        high = call(f"__mul{suffix}", signed_operand(p, op.lhs), signed_operand(p, op.rhs))
        return low, high
    return low, from_unsigned(p, type, call(f"__umul{suffix}", left, right))


def abs_integer(p: Printer, op: Any) -> CExpr:
    type, operand = op.results[0].type, signed_operand(p, op.operands[0])
    if p.types.bits(type) < 32:
        return cast(p.types.scalar(type), call("abs", operand))
    zero = p.types.integer(0, type).wrapped
    assert zero is not None
    bits = cast(p.types.unsigned(type), operand)
    text = f"{operand.at(RELATION + 1)} < 0 ? {zero[0]} - {bits.at(ADD + 1)} : {bits.text}"
    return from_unsigned(p, type, join(text, TERNARY, operand))


def count_bits(name: str, fixup: int) -> Rule:
    """ctpop, clz, ctz: CUDA has them for 32 and 64 bits; `fixup` says what narrower types need."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.results[0].type
        bits = p.types.bits(type)
        operand = unsigned_operand(p, op.operands[0])
        if name == "ffs":  # __ffs is 0 for 0, else the position counted from 1
            guard = 1 << bits if bits < 32 else 0
            if guard:
                return cast(p.types.scalar(type), _ffs(mixed("|", BIT_OR, operand, CExpr(f"0x{guard:x}"))))
            zero = binary("==", EQUALITY, signed_operand(p, op.operands[0]), CExpr("0"))
            function = "__ffsll" if bits == 64 else "__ffs"
            body = call(function, signed_operand(p, op.operands[0]))
            return join(f"{zero.text} ? {bits} : {body.text} - 1", TERNARY, operand)
        result = call(f"__{name}ll" if bits == 64 else f"__{name}", operand)
        return binary("-", ADD, result, CExpr(str(32 - bits))) if fixup and bits < 32 else result

    return rule


def _ffs(operand: CExpr) -> CExpr:
    return binary("-", ADD, call("__ffs", operand), CExpr("1"))
