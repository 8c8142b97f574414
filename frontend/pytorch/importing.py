"""What PyTorch captured, as graphs of the table's operations, and operations that PyTorch runs between them.

A captured graph is pure: mutation has been made into results. So operations are taken level by level: all that the table has
and needs nothing that PyTorch has yet to run is one program. Views belong to whoever uses them: a program computes them
again from what they are views of, and what leaves a program is never a view: PyTorch knows which tensors share memory.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from ...dialects.diagnostic import SourceLocation
from ..interface.errors import UnsupportedError
from .dtypes import numpy_name
from .graph import Extent, Graph, Ref, Step
from .operations import OPERATIONS
from .table import IGNORED, Row

_ARITHMETIC = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.floordiv: "floordiv", operator.mod: "mod",
    operator.neg: "neg",
}  # fmt: skip
"""What is done to extents."""


_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


class Missing(Exception):
    """An operation that PyTorch runs; the text says why."""


class Remark:
    """An operation that PyTorch runs, and where the user's program has it."""

    def __init__(self, operation: str, reason: str, place: SourceLocation | None):
        self.operation = operation
        self.reason = reason
        self.place = place

    def __str__(self) -> str:
        where = "" if self.place is None else f"{self.place}: "
        return f"{where}{self.operation} is run by PyTorch: {self.reason}"


class Program:
    """A graph that is compiled, and the nodes that are its inputs and outputs."""

    def __init__(self, graph: Graph, inputs: list[fx.Node], outputs: list[fx.Node]):
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs
        self.dynamic: dict[str, dict[int, str | None]] = {}
        """Which extents of inputs are not known, by name and axis: equal names are equal extents."""
        for name, node in zip(graph.names, inputs, strict=True):
            value = node.meta.get("val")
            shape = value.shape if isinstance(value, torch.Tensor) else ()
            axes = {k: _extent_name(n) for k, n in enumerate(shape) if isinstance(n, torch.SymInt)}
            if axes:
                self.dynamic[name] = axes


Part = Program | fx.Node
"""What runs at once: a program, or one operation by PyTorch."""


class Import:
    """A captured graph, taken apart."""

    def __init__(self, module: fx.GraphModule, name: str):
        self.module = module
        self.name = name
        self.table = OPERATIONS
        self.remarks: list[Remark] = []
        self.parts: list[Part] = []
        nodes = list(module.graph.nodes)
        self.placeholders = [n for n in nodes if n.op == "placeholder"]
        self.output: fx.Node = nodes[-1]
        self.symbols = self._symbols()
        self.integers = {
            str(n.meta["val"].node.expr): n
            for n in self.placeholders
            if isinstance(n.meta.get("val"), torch.SymInt)
        }
        """Integers among the inputs, by the expression."""
        self.rows: dict[fx.Node, Row | None] = {}
        self.levels: dict[fx.Node, int] = {}
        self._placed: set[fx.Node] = set()
        self._classify(nodes)
        self._take_apart(nodes)

    # ---- which operations are whose -------------------------------------------------------------------

    def _symbols(self) -> dict[str, tuple[fx.Node, int]]:
        """Where an extent that is not known is found: an input and its axis, by the expression."""
        found: dict[str, tuple[fx.Node, int]] = {}
        for node in self.placeholders:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                for axis, extent in enumerate(value.shape):
                    if isinstance(extent, torch.SymInt):
                        found.setdefault(str(extent.node.expr), (node, axis))
        return found

    def _classify(self, nodes: Sequence[fx.Node]) -> None:
        """Which rows operations have, and the level of each: even ones are programs, odd ones PyTorch's."""
        barrier, random, highest = 0, -1, 0
        for node in nodes:
            if node.op in ("placeholder", "get_attr"):
                self.levels[node] = -2
                continue
            if node.op == "output":
                continue
            ready = max([self.levels[n] for n in node.all_input_nodes], default=-2)
            if self._is_integer(node) or self._is_view(node):
                self.levels[node] = ready
                self.rows[node] = None if self._is_integer(node) else self._view_row(node)
                continue
            is_ours = self._is_ours(node)
            if is_ours:
                level = max(ready + (ready & 1), barrier, 0)
            else:
                level = max(ready + (not ready & 1), barrier - 1 if barrier else -1)
                if _is_random(node):
                    level = random = max(level, random)
                if _mutates(node):
                    level = max(level, highest + 1 - (highest & 1))
                    barrier = level + 1
            self.levels[node] = level
            highest = max(highest, level)

    def _is_ours(self, node: fx.Node) -> bool:
        try:
            if node.target is operator.getitem:
                source = node.args[0]
                assert isinstance(source, fx.Node)
                self.rows[node] = self.rows.get(source)
                if self.rows[node] is None:
                    raise Missing("")
                return True
            self.rows[node] = self._row(node)
            return True
        except Missing as reason:
            self.rows[node] = None
            if str(reason) and not _is_random(node):
                self.remarks.append(Remark(str(node.target), str(reason), place_of(node)))
            return False

    def _row(self, node: fx.Node) -> Row:
        """The row of an operation. Raises Missing."""
        found = self.table.get(str(node.target))
        if found is None:
            raise Missing("the table of operations does not have it")
        for value in (node, *node.all_input_nodes):
            for one in _tensors(value.meta.get("val")):
                if one.device.type != "cpu":
                    raise Missing(f"a tensor is on device '{one.device}'")
                if one.layout is not torch.strided:
                    raise Missing(f"a tensor is of layout {one.layout}")
                if numpy_name(one.dtype) is None:
                    raise Missing(f"NumPy has no {one.dtype}")
        given = arguments_of(node)
        for name, value in given.items():
            if name not in found.parameters and name not in IGNORED and value is not None:
                raise Missing(f"the argument {name} is not supported")
        if found.takes is not None:
            dtypes = {name: _dtypes(value) for name, value in given.items()}
            reason = found.takes(
                {**given, "dtypes": dtypes, "computes": _computes(found, given) or "float32"}
            )
            if reason is not None:
                raise Missing(reason)
        return found

    def _is_integer(self, node: fx.Node) -> bool:
        return node.op == "call_function" and isinstance(
            node.meta.get("val"), torch.SymInt | torch.SymBool | torch.SymFloat | int | bool | float
        )

    def _is_view(self, node: fx.Node) -> bool:
        """Whether a node is a view of its first input by an operation of the table, or an item of such views."""
        if node.target is operator.getitem:
            source = node.args[0]
            return isinstance(source, fx.Node) and self._is_view(source)
        found = OPERATIONS.get(str(node.target))
        if found is None or not found.is_view:
            return False
        return all(one.device.type == "cpu" for one in _tensors(node.meta.get("val")))

    def _view_row(self, node: fx.Node) -> Row | None:
        while node.target is operator.getitem:
            node = node.args[0]  # pyright: ignore
        return OPERATIONS.get(str(node.target))

    # ---- parts ----------------------------------------------------------------------------------------

    def _take_apart(self, nodes: Sequence[fx.Node]) -> None:
        levels: dict[int, list[fx.Node]] = {}
        for node in nodes:
            moves = node.op == "call_function" and not self._is_integer(node) and not self._is_view(node)
            if moves:
                levels.setdefault(self.levels[node], []).append(node)
        wanted = self._wanted(levels)
        for level in sorted(levels):
            if level & 1:
                for node in levels[level]:
                    self._need(node.all_input_nodes)
                    self._by_torch(node)
                continue
            outputs = [n for n in levels[level] if n in wanted]
            if outputs:
                program = _Builder(self, level).program(levels[level], outputs)
                self._need(program.inputs)
                self.parts.append(program)
                self._placed.update(outputs)
        self._need(self.output.all_input_nodes)

    def _wanted(self, levels: Mapping[int, Sequence[fx.Node]]) -> set[fx.Node]:
        """The results that a level hands to others: what they are views of, where they are views."""
        wanted: set[fx.Node] = set()
        for level, nodes in levels.items():
            for node in nodes:
                wanted.update(
                    root
                    for one in node.all_input_nodes
                    for root in self._roots(one)
                    if self.levels[root] != level or level & 1
                )
        wanted.update(root for one in self.output.all_input_nodes for root in self._roots(one))
        return wanted

    def _roots(self, node: fx.Node) -> Iterator[fx.Node]:
        """What a node is computed from that is neither a view nor an integer."""
        if node.op == "call_function" and (self._is_view(node) or self._is_integer(node)):
            for one in node.all_input_nodes:
                yield from self._roots(one)
        else:
            yield node

    def _need(self, nodes: Sequence[fx.Node]) -> None:
        """Have PyTorch make the views and integers that it needs."""
        for node in nodes:
            if node in self._placed or node.op in ("placeholder", "get_attr"):
                continue
            if self._is_view(node) or self._is_integer(node):
                self._need(node.all_input_nodes)
                self._by_torch(node)

    def _by_torch(self, node: fx.Node) -> None:
        if node not in self._placed:
            self._placed.add(node)
            self.parts.append(node)


class _Builder:
    """One program: the steps of a level, and of the views that they need."""

    def __init__(self, whole: Import, level: int):
        self.whole = whole
        self.level = level
        self.inputs: list[fx.Node] = []
        self.steps: list[tuple[fx.Node, Step]] = []
        self.known: dict[fx.Node, Any] = {}
        """What stands for a node: ("input", k), ("step", k), or an integer."""

    def program(self, nodes: Sequence[fx.Node], outputs: list[fx.Node]) -> Program:
        needed = self._needed(nodes, outputs)
        for node in nodes:
            if node in needed:
                self._step(node)
        first = len(self.inputs)
        names = _names(self.inputs)
        number = {("input", k): k for k in range(first)} | {
            ("step", k): first + k for k in range(len(self.steps))
        }
        steps = tuple([_numbered(step, number) for _, step in self.steps])
        results = tuple([(number[self.known[n]], _order(n.meta["val"])) for n in outputs])
        return Program(Graph(self.whole.name, names, steps, results), self.inputs, outputs)

    def _needed(self, nodes: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> set[fx.Node]:
        """The nodes of the level that its outputs depend on."""
        own, needed, rest = set(nodes), set(), list(outputs)
        while rest:
            node = rest.pop()
            if node in own and node not in needed:
                needed.add(node)
                rest += [root for one in node.all_input_nodes for root in self.whole._roots(one)]
        return needed

    def _value(self, node: fx.Node) -> Any:
        """What stands for a node in this program."""
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self._found(node)
        return found

    def _found(self, node: fx.Node) -> Any:
        whole = self.whole
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            return self._computed(value.node.expr)
        if node.op == "call_function" and whole._is_view(node):
            return self._step(node)
        return self._input(node)

    def _input(self, node: fx.Node) -> Any:
        """A value that is an input."""
        if node not in self.known:
            self.inputs.append(node)
            self.known[node] = ("input", len(self.inputs) - 1)
        return self.known[node]

    def _computed(self, expression: Any) -> Any:
        """An integer that is not known yet: an extent of an input, an input, or computed from such."""
        if expression.is_Integer:
            return int(expression)
        found = self.whole.symbols.get(str(expression))
        if found is not None:
            return _Extent(self._value(found[0]), found[1])
        number = self.whole.integers.get(str(expression))
        if number is not None:
            return self._input(number)
        parts = [self._computed(one) for one in expression.args]
        name = _SYMPY.get(type(expression).__name__)
        if name is None or not parts:
            raise UnsupportedError(
                f"an extent is {expression}, which programs for unknown extents do not compute",
                hint="torch.compile(model, backend='nestor', dynamic=False) compiles for each shape",
            )
        made = parts[0]
        for one in parts[1:]:
            made = self._add(None, Step(name, {"self": made, "other": one}, (None,)))
        return made

    def _step(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        several = isinstance(value, tuple | list)
        results = list(value) if several else [value]  # pyright: ignore
        dtypes = tuple([numpy_name(one.dtype) if isinstance(one, torch.Tensor) else None for one in results])
        shapes = tuple([_shape(one) if isinstance(one, torch.Tensor) else None for one in results])
        place = place_of(node)
        if node.target is operator.getitem:
            given = {"self": self._argument(node.args[0]), "index": node.args[1]}
            step = Step("getitem", given, dtypes, False, None, shapes, place)
        else:
            raw = arguments_of(node)
            found = self.whole.rows[node]
            assert found is not None
            arguments = {name: self._argument(one) for name, one in raw.items() if name in found.parameters}
            computes = _computes(found, raw)
            step = Step(str(node.target), arguments, dtypes, several, computes, shapes, place)
        made = self._add(node, step)
        return made

    def _add(self, node: fx.Node | None, step: Step) -> Any:
        self.steps.append((node, step))  # pyright: ignore
        made = ("step", len(self.steps) - 1)
        if node is not None:
            self.known[node] = made
        return made

    def _argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return _wrapped(self._value(value))
        if isinstance(value, tuple | list):
            return tuple([self._argument(one) for one in value])
        if isinstance(value, torch.dtype):
            return np.dtype(numpy_name(value))
        if isinstance(value, torch.SymInt):
            return _wrapped(self._computed(value.node.expr))
        return value


class _Named:
    """A value of the program that is being built, before it has a number."""

    def __init__(self, key: Any):
        self.key = key


class _Extent:
    def __init__(self, key: Any, axis: int):
        self.key = key
        self.axis = axis


_SYMPY = {
    "Add": "operator.add",
    "Mul": "operator.mul",
    "FloorDiv": "operator.floordiv",
    "Mod": "operator.mod",
}


def _extent_name(extent: torch.SymInt) -> str | None:
    """The name of an extent that is a symbol; None for one that is computed from symbols."""
    text = str(extent.node.expr)
    return text if text.isidentifier() else None


def _wrapped(value: Any) -> Any:
    return _Named(value) if isinstance(value, tuple) else value


def _numbered(step: Step, number: Mapping[Any, int]) -> Step:
    def placed(value: Any) -> Any:
        if isinstance(value, _Named):
            return Ref(number[value.key])
        if isinstance(value, _Extent):
            return Extent(number[value.key], value.axis)
        if isinstance(value, tuple) and value in number:
            return Ref(number[value])
        if isinstance(value, tuple):
            return tuple([placed(one) for one in value])
        return value

    given = {name: placed(value) for name, value in step.arguments.items()}
    return Step(step.operation, given, step.dtypes, step.several, step.computes, step.shapes, step.place)


def _names(nodes: Sequence[fx.Node]) -> tuple[str, ...]:
    return tuple([re.sub(r"\W", "_", n.name) for n in nodes])


def _shape(value: torch.Tensor) -> tuple[int | None, ...]:
    return tuple([int(n) if isinstance(n, int) else None for n in value.shape])


def _order(value: Any) -> tuple[int, ...] | None:
    """The order of the axes in memory of a dense result, None for rows. Of extents that are open, the first call says it."""
    if not isinstance(value, torch.Tensor) or value.ndim < 2:
        return None
    shape, strides = [_first(n) for n in value.shape], [_first(n) for n in value.stride()]
    order = sorted(range(value.ndim), key=lambda k: (-strides[k], k))
    step = 1
    for k in reversed(order):
        if shape[k] > 1 and strides[k] != step:
            return None
        step *= shape[k]
    return None if order == list(range(value.ndim)) else tuple(order)


def _first(extent: Any) -> int:
    """An extent in the call that is being captured."""
    return int(extent.node.hint) if isinstance(extent, torch.SymInt) else int(extent)


def arguments_of(node: fx.Node) -> dict[str, Any]:
    """The arguments of a call by the names of the operation's schema; those that are not given are left out."""
    schema = node.target._schema  # pyright: ignore
    given = {a.name: value for a, value in zip(schema.arguments, node.args, strict=False)}
    given.update(node.kwargs)
    return given


def _computes(found: Row, given: Mapping[str, Any]) -> str | None:
    """The dtype in which PyTorch computes an elementwise operation."""
    if found.promotion is None:
        return None
    operands: list[Any] = []
    for name in found.operands:
        value = given.get(name)
        for one in value if isinstance(value, tuple | list) else (value,):
            known = one.meta.get("val") if isinstance(one, fx.Node) else one
            if known is not None:
                operands.append(known)
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND[found.promotion]
    return numpy_name(elementwise_dtypes(*operands, type_promotion_kind=kind)[0])


def _dtypes(value: Any) -> tuple[str, ...]:
    """The dtypes of the tensors in an argument."""
    values = value if isinstance(value, tuple | list) else (value,)
    metas = [one.meta.get("val") for one in values if isinstance(one, fx.Node)]
    return tuple([numpy_name(one.dtype) or "" for one in metas if isinstance(one, torch.Tensor)])


def _tensors(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, tuple | list) else (value,)
    return [one for one in values if isinstance(one, torch.Tensor)]


def _is_random(node: fx.Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def _mutates(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


_INSIDE = re.compile(r"[/\\]torch[/\\](nn|_|functional|utils|autograd|optim)")


def place_of(node: fx.Node) -> SourceLocation | None:
    """The innermost line of the user's that an operation comes from."""
    trace = node.meta.get("stack_trace")
    if not trace:
        return None
    found = _PLACE.findall(trace)
    own = [one for one in found if not _INSIDE.search(one[0])] or found
    return SourceLocation(own[-1][0], int(own[-1][1]), 0) if own else None
