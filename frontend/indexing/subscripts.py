"""`value[items]` read."""

from __future__ import annotations

from collections.abc import Sequence

from ..values.contents import as_view, read
from ..values.graph import Graph
from ..values.tensors import as_array
from ..values.values import Static, Value, is_array
from .views import Item, Slice, element, view


def subscript(graph: Graph, value: Value, items: Sequence[Item]) -> Value:
    """`value[items]` read: a scalar where integers index every axis, an array of its own by arrays, else a view."""
    from .advanced import gather
    from .index_arrays import is_advanced

    if is_advanced(items):
        return gather(graph, value, items)
    array = view(graph, as_view(graph, value), items)
    ellipsis = any(isinstance(i, Static) and i.value is Ellipsis for i in items)
    if not array.axes and not ellipsis:
        return element(graph, array)
    if not any(not isinstance(i, Slice) and is_array(i) for i in items):
        return array
    # An array of rank 0 is an integer, but what it selects is a copy.
    return as_array(read(graph, array)) if graph.island is None else graph.island.materialise(array, "t")
