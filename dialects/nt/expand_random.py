"""The scalar expansion of nt.philox: ten rounds of 32-bit words, each kept in 64 bits so that products are whole."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Operation, SSAValue

from ..special import PHILOX_MULTIPLIERS, PHILOX_ROUNDS, PHILOX_WEYL
from .expand import OVERFLOW_PROPERTIES, Emitter

_LOW = 0xFFFFFFFF


def _wrapping(e: Emitter, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(op_type, (a, b), None, OVERFLOW_PROPERTIES)


def _low(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.AndIOp, (a, e.const(_LOW, i64)))


def _high(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.ShRUIOp, (a, e.const(32, i64)))


def _mixed(e: Emitter, *values: SSAValue) -> SSAValue:
    result = values[0]
    for value in values[1:]:
        result = e.op(arith.XOrIOp, (result, value))
    return result


def philox(e: Emitter, counter: SSAValue, stream: SSAValue, key: SSAValue) -> SSAValue:
    """The first two words of Philox 4x32-10; narrower operands are extended, and the result is cut."""
    kind = counter.type
    assert isinstance(kind, IntegerType)
    if kind != i64:
        wide = [e.op(arith.ExtUIOp, (v,), i64) for v in (counter, stream, key)]
        return e.op(arith.TruncIOp, (philox(e, *wide),), kind)
    a, b, c, d = _low(e, counter), _high(e, counter), _low(e, stream), _high(e, stream)
    keys = [_low(e, key), _high(e, key)]
    for k in range(PHILOX_ROUNDS):
        if k:
            moved = [_wrapping(e, arith.AddiOp, keys[j], e.const(PHILOX_WEYL[j], i64)) for j in range(2)]
            keys = [_low(e, word) for word in moved]
        x = _wrapping(e, arith.MuliOp, a, e.const(PHILOX_MULTIPLIERS[0], i64))
        y = _wrapping(e, arith.MuliOp, c, e.const(PHILOX_MULTIPLIERS[1], i64))
        a, b, c, d = (
            _mixed(e, _high(e, y), b, keys[0]),
            _low(e, y),
            _mixed(e, _high(e, x), d, keys[1]),
            _low(e, x),
        )
    return e.op(arith.OrIOp, (a, _wrapping(e, arith.ShLIOp, b, e.const(32, i64))))
