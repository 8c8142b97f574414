"""The expansion of lgamma."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .builder import FormBuilder, is_single
from .constants import DOUBLE, GAMMA_NEAR_TWO, HALF_LOG_TURN, STIRLING
from .exp_log import log
from .pow import logarithm_sum
from .trig import sin

_LARGE = 8.0
"""Stirling's series from here on."""


def lgamma(b: FormBuilder, x: SSAValue) -> SSAValue:
    """In double precision throughout."""
    return b.narrow(_lgamma(b, b.widen(x))) if is_single(x) else _lgamma(b, x)


def _lgamma(b: FormBuilder, x: SSAValue) -> SSAValue:
    """Of |x|, and for negative x by reflection: ln pi - ln(|x sin(pi x)|) - lgamma(|x|)."""
    y = b.abs(x)
    value = _of_positive(b, y)
    value = b.select(b.compare("oeq", y, 0.0), float("inf"), value)
    value = b.select(b.compare("oeq", y, float("inf")), float("inf"), value)

    def reflected() -> list[SSAValue]:
        fraction = b.sub(y, b.nearest(y))
        sine = b.abs(sin(b, b.mul(fraction, DOUBLE.pi[0])))
        other = b.sub(b.neg(log(b, b.mul(b.mul(y, sine), 1 / DOUBLE.pi[0]))), value)
        other = b.select(b.compare("oeq", fraction, 0.0), float("inf"), other)
        ends = b.either(b.compare("olt", y, 2.0**-60), b.compare("oeq", y, float("inf")))
        return [b.select(ends, value, other)]

    return b.where_any(b.compare("olt", x, 0.0), reflected, [value])[0]


def _of_positive(b: FormBuilder, y: SSAValue) -> SSAValue:
    """One logarithm in two parts: of y for Stirling's series; else of what brings y to 2 + t, |t| small:
    y (y + 1) or y below, the product of y - 1, y - 2 ... above."""
    large = b.compare("oge", y, _LARGE)
    least, less = b.compare("olt", y, 0.5), b.compare("olt", y, 1.125)
    # The whole number k that is taken off.
    steps = b.nearest(b.sub(y, 2.0))
    between = b.select(b.compare("olt", y, 2.5), 0.0, steps)
    k = b.select(less, b.select(least, b.constant(-2.0, y.type), -1.0), between)
    t = b.sub(b.sub(y, k), 2.0)
    t = b.select(least, y, b.select(less, b.sub(y, 1.0), t))
    factor = b.select(least, b.add(y, 1.0), 1.0)
    product = b.mul(b.select(less, y, 1.0), factor)
    for j in range(1, int(_LARGE) - 1):
        product = b.mul(product, b.select(b.compare("oge", k, float(j)), b.sub(y, float(j)), 1.0))
    high, low = logarithm_sum(b, b.select(large, y, product))
    return b.select(large, _stirling(b, y, high, low), _near_two(b, t, less, high, low))


def _near_two(b: FormBuilder, t: SSAValue, less: SSAValue, high: SSAValue, low: SSAValue) -> SSAValue:
    """lgamma(2 + t) = t (t + 1) P(t), with its zeros at 1 and 2, plus the logarithm, or less it."""
    high, low = b.select(less, b.neg(high), high), b.select(less, b.neg(low), low)
    roots, roots_low = b.two_product(t, b.add(t, 1.0))
    series = b.polynomial(t, GAMMA_NEAR_TWO)
    value, value_low = b.two_product(roots, series)
    value_low = b.fma(roots_low, series, value_low)
    total, lost = b.two_sum(value, high)
    return b.add(total, b.add(lost, b.add(value_low, low)))


def _stirling(b: FormBuilder, y: SSAValue, high: SSAValue, low: SSAValue) -> SSAValue:
    """(y - 1/2) (ln y - 1) + (ln(2 pi) - 1) / 2 + P(1 / y^2) / y."""
    inverse = b.div(1.0, y)
    series = b.fma(b.polynomial(b.mul(inverse, inverse), STIRLING), inverse, HALF_LOG_TURN - 0.5)
    less, less_low = b.fast_two_sum(high, b.constant(-1.0, y.type))
    less_low = b.add(less_low, low)
    factor = b.sub(y, 0.5)
    product, rest = b.two_product(factor, less)
    rest = b.fma(factor, less_low, rest)
    value = b.add(product, b.add(rest, series))
    return b.select(b.compare("olt", product, float("inf")), value, product)
