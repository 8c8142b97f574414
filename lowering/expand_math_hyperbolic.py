"""The expansions of the hyperbolic functions and of their inverses."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .expand_math_builder import FormBuilder, format_of, is_single
from .expand_math_forms import exp_polynomial, round_scaled, split_bits
from .math_constants import EXP2_SINGLE, TANH_NEAR_SINGLE


def sinh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """(2^n e^r - 2^-n e^-r) / 2 = (2^(n-1) - 2^(-n-1)) cosh r + (2^(n-1) + 2^(-n-1)) sinh r, at half scale."""
    magnitude = b.abs(x)
    up, down, r, sinh_tail, cosh_tail = _exponentials(b, magnitude)
    (less, low), more = b.fast_two_sum(up, b.neg(down)), b.add(up, down)
    tail = b.fma(more, r, b.fma(less, cosh_tail, b.fma(more, sinh_tail, low)))
    value = b.mul(b.add(less, tail), 2.0)
    small = b.compare("olt", magnitude, format_of(x).tiny)
    return b.copysign(b.select(small, magnitude, value), x)


def cosh(b: FormBuilder, x: SSAValue) -> SSAValue:
    up, down, r, sinh_tail, cosh_tail = _exponentials(b, b.abs(x))
    less, (more, low) = b.sub(up, down), b.fast_two_sum(up, down)
    tail = b.fma(less, r, b.fma(more, cosh_tail, b.fma(less, sinh_tail, low)))
    return b.mul(b.add(more, tail), 2.0)


def _exponentials(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, ...]:
    """For x = n ln 2 + r: a quarter of 2^n and of 2^-n, r, sinh(r) - r and cosh(r) - 1."""
    form = format_of(x)
    c = form.constants
    bounded = b.at_most(x, form.sinh_high)
    n, number = round_scaled(b, bounded, c.log2e[0])
    first = b.fma(n, -c.ln2[0], bounded)
    r = b.fma(n, -c.ln2[1], first)
    lost = b.fma(n, -c.ln2[1], b.sub(first, r))
    up = b.power_of_two(b.integer(arith.SubiOp, number, 2), x)
    # Beyond this the smaller term is nothing: its exponent stays one of a normal number.
    least = b.integer(arith.MinSIOp, number, form.bias // 2)
    down = b.power_of_two(b.integer(arith.SubiOp, b.constant(-2, least.type), least), x)
    z = b.mul(r, r)
    sinh_tail = b.fma(b.mul(r, z), b.polynomial(z, c.sinh), lost)
    return up, down, r, sinh_tail, b.mul(z, b.polynomial(z, c.cosh))


def tanh(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _tanh_single(b, x) if is_single(x) else _tanh_double(b, x)


def _tanh_single(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x + x^3 P(x^2) for |x| < 1; 1 - 2 / (e^(2 |x|) + 1) beyond, where the quotient is less than a quarter."""
    form = format_of(x)
    magnitude = b.abs(x)
    z = b.mul(x, x)
    near = b.fma(b.mul(x, z), b.polynomial(z, TANH_NEAR_SINGLE), x)
    bounded = b.at_most(magnitude, form.tanh_high)
    high, low = (2 * v for v in form.constants.log2e)
    n, number = round_scaled(b, bounded, high)
    r = b.fma(bounded, low, b.fma(bounded, high, b.neg(n)))
    below = b.fma(b.polynomial(r, EXP2_SINGLE), b.power_of_two(number, x), 1.0)
    far = b.sub(1.0, b.div(2.0, below))
    return b.copysign(b.select(b.compare("olt", magnitude, 1.0), near, far), x)


def _tanh_double(b: FormBuilder, x: SSAValue) -> SSAValue:
    """(e^y - 1) / (e^y + 1) with y = 2 |x|, both of them and the quotient as unevaluated sums."""
    form = format_of(x)
    c = form.constants
    magnitude = b.abs(x)
    bounded = b.at_most(magnitude, form.tanh_high)
    y = b.add(bounded, bounded)
    n, number = round_scaled(b, y, c.log2e[0])
    first = b.fma(n, -c.ln2[0], y)
    r = b.fma(n, -c.ln2[1], first)
    lost = b.fma(n, -c.ln2[1], b.sub(first, r))
    p, p_low = b.fast_two_sum(r, b.fma(b.mul(r, r), exp_polynomial(b, r), lost))
    power = b.power_of_two(number, x)
    p, p_low = b.mul(p, power), b.mul(p_low, power)
    above, above_low = _sum_of_three(b, power, -1.0, p, p_low)
    below, below_low = _sum_of_three(b, power, 1.0, p, p_low)
    value = b.divide_sums(above, above_low, below, below_low)
    small = b.compare("olt", magnitude, form.tiny)
    return b.copysign(b.select(small, magnitude, value), x)


def _sum_of_three(
    b: FormBuilder, power: SSAValue, one: float, p: SSAValue, p_low: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """power + one + (p + p_low) for a power of two that is at least 1, and smaller p."""
    first, low = b.fast_two_sum(power, b.constant(one, power.type))
    total, more = b.fast_two_sum(first, p)
    return total, b.add(more, b.add(low, p_low))


def atanh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln((1 + x) / (1 - x)) / 2 = k ln(2) / 2 + artanh(s), s = ((1 + x) - 2^k (1 - x)) / ((1 + x) + 2^k (1 - x))."""
    form = format_of(x)
    c = form.constants
    magnitude = b.abs(x)
    one = b.constant(1.0, x.type)
    above, above_low = b.fast_two_sum(one, magnitude)
    below, below_low = b.fast_two_sum(one, b.neg(magnitude))
    # The bits of a number are its logarithm, nearly: their difference tells k, to within a tenth more than a half.
    ratio = b.integer(arith.SubiOp, b.bits(above), b.bits(below))
    k = b.integer(arith.AddiOp, ratio, 1 << (form.mantissa - 1))
    near = b.compare("olt", magnitude, 0.26)
    k = b.select(near, 0, b.integer(arith.ShRSIOp, k, form.mantissa))
    power = b.power_of_two(k, x)
    scaled = b.mul(below, power)
    difference = b.add(b.sub(above, scaled), b.sub(above_low, b.mul(below_low, power)))
    s = b.div(b.select(near, magnitude, difference), b.select(near, 1.0, b.add(above, scaled)))
    value = _half_logarithm(b, b.to_float(k, x), s, c.atanh)
    value = b.select(b.compare("oeq", magnitude, 1.0), float("inf"), value)
    value = b.select(b.compare("ole", magnitude, 1.0), value, float("nan"))
    return b.copysign(value, x)


def _half_logarithm(b: FormBuilder, k: SSAValue, s: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
    """k ln(2) / 2 + artanh(s)."""
    high, low = format_of(s).constants.ln2
    z = b.mul(s, s)
    # The coefficients are those of 2 artanh.
    tail = b.mul(b.mul(s, z), b.mul(b.polynomial(z, coefficients), 0.5))
    tail = b.fma(k, low * 0.5, tail)
    leading, rounding = b.fast_two_sum(b.mul(k, high * 0.5), s)
    return b.add(leading, b.add(rounding, tail))


def asinh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln(x + sqrt(x^2 + 1))."""
    magnitude = b.abs(x)
    root = b.sqrt(b.fma(magnitude, magnitude, 1.0))
    value = _logarithm_of_sum(b, magnitude, root, None, magnitude, root)
    small = b.compare("olt", magnitude, format_of(x).tiny)
    return b.copysign(b.select(small, magnitude, value), x)


def acosh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln(x + sqrt(x^2 - 1)), with what the rounding of the root lost."""
    square, square_low = b.two_product(x, x)
    less, less_low = b.fast_two_sum(square, b.constant(-1.0, x.type))
    inside, inside_low = b.fast_two_sum(less, b.add(less_low, square_low))
    root = b.sqrt(inside)
    rest = b.add(b.fma(b.neg(root), root, inside), inside_low)
    root_low = b.mul(b.mul(rest, 0.5), _rough_inverse(b, root))
    value = _logarithm_of_sum(b, x, root, root_low, root, x)
    return b.select(b.compare("oge", x, 1.0), value, float("nan"))


def _rough_inverse(b: FormBuilder, x: SSAValue) -> SSAValue:
    """1 / x in single precision; a large number for 0."""
    if not is_single(x):
        return b.widen(_rough_inverse(b, b.narrow(x)))
    return b.div(1.0, b.add(x, 2.0**-100))


def _logarithm_of_sum(
    b: FormBuilder,
    x: SSAValue,
    root: SSAValue,
    root_low: SSAValue | None,
    near_above: SSAValue,
    near_below: SSAValue,
) -> SSAValue:
    """ln(u) for u = x + root, as k ln 2 + 2 artanh((m - 1) / (m + 1)) where u = 2^k m; m lies in [sqrt(3) / 2, sqrt(3)).

    For k = 0 that quotient is near_above / (near_below + 1) as well. root is x where x^2 overflows.
    """
    form = format_of(x)
    zero = b.constant(0.0, x.type)
    large = b.compare("ogt", x, 2.0 ** (form.mantissa // 2 + 4))
    u, lost = b.two_sum(b.mul(x, 0.5), b.mul(b.select(large, x, root), 0.5))
    if root_low is not None:
        root_low = b.select(large, zero, root_low)
        lost = b.fma(root_low, 0.5, lost)
    mantissa, exponent = split_bits(b, u, form.half_root_three_bits)
    mantissa = b.from_bits(mantissa, x)
    # Where u is half of the largest number, nothing was lost.
    back = b.integer(
        arith.SubiOp, b.constant(0, exponent.type), b.integer(arith.MinSIOp, exponent, form.bias - 1)
    )
    lost = b.mul(lost, b.power_of_two(back, x))
    near = b.compare_integers("eq", exponent, -1)
    above = b.select(near, near_above, b.sub(mantissa, 1.0))
    above_low = b.select(near, zero if root_low is None else root_low, lost)
    below, below_low = b.fast_two_sum(b.select(near, near_below, mantissa), b.constant(1.0, x.type))
    s = b.divide_sums(above, above_low, below, below_low)
    k = b.to_float(b.integer(arith.AddiOp, exponent, 1), x)
    value = b.mul(_half_logarithm(b, k, s, form.constants.atanh), 2.0)
    return b.select(b.compare("olt", x, float("inf")), value, x)
