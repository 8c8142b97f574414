"""What operations on complex numbers are on pairs of real numbers, in the steps of NumPy's loops.

Sums are by parts. A product is four products and two sums, each rounded (NumPy's vector loops round some of them once,
where the processor has fused multiply-add: its last bits depend on the machine). A quotient is Smith's (R. L. Smith,
Algorithm 116: Complex division, CACM 5, 1962), as NumPy's is, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.nt import expand_float
from ...dialects.nt.expand import Emitter

Pair = tuple[SSAValue, SSAValue]
"""The real and the imaginary part."""

Expansion = Callable[..., Pair]

_FLAGS: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}

LARGEST_POWER = 100
"""Whole exponents below it are products, as in NumPy."""


def fadd(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a + b"""
    return e.op(arith.AddfOp, (a, b))


def fsub(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a - b"""
    return e.op(arith.SubfOp, (a, b))


def fmul(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a * b"""
    return e.op(arith.MulfOp, (a, b))


def fdiv(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a / b"""
    return e.op(arith.DivfOp, (a, b))


def fneg(e: Emitter, a: SSAValue) -> SSAValue:
    """-a"""
    return e.op(arith.NegfOp, (a,))


def fabs(e: Emitter, a: SSAValue) -> SSAValue:
    """abs(a)"""
    return e.op(math.AbsFOp, (a,), None, _FLAGS)


def both(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a and b, of bools"""
    return e.op(arith.AndIOp, (a, b))


def either(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a or b, of bools"""
    return e.op(arith.OrIOp, (a, b))


def choose(e: Emitter, condition: SSAValue, a: Pair, b: Pair) -> Pair:
    """`a` where the condition holds, else `b`."""
    return e.select(condition, a[0], b[0]), e.select(condition, a[1], b[1])


def pair_of(e: Emitter, value: complex, part: Attribute) -> Pair:
    """A constant."""
    return e.const(value.real, part), e.const(value.imag, part)


def add(e: Emitter, a: Pair, b: Pair) -> Pair:
    return fadd(e, a[0], b[0]), fadd(e, a[1], b[1])


def subtract(e: Emitter, a: Pair, b: Pair) -> Pair:
    return fsub(e, a[0], b[0]), fsub(e, a[1], b[1])


def negative(e: Emitter, a: Pair) -> Pair:
    return fneg(e, a[0]), fneg(e, a[1])


def conjugate(e: Emitter, a: Pair) -> Pair:
    return a[0], fneg(e, a[1])


def multiply(e: Emitter, a: Pair, b: Pair) -> Pair:
    real = fsub(e, fmul(e, a[0], b[0]), fmul(e, a[1], b[1]))
    return real, fadd(e, fmul(e, a[0], b[1]), fmul(e, a[1], b[0]))


def divide(e: Emitter, a: Pair, b: Pair) -> Pair:
    """Smith's quotient; by zero each part is divided by it, so that there are infinities and NaN."""
    part = b[0].type
    zero, one = e.const(0.0, part), e.const(1.0, part)
    sizes = fabs(e, b[0]), fabs(e, b[1])
    by_real = e.cmp("oge", *sizes)
    large, small = e.select(by_real, b[0], b[1]), e.select(by_real, b[1], b[0])
    ratio = fdiv(e, small, large)
    scale = fdiv(e, one, fadd(e, large, fmul(e, small, ratio)))
    # By real: (ar + ai ratio, ai - ar ratio); else (ar ratio + ai, ai ratio - ar).
    weighted = fmul(e, a[0], ratio), fmul(e, a[1], ratio)
    real = e.select(by_real, fadd(e, a[0], weighted[1]), fadd(e, weighted[0], a[1]))
    imaginary = e.select(by_real, fsub(e, a[1], weighted[0]), fsub(e, weighted[1], a[0]))
    quotient = fmul(e, real, scale), fmul(e, imaginary, scale)
    nothing = both(e, e.cmp("oeq", sizes[0], zero), e.cmp("oeq", sizes[1], zero))
    return choose(e, nothing, (fdiv(e, a[0], sizes[0]), fdiv(e, a[1], sizes[0])), quotient)


def absolute(e: Emitter, a: Pair) -> SSAValue:
    """The modulus, which overflows only where it is no number of the type."""
    return expand_float.hypot(e, a[0], a[1])


def equal(e: Emitter, a: Pair, b: Pair) -> SSAValue:
    return both(e, e.cmp("oeq", a[0], b[0]), e.cmp("oeq", a[1], b[1]))


def not_equal(e: Emitter, a: Pair, b: Pair) -> SSAValue:
    return either(e, e.cmp("une", a[0], b[0]), e.cmp("une", a[1], b[1]))


# ---- powers -------------------------------------------------------------------------------------------


def known(a: Pair) -> complex | None:
    """The number that a pair of constants is."""
    parts: list[float] = []
    for value in a:
        owner = value.owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
            return None
        parts.append(owner.value.value.data)
    return complex(*parts)


def power(e: Emitter, a: Pair, b: Pair, general: Expansion) -> Pair:
    """`a ** b` as NumPy's `npy_cpow`: products for whole exponents below 100, else `general(e, a, b)`."""
    part = b[0].type
    assert isinstance(part, AnyFloat)
    exponent = known(b)
    if exponent is not None:
        if exponent == 0:
            return pair_of(e, 1, part)
        count = exponent.real
        is_whole = exponent.imag == 0 and abs(count) < LARGEST_POWER and count == int(count)
        value = _whole_power(e, a, int(count)) if is_whole else general(e, a, b)
        return choose(e, _is_zero(e, a), _power_of_zero(e, b), value)

    zero, limit = e.const(0.0, part), e.const(float(LARGEST_POWER), part)
    size = fabs(e, b[0])
    whole = e.cmp("oeq", e.op(math.FloorOp, (size,), None, _FLAGS), size)
    small = both(e, both(e, e.cmp("oeq", b[1], zero), e.cmp("olt", size, limit)), whole)
    value = choose(e, small, _counted_power(e, a, b[0]), general(e, a, b))
    value = choose(e, _is_zero(e, a), _power_of_zero(e, b), value)
    return choose(e, _is_zero(e, b), pair_of(e, 1, part), value)


def _is_zero(e: Emitter, a: Pair) -> SSAValue:
    zero = e.const(0.0, a[0].type)
    return both(e, e.cmp("oeq", a[0], zero), e.cmp("oeq", a[1], zero))


def _power_of_zero(e: Emitter, b: Pair) -> Pair:
    part = b[0].type
    nan, zero = e.const(float("nan"), part), e.const(0.0, part)
    value = e.select(e.cmp("ogt", b[0], zero), zero, nan)
    return value, value


def _whole_power(e: Emitter, a: Pair, count: int) -> Pair:
    """By squaring, in NumPy's order of products."""
    if count in (1, 2, 3):
        result = a
        for _ in range(count - 1):
            result = multiply(e, a, result)
        return result
    one = pair_of(e, 1, a[0].type)
    result, square, rest = one, a, abs(count)
    while rest:
        if rest & 1:
            result = multiply(e, result, square)
        rest >>= 1
        square = multiply(e, square, square) if rest else square
    return divide(e, one, result) if count < 0 else result


def _counted_power(e: Emitter, a: Pair, count: SSAValue) -> Pair:
    """The same for a whole exponent that the run knows: each bit of it is a product or none."""
    from xdsl.dialects.builtin import i32

    part = count.type
    one, two = pair_of(e, 1, part), e.const(2.0, part)
    limit = e.const(float(LARGEST_POWER), part)
    size = fabs(e, count)
    in_range = e.select(e.cmp("olt", size, limit), size, e.const(0.0, part))
    bits = e.op(arith.FPToSIOp, (in_range,), i32)
    result, square = one, a
    for bit in range(LARGEST_POWER.bit_length()):
        shifted = e.op(arith.AndIOp, (bits, e.const(1 << bit, i32)))
        result = choose(e, e.cmp("ne", shifted, e.const(0, i32)), multiply(e, result, square), result)
        square = multiply(e, square, square)
    result = choose(e, e.cmp("olt", count, e.const(0.0, part)), divide(e, one, result), result)
    squared = multiply(e, a, a)
    short: Sequence[tuple[float, Pair]] = ((1.0, a), (2.0, squared), (3.0, multiply(e, a, squared)))
    for value, product in short:
        at = two if value == 2.0 else e.const(value, part)
        result = choose(e, e.cmp("oeq", count, at), product, result)
    return result
