"""Sorting and searching, which NumPy does: sort, argsort, partition, lexsort, searchsorted, digitize, interp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...interface.errors import DTypeError, ShapeError
from ...values.equal_extents import require_equal
from ...values.graph import Graph
from ...values.islands import in_island
from ...values.values import Array, Group, Static, Value, extents_of
from ...values.writes import check_writable
from ..calls_back import calls_back
from ..custom_calls import as_operand, call_numpy
from ..registry import handles, normal_axis, static
from ..shapes.joining import flat
from ..shapes.rearranging import atleast

MINUS_ONE, ZERO, NONE, FALSE, LEFT, RAISE = (Static(v) for v in (-1, 0, None, False, "left", "raise"))


def along(graph: Graph, a: Value, axis: Value | None) -> tuple[Value, int]:
    """The array, raveled for axis None, and the axis."""
    array = atleast(graph, as_operand(graph, a), 0)
    request = static(graph, axis, "axis")
    if request is None:
        return flat(graph, array), 0
    return array, normal_axis(graph, request, len(extents_of(array)))


def _sorted(
    graph: Graph,
    name: str,
    a: Value,
    axis: Value | None,
    kind: Value | None,
    order: Value | None,
    stable: Value | None,
) -> Value:
    if static(graph, order, "order") is not None:
        raise graph.error(ShapeError, "Cannot specify order when the array has no fields.")
    array, position = along(graph, a, axis)
    way, is_stable = static(graph, kind, "kind"), static(graph, stable, "stable")
    return call_numpy(graph, name, [array], [extents_of(array)], axis=position, kind=way, stable=is_stable)


@handles(np.sort)
@calls_back
def sort(
    graph: Graph,
    a: Value,
    axis: Value = MINUS_ONE,
    kind: Value = NONE,
    order: Value = NONE,
    *,
    stable: Value = NONE,
) -> Value:
    return _sorted(graph, "sort", a, axis, kind, order, stable)


@handles(np.argsort, method="argsort")
@calls_back
def argsort(
    graph: Graph,
    a: Value,
    axis: Value = MINUS_ONE,
    kind: Value = NONE,
    order: Value = NONE,
    *,
    stable: Value = NONE,
) -> Value:
    if not extents_of(as_operand(graph, a)):
        a = atleast(graph, a, 1)
    return _sorted(graph, "argsort", a, axis, kind, order, stable)


def _in_place(graph: Graph, a: Value, axis: Value, what: str) -> Array:
    """The array that a method changes."""
    if static(graph, axis, "axis") is None:
        raise graph.error(DTypeError, "'NoneType' object cannot be interpreted as an integer")
    if not isinstance(a, Array):
        raise graph.error(DTypeError, f"{what} needs an array that is kept: give it a name first")
    check_writable(graph, a.buffer)
    return a


@handles(method="sort")
@calls_back
def sort_in_place(
    graph: Graph,
    a: Value,
    axis: Value = MINUS_ONE,
    kind: Value = NONE,
    order: Value = NONE,
    *,
    stable: Value = NONE,
) -> Value:
    array = _in_place(graph, a, axis, "sort()")
    result = _sorted(graph, "sort", array, axis, kind, order, stable)
    in_island(graph, lambda island: island.assign(array, result))
    return Static(None)


# ---- partial orders ---------------------------------------------------------------------------------


def _partitioned(graph: Graph, name: str, a: Value, kth: Value, axis: Value | None, kind: Value) -> Value:
    array, position = along(graph, a, axis)
    places: Any = static(graph, kth, "kth")
    extent = extents_of(array)[position].known
    for k in places if isinstance(places, tuple | list) else (places,):
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise graph.error(DTypeError, "Partition index must be integer")
        if extent is not None and not -extent <= k < extent:
            raise graph.error(ShapeError, f"kth(={k}) out of bounds ({extent})")
    way = static(graph, kind, "kind")
    return call_numpy(
        graph,
        name,
        [array],
        [extents_of(array)],
        ordered=extent is None,
        sample={"kth": 0},
        kth=tuple(places) if isinstance(places, list) else places,
        axis=position,
        kind=way,
    )


_SELECT = Static("introselect")


@handles(np.partition)
@calls_back
def partition(
    graph: Graph, a: Value, kth: Value, axis: Value = MINUS_ONE, kind: Value = _SELECT, order: Value = NONE
) -> Value:
    _no_fields(graph, order)
    return _partitioned(graph, "partition", a, kth, axis, kind)


@handles(np.argpartition, method="argpartition")
@calls_back
def argpartition(
    graph: Graph, a: Value, kth: Value, axis: Value = MINUS_ONE, kind: Value = _SELECT, order: Value = NONE
) -> Value:
    _no_fields(graph, order)
    return _partitioned(graph, "argpartition", a, kth, axis, kind)


@handles(method="partition")
@calls_back
def partition_in_place(
    graph: Graph, a: Value, kth: Value, axis: Value = MINUS_ONE, kind: Value = _SELECT, order: Value = NONE
) -> Value:
    _no_fields(graph, order)
    array = _in_place(graph, a, axis, "partition()")
    result = _partitioned(graph, "partition", array, kth, axis, kind)
    in_island(graph, lambda island: island.assign(array, result))
    return Static(None)


def _no_fields(graph: Graph, order: Value) -> None:
    if static(graph, order, "order") is not None:
        raise graph.error(ShapeError, "Cannot specify order when the array has no fields.")


@handles(np.lexsort)
@calls_back
def lexsort(graph: Graph, keys: Value, axis: Value = MINUS_ONE) -> Value:
    if isinstance(keys, Group):
        columns = [as_operand(graph, key) for key in keys.items]
    else:
        columns = [as_operand(graph, keys)]
    if not columns:
        raise graph.error(DTypeError, "need sequence of keys with len > 0 in lexsort")
    is_table = not isinstance(keys, Group)
    extents = extents_of(columns[0])[1:] if is_table else extents_of(columns[0])
    for column in columns[1:]:
        same = len(extents_of(column)) == len(extents) and all(
            require_equal(graph, x, y, "np.lexsort") for x, y in zip(extents_of(column), extents, strict=True)
        )
        if not same:
            raise graph.error(ShapeError, "all keys need to be the same shape")
    position = normal_axis(graph, static(graph, axis, "axis"), max(1, len(extents)))
    return call_numpy(graph, "lexsort", columns, [extents], axis=position, table=is_table)


@handles(np.i0)
@calls_back
def i0(graph: Graph, x: Value) -> Value:
    values = as_operand(graph, x)
    return call_numpy(graph, "i0", [values], [extents_of(values)])


# ---- writing by position ----------------------------------------------------------------------------


@handles(np.put, method="put")
@calls_back
def put(graph: Graph, a: Value, ind: Value, v: Value, mode: Value = RAISE) -> Value:
    """Values repeat where there are fewer than positions, which count the elements in row-major order."""
    array = _in_place(graph, a, ZERO, "np.put")
    way = static(graph, mode, "mode")
    operands = [array, as_operand(graph, ind), as_operand(graph, v)]
    result = call_numpy(
        graph, "put", operands, [array.extents], ordered=True, sample={"mode": "clip"}, mode=way
    )
    in_island(graph, lambda island: island.assign(array, result))
    return NONE


# ---- searching --------------------------------------------------------------------------------------


@handles(np.searchsorted)
@calls_back
def searchsorted(graph: Graph, a: Value, v: Value, side: Value = LEFT, sorter: Value = NONE) -> Value:
    sequence, values = as_operand(graph, a), as_operand(graph, v)
    if len(extents_of(sequence)) != 1:
        raise graph.error(ShapeError, "object too deep for desired array")
    way = static(graph, side, "side")
    if isinstance(sorter, Static) and sorter.value is None:
        return call_numpy(graph, "searchsorted", [sequence, values], [extents_of(values)], side=way)
    permutation = as_operand(graph, sorter)
    same = len(extents_of(permutation)) == 1 and require_equal(
        graph, extents_of(permutation)[0], extents_of(sequence)[0], "np.searchsorted"
    )
    if not same:
        raise graph.error(ShapeError, "sorter.size must equal a.size")
    return call_numpy(
        graph,
        "searchsorted",
        [sequence, values, permutation],
        [extents_of(values)],
        ordered=True,
        side=way,
    )


@handles(method="searchsorted")
@calls_back
def searchsorted_method(graph: Graph, a: Value, v: Value, side: Value = LEFT, sorter: Value = NONE) -> Value:
    return searchsorted(graph, a, v, side, sorter)


@handles(np.digitize)
@calls_back
def digitize(graph: Graph, x: Value, bins: Value, right: Value = FALSE) -> Value:
    """Bins that are not monotonic raise at run time."""
    values, edges = as_operand(graph, x), as_operand(graph, bins)
    if len(extents_of(edges)) != 1:
        raise graph.error(ShapeError, "object of too small depth for desired array")
    return call_numpy(
        graph,
        "digitize",
        [values, edges],
        [extents_of(values)],
        ordered=True,
        right=bool(static(graph, right, "right")),
    )


@handles(np.interp)
@calls_back
def interp(
    graph: Graph,
    x: Value,
    xp: Value,
    fp: Value,
    left: Value = NONE,
    right: Value = NONE,
    period: Value = NONE,
) -> Value:
    operands = [as_operand(graph, o) for o in (x, xp, fp)]
    shapes = [extents_of(o) for o in operands[1:]]
    if any(len(s) != 1 for s in shapes):
        raise graph.error(ShapeError, "object too deep for desired array")
    if not require_equal(graph, shapes[0][0], shapes[1][0], "np.interp"):
        raise graph.error(ShapeError, "fp and xp are not of the same length.")
    given = {k: static(graph, v, k) for k, v in (("left", left), ("right", right), ("period", period))}
    return call_numpy(graph, "interp", operands, [extents_of(operands[0])], **given)
