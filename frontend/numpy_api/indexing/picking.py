"""Elements picked by other arrays: take, take_along_axis, put_along_axis, putmask, copyto, select, choose; and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...indexing.advanced import gather, scatter_along
from ...indexing.index_arrays import as_place, check_indices, constant_table, wrapped_indices
from ...indexing.stores import store_window
from ...indexing.subscripts import subscript
from ...indexing.views import Slice
from ...interface.errors import DTypeError, IndexRangeError, ShapeError, UnsupportedError
from ...values.arithmetic import affine_of, apply, broadcast_extents, copy, emit, index_value
from ...values.assemble import INT, dtype_of_value, fresh
from ...values.checks import check
from ...values.contents import as_view
from ...values.equal_extents import require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.islands import Island
from ...values.numbers import number_kind
from ...values.promotion import result_dtype
from ...values.tensors import BOOL
from ...values.values import Array, Extents, Group, Static, Value, describe, extents_of
from ...values.writes import check_writable
from ..elements.selection import cut
from ..registry import handles, normal_axis, refuse_out, static
from ..shapes.joining import flat, sequence
from ..shapes.rearranging import atleast
from ..statistics.reductions import all_

ZERO, RAISE, MINUS_ONE, SAME_KIND = Static(0), Static("raise"), Static(-1), Static("same_kind")


def _mode(graph: Graph, mode: Value) -> str:
    request = static(graph, mode, "mode")
    if request not in ("raise", "wrap", "clip"):
        raise graph.error(ShapeError, f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {request!r})")
    return request


def _in_mode(graph: Graph, indices: Value, extent: Affine, mode: str) -> Value:
    """Indices brought into their axis where the mode asks for it."""
    if mode == "raise":
        return indices
    end = index_value(extent)
    if mode == "wrap":
        return apply(graph, np.remainder, copy(graph, indices, INT), _number(graph, end))
    low = apply(graph, np.maximum, copy(graph, indices, INT), Static(np.int64(0)))
    return apply(graph, np.minimum, low, _number(graph, index_value(extent - 1)))


def _number(graph: Graph, value: Value) -> Value:
    return Static(np.int64(value.value)) if isinstance(value, Static) else copy(graph, value, INT)


def _index(graph: Graph, indices: Value) -> Value:
    """Indices as an integer or an array of integers."""
    if isinstance(indices, Group) or (
        isinstance(indices, Static) and isinstance(indices.value, tuple | list)
    ):
        from ...values.nested import array_of

        indices = array_of(graph, indices)
        if indices.extents[0].known == 0:
            indices = as_view(graph, copy(graph, indices, INT))
    if not extents_of(indices) and affine_of(indices) is not None:
        return indices
    kind = number_kind(graph, indices)
    if kind is not int and np.dtype(kind).kind not in "iub":  # pyright: ignore
        raise graph.error(
            DTypeError, f"Cannot cast array data from {kind!r} to dtype('int64') according to the rule 'safe'"
        )
    return indices if kind is int or np.dtype(kind).kind != "b" else copy(graph, indices, INT)  # pyright: ignore


@handles(np.take, method="take")
def take(
    graph: Graph,
    a: Value,
    indices: Value,
    axis: Value | None = None,
    out: Value | None = None,
    mode: Value = RAISE,
) -> Value:
    refuse_out(graph, out)
    request: Any = static(graph, axis, "axis")
    array = as_view(graph, flat(graph, atleast(graph, a, 1)) if request is None else a)
    position = 0 if request is None else normal_axis(graph, request, len(array.axes))
    extent = array.extents[position]
    given = _in_mode(graph, _index(graph, indices), extent, _mode(graph, mode))
    if not extents_of(given):
        picked = subscript(graph, array, [*[Slice()] * position, given])
        if not isinstance(picked, Array):
            return picked
        result = copy(graph, picked, array.dtype)
    else:
        result = gather(graph, array, [*[Slice()] * position, given])
    if isinstance(result, Array):
        result.buffer.order = None
    return result


def _along(graph: Graph, array: Array, indices: Value, axis: int) -> tuple[Array, Extents]:
    """The indices of take_along_axis, and the shape of its result."""
    index = as_view(graph, indices)
    if index.dtype.kind not in "iu":
        raise graph.error(IndexRangeError, "`indices` must be an integer array")
    if len(index.axes) != len(array.axes):
        raise graph.error(ShapeError, "`indices` and `arr` must have the same number of dimensions")
    one = [x.extent if k != axis else Affine(1) for k, x in enumerate(array.axes)]
    return index, broadcast_extents(graph, [tuple(one), index.extents])


@handles(np.take_along_axis)
def take_along_axis(graph: Graph, arr: Value, indices: Value, axis: Value = MINUS_ONE) -> Value:
    request: Any = static(graph, axis, "axis")
    array = as_view(graph, flat(graph, arr) if request is None else arr)
    position = 0 if request is None else normal_axis(graph, request, len(array.axes))
    index, extents = _along(graph, array, indices, position)
    table = constant_table(graph, index)
    extent = array.extents[position]

    def write(island: Island, target: Array) -> None:
        check_indices(island, index, extent, array.buffer.name, position, table)
        wrapped = wrapped_indices(graph, index, extent, table)
        island.for_each(
            extents,
            lambda at: island.store(
                target, at, island.load(array, _moved(island, wrapped, array, position, at))
            ),
        )

    return fresh(graph, array.dtype, extents, write)


def _moved(island: Island, values: Value, array: Array, axis: int, at: Sequence[Affine]) -> list[Affine]:
    """An index with that of `axis` replaced by what `values` has there."""
    place = [Affine(0) if x.extent.known == 1 else i for x, i in zip(array.axes, at, strict=True)]
    place[axis] = as_place(island, values, at, array.extents[axis])
    return place


@handles(np.put_along_axis)
def put_along_axis(graph: Graph, arr: Value, indices: Value, values: Value, axis: Value) -> Value:
    """In place, in the order of the indices."""

    array = _writable(graph, arr, "np.put_along_axis")
    position = normal_axis(graph, static(graph, axis, "axis"), len(array.axes))
    index, extents = _along(graph, array, indices, position)
    scatter_along(graph, array, index, position, extents, values, _moved)
    return Static(None)


def _writable(graph: Graph, value: Value, what: str) -> Array:
    if not isinstance(value, Array):
        raise graph.error(DTypeError, f"{what} needs an array, not {describe(value)}")
    check_writable(graph, value.buffer)
    return value


@handles(np.putmask)
def putmask(graph: Graph, a: Value, mask: Value, values: Value) -> Value:
    array = _writable(graph, a, "np.putmask")
    if extents_of(values) and not _same_shape(graph, extents_of(values), array.extents):
        raise graph.error(
            UnsupportedError,
            "np.putmask with values that repeat is not supported",
            "give a number, or one value each",
        )
    return copyto(graph, array, values, Static("unsafe"), mask)


def _same_shape(graph: Graph, a: Extents, b: Extents) -> bool:
    return len(a) == len(b) and all(
        require_equal(graph, x, y, "np.putmask") for x, y in zip(a, b, strict=True)
    )


@handles(np.copyto)
def copyto(
    graph: Graph,
    dst: Value,
    src: Value,
    casting: Value = SAME_KIND,
    where: Value | None = None,
) -> Value:

    target = _writable(graph, dst, "np.copyto")
    rule = static(graph, casting, "casting")
    kind = number_kind(graph, src)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, target.dtype, rule):
        raise graph.error(
            DTypeError,
            f"Cannot cast array data from {kind!r} to {target.dtype!r} according to the rule '{rule}'",
        )
    value = src
    if where is not None and not (isinstance(where, Static) and where.value is True):
        mask = where if number_kind(graph, where) in (bool, BOOL) else apply(graph, np.not_equal, where, ZERO)
        value = _chosen(graph, mask, src, target, target.dtype)
    store_window(graph, target, value)
    return Static(None)


# ---- choosing ---------------------------------------------------------------------------------------


@handles(np.select)
def select(graph: Graph, condlist: Value, choicelist: Value, default: Value = ZERO) -> Value:
    if not isinstance(condlist, Group) or not isinstance(choicelist, Group):
        raise graph.error(UnsupportedError, "np.select takes lists", "np.select([c1, c2], [x, y], default)")
    conditions, choices = condlist.items, choicelist.items
    if len(conditions) != len(choices):
        raise graph.error(ShapeError, "list of cases must be same length as list of conditions")
    if not conditions:
        raise graph.error(ShapeError, "select with an empty condition list is not possible")
    for k, condition in enumerate(conditions):
        if number_kind(graph, condition) not in (bool, BOOL):
            raise graph.error(DTypeError, f"invalid entry {k} in condlist: should be boolean ndarray")
    dtype = result_dtype(tuple([number_kind(graph, v) for v in (*choices, default)]))
    default = cut(graph, default, number_kind(graph, default), dtype)
    result: Value = copy(graph, default, dtype) if not isinstance(default, Static) else default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        choice = cut(graph, choice, number_kind(graph, choice), dtype)
        result = _chosen(graph, condition, choice, result, dtype)
    return _row_major(result)


def _row_major(result: Value) -> Value:
    """An array in row-major order, whatever that of what it was chosen from."""
    if isinstance(result, Array):
        result.buffer.order = None
    return result


def _chosen(graph: Graph, condition: Value, x: Value, y: Value, dtype: np.dtype) -> Value:
    return emit(graph, ELEMENTWISE["select"], [condition, x, y], (BOOL, dtype, dtype))


@handles(np.choose, method="choose")
def choose(graph: Graph, a: Value, choices: Value, out: Value | None = None, mode: Value = RAISE) -> Value:
    refuse_out(graph, out)
    options = sequence(graph, choices, "np.choose")
    dtype = result_dtype(tuple([dtype_of_value(graph, o) for o in options]))
    way, count = _mode(graph, mode), len(options)
    index = _in_mode(graph, _index(graph, a), Affine(count), way)
    if way == "raise":
        inside = apply(
            graph,
            np.logical_and,
            apply(graph, np.greater_equal, index, ZERO),
            apply(graph, np.less, index, Static(count)),
        )
        check(graph, all_(graph, inside), "ValueError", "invalid entry in choice array")
    result: Value = copy(graph, options[-1], dtype)
    for k in reversed(range(count - 1)):
        result = _chosen(graph, apply(graph, np.equal, index, Static(k)), options[k], result, dtype)
    if count == 1:
        result = _chosen(graph, apply(graph, np.equal, index, ZERO), options[0], result, dtype)
    return _row_major(result)
