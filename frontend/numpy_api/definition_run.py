"""The run of a definition (`definitions.py`) for one call in a program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ..frame.frame import Frame
from ..indexing.advanced import store_window
from ..indexing.views import Item, view
from ..interface.captured import Captured
from ..interface.errors import UnsupportedError
from ..interface.source import FunctionSource
from ..script.tracing import Symbol, Trace
from ..values.arithmetic import broadcast_extents, index_value, require_static
from ..values.assemble import as_piece, axis_order, fresh
from ..values.graph import Graph
from ..values.islands import Island
from ..values.nested import constant_array
from ..values.tensors import as_array
from ..values.values import Array, Group, Static, Tensor, Value, is_array
from .shapes.reshaping import reshape_to, shape_argument


class _CallSource(FunctionSource):
    """Everything is at the place of the call."""

    graph: Graph

    def place(self, node: ast.AST) -> SourceLocation:
        return self.graph.place


class DefinitionRun(Trace):
    """Like the run of a traced function, for one call, in a program that may loop over elements around it."""

    def __init__(self, graph: Graph, name: str):
        self.name = name
        source = _CallSource(_nothing, ast.FunctionDef("definition", None, [], []), "")  # pyright: ignore
        object.__setattr__(source, "graph", graph)
        self.graph = graph
        self.frame = Frame(graph, source, Captured())
        self.active = True
        self.wish = None
        self.refusal = None
        self._lists = []

    def object(self, value: Value) -> Any:
        if isinstance(value, Static):
            return value.value
        if isinstance(value, Group):
            return value.built([self.object(item) for item in value.items])
        if isinstance(value, Tensor) and is_array(value):
            value = as_array(value)
        return Symbol(self, value)

    def value(self, obj: Any) -> Value:
        if isinstance(obj, np.ndarray):
            if self.graph.island is None:
                return constant_array(self.graph, obj)
            with self.graph.at_function_level():
                return constant_array(self.graph, obj)
        if isinstance(obj, Symbol) and obj._trace is not self:
            return obj._value  # of a definition around this one
        return super().value(obj)

    def locate(self) -> ast.Call:
        return ast.Call(ast.Name("definition", ast.Load()), [], [])

    def error(
        self, message: str, hint: str | None = None, kind: type[NestorError] = UnsupportedError
    ) -> NestorError:
        return self.graph.error(kind, message, hint)

    def reshaped(self, symbol: Symbol, shape: Any) -> Symbol:
        """The elements of an array in another shape, as an array of its own."""
        wanted = self.value(tuple(shape) if isinstance(shape, tuple | list) else (shape,))
        extents = shape_argument(self.graph, [wanted])
        return Symbol(self, reshape_to(self.graph, self.value(symbol), extents, new=True))

    def assembled(
        self, shape: Any, dtype: np.dtype, parts: Sequence[tuple[Any, Callable[[], Any]]], like: Any
    ) -> Symbol:
        """A new array written part by part, each computed where it is written; in the memory order of `like`."""
        extents = shape_argument(self.graph, [self.value(tuple(shape))])

        def write(island: Island, target: Array) -> None:
            for place, part in parts:
                value = self.value(part())
                island.assign(view(self.graph, target, self.items(place)), as_piece(self.graph, value))

        result = fresh(self.graph, dtype, extents, write)
        source = self.value(like) if like is not None else None
        if isinstance(source, Array) and self.graph.island is None:
            result.buffer.order = axis_order(source)
        return Symbol(self, result)

    def broadcast_shape(self, shapes: Sequence[Any]) -> tuple[Any, ...]:
        """The shape of arrays of these shapes broadcast together."""
        extents = [shape_argument(self.graph, [self.value(tuple(shape))]) for shape in shapes]
        return tuple([self.object(index_value(e)) for e in broadcast_extents(self.graph, extents)])

    def static(self, value: Value, what: str) -> Any:
        return require_static(self.graph, value, what)

    def _store(self, node: ast.Call, owner: Array, items: list[Item], value: Value) -> None:
        store_window(self.graph, view(self.graph, owner, items), value)


def _nothing() -> None:
    """The function of a source without one."""
