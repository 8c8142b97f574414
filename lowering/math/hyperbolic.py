"""The expansions of the hyperbolic functions and of their inverses."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .builder import FormBuilder, format_of, is_single
from .exp_log import exp2_slope, natural_logarithm, rough_inverse, round_scaled, split_normal


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
    """x + x^3 P(x^2) for small |x|; 1 - 2 / (e^(2 |x|) + 1) beyond. In double precision the divisor is in two parts."""
    form = format_of(x)
    magnitude = b.abs(x)
    z = b.mul(x, x)
    near = b.fma(b.mul(z, b.polynomial(z, form.constants.tanh)), x, x)
    bounded = b.at_most(magnitude, form.tanh_high)
    high, low = (2 * v for v in form.constants.log2e)
    n, number = round_scaled(b, bounded, high)
    r = b.fma(bounded, low, b.fma(bounded, high, b.neg(n)))
    slope = exp2_slope(b, r)
    p = b.fma(slope, r, 1.0)
    power = b.power_of_two(number, x)
    below = b.fma(p, power, 1.0)
    quotient = b.div(2.0, below)
    if is_single(x) or b.approximate:
        far = b.sub(1.0, quotient)
    else:
        p_low = b.fma(slope, r, b.sub(1.0, p))
        below_low = b.fma(p_low, power, b.fma(p, power, b.sub(1.0, below)))
        negative = b.neg(quotient)
        rest = b.fma(negative, below_low, b.fma(negative, below, 2.0))
        leading, lost = b.fast_two_sum(b.constant(1.0, x.type), negative)
        far = b.add(leading, b.fma(rest, b.mul(negative, 0.5), lost))
    limit = 1.0 if is_single(x) else 0.7
    return b.copysign(b.select(b.compare("olt", magnitude, limit), near, far), x)


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
    """x + x^3 P(x^2) for |x| < 3/4; ln(|x| + sqrt(x^2 + 1)) beyond."""
    magnitude = b.abs(x)
    z = b.mul(x, x)
    near = b.fma(b.mul(z, b.polynomial(z, format_of(x).constants.asinh)), magnitude, magnitude)
    root = b.sqrt(b.fma(x, x, 1.0))
    far = _logarithm_of_sum(b, root, magnitude, magnitude)
    return b.copysign(b.select(b.compare("olt", magnitude, 0.75), near, far), x)


def acosh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """sqrt(2 t) (1 + t P(t)) for t = x - 1 < 1; ln(x + sqrt(x^2 - 1)) beyond. One root, NaN below 1."""
    t = b.sub(x, 1.0)
    small = b.compare("olt", x, 2.0)
    square = b.select(small, b.add(t, t), b.fma(x, x, -1.0))
    root = b.sqrt(square)
    # Half of what the root's square lacks, divided by the root.
    rest = b.mul(b.mul(b.fma(b.neg(root), root, square), 0.5), rough_inverse(b, root))
    near = b.fma(root, b.mul(t, b.polynomial(t, format_of(x).constants.acosh)), rest)
    return b.select(small, b.add(root, near), _logarithm_of_sum(b, x, root, x))


def _logarithm_of_sum(b: FormBuilder, larger: SSAValue, smaller: SSAValue, x: SSAValue) -> SSAValue:
    """ln(larger + smaller), at least ln 2: of x and a root, which is nearly x where x is large. There the sum is not
    looked at, since x^2 may overflow, but ln 2 added to the logarithm of x."""
    u, lost = b.fast_two_sum(larger, smaller)
    lost = b.mul(lost, rough_inverse(b, u))
    large = b.compare("uge", x, 2.0 ** (format_of(x).mantissa // 2 + 4))

    def of_large() -> tuple[SSAValue, ...]:
        f, k = split_normal(b, x)
        k = b.select(b.compare("olt", x, float("inf")), b.add(k, 1.0), x)
        return f, k, b.constant(0.0, x.type)

    f, k, lost = b.where_any(large, of_large, [*split_normal(b, u), lost])
    return natural_logarithm(b, f, k, lost)
