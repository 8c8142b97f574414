"""The expansions of asin, acos, atan and atan2."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .builder import FormBuilder, format_of

_TANGENT = 0.41421356
"""About tan(pi / 8)."""


def asin(b: FormBuilder, x: SSAValue) -> SSAValue:
    """asin(t) for |x| <= 1/2, and pi / 2 - 2 asin(t) with t = sqrt((1 - |x|) / 2) beyond."""
    high, low = format_of(x).constants.half_pi[:2]
    magnitude = b.abs(x)
    beyond = b.compare("ogt", magnitude, 0.5)
    t, tail = _asin_terms(b, magnitude, beyond)
    outer = b.sub(high, b.add(b.add(t, t), b.fma(tail, 2.0, -low)))
    return b.copysign(b.select(beyond, outer, b.add(t, tail)), x)


def acos(b: FormBuilder, x: SSAValue) -> SSAValue:
    """pi / 2 - asin(x) for |x| <= 1/2; 2 asin(t) for larger x, and pi - 2 asin(t) for smaller."""
    c = format_of(x).constants
    magnitude = b.abs(x)
    beyond = b.compare("ogt", magnitude, 0.5)
    t, tail = _asin_terms(b, magnitude, beyond)
    negative = b.compare("olt", x, 0.0)
    t = b.select(beyond, b.add(t, t), t)
    tail = b.select(beyond, b.add(tail, tail), tail)
    # turn - (t + tail) everywhere except for x > 1/2; t and tail change sign for x < 0 up to 1/2.
    plus = b.either(b.both(negative, b.not_(beyond)), b.both(beyond, b.not_(negative)))
    t, tail = b.select(plus, t, b.neg(t)), b.select(plus, tail, b.neg(tail))
    turn = b.select(beyond, b.select(negative, c.pi[0], b.constant(0.0, x.type)), c.half_pi[0])
    turn_low = b.select(beyond, b.select(negative, c.pi[1], b.constant(0.0, x.type)), c.half_pi[1])
    return b.add(turn, b.add(t, b.add(tail, turn_low)))


def _asin_terms(b: FormBuilder, magnitude: SSAValue, beyond: SSAValue) -> tuple[SSAValue, SSAValue]:
    """t and asin(t) - t."""
    half = b.fma(magnitude, -0.5, 0.5)
    t = b.select(beyond, b.sqrt(half), magnitude)
    z = b.select(beyond, half, b.mul(magnitude, magnitude))
    return t, b.mul(b.mul(t, z), b.polynomial(z, format_of(t).constants.asin))


def atan(b: FormBuilder, x: SSAValue) -> SSAValue:
    magnitude = b.abs(x)
    swapped = b.compare("ogt", magnitude, 1.0)
    one = b.constant(1.0, x.type)
    value = _angle(b, b.select(swapped, 1.0, magnitude), b.select(swapped, magnitude, one), swapped, None)
    return b.copysign(value, x)


def atan2(b: FormBuilder, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of the smaller to the larger coordinate, in the octant that their order and signs tell."""
    form = format_of(x)
    height, width = b.abs(y), b.abs(x)
    swapped = b.compare("ogt", height, width)
    small, large = b.select(swapped, width, height), b.select(swapped, height, width)
    # Infinite coordinates count as 1, finite ones next to them as 0; and the sum below must not overflow.
    infinite = b.compare("oeq", large, float("inf"))
    both = b.compare("oeq", small, float("inf"))
    small = b.select(infinite, b.select(both, b.constant(1.0, x.type), 0.0), small)
    large = b.select(infinite, 1.0, large)
    huge = b.compare("ogt", large, 2.0 ** (form.bias - 2))
    scale = b.select(huge, b.constant(0.25, x.type), 1.0)
    small, large = b.mul(small, scale), b.mul(large, scale)
    large = b.select(b.compare("oeq", large, 0.0), 1.0, large)
    left = b.compare_integers("slt", b.bits(x), 0)
    value = b.copysign(_angle(b, small, large, swapped, left), y)
    return b.select(b.compare("uno", y, x), b.add(y, x), value)


def _angle(
    b: FormBuilder, small: SSAValue, large: SSAValue, swapped: SSAValue, left: SSAValue | None
) -> SSAValue:
    """m pi / 4 +- atan(t): t = small / large, or what turning that by pi / 4 gives."""
    c = format_of(small).constants
    zero = b.constant(0.0, small.type)
    turned = b.compare("ogt", small, b.mul(large, _TANGENT))
    above = b.select(turned, b.sub(small, large), small)
    below = b.select(turned, b.add(small, large), large)
    m = b.select(turned, b.constant(1.0, small.type), zero)
    m = b.select(swapped, b.sub(2.0, m), m)
    minus = swapped
    if left is not None:
        m = b.select(left, b.sub(4.0, m), m)
        minus = b.integer(arith.XOrIOp, swapped, left)
    t = b.div(b.select(minus, b.neg(above), above), below)
    z = b.mul(t, t)
    tail = b.fma(b.mul(t, z), b.polynomial(z, c.atan), b.mul(m, c.quarter_pi[1]))
    return b.fma(m, c.quarter_pi[0], b.add(t, tail))
