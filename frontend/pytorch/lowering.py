"""Graphs of ATen operations compiled: each step is its row of the table, run on arrays that record what is done to them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..frame.frame import Frame
from ..numpy_api.definition_run import DefinitionRun
from ..numpy_api.definitions import running
from ..numpy_api.symbols import Symbol
from ..script.python_calls import PYTHON
from ..values.graph import Graph as Values
from ..values.values import Group, Static, Value, extents_of
from .graph import Extent, Graph, Ref, Step
from .graph_call import graph_call
from .operations import OPERATIONS
from .table import Row


class GraphRun(DefinitionRun):
    """The run of a graph on symbols."""

    def __init__(self, values: Values, graph: Graph):
        super().__init__(values, graph.__name__)
        self.steps = graph
        self.known: list[Any] = []

    def run(self, arguments: list[Value]) -> Value:
        """The results of the graph for values, a tuple."""
        self.known = [self.object(value) for value in arguments]
        table = OPERATIONS
        last = self._last_uses()
        with running(self):
            for number, step in enumerate(self.steps.steps):
                if step.place is not None:
                    self.graph.locate(step.place)
                self.known.append(self._step(table, step))
                for done in last.get(number, ()):
                    self.known[done] = None
            results = [self._in_order(self.known[k], order) for k, order in self.steps.outputs]
        return Group(tuple([self.value(one) for one in results]), tuple)

    def _last_uses(self) -> dict[int, list[int]]:
        """Which values no later step and no output needs, by the step that needs them last."""
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps.steps):
            for value in _values(tuple(step.arguments.values())):
                last[value] = number
        kept = {k for k, _ in self.steps.outputs}
        found: dict[int, list[int]] = {}
        for value, number in last.items():
            if value not in kept:
                found.setdefault(number, []).append(value)
        return found

    def _step(self, table: dict[str, Row], step: Step) -> Any:
        given = {name: self._argument(value) for name, value in step.arguments.items()}
        if step.operation == "getitem":
            return given["self"][given["index"]]
        found = table[step.operation]
        if step.computes is not None:
            dtype = np.dtype(step.computes)
            for name in found.operands:
                if name in given:
                    given[name] = cast(given[name], dtype)
        made = found.function(**given)
        results = made if step.several else (made,)
        checked = tuple(
            [self._checked(step, k, one) for k, one in enumerate(results)],
        )
        return checked if step.several else checked[0]

    def _checked(self, step: Step, k: int, made: Any) -> Any:
        """A result in PyTorch's dtype. No row may give one of another shape."""
        wanted = step.dtypes[k] if k < len(step.dtypes) else None
        if wanted is None or made is None:
            return made
        if not isinstance(made, Symbol):
            made = self.call(np.asarray, (made, np.dtype(wanted)), {})
        made = cast(made, np.dtype(wanted))
        shape = step.shapes[k] if k < len(step.shapes) else None
        if shape is not None:
            extents = extents_of(made._value)
            agree = len(extents) == len(shape) and all(
                e.known is None or n is None or e.known == n for e, n in zip(extents, shape, strict=True)
            )
            if not agree:
                has = [e.known for e in extents]
                raise AssertionError(
                    f"{step.operation} is of shape {list(shape)} in PyTorch, and {has} in the table of operations"
                )
        return made

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.known[value.value]
        if isinstance(value, Extent):
            return self.known[value.value].shape[value.axis]
        if isinstance(value, tuple):
            return tuple([self._argument(one) for one in value])
        return value

    def _in_order(self, made: Any, order: tuple[int, ...] | None) -> Any:
        """A result whose axes lie in memory in this order."""
        if not isinstance(made, Symbol) or not extents_of(made._value):
            return made
        if order is None:
            return made.copy()
        back = tuple([order.index(k) for k in range(len(order))])
        return np.transpose(np.transpose(made, order).copy(), back)


def cast(value: Any, dtype: np.dtype) -> Any:
    """A value in a dtype: numbers of Python become numbers of it."""
    if isinstance(value, tuple):
        return tuple([cast(one, dtype) for one in value])
    if isinstance(value, Symbol):
        return value if _dtype_of(value) == dtype else value.astype(dtype)
    if isinstance(value, bool | int | float | complex):
        return np.asarray(value).astype(dtype)[()]
    return value


def _dtype_of(symbol: Symbol) -> Any:
    return getattr(symbol._value, "dtype", None)


def _values(arguments: Any) -> list[int]:
    """The numbers of the values among arguments."""
    if isinstance(arguments, Ref | Extent):
        return [arguments.value]
    if isinstance(arguments, tuple):
        return [k for one in arguments for k in _values(one)]
    return []


def _run(frame: Frame, node: ast.Call, graph: Value, *args: Value) -> Value:
    """What a call of `graph_call` is worth."""
    assert isinstance(graph, Static)
    return GraphRun(frame.graph, graph.raw).run(list(args))


PYTHON[graph_call] = _run
