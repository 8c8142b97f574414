"""Random bits as integer arithmetic (part of expand-math): ten rounds of 32-bit words, each kept in 64 bits so that products
are whole. The algorithm and its constants: dialects/special.py.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects.special import PHILOX_MULTIPLIERS, PHILOX_ROUNDS, PHILOX_WEYL
from .builder import FormBuilder

_LOW = 0xFFFFFFFF


def philox(b: FormBuilder, counter: SSAValue, stream: SSAValue, key: SSAValue) -> SSAValue:
    """The first two words of Philox 4x32-10."""

    def low(v: SSAValue) -> SSAValue:
        return b.integer(arith.AndIOp, v, _LOW)

    def high(v: SSAValue) -> SSAValue:
        return b.integer(arith.ShRUIOp, v, 32)

    def mixed(*values: SSAValue) -> SSAValue:
        result, *others = values
        for value in others:
            result = b.integer(arith.XOrIOp, result, value)
        return result

    words = low(counter), high(counter), low(stream), high(stream)
    keys = [low(key), high(key)]
    for k in range(PHILOX_ROUNDS):
        if k:
            keys = [low(b.integer(arith.AddiOp, one, by)) for one, by in zip(keys, PHILOX_WEYL, strict=True)]
        x = b.integer(arith.MuliOp, words[0], PHILOX_MULTIPLIERS[0])
        y = b.integer(arith.MuliOp, words[2], PHILOX_MULTIPLIERS[1])
        words = mixed(high(y), words[1], keys[0]), low(y), mixed(high(x), words[3], keys[1]), low(x)
    return b.integer(arith.OrIOp, words[0], b.integer(arith.ShLIOp, words[1], 32))
