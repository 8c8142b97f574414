"""A nest-level function as an outline: what `-t nest-tree` writes and `-t nest-svg` draws.

Loops, buffers, statements, branches and checks are nodes; loads that follow each other are one node. Scalar
arithmetic is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...analysis.nest.loop_structure import functions
from ...analysis.nest.sets.accesses import argument_attribute
from ...analysis.nest.sets.readable import NestText, line_text, mark_text
from ...dialects.attributes import ROLE
from ...dialects.diagnostic import fail
from ...dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StatementOp,
    StoreOp,
)

_LIMIT = 72
"""The width of the text of a node of loads, after which another one begins."""

_SPACES = {1: "global", 3: "shared", 5: "local"}
"""Memory spaces by number, as GPUs number them."""


@dataclass(eq=False)
class Node:
    """A line of the outline. `kind`: function, loop, buffer, reads, statement, check, branch, other."""

    kind: str
    text: str
    ops: list[Operation]
    mark: str = ""
    label: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def place(self) -> str:
        """`prog.py:12` of the first operation, empty where it is not known."""
        return next(filter(None, map(line_text, self.ops)), "")

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def outline(module: ModuleOp, target: str) -> list[Node]:
    """A node a function. Refuses a module without anything of the nest level in it."""
    found = functions(module)
    if not any(op.name.startswith("nest.") for op in module.walk()):
        hint = "loop nests come from the nt level by -p convert-nt-to-nest"
        raise fail(
            module, f"target '{target}' needs functions at the nest level, and there is none", hint=hint
        )
    for function in found:
        if len(function.body.blocks) > 1:
            message = f"target '{target}' shows functions of one block"
            raise fail(function, message, hint="branches of the nest level are nest.if and scf.if")
    return [_Outliner(function).node() for function in found]


class _Outliner:
    def __init__(self, function: FuncOp):
        self._function = function
        self._names = NestText(function)

    def node(self) -> Node:
        arguments = ", ".join(map(self._argument, self._function.body.block.args))
        text = f"func @{self._function.sym_name.data}({arguments})"
        return Node("function", text, [self._function], children=self._block(self._function.body.block))

    def _argument(self, argument: SSAValue) -> str:
        role = argument_attribute(argument, ROLE)
        word = f"{role.data} " if isinstance(role, StringAttr) else ""
        if not isinstance(argument.type, MemRefType):
            return f"{word}{self._names.name(argument)}: {argument.type}"
        shape = [
            str(n) if n >= 0 else self._names.extent(argument, axis)
            for axis, n in enumerate(argument.type.get_shape())
        ]
        return f"{word}{self._names.name(argument)}: {argument.type.element_type}[{', '.join(shape)}]"

    def _block(self, block: Block) -> list[Node]:
        nodes: list[Node] = []
        for op in block.ops:
            if isinstance(op, LoadOp):
                self._add_load(nodes, op)
            elif isinstance(op, IfOp):
                nodes += self._branches(op)
            elif (made := self._node(op)) is not None:
                nodes.append(made)
        return nodes

    def _add_load(self, nodes: list[Node], op: LoadOp) -> None:
        element = self._names.element(op.memref, op.indices)
        last = nodes[-1] if nodes else None
        if last is not None and last.kind == "reads" and len(last.text) + len(element) < _LIMIT:
            last.text += f", {element}"
            last.ops.append(op)
        else:
            nodes.append(Node("reads", f"read {element}", [op]))

    def _node(self, op: Operation) -> Node | None:
        if isinstance(op, ForOp):
            return Node(
                "loop",
                f"for {self._names.loop(op)}",
                [op],
                mark_text(op),
                children=self._block(op.body.block),
            )
        if isinstance(op, AllocOp):
            return Node("buffer", self._buffer(op), [op], label=op.label.data)
        if isinstance(op, (StoreOp, AccumulateOp)):
            return Node("statement", self._statement(op), [op], label=op.statement)
        if isinstance(op, IndexOp):
            index, extent = self._names.affine(op.index), self._names.affine(op.extent)
            text = f"check {self._names.name(op.result)} = {index} of {extent}, axis {op.axis.value.data} of {op.array.data}"
            return Node("check", text, [op])
        if isinstance(op, PrefetchOp):
            return Node("other", f"fetch {self._names.element(op.memref, op.indices)}", [op])
        return self._other(op)

    def _branches(self, op: IfOp) -> list[Node]:
        text = f"if {self._names.name(op.condition)}"
        nodes = [Node("branch", text, [op], children=self._block(op.then_region.block))]
        if op.else_region is not None:
            nodes.append(Node("branch", "else", [op], children=self._block(op.else_region.block)))
        return nodes

    def _other(self, op: Operation) -> Node | None:
        """Anything else that does something: by its name, with what is inside."""
        if op.name in ("func.return", "memref.dim") or (is_side_effect_free(op) and not op.regions):
            return None
        children = [node for region in op.regions for block in region.blocks for node in self._block(block)]
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        return Node("check" if op.name == "cf.assert" else "other", name, [op], children=children)

    def _buffer(self, op: AllocOp) -> str:
        buffer_type = op.memref.type
        assert isinstance(buffer_type, MemRefType)
        text = f"buffer {self._names.name(op.memref)}: {self._names.buffer_type(buffer_type, list(op.sizes))}"
        space = buffer_type.memory_space
        if isinstance(space, IntegerAttr):
            number = space.value.data
            text += f", {_SPACES.get(number, f'memory space {number}')}"
        size = _bytes(buffer_type)
        return text if size is None else f"{text}, {size} byte{'s' * (size != 1)}"

    def _statement(self, op: StoreOp | AccumulateOp) -> str:
        buffers = op.memrefs if isinstance(op, AccumulateOp) else [op.memref]
        elements = ", ".join(self._names.element(buffer, op.indices) for buffer in buffers)
        domain = self._names.where(op.where)
        if op.mask is not None:
            domain += f" mask {self._names.name(op.mask)}"
        if isinstance(op, StoreOp):
            return f"write {elements}{domain}"
        order = "" if op.order_name == "any" else f", {op.order_name}"
        return f"update {elements} by {op.combiner.data}{order}{domain}"


def _bytes(buffer_type: MemRefType) -> int | None:
    """The size of a buffer of static shape."""
    size = getattr(buffer_type.element_type, "size", None)
    if not isinstance(size, int) or any(n < 0 for n in buffer_type.get_shape()):
        return None
    for extent in buffer_type.get_shape():
        size *= extent
    return size


def label_text(node: Node) -> str:
    """The label of a statement, quoted; empty when the buffer it writes has that name."""
    op = node.ops[0]
    if not isinstance(op, StatementOp) or not node.label or f" {node.label}[" in node.text:
        return ""
    return f'"{node.label}"'
