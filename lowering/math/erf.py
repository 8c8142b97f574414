"""The expansions of erf and erfc."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .builder import FormBuilder, is_single
from .constants import ERF_NEAR, ERF_NEAR_SINGLE, ERFC, ERFC_EXPONENT, EXP2_NEGATIVE
from .exp_log import exp_minus_one, reduce_ln2, round_scaled, scale
from .pow import exp_parts


def erf(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _erf_single(b, x) if is_single(x) else _erf_double(b, x)


def _erf_single(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x + x P(x^2) for |x| < 1; 1 - 2^-q beyond, where q, a polynomial in |x|, is -log2 of erfc."""
    magnitude = b.abs(x)
    near = b.fma(x, b.polynomial(b.mul(x, x), ERF_NEAR_SINGLE), x)
    q = b.polynomial(b.at_most(magnitude, 4.0), ERFC_EXPONENT)
    whole, n = round_scaled(b, q, -1.0)
    power = b.polynomial(b.add(q, whole), EXP2_NEGATIVE)
    far = b.fma(b.neg(power), b.power_of_two(n, x), 1.0)
    return b.select(b.compare("olt", magnitude, 1.0), near, b.copysign(far, x))


def _erf_double(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x + x P(x^2) for |x| < 1; 1 - erfc(|x|) beyond."""
    magnitude = b.abs(x)
    z = b.mul(x, x)
    near = b.fma(magnitude, b.polynomial(z, ERF_NEAR), magnitude)
    bounded = b.at_most(magnitude, 6.0)
    r, n = reduce_ln2(b, b.neg(b.mul(bounded, bounded)))
    power = b.power_of_two(n, x)
    far = b.sub(1.0, b.mul(b.fma(power, exp_minus_one(b, r), power), _erfc_factor(b, bounded)))
    value = b.select(b.compare("olt", magnitude, 1.0), near, far)
    return b.copysign(value, x)


def erfc(b: FormBuilder, x: SSAValue) -> SSAValue:
    """In double precision throughout."""
    return b.narrow(_erfc_double(b, b.widen(x))) if is_single(x) else _erfc_double(b, x)


def _erfc_double(b: FormBuilder, x: SSAValue) -> SSAValue:
    """1 - erf(x) for |x| < 1/2; e^(-x^2) P beyond, with the square in two parts, or 2 less that."""
    magnitude = b.abs(x)
    near = b.sub(1.0, b.fma(x, b.polynomial(b.mul(x, x), ERF_NEAR), x))
    bounded = b.at_most(magnitude, 28.0)
    square, square_low = b.two_product(bounded, bounded)
    leading, rest, n = exp_parts(b, b.neg(square), b.neg(square_low))
    m, m_low = b.fast_two_sum(leading, rest)
    # P / (1 + 2 x) in two parts.
    below, below_low = b.fast_two_sum(b.add(bounded, bounded), b.constant(1.0, x.type))
    t = b.div(b.sub(bounded, 2.0), b.add(bounded, 2.0))
    above, above_low = b.fast_two_sum(b.constant(ERFC[0], x.type), b.mul(t, b.polynomial(t, ERFC[1:])))
    inverse = b.div(1.0, below)
    factor = b.mul(above, inverse)
    negative = b.neg(factor)
    left = b.add(b.fma(negative, below_low, b.fma(negative, below, above)), above_low)
    factor_low = b.mul(left, inverse)
    far = scale(b, b.fma(m, factor, b.fma(m, factor_low, b.mul(m_low, factor))), n)
    far = b.select(b.compare("olt", x, 0.0), b.sub(2.0, far), far)
    return b.select(b.compare("olt", magnitude, 0.5), near, far)


def _erfc_factor(b: FormBuilder, x: SSAValue) -> SSAValue:
    """e^(x^2) erfc(x) from x = 0.5 on: P((x - 2) / (x + 2)) / (1 + 2 x), by one division."""
    first, second = b.add(x, 2.0), b.fma(x, 2.0, 1.0)
    inverse = b.div(1.0, b.mul(first, second))
    t = b.mul(b.mul(b.sub(x, 2.0), second), inverse)
    return b.mul(b.polynomial(t, ERFC), b.mul(first, inverse))
