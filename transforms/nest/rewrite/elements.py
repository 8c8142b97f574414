"""Buffers with an element for each one of another buffer, and nests over all elements of a buffer.

%y_last = nest.alloc "y_last" : memref<100x50xi64>          beside(%y : memref<100x50xf32>, i64, "last")
nest.for "y.start.ax0" %a = 0 to 100 {                      over(%y, "start")
  nest.for "y.start.ax1" %b = 0 to 50 {
    ...
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.accesses import is_defined_outside
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, ForOp
from .buffers import erase_unused, extent_before, fresh_buffer_name
from .loops import fresh_names
from .sizes import size_of


def shared_among(buffer: SSAValue, loop: ForOp) -> ForOp | None:
    """The loop around a loop whose iterations run at once and share a buffer: a nest over all elements would be a race."""
    for outer in enclosing_loops(loop):
        if outer.kind != "serial" and is_defined_outside(buffer, outer):
            return outer
    return None


class Elements:
    """The elements of a buffer; what is made for them stands around a loop."""

    def __init__(self, buffer: SSAValue, loop: ForOp):
        assert isinstance(buffer.type, MemRefType) and loop.parent is not None
        self.buffer, self.loop, self.block = buffer, loop, loop.parent
        self.extents: list[AffineList] = []
        self._made: list[Operation] = []
        for axis in range(buffer.type.get_num_dims()):
            extent, made = extent_before(buffer, axis, loop)
            self.extents.append(extent)
            self._made += made

    def beside(self, element: Attribute, suffix: str) -> AllocOp:
        """A buffer with such an element for each one, made before the loop."""
        sizes = [size_of(extent, self.loop) for extent in self.extents]
        shape = [n if isinstance(n, int) else DYNAMIC_INDEX for n in sizes]
        unknown = [n for n in sizes if not isinstance(n, int)]
        name = fresh_buffer_name(self.loop, f"{buffer_name(self.buffer)}_{suffix}")
        alloc = AllocOp(name, MemRefType(element, shape), unknown)
        alloc.location, alloc.memref.name_hint = self.loop.location, name
        self.block.insert_op_before(alloc, self.loop)
        return alloc

    def over(self, suffix: str, is_behind: bool = False) -> list[ForOp]:
        """Loops over all of them, before the loop or right behind it."""
        name = buffer_name(self.buffer)
        wanted = [f"{name}.{suffix}.ax{axis}" for axis in range(len(self.extents))]
        labels = fresh_names(self.loop, *wanted)
        loops = [ForOp(label, 0, extent) for label, extent in zip(labels, self.extents, strict=True)]
        for axis, one in enumerate(loops):
            one.location, one.iv.name_hint = self.loop.location, f"ax{axis}"
        for outer, inner in pairwise(loops):
            outer.body.block.add_op(inner)
        if is_behind:
            self.block.insert_op_after(loops[0], self.loop)
        else:
            self.block.insert_op_before(loops[0], self.loop)
        return loops

    def finish(self) -> None:
        """Remove the extents that nothing came to use."""
        erase_unused(self._made)
