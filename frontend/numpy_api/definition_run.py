"""The run of a definition (`definitions.py`) for one call in a program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import SourceLocation
from ..frame.frame import Frame
from ..indexing.advanced import scatter
from ..indexing.index_arrays import is_advanced
from ..indexing.stores import store_window
from ..indexing.views import Item, view
from ..interface.captured import Captured
from ..interface.source import FunctionSource
from ..values.arithmetic import broadcast_extents, index_value
from ..values.assemble import as_piece, axis_order, fresh
from ..values.graph import Graph
from ..values.islands import Island
from ..values.nested import constant_array
from ..values.values import Array, Value
from .shapes.reshaping import reshape_to, shape_argument
from .symbols import Recording, Symbol


class _CallSource(FunctionSource):
    """Everything is at the place of the call."""

    graph: Graph

    def place(self, node: ast.AST) -> SourceLocation:
        return self.graph.place


class DefinitionRun(Recording):
    """Like the run of a traced function, for one call, in a program that may loop over elements around it."""

    def __init__(self, graph: Graph, name: str):
        self.name = name
        source = _CallSource(_nothing, ast.FunctionDef("definition", None, [], []), "")  # pyright: ignore
        object.__setattr__(source, "graph", graph)
        super().__init__(Frame(graph, source, Captured()))

    def value(self, obj: Any) -> Value:
        if isinstance(obj, np.ndarray):
            return constant_array(self.graph, obj)
        if isinstance(obj, Symbol) and obj._trace is not self:
            return obj._value  # of a definition around this one
        return super().value(obj)

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

    def _store(self, node: ast.Call, owner: Array, items: list[Item], value: Value) -> None:
        if is_advanced(items):
            return scatter(self.graph, owner, items, value)
        store_window(self.graph, view(self.graph, owner, items), value)


def _nothing() -> None:
    """The function of a source without one."""
