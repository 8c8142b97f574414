"""What operations of a kernel touch, and what threads of a block do between two barriers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from ....dialects.nest import BIND_AXES, AccumulateOp, ForOp, IfOp, LoadOp, StoreOp
from .barrier_places import bound_loops


class Phase(NamedTuple):
    """What threads of a block do between two barriers: the buffers they read and write that other threads see."""

    reads: set[SSAValue]
    writes: set[SSAValue]
    by_first_thread: bool = False

    def conflicts(self, other: Phase) -> bool:
        """Whether one writes what the other touches, in different threads."""
        if self.by_first_thread and other.by_first_thread:
            return False
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


def is_bound(op: Operation) -> bool:
    """Whether `op` is, or holds, a loop bound to blocks or threads."""
    return bool(bound_loops([op]))


def touches_memory(op: Operation) -> bool:
    return isinstance(op, ForOp | IfOp | LoadOp | StoreOp | AccumulateOp)


def accesses(op: Operation) -> tuple[set[SSAValue], set[SSAValue]]:
    """The buffers that `op` reads and writes."""
    reads: set[SSAValue] = set()
    writes: set[SSAValue] = set()
    for inner in op.walk():
        if isinstance(inner, LoadOp):
            reads.add(root(inner.memref))
        elif isinstance(inner, StoreOp):
            writes.add(root(inner.memref))
        elif isinstance(inner, AccumulateOp):
            buffers = {root(m) for m in inner.memrefs}
            reads |= buffers
            writes |= buffers
    return reads, writes


def loops_around(op: Operation) -> Iterator[ForOp]:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            yield parent
        parent = parent.parent_op()


def is_part_of_loop(loop: ForOp) -> bool:
    """Whether a loop is a part of one that was split, `i.o` or `i.i.1`, and its variable not one of the program."""
    return any(part.isalpha() for part in loop.label.split(".")[1:])


_PART_OF_AXIS = re.compile(r"([a-z]\w*)(\.\d+)?(\.[oi])+", re.ASCII)


def part_name(loop: ForOp) -> str:
    """What the variable of a part that stays a loop is called.

    `v` for lanes and `u` for others; in nests of them with the axis, `k_u`, and `j_v` for the inner of two parts of one.
    """
    if loop.kind == "vectorized":
        return "v"
    around = [other for other in loops_around(loop) if _is_loop_of_part(other)]
    axis = _axis(loop)
    if axis is None or not (around or any(_is_loop_of_part(op) for op in loop.body.walk())):
        return "u"
    return (
        f"{axis}_v"
        if any(_axis(other) == axis for other in around if other.kind == "unrolled")
        else f"{axis}_u"
    )


def _axis(loop: ForOp) -> str | None:
    match = _PART_OF_AXIS.fullmatch(loop.label)
    return None if match is None else match[1]


def _is_loop_of_part(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind not in BIND_AXES and is_part_of_loop(op)


def is_repeated(loop: ForOp, unit: Sequence[Operation]) -> bool:
    """Whether a loop over blocks is in a loop of the kernel whose iterations follow each other."""
    return any(
        around.kind not in BIND_AXES and any(around in op.walk() for op in unit)
        for around in loops_around(loop)
    )


def root(buffer: SSAValue) -> SSAValue:
    """The buffer that a collapsed view shows."""
    while isinstance(buffer.owner, memref.CollapseShapeOp):
        buffer = buffer.owner.src
    return buffer


def may_overlap(overlaps: Mapping[SSAValue, SSAValue], one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers are one, or arguments that may overlap: `overlaps` maps these to one of them."""
    one, other = root(one), root(other)
    return overlaps.get(one, one) is overlaps.get(other, other)
