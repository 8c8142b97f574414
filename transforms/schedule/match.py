"""Finding what a schedule speaks of: buffers by name, loops by what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.func import FuncOp

from ...analysis.nest.buffers import buffer_name
from ...analysis.nest.sets.access_patterns import UNIT, pattern_of, varying_values
from ...analysis.nest.sets.accesses import accesses_of, is_defined_outside
from ...dialects.nest import AccumulateOp, ForOp, StoreOp


def statements_in(function: FuncOp) -> Iterator[StoreOp | AccumulateOp]:
    """The stores and accumulates of a function."""
    return (op for op in function.walk() if isinstance(op, StoreOp | AccumulateOp))


def match_pattern(loops: Sequence[ForOp], pattern: str, name: str) -> list[ForOp]:
    """The loops that match: see `PATTERNS` of the schedule dialect."""
    return [loop for loop in loops if _PATTERNS[pattern](loop, name)]


def _contains(loop: ForOp, name: str) -> bool:
    """An operation of that name is directly in the body."""
    return any(op.name == name for op in loop.body.block.ops)


def _is_contiguous(loop: ForOp, name: str) -> bool:
    """Every access to the buffer below the loop goes to the next element in the next iteration."""
    varying = varying_values(loop)
    found = [
        pattern_of(access.indices, access.buffer, loop, varying)
        for op in loop.walk()
        for access in accesses_of(op)
        if access.buffer is not None and access.indices is not None and buffer_name(access.buffer) == name
    ]
    return bool(found) and all(pattern == UNIT for pattern in found)


def _reduces(loop: ForOp, name: str) -> bool:
    """An accumulate of that label goes to one element in all iterations of the loop."""
    return any(
        isinstance(op, AccumulateOp)
        and op.label is not None
        and op.label.data == name
        and all(is_defined_outside(value, loop) for value in (*op.indices.operands, *op.memrefs))
        for op in loop.walk()
    )


_PATTERNS = {"containing": _contains, "contiguous": _is_contiguous, "reducing": _reduces}
