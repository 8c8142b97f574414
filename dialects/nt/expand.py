"""Scalar expansions: what one element of an elementwise op computes, in arith and math operations.

Every expansion follows NumPy to the bit (DESIGN: numerics); where C or LLVM would differ (integer division
by zero, the sign of a remainder), the difference is spelled out here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    bf16,
    f16,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..ext.arith import NO_OVERFLOW, RemfOp

_PREDICATES_F = {
    "oeq": 1,
    "ogt": 2,
    "oge": 3,
    "olt": 4,
    "ole": 5,
    "one": 6,
    "ord": 7,
    "ugt": 9,
    "ult": 11,
    "une": 13,
    "uno": 14,
}
_PREDICATES_I = {
    "eq": 0,
    "ne": 1,
    "slt": 2,
    "sle": 3,
    "sgt": 4,
    "sge": 5,
    "ult": 6,
    "ule": 7,
    "ugt": 8,
    "uge": 9,
}


class Emitter:
    """Creates scalar operations and hands each to `insert`; all carry the same location."""

    def __init__(self, insert: Callable[[Operation], object], location=UNKNOWN_LOC):
        self._insert = insert
        self.location = location

    def op(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute | None = None,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Create `op_type`; its result has type `result`, by default that of the first operand."""
        properties = dict(properties or {})
        if op_type.name in _WITH_FASTMATH:
            properties.setdefault("fastmath", _NO_FASTMATH)
        op = op_type.create(
            operands=operands, result_types=[result or operands[0].type], properties=properties
        )
        op.location = self.location
        self._insert(op)
        return op.results[0]

    def const(self, value: complex, type_: Attribute) -> SSAValue:
        """A scalar constant."""
        if isinstance(type_, ComplexType):
            return _complex_constant(self, complex(value), type_)
        return self.op(arith.ConstantOp, (), type_, {"value": number_attribute(value, type_)})

    def cmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """`arith.cmpf` or `arith.cmpi` by the type of `a`."""
        if isinstance(a.type, AnyFloat):
            code = IntegerAttr(_PREDICATES_F[predicate], i64)
            return self.op(arith.CmpfOp, (a, b), i1, {"predicate": code})
        return self.op(arith.CmpiOp, (a, b), i1, {"predicate": IntegerAttr(_PREDICATES_I[predicate], i64)})

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.op(arith.SelectOp, (condition, a, b), a.type)

    def invert(self, a: SSAValue) -> SSAValue:
        """Logical not of an i1."""
        return self.op(arith.XOrIOp, (a, self.const(1, i1)))


def number_attribute(value: complex, type_: Attribute) -> Attribute:
    """A number as an attribute of a scalar type; a complex one as its parts."""
    if isinstance(type_, ComplexType):
        return ArrayAttr([FloatAttr(part, type_.element_type) for part in (value.real, value.imag)])  # pyright: ignore
    if isinstance(type_, IntegerType):
        return IntegerAttr(_wrap(int(value), type_.width.data), type_)  # pyright: ignore
    return FloatAttr(value, type_)  # pyright: ignore


def _complex_constant(e: Emitter, value: complex, type_: ComplexType) -> SSAValue:
    from xdsl.dialects.complex import ConstantOp

    return e.op(ConstantOp, (), type_, {"value": number_attribute(value, type_)})


_NO_FASTMATH = arith.FastMathFlagsAttr("none")
_WITH_FASTMATH = frozenset(
    f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "negf", "maximumf", "minimumf", "cmpf")
)


def _wrap(value: int, width: int) -> int:
    """The signed value with the same low `width` bits, as IntegerAttr wants it."""
    if width == 1:
        return value & 1
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def floor_divide_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Floor division; x // 0 is 0, and the most negative // -1 wraps to itself."""
    if (divisor := positive_constant(b)) is not None:
        return _floor_divide_by(e, a, b, divisor)
    zero, one = e.const(0, a.type), e.const(1, a.type)
    minus_one = e.const(-1, a.type)
    by_zero, by_minus_one = e.cmp("eq", b, zero), e.cmp("eq", b, minus_one)
    unsafe = e.op(arith.OrIOp, (by_zero, by_minus_one))
    divisor = e.select(unsafe, one, b)
    quotient = e.op(arith.DivSIOp, (a, divisor))
    remainder = e.op(
        arith.SubiOp, (a, e.op(arith.MuliOp, (quotient, divisor), None, NO_OVERFLOW)), None, NO_OVERFLOW
    )
    inexact = e.cmp("ne", remainder, zero)
    signs_differ = e.cmp("slt", e.op(arith.XOrIOp, (remainder, divisor)), zero)
    down = e.op(arith.AndIOp, (inexact, signs_differ))
    floored = e.select(down, e.op(arith.SubiOp, (quotient, one), None, NO_OVERFLOW), quotient)
    negated = e.op(arith.SubiOp, (zero, a), None, NO_OVERFLOW)
    return e.select(by_zero, zero, e.select(by_minus_one, negated, floored))


def remainder_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Remainder with the sign of the divisor; x % 0 is 0."""
    if (divisor := positive_constant(b)) is not None:
        return _remainder_by(e, a, b, divisor)
    zero, one = e.const(0, a.type), e.const(1, a.type)
    minus_one = e.const(-1, a.type)
    unsafe = e.op(arith.OrIOp, (e.cmp("eq", b, zero), e.cmp("eq", b, minus_one)))
    divisor = e.select(unsafe, one, b)
    rest = e.op(arith.RemSIOp, (a, divisor))
    inexact = e.cmp("ne", rest, zero)
    signs_differ = e.cmp("slt", e.op(arith.XOrIOp, (rest, divisor)), zero)
    adjust = e.op(arith.AndIOp, (inexact, signs_differ))
    return e.select(adjust, e.op(arith.AddiOp, (rest, divisor), None, NO_OVERFLOW), rest)


def positive_constant(value: SSAValue) -> int | None:
    """The number that `value` is, None where it is unknown or not positive."""
    if not isinstance(value.owner, arith.ConstantOp) or not isinstance(value.owner.value, IntegerAttr):
        return None
    number = value.owner.value.value.data
    return number if number > 0 else None


def _floor_divide_by(e: Emitter, a: SSAValue, b: SSAValue, divisor: int) -> SSAValue:
    """`a // b` for a constant `b` = `divisor` > 0: a shift by a power of two, else one less where a rest is negative."""
    if divisor & (divisor - 1) == 0:
        return e.op(arith.ShRSIOp, (a, e.const(divisor.bit_length() - 1, a.type)))
    quotient = e.op(arith.DivSIOp, (a, b))
    rest = e.op(arith.SubiOp, (a, e.op(arith.MuliOp, (quotient, b), None, NO_OVERFLOW)), None, NO_OVERFLOW)
    less = e.op(arith.SubiOp, (quotient, e.const(1, a.type)), None, NO_OVERFLOW)
    return e.select(e.cmp("slt", rest, e.const(0, a.type)), less, quotient)


def _remainder_by(e: Emitter, a: SSAValue, b: SSAValue, divisor: int) -> SSAValue:
    """`a % b` for a constant `b` = `divisor` > 0: the low bits for a power of two."""
    if divisor & (divisor - 1) == 0:
        return e.op(arith.AndIOp, (a, e.const(divisor - 1, a.type)))
    rest = e.op(arith.RemSIOp, (a, b))
    more = e.op(arith.AddiOp, (rest, b), None, NO_OVERFLOW)
    return e.select(e.cmp("slt", rest, e.const(0, a.type)), more, rest)


def _unsigned(op_type: type[Operation]) -> Callable[[Emitter, SSAValue, SSAValue], SSAValue]:
    def expand(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        if positive_constant(b) is not None:
            return e.op(op_type, (a, b))
        zero = e.const(0, a.type)
        by_zero = e.cmp("eq", b, zero)
        return e.select(by_zero, zero, e.op(op_type, (a, e.select(by_zero, e.const(1, a.type), b))))

    return expand


floor_divide_uint = _unsigned(arith.DivUIOp)
remainder_uint = _unsigned(arith.RemUIOp)


def absolute_int(e: Emitter, a: SSAValue) -> SSAValue:
    negated = e.op(arith.SubiOp, (e.const(0, a.type), a), None, NO_OVERFLOW)
    return e.select(e.cmp("slt", a, e.const(0, a.type)), negated, a)


def negative_int(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.SubiOp, (e.const(0, a.type), a), None, NO_OVERFLOW)


def sign_float(e: Emitter, a: SSAValue) -> SSAValue:
    """-1, 0 or 1; NaN stays NaN."""
    zero = e.const(0.0, a.type)
    positive = e.select(e.cmp("ogt", a, zero), e.const(1.0, a.type), zero)
    signed = e.select(e.cmp("olt", a, zero), e.const(-1.0, a.type), positive)
    return e.select(e.cmp("uno", a, a), a, signed)


def sign_int(e: Emitter, a: SSAValue) -> SSAValue:
    """-1, 0 or 1."""
    zero = e.const(0, a.type)
    positive = e.select(e.cmp("sgt", a, zero), e.const(1, a.type), zero)
    return e.select(e.cmp("slt", a, zero), e.const(-1, a.type), positive)


def sign_uint(e: Emitter, a: SSAValue) -> SSAValue:
    """0 or 1."""
    return e.op(arith.MinUIOp, (a, e.const(1, a.type)))


def invert_int(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.XOrIOp, (a, e.const(-1, a.type)))


def isinf_float(e: Emitter, a: SSAValue) -> SSAValue:
    return e.cmp("oeq", _magnitude(e, a), e.const(float("inf"), a.type))


def isfinite_float(e: Emitter, a: SSAValue) -> SSAValue:
    """A comparison with NaN is false, as it should be."""
    return e.cmp("olt", _magnitude(e, a), e.const(float("inf"), a.type))


def _magnitude(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(math.AbsFOp, (a,), None, {"fastmath": _NO_FASTMATH})


def in_single(expansion: Callable[..., SSAValue]) -> Callable[..., SSAValue]:
    """Half precisions compute in float32 and round once, as NumPy's loops do."""

    def expand(e: Emitter, *operands: SSAValue) -> SSAValue:
        type_ = operands[0].type
        if type_ not in (f16, bf16):
            return expansion(e, *operands)
        wide = [e.op(arith.ExtFOp, (v,), f32) for v in operands]
        return e.op(arith.TruncFOp, (expansion(e, *wide),), type_)

    return expand


@in_single
def remainder_float(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """fmod, moved to the sign of the divisor; a zero has it as well."""
    zero = e.const(0.0, a.type)
    rest = _fmod(e, a, b)
    adjusted = e.select(_signs_differ(e, rest, b), e.op(arith.AddfOp, (rest, b)), rest)
    signed_zero = e.op(math.CopySignOp, (zero, b), None, {"fastmath": _NO_FASTMATH})
    return e.select(e.cmp("oeq", rest, zero), signed_zero, adjusted)


@in_single
def floor_divide_float(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """NumPy's steps: the exact quotient of `a - fmod(a, b)`, less one where the signs differ, rounded to an integer."""
    zero, one = e.const(0.0, a.type), e.const(1.0, a.type)
    quotient = e.op(arith.DivfOp, (a, b))
    rest = _fmod(e, a, b)
    whole = e.op(arith.DivfOp, (e.op(arith.SubfOp, (a, rest)), b))
    moved = e.op(arith.SubfOp, (whole, one))
    whole = e.select(_signs_differ(e, rest, b), moved, whole)
    floor = e.op(math.FloorOp, (whole,), None, {"fastmath": _NO_FASTMATH})
    short = e.cmp("ogt", e.op(arith.SubfOp, (whole, floor)), e.const(0.5, a.type))
    rounded = e.select(short, e.op(arith.AddfOp, (floor, one)), floor)
    signed_zero = e.op(math.CopySignOp, (zero, quotient), None, {"fastmath": _NO_FASTMATH})
    nonzero = e.select(e.cmp("oeq", whole, zero), signed_zero, rounded)
    return e.select(e.cmp("oeq", b, zero), quotient, nonzero)


def _fmod(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(RemfOp, (a, b), None, {"fastmath": _NO_FASTMATH})


def _signs_differ(e: Emitter, rest: SSAValue, b: SSAValue) -> SSAValue:
    """Whether a remainder that is not zero has another sign than the divisor."""
    zero = e.const(0.0, b.type)
    differ = e.op(arith.XOrIOp, (e.cmp("olt", b, zero), e.cmp("olt", rest, zero)))
    return e.op(arith.AndIOp, (differ, e.cmp("une", rest, zero)))


def clamp_float(e: Emitter, a: SSAValue, lo: SSAValue, hi: SSAValue) -> SSAValue:
    """minimum(maximum(a, lo), hi), NaN anywhere gives NaN, as np.clip."""
    return e.op(arith.MinimumfOp, (e.op(arith.MaximumfOp, (a, lo)), hi))


def fmax_float(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The larger; a NaN is ignored when the other is a number."""
    larger = e.select(e.cmp("oge", a, b), a, b)
    return e.select(e.cmp("uno", b, b), a, larger)


def fmin_float(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The smaller; a NaN is ignored when the other is a number."""
    smaller = e.select(e.cmp("ole", a, b), a, b)
    return e.select(e.cmp("uno", b, b), a, smaller)
