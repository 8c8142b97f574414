"""The buffers of a function: which there are, what they are called, who makes them, and the layout of their elements."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.diagnostic import fail
from ...dialects.nest import AllocOp
from ...dialects.nt.types import width_of
from ...dialects.walk import walk
from .loop_structure import functions

_SPACES = {3: "shared", 5: "local"}
"""The memory spaces that a buffer's type can ask for; in the default space it is where its place puts it."""


def declared_space(buffer: MemRefType) -> str | None:
    """The memory space that a type asks for by name; None for the default one."""
    space = buffer.memory_space
    return _SPACES.get(space.value.data) if isinstance(space, IntegerAttr) else None


def buffer_name(buffer: SSAValue) -> str:
    """What a buffer is called: the name of its allocation, or of the argument."""
    if isinstance(buffer.owner, AllocOp):
        return buffer.owner.label.data
    return buffer.name_hint or "buffer"


def buffers_in(function: FuncOp) -> list[SSAValue]:
    """The arguments and the allocations of a function, in the order of the text."""
    arguments = [a for a in function.body.blocks[0].args if isinstance(a.type, MemRefType)]
    return [*arguments, *(op.memref for op in walk(function) if isinstance(op, AllocOp))]


def flat_views_in(function: FuncOp) -> list[SSAValue]:
    """The views of buffers that nest-flatten made, which have names of their own: `x_flat`."""
    return [op.results[0] for op in walk(function) if isinstance(op, memref.CollapseShapeOp)]


def find_buffer(module: ModuleOp, name: str, function: str | None = None) -> SSAValue:
    """The buffer called `name`, or the flat view; a diagnostic that lists the buffers when it is missing or ambiguous."""
    candidates = functions(module, function)
    buffers = [buffer for f in candidates for buffer in buffers_in(f)]
    matching = [buffer for buffer in buffers if buffer_name(buffer) == name]
    if not matching:
        views = [view for f in candidates for view in flat_views_in(f)]
        matching = [view for view in views if buffer_name(view) == name]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        listing = ", ".join(map(buffer_name, buffers)) or "none"
        anchor = candidates[0] if len(candidates) == 1 else module
        raise fail(anchor, f'unknown buffer "{name}"', hint=f"buffers here: {listing}")
    raise fail(
        owner_of(matching[0]),
        f'there are {len(matching)} buffers called "{name}"',
        hint="say which function is meant with the option func, or give the buffers distinct names",
        notes=[(owner_of(buffer), "another one is here") for buffer in matching[1:]],
    )


def find_alloc(module: ModuleOp, name: str, function: str | None = None) -> AllocOp | SSAValue:
    """The allocation called `name`; the argument, where it is one (the primitive says what is wrong with it)."""
    found = find_buffer(module, name, function)
    return found.owner if isinstance(found.owner, AllocOp) else found


def owner_of(buffer: SSAValue) -> Operation:
    """The operation that makes a buffer: its allocation, or the function whose argument it is."""
    owner = buffer.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        assert parent is not None
        return parent
    return owner


def element_bytes(element: Attribute) -> int:
    if isinstance(element, IndexType):
        return 8
    return -(-width_of(element) // 8)


def strides_of(buffer: MemRefType) -> list[int | None]:
    """Strides in elements that the type states; None where only the run time knows."""
    layout = buffer.layout
    if isinstance(layout, StridedLayoutAttr):
        return [None if isinstance(s, NoneAttr) else s.data for s in layout.strides]
    strides: list[int | None] = [1]
    for extent in reversed(buffer.get_shape()[1:]):
        last = strides[0]
        strides.insert(0, None if last is None or extent == DYNAMIC_INDEX else last * extent)
    return strides
