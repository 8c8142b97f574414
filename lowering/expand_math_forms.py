"""The expansions of exp, log and their kin."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .expand_math_builder import FormBuilder, format_of, is_single
from .math_constants import EXP_SINGLE

# --- exponentials ----------------------------------------------------------------------------------------


def round_scaled(b: FormBuilder, x: SSAValue, scale: float) -> tuple[SSAValue, SSAValue]:
    """n = round(x * scale), as a float and as an integer: adding 1.5 * 2^mantissa leaves n in the low bits.

    No conversion instruction, so a NaN gives some integer rather than an undefined one.
    """
    form = format_of(x)
    magic = 1.5 * 2.0**form.mantissa
    shifted = b.fma(x, scale, magic)
    bits = b.bits(shifted)
    number = b.integer(arith.SubiOp, bits, b.bits(b.constant(magic, x.type)))
    return b.sub(shifted, magic), number


def one_plus(b: FormBuilder, r: SSAValue, tail: SSAValue) -> SSAValue:
    """1 + (r + tail), rounded nearly once."""
    leading, lost = b.fast_two_sum(b.constant(1.0, r.type), r)
    return b.add(leading, b.add(lost, tail))


def reduce_ln2(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x = n ln 2 + r: the remainder r and the integer n."""
    c = format_of(x).constants
    n, number = round_scaled(b, x, c.log2e[0])
    r = b.fma(n, -c.ln2[0], x)
    return b.fma(n, -c.ln2[1], r), number


def exp_minus_one(b: FormBuilder, r: SSAValue) -> SSAValue:
    """e^r - 1 for |r| <= ln(2) / 2."""
    square = b.mul(r, r)
    return b.fma(square, exp_polynomial(b, r), r)


def exp_polynomial(b: FormBuilder, r: SSAValue) -> SSAValue:
    """(e^r - 1 - r) / r^2."""
    return b.polynomial(r, format_of(r).constants.exp)


def scale(b: FormBuilder, value: SSAValue, n: SSAValue) -> SSAValue:
    """value * 2^n where n may be twice the range of a normal exponent."""
    half = b.integer(arith.ShRSIOp, n, 1)
    rest = b.integer(arith.SubiOp, n, half)
    return b.mul(b.mul(value, b.power_of_two(half, value)), b.power_of_two(rest, value))


def round_halved(b: FormBuilder, x: SSAValue, scale: float) -> tuple[SSAValue, tuple[SSAValue, SSAValue]]:
    """n = round(x * scale) as a float, and 2^(n // 2) and 2^(n - n // 2), which are normal where 2^n is not.

    As `round_scaled`, with twice the bias added as well: the low bits hold the sum of two biased exponents.
    """
    form = format_of(x)
    magic = 1.5 * 2.0**form.mantissa + 2 * form.bias
    shifted = b.fma(x, scale, magic)
    bits = b.bits(shifted)
    half = b.integer(arith.ShRUIOp, bits, 1)
    halves = [b.integer(arith.ShLIOp, n, form.mantissa) for n in (half, b.integer(arith.SubiOp, bits, half))]
    return b.sub(shifted, magic), (b.from_bits(halves[0], x), b.from_bits(halves[1], x))


def exp_reduced(b: FormBuilder, r: SSAValue) -> SSAValue:
    """e^r for |r| <= ln(2) / 2; in double precision the sum of its first terms is corrected."""
    if is_single(r):
        return b.polynomial(r, (1.0, 1.0, *EXP_SINGLE))
    return one_plus(b, r, b.mul(b.mul(r, r), exp_polynomial(b, r)))


def exp(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    bounded = b.clamp(x, form.exp_low, form.exp_high)
    n, (power, rest) = round_halved(b, bounded, form.constants.log2e[0])
    r = b.fma(n, -form.constants.ln2[1], b.fma(n, -form.constants.ln2[0], bounded))
    return b.mul(b.mul(exp_reduced(b, r), power), rest)


def sigmoid(b: FormBuilder, x: SSAValue) -> SSAValue:
    """t = 1 / (1 + e^|x|) for x < 0, else 1 - t, where e^|x| = (1 + p) 2^n.

    t is h / (h + (1 + p) g) with g = h 2^n, where h is so small that g does not overflow; the sum is in two parts, and
    h is multiplied last, so that denormal results round once.
    """
    form = format_of(x)
    log2e, ln2 = form.constants.log2e[0], form.constants.ln2
    small = (form.bias + 1) // 2
    h = 2.0**-small
    bounded = b.at_most(b.abs(x), -form.exp_low)
    # As round_scaled; the low bits hold the biased exponent of g.
    magic = 1.5 * 2.0**form.mantissa + form.bias - small
    shifted = b.fma(bounded, log2e, magic)
    n = b.sub(shifted, magic)
    g = b.from_bits(b.integer(arith.ShLIOp, b.bits(shifted), form.mantissa), x)
    p = exp_minus_one(b, b.fma(n, -ln2[1], b.fma(n, -ln2[0], bounded)))
    below = b.fma(p, g, b.add(g, h))
    t = b.div(1.0, below)
    if not b.approximate:
        lost = b.fma(p, g, b.sub(h, b.sub(below, g)))
        rest = b.fma(b.neg(t), lost, b.fma(b.neg(t), below, 1.0))
        t = b.fma(t, rest, t)
    t = b.mul(t, h)
    return b.select(b.compare("olt", x, 0.0), t, b.sub(1.0, t))


def exp2(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    bounded = b.clamp(x, form.exp2_low, form.exp2_high)
    whole, (power, rest) = round_halved(b, bounded, 1.0)
    fraction = b.sub(bounded, whole)
    ln2_high, ln2_low = form.constants.ln2
    r = b.fma(fraction, ln2_high, b.mul(fraction, ln2_low))
    return b.mul(b.mul(exp_reduced(b, r), power), rest)


def expm1(b: FormBuilder, x: SSAValue) -> SSAValue:
    """2^n (e^r - 1) + (2^n - 1), at half scale until the end so that 2^n does not overflow first."""
    form = format_of(x)
    r, n = reduce_ln2(b, b.clamp(x, form.expm1_low, form.exp_high))
    power = b.power_of_two(b.integer(arith.SubiOp, n, 1), x)
    half = b.fma(power, exp_minus_one(b, r), b.sub(power, 0.5))
    small = b.compare("olt", b.abs(x), 2.0 ** -(form.mantissa + 2))
    return b.select(small, x, b.mul(half, 2.0))


# --- logarithms ------------------------------------------------------------------------------------------


def split_bits(b: FormBuilder, x: SSAValue, least_bits: int) -> tuple[SSAValue, SSAValue]:
    """x = 2^k m for normal x, where m is at least that number between 1/2 and 1: the bits of m, and k."""
    form = format_of(x)
    bits = b.bits(x)
    above = b.integer(arith.SubiOp, bits, least_bits)
    exponent = b.integer(arith.ShRSIOp, above, form.mantissa)
    return b.integer(arith.SubiOp, bits, b.integer(arith.ShLIOp, exponent, form.mantissa)), exponent


def split_exponent(b: FormBuilder, x: SSAValue, denormals: bool = True) -> tuple[SSAValue, SSAValue]:
    """x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): f, and k as a float. Denormals are scaled first."""
    form = format_of(x)
    if not denormals:
        mantissa, exponent = split_bits(b, x, form.root_half_bits)
        return b.sub(b.from_bits(mantissa, x), 1.0), b.to_float(exponent, x)
    tiny = b.compare("olt", x, form.smallest_normal)
    lift = form.mantissa + 2
    mantissa, exponent = split_bits(b, b.select(tiny, b.mul(x, 2.0**lift), x), form.root_half_bits)
    k = b.to_float(exponent, x)
    return b.sub(b.from_bits(mantissa, x), 1.0), b.select(tiny, b.sub(k, float(lift)), k)


def _log_terms(b: FormBuilder, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """ln(1 + f) = f - (h - t): h = f^2 / 2 and t = f^3 P(f), without a division."""
    square = b.mul(f, f)
    return b.mul(square, 0.5), b.mul(b.mul(f, square), b.polynomial(f, format_of(f).constants.log))


def _specials(b: FormBuilder, x: SSAValue, value: SSAValue) -> SSAValue:
    """The logarithm of 0, of infinity, of negative numbers and NaN."""
    value = b.select(b.compare("oeq", x, float("inf")), float("inf"), value)
    value = b.select(b.compare("oeq", x, 0.0), float("-inf"), value)
    positive = b.compare("ogt", x, 0.0)
    zero = b.compare("oeq", x, 0.0)
    defined = b.integer(arith.OrIOp, positive, zero)
    return b.select(defined, value, float("nan"))


def _log_finite(b: FormBuilder, x: SSAValue) -> SSAValue:
    f, k = split_exponent(b, x)
    half_square, t = _log_terms(b, f)
    high, low = format_of(x).constants.ln2
    # k ln2_high is exact: few bits each. Small terms are gathered first.
    small = b.sub(half_square, b.fma(k, low, t))
    return b.sub(b.mul(k, high), b.sub(small, f))


def log(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _specials(b, x, _log_finite(b, x))


def _log_in_base(
    b: FormBuilder, x: SSAValue, factor: tuple[float, float], step: tuple[float, float]
) -> SSAValue:
    """ln(1 + f) * factor + k * step, both constants in two parts."""
    f, k = split_exponent(b, x)
    half_square, t = _log_terms(b, f)
    natural = b.sub(f, b.sub(half_square, t))
    lost = b.sub(b.sub(f, natural), b.sub(half_square, t))
    low = b.fma(natural, factor[1], b.mul(lost, factor[0]))
    low = b.fma(k, step[1], low) if step[1] else low
    high = b.mul(k, step[0])
    return _specials(b, x, b.add(b.fma(natural, factor[0], low), high))


def log2(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _log_in_base(b, x, format_of(x).constants.log2e, (1.0, 0.0))


def log10(b: FormBuilder, x: SSAValue) -> SSAValue:
    c = format_of(x).constants
    return _log_in_base(b, x, c.log10e, c.log10_2)


def log1p(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term is what the rounding lost."""
    u = b.add(x, 1.0)
    # x - (u - 1) is exact when done in this order, whichever of x and 1 is larger.
    large = b.compare("ogt", x, 1.0)
    lost = b.select(large, b.sub(1.0, b.sub(u, x)), b.sub(x, b.sub(u, 1.0)))
    value = b.add(_log_finite(b, u), b.div(lost, u))
    small = b.compare("olt", b.abs(x), 2.0 ** -(format_of(x).mantissa + 2))
    return b.select(small, x, _specials(b, u, value))
