"""`value[items]` read."""

from __future__ import annotations

from collections.abc import Sequence

from ..values.contents import as_view
from ..values.graph import Graph
from ..values.values import Static, Value
from .views import Item, element, view


def subscript(graph: Graph, value: Value, items: Sequence[Item]) -> Value:
    """`value[items]` read: a scalar where integers index every axis, an array of its own by arrays, else a view."""
    from .advanced import gather
    from .index_arrays import is_advanced

    if is_advanced(items):
        return gather(graph, value, items)
    array = view(graph, as_view(graph, value), items)
    ellipsis = any(isinstance(i, Static) and i.value is Ellipsis for i in items)
    return array if array.axes or ellipsis else element(graph, array)
