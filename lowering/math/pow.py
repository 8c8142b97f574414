"""The expansions of pow and cbrt."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .builder import DOUBLE_FORMAT, FormBuilder, format_of, is_single
from .constants import (
    DOUBLE,
    LOG_SUM,
    POW_EXP2_SINGLE,
    POW_LN2,
    POW_LOG2,
    POW_LOG2_FIFTH,
    POW_LOG2_FIRST,
    POW_LOG2_SINGLE,
    POW_LOG2_THIRD,
    TWO_THIRDS,
)
from .exp_log import round_halved, round_scaled, split_exponent


def pow(b: FormBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """2^(y log2 |x|), and in a branch the sign and the exceptions of C: for negative x, and where the result is not an
    ordinary normal number."""
    value, product = _pow_single(b, x, y) if is_single(x) else _pow_double(b, x, y)
    # NaN and infinity are not less; so are those of x = 0, infinity and NaN, whose logarithm the product has.
    ordinary = b.compare("olt", b.abs(product), 1020.0)
    unusual = b.either(b.compare_integers("slt", b.bits(x), 0), b.not_(ordinary))
    return b.where_any(unusual, lambda: [_exceptions(b, x, y, value)], [value])[0]


def _exceptions(b: FormBuilder, x: SSAValue, y: SSAValue, value: SSAValue) -> SSAValue:
    half = b.mul(y, 0.5)
    whole = b.compare("oeq", b.trunc(y), y)
    odd = b.both(whole, b.compare("une", b.trunc(half), half))
    value = b.flip_sign(value, b.select(odd, b.sign_bit(x), 0))
    # A negative base is finite here: infinity to any power is.
    negative = b.both(b.compare("olt", x, 0.0), b.compare("ogt", x, float("-inf")))
    value = b.select(b.both(negative, b.not_(whole)), float("nan"), value)
    # 1 to any power, NaN too; anything to the power 0, NaN too; -1 to an infinite power.
    endless = b.both(b.compare("oeq", b.abs(x), 1.0), b.compare("oeq", b.abs(y), float("inf")))
    one = b.either(b.either(b.compare("oeq", x, 1.0), b.compare("oeq", y, 0.0)), endless)
    return b.select(one, 1.0, value)


def _pow_single(b: FormBuilder, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The power of |x|, and y log2 |x|: in double precision once x is split, one rounding."""
    f, k = (b.widen(v) for v in split_exponent(b, b.abs(x)))
    product = b.mul(b.fma(f, b.polynomial(f, POW_LOG2_SINGLE), k), b.widen(y))
    # NaN stays.
    exponent = b.clamp(product, -200.0, 200.0)
    n, number = round_scaled(b, exponent, 1.0)
    p = b.polynomial(b.sub(exponent, n), POW_EXP2_SINGLE)
    return b.narrow(b.mul(p, b.power_of_two(number, f))), b.narrow(product)


def _pow_double(b: FormBuilder, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The power of |x|, and y log2 |x|."""
    high, low = _log2_sum(b, b.abs(x))
    product, rest = b.two_product(y, high)
    rest = b.fma(y, low, rest)
    exponent = b.clamp(product, DOUBLE_FORMAT.exp2_low, DOUBLE_FORMAT.exp2_high)
    # Where the product is not ordinary, nothing is left: of infinity it would be NaN.
    rest = b.select(b.compare("oeq", exponent, product), rest, 0.0)
    n, (power, more) = round_halved(b, exponent, 1.0)
    r, lost = b.fast_two_sum(b.sub(exponent, n), rest)
    # 1 + r ln 2 + r^2 P, the sum of the first two terms and the second itself in two parts.
    _, *others = DOUBLE.exp2
    first, first_low = POW_LN2
    second, second_low = b.two_product(r, first)
    leading, leading_low = b.fast_two_sum(b.constant(1.0, x.type), second)
    second_low = b.fma(r, first_low, b.fma(lost, first, second_low))
    tail = b.fma(b.mul(r, r), b.polynomial(r, tuple(others)), second_low)
    p = b.add(leading, b.add(leading_low, tail))
    return b.mul(b.mul(p, power), more), product


def _sum_of_product(
    b: FormBuilder, x: SSAValue, y: SSAValue, constant: tuple[float, ...]
) -> tuple[SSAValue, SSAValue]:
    """x y + a constant in two parts, of which x y is a small part, in two parts."""
    total = b.fma(x, y, constant[0])
    return total, b.add(b.fma(x, y, b.sub(constant[0], total)), constant[1])


def _quotient_of_logarithm(
    b: FormBuilder, x: SSAValue
) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue, SSAValue]:
    """x = 2^k (1 + f): k, and s = f / (2 + f) and z = s^2, as sums of two numbers each."""
    f, k = split_exponent(b, x)
    below, below_low = b.fast_two_sum(b.constant(2.0, x.type), f)
    inverse = b.div(1.0, below)
    s = b.mul(f, inverse)
    rest = b.fma(b.neg(s), below, f)
    s_low = b.mul(b.fma(b.neg(s), below_low, rest), inverse)
    z, z_low = b.two_product(s, s)
    z_low = b.fma(b.add(s, s), s_low, z_low)
    return k, s, s_low, z, z_low


def _log2_sum(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """log2(x) within 2^-64 of itself: k + s (C + z (C / 3 + z (C / 5 + z P(z)))), C = 2 log2(e), whose first terms are
    unevaluated sums; s = f / (2 + f) and z = s^2."""
    k, s, s_low, z, z_low = _quotient_of_logarithm(b, x)
    fifth, fifth_low = _sum_of_product(b, z, b.polynomial(z, POW_LOG2), POW_LOG2_FIFTH)
    third, third_low = _sum_of_product(b, z, fifth, POW_LOG2_THIRD)
    third_low = b.fma(z, fifth_low, third_low)
    w, w_low = b.two_product(z, third)
    w_low = b.add(w_low, b.fma(z, third_low, b.mul(z_low, third)))
    factor, factor_low = b.fast_two_sum(b.constant(POW_LOG2_FIRST[0], x.type), w)
    factor_low = b.add(b.add(factor_low, POW_LOG2_FIRST[1]), w_low)
    v, v_low = b.two_product(s, factor)
    v_low = b.add(v_low, b.fma(s, factor_low, b.mul(s_low, factor)))
    high, low = b.fast_two_sum(k, v)
    return high, b.add(low, v_low)


def logarithm_sum(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """ln(x) within 2^-64 of itself: 2 s + s z (2/3 + z P(z)), whose first terms are unevaluated sums."""
    k, s, s_low, z, z_low = _quotient_of_logarithm(b, x)
    third, third_low = b.fast_two_sum(b.constant(TWO_THIRDS[0], x.type), b.mul(z, b.polynomial(z, LOG_SUM)))
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
