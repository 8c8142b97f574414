"""The expansions of erf."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .expand_math_builder import FormBuilder, is_single
from .expand_math_forms import exp_minus_one, reduce_ln2
from .math_constants import ERF, ERF_NEAR, ERFC


def erf(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _erf_single(b, x) if is_single(x) else _erf_double(b, x)


def _erf_single(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x times a polynomial in x^2, in double precision: one rounding to single, and no case but the ends."""
    wide = b.widen(x)
    bounded = b.clamp(wide, -4.0, 4.0)
    t = b.fma(b.mul(bounded, bounded), 0.125, -1.0)
    return b.narrow(b.mul(bounded, b.polynomial(t, ERF)))


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


def _erfc_factor(b: FormBuilder, x: SSAValue) -> SSAValue:
    """e^(x^2) erfc(x) from x = 0.5 on: P((x - 2) / (x + 2)) / (1 + 2 x), by one division."""
    first, second = b.add(x, 2.0), b.fma(x, 2.0, 1.0)
    inverse = b.div(1.0, b.mul(first, second))
    t = b.mul(b.mul(b.sub(x, 2.0), second), inverse)
    return b.mul(b.polynomial(t, ERFC), b.mul(first, inverse))
