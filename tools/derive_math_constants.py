"""Derives the polynomials of `expand-math`: run as `python tools/derive_math_constants.py`, output in
lowering/math_constants.py.

Each is the Chebyshev interpolant (within a fraction of a bit of the minimax polynomial) of a function that
the reduction leaves, computed with 80 decimal digits and rounded once to the target precision:

    EXP   (e^r - 1 - r) / r^2                     for |r| <= ln(2) / 2
    LOG   (ln((1 + s) / (1 - s)) - 2 s) / s^3     as a function of z = s^2, |s| <= (sqrt 2 - 1) / (sqrt 2 + 1)
    ERF   erf(x) / x                              as a function of t = x^2 / 8 - 1, |x| <= 4: for single precision,
                                                  computed in double
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal, getcontext

getcontext().prec = 80
ONE = Decimal(1)
LN2 = Decimal(2).ln()
ROOT = Decimal(2).sqrt()
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def interpolate(
    function: Callable[[Decimal], Decimal], low: Decimal, high: Decimal, degree: int
) -> list[Decimal]:
    """Coefficients, lowest power first, of the interpolant at the Chebyshev nodes of [low, high]."""
    nodes = [
        (low + high) / 2 + (high - low) / 2 * Decimal(math.cos(math.pi * (2 * k + 1) / (2 * degree + 2)))
        for k in range(degree + 1)
    ]
    divided = [function(x) for x in nodes]
    for order in range(1, degree + 1):
        for k in reversed(range(order, degree + 1)):
            divided[k] = (divided[k] - divided[k - 1]) / (nodes[k] - nodes[k - order])
    coefficients = [Decimal(0)] * (degree + 1)
    for node, value in zip(reversed(nodes), reversed(divided), strict=True):
        shifted = [Decimal(0), *coefficients[:-1]]
        coefficients = [s - node * c for s, c in zip(shifted, coefficients, strict=True)]
        coefficients[0] += value
    return coefficients


def exp_remainder(r: Decimal) -> Decimal:
    if abs(r) < Decimal("1e-30"):
        return ONE / 2
    return (r.exp() - ONE - r) / (r * r)


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


def to_single(value: Decimal | float) -> float:
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def split(value: Decimal, bits: int, round_low: Callable[[Decimal], float]) -> tuple[float, float]:
    """`value` as high + low, the high part with so few bits that small multiples of it are exact."""
    mantissa, exponent = math.frexp(float(value))
    high = math.ldexp(math.floor(mantissa * 2**bits), exponent - bits)
    return high, round_low(value - Decimal(high))


def table(
    name: str, round_to: Callable[[Decimal], float], exp_degree: int, log_degree: int, bits: int
) -> str:
    half = LN2 / 2 * Decimal("1.0001")
    top = ((ROOT - 1) / (ROOT + 1)) ** 2 * Decimal("1.0001")
    exp = [round_to(c) for c in interpolate(exp_remainder, -half, half, exp_degree)]
    log = [round_to(c) for c in interpolate(log_remainder, Decimal("1e-12"), top, log_degree)]
    ln2_high, ln2_low = split(LN2, bits, round_to)
    log10_2 = LN2 / Decimal(10).ln()
    log10_2_high, log10_2_low = split(log10_2, bits, round_to)
    inverse = ONE / LN2
    log2e = round_to(inverse)
    inverse10 = ONE / Decimal(10).ln()
    log10e = round_to(inverse10)
    rows = {
        "exp": exp,
        "log": log,
        "ln2": (ln2_high, ln2_low),
        "log2e": (log2e, round_to(inverse - Decimal(log2e))),
        "log10e": (log10e, round_to(inverse10 - Decimal(log10e))),
        "log10_2": (log10_2_high, log10_2_low),
    }
    lines = [f"{name} = Constants("]
    for key, values in rows.items():
        lines.append(f"    {key}=(")
        lines += [f"        {value!r}," for value in values]
        lines.append("    ),")
    return "\n".join([*lines, ")"])


HEADER = '''"""Polynomials of `expand-math`. Written by tools/derive_math_constants.py: change them there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Coefficients are lowest power first; a pair is a value split into a high and a low part."""

    exp: tuple[float, ...]
    log: tuple[float, ...]
    ln2: tuple[float, float]
    log2e: tuple[float, float]
    log10e: tuple[float, float]
    log10_2: tuple[float, float]

'''


def main() -> None:
    print(HEADER)
    print(table("SINGLE", to_single, exp_degree=5, log_degree=3, bits=14))
    print()
    print(table("DOUBLE", float, exp_degree=10, log_degree=7, bits=40))
    print()
    print("ERF = (")
    for coefficient in interpolate(erf_ratio, -ONE, ONE, 18):
        print(f"    {float(coefficient)!r},")
    print(")")
    print('"""Of erf(x) / x in single precision, by powers of x * x / 8 - 1."""')


if __name__ == "__main__":
    main()
