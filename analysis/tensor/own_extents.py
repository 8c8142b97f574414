"""Whether operations slice a tensor to an extent that they read from an array themselves: the rows of one sequence of many.

    %n = nt.to_scalar %length : tensor<i64> -> i64
    %k = arith.index_cast %n : i64 to index
    %s = nt.slice %x[%first, 0] strides [1, 1] sizes(%k) : tensor<68x64xf32> -> tensor<?x64xf32>

An iteration of a loop with such a slice has nothing as long as the next one, that both could be fused: it stays a loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ...dialects.nt import SliceOp, ToScalarOp


def reads_extents(ops: Iterable[Operation]) -> bool:
    """Whether one of these operations is a slice whose extent is computed by others of them from an element of an array."""
    own = set(ops)
    values: list[SSAValue] = [v for op in own if isinstance(op, SliceOp) for v in op.size_operands]
    seen: set[SSAValue] = set()
    while values:
        value = values.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation) or owner not in own:
            continue
        if isinstance(owner, ToScalarOp):
            return True
        seen.add(value)
        values += owner.operands
    return False
