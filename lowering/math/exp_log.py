"""The expansions of exp, log and their kin."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .builder import FormBuilder, format_of

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


def exp(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    bounded = b.clamp(x, form.exp_low, form.exp_high)
    n, (power, rest) = round_halved(b, bounded, form.constants.log2e[0])
    r = b.fma(n, -form.constants.ln2[1], b.fma(n, -form.constants.ln2[0], bounded))
    # The last two steps are Horner's: a step of the chains side by side would be one more rounding that counts.
    slope = b.fma(b.polynomial(r, form.constants.exp_whole), r, 1.0)
    return b.mul(b.mul(b.fma(slope, r, 1.0), power), rest)


def exp2(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    bounded = b.clamp(x, form.exp2_low, form.exp2_high)
    n, (power, rest) = round_halved(b, bounded, 1.0)
    return b.mul(b.mul(exp2_reduced(b, b.sub(bounded, n)), power), rest)


def exp2_reduced(b: FormBuilder, r: SSAValue) -> SSAValue:
    """2^r for |r| <= 1/2."""
    return b.fma(exp2_slope(b, r), r, 1.0)


def exp2_slope(b: FormBuilder, r: SSAValue) -> SSAValue:
    """(2^r - 1) / r for |r| <= 1/2; the last step is Horner's, as of `exp`."""
    first, *others = format_of(r).constants.exp2
    return b.fma(b.polynomial(r, tuple(others)), r, first)


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


def split_normal(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)) for normal x: f, and k as a float. f is finite for any x."""
    mantissa, exponent = split_bits(b, x, format_of(x).root_half_bits)
    return b.sub(b.from_bits(mantissa, x), 1.0), b.to_float(exponent, x)


def split_exponent(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """As `split_normal`; for 0, infinity, and negative numbers or NaN, k is -inf, inf and NaN, so that sums with k
    are their logarithms. Numbers that are not positive and normal take a branch."""
    form = format_of(x)
    least, infinity = 1 << form.mantissa, (2 * form.bias + 1) << form.mantissa
    # One comparison without signs: what is below the least normal number wraps round.
    above = b.integer(arith.SubiOp, b.bits(x), least)
    unusual = b.compare_integers("uge", above, infinity - least)

    def split_unusual() -> tuple[SSAValue, SSAValue]:
        lift = form.mantissa + 2
        f, k = split_normal(b, b.mul(x, 2.0**lift))
        k = b.select(b.compare("oeq", x, 0.0), float("-inf"), b.sub(k, float(lift)))
        k = b.select(b.compare("oeq", x, float("inf")), x, k)
        return f, b.select(b.compare("oge", x, 0.0), k, float("nan"))

    f, k = b.where_any(unusual, split_unusual, split_normal(b, x))
    return f, k


def log(b: FormBuilder, x: SSAValue) -> SSAValue:
    return natural_logarithm(b, *split_exponent(b, x), None)


def natural_logarithm(b: FormBuilder, f: SSAValue, k: SSAValue, lost: SSAValue | None) -> SSAValue:
    """ln(1 + f) + k ln 2 + lost, with ln(1 + f) = f + f^2 P(f), without a division."""
    c = format_of(f).constants
    high, low = c.ln2
    small = b.mul(k, low) if lost is None else b.fma(k, low, lost)
    tail = b.fma(b.mul(f, f), b.polynomial(f, (-0.5, *c.log)), small)
    # In the fused step k ln2_high is exact.
    return b.fma(k, high, b.add(f, tail))


def rough_inverse(b: FormBuilder, x: SSAValue) -> SSAValue:
    """1 / x within an eighth, for positive x: the bits of a number are nearly its logarithm."""
    bits = b.bits(x)
    return b.from_bits(b.integer(arith.SubiOp, b.constant(format_of(x).inverse_bits, bits.type), bits), x)


def log2(b: FormBuilder, x: SSAValue) -> SSAValue:
    """k + f log2(e) + f^2 P(f), the second constant in two parts."""
    f, k = split_exponent(b, x)
    c = format_of(x).constants
    second, *others = c.log2
    # The last steps are Horner's, as of `exp`.
    slope = b.fma(b.polynomial(f, tuple(others)), f, second)
    tail = b.mul(f, b.fma(slope, f, c.log2e[1]))
    return b.add(k, b.fma(f, c.log2e[0], tail))


def log10(b: FormBuilder, x: SSAValue) -> SSAValue:
    """k log10(2) + f log10(e) + f^2 P(f), both constants in two parts."""
    f, k = split_exponent(b, x)
    c = format_of(x).constants
    tail = b.fma(f, b.polynomial(f, (c.log10e[1], *c.log10)), b.mul(k, c.log10_2[1]))
    return b.fma(k, c.log10_2[0], b.fma(f, c.log10e[0], tail))


def log1p(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln(u) with u = 1 + x rounded, and what the rounding lost divided by u. Where k is 0, f is x itself, and nothing
    was lost; elsewhere a reciprocal within an eighth, from the bits of u, will do."""
    form = format_of(x)
    u = b.add(x, 1.0)
    f, k = split_exponent(b, u)
    near = b.compare("oeq", k, 0.0)
    # Exact while units of u are at most 1; beyond that nothing that counts was lost.
    lost = b.sub(x, b.sub(u, 1.0))
    far = b.both(b.not_(near), b.compare("olt", x, 2.0 ** (form.mantissa + 2)))
    lost = b.select(far, b.mul(lost, rough_inverse(b, u)), b.constant(0.0, x.type))
    return b.copysign(natural_logarithm(b, b.select(near, x, f), k, lost), x)
