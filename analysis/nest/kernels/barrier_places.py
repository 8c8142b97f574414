"""Where a barrier can stand: places of a kernel that all threads of a block reach, or none.

nest.for "v" %v = 0 to 8 bind "thread.y" {          every thread has an iteration of its own
  nest.for "k" %k = 0 to %n {                       and runs this loop as often as the others
    nest.for "t" %t = 0 to 8 bind "thread.x" {...}
    nest.barrier
    ...
  }                                                 in a loop to %v threads would leave earlier than others
}

What convert-nest-to-gpu and nest-insert-barriers both have to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import cf, func, memref
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.nest import (
    BIND_AXES,
    BLOCK_AXES,
    LANES_ALONG,
    MAX_THREADS,
    THREAD_AXES,
    AccumulateOp,
    AllocOp,
    BarrierOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    YieldOp,
)
from ....dialects.walk import walk
from ..check_sites import raises

_KNOWN = (AccumulateOp, AllocOp, BarrierOp, ForOp, IfOp, IndexOp, LoadOp, PrefetchOp, StoreOp, YieldOp)
_KNOWN += (memref.DimOp, memref.CollapseShapeOp, cf.AssertOp, func.ReturnOp)


def bound_loops(ops: Iterable[Operation], axes: Sequence[str] = BIND_AXES) -> list[ForOp]:
    """The loops in `ops` that are bound to one of `axes`, themselves included."""
    return [loop for op in ops for loop in walk(op) if isinstance(loop, ForOp) and loop.kind in axes]


def foreign_operation(kernel: Operation) -> Operation | None:
    """An operation of the kernel of which it is not known what it reads and writes; None when there is none."""
    for op in kernel.walk():
        if raises(op):
            continue
        if not isinstance(op, _KNOWN) and (op.regions or not is_side_effect_free(op)):
            return op
    return None


def has_guard(loop: ForOp, on_axis: Sequence[ForOp]) -> bool:
    """Whether some threads along the axis of `loop` may have no iteration; `on_axis` are the loops of the kernel on it."""
    if len(loop.upper) != 1:
        return True
    if loop.kind in LANES_ALONG:
        return loop.constant_trip_count() != LANES_ALONG[loop.kind]
    own = loop.constant_trip_count()
    if own is None or loop.kind in BLOCK_AXES:
        counts = {other.constant_trip_count() for other in on_axis}
        return 0 in counts or (len(on_axis) > 1 and (len(counts) > 1 or None in counts))
    return own < threads_for(on_axis)


def threads_for(loops: Sequence[ForOp]) -> int:
    """How many threads a block has along the axis that `loops` are bound to: one at least, and all of a warp."""
    return max([1, *(LANES_ALONG.get(loop.kind, 1) for loop in loops), *map(_most_iterations, loops)])


def _most_iterations(loop: ForOp) -> int:
    if len(loop.lower) != 1:
        return MAX_THREADS
    counts = [c[0] for k in range(len(loop.upper)) if (c := loop.upper[k].minus(loop.lower).constants())]
    return -(-min(counts) // loop.step_value) if counts else MAX_THREADS


def is_uniform(loop: ForOp) -> bool:
    """Whether the threads of a block all run `loop`, a serial one, equally often."""
    return not any(_differs(v) for v in (*loop.lower_operands, *loop.upper_operands))


def divergence(block: Block | None, kernel: Operation) -> Operation | None:
    """What keeps some threads of a block of the grid from `block`: a loop or a branch around it; None when all arrive."""
    found: Operation | None = None
    op = block.parent_op() if block is not None else None
    while op is not None:
        if _is_on_threads(op):
            assert isinstance(op, ForOp)
            if found is None and has_guard(op, bound_loops([kernel], [op.kind])):
                found = op
        elif found is None and _is_inside_threads(op) and not _is_uniform_loop(op):
            found = op
        if op is kernel:
            break
        op = op.parent_op()
    return found


def _is_uniform_loop(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind not in BIND_AXES and is_uniform(op)


def _is_on_threads(op: Operation | None) -> bool:
    return isinstance(op, ForOp) and op.kind in THREAD_AXES


def _is_inside_threads(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not _is_on_threads(parent):
        parent = parent.parent_op()
    return parent is not None


def _differs(value: SSAValue) -> bool:
    """Whether a value may differ between threads of a block."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if not isinstance(loop, ForOp):
            return False
        return _is_on_threads(loop) or (loop.kind not in BIND_AXES and not is_uniform(loop))
    if not _is_inside_threads(owner):
        return False
    return isinstance(owner, LoadOp | IndexOp) or bool(owner.regions) or any(map(_differs, owner.operands))


__all__ = [
    "BLOCK_AXES",
    "THREAD_AXES",
    "bound_loops",
    "divergence",
    "foreign_operation",
    "has_guard",
    "is_uniform",
    "threads_for",
]
