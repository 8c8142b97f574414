"""nest-split-buffers: a buffer that holds one array after another becomes a buffer for each.

    %s = nest.alloc "s"(%n) : memref<?xf64>
    nest.for "i" %i = 0 to %n { ... nest.store "z" %a, %s[%i] }
    nest.for "i.1" %i = 0 to %n { %b = nest.load %s[%i] ... nest.store "t" %b, %t[%i] }
    nest.for "i.2" %i = 0 to %n { ... nest.store "s" %c, %s[%i] }
    nest.for "i.3" %i = 0 to %n { %d = nest.load %s[%i] ... }

becomes

    %s = nest.alloc "s"(%n) : memref<?xf64>
    %s_1 = nest.alloc "s.1"(%n) : memref<?xf64>
    ...                                              // "i" and "i.1" as before
    nest.for "i.2" %i = 0 to %n { ... nest.store "s" %c, %s_1[%i] }
    nest.for "i.3" %i = 0 to %n { %d = nest.load %s_1[%i] ... }

so that each of them can be computed where it is read (nest-inline-once). Writers stay together that some load takes elements
of: of the last writes, as isl follows them (`analysis/nest/sets/flow.py`). What is reduced to, is seen through views or
passed to calls, or is made in a loop stays as it is. `nest-reuse-buffers` is the way back. Feautrier's array expansion.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import enclosing_loops, functions
from ....analysis.nest.sets.flow import Flow
from ....dialects.nest import AllocOp, LoadOp, StoreOp
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.sizes import like


def split_buffers(function: FuncOp) -> None:
    """Split the buffers that a function makes, in place; what cannot be followed stays."""
    candidates = [op for op in function.walk() if isinstance(op, AllocOp) and _may_be_split(op)]
    if not candidates:
        return
    flow = Flow(function)
    if flow.obstacle is not None:
        return
    for alloc in candidates:
        groups = _groups(flow, alloc)
        for group in groups[1:]:
            _move(alloc, group)


def _may_be_split(alloc: AllocOp) -> bool:
    users = [use.operation for use in alloc.memref.uses]
    writers = [op for op in users if isinstance(op, StoreOp)]
    known = all(isinstance(op, LoadOp | StoreOp | memref.DimOp) for op in users)
    return known and len(writers) > 1 and not enclosing_loops(alloc)


def _groups(flow: Flow, alloc: AllocOp) -> list[list[Operation]]:
    """The loads and stores that share elements, in the order of the program."""
    users = [use.operation for use in alloc.memref.uses]
    order = {op: k for k, op in enumerate(flow.function.walk())}
    group_of = {op: {op} for op in users if not isinstance(op, memref.DimOp)}
    reads = {read.name: read.loads for read in flow.reads if read.buffer is alloc.memref}
    for reader, source in flow.sources:
        if reader in reads:
            joined = group_of[reads[reader]] | group_of[flow.statements[source]]
            group_of |= dict.fromkeys(joined, joined)
    groups = {id(one): sorted(one, key=lambda op: order[op]) for one in group_of.values()}
    return sorted(groups.values(), key=lambda group: order[group[0]])


def _move(alloc: AllocOp, group: list[Operation]) -> None:
    """Give loads and stores a buffer of their own."""
    shape, sizes = alloc.memref.type.get_shape(), iter(alloc.sizes)
    assert alloc.next_op is not None
    new = like(alloc, [next(sizes) if extent < 0 else extent for extent in shape], alloc.next_op)
    name = fresh_buffer_name(alloc, f"{alloc.label.data}.1")
    new.label, new.memref.name_hint = StringAttr(name), alloc.memref.name_hint
    for op in group:
        op.operands = [new.memref if value is alloc.memref else value for value in op.operands]


@dataclass(frozen=True, eq=False)
class NestSplitBuffersPass(ModulePass):
    """Give each array that a buffer holds in turn a buffer of its own."""

    name = "nest-split-buffers"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            split_buffers(function)
