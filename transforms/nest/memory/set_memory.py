"""nest-set-memory: a buffer goes to another memory space.

    %u = nest.alloc "u" : memref<16xf32>
    nest.store "u" %a, %u[%i] : memref<16xf32>

with buffer=u, space=shared becomes

    %u = nest.alloc "u" : memref<16xf32, 3>
    nest.store "u" %a, %u[%i] : memref<16xf32, 3>

Spaces: `global` (the default space of a type), `shared` (that of a block on a GPU) and `local` (that of a thread:
registers, or its stack). A space is a demand on where the buffer is made: refused when loops that are marked
already contradict it (shared memory inside a loop over threads, local memory that threads would use together),
when a shared or local buffer has no constant extents or is too large, and for arguments and buffers that are seen
through views. `set_scope` in TVM, `store_in` in Halide, `set_memory` in Exo; without a name in NNC.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ....analysis.nest.buffers import buffer_name, owner_of
from ....analysis.nest.loop_structure import enclosing_loops
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ..rewrite.buffers import space_attribute, why_not_space


def why_not_set_memory(alloc: AllocOp | SSAValue, space: str) -> NestorError | None:
    """The diagnostic that refuses to put a buffer in `space`, None when it is legal."""
    if not isinstance(alloc, AllocOp):
        return fail(
            owner_of(alloc),
            f'cannot move the buffer "{buffer_name(alloc)}" to {space} memory: it is not an allocation of the function',
            hint="nest-cache-read and nest-cache-write make a copy in any memory",
        )
    name = alloc.label.data
    users = [use.operation for use in alloc.memref.uses]
    for op in users:
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp | memref.DimOp):
            return fail(
                alloc,
                f'cannot move the buffer "{name}" to {space} memory: it is not only loaded and stored',
                notes=[(op, "it is used here")],
            )
    buffer = alloc.memref.type
    assert isinstance(buffer, MemRefType)
    return why_not_space(
        alloc,
        f'move the buffer "{name}" to {space} memory',
        space,
        buffer.get_shape(),
        buffer.element_type,
        enclosing_loops(alloc),
        users,
        alloc.memref,
    )


def set_memory(alloc: AllocOp | SSAValue, space: str) -> AllocOp:
    """Put the buffer in `space`; the allocation. Raises the diagnostic of `why_not_set_memory`."""
    if (refusal := why_not_set_memory(alloc, space)) is not None:
        raise refusal
    assert isinstance(alloc, AllocOp) and isinstance(alloc.memref.type, MemRefType)
    old = alloc.memref.type
    new = MemRefType(old.element_type, old.shape, old.layout, space_attribute(space))
    Rewriter.replace_value_with_new_type(alloc.memref, new)
    return alloc
