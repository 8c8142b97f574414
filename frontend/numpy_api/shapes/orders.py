"""The memory order that `order=` asks for: of new arrays, and of copies."""

from __future__ import annotations

from typing import Any

from ...interface.errors import ShapeError
from ...values.graph import Graph
from ...values.values import Array, Value
from ..registry import static


def requested(graph: Graph, order: Value | None, default: str = "C") -> str:
    """One of C, F, A and K."""
    request: Any = static(graph, order, "order")
    if request is None:
        return default
    if request not in ("C", "F", "A", "K"):
        raise graph.error(ShapeError, f"order must be one of 'C', 'F', 'A', or 'K' (got {request!r})")
    return request


def lay_out(graph: Graph, array: Value, order: str, source: Value | None = None) -> Value:
    """`array`, which is new, in the order of the request; `source` is what it is like, or a copy of."""
    if not isinstance(array, Array) or graph.island is not None or order == "K":
        return array
    if order == "A":
        order = "F" if isinstance(source, Array) and is_fortran(source) else "C"
    rank = len(array.buffer.extents)
    array.buffer.order = tuple(range(rank))[::-1] if order == "F" and rank > 1 else None
    return array


def is_fortran(array: Array) -> bool:
    """Whether it is in Fortran's order, and not in C's too."""
    from ...values.assemble import fortran_order

    return len(array.axes) > 1 and fortran_order(array) is not None


def repeats(array: Array) -> bool:
    """Whether elements may be one in memory, as those of what np.broadcast_to gives."""
    derived = array.buffer.derived
    if derived is None:
        return False
    source, how, *_ = derived
    if not how.startswith("broadcast"):
        return repeats(source)
    added = len(array.buffer.extents) - len(source.extents)
    shown = {axis.root for axis in array.axes if axis.root is not None and axis.extent.known != 1}
    is_larger = [k < added or not source.extents[k - added].equals(array.buffer.extents[k]) for k in shown]
    return any(is_larger) or repeats(source)


def stays(graph: Graph, array: Value, order: str) -> bool:
    """Whether an array is in an order as it is; among elements none is asked for."""
    if not isinstance(array, Array) or graph.island is not None:
        return True
    if order in ("C", "F") and repeats(array):
        return False
    if order == "C":
        return array.is_row_major
    few = sum(e.known != 1 for e in array.extents) <= 1 or any(e.known == 0 for e in array.extents)
    if order == "F" and array.is_row_major and few:
        return True  # then it is in both
    return order in ("A", "K") or is_fortran(array) or (len(array.axes) < 2 and array.is_row_major)
