"""Local buffers made outside of loops over threads: each thread keeps what it needs of them in its registers.

nest.for "w" %w = 0 to 8 bind "thread.x" {
  %row = nest.alloc "row" : memref<32x4xf32, 5>                distributed: lane %l touches %row[%l, ...] alone
  %top = nest.alloc "top" : memref<f32, 5>                     replicated: every lane has the same value
  nest.store "top" %none, %top[]
  nest.for "l" %l = 0 to 32 bind "lane" {
    nest.for "k" %k = 0 to 4 { ... nest.store "row" %a, %row[%l, %k] }
    nest.accumulate "top" maximum %b, %top[]                   the lanes combine their values by shuffles
  }
  nest.for "m" %m = 0 to 32 bind "lane" { ... nest.load %row[%m, %k] ... nest.load %top[] }
}

Along an axis of threads that the buffer is made outside of, it is distributed where one of its axes is indexed by the
thread in every access: a thread keeps the elements of its own number. Otherwise it is replicated, which needs that all
threads write the same: outside of loops over the axis, or as the total of a reduction over lanes. All threads then do
those statements, and no barrier is needed for such a buffer. What a tensor core takes from the registers of a warp
(matrix_tiles.py) is loaded by the lanes that have it, whatever the loops say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ....dialects.nest import (
    BIND_AXES,
    LANES_ALONG,
    THREAD_AXES,
    AccumulateOp,
    AllocOp,
    ForOp,
    LoadOp,
    StoreOp,
    told_apart,
    with_lanes,
)
from .barrier_places import bound_loops
from .lane_reductions import reduction_loop
from .matrix_tiles import has_fragment, is_operand_in_registers

_LOCAL = 5


@dataclass(frozen=True)
class ThreadCopies:
    """How threads share out a local buffer: the axes of the buffer that are the number of a thread."""

    distributed: dict[str, int]
    """Axis of threads -> axis of the buffer; along other axes of threads the buffer is replicated."""


@dataclass(frozen=True)
class NoCopies:
    """Why threads cannot keep parts or copies of a buffer, and the operation at fault."""

    op: Operation
    reason: str


def is_local(buffer: SSAValue) -> bool:
    """Whether a buffer is to be in local memory."""
    space = buffer.type.memory_space if isinstance(buffer.type, MemRefType) else None
    return isinstance(space, IntegerAttr) and space.value.data == _LOCAL


def thread_copies(alloc: AllocOp) -> ThreadCopies | NoCopies | None:
    """How the threads of a block share out a local buffer; None for one that a single thread makes for itself."""
    if not is_local(alloc.memref):
        return None
    around = _loops_around(alloc)
    kernel = next((loop for loop in reversed(around) if loop.kind in BIND_AXES), None)
    if kernel is None:
        return None
    inside = with_lanes(loop.kind for loop in around)
    used = told_apart(loop.kind for loop in bound_loops([kernel], THREAD_AXES))
    missing = [axis for axis in used if axis not in inside]
    return copies_along(alloc.memref, missing) if missing else None


def copies_along(buffer: SSAValue, axes: Sequence[str]) -> ThreadCopies | NoCopies:
    """How threads share out a buffer made outside of all loops over `axes`, one of which are the lanes of a warp."""
    users = [use.operation for use in buffer.uses]
    for op in users:
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp):
            return NoCopies(op, "it is not only loaded and stored")
    operands = [op for op in users if is_operand_in_registers(op)]
    users = [op for op in users if op not in operands]
    distributed: dict[str, int] = {}
    for axis in axes:
        place = _distributed_axis(buffer, users, axis)
        if place is not None:
            distributed[axis] = place
            continue
        for part in ("lane.y", "lane.x") if axis == "lane" and _are_in_two_axes(users) else (axis,):
            place = _distributed_axis(buffer, users, part)
            if place is not None:
                distributed[part] = place
            elif (why := _why_not_replicated(buffer, users, part)) is not None:
                return why
    for op in operands:
        if not has_fragment(op, distributed.get("lane.y"), distributed.get("lane.x")):
            return NoCopies(op, "a tensor core would take elements from lanes that do not have them")
    return ThreadCopies(distributed)


def _are_in_two_axes(users: Sequence[Operation]) -> bool:
    """Whether some accesses are in loops over a warp as 8 by 4 lanes."""
    return any(loop.kind in ("lane.y", "lane.x") for op in users for loop in _loops_around(op))


def writes_copies(op: Operation) -> bool:
    """Whether something at or below `op` writes a buffer made outside, of which the threads of the block have parts or
    copies."""
    inside = list(op.walk())
    return any(
        root.owner not in inside and isinstance(thread_copies(root.owner), ThreadCopies)
        for inner in inside
        for root in _written(inner)
        if isinstance(root.owner, AllocOp)
    )


def _written(op: Operation) -> Sequence[SSAValue]:
    if isinstance(op, StoreOp):
        return (op.memref,)
    return op.memrefs if isinstance(op, AccumulateOp) else ()


def _distributed_axis(buffer: SSAValue, users: Sequence[Operation], axis: str) -> int | None:
    """The axis of a buffer that is the number of the thread along `axis` in every access."""
    assert isinstance(buffer.type, MemRefType)
    for place in range(buffer.type.get_num_dims()):
        if all(_is_number_of_thread(op, place, axis) for op in users):
            return place
    return None


def _is_number_of_thread(op: Operation, place: int, axis: str) -> bool:
    assert isinstance(op, LoadOp | StoreOp | AccumulateOp)
    loop = next((loop for loop in _loops_around(op) if loop.kind == axis), None)
    if loop is None or loop.step_value != 1 or loop.lower.constants() != (0,):
        return False
    return op.indices[place].single_value() is loop.iv


def _why_not_replicated(buffer: SSAValue, users: Sequence[Operation], axis: str) -> NoCopies | None:
    for op in users:
        if isinstance(op, LoadOp):
            continue
        kinds = (axis, "lane") if axis in LANES_ALONG else (axis,)
        loop = next((loop for loop in _loops_around(op) if loop.kind in kinds), None)
        if loop is not None and isinstance(buffer.owner, Operation) and loop.is_ancestor(buffer.owner):
            continue
        if loop is not None and reduction_loop(op) is not loop:
            return NoCopies(op, f'the threads of the loop "{loop.label}" write different values')
    return None


def _loops_around(op: Operation) -> list[ForOp]:
    """The loops around `op`, the innermost first."""
    found: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            found.append(parent)
        parent = parent.parent_op()
    return found
