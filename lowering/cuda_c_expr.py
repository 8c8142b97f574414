"""Operations that become C expressions: `arith`, `math`, and the reads of `gpu` and `memref`.

Each rule takes the printer and the operation and returns a `CExpr`; `EXPRESSIONS` dispatches by operation
type. Integer arithmetic wraps around as in NumPy, so it is done in unsigned where C leaves signed overflow
undefined; `index` arithmetic cannot overflow (the conversion chose `nestor.index_bits`) and stays signed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from xdsl.dialects import arith, gpu, math, memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.diagnostic import LoweringError, fail
from ..dialects.ext import gpu as gpu_ext
from .cuda_c_types import (
    ADD,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    LOGIC_AND,
    LOGIC_OR,
    MUL,
    RELATION,
    SHIFT,
    TERNARY,
    UNARY,
    CExpr,
    CTypes,
    is_short_float,
)


class Printer(Protocol):
    """What the rules need of the kernel printer."""

    types: CTypes

    def value(self, value: SSAValue) -> CExpr: ...
    def helper(self, name: str, type: str | None = None) -> str: ...
    def element(self, buffer: SSAValue, indices: list[SSAValue]) -> CExpr: ...
    def extent(self, buffer: SSAValue, axis: int) -> CExpr: ...


Rule = Callable[[Printer, Any], CExpr]


def _join(text: str, precedence: int, *parts: CExpr, **extra: Any) -> CExpr:
    if len(parts) == 1:
        reads, variables = parts[0].reads, parts[0].variables
    else:
        reads = frozenset().union(*(part.reads for part in parts))
        variables = frozenset().union(*(part.variables for part in parts))
    return CExpr(text, precedence, reads, variables, **extra)


def _binary(symbol: str, precedence: int, left: CExpr, right: CExpr, **extra: Any) -> CExpr:
    text = f"{left.at(precedence)} {symbol} {right.at(precedence + 1)}"
    return _join(text, precedence, left, right, **extra)


def _call(name: str, *arguments: CExpr) -> CExpr:
    return _join(f"{name}({', '.join(a.text for a in arguments)})", ATOM, *arguments)


def cast(type: str, expr: CExpr) -> CExpr:
    """`(type)expr`."""
    return _join(f"({type}){expr.at(UNARY)}", UNARY, expr)


def signed_operand(p: Printer, value: SSAValue) -> CExpr:
    """The value as an ordinary signed operand: threadIdx and its like are `unsigned` in C."""
    expr = p.value(value)
    return cast(p.types.scalar(value.type), expr) if expr.is_builtin else expr


def _unsigned_operand(p: Printer, value: SSAValue) -> CExpr:
    expr = p.value(value)
    if expr.wrapped is not None:
        return _join(*expr.wrapped, expr)
    if expr.is_builtin and p.types.bits(value.type) == 32:
        return expr
    return cast(p.types.unsigned(value.type), expr)


def _from_unsigned(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """A signed value from an unsigned expression, which consumers that wrap around may use as it is."""
    signed = cast(p.types.scalar(type), expr)
    return _join(signed.text, signed.precedence, expr, wrapped=(expr.text, expr.precedence))


def plain(expr: CExpr) -> CExpr:
    """A literal without the suffix that its type asks for, where the other operand has that type anyway."""
    return replace(expr, text=expr.text.removesuffix("LL")) if expr.is_literal else expr


def _is_bool(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and type.width.data == 1


# -- integers ---------------------------------------------------------------------------------------------


def _index_sum(p: Printer, op: Any, symbol: str, precedence: int) -> CExpr:
    left, right = p.value(op.lhs), p.value(op.rhs)
    narrow = [e.is_builtin or e.is_literal for e in (left, right)]
    if symbol == "-" or not any(e.is_builtin for e in (left, right)):
        return _binary(symbol, precedence, signed_operand(p, op.lhs), signed_operand(p, op.rhs))
    if p.types.index_bits == 64:  # one 64-bit operand makes the other one 64 bits wide
        if all(narrow) and left.is_builtin:
            left = signed_operand(p, op.lhs)
        elif all(narrow):
            right = signed_operand(p, op.rhs)
        return _binary(symbol, precedence, left, right)
    return _binary(symbol, precedence, left, right, is_builtin=True)


def _wrapping(symbol: str, precedence: int, logical: str | None = None) -> Rule:
    """+, - and *: modulo 2^n on integers, plain on indices, exclusive or / and on booleans."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        if isinstance(type, IndexType):
            return _index_sum(p, op, symbol, precedence)
        left, right = p.value(op.lhs), p.value(op.rhs)
        if _is_bool(type):
            return _binary(logical or symbol, LOGIC_AND if logical == "&&" else EQUALITY, left, right)
        if p.types.bits(type) < 32:  # promoted to int, where nothing overflows
            return cast(p.types.scalar(type), _binary(symbol, precedence, left, right))
        exact = _binary(symbol, precedence, _unsigned_operand(p, op.lhs), _unsigned_operand(p, op.rhs))
        return _from_unsigned(p, type, exact)

    return rule


def _bitwise(symbol: str, precedence: int, logical: str, logical_precedence: int) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        left, right = signed_operand(p, op.lhs), signed_operand(p, op.rhs)
        if not _is_bool(op.result.type):
            if symbol == "^" and right.text in ("-1", "-1LL"):
                return _join(f"~{left.at(UNARY)}", UNARY, left)
            return _mixed(symbol, precedence, left, right)
        if logical == "!=" and right.text == "true":
            return opposite(p, op.lhs)
        return _mixed(logical, logical_precedence, left, right)

    return rule


def _mixed(symbol: str, precedence: int, left: CExpr, right: CExpr) -> CExpr:
    """An operator whose binding few readers know: parentheses unless a side is an atom or its own kind."""
    least = EQUALITY if precedence in (LOGIC_AND, LOGIC_OR) else UNARY
    first = left.text if left.precedence == precedence else left.at(least)
    associative = right.precedence == precedence != SHIFT
    second = right.text if associative else right.at(least)
    return _join(f"{first} {symbol} {second}", precedence, left, right)


def negation(condition: CExpr) -> CExpr:
    """`!condition`."""
    return _join(f"!{condition.at(UNARY)}", UNARY, condition)


def _shift_left(p: Printer, op: Any) -> CExpr:
    type = op.result.type
    amount = plain(signed_operand(p, op.rhs))
    shifted = _mixed("<<", SHIFT, _unsigned_operand(p, op.lhs), amount)
    return (
        _from_unsigned(p, type, shifted) if p.types.bits(type) >= 32 else cast(p.types.scalar(type), shifted)
    )


def _shift_right_signed(p: Printer, op: Any) -> CExpr:
    return _mixed(">>", SHIFT, signed_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))


def _shift_right_unsigned(p: Printer, op: Any) -> CExpr:
    shifted = _mixed(">>", SHIFT, _unsigned_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))
    return _from_unsigned(p, op.result.type, shifted)


def _signed_binary(symbol: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        quotient = _binary(symbol, MUL, signed_operand(p, op.lhs), plain(signed_operand(p, op.rhs)))
        return cast(p.types.scalar(op.result.type), quotient) if _narrow(p, op) else quotient

    return rule


def _narrow(p: Printer, op: Any) -> bool:
    return p.types.bits(op.result.type) < 32


def _unsigned_binary(symbol: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        quotient = _binary(symbol, MUL, _unsigned_operand(p, op.lhs), _unsigned_operand(p, op.rhs))
        return _from_unsigned(p, op.result.type, quotient)

    return rule


def _integer_helper(name: str) -> Rule:
    """A helper that exists for int and long long; narrower integers compute in int."""

    def rule(p: Printer, op: Any) -> CExpr:
        wide = "long long" if p.types.bits(op.result.type) == 64 else "int"
        result = _call(p.helper(name, wide), signed_operand(p, op.lhs), signed_operand(p, op.rhs))
        return cast(p.types.scalar(op.result.type), result) if _narrow(p, op) else result

    return rule


def _ceil_div_unsigned(p: Printer, op: Any) -> CExpr:
    left, right = _unsigned_operand(p, op.lhs), _unsigned_operand(p, op.rhs)
    quotient, remainder = _binary("/", MUL, left, right), _binary("%", MUL, left, right)
    text = f"{quotient.text} + ({remainder.text} != 0)"
    return _from_unsigned(p, op.result.type, _join(text, ADD, left, right))


def _integer_minmax(name: str, unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        if _is_bool(type):  # signed i1: true is -1
            both = (name == "min") == unsigned
            left, right = p.value(op.lhs), p.value(op.rhs)
            return _mixed("&&", LOGIC_AND, left, right) if both else _mixed("||", LOGIC_OR, left, right)
        operand = _unsigned_operand if unsigned else signed_operand
        arguments = [operand(p, v) for v in (op.lhs, op.rhs)]
        if not unsigned:
            arguments = [_typed_literal(p, type, a) for a in arguments]
            result = _call(name, *arguments)
            return cast(p.types.scalar(type), result) if _narrow(p, op) else result
        return _from_unsigned(p, type, _call(name, *arguments))

    return rule


def _typed_literal(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """min and max are overloaded: a literal must have the type of the other operand."""
    if isinstance(type, IndexType) and p.types.index_bits == 64 and expr.is_literal:
        return _join(f"{expr.text}LL", expr.precedence, expr)
    return expr


_RELATIONS = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">=", 6: "<", 7: "<=", 8: ">", 9: ">="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(p: Printer, op: arith.CmpiOp, opposite: bool = False) -> CExpr:
    predicate = op.predicate.value.data
    symbol = _RELATIONS[predicate]
    symbol = _OPPOSITE[symbol] if opposite else symbol
    if 2 <= predicate <= 5 and _is_bool(op.lhs.type):  # signed i1: true is -1
        symbol = _MIRRORED[symbol]
    operand = _unsigned_operand if predicate >= 6 and not _is_bool(op.lhs.type) else signed_operand
    precedence = EQUALITY if symbol in ("==", "!=") else RELATION
    return _binary(symbol, precedence, operand(p, op.lhs), plain(operand(p, op.rhs)))


def opposite(p: Printer, condition: SSAValue) -> CExpr:
    """The negation of a condition; an integer comparison used only here is turned around."""
    op, expr = condition.owner, p.value(condition)
    if expr.precedence == ATOM or not condition.has_one_use():
        return negation(expr)
    if isinstance(op, arith.CmpiOp):
        return _compare(p, op, opposite=True)
    if isinstance(op, arith.AndIOp):
        return _mixed("||", LOGIC_OR, opposite(p, op.lhs), opposite(p, op.rhs))
    if isinstance(op, arith.OrIOp):
        return _mixed("&&", LOGIC_AND, opposite(p, op.lhs), opposite(p, op.rhs))
    return negation(expr)


def multiply_extended(p: Printer, op: Any) -> tuple[CExpr, CExpr]:
    """The low and the high half of a product: `arith.mului_extended` and `arith.mulsi_extended`."""
    type = op.lhs.type
    bits = p.types.bits(type)
    if bits not in (32, 64):
        raise fail(op, f"CUDA C has no high multiplication of {type}", error=LoweringError)
    left, right = _unsigned_operand(p, op.lhs), _unsigned_operand(p, op.rhs)
    low = _from_unsigned(p, type, _binary("*", MUL, left, right))
    suffix = "64hi" if bits == 64 else "hi"
    if isinstance(op, arith.MulSIExtendedOp):
        high = _call(f"__mul{suffix}", signed_operand(p, op.lhs), signed_operand(p, op.rhs))
        return low, high
    return low, _from_unsigned(p, type, _call(f"__umul{suffix}", left, right))


# -- floats -----------------------------------------------------------------------------------------------


def _rounded(p: Printer, type: Attribute, expr: CExpr) -> CExpr:
    """`expr` rounded to the precision of a 16-bit float; as it is otherwise."""
    if isinstance(type, Float16Type):
        return _call(p.helper("nt_round_half"), expr)
    if isinstance(type, BFloat16Type):
        return _call(p.helper("nt_round_bf16"), expr)
    return expr


def _float_binary(symbol: str, precedence: int) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        return _rounded(p, op.result.type, _binary(symbol, precedence, p.value(op.lhs), p.value(op.rhs)))

    return rule


def _negate(p: Printer, op: Any) -> CExpr:
    operand = p.value(op.operand)
    text = operand.at(UNARY)
    return _join(f"-({text})" if text.startswith("-") else f"-{text}", UNARY, operand)


def _minmax(name: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        function = p.helper(name, p.types.scalar(op.result.type))
        return _call(function, p.value(op.lhs), p.value(op.rhs))

    return rule


def _c_math(name: str, type: Attribute) -> str:
    return name if isinstance(type, Float64Type) else f"{name}f"


def _math(name: str) -> Rule:
    """A function of <math.h>: `name` on double, `namef` on the rest."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.results[0].type
        return _rounded(p, type, _call(_c_math(name, type), *(p.value(v) for v in op.operands)))

    return rule


def _fma(p: Printer, op: Any) -> CExpr:
    if is_short_float(op.result.type):
        raise fail(
            op,
            f"a fused multiply-add of {op.result.type} would be rounded twice",
            hint="extend to f32, use math.fma there, and truncate",
            error=LoweringError,
        )
    return _math("fma")(p, op)


def _reciprocal_root(p: Printer, op: Any) -> CExpr:
    type = op.results[0].type
    root = _call(_c_math("sqrt", type), p.value(op.operands[0]))
    return _rounded(p, type, _binary("/", MUL, p.types.floating(1.0, type), root))


def _abs_integer(p: Printer, op: Any) -> CExpr:
    type, operand = op.results[0].type, signed_operand(p, op.operands[0])
    if p.types.bits(type) < 32:
        return cast(p.types.scalar(type), _call("abs", operand))
    zero = p.types.integer(0, type).wrapped
    assert zero is not None
    bits = cast(p.types.unsigned(type), operand)
    text = f"{operand.at(RELATION + 1)} < 0 ? {zero[0]} - {bits.at(ADD + 1)} : {bits.text}"
    return _from_unsigned(p, type, _join(text, TERNARY, operand))


def _powi(p: Printer, op: Any) -> CExpr:
    type = op.results[0].type
    function = p.helper("nt_powi", p.types.scalar(type))
    return _rounded(p, type, _call(function, p.value(op.operands[0]), signed_operand(p, op.operands[1])))


def _count_bits(name: str, fixup: int) -> Rule:
    """ctpop, clz, ctz: CUDA has them for 32 and 64 bits; `fixup` says what narrower types need."""

    def rule(p: Printer, op: Any) -> CExpr:
        type = op.results[0].type
        bits = p.types.bits(type)
        operand = _unsigned_operand(p, op.operands[0])
        if name == "ffs":  # __ffs is 0 for 0, else the position counted from 1
            guard = 1 << bits if bits < 32 else 0
            if guard:
                return cast(p.types.scalar(type), _ffs(_mixed("|", BIT_OR, operand, CExpr(f"0x{guard:x}"))))
            zero = _binary("==", EQUALITY, signed_operand(p, op.operands[0]), CExpr("0"))
            function = "__ffsll" if bits == 64 else "__ffs"
            body = _call(function, signed_operand(p, op.operands[0]))
            return _join(f"{zero.text} ? {bits} : {body.text} - 1", TERNARY, operand)
        result = _call(f"__{name}ll" if bits == 64 else f"__{name}", operand)
        return _binary("-", ADD, result, CExpr(str(32 - bits))) if fixup and bits < 32 else result

    return rule


def _ffs(operand: CExpr) -> CExpr:
    return _binary("-", ADD, _call("__ffs", operand), CExpr("1"))


def _compare_floats(p: Printer, op: arith.CmpfOp) -> CExpr:
    predicate = op.predicate.value.data
    left, right = p.value(op.lhs), p.value(op.rhs)
    direct = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
    inverted = {9: "<=", 10: "<", 11: ">=", 12: ">"}
    if predicate in (0, 15):
        return CExpr("true" if predicate else "false", is_literal=True)
    if predicate in direct:
        symbol = direct[predicate]
        return _binary(symbol, EQUALITY if symbol in ("==", "!=") else RELATION, left, right)
    if predicate in inverted:
        return negation(_binary(inverted[predicate], RELATION, left, right))
    if predicate in (7, 14):
        return _is_unordered(p, op, left, right, predicate == 14)
    unequal = _mixed("||", LOGIC_OR, _binary("<", RELATION, left, right), _binary(">", RELATION, left, right))
    return unequal if predicate == 6 else negation(unequal)


def _is_unordered(p: Printer, op: arith.CmpfOp, left: CExpr, right: CExpr, wanted: bool) -> CExpr:
    if op.lhs is op.rhs:
        return _binary("!=" if wanted else "==", EQUALITY, left, right)
    unordered = _call(p.helper("nt_unordered"), left, right)
    return unordered if wanted else negation(unordered)


# -- conversions ------------------------------------------------------------------------------------------


def _widen_signed(p: Printer, op: Any) -> CExpr:
    operand = signed_operand(p, op.input)
    if _is_bool(op.input.type):
        operand = _join(f"-(int){operand.at(UNARY)}", UNARY, operand)
    return cast(p.types.scalar(op.result.type), operand)


def _widen_unsigned(p: Printer, op: Any) -> CExpr:
    if _is_bool(op.input.type):
        operand = p.value(op.input)
        return cast(p.types.scalar(op.result.type), operand) if p.types.bits(op.result.type) > 32 else operand
    return cast(p.types.scalar(op.result.type), _unsigned_operand(p, op.input))


def _truncate(p: Printer, op: Any) -> CExpr:
    operand = signed_operand(p, op.input)
    if _is_bool(op.result.type):
        return _binary("!=", EQUALITY, _mixed("&", BIT_AND, operand, CExpr("1")), CExpr("0"))
    truncated = cast(p.types.scalar(op.result.type), operand)
    if _narrow(p, op):
        return truncated
    bits = cast(p.types.unsigned(op.result.type), operand)
    return replace(truncated, wrapped=(bits.text, bits.precedence))


def _index_cast(p: Printer, op: Any) -> CExpr:
    operand = signed_operand(p, op.input)
    source, target = p.types.bits(op.input.type), p.types.bits(op.result.type)
    if _is_bool(op.input.type):
        return _join(f"-({p.types.scalar(op.result.type)}){operand.at(UNARY)}", UNARY, operand)
    return operand if source == target else cast(p.types.scalar(op.result.type), operand)


def _from_integer(unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type = op.result.type
        operand = _unsigned_operand(p, op.input) if unsigned else signed_operand(p, op.input)
        if _is_bool(op.input.type) and not unsigned:
            operand = _join(f"-(int){operand.at(UNARY)}", UNARY, operand)
        if not is_short_float(type) or p.types.bits(op.input.type) <= 16:
            return _rounded(p, type, cast(p.types.scalar(type), operand))
        if p.types.bits(op.input.type) == 64:
            raise fail(
                op,
                f"a 64-bit integer has no exact path to {type} in CUDA C",
                hint="convert to f32 first where two roundings are acceptable",
                error=LoweringError,
            )
        return _narrow_float(p, cast("double", operand), op.result.type)

    return rule


def _narrow_float(p: Printer, expr: CExpr, type: Attribute) -> CExpr:
    """A double rounded once to a 16-bit float."""
    short = "half" if isinstance(type, Float16Type) else "bf16"
    return _call(p.helper(f"nt_{short}_to_float"), _call(p.helper(f"nt_double_to_{short}"), expr))


def _to_integer(unsigned: bool) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        type, operand = op.result.type, p.value(op.input)
        if _is_bool(type):
            return _binary("!=", EQUALITY, cast("int", operand), CExpr("0"))
        if unsigned:
            return _from_unsigned(p, type, cast(p.types.unsigned(type), operand))
        return cast(p.types.scalar(type), operand)

    return rule


def _resize_float(p: Printer, op: Any) -> CExpr:
    type, operand = op.result.type, p.value(op.input)
    if not is_short_float(type):
        return cast("double", operand) if isinstance(type, Float64Type) else _to_float(op, operand)
    if isinstance(op.input.type, Float64Type):
        return _narrow_float(p, operand, type)
    return _rounded(p, type, operand)


def _to_float(op: Any, operand: CExpr) -> CExpr:
    return cast("float", operand) if isinstance(op.input.type, Float64Type) else operand


def _bitcast(p: Printer, op: Any) -> CExpr:
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
    return _call(functions[pair], p.value(op.input))


def float_from_memory(p: Printer, type: Attribute, bits: CExpr) -> CExpr:
    """The float that 16 bits of memory hold."""
    return _call(p.helper("nt_half_to_float" if isinstance(type, Float16Type) else "nt_bf16_to_float"), bits)


def float_to_memory(p: Printer, type: Attribute, value: CExpr) -> CExpr:
    """The 16 bits of memory that hold a float."""
    return _call(p.helper("nt_float_to_half" if isinstance(type, Float16Type) else "nt_float_to_bf16"), value)


# -- constants, selection, memory, thread indices ---------------------------------------------------------


def _constant(p: Printer, op: arith.ConstantOp) -> CExpr:
    value = op.value
    if isinstance(value, IntegerAttr):
        return p.types.integer(value.value.data, op.result.type)
    if isinstance(value, FloatAttr):
        return p.types.floating(value.value.data, op.result.type)
    raise fail(op, "only scalar constants can be printed as CUDA C", error=LoweringError)


def _select(p: Printer, op: arith.SelectOp) -> CExpr:
    condition, then, other = p.value(op.cond), signed_operand(p, op.lhs), signed_operand(p, op.rhs)
    then, other = _typed_literal(p, op.result.type, then), _typed_literal(p, op.result.type, other)
    # ?: groups to the right: a chain of selects reads as a table without parentheses.
    text = f"{condition.at(TERNARY + 1)} ? {then.at(TERNARY + 1)} : {other.text}"
    return _join(text, TERNARY, condition, then, other)


def _load(p: Printer, op: memref.LoadOp) -> CExpr:
    return p.element(op.memref, list(op.indices))


def _dim(p: Printer, op: memref.DimOp) -> CExpr:
    index = op.index.owner
    if not (isinstance(index, arith.ConstantOp) and isinstance(index.value, IntegerAttr)):
        raise fail(op, "memref.dim needs a constant axis", error=LoweringError)
    if not isinstance(op.source.type, MemRefType):
        raise fail(op, f"memref.dim of {op.source.type}", error=LoweringError)
    return p.extent(op.source, index.value.value.data)


def _builtin(name: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        return CExpr(f"{name}.{op.dimension.data.value}", is_builtin=True)

    return rule


def _global_id(p: Printer, op: gpu.GlobalIdOp) -> CExpr:
    d = op.dimension.data.value
    if p.types.index_bits == 64:
        return CExpr(f"(long long)blockIdx.{d} * blockDim.{d} + threadIdx.{d}", ADD)
    return CExpr(f"blockIdx.{d} * blockDim.{d} + threadIdx.{d}", ADD, is_builtin=True)


EXPRESSIONS: dict[type[Operation], Rule] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _wrapping("+", ADD, "!="),
    arith.SubiOp: _wrapping("-", ADD, "!="),
    arith.MuliOp: _wrapping("*", MUL, "&&"),
    arith.DivSIOp: _signed_binary("/"),
    arith.RemSIOp: _signed_binary("%"),
    arith.DivUIOp: _unsigned_binary("/"),
    arith.RemUIOp: _unsigned_binary("%"),
    arith.FloorDivSIOp: _integer_helper("nt_floor_div"),
    arith.CeilDivSIOp: _integer_helper("nt_ceil_div"),
    arith.CeilDivUIOp: _ceil_div_unsigned,
    arith.AndIOp: _bitwise("&", BIT_AND, "&&", LOGIC_AND),
    arith.OrIOp: _bitwise("|", BIT_OR, "||", LOGIC_OR),
    arith.XOrIOp: _bitwise("^", BIT_XOR, "!=", EQUALITY),
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right_signed,
    arith.ShRUIOp: _shift_right_unsigned,
    arith.MinSIOp: _integer_minmax("min", unsigned=False),
    arith.MaxSIOp: _integer_minmax("max", unsigned=False),
    arith.MinUIOp: _integer_minmax("min", unsigned=True),
    arith.MaxUIOp: _integer_minmax("max", unsigned=True),
    arith.CmpiOp: _compare,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.AddfOp: _float_binary("+", ADD),
    arith.SubfOp: _float_binary("-", ADD),
    arith.MulfOp: _float_binary("*", MUL),
    arith.DivfOp: _float_binary("/", MUL),
    arith.NegfOp: _negate,
    arith.MaximumfOp: _minmax("nt_maximum"),
    arith.MinimumfOp: _minmax("nt_minimum"),
    arith.MaxnumfOp: _math("fmax"),
    arith.MinnumfOp: _math("fmin"),
    arith.ExtSIOp: _widen_signed,
    arith.ExtUIOp: _widen_unsigned,
    arith.TruncIOp: _truncate,
    arith.IndexCastOp: _index_cast,
    arith.SIToFPOp: _from_integer(unsigned=False),
    arith.UIToFPOp: _from_integer(unsigned=True),
    arith.FPToSIOp: _to_integer(unsigned=False),
    arith.FPToUIOp: _to_integer(unsigned=True),
    arith.ExtFOp: _resize_float,
    arith.TruncFOp: _resize_float,
    arith.BitcastOp: _bitcast,
    math.AbsIOp: _abs_integer,
    math.FPowIOp: _powi,
    math.IPowIOp: _integer_helper("nt_int_pow"),
    math.FmaOp: _fma,
    math.RsqrtOp: _reciprocal_root,
    math.CtPopOp: _count_bits("popc", fixup=0),
    math.CountLeadingZerosOp: _count_bits("clz", fixup=1),
    math.CountTrailingZerosOp: _count_bits("ffs", fixup=0),
    memref.LoadOp: _load,
    memref.DimOp: _dim,
    gpu.ThreadIdOp: _builtin("threadIdx"),
    gpu.BlockIdOp: _builtin("blockIdx"),
    gpu.BlockDimOp: _builtin("blockDim"),
    gpu.GridDimOp: _builtin("gridDim"),
    gpu.GlobalIdOp: _global_id,
}
"""How each operation with one result is written as a C expression."""

for _op, _name in {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundOp: "round",
    math.RoundEvenOp: "rint",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}.items():
    EXPRESSIONS[_op] = _math(_name)

for _base in (gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, gpu.GlobalIdOp):
    EXPRESSIONS[getattr(gpu_ext, _base.__name__)] = EXPRESSIONS[_base]
