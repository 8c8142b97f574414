"""Functions of complex numbers, on pairs of real ones; infinities and NaN as in annex G of C99, which NumPy calls.

complex64 is computed in float64 and rounded once a part. Errors are those of the modulus: a few units in the last place
of the larger part. The forms are those of FreeBSD's msun (csqrt, cexp, ctanh) and of W. Kahan (Branch Cuts for Complex
Elementary Functions, 1987).
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.nt.expand import Emitter
from .arithmetic import (
    Pair,
    both,
    choose,
    either,
    fabs,
    fadd,
    fdiv,
    fmul,
    fneg,
    fsub,
    multiply,
)

_FLAGS: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
_INFINITY, _NAN = float("inf"), float("nan")

_LARGE_EXPONENT = 700.0
"""exp of it is a number, and so is that of what is left of an exponent whose result is one."""


def in_double(expansion: Callable[..., Pair]) -> Callable[..., Pair]:
    """Single precision computes in double and rounds once."""

    def expand(e: Emitter, *operands: Pair) -> Pair:
        if operands[0][0].type != f32:
            return expansion(e, *operands)
        wide = [tuple([e.op(arith.ExtFOp, (part,), f64) for part in one]) for one in operands]
        real, imaginary = expansion(e, *wide)
        return e.op(arith.TruncFOp, (real,), f32), e.op(arith.TruncFOp, (imaginary,), f32)

    return expand


def _call(e: Emitter, op_type: type[Operation], *operands: SSAValue) -> SSAValue:
    return e.op(op_type, operands, None, _FLAGS)


def _number(e: Emitter, value: float, like: SSAValue) -> SSAValue:
    return e.const(value, like.type)


def _is(e: Emitter, a: SSAValue, value: float) -> SSAValue:
    return e.cmp("oeq", a, _number(e, value, a))


def _is_infinite(e: Emitter, a: SSAValue) -> SSAValue:
    return _is(e, fabs(e, a), _INFINITY)


def _is_nan(e: Emitter, a: SSAValue) -> SSAValue:
    return e.cmp("uno", a, a)


def _is_finite(e: Emitter, a: SSAValue) -> SSAValue:
    return e.cmp("olt", fabs(e, a), _number(e, _INFINITY, a))


def _signed(e: Emitter, size: float | SSAValue, sign: SSAValue) -> SSAValue:
    magnitude = size if isinstance(size, SSAValue) else _number(e, size, sign)
    return _call(e, math.CopySignOp, magnitude, sign)


def _scaled_exp(e: Emitter, x: SSAValue, part: SSAValue) -> SSAValue:
    """exp(x) * part, which may be a number where exp(x) is none."""
    limit = _number(e, _LARGE_EXPONENT, x)
    large = e.cmp("ogt", x, limit)
    power = _call(e, math.ExpOp, e.select(large, fsub(e, x, limit), x))
    rest = e.select(large, _number(e, python_math.exp(_LARGE_EXPONENT), x), _number(e, 1.0, x))
    return fmul(e, fmul(e, power, part), rest)


@in_double
def exp(e: Emitter, a: Pair) -> Pair:
    """exp(x) (cos y, sin y)"""
    x, y = a
    zero = _number(e, 0.0, x)
    flat = e.cmp("oeq", y, zero)
    real = e.select(flat, _call(e, math.ExpOp, x), _scaled_exp(e, x, _call(e, math.CosOp, y)))
    imaginary = e.select(flat, y, _scaled_exp(e, x, _call(e, math.SinOp, y)))
    # Where y is infinite or NaN: zeros for -inf, an infinity and NaN for inf.
    wild = e.invert(_is_finite(e, y))
    down, up = both(e, wild, _is(e, x, -_INFINITY)), both(e, wild, _is(e, x, _INFINITY))
    real = e.select(down, zero, e.select(up, x, real))
    return real, e.select(down, _signed(e, 0.0, y), imaginary)


@in_double
def log(e: Emitter, a: Pair) -> Pair:
    """(log of the modulus, the angle)"""
    x, y = fabs(e, a[0]), fabs(e, a[1])
    larger = _call(e, arith.MaximumfOp, x, y)
    smaller = _call(e, arith.MinimumfOp, x, y)
    one = _number(e, 1.0, x)

    high = e.cmp("ogt", larger, _number(e, 2.0**500, x))
    low = e.cmp("olt", larger, _number(e, 2.0**-450, x))

    def by_size(above: float, below: float, between: float) -> SSAValue:
        rest = e.select(low, _number(e, below, x), _number(e, between, x))
        return e.select(high, _number(e, above, x), rest)

    scale, back = by_size(2.0**-600, 2.0**600, 1.0), by_size(600.0, -600.0, 0.0)
    squares = _sum_of_squares(e, fmul(e, larger, scale), fmul(e, smaller, scale))
    half = _number(e, 0.5, x)
    plain = fadd(
        e, fmul(e, _call(e, math.LogOp, squares), half), fmul(e, back, _number(e, python_math.log(2.0), x))
    )
    # Near the unit circle the logarithm of the sum would lose what is left of it.
    above_one = fadd(e, fmul(e, fsub(e, larger, one), fadd(e, larger, one)), fmul(e, smaller, smaller))
    near = fmul(e, _call(e, math.Log1pOp, above_one), half)
    is_near = both(
        e, e.cmp("ogt", above_one, _number(e, -0.5, x)), e.cmp("olt", above_one, _number(e, 2.0, x))
    )
    real = e.select(is_near, near, plain)
    infinite = either(e, _is_infinite(e, x), _is_infinite(e, y))
    real = e.select(infinite, _number(e, _INFINITY, x), real)
    real = e.select(_is(e, larger, 0.0), _number(e, -_INFINITY, x), real)
    return real, _call(e, math.Atan2Op, a[1], a[0])


def _sum_of_squares(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return fadd(e, fmul(e, a, a), fmul(e, b, b))


@in_double
def sqrt(e: Emitter, a: Pair) -> Pair:
    """The root with a real part that is not negative."""
    x, y = a
    zero = _number(e, 0.0, x)
    largest = _call(e, arith.MaximumfOp, fabs(e, x), fabs(e, y))
    high = e.cmp("ogt", largest, _number(e, 2.0**500, x))
    low = e.cmp("olt", largest, _number(e, 2.0**-450, x))

    def by_size(above: float, below: float) -> SSAValue:
        rest = e.select(low, _number(e, below, x), _number(e, 1.0, x))
        return e.select(high, _number(e, above, x), rest)

    scale, back = by_size(2.0**-600, 2.0**600), by_size(2.0**300, 2.0**-300)
    real, imaginary = fmul(e, x, scale), fmul(e, y, scale)
    size = _call(e, math.SqrtOp, _sum_of_squares(e, real, imaginary))
    half = _number(e, 0.5, x)
    root = _call(e, math.SqrtOp, fmul(e, fadd(e, fabs(e, real), size), half))
    other = fdiv(e, fabs(e, imaginary), fadd(e, root, root))
    right = e.cmp("oge", x, zero)
    result = e.select(right, root, other), _signed(e, e.select(right, other, root), y)
    result = fmul(e, result[0], back), fmul(e, result[1], back)

    nothing = both(e, _is(e, x, 0.0), _is(e, y, 0.0))
    result = choose(e, nothing, (zero, y), result)
    nan = _number(e, _NAN, x)
    flat = e.select(_is_nan(e, y), nan, zero)
    right_end = (x, e.select(_is_nan(e, y), nan, _signed(e, 0.0, y)))
    result = choose(e, _is(e, x, _INFINITY), right_end, result)
    result = choose(e, _is(e, x, -_INFINITY), (flat, _signed(e, _INFINITY, y)), result)
    result = choose(e, _is_nan(e, x), (nan, nan), result)
    return choose(e, _is_infinite(e, y), (_number(e, _INFINITY, x), y), result)


def _of_exponent(e: Emitter, small: type[Operation], x: SSAValue, part: SSAValue) -> SSAValue:
    """sinh(x) * part, or cosh(x) * part: half of exp(abs(x)) * part where x is large."""
    size = fabs(e, x)
    grown = fmul(e, _scaled_exp(e, size, part), _number(e, 0.5, x))
    if small is math.SinhOp:
        grown = fmul(e, grown, _signed(e, 1.0, x))
    return e.select(
        e.cmp("ogt", size, _number(e, _LARGE_EXPONENT, x)), grown, fmul(e, _call(e, small, x), part)
    )


def _sinh(e: Emitter, a: Pair) -> Pair:
    """(sinh x cos y, cosh x sin y)"""
    x, y = a
    zero, nan = _number(e, 0.0, x), _number(e, _NAN, x)
    real = _of_exponent(e, math.SinhOp, x, _call(e, math.CosOp, y))
    imaginary = _of_exponent(e, math.CoshOp, x, _call(e, math.SinOp, y))
    wild = e.invert(_is_finite(e, y))
    keeps = either(e, _is(e, x, 0.0), _is_infinite(e, x))
    # Annex G leaves this sign open; so that sin and sinh have that of the C library, both of which turn it.
    end = e.select(_is(e, x, 0.0), x, _number(e, -_INFINITY, x))
    result = choose(e, both(e, wild, keeps), (end, nan), (real, imaginary))
    return choose(e, e.cmp("oeq", y, zero), (_call(e, math.SinhOp, x), y), result)


def _cosh(e: Emitter, a: Pair) -> Pair:
    """(cosh x cos y, sinh x sin y)"""
    x, y = a
    zero, nan = _number(e, 0.0, x), _number(e, _NAN, x)
    real = _of_exponent(e, math.CoshOp, x, _call(e, math.CosOp, y))
    imaginary = _of_exponent(e, math.SinhOp, x, _call(e, math.SinOp, y))
    wild = e.invert(_is_finite(e, y))
    result = choose(e, both(e, wild, _is(e, x, 0.0)), (nan, zero), (real, imaginary))
    result = choose(e, both(e, wild, _is_infinite(e, x)), (_number(e, _INFINITY, x), nan), result)
    # Where y is zero, so is the imaginary part: its sign is that of x y.
    signs = fmul(e, _signed(e, 1.0, x), y)
    flat = _call(e, math.CoshOp, x), signs
    return choose(e, e.cmp("oeq", y, zero), flat, result)


def _tanh(e: Emitter, a: Pair) -> Pair:
    """Kahan's form, and its limit where exp(-2 abs(x)) is lost beside 1."""
    x, y = a
    zero, one, nan = _number(e, 0.0, x), _number(e, 1.0, x), _number(e, _NAN, x)
    size = fabs(e, x)
    sine, cosine, tangent = _call(e, math.SinOp, y), _call(e, math.CosOp, y), _call(e, math.TanOp, y)
    large = e.cmp("oge", size, _number(e, 22.0, x))
    beta = fadd(e, one, fmul(e, tangent, tangent))
    s = _call(e, math.SinhOp, e.select(large, one, x))
    rho = _call(e, math.SqrtOp, fadd(e, one, fmul(e, s, s)))
    below = fadd(e, one, fmul(e, beta, fmul(e, s, s)))
    near = fdiv(e, fmul(e, beta, fmul(e, rho, s)), below), fdiv(e, tangent, below)
    decay = _call(e, math.ExpOp, fneg(e, size))
    turn = fmul(e, fmul(e, _number(e, 4.0, x), fmul(e, sine, cosine)), fmul(e, decay, decay))
    result = choose(e, large, (_signed(e, 1.0, x), turn), near)

    wild = e.invert(_is_finite(e, y))
    direction = e.select(wild, y, fmul(e, sine, cosine))
    ends = _signed(e, 1.0, x), _signed(e, 0.0, direction)
    result = choose(e, wild, (e.select(_is(e, x, 0.0), x, nan), nan), result)
    result = choose(e, _is_infinite(e, x), ends, result)
    result = choose(e, both(e, _is_nan(e, x), e.invert(e.cmp("oeq", y, zero))), (nan, nan), result)
    return choose(e, e.cmp("oeq", y, zero), (_call(e, math.TanhOp, x), y), result)


def _of_turned(function: Callable[[Emitter, Pair], Pair]) -> Callable[..., Pair]:
    """-i f(i a)"""

    def expand(e: Emitter, a: Pair) -> Pair:
        real, imaginary = function(e, (fneg(e, a[1]), a[0]))
        return imaginary, fneg(e, real)

    return in_double(expand)


sin, tan, tanh = _of_turned(_sinh), _of_turned(_tanh), in_double(_tanh)


@in_double
def cos(e: Emitter, a: Pair) -> Pair:
    """cosh(i a)"""
    return _cosh(e, (fneg(e, a[1]), a[0]))


def general_power(e: Emitter, a: Pair, b: Pair) -> Pair:
    """exp(b log a)"""
    return _general_power(e, a, b)


@in_double
def _general_power(e: Emitter, a: Pair, b: Pair) -> Pair:
    return exp(e, multiply(e, b, log(e, a)))
