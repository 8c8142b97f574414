"""nest-sink-alloc: a buffer made before a loop is made in each of its iterations.

    %u = nest.alloc "u" : memref<16xf32>
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to 16 {
        nest.store "u" %a, %u[%j] : memref<16xf32>
      }
      nest.for "k" %k = 0 to 16 {
        %b = nest.load %u[%k] : memref<16xf32>
        ...
      }
    }

with buffer=u, loop=i becomes

    nest.for "i" %i = 0 to %n {
      %u = nest.alloc "u" : memref<16xf32>
      nest.for "j" %j = 0 to 16 {
        nest.store "u" %a, %u[%j] : memref<16xf32>
      }
      ...
    }

No iteration is then ordered after another one because they use the same memory. Refused unless the loop has all uses of
the buffer, and isl proves that what an iteration reads of it was written earlier in that iteration, or by no earlier
one; inside of vectorized loops, and where the buffer's memory space forbids it. `sink_alloc` in Exo, `store_at` in
Halide; without a name in TVM and NNC.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.own_buffers import allocation_of, name_of, why_not_of_function, why_not_own
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp
from ..rewrite.buffers import SPACES, why_not_space


def why_not_sink_alloc(
    alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to make the buffer in `loop`, None when it is legal."""
    alloc = allocation_of(alloc)
    action = f'sink the buffer "{name_of(alloc)}" into the loop "{loop.label}"'

    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        where = alloc if isinstance(alloc, AllocOp) else at or loop
        return fail(where, f"cannot {action}: {reason}", hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp)
    if is_inside(alloc, loop):
        return refuse("it is made inside of that loop already")
    if (refusal := why_not_own(alloc, loop, dependences or analyse(loop), refuse)) is not None:
        return refusal
    around = [*enclosing_loops(loop), loop]
    for outer in around:
        if outer.kind == "vectorized":
            return refuse(
                "iterations of a vectorized loop run together",
                hint="sink the buffer before vectorizing",
                notes=[(outer, f'the loop "{outer.label}" is vectorized')],
            )
    buffer = alloc.memref.type
    assert isinstance(buffer, MemRefType)
    space = space_of(buffer)
    if space == "global":
        return None
    users = [use.operation for use in alloc.memref.uses]
    return why_not_space(alloc, action, space, buffer.get_shape(), buffer.element_type, around, users)


def space_of(buffer: MemRefType) -> str:
    """The name of the memory space in a type."""
    space = buffer.memory_space
    number = space.value.data if isinstance(space, IntegerAttr) else None
    return next((name for name, known in SPACES.items() if known == number), "global")


def sink_alloc(alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None) -> AllocOp:
    """Make the buffer in each iteration of `loop`; the allocation. Raises the diagnostic of `why_not_sink_alloc`."""
    if (refusal := why_not_sink_alloc(alloc, loop, dependences)) is not None:
        raise refusal
    alloc = allocation_of(alloc)
    assert isinstance(alloc, AllocOp)
    block = loop.body.block
    assert block.first_op is not None
    alloc.detach()
    block.insert_op_before(alloc, block.first_op)
    return alloc
