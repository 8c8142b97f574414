"""Arrays joined, taken apart, and with items added or removed: concatenate, stack, split, append, insert, delete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...indexing.subscripts import subscript
from ...indexing.views import Slice, view
from ...interface.errors import DTypeError, IndexRangeError, Respecialise, ShapeError, UnsupportedError
from ...values.assemble import as_piece, concatenated, fortran_order, fresh, joint_dtype, window, with_axis
from ...values.contents import as_view
from ...values.equal_extents import is_open, require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.islands import Island
from ...values.values import Array, Group, Static, Value, describe, extents_of
from ..registry import dtype_of, handles, normal_axis, refuse_out, static
from .rearranging import atleast
from .reshaping import reshape_to

ZERO, NONE = Static(0), Static(None)


def known_extent(graph: Graph, extent: Affine, what: str) -> int:
    """An extent that must be known; an unknown one is compiled for its value."""
    if extent.known is not None:
        return extent.known
    if extent.is_of_extents():
        raise Respecialise(shapes=True, why=f"{what} of unknown extents")
    raise graph.error(UnsupportedError, f"{what} of an array whose extent is computed at run time")


def sequence(graph: Graph, values: Value, what: str) -> list[Value]:
    """The arrays of a tuple or list, or the items of an array."""
    if isinstance(values, Group):
        items = list(values.items)
    elif isinstance(values, Static) and isinstance(values.value, tuple | list):
        items: list[Value] = [Static(v) for v in values.value]
    elif extents_of(values):
        count = known_extent(graph, extents_of(values)[0], what)
        items = [subscript(graph, values, [Static(k)]) for k in range(count)]
    else:
        raise graph.error(DTypeError, f"{what} takes a sequence of arrays, not {describe(values)}")
    if not items:
        text = (
            "need at least one array to stack"
            if "stack" in what
            else "need at least one array to concatenate"
        )
        raise graph.error(ShapeError, text)
    return [_listed(graph, item) for item in items]


def _listed(graph: Graph, item: Value) -> Value:
    """A list among arrays is an array."""
    from ...values.nested import array_of

    if isinstance(item, Group) or (isinstance(item, Static) and isinstance(item.value, tuple | list)):
        return array_of(graph, item)
    return item


def _rank(value: Value) -> int:
    return len(extents_of(value))


@handles(np.concatenate, np.concat)
def concatenate(
    graph: Graph, arrays: Value, axis: Value = ZERO, out: Value | None = None, dtype: Value | None = None
) -> Value:
    refuse_out(graph, out)
    items = sequence(graph, arrays, "np.concatenate")
    if isinstance(axis, Static) and axis.value is None:
        items = [flat(graph, item) for item in items]
        axis = ZERO
    if not _rank(items[0]):
        raise graph.error(ShapeError, "zero-dimensional arrays cannot be concatenated")
    for k, item in enumerate(items):
        if _rank(item) != _rank(items[0]):
            raise graph.error(
                ShapeError,
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{_rank(items[0])} dimension(s) and the array at index {k} has {_rank(item)} dimension(s)",
            )
    position = normal_axis(graph, static(graph, axis, "axis"), _rank(items[0]))
    return concatenated(graph, items, position, dtype_of(graph, dtype))


def flat(graph: Graph, value: Value) -> Value:
    """The elements in row-major order."""
    if _rank(value) == 1:
        return value
    return reshape_to(graph, value, (Affine(-1),), new=True)


@handles(np.stack)
def stack(
    graph: Graph, arrays: Value, axis: Value = ZERO, out: Value | None = None, dtype: Value | None = None
) -> Value:
    refuse_out(graph, out)
    items = sequence(graph, arrays, "np.stack")
    shapes = [extents_of(item) for item in items]
    for shape in shapes[1:]:
        fits = len(shape) == len(shapes[0])
        if not fits or not all(
            require_equal(graph, a, b, "np.stack") for a, b in zip(shape, shapes[0], strict=True)
        ):
            raise graph.error(ShapeError, "all input arrays must have the same shape")
    position = normal_axis(graph, static(graph, axis, "axis"), len(shapes[0]) + 1)
    return stacked(graph, items, position, dtype_of(graph, dtype))


def stacked(graph: Graph, items: Sequence[Value], axis: int, dtype: np.dtype | None = None) -> Array:
    """np.stack of arrays of one shape."""
    if _rank(items[0]):
        return concatenated(graph, [with_axis(as_view(graph, i), axis) for i in items], axis, dtype)
    pieces = [as_piece(graph, item) for item in items]

    def write(island: Island, array: Array) -> None:
        for k, piece in enumerate(pieces):
            island.assign(window(array, 0, Affine(k), Affine(1)), piece)

    return fresh(graph, dtype or joint_dtype(graph, items), (Affine(len(items)),), write)


def _stack_by(graph: Graph, tup: Value, dtype: Value | None, rank: int, axis: int | None, what: str) -> Value:
    items = [atleast(graph, item, rank) for item in sequence(graph, tup, what)]
    along = (0 if _rank(items[0]) == 1 else 1) if axis is None else axis
    return concatenate(graph, Group(tuple(items)), Static(along), None, dtype)


@handles(np.vstack)
def vstack(graph: Graph, tup: Value, dtype: Value | None = None) -> Value:
    return _stack_by(graph, tup, dtype, 2, 0, "np.vstack")


@handles(np.hstack)
def hstack(graph: Graph, tup: Value, dtype: Value | None = None) -> Value:
    return _stack_by(graph, tup, dtype, 1, None, "np.hstack")


@handles(np.dstack)
def dstack(graph: Graph, tup: Value) -> Value:
    return _stack_by(graph, tup, None, 3, 2, "np.dstack")


@handles(np.column_stack)
def column_stack(graph: Graph, tup: Value) -> Value:
    columns: list[Value] = []
    for item in sequence(graph, tup, "np.column_stack"):
        if _rank(item) < 2:
            item = with_axis(as_view(graph, atleast(graph, item, 1)), 1)
        columns.append(item)
    return concatenate(graph, Group(tuple(columns)), Static(1))


def in_order_of(source: Array, result: Array) -> Array:
    """A result that is in Fortran's order if the source is."""
    result.buffer.order = fortran_order(source)
    return result


# ---- taking apart -----------------------------------------------------------------------------------


def _split(graph: Graph, value: Value, sections: Value, axis: int, even: bool) -> Group:
    array = as_view(graph, value)
    request: Any = static(graph, sections, "the sections")
    extent = array.axes[axis].extent
    if isinstance(request, int | np.integer):
        count = int(request)
        if count <= 0:
            raise graph.error(ShapeError, "number sections must be larger than 0.")
        n = known_extent(graph, extent, "a split")
        if even and n % count:
            raise graph.error(ShapeError, "array split does not result in an equal division")
        sizes = [n // count + (k < n % count) for k in range(count)]
        bounds = [0, *np.cumsum(sizes).tolist()]
        ends: list[tuple[Value, Value]] = [(Static(a), Static(b)) for a, b in pairwise(bounds)]
    else:
        cuts = [Static(0), *[Static(int(c)) for c in request], NONE]
        ends = list(pairwise(cuts))
    parts = [view(graph, array, [*[Slice()] * axis, Slice(a, b)]) for a, b in ends]
    return Group(tuple(parts), list)


@handles(np.split)
def split(graph: Graph, ary: Value, indices_or_sections: Value, axis: Value = ZERO) -> Value:
    position = normal_axis(graph, static(graph, axis, "axis"), _rank(ary))
    return _split(graph, ary, indices_or_sections, position, True)


@handles(np.array_split)
def array_split(graph: Graph, ary: Value, indices_or_sections: Value, axis: Value = ZERO) -> Value:
    position = normal_axis(graph, static(graph, axis, "axis"), _rank(ary))
    return _split(graph, ary, indices_or_sections, position, False)


@handles(np.hsplit)
def hsplit(graph: Graph, ary: Value, indices_or_sections: Value) -> Value:
    if not _rank(ary):
        raise graph.error(ShapeError, "hsplit only works on arrays of 1 or more dimensions")
    return _split(graph, ary, indices_or_sections, 0 if _rank(ary) == 1 else 1, True)


@handles(np.vsplit)
def vsplit(graph: Graph, ary: Value, indices_or_sections: Value) -> Value:
    if _rank(ary) < 2:
        raise graph.error(ShapeError, "vsplit only works on arrays of 2 or more dimensions")
    return _split(graph, ary, indices_or_sections, 0, True)


@handles(np.dsplit)
def dsplit(graph: Graph, ary: Value, indices_or_sections: Value) -> Value:
    if _rank(ary) < 3:
        raise graph.error(ShapeError, "dsplit only works on arrays of 3 or more dimensions")
    return _split(graph, ary, indices_or_sections, 2, True)


# ---- items added and removed ------------------------------------------------------------------------


@handles(np.append)
def append(graph: Graph, arr: Value, values: Value, axis: Value | None = None) -> Value:
    pieces = [_listed(graph, v) for v in (arr, values)]
    if static(graph, axis, "axis") is None:
        return concatenated(graph, [flat(graph, atleast(graph, p, 1)) for p in pieces], 0)
    assert axis is not None
    return concatenate(graph, Group(tuple(pieces)), axis)


def _position(graph: Graph, index: int, extent: Affine, axis: int, end: int) -> Affine:
    at = Affine(index) if index >= 0 else extent + index
    inside = graph.assumptions.nonnegative(at, "a position") and graph.assumptions.nonnegative(
        extent - at - end, "a position"
    )
    if not inside and is_open(graph, extent):
        raise graph.error(
            UnsupportedError,
            "a position in an array whose extent is known at run time only is not supported",
            "concatenate slices of it",
        )
    if not inside:
        raise graph.error(
            IndexRangeError, f"index {index} is out of bounds for axis {axis} with size {extent.witness()}"
        )
    return at


@handles(np.delete)
def delete(graph: Graph, arr: Value, obj: Value, axis: Value | None = None) -> Value:
    request: Any = static(graph, axis, "axis")
    array = as_view(graph, flat(graph, arr) if request is None else arr)
    position = 0 if request is None else normal_axis(graph, request, len(array.axes))
    extent = array.axes[position].extent
    what: Any = static(graph, obj, "what is deleted (the shape of the result depends on it)")
    if isinstance(what, int | np.integer) and not isinstance(what, bool):
        at = _position(graph, int(what), extent, position, 1)
        parts = [
            window(array, position, Affine(0), at),
            window(array, position, at + 1, extent - at - 1),
        ]
    else:
        n = known_extent(graph, extent, "np.delete")
        try:
            keep = np.delete(np.arange(n), what)
        except (IndexError, ValueError, TypeError) as error:
            raise graph.error(ShapeError, str(error)) from None
        parts = [window(array, position, Affine(int(k)), Affine(1)) for k in keep]
    nothing = window(array, position, Affine(0), Affine(0))
    kept = [p for p in parts if p.extents[position].known != 0] or [nothing]
    return in_order_of(array, concatenated(graph, kept, position))


@handles(np.insert)
def insert(graph: Graph, arr: Value, obj: Value, values: Value, axis: Value | None = None) -> Value:
    """At one position, known at compile time."""
    request: Any = static(graph, axis, "axis")
    array = as_view(graph, flat(graph, arr) if request is None else arr)
    position = 0 if request is None else normal_axis(graph, request, len(array.axes))
    where: Any = static(graph, obj, "where something is inserted")
    if not isinstance(where, int | np.integer) or isinstance(where, bool):
        raise graph.error(
            UnsupportedError,
            "np.insert at several positions is not supported",
            "insert at one, then the next",
        )
    extent = array.axes[position].extent
    at = _position(graph, int(where), extent, position, 0)
    piece = as_piece(graph, _listed(graph, values))
    if extents_of(piece):
        # Of a scalar position NumPy puts the first axis of the values where they are inserted.
        given = as_view(graph, piece)
        if len(given.axes) < len(array.axes):
            for _ in range(len(array.axes) - len(given.axes)):
                given = with_axis(given, 0)
        moved = list(range(1, len(given.axes)))
        moved.insert(position, 0)
        piece = Array(given.buffer, tuple([given.axes[k] for k in moved]), given.fixed)
    count = extents_of(piece)[position] if extents_of(piece) else Affine(1)
    extents = [x.extent for x in array.axes]
    extents[position] = extent + count

    def write(island: Island, target: Array) -> None:
        parts = [(Affine(0), at, window(array, position, Affine(0), at))]
        parts.append((at + count, extent - at, window(array, position, at, extent - at)))
        for start, size, part in parts:
            if size.known != 0:
                island.assign(window(target, position, start, size), part)
        island.assign(window(target, position, at, count), piece)

    return in_order_of(array, fresh(graph, array.dtype, tuple(extents), write))
