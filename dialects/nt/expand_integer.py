"""Scalar expansions of integer functions: shifts, bit counts, gcd and lcm, powers, and C's remainder.

They are straight lines of arith and math operations, so that they vectorise like any other; where NumPy loops until it
is done (gcd, power), the line is as long as the worst case.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ..ext.arith import NO_OVERFLOW
from .expand import Emitter, absolute_int, positive_constant


def _width(a: SSAValue) -> int:
    assert isinstance(a.type, IntegerType)
    return a.type.width.data


def _subtract(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.SubiOp, (a, b), None, NO_OVERFLOW)


def _multiply(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.MuliOp, (a, b), None, NO_OVERFLOW)


def _is_inside(b: SSAValue) -> bool:
    """Whether a shift is known to be by less than the width."""
    return (positive_constant(b) or _width(b)) < _width(b)


def _whole_or_none(e: Emitter, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
    """A shift that leaves nothing of a where it is by the width or more; a negative amount counts as a large one."""
    properties = NO_OVERFLOW if op_type is arith.ShLIOp else None
    if _is_inside(b):
        return e.op(op_type, (a, b), None, properties)
    width = _width(b)
    inside = e.cmp("ult", b, e.const(width, b.type))
    amount = e.op(arith.AndIOp, (b, e.const(width - 1, b.type)))
    return e.select(inside, e.op(op_type, (a, amount), None, properties), e.const(0, a.type))


def left_shift(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a << b; 0 where nothing of a is left."""
    return _whole_or_none(e, arith.ShLIOp, a, b)


def right_shift_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a >> b with the sign moved in; -1 or 0 where nothing else of a is left."""
    if _is_inside(b):
        return e.op(arith.ShRSIOp, (a, b))
    width = _width(b)
    inside = e.cmp("ult", b, e.const(width, b.type))
    return e.op(arith.ShRSIOp, (a, e.select(inside, b, e.const(width - 1, b.type))))


def right_shift_uint(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return _whole_or_none(e, arith.ShRUIOp, a, b)


def count_bits_uint(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(math.CtPopOp, (a,))


def count_bits_int(e: Emitter, a: SSAValue) -> SSAValue:
    """The bits of the absolute value."""
    return count_bits_uint(e, absolute_int(e, a))


def fmod_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The remainder with the sign of the dividend; 0 where the divisor is 0 (or -1, which may overflow)."""
    zero = e.const(0, a.type)
    unsafe = e.op(arith.OrIOp, (e.cmp("eq", b, zero), e.cmp("eq", b, e.const(-1, a.type))))
    return e.op(
        arith.RemSIOp, (e.select(unsafe, e.const(1, a.type), a), e.select(unsafe, e.const(1, a.type), b))
    )


def reciprocal_uint(e: Emitter, a: SSAValue) -> SSAValue:
    """1 / a cut to an integer: 1 for 1, else 0."""
    one = e.const(1, a.type)
    return e.select(e.cmp("eq", a, one), one, e.const(0, a.type))


def reciprocal_int(e: Emitter, a: SSAValue) -> SSAValue:
    """1 / a cut to an integer; of 0 the smallest integer, or 0 in types that are narrower than C's int."""
    is_unit = e.cmp("ule", e.op(arith.AddiOp, (a, e.const(1, a.type)), None, NO_OVERFLOW), e.const(2, a.type))
    by_zero = 0 if _width(a) < 32 else 1 << (_width(a) - 1)
    of_unit = e.select(e.cmp("eq", a, e.const(0, a.type)), e.const(by_zero, a.type), a)
    return e.select(is_unit, of_unit, e.const(0, a.type))


# --- greatest common divisor -----------------------------------------------------------------------------


def _trailing_zeros(e: Emitter, a: SSAValue) -> SSAValue:
    """How many zeros are below the lowest one; of 0 it is 0, so that it may be shifted by."""
    count = e.op(math.CountTrailingZerosOp, (a,))
    return e.op(arith.AndIOp, (count, e.const(_width(a) - 1, a.type)))


def _odd_part(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.ShRUIOp, (a, _trailing_zeros(e, a)))


def gcd_uint(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Stein's algorithm. Every step takes a bit off the larger of two odd numbers, so 2 * width - 1 steps end it."""
    power = _trailing_zeros(e, e.op(arith.OrIOp, (a, b)))
    a, b = _odd_part(e, a), _odd_part(e, b)
    for _ in range(2 * _width(a) - 1):
        smaller, larger = e.op(arith.MinUIOp, (a, b)), e.op(arith.MaxUIOp, (a, b))
        a, b = _odd_part(e, _subtract(e, larger, smaller)), smaller
    odd = e.op(arith.OrIOp, (a, b))  # one of them is 0
    return e.op(arith.ShLIOp, (odd, power), None, NO_OVERFLOW)


def gcd_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return gcd_uint(e, absolute_int(e, a), absolute_int(e, b))


def lcm_uint(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a / gcd(a, b) * b; 0 where both are 0."""
    divisor = gcd_uint(e, a, b)
    safe = e.op(arith.MaxUIOp, (divisor, e.const(1, a.type)))
    return _multiply(e, e.op(arith.DivUIOp, (a, safe)), b)


def lcm_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return lcm_uint(e, absolute_int(e, a), absolute_int(e, b))


# --- powers ----------------------------------------------------------------------------------------------


def power_uint(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """a to the power of b modulo two to the width: one squaring a bit of the exponent."""
    return _power(e, a, b, _width(b))


def power_int(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The same; the exponent is not negative (NumPy raises, so the frontend sees to it)."""
    return _power(e, a, b, _width(b) - 1)


def _power(e: Emitter, base: SSAValue, exponent: SSAValue, bits: int) -> SSAValue:
    zero, result = e.const(0, base.type), e.const(1, base.type)
    for k in range(bits):
        bit = e.op(arith.AndIOp, (exponent, e.const(1 << k, base.type)))
        result = e.select(e.cmp("eq", bit, zero), result, _multiply(e, result, base))
        base = _multiply(e, base, base) if k + 1 < bits else base
    return result
