"""Where elements are: np.nonzero and what NumPy makes of it. How many there are, only the run knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...indexing.advanced import gathered
from ...indexing.index_arrays import Places
from ...indexing.masks import positions_of_true, true_elements
from ...indexing.views import Slice, transposed, view
from ...interface.errors import ShapeError
from ...values.contents import as_view
from ...values.graph import Graph
from ...values.selection import indices_of_true, table_of_true
from ...values.values import Array, Static, Value, extents_of, is_number
from ..registry import handles, normal_axis, static
from ..shapes.joining import flat
from ..shapes.rearranging import atleast

ZERO, NONE = Static(0), Static(None)


@handles(np.nonzero, method="nonzero")
def nonzero(graph: Graph, a: Value) -> Value:
    return positions_of_true(graph, atleast(graph, a, 0))


@handles(np.flatnonzero)
def flatnonzero(graph: Graph, a: Value) -> Value:
    return indices_of_true(graph, true_elements(graph, flat(graph, atleast(graph, a, 1))))[0]


@handles(np.argwhere)
def argwhere(graph: Graph, a: Value) -> Value:
    """The rows of a table with a column for each axis in memory, as NumPy lays it out."""
    rank = len(extents_of(atleast(graph, a, 0)))
    table = transposed(table_of_true(graph, true_elements(graph, atleast(graph, a, 1)), across=True), (1, 0))
    return table if rank else view(graph, table, [Slice(), Slice(None, ZERO)])


def taken(graph: Graph, array: Array, indices: Array, axis: int) -> Value:
    """The parts of an array at indices along an axis, checked."""
    kept = tuple([k for k in range(len(array.axes)) if k != axis])
    result = gathered(graph, Places(array, (axis,), (indices,), kept, axis, indices.extents, (None,)))
    if isinstance(result, Array):
        result.buffer.order = None  # unlike a subscript, NumPy's take makes an array in rows
    return result


@handles(np.compress)
def compress(graph: Graph, condition: Value, a: Value, axis: Value = NONE, out: Value | None = None) -> Value:
    condition = condition if is_number(condition) else atleast(graph, condition, 1)
    if len(extents_of(condition)) != 1:
        raise graph.error(ShapeError, "condition must be a 1-d array")
    a = atleast(graph, a, 1)
    request: Any = static(graph, axis, "axis")
    if request is None:
        a, position = flat(graph, a), 0
    else:
        position = normal_axis(graph, request, len(extents_of(a)))
    return taken(
        graph, as_view(graph, a), indices_of_true(graph, true_elements(graph, condition))[0], position
    )


@handles(method="compress")
def compress_method(
    graph: Graph, a: Value, condition: Value, axis: Value = NONE, out: Value | None = None
) -> Value:
    return compress(graph, condition, a, axis, out)


@handles(np.extract)
def extract(graph: Graph, condition: Value, arr: Value) -> Value:
    elements = as_view(graph, flat(graph, atleast(graph, arr, 1)))
    condition = flat(graph, atleast(graph, condition, 1))
    return taken(graph, elements, indices_of_true(graph, true_elements(graph, condition))[0], 0)
