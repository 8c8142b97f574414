"""Scalar expansions of floating-point functions: neighbours, scaling by powers of two, hypot, logaddexp, angles."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ..ext.arith import NO_OVERFLOW, RemfOp
from .expand import Emitter, in_single

_NO_FASTMATH: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}


def _math(e: Emitter, op_type: type[Operation], *operands: SSAValue) -> SSAValue:
    return e.op(op_type, operands, None, _NO_FASTMATH)


def _add(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.AddfOp, (a, b))


def _multiply(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.MulfOp, (a, b))


def signbit(e: Emitter, a: SSAValue) -> SSAValue:
    """Whether the sign is set, also that of a zero or NaN."""
    return e.cmp("olt", _math(e, math.CopySignOp, e.const(1.0, a.type), a), e.const(0.0, a.type))


def fmod(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return _math(e, RemfOp, a, b)


def heaviside(e: Emitter, a: SSAValue, at_zero: SSAValue) -> SSAValue:
    """0 below zero, 1 above, the second operand at zero; NaN stays."""
    zero = e.const(0.0, a.type)
    step = e.select(e.cmp("olt", a, zero), zero, e.const(1.0, a.type))
    return e.select(e.cmp("uno", a, a), a, e.select(e.cmp("oeq", a, zero), at_zero, step))


# --- angles ----------------------------------------------------------------------------------------------


def _scaled(numerator: float, denominator: float) -> Callable[[Emitter, SSAValue], SSAValue]:
    """Multiply by a quotient that is computed in the operand's own type, as NumPy does."""

    def expand(e: Emitter, a: SSAValue) -> SSAValue:
        dtype = np.float64 if a.type == f64 else np.float32
        return _multiply(e, a, e.const(float(dtype(numerator) / dtype(denominator)), a.type))

    return in_single(expand)


radians = _scaled(python_math.pi, 180.0)
degrees = _scaled(180.0, python_math.pi)


# --- sums of squares and of exponentials -----------------------------------------------------------------


@in_single
def hypot(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """sqrt(a a + b b): in float64 for float32, else at a scale where no square overflows or is lost."""
    root = _hypot_wide(e, a, b) if a.type == f32 else _hypot_scaled(e, a, b)
    infinity = e.const(float("inf"), a.type)
    infinite = [e.cmp("oeq", _math(e, math.AbsFOp, v), infinity) for v in (a, b)]
    return e.select(e.op(arith.OrIOp, (infinite[0], infinite[1])), infinity, root)


def _root_of_squares(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return _math(e, math.SqrtOp, _add(e, _multiply(e, a, a), _multiply(e, b, b)))


def _hypot_wide(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    wide = [e.op(arith.ExtFOp, (v,), f64) for v in (a, b)]
    return e.op(arith.TruncFOp, (_root_of_squares(e, wide[0], wide[1]),), a.type)


def _hypot_scaled(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    largest = e.op(arith.MaximumfOp, (_math(e, math.AbsFOp, a), _math(e, math.AbsFOp, b)))
    high = e.cmp("ogt", largest, e.const(2.0**500, a.type))
    low = e.cmp("olt", largest, e.const(2.0**-450, a.type))

    def chosen(above: float, below: float) -> SSAValue:
        return e.select(
            high, e.const(above, a.type), e.select(low, e.const(below, a.type), e.const(1.0, a.type))
        )

    scale, back = chosen(2.0**-600, 2.0**600), chosen(2.0**600, 2.0**-600)
    return _multiply(e, _root_of_squares(e, _multiply(e, a, scale), _multiply(e, b, scale)), back)


def _log_of_sum(
    exponential: type[Operation], logarithm: Callable[[Emitter, SSAValue], SSAValue]
) -> Callable[..., SSAValue]:
    """The larger plus log(1 + exp(-difference)); equal infinities have no difference to take.

    Where operands are equal both choices are those of the second one, so that derivatives of this are right there too.
    """

    def expand(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        difference = e.op(arith.SubfOp, (a, b))
        is_first = e.cmp("ogt", difference, e.const(0.0, a.type))
        larger = e.select(is_first, a, b)
        below = e.select(is_first, e.op(arith.NegfOp, (difference,)), difference)
        total = _add(e, larger, logarithm(e, _math(e, exponential, below)))
        infinite = e.select(e.cmp("oeq", a, b), a, difference)
        return e.select(e.cmp("uno", difference, difference), infinite, total)

    return in_single(expand)


def _log1p(e: Emitter, a: SSAValue) -> SSAValue:
    return _math(e, math.Log1pOp, a)


def _log1p_base_two(e: Emitter, a: SSAValue) -> SSAValue:
    return _multiply(e, _log1p(e, a), e.const(1.0 / python_math.log(2.0), a.type))


logaddexp = _log_of_sum(math.ExpOp, _log1p)
logaddexp2 = _log_of_sum(math.Exp2Op, _log1p_base_two)


# --- the bits of a float ---------------------------------------------------------------------------------


def _bits(e: Emitter, a: SSAValue) -> SSAValue:
    assert isinstance(a.type, AnyFloat)
    return e.op(arith.BitcastOp, (a,), IntegerType(a.type.bitwidth))


def _integer(e: Emitter, op_type: type[Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
    other = b if isinstance(b, SSAValue) else e.const(b, a.type)
    wraps = op_type in (arith.AddiOp, arith.SubiOp, arith.ShLIOp)
    return e.op(op_type, (a, other), None, NO_OVERFLOW if wraps else None)


def nextafter(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The neighbour of a in the direction of b: the integer of its bits, one more or less.

    Equal operands give the second, as C says; NumPy's half precision gives the first, which a zero's sign shows.
    """
    zero = e.const(0.0, a.type)
    bits = _bits(e, a)
    outward = e.cmp("eq", e.cmp("olt", a, b), e.cmp("ogt", a, zero))
    step = e.select(outward, e.const(1, bits.type), e.const(-1, bits.type))
    moved = e.op(arith.BitcastOp, (_integer(e, arith.AddiOp, bits, step),), a.type)
    smallest = e.op(arith.BitcastOp, (e.const(1, bits.type),), a.type)
    from_zero = _math(e, math.CopySignOp, smallest, b)
    neighbour = e.select(e.cmp("oeq", a, zero), from_zero, moved)
    settled = e.select(e.cmp("oeq", a, b), a if a.type == f16 else b, neighbour)
    return e.select(e.cmp("uno", a, b), _add(e, a, b), settled)


def spacing(e: Emitter, a: SSAValue) -> SSAValue:
    """The distance to the neighbour away from zero, with the sign of a; NumPy's half precision looks upwards."""
    infinity = e.const(float("inf"), a.type)
    below = e.cmp("olt", a, e.const(0.0, a.type))
    target = infinity if a.type == f16 else e.select(below, e.const(float("-inf"), a.type), infinity)
    distance = e.op(arith.SubfOp, (nextafter(e, a, target), a))
    infinite = e.cmp("oeq", _math(e, math.AbsFOp, a), infinity)
    return e.select(infinite, e.const(float("nan"), a.type), distance)


_FORMATS = {f32: (23, 127), f64: (52, 1023)}
"""Bits of the mantissa, bias of the exponent."""


def _power_of_two(e: Emitter, exponent: SSAValue, like: SSAValue) -> SSAValue:
    """2^exponent for integers that are exponents of normal numbers."""
    mantissa, bias = _FORMATS[like.type]  # pyright: ignore
    biased = _integer(e, arith.AddiOp, exponent, bias)
    return e.op(arith.BitcastOp, (_integer(e, arith.ShLIOp, biased, mantissa),), like.type)


@in_single
def ldexp(e: Emitter, a: SSAValue, exponent: SSAValue) -> SSAValue:
    """a * 2^exponent, rounded once. The exponent is a whole number, at most four times the range of the type.

    As long as it is out of range, a normal power of two is taken from it; downwards one that leaves all digits of a.
    """
    mantissa, bias = _FORMATS[a.type]  # pyright: ignore
    n = e.op(arith.FPToSIOp, (exponent,), IntegerType(a.type.bitwidth))  # pyright: ignore
    most, least = bias, 1 - bias
    down = least + mantissa + 1
    for _ in range(4):
        over, under = (e.cmp(p, n, e.const(v, n.type)) for p, v in (("sgt", most), ("slt", least)))
        power = e.select(
            over, e.const(most, n.type), e.select(under, e.const(down, n.type), e.const(0, n.type))
        )
        a = _multiply(e, a, _power_of_two(e, power, a))
        n = _integer(e, arith.SubiOp, n, power)
    n = e.op(arith.MinSIOp, (e.op(arith.MaxSIOp, (n, e.const(least, n.type))), e.const(most, n.type)))
    return _multiply(e, a, _power_of_two(e, n, a))


def _split(e: Emitter, a: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Whether a has a mantissa and an exponent (zero, infinity and NaN have not), the bits of a made normal, the shift."""
    mantissa, bias = _FORMATS[a.type]  # pyright: ignore
    magnitude = _math(e, math.AbsFOp, a)
    tiny = e.cmp("olt", magnitude, e.const(2.0 ** (1 - bias), a.type))
    lift = mantissa + 2
    normal = e.select(tiny, _multiply(e, a, e.const(2.0**lift, a.type)), a)
    bits = _bits(e, normal)
    shift = e.select(tiny, e.const(lift, bits.type), e.const(0, bits.type))
    finite = e.cmp("olt", magnitude, e.const(float("inf"), a.type))
    ordinary = e.op(arith.AndIOp, (finite, e.cmp("one", a, e.const(0.0, a.type))))
    return ordinary, bits, shift


@in_single
def frexp_mantissa(e: Emitter, a: SSAValue) -> SSAValue:
    """The m of a = m 2^n with 1/2 <= |m| < 1."""
    mantissa, bias = _FORMATS[a.type]  # pyright: ignore
    ordinary, bits, _ = _split(e, a)
    kept = _integer(e, arith.AndIOp, bits, ~((2 * bias + 1) << mantissa))
    half = _integer(e, arith.OrIOp, kept, (bias - 1) << mantissa)
    return e.select(ordinary, e.op(arith.BitcastOp, (half,), a.type), a)


@in_single
def frexp_exponent(e: Emitter, a: SSAValue) -> SSAValue:
    """The n of a = m 2^n with 1/2 <= |m| < 1, as a float; 0 for zero, infinity and NaN."""
    mantissa, bias = _FORMATS[a.type]  # pyright: ignore
    ordinary, bits, shift = _split(e, a)
    biased = _integer(e, arith.AndIOp, _integer(e, arith.ShRUIOp, bits, mantissa), 2 * bias + 1)
    exponent = _integer(e, arith.SubiOp, _integer(e, arith.SubiOp, biased, bias - 1), shift)
    return e.select(ordinary, e.op(arith.SIToFPOp, (exponent,), a.type), e.const(0.0, a.type))
