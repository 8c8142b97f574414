"""Grids and diagonals: meshgrid, ix_, diag, diagonal, trace, tril, triu, diff, ediff1d."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...indexing.views import Slice, transposed, view
from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import apply, copy
from ...values.assemble import as_piece, axis_order, concatenated, dtype_of_value, fresh, generated
from ...values.contents import as_view
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.islands import Island
from ...values.numbers import number_kind
from ...values.tensors import normal_order
from ...values.values import Array, Group, Static, Value, extents_of, is_number
from ..elements.selection import where
from ..registry import handles, normal_axis, refuse_out, static
from ..statistics.reductions import sum_
from .creation import diagonal_mask
from .joining import flat
from .rearranging import atleast, broadcast_arrays

ZERO, ONE, MINUS_ONE, FALSE, TRUE, XY = (Static(v) for v in (0, 1, -1, False, True, "xy"))


@handles(np.meshgrid)
def meshgrid(
    graph: Graph, *xi: Value, copy: Value = TRUE, sparse: Value = FALSE, indexing: Value = XY
) -> Value:
    way = static(graph, indexing, "indexing")
    if way not in ("xy", "ij"):
        raise graph.error(ShapeError, "Valid values for `indexing` are 'xy' and 'ij'.")
    if static(graph, copy, "copy") is not True:
        raise graph.error(UnsupportedError, "np.meshgrid with copy=False is not supported", "leave copy out")
    arrays = [as_view(graph, flat(graph, atleast(graph, x, 1))) for x in xi]
    parts = [
        view(graph, a, [Slice() if k == j else Static(None) for j in range(len(arrays))])
        for k, a in enumerate(arrays)
    ]
    if way == "xy" and len(parts) > 1:
        swap = [1, 0, *range(2, len(parts))]
        parts = [transposed(p, swap) for p in parts]
    if not static(graph, sparse, "sparse"):
        spread = broadcast_arrays(graph, *parts)
        assert isinstance(spread, Group)
        parts = list(spread.items)
    return Group(tuple([new_array(graph, p) for p in parts]))


def new_array(graph: Graph, value: Value) -> Value:
    """A copy, row-major."""
    result = copy(graph, value, dtype_of_value(graph, value))
    if isinstance(result, Array):
        result.buffer.order = None
    return result


@handles(np.ix_)
def ix_(graph: Graph, *args: Value) -> Value:
    parts: list[Value] = []
    for k, value in enumerate(args):
        value = value if is_number(value) else atleast(graph, value, 1)
        if len(extents_of(value)) != 1:
            raise graph.error(ShapeError, "Cross index must be 1 dimensional")
        if number_kind(graph, value) == np.dtype(np.bool_):
            raise graph.error(
                UnsupportedError,
                "np.ix_ of a mask is not supported: the shape of the result depends on its elements",
                "use the positions, computed outside the compiled function",
            )
        items = [Slice() if k == j else Static(None) for j in range(len(args))]
        parts.append(view(graph, as_view(graph, value), items))
    return Group(tuple(parts))


# ---- diagonals --------------------------------------------------------------------------------------


def _length(graph: Graph, rows: Affine, columns: Affine, offset: int) -> Affine:
    """How many elements the diagonal has: min(rows + min(offset, 0), columns - max(offset, 0)), not below 0."""
    a, b = rows + min(offset, 0), columns - max(offset, 0)
    if a.known is not None and b.known is not None:
        return Affine(max(0, min(a.known, b.known)))
    if a.equals(b) and graph.assumptions.nonnegative(a - 2, "a diagonal of two or more"):
        return a
    raise Respecialise(shapes=True, why="a diagonal of unknown extents")


def _diagonal(graph: Graph, array: Array, offset: int, first: int, second: int) -> Value:
    """The diagonal of two axes, which becomes the last one."""
    rank = len(array.axes)
    if rank < 2:
        raise graph.error(ShapeError, "diag requires an array of at least two dimensions")
    if first == second:
        raise graph.error(ShapeError, "axis1 and axis2 cannot be the same")
    count = _length(graph, array.extents[first], array.extents[second], offset)
    others = [k for k in range(rank) if k not in (first, second)]
    extents = (*[array.extents[k] for k in others], count)

    def at(island: Island, index: Sequence[Affine]):
        where_: list[Affine] = [Affine(0)] * rank
        for k, i in zip(others, index, strict=False):
            where_[k] = i
        where_[first] = index[-1] + max(-offset, 0)
        where_[second] = index[-1] + max(offset, 0)
        return island.load(array, where_)

    result = generated(graph, array.dtype, extents, at, [array])
    if isinstance(result, Array):
        buffer = result.buffer
        buffer.read_only = True
        buffer.frozen = "a diagonal"
        buffer.derived = (array, "diagonal", (offset, first, second))
        # In memory the diagonal is where the outer one of its two axes was.
        places = list(axis_order(array) or range(rank))
        outer = min((first, second), key=places.index)
        order = [len(others) if k == outer else others.index(k) for k in places if k in (*others, outer)]
        buffer.order = normal_order(order)
        if array.buffer.value is not None:
            buffer.origin = array.buffer.origin or (array.buffer, array.buffer.age)
    return result


@handles(np.diagonal, method="diagonal")
def diagonal(graph: Graph, a: Value, offset: Value = ZERO, axis1: Value = ZERO, axis2: Value = ONE) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    first, second = [normal_axis(graph, static(graph, x, "axis"), max(rank, 2)) for x in (axis1, axis2)]
    return _diagonal(graph, array, int(static(graph, offset, "the diagonal")), first, second)


@handles(np.diag)
def diag(graph: Graph, v: Value, k: Value = ZERO) -> Value:
    offset = int(static(graph, k, "the diagonal"))
    array = as_view(graph, atleast(graph, v, 0))
    if len(array.axes) == 2:
        return _diagonal(graph, array, offset, 0, 1)
    if len(array.axes) != 1:
        raise graph.error(ShapeError, "Input must be 1- or 2-d.")
    return _on_diagonal(graph, array, offset)


@handles(np.diagflat)
def diagflat(graph: Graph, v: Value, k: Value = ZERO) -> Value:
    array = as_view(graph, flat(graph, atleast(graph, v, 1)))
    return _on_diagonal(graph, array, int(static(graph, k, "the diagonal")))


def _on_diagonal(graph: Graph, array: Array, offset: int) -> Value:
    """A matrix of zeros with a vector on one diagonal."""
    n = array.extents[0] + abs(offset)

    def write(island: Island, target: Array) -> None:
        island.assign(target, Static(0))
        if array.extents[0].known == 0:
            return
        island.for_each(
            array.extents,
            lambda index: island.store(
                target,
                [index[0] + max(-offset, 0), index[0] + max(offset, 0)],
                island.load(array, index),
            ),
        )

    return fresh(graph, array.dtype, (n, n), write)


@handles(np.trace, method="trace")
def trace(
    graph: Graph,
    a: Value,
    offset: Value = ZERO,
    axis1: Value = ZERO,
    axis2: Value = ONE,
    dtype: Value | None = None,
    out: Value | None = None,
) -> Value:
    refuse_out(graph, out)
    return sum_(graph, diagonal(graph, a, offset, axis1, axis2), MINUS_ONE, dtype)


@handles(np.tril)
def tril(graph: Graph, m: Value, k: Value = ZERO) -> Value:
    return _triangle(graph, m, k, True)


@handles(np.triu)
def triu(graph: Graph, m: Value, k: Value = ZERO) -> Value:
    return _triangle(graph, m, Static(int(static(graph, k, "the diagonal")) - 1), False)


def _triangle(graph: Graph, m: Value, k: Value, lower: bool) -> Value:
    if is_number(m) and not extents_of(m):
        raise graph.error(DTypeError, "a triangle of an array of rank 0 is not defined")
    array = as_view(graph, atleast(graph, m, 1))
    columns = array.extents[-1]
    rows = array.extents[-2] if len(array.extents) > 1 else columns
    mask = diagonal_mask(graph, rows, columns, k, np.less_equal)
    zero = Static(array.dtype.type(0))
    result = where(graph, mask, array, zero) if lower else where(graph, mask, zero, array)
    return result


# ---- differences ------------------------------------------------------------------------------------


@handles(np.diff)
def diff(
    graph: Graph,
    a: Value,
    n: Value = ONE,
    axis: Value = MINUS_ONE,
    prepend: Value | None = None,
    append: Value | None = None,
) -> Value:
    times = static(graph, n, "the number of differences")
    if not isinstance(times, int | np.integer):
        raise graph.error(DTypeError, f"{times!r} cannot be interpreted as an integer")
    if times < 0:
        raise graph.error(ShapeError, f"order must be non-negative but got {times}")
    if times == 0:
        return a
    if not extents_of(a):
        raise graph.error(ShapeError, "diff requires input that is at least one dimensional")
    array = as_view(graph, a)
    position = normal_axis(graph, static(graph, axis, "axis"), len(array.axes))
    array = _with_ends(graph, array, position, prepend, append)
    for _ in range(times):
        extent = array.axes[position].extent
        if extent.known == 0:
            break
        before = [Slice()] * position
        later = view(graph, array, [*before, Slice(ONE)])
        earlier = view(graph, array, [*before, Slice(None, MINUS_ONE)])
        boolean = array.dtype == np.dtype(np.bool_)
        array = as_view(graph, apply(graph, np.not_equal if boolean else np.subtract, later, earlier))
    return array


def _with_ends(graph: Graph, array: Array, axis: int, prepend: Value | None, append: Value | None) -> Array:
    ends: list[Value] = []
    for value in (prepend, append):
        if value is None:
            continue
        if extents_of(value):
            ends.append(as_view(graph, value))
            continue
        shape = [x.extent for x in array.axes]
        shape[axis] = Affine(1)
        piece = as_piece(graph, value)
        dtype = dtype_of_value(graph, piece)
        ends.append(fresh(graph, dtype, tuple(shape), lambda i, t, p=piece: i.assign(t, p)))
    if not ends:
        return array
    parts = [*ends[: prepend is not None], array, *ends[prepend is not None :]]
    return concatenated(graph, parts, axis)


@handles(np.ediff1d)
def ediff1d(graph: Graph, ary: Value, to_end: Value | None = None, to_begin: Value | None = None) -> Value:
    array = as_view(graph, flat(graph, atleast(graph, ary, 1)))
    if array.dtype == np.dtype(np.bool_):
        raise graph.error(DTypeError, "numpy boolean subtract, the `-` operator, is not supported")
    middle = diff(graph, array)
    parts = [middle]
    for value, first in ((to_begin, True), (to_end, False)):
        if value is None or (isinstance(value, Static) and value.value is None):
            continue
        piece = as_view(graph, flat(graph, atleast(graph, value, 1)))
        if not np.can_cast(piece.dtype, array.dtype, "same_kind"):
            raise graph.error(
                DTypeError, f"dtype of `to_{'begin' if first else 'end'}` must be compatible with input `ary`"
            )
        parts = [piece, *parts] if first else [*parts, piece]
    return concatenated(graph, parts, 0, array.dtype) if len(parts) > 1 else middle
