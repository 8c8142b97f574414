"""The scalar expansion of nt.philox: `special.philox`, which takes integers of 64 bits."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from ..functions import PhiloxOp
from .expand import Emitter


def philox(e: Emitter, counter: SSAValue, stream: SSAValue, key: SSAValue) -> SSAValue:
    """The first two words of Philox 4x32-10; narrower operands are extended, and the result is cut."""
    kind = counter.type
    assert isinstance(kind, IntegerType)
    if kind == i64:
        return e.op(PhiloxOp, (counter, stream, key))
    wide = [e.op(arith.ExtUIOp, (v,), i64) for v in (counter, stream, key)]
    return e.op(arith.TruncIOp, (e.op(PhiloxOp, wide),), kind)
