"""The expansions of sin, cos and tan: for all arguments, the largest too.

The argument is reduced to |r| <= pi / 4 by subtracting a multiple of pi / 2 in three parts, exactly as long as the
multiple is small. Larger arguments, which are rare, take a branch: they are multiplied with those bits of 1 / (2 pi)
that do not stand for whole turns, in integers and unevaluated sums (Payne and Hanek).
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .builder import FormBuilder, format_of, is_single
from .constants import DOUBLE, TURN_DOUBLE, TURN_SINGLE

_LARGE = {23: 2.0**17, 52: 2.0**30}
"""By the bits of the mantissa: up to here multiples of pi in three parts are exact."""

Reduced = tuple[SSAValue, SSAValue, SSAValue]
"""r, what its rounding lost, and the multiple: an integer, or (before) a float to which 1.5 * 2^mantissa is added so
that its lowest bits are those of the integer."""


Terms = tuple[SSAValue, SSAValue]


def sin(b: FormBuilder, x: SSAValue) -> SSAValue:
    r, lost, n = _reduce(b, b.abs(x))
    return b.flip_sign(_of_quadrant(b, r, lost, n), b.sign_bit(x))


def cos(b: FormBuilder, x: SSAValue) -> SSAValue:
    """sin(x + pi / 2)."""
    r, lost, n = _reduce(b, b.abs(x))
    return _of_quadrant(b, r, lost, b.integer(arith.AddiOp, n, 1))


def tan(b: FormBuilder, x: SSAValue) -> SSAValue:
    """t = tan r = r + r^3 P(r^2) in two parts, or -1 / t where the multiple of pi / 2 is odd."""
    r, lost, n = _reduce(b, b.abs(x))
    z = b.mul(r, r)
    # The derivative, nearly: 1 at 0 and 2 at pi / 4.
    lost = b.mul(lost, b.fma(z, 1.62, 1.0))
    tail = b.fma(b.mul(z, b.polynomial(z, format_of(x).constants.tan)), r, lost)
    high, low = b.fast_two_sum(r, tail)
    inverse = b.div(1.0, high)
    if not b.approximate:
        negative = b.neg(inverse)
        rest = b.fma(negative, low, b.fma(negative, high, 1.0))
        inverse = b.fma(inverse, rest, inverse)
    value = b.select(_is_odd(b, n), inverse, high)
    sign = b.integer(arith.ShLIOp, n, format_of(x).width - 1)
    return b.flip_sign(value, b.integer(arith.XOrIOp, sign, b.sign_bit(x)))


def _of_quadrant(b: FormBuilder, r: SSAValue, lost: SSAValue, n: SSAValue) -> SSAValue:
    """sin(r + n pi / 2): sin(r), cos(r), and both with the other sign."""
    odd = _is_odd(b, n)
    (sine, sine_tail), (cosine, cosine_tail) = _terms(b, r, lost)
    value = b.add(b.select(odd, cosine, sine), b.select(odd, cosine_tail, sine_tail))
    second = b.integer(arith.AndIOp, n, 2)
    return b.flip_sign(value, b.integer(arith.ShLIOp, second, format_of(r).width - 2))


def _is_odd(b: FormBuilder, n: SSAValue) -> SSAValue:
    return b.compare_integers("ne", b.integer(arith.AndIOp, n, 1), 0)


def _terms(b: FormBuilder, r: SSAValue, lost: SSAValue) -> tuple[Terms, Terms]:
    """sin(r + lost) and cos(r + lost), each as a leading term, r or 1 - r^2 / 2 rounded, and what it lacks."""
    c = format_of(r).constants
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    whole = b.sub(1.0, half)
    sine_tail = b.fma(b.mul(r, z), b.polynomial(z, c.sin), b.mul(lost, whole))
    low = b.sub(b.sub(b.sub(1.0, whole), half), b.mul(r, lost))
    return (r, sine_tail), (whole, b.fma(b.mul(z, z), b.polynomial(z, c.cos), low))


def _reduce(b: FormBuilder, x: SSAValue) -> Reduced:
    """x >= 0 less the nearest multiple of pi / 2."""
    form = format_of(x)
    high, middle, low = form.constants.half_pi
    magic = 1.5 * 2.0**form.mantissa
    shifted = b.fma(x, form.constants.two_over_pi[0], magic)
    n = b.sub(shifted, magic)
    first = b.fma(n, -high, x)
    second, second_low = b.two_product(n, middle)
    r = b.sub(first, second)
    lost = b.fma(n, -low, b.sub(b.sub(b.sub(first, r), second), second_low))
    # NaN stays here; infinity becomes NaN there.
    large = b.compare("ogt", x, _LARGE[form.mantissa])

    def reduce_large() -> Reduced:
        if not is_single(x):
            r, lost, n = _reduce_large_double(b, x)
            return r, lost, b.add(n, magic)
        r, lost, n = _reduce_large_single(b, b.widen(x))
        narrow = b.narrow(r)
        return narrow, b.narrow(b.add(b.sub(r, b.widen(narrow)), lost)), b.add(b.narrow(n), magic)

    r, lost, shifted = b.where_any(large, reduce_large, [r, lost, shifted])
    return r, lost, b.bits(shifted)


# --- large arguments -------------------------------------------------------------------------------------


def _mantissa(b: FormBuilder, x: SSAValue, bits: int) -> tuple[SSAValue, SSAValue]:
    """The mantissa of a double as a whole number of `bits` bits, and the number of zeros before the product's bits."""
    mantissa = b.integer(arith.AndIOp, b.bits(x), 2**52 - 1)
    biased = b.integer(arith.ShRUIOp, b.bits(x), 52)
    whole = b.from_bits(b.integer(arith.OrIOp, mantissa, (1022 + bits) << 52), x)
    # The bits of 1 / (2 pi) are stored after `bits - 1` zeros.
    return whole, b.integer(arith.SubiOp, biased, 1023)


def _window(b: FormBuilder, at: SSAValue, words: tuple[int, ...], count: int) -> list[SSAValue]:
    """`count` words of 64 bits from bit `at` on."""
    stages = (len(words) - count - 1).bit_length()
    chosen = [b.constant(word, at.type) for word in words]
    for stage in reversed(range(stages)):
        step = 2**stage
        set_ = b.compare_integers("ne", b.integer(arith.AndIOp, at, 64 * step), 0)
        length = count + step
        chosen = [b.select(set_, chosen[k + step], chosen[k]) for k in range(length)]
    left = b.integer(arith.AndIOp, at, 63)
    right = b.integer(arith.SubiOp, b.constant(63, at.type), left)
    result = []
    for k in range(count):
        tail = b.integer(arith.ShRUIOp, b.integer(arith.ShRUIOp, chosen[k + 1], 1), right)
        result.append(b.integer(arith.OrIOp, b.integer(arith.ShLIOp, chosen[k], left), tail))
    return result


def _chunks(b: FormBuilder, words: list[SSAValue], like: SSAValue, count: int) -> list[SSAValue]:
    """The first 48 * count bits after the point as exact doubles of 48 bits each."""
    result = []
    for k in range(count):
        word, offset = divmod(48 * k, 64)
        bits = b.integer(arith.ShRUIOp, b.integer(arith.ShLIOp, words[word], offset), 16)
        if offset > 16:
            bits = b.integer(arith.OrIOp, bits, b.integer(arith.ShRUIOp, words[word + 1], 80 - offset))
        exponent = 1075 - 48 * (k + 1)
        number = b.from_bits(b.integer(arith.OrIOp, bits, exponent << 52), like)
        result.append(b.sub(number, 2.0 ** (52 - 48 * (k + 1))))
    return result


def _fraction(b: FormBuilder, x: SSAValue) -> SSAValue:
    return b.sub(x, b.nearest(x))


def _from_turns(b: FormBuilder, turns: SSAValue, low: SSAValue) -> Reduced:
    """r, lost and the quarter turns of a number of turns within 1 / 2, as an unevaluated sum."""
    scaled, low = b.mul(turns, 4.0), b.mul(low, 4.0)
    n = b.nearest(scaled)
    high, low = b.fast_two_sum(b.sub(scaled, n), low)
    r, lost = b.two_product(high, DOUBLE.half_pi[0])
    return r, b.add(lost, b.fma(high, DOUBLE.half_pi[1], b.mul(low, DOUBLE.half_pi[0]))), n


def _not_infinite(b: FormBuilder, x: SSAValue, reduced: Reduced) -> Reduced:
    """NaN for infinity."""
    r, lost, n = reduced
    return b.add(r, b.sub(x, x)), lost, n


def _reduce_large_single(b: FormBuilder, x: SSAValue) -> Reduced:
    """Of singles as doubles: 24 bits times 96, of which the first 24 are whole turns."""
    whole, at = _mantissa(b, x, 24)
    first, second = _chunks(b, _window(b, at, TURN_SINGLE, 2), x, 2)
    product, low = b.two_product(whole, first)
    turns = _fraction(b, b.add(_fraction(b, product), low))
    turns, low = b.two_sum(turns, b.mul(whole, second))
    return _not_infinite(b, x, _from_turns(b, turns, low))


def _reduce_large_double(b: FormBuilder, x: SSAValue) -> Reduced:
    """53 bits times 192, of which the first 53 are whole turns, and up to 61 more may be zeros."""
    whole, at = _mantissa(b, x, 53)
    chunks = _chunks(b, _window(b, at, TURN_DOUBLE, 3), x, 4)
    p0, q0 = b.two_product(whole, chunks[0])
    p1, q1 = b.two_product(whole, chunks[1])
    p2, q2 = b.two_product(whole, chunks[2])
    turns, e0 = b.two_sum(_fraction(b, b.add(_fraction(b, p0), q0)), _fraction(b, p1))
    turns, (tail, e1) = _fraction(b, turns), b.two_sum(q1, p2)
    turns, e2 = b.two_sum(turns, tail)
    low = b.add(b.add(e0, e2), b.add(e1, b.fma(whole, chunks[3], q2)))
    return _not_infinite(b, x, _from_turns(b, turns, low))
