"""nest-resize-buffer: an axis of a buffer gets another extent, that of the window which is used.

    nest.for "o" %o = 0 to %n ceildiv 16 {
      %u = nest.alloc "u"(%n) : memref<?xf32>
      nest.for "j" %j = 16 * %o to 16 * %o + 16 {
        nest.store "u" %a, %u[%j] : memref<?xf32>
      }
      ...
    }

with buffer=u, dimension=0 becomes

    nest.for "o" %o = 0 to %n ceildiv 16 {
      %u = nest.alloc "u" : memref<16xf32>
      nest.for "j" %j = 16 * %o to 16 * %o + 16 {
        nest.store "u" %a, %u[%j - 16 * %o] : memref<16xf32>
      }
      ...
    }

With size=24 and offset=8 the axis keeps (or gets) the 24 elements from 8 on; without a size the window is what an iteration
of the loop touches that makes the buffer. Refused unless isl proves that every index is in the window; for
arguments and for buffers seen through views. `resize_dim` in Exo, `bound_storage` in Halide, the compaction of buffers in
TVM; without a name in NNC.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import parent_loop
from ....analysis.nest.sets.own_buffers import name_of, why_not_of_function
from ....analysis.nest.sets.regions import NoWindow, window_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp
from ..rewrite.reshaping import (
    accesses_to,
    extents_of,
    is_within,
    reshape,
    why_not_dimension,
    why_not_reshape,
    with_index,
)

_Window = tuple[AffineList, AffineList]
"""Where a window starts along an axis, and its extent."""


def why_not_resize_buffer(
    alloc: AllocOp | SSAValue, dimension: int = 0, size: int | None = None, offset: int = 0
) -> NestorError | None:
    """The diagnostic that refuses to give the axis another extent, None when it is legal."""
    window = _plan(alloc, dimension, size, offset)
    return window if isinstance(window, NestorError) else None


def resize_buffer(
    alloc: AllocOp | SSAValue, dimension: int = 0, size: int | None = None, offset: int = 0
) -> AllocOp:
    """Give an axis another extent; the new allocation. Raises the diagnostic of `why_not_resize_buffer`."""
    window = _plan(alloc, dimension, size, offset)
    if isinstance(window, NestorError):
        raise window
    assert isinstance(alloc, AllocOp)
    start, extent = window
    extents = extents_of(alloc)
    extents[dimension] = extent

    def moved(indices: AffineList) -> AffineList:
        return with_index(indices, dimension, indices[dimension].minus(start).canonical())

    return reshape(alloc, extents, moved)


def _plan(alloc: AllocOp | SSAValue, dimension: int, size: int | None, offset: int) -> _Window | NestorError:
    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        where = alloc if isinstance(alloc, AllocOp) else at
        assert where is not None
        return fail(where, f'cannot resize the buffer "{name_of(alloc)}": {reason}', hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp) and isinstance(alloc.memref.type, MemRefType)
    refusal = why_not_reshape(alloc, refuse) or why_not_dimension(alloc, dimension, refuse)
    if refusal is not None:
        return refusal
    accesses = accesses_to(alloc)
    if size is None:
        loop = parent_loop(alloc)
        if loop is None:
            return refuse("it is made in no loop whose window it could have", hint="give it a size")
        if not accesses:
            return refuse("nothing uses it", hint="nest-eliminate-dead removes it")
        found = window_of(loop, accesses)
        if isinstance(found, NoWindow):
            return refuse(found.reason, notes=[(found.access.op, "the access is here")])
        start, extent = found.origin[dimension], found.extents[dimension]
        if start.constants() == (0,) and extent == extents_of(alloc)[dimension]:
            return refuse(f"its dimension {dimension} has no more than is used")
        start = start.add(offset)
    elif size < 0:
        return refuse(f"the size is {size}, it must not be negative")
    else:
        start, extent = AffineList.of(offset), AffineList.of(size)
    for access in accesses:
        assert access.indices is not None
        index = access.indices[dimension].minus(start)
        if not is_within(access, AffineList.of(index, extent.minus(index).add(-1)).canonical()):
            return refuse(
                f"an index along dimension {dimension} is not proved to be in the window",
                notes=[(access.op, "the access is here")],
            )
    return start.canonical(), extent.canonical()
