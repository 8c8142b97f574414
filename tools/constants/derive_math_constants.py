"""Derives the polynomials of `expand-math`: run as `python -m nestor.tools.constants.derive_math_constants`,
output in lowering/math/constants.py.

Each is a polynomial for a function that the reduction leaves, computed with 80 decimal digits and rounded once to the
target precision: the Chebyshev interpolant (within a fraction of a bit of the best one), or, where errors do not weigh
the same over the interval, the minimax polynomial under that weight. z is the square of the variable where the
function is even:

    EXP     (e^r - 1 - r) / r^2                     for |r| <= ln(2) / 2
    EXP_WHOLE  as EXP, one power less: for e^r itself, not for e^r - 1
    EXP2    (2^r - 1) / r                           for |r| <= 1 / 2
    LOG2, LOG10  (log(1 + f) - f log(e)) / f^2      as LOG, in those bases
    LOG     (ln(1 + f) - f + f^2 / 2) / f^3         for 1 + f between sqrt(1 / 2) and sqrt(2)
    ATANH   (ln((1 + s) / (1 - s)) - 2 s) / s^3     as a function of z = s^2, |s| <= 0.27
    SIN     (sin r - r) / r^3                       for |r| <= pi / 4
    COS     (cos r - 1 + z / 2) / z^2               for |r| <= pi / 4
    ATAN    (atan t - t) / t^3                      for |t| <= tan(pi / 8)
    ASIN    (asin t - t) / t^3                      for |t| <= 1 / 2
    SINH    (sinh r - r) / r^3                      for |r| <= ln(2) / 2
    COSH    (cosh r - 1) / z                        for |r| <= ln(2) / 2
    ERF_NEAR_SINGLE  erf(x) / x - 1                 as a function of z = x^2, |x| <= 1
    ERFC_EXPONENT    -log2(erfc(x))                 for 1 <= x <= 4, weighed with what it does to 1 - erfc(x)
    EXP2_NEGATIVE    2^-r                           for |r| <= 1 / 2
    TAN     (tan r - r) / r^3                       for |r| <= pi / 4
    TANH    (tanh x - x) / x^3                      as a function of z = x^2, |x| <= 1 (single) or 0.7 (double)
    ASINH   (asinh x - x) / x^3                     as a function of z = x^2, |x| <= 3 / 4
    ACOSH   (acosh(1 + t) / sqrt(2 t) - 1) / t      for 0 <= t <= 1
    ERF_NEAR  erf(x) / x - 1                        as a function of z = x^2, |x| <= 1
    ERFC    (1 + 2 x) e^(x^2) erfc(x)               as a function of t = (x - 2) / (x + 2), 0.5 <= x <= 28
    GAMMA_NEAR_TWO  lgamma(2 + t) / (t (t + 1))     for -7 / 8 <= t <= 1 / 2
    GAMMA_OF_TWO_AND  gamma(2 + t)                  for |t| <= 1 / 2
    STIRLING  y (lgamma(y) - (y - 1/2) ln y + y - ln(2 pi) / 2)    as a function of 1 / y^2, y >= 8
    LOG_SUM (ln((1 + s) / (1 - s)) - 2 s) / s^3 - 2/3, over z; POW_LOG2 in base 2, without its first term
    POW_LOG2_SINGLE  log2(1 + f) / f                as LOG
    POW_EXP2_SINGLE  2^r                            for |r| <= 1 / 2
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction

from .approximation import ONE, interpolate, minimax


def arctangent(t: Decimal) -> Decimal:
    power, total, k = t, t, 1
    while abs(power) > Decimal(10) ** -(getcontext().prec + 2):
        power *= -t * t
        k += 2
        total += power / k
    return total


getcontext().prec = 400
PI = 16 * arctangent(ONE / 5) - 4 * arctangent(ONE / 239)
TURN_BITS = int(ONE / (2 * PI) * 2**1216)
"""1 / (2 pi) as an integer, of more bits than the largest double has zeros."""
getcontext().prec = 80
PI = +PI
LN2 = Decimal(2).ln()
ROOT = Decimal(2).sqrt()


def exp_remainder(r: Decimal) -> Decimal:
    if abs(r) < Decimal("1e-30"):
        return ONE / 2
    return (r.exp() - ONE - r) / (r * r)


def exp_whole(degree: int, half: Decimal) -> list[Decimal]:
    """Of (e^r - 1 - r) / r^2, by what an error is of e^r; so nearly, that one near 0 weighs something."""
    return minimax(exp_remainder, -half, half, degree, lambda r: r * r + half * half / 100)


def exp2_remainder(r: Decimal) -> Decimal:
    if abs(r) < Decimal("1e-30"):
        return LN2
    return ((r * LN2).exp() - ONE) / r


def exp2_polynomial(degree: int) -> list[Decimal]:
    """Of (2^r - 1) / r."""
    half = ONE / 2
    return minimax(exp2_remainder, -half, half, degree, lambda r: abs(r) + half / 100)


def log1p_remainder(f: Decimal) -> Decimal:
    if abs(f) < Decimal("1e-8"):
        return ONE / 3 - f / 4 + f * f / 5 - f**3 / 6
    return ((ONE + f).ln() - f + f * f / 2) / f**3


def log1p_weight(f: Decimal) -> Decimal:
    """What an error of the remainder is of ln(1 + f), nearly; never 0."""
    return f * f + Decimal("0.01")


def log_polynomial(degree: int) -> list[Decimal]:
    return minimax(log1p_remainder, ROOT / 2 - 1, ROOT - 1, degree, log1p_weight)


def log_in_base(factor: Decimal, degree: int) -> list[Decimal]:
    """Of (ln(1 + f) - f) / f^2 times `factor`."""

    def remainder(f: Decimal) -> Decimal:
        return factor * (f * log1p_remainder(f) - ONE / 2)

    return minimax(remainder, ROOT / 2 - 1, ROOT - 1, degree, lambda f: abs(f) + Decimal("0.01"))


def log2_ratio(f: Decimal) -> Decimal:
    return (ONE - f / 2 + f * f * log1p_remainder(f)) / LN2


def log_remainder(z: Decimal) -> Decimal:
    s = z.sqrt()
    return (((ONE + s) / (ONE - s)).ln() - 2 * s) / (s * z)


def erf_ratio(t: Decimal) -> Decimal:
    """2 / sqrt(pi) times the sum of (-z)^k / (k! (2 k + 1)), z = x^2."""
    z = 8 * (t + 1)
    term, total, k = ONE, ONE, 0
    while abs(term) > Decimal("1e-60"):
        k += 1
        term *= -z / k
        total += term / (2 * k + 1)
    return 2 * total / PI.sqrt()


def series(z: Decimal, term: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """term * (1 + z * ratio(1) * (1 + z * ratio(2) * (...)))."""
    total, k = term, 0
    while abs(term) > Decimal("1e-78"):
        k += 1
        term *= z * ratio(k)
        total += term
    return total


def sin_remainder(z: Decimal) -> Decimal:
    return series(z, -ONE / 6, lambda k: -ONE / ((2 * k + 2) * (2 * k + 3)))


def cos_remainder(z: Decimal) -> Decimal:
    return series(z, ONE / 24, lambda k: -ONE / ((2 * k + 3) * (2 * k + 4)))


def tan_remainder(z: Decimal) -> Decimal:
    """(tan r - r) / r^3 = (sin r / r - cos r) / (z cos r)."""
    cosine = ONE - z / 2 + z * z * cos_remainder(z)
    return (ONE / 2 + sin_remainder(z) - z * cos_remainder(z)) / cosine


def sinh_remainder(z: Decimal) -> Decimal:
    return series(z, ONE / 6, lambda k: ONE / ((2 * k + 2) * (2 * k + 3)))


def cosh_remainder(z: Decimal) -> Decimal:
    return series(z, ONE / 2, lambda k: ONE / ((2 * k + 1) * (2 * k + 2)))


def atan_remainder(z: Decimal) -> Decimal:
    t = z.sqrt()
    return (arctangent(t) - t) / (t * z)


def asin_remainder(z: Decimal) -> Decimal:
    """The sum of (2 k)! / (4^k k!^2 (2 k + 1)) z^(k - 1) from k = 1."""
    return series(z, ONE / 6, lambda k: Decimal((2 * k + 1) ** 2) / ((2 * k + 2) * (2 * k + 3)))


def pow_remainder(z: Decimal) -> Decimal:
    return (log_remainder(z) - ONE * 2 / 3) / z


def erf_near(z: Decimal) -> Decimal:
    return erf_ratio(z / 8 - 1) - 1


def tanh_remainder(z: Decimal) -> Decimal:
    x = z.sqrt()
    square = (2 * x).exp()
    return ((square - 1) / (square + 1) - x) / (x * z)


def asinh_remainder(z: Decimal) -> Decimal:
    x = z.sqrt()
    return ((x + (z + 1).sqrt()).ln() - x) / (x * z)


def acosh_remainder(t: Decimal) -> Decimal:
    root = (2 * t).sqrt()
    return ((1 + t + (t * (t + 2)).sqrt()).ln() / root - 1) / t


def erfc_exponent(x: Decimal) -> Decimal:
    return -erfc(x).ln() / LN2


def erfc_exponent_weight(x: Decimal) -> Decimal:
    """What an error of -log2(erfc(x)) is of 1 - erfc(x)."""
    return LN2 * erfc(x) / (1 - erfc(x))


def exp2_negative(r: Decimal) -> Decimal:
    return (-r * LN2).exp()


def erfc(x: Decimal) -> Decimal:
    t = (x - 2) / (x + 2)
    return erfc_scaled(t) / (1 + 2 * x) * (-x * x).exp()


def erfc_scaled(t: Decimal) -> Decimal:
    x = 2 * (1 + t) / (1 - t)
    if x < 3:
        value = (x * x).exp() * (1 - x * erf_ratio(x * x / 8 - 1))
    else:  # a continued fraction: x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))
        tail = x
        for k in range(400, 0, -1):
            tail = x + Decimal(k) / 2 / tail
        value = 1 / (tail * PI.sqrt())
    return (1 + 2 * x) * value


def bernoulli_terms(count: int) -> list[Decimal]:
    """B(2k) / (2k (2k - 1)) from k = 1: Stirling's series."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        numbers.append(-sum((math.comb(n + 1, j) * numbers[j] for j in range(n)), Fraction(0)) / (n + 1))
    terms = [numbers[2 * k] / (2 * k * (2 * k - 1)) for k in range(1, count + 1)]
    return [Decimal(t.numerator) / t.denominator for t in terms]


STIRLING_TERMS = bernoulli_terms(40)


def stirling_rest(y: Decimal) -> Decimal:
    """lgamma(y) - ((y - 1/2) ln y - y + ln(2 pi) / 2): by the series at y + 60, and back by the recurrence."""
    above = y + 60
    rest = sum((c / above ** (2 * k + 1) for k, c in enumerate(STIRLING_TERMS)), Decimal(0))
    product = ONE
    for j in range(60):
        product *= y + j
    return rest + (above - ONE / 2) * above.ln() - 60 - product.ln() - (y - ONE / 2) * y.ln()


def gamma_near_two(t: Decimal) -> Decimal:
    y = t + 2
    return ((y - ONE / 2) * y.ln() - y + (2 * PI).ln() / 2 + stirling_rest(y)) / (t * (t + 1))


def stirling_series(w: Decimal) -> Decimal:
    y = 1 / w.sqrt()
    return stirling_rest(y) * y


def to_single(value: Decimal | float) -> float:
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def split(value: Decimal, bits: int, round_low: Callable[[Decimal], float]) -> tuple[float, float]:
    """`value` as high + low, the high part with so few bits that small multiples of it are exact."""
    mantissa, exponent = math.frexp(float(value))
    high = math.ldexp(math.floor(mantissa * 2**bits), exponent - bits)
    return high, round_low(value - Decimal(high))


def pieces(value: Decimal, bits: int, count: int, round_last: Callable[[Decimal], float]) -> list[float]:
    """`value` as a sum: parts of so few bits that small multiples of them are exact, and what is left."""
    parts = []
    for _ in range(count - 1):
        mantissa, exponent = math.frexp(float(value))
        parts.append(math.ldexp(math.floor(mantissa * 2**bits), exponent - bits))
        value -= Decimal(parts[-1])
    return [*parts, round_last(value)]


def rounded_pieces(value: Decimal, count: int, round_to: Callable[[Decimal], float]) -> list[float]:
    parts = []
    for _ in range(count):
        parts.append(round_to(value))
        value -= Decimal(parts[-1])
    return parts


def turn_words(padding: int, count: int) -> list[int]:
    """The bits of 1 / (2 pi) after `padding` zeros, in words of 64 as signed integers."""
    bits = TURN_BITS >> padding
    words = [(bits >> (1216 - 64 * (k + 1))) & (2**64 - 1) for k in range(count)]
    return [w - 2**64 if w >= 2**63 else w for w in words]


@dataclass(frozen=True)
class Degrees:
    exp: int
    exp2: int
    log: int
    atanh: int
    sin: int
    cos: int
    atan: int
    asin: int
    sinh: int
    cosh: int
    tan: int
    tanh: int
    asinh: int
    acosh: int


def table(name: str, round_to: Callable[[Decimal], float], degrees: Degrees, bits: int) -> str:
    half = LN2 / 2 * Decimal("1.0001")
    zero = Decimal("1e-12")
    eighth = (ROOT - 1) ** 2 * Decimal("1.0001")
    intervals = {
        "exp": (exp_remainder, -half, half, degrees.exp),
        "atanh": (log_remainder, zero, Decimal("0.27") ** 2, degrees.atanh),
        "sin": (sin_remainder, zero, (PI / 4) ** 2, degrees.sin),
        "cos": (cos_remainder, zero, (PI / 4) ** 2, degrees.cos),
        "atan": (atan_remainder, zero, eighth, degrees.atan),
        "asin": (asin_remainder, zero, ONE / 4, degrees.asin),
        "sinh": (sinh_remainder, zero, half * half, degrees.sinh),
        "cosh": (cosh_remainder, zero, half * half, degrees.cosh),
    }
    rows: dict[str, Sequence[float]] = {
        key: [round_to(c) for c in interpolate(*interval)] for key, interval in intervals.items()
    }
    rows["log"] = [round_to(c) for c in log_polynomial(degrees.log)]
    rows["exp_whole"] = [round_to(c) for c in exp_whole(degrees.exp - 1, half)]
    rows["exp2"] = [round_to(c) for c in exp2_polynomial(degrees.exp2)]
    tanh_near = ONE if bits < 20 else Decimal("0.49")
    rows["tanh"] = [round_to(c) for c in minimax(tanh_remainder, zero, tanh_near, degrees.tanh, lambda z: z)]
    near = Decimal("0.5625")
    rows["asinh"] = [round_to(c) for c in minimax(asinh_remainder, zero, near, degrees.asinh, lambda z: z)]
    rows["acosh"] = [round_to(c) for c in minimax(acosh_remainder, zero, ONE, degrees.acosh, lambda t: t)]
    rows["tan"] = [round_to(c) for c in minimax(tan_remainder, zero, (PI / 4) ** 2, degrees.tan, lambda z: z)]
    rows["log2"] = [round_to(c) for c in log_in_base(ONE / LN2, degrees.log + 1)]
    rows["log10"] = [round_to(c) for c in log_in_base(ONE / Decimal(10).ln(), degrees.log + 1)]
    ln2_high, ln2_low = split(LN2, bits, round_to)
    log10_2 = LN2 / Decimal(10).ln()
    log10_2_high, log10_2_low = split(log10_2, bits, round_to)
    inverse = ONE / LN2
    log2e = round_to(inverse)
    inverse10 = ONE / Decimal(10).ln()
    log10e = round_to(inverse10)
    rows |= {
        "ln2": (ln2_high, ln2_low),
        "log2e": (log2e, round_to(inverse - Decimal(log2e))),
        "log10e": (log10e, round_to(inverse10 - Decimal(log10e))),
        "log10_2": (log10_2_high, log10_2_low),
        "pi": rounded_pieces(PI, 2, round_to),
        "half_pi": rounded_pieces(PI / 2, 3, round_to),
        "quarter_pi": pieces(PI / 4, 22 if bits < 20 else 50, 2, round_to),
        "two_over_pi": (round_to(2 / PI),),
    }
    lines = [f"{name} = Constants("]
    for key, values in rows.items():
        if len(values) == 1:
            lines.append(f"    {key}=({values[0]!r},),")
            continue
        lines.append(f"    {key}=(")
        lines += [f"        {value!r}," for value in values]
        lines.append("    ),")
    return "\n".join([*lines, ")"])


HEADER = '''"""Polynomials of `expand-math`. Written by tools/constants/derive_math_constants.py: change them there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Coefficients are lowest power first; a pair is a value split into a high and a low part."""

    exp: tuple[float, ...]
    exp_whole: tuple[float, ...]
    exp2: tuple[float, ...]
    log: tuple[float, ...]
    log2: tuple[float, ...]
    log10: tuple[float, ...]
    atanh: tuple[float, ...]
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    atan: tuple[float, ...]
    asin: tuple[float, ...]
    sinh: tuple[float, ...]
    cosh: tuple[float, ...]
    tan: tuple[float, ...]
    tanh: tuple[float, ...]
    asinh: tuple[float, ...]
    acosh: tuple[float, ...]
    ln2: tuple[float, float]
    log2e: tuple[float, float]
    log10e: tuple[float, float]
    log10_2: tuple[float, float]
    pi: tuple[float, float]
    half_pi: tuple[float, float, float]
    quarter_pi: tuple[float, float]
    two_over_pi: tuple[float]

'''


def show(name: str, values: Sequence[float], what: str) -> None:
    print()
    print(f"{name} = (")
    for value in values:
        print(f"    {value!r},")
    print(")")
    print(f'"""{what}"""')


def main() -> None:
    print(HEADER)
    print(table("SINGLE", to_single, Degrees(5, 5, 8, 4, 3, 2, 4, 5, 2, 2, 6, 6, 6, 6), bits=14))
    print()
    print(table("DOUBLE", float, Degrees(10, 10, 19, 9, 6, 5, 10, 12, 4, 5, 13, 12, 16, 15), bits=40))

    def double(
        function: Callable[[Decimal], Decimal], low: Decimal, high: Decimal, degree: int
    ) -> list[float]:
        return [float(c) for c in interpolate(function, low, high, degree)]

    zero, top = Decimal("1e-12"), ((ROOT - 1) / (ROOT + 1)) ** 2 * Decimal("1.0001")
    single = [to_single(c) for c in interpolate(erf_near, zero, ONE, 6)]
    show("ERF_NEAR_SINGLE", single, "Of erf(x) / x - 1 in single precision, by powers of x * x.")
    single = [to_single(c) for c in minimax(erfc_exponent, ONE, Decimal(4), 6, erfc_exponent_weight)]
    show("ERFC_EXPONENT", single, "Of -log2(erfc(x)) for x >= 1, in single precision.")
    single = [to_single(c) for c in minimax(exp2_negative, -ONE / 2, ONE / 2, 5)]
    show("EXP2_NEGATIVE", single, "Of 2^-r, in single precision.")
    show("ERF_NEAR", double(erf_near, zero, ONE, 12), "Of erf(x) / x - 1, by powers of x * x.")
    low, high = -Decimal("1.5") / Decimal("2.5"), Decimal(26) / Decimal(30)
    erfc = double(erfc_scaled, low, high, 22)
    show("ERFC", erfc, "Of (1 + 2 x) e^(x^2) erfc(x), by powers of (x - 2) / (x + 2).")
    gamma = double(gamma_near_two, -ONE * 7 / 8, ONE / 2, 23)
    show("GAMMA_NEAR_TWO", gamma, "Of lgamma(2 + t) / (t (t + 1)), by powers of t.")
    near_two = double(lambda t: (gamma_near_two(t) * t * (t + 1)).exp(), -ONE / 2, ONE / 2, 19)
    show("GAMMA_OF_TWO_AND", near_two, "Of gamma(2 + t), by powers of t.")
    stirling = double(stirling_series, Decimal("1e-8"), ONE / 64, 8)
    show("STIRLING", stirling, "Of what Stirling's formula lacks, times y, by powers of 1 / y^2.")
    print(f"\nHALF_LOG_TURN = {float((2 * PI).ln() / 2)!r}")
    print('"""ln(2 pi) / 2."""')
    show(
        "LOG_SUM",
        double(pow_remainder, zero, top, 7),
        "Of a logarithm in two parts, from the fifth power of s.",
    )
    show("TWO_THIRDS", rounded_pieces(ONE * 2 / 3, 2, float), "In two parts.")
    log2 = double(lambda z: (pow_remainder(z) - ONE * 2 / 5) / z / LN2, zero, top, 6)
    show("POW_LOG2", log2, "Of the logarithm of pow, from the seventh power of s.")
    show("POW_LOG2_FIFTH", rounded_pieces(2 / LN2 / 5, 2, float), "Of s^5, in two parts.")
    show("POW_LOG2_FIRST", rounded_pieces(2 / LN2, 2, float), "Of s, in two parts.")
    show("POW_LOG2_THIRD", rounded_pieces(2 / LN2 / 3, 2, float), "Of s^3, in two parts.")
    logarithm = [float(c) for c in minimax(log2_ratio, ROOT / 2 - 1, ROOT - 1, 13)]
    show("POW_LOG2_SINGLE", logarithm, "Of log2(1 + f) / f, for pow in single precision.")
    exp2 = [float(c) for c in minimax(lambda r: (r * LN2).exp(), -ONE / 2, ONE / 2, 6)]
    show("POW_EXP2_SINGLE", exp2, "Of 2^r, for pow in single precision.")
    show("POW_LN2", rounded_pieces(LN2, 2, float), "In two parts, the first of all bits.")
    show("TURN_SINGLE", turn_words(23, 4), "The bits of 1 / (2 pi) after 23 zeros, in words of 64.")
    show("TURN_DOUBLE", turn_words(52, 19), "The bits of 1 / (2 pi) after 52 zeros, in words of 64.")


if __name__ == "__main__":
    main()
