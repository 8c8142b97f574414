"""Buffers of an iteration's own: whether iterations of a loop can each have a buffer, and the loops around one.

    nest.for "i" %i = 0 to %n {
      nest.store "u" %a, %u[] : memref<f32>        why_not_own(u, i, ...) is None: what is read was
      %b = nest.load %u[] : memref<f32>               written before, in the same iteration
    }

Shared by nest-sink-alloc, nest-expand-buffer and nest-double-buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..buffers import buffer_name, owner_of
from ..loop_structure import enclosing_loops, is_inside
from .accesses import READ, WRITE, Access
from .coverage import Coverage
from .dependence import Dependences

Notes = Sequence[tuple[Operation, str]]
Refuse = Callable[..., NestorError]
"""Makes the diagnostic of a primitive from a reason (and a hint, and notes)."""


def loops_between(op: Operation, loop: ForOp) -> list[ForOp]:
    """The loops around `op` that are `loop` or inside of it, outermost first."""
    return [outer for outer in enclosing_loops(op) if is_inside(outer, loop)]


def allocation_of(buffer: AllocOp | SSAValue) -> AllocOp | SSAValue:
    """The allocation of a buffer that is given by its value."""
    return buffer.owner if isinstance(buffer, SSAValue) and isinstance(buffer.owner, AllocOp) else buffer


def why_not_of_function(buffer: AllocOp | SSAValue, refuse: Refuse) -> NestorError | None:
    """The refusal of what is no allocation of the function."""
    if isinstance(buffer, AllocOp):
        return None
    return refuse(
        "the caller made it",
        at=owner_of(buffer),
        hint="nest-cache-read and nest-cache-write make a copy that belongs to the function",
    )


def why_not_accesses(alloc: AllocOp, refuse: Refuse) -> NestorError | None:
    """The refusal of a buffer that is seen through a view, or handed on."""
    for use in alloc.memref.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | AccumulateOp | memref.DimOp):
            return refuse("it is not only loaded and stored", notes=[(use.operation, "it is used here")])
    return None


def why_not_own(alloc: AllocOp, loop: ForOp, dependences: Dependences, refuse: Refuse) -> NestorError | None:
    """The refusal of a buffer, made before `loop`, of which an iteration cannot have one of its own.

    It can when the loop has all uses, and an iteration reads nothing that an earlier one wrote: neither one of `loop`,
    nor one of the loops around it that the buffer is outside of.
    """
    if (refusal := why_not_accesses(alloc, refuse)) is not None:
        return refusal
    for use in alloc.memref.uses:
        if not is_inside(use.operation, loop):
            return refuse("it is used outside of the loop as well", notes=[(use.operation, "here")])
    if not any(alloc.memref.uses):
        return refuse("nothing in the loop uses it")
    notes = _carried_value(alloc, loop, dependences)
    if notes is not None:
        return refuse("an iteration may read what an earlier one wrote", notes=notes)
    return None


def _carried_value(alloc: AllocOp, loop: ForOp, dependences: Dependences) -> Notes | None:
    """A write, and a read in a later iteration that may find what it wrote, as notes."""
    around = set(enclosing_loops(alloc))
    crossed = [outer for outer in (*enclosing_loops(loop), loop) if outer not in around]
    own = [a for a in dependences.accesses_in(loop) if a.buffer is alloc.memref]
    stores = [a for a in own if a.kind == WRITE]
    coverage = Coverage(loop)
    fresh: dict[Operation, bool] = {}

    def reads_its_own(read: Access) -> bool:
        if read.op not in fresh:
            fresh[read.op] = coverage.written_before(read, stores)
        return fresh[read.op]

    reading = {a.op: a for a in own if a.kind == READ or isinstance(a.op, AccumulateOp)}
    for outer in crossed:
        for dependence in dependences.carried_by(outer):
            if dependence.buffer is not alloc.memref or dependence.kind == "anti":
                continue
            read = reading.get(dependence.sink)
            if read is not None and not reads_its_own(read):
                return dependence.notes
    return None


def name_of(buffer: AllocOp | SSAValue) -> str:
    """What the buffer is called."""
    return buffer_name(buffer.memref if isinstance(buffer, AllocOp) else buffer)
