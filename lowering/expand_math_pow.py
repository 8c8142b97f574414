"""The expansions of pow and cbrt."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .expand_math_builder import DOUBLE_FORMAT, FormBuilder, format_of, is_single
from .expand_math_forms import round_scaled, scale, split_exponent
from .math_constants import DOUBLE, POW_EXP_SINGLE, POW_LOG, POW_LOG_SINGLE, TWO_THIRDS


def pow(b: FormBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """e^(y ln |x|), with the sign and the exceptions of C."""
    magnitude = b.abs(x)
    value = _pow_single(b, magnitude, y) if is_single(x) else _pow_double(b, magnitude, y)
    half = b.mul(y, 0.5)
    whole = b.compare("oeq", b.trunc(y), y)
    odd = b.both(whole, b.compare("une", b.trunc(half), half))
    sign = b.select(odd, b.sign_bit(x), 0)
    value = b.flip_sign(value, sign)
    # A negative base is finite here: infinity to any power is.
    negative = b.both(b.compare("olt", x, 0.0), b.compare("ogt", x, float("-inf")))
    value = b.select(b.both(negative, b.compare("une", b.trunc(y), y)), float("nan"), value)
    # 1 to any power, NaN too; anything to the power 0, NaN too; -1 to an infinite power.
    endless = b.both(b.compare("oeq", magnitude, 1.0), b.compare("oeq", b.abs(y), float("inf")))
    one = b.either(b.either(b.compare("oeq", x, 1.0), b.compare("oeq", y, 0.0)), endless)
    return b.select(one, 1.0, value)


def _pow_single(b: FormBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """In double precision throughout: one rounding."""
    wide = b.widen(x)
    f, k = split_exponent(b, wide, denormals=False)
    square = b.mul(f, f)
    tail = b.fma(b.mul(f, square), b.polynomial(f, POW_LOG_SINGLE), b.fma(square, -0.5, f))
    logarithm = _ends(b, wide, b.fma(k, DOUBLE.ln2[0] + DOUBLE.ln2[1], tail))
    exponent = b.clamp(b.mul(logarithm, b.widen(y)), -160.0, 160.0)
    n, number = round_scaled(b, exponent, DOUBLE.log2e[0])
    r = b.fma(n, -DOUBLE.ln2[1], b.fma(n, -DOUBLE.ln2[0], exponent))
    p = b.fma(b.mul(r, r), b.polynomial(r, POW_EXP_SINGLE), r)
    return b.narrow(b.mul(b.add(p, 1.0), b.power_of_two(number, wide)))


def _ends(b: FormBuilder, x: SSAValue, logarithm: SSAValue) -> SSAValue:
    """The logarithm of x >= 0 with that of 0, infinity and NaN."""
    finite = b.select(b.compare("olt", x, float("inf")), logarithm, x)
    return b.select(b.compare("oeq", x, 0.0), float("-inf"), finite)


def _pow_double(b: FormBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    high, low = logarithm_sum(b, x)
    high = _ends(b, x, high)
    product, rest = b.two_product(y, high)
    rest = b.fma(y, low, rest)
    bounded = b.clamp(product, DOUBLE_FORMAT.exp_low, DOUBLE_FORMAT.exp_high)
    rest = b.select(b.compare("oeq", bounded, product), rest, 0.0)
    return exp_of_sum(b, bounded, rest)


def logarithm_sum(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """ln(x) within 2^-64 of itself: 2 s + s z (2/3 + z P(z)), whose first terms are unevaluated sums."""
    f, k = split_exponent(b, x)
    below, below_low = b.fast_two_sum(b.constant(2.0, x.type), f)
    inverse = b.div(1.0, below)
    s = b.mul(f, inverse)
    rest = b.fma(b.neg(s), below, f)
    s_low = b.mul(b.fma(b.neg(s), below_low, rest), inverse)
    z, z_low = b.two_product(s, s)
    z_low = b.fma(b.add(s, s), s_low, z_low)
    third, third_low = b.fast_two_sum(b.constant(TWO_THIRDS[0], x.type), b.mul(z, b.polynomial(z, POW_LOG)))
    third_low = b.add(third_low, TWO_THIRDS[1])
    w, w_low = b.two_product(z, third)
    w_low = b.add(w_low, b.fma(z, third_low, b.mul(z_low, third)))
    v, v_low = b.two_product(s, w)
    v_low = b.add(v_low, b.fma(s, w_low, b.mul(s_low, w)))
    near, near_low = b.fast_two_sum(b.add(s, s), v)
    near_low = b.add(near_low, b.fma(s_low, 2.0, v_low))
    high, low = b.fast_two_sum(b.mul(k, DOUBLE.ln2[0]), near)
    low = b.add(low, b.fma(k, DOUBLE.ln2[1], near_low))
    return b.fast_two_sum(high, low)


def exp_of_sum(b: FormBuilder, x: SSAValue, low: SSAValue) -> SSAValue:
    """e^(x + low)."""
    leading, rest, n = exp_parts(b, x, low)
    return scale(b, b.add(leading, rest), n)


def exp_parts(b: FormBuilder, x: SSAValue, low: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """e^(x + low) = m 2^n: m as the sum of two, and the integer n."""
    c = DOUBLE
    n, number = round_scaled(b, x, c.log2e[0])
    first = b.fma(n, -c.ln2[0], x)
    second = b.fma(n, -c.ln2[1], first)
    low = b.add(low, b.fma(n, -c.ln2[1], b.sub(first, second)))
    r, low = b.fast_two_sum(second, low)
    tail = b.fma(b.mul(r, r), b.polynomial(r, c.exp), low)
    leading, lost = b.fast_two_sum(b.constant(1.0, r.type), r)
    return leading, b.add(lost, tail), number


def cbrt(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x y^2 with y = x^(-1/3): a guess from the bits, two steps that each take the error to its fourth power, and a
    last one of Newton's for the root itself."""
    form = format_of(x)
    magnitude = b.abs(x)
    tiny = b.compare("olt", magnitude, form.smallest_normal)
    lift = 3 * (form.mantissa // 3 + 2)
    v = b.select(tiny, b.mul(magnitude, 2.0**lift), magnitude)
    y = _inverse_root_guess(b, v)
    for _ in range(1 if is_single(x) else 2):
        h = b.fma(b.neg(v), b.mul(b.mul(y, y), y), 1.0)
        correction = b.mul(h, b.fma(h, b.fma(h, 14 / 81, 2 / 9), 1 / 3))
        y = b.fma(y, correction, y)
    square = b.mul(y, y)
    root = b.mul(v, square)
    high, low = b.two_product(root, root)
    rest = b.fma(b.neg(low), root, b.fma(b.neg(high), root, v))
    root = b.fma(rest, b.mul(square, 1 / 3), root)
    root = b.select(tiny, b.mul(root, 2.0 ** -(lift // 3)), root)
    ordinary = b.both(b.compare("ogt", magnitude, 0.0), b.compare("olt", magnitude, float("inf")))
    return b.select(ordinary, b.copysign(root, x), x)


def _inverse_root_guess(b: FormBuilder, v: SSAValue) -> SSAValue:
    """The bits of v as a number are nearly its logarithm: a third of them, subtracted. Within 4 parts in 100."""
    if is_single(v):
        third = b.emit(arith.FPToSIOp, [b.mul(b.to_float(b.bits(v), v), 1 / 3)], b.retype(v.type, i32))
        return b.from_bits(b.integer(arith.SubiOp, b.constant(_GUESS_SINGLE, third.type), third), v)
    upper = b.integer(arith.ShRUIOp, b.bits(v), 32)
    third = b.integer(arith.MuliOp, upper, 0x55555556)
    mask = -(1 << 32)
    third = b.integer(arith.AndIOp, third, mask)
    return b.from_bits(b.integer(arith.SubiOp, b.constant(_GUESS_DOUBLE, third.type), third), v)


_GUESS_SINGLE = 0x54A2FA8C
_GUESS_DOUBLE = 0x553EF0FF00000000
