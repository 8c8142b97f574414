"""Marks of loops that no target has code for together: asked when a loop is marked, and when loops are lowered."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ..dialects.nest import BIND_AXES, ForOp
from ..dialects.walk import walk


def parallel_around(loop: ForOp) -> ForOp | None:
    """The parallel loop around `loop`: the threads of one are not shared out again."""
    around = loop.parent_op()
    while around is not None:
        if isinstance(around, ForOp) and around.kind == "parallel":
            return around
        around = around.parent_op()
    return None


def parallel_loop_in(op: Operation) -> ForOp | None:
    """A parallel loop at or below `op`: the processor's threads share it out, a GPU has no code for it."""
    return next((loop for loop in walk(op) if isinstance(loop, ForOp) and loop.kind == "parallel"), None)


def bound_loop_in(op: Operation) -> ForOp | None:
    """A loop at or below `op` that is bound to blocks or threads: a GPU runs it, the processor has no code for it."""
    return next((loop for loop in walk(op) if isinstance(loop, ForOp) and loop.kind in BIND_AXES), None)


def call_on_buffers(op: Operation) -> func.CallOp | None:
    """A call that is given buffers (an intrinsic of nest-tensorize): the processor's alone."""
    return next(
        (inner for inner in walk(op) if isinstance(inner, func.CallOp) and _takes_buffers(inner)), None
    )


def _takes_buffers(call: func.CallOp) -> bool:
    return any(isinstance(value.type, MemRefType) for value in call.arguments)
