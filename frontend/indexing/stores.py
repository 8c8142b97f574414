"""Stores to a window of an array, and to all of it."""

from __future__ import annotations

from ..values.arithmetic import convert
from ..values.graph import Graph
from ..values.islands import check_assignable, in_island, open_island, require_real
from ..values.names import ir_name
from ..values.tensors import as_readable, broadcast
from ..values.values import Array, Value, extents_of
from ..values.writes import check_writable


def overwrite(graph: Graph, array: Array, value: Value) -> None:
    """`array[...] = value` for all of an array: its contents become a new tensor."""
    check_writable(graph, array.buffer)
    require_real(graph, array.dtype, value)
    check_assignable(graph, array.extents, extents_of(value))
    if array.buffer.shared is not None or array.buffer.is_callers:
        # Another argument is in the same memory, or a later error ends the call: what is written must show, in order.
        with open_island(graph) as island:
            return island.assign(array, as_readable(value))
    if isinstance(value, Array) and value.axes:
        # An array's contents are copied at once: later writes to either must not show in the other.
        with open_island(graph) as island:
            return island.assign(array, value)
    tensor = broadcast(graph, convert(graph, value, array.dtype), array.extents)
    buffer = array.buffer
    if tensor.ssa is buffer.value:
        return
    graph.update(buffer, tensor.ssa)
    if tensor.ssa.name_hint is None:
        tensor.ssa.name_hint = ir_name(buffer.name) or None


def store_window(graph: Graph, target: Array, value: Value) -> None:
    """`target[...] = value`."""
    value = as_readable(value)
    in_island(graph, lambda island: island.assign(target, value))
