"""`x.flat`: the elements of an array one after the other, in row-major order, whatever its memory order is.

x.flat[k]           an element
x.flat[1:3]         a copy, which NumPy makes of slices and by index arrays
x.flat[...] = v     writes to `x`
"""

from __future__ import annotations

from collections.abc import Sequence

from ...indexing.index_arrays import is_advanced
from ...indexing.subscripts import subscript
from ...indexing.views import Item, Slice
from ...interface.errors import UnsupportedError
from ...values.contents import as_tensor, as_view, read
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.indices import integer_of
from ...values.reshaped import can_be_through, through_view
from ...values.tensors import as_array
from ...values.tensors import reshape as reshape_tensor
from ...values.values import Array, Method, Value, describe
from .reshaping import inferred, unravelled


def flat_view(graph: Graph, flat: Value) -> Array:
    """The elements as an array of rank 1, which writes to the array."""
    assert isinstance(flat, Method)
    array = as_view(graph, flat.receiver)
    if len(array.axes) == 1:
        return array
    if graph.island is not None:
        raise graph.error(
            UnsupportedError,
            "all of x.flat inside loops is not supported",
            "take x.ravel() before the loop, or index x",
        )
    if not can_be_through(array):
        raise graph.error(
            UnsupportedError,
            f"x.flat of {describe(array)} that may share memory with another one is not supported",
            "index the array itself",
        )
    size = inferred(graph, array.extents, (Affine(-1),))
    return through_view(array, reshape_tensor(graph, read(graph, array), size))


def flat_item(graph: Graph, flat: Value, items: Sequence[Item]) -> Value:
    """`x.flat[items]`."""
    assert isinstance(flat, Method)
    array, used = place(graph, flat, items)
    found = subscript(graph, array, used)
    is_part = isinstance(found, Array) and not is_advanced(items) and bool(found.axes)
    return as_array(as_tensor(graph, found)) if is_part and graph.island is None else found


def place(graph: Graph, flat: Value, items: Sequence[Item]) -> tuple[Array, Sequence[Item]]:
    """The array that is indexed where `x.flat[items]` is, and by what: in loops the element itself, by nothing more."""
    assert isinstance(flat, Method)
    array = as_view(graph, flat.receiver)
    island = graph.island
    if island is None or len(array.axes) == 1:
        return flat_view(graph, flat), items
    index = integer_of(graph, items[0]) if len(items) == 1 and not isinstance(items[0], Slice) else None
    if index is None:
        return flat_view(graph, flat), items
    (size,) = inferred(graph, array.extents, (Affine(-1),))
    at = unravelled(graph, [island.checked_index(index, size, array.buffer.name, 0)], (size,), array.extents)
    fixed = [
        (axis.root, axis.offset + k * axis.stride)
        for axis, k in zip(array.axes, at, strict=True)
        if axis.root is not None
    ]
    return Array(array.buffer, (), (*array.fixed, *fixed)), ()
