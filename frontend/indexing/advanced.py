"""Indexing by arrays: gathers `x[idx]` and scatters `x[idx] = v`.

x[idx] * 2      ->   nt.loops: is any index outside? (then each one is checked, for the error), and
                     for i: out[i] = x[idx[i]], a negative index counted from the end

Which elements an index names is in `index_arrays.py`, what masks do in `masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..interface.errors import DTypeError, UnsupportedError
from ..values.arithmetic import apply, compute_dtypes, operate
from ..values.assemble import fresh, opaque
from ..values.contents import as_view, read
from ..values.extents import Affine
from ..values.graph import Graph
from ..values.islands import Island, check_assignable, in_island, may_overlap, reads_of, strip_leading
from ..values.numbers import number_kind
from ..values.selection import settled
from ..values.tensors import as_array, as_readable
from ..values.values import (
    Array,
    Extents,
    Group,
    Lazy,
    Masked,
    Scalar,
    Static,
    Value,
    describe,
    extents_of,
)
from ..values.writes import check_writable
from .index_arrays import (
    Places,
    check_indices,
    constant_table,
    is_advanced,
    places,
    places_of_mask,
    wrapped_indices,
)
from .masks import assign_masked, is_under_mask
from .views import Item

# ---- reading ----------------------------------------------------------------------------------------


def gather(graph: Graph, value: Value, items: Sequence[Item]) -> Value:
    """`value[items]` with arrays among the items."""
    found = places(graph, as_view(graph, value), items, reads=True)
    if isinstance(found, Places):
        return gathered(graph, found)
    base, mask, axis = found
    if axis:
        return gathered(graph, places_of_mask(graph, base, mask, axis))
    if graph.island is None:
        base, mask = as_array(read(graph, base)), as_array(read(graph, mask))
    return Masked(base, mask)


def gathered(graph: Graph, found: Places, checked: bool = True) -> Value:
    """The elements at the places, as a new array."""
    island = graph.island
    if island is not None:
        if checked:
            found.check(island)
        source = found.source(island)
        reads = [opaque(found.base), *map(opaque, found.arrays)]
        return island.lazy(
            found.base.dtype,
            found.extents,
            lambda index: island.load(found.base, source(index)),
            tuple(reads),
        )

    def write(island: Island, target: Array) -> None:
        if checked:
            found.check(island)
        source = found.source(island)
        island.for_each(
            target.extents,
            lambda index: island.store(target, index, island.load(found.base, source(index))),
        )

    result = fresh(graph, found.base.dtype, found.extents, write)
    result.buffer.order = found.order
    return result


# ---- writing ----------------------------------------------------------------------------------------


def scatter(graph: Graph, array: Array, items: Sequence[Item], value: Value) -> None:
    """`array[items] = value`: the last of several values for one element stays."""
    check_writable(graph, array.buffer)
    found = places(graph, array, items)
    if not isinstance(found, Places):
        if is_under_mask(graph, *found, value):
            return assign_masked(graph, *found, value)
        found = places_of_mask(graph, *found)
    if isinstance(value, Masked):
        value = settled(graph, value)
    check_assignable(graph, found.extents, extents_of(value))
    in_island(graph, lambda island: _scattered(island, found, as_readable(value)))


def _scattered(island: Island, found: Places, value: Value) -> None:
    base = found.base
    if isinstance(value, Lazy) or any(may_overlap(r, base) for r in reads_of([value])):
        value = island.materialise(value, "values") if extents_of(value) else value
    found.check(island)
    arrays = [island.materialise(a, "indices") if may_overlap(a, base) else a for a in found.arrays]
    found = replace(found, arrays=tuple(arrays))
    source = found.source(island)
    value = strip_leading(value, len(found.extents))
    if not extents_of(value):
        ssa = island.scalar(value, base.dtype)
        return island.for_each(found.extents, lambda index: island.store(base, source(index), ssa))
    return island.for_each(
        found.extents,
        lambda index: island.store(base, source(index), island.element(value, base.dtype, index)),
    )


def scatter_along(
    graph: Graph,
    array: Array,
    indices: Array,
    axis: int,
    extents: Extents,
    value: Value,
    place: Callable[[Island, Value, Array, int, Sequence[Affine]], list[Affine]],
) -> None:
    """np.put_along_axis; `place` gives the index of an element of `array`."""
    check_assignable(graph, extents, extents_of(value))
    table = constant_table(graph, indices)
    value = as_readable(value)

    def run(island: Island) -> None:
        given, index = value, indices
        if isinstance(given, Lazy) or any(may_overlap(r, array) for r in reads_of([given])):
            given = island.materialise(given, "values") if extents_of(given) else given
        if may_overlap(index, array):
            index = island.materialise(index, "indices")
        extent = array.extents[axis]
        check_indices(island, index, extent, array.buffer.name, axis, table)
        wrapped = wrapped_indices(graph, index, extent, table)
        given = strip_leading(given, len(extents))
        if not extents_of(given):
            given = Scalar(island.scalar(given, array.dtype), array.dtype)
        island.for_each(
            extents,
            lambda at: island.store(
                array, place(island, wrapped, array, axis, at), island.element(given, array.dtype, at)
            ),
        )

    in_island(graph, run)


def update(graph: Graph, array: Array, items: Sequence[Item], name: str, operand: Value) -> None:
    """`array[items] op= operand`: of an element named twice the last update stays, as in NumPy."""
    check_writable(graph, array.buffer)
    found = places(graph, array, items)
    if not isinstance(found, Places):
        base, mask, axis = found
        if axis == 0:
            result = operate(graph, name, Masked(base, mask), operand)
            _require_same_kind(graph, name, result, array.dtype)
            if is_under_mask(graph, base, mask, axis, result):
                return assign_masked(graph, base, mask, axis, result)
        found = places_of_mask(graph, base, mask, axis)
    result = operate(graph, name, gathered(graph, found), operand)
    _require_same_kind(graph, name, result, array.dtype)
    check_assignable(graph, found.extents, extents_of(result))
    return in_island(graph, lambda island: _scattered(island, found, as_readable(result)))


def _require_same_kind(graph: Graph, name: str, result: Value, dtype: np.dtype) -> None:
    kind = number_kind(graph, result)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, dtype, "same_kind"):
        raise graph.error(
            DTypeError,
            f"Cannot cast ufunc '{name}' output from {kind!r} to {dtype!r} with casting rule 'same_kind'",
        )


def _adds_in(graph: Graph, array: Array, value: Value) -> bool:
    """Whether sums of elements and a value are computed in the dtype of the array, one of which sums may have any order."""
    is_wide = array.dtype.kind in "iuf" and array.dtype.itemsize >= 4
    return (
        is_wide and not array.part and compute_dtypes(graph, np.add, [array, value], None)[0] == array.dtype
    )


def update_each(graph: Graph, ufunc: np.ufunc, array: Value, indices: Value, operand: Value | None) -> Static:
    """`np.add.at(array, indices, operand)`: every update counts, one after the other; additions in any order."""
    if not isinstance(array, Array):
        raise graph.error(DTypeError, f"np.{ufunc.__name__}.at needs an array, not {describe(array)}")
    check_writable(graph, array.buffer)
    items: list[Item] = (
        list(indices.items) if isinstance(indices, Group) and indices.kind is tuple else [indices]
    )
    if not is_advanced(items):
        raise graph.error(
            UnsupportedError,
            f"np.{ufunc.__name__}.at without an array of indices is not supported",
            "use x[i] += v",
        )
    found = places(graph, array, items)
    if not isinstance(found, Places):
        found = places_of_mask(graph, *found)
    if operand is not None:
        check_assignable(graph, found.extents, extents_of(operand))

    def run(island: Island) -> None:
        value = None if operand is None else as_readable(operand)
        if value is not None and extents_of(value):
            if isinstance(value, Lazy) or any(may_overlap(r, found.base) for r in reads_of([value])):
                value = island.materialise(value, "values")
            value = strip_leading(value, len(found.extents))
        found.check(island)
        source = found.source(island)
        is_sum = ufunc is np.add and value is not None and _adds_in(graph, array, value)

        def one(index: list[Affine]) -> None:
            place = source(index)
            if value is not None and is_sum:
                return island.add(found.base, place, island.element(value, array.dtype, index))
            operands: list[Value] = [Scalar(island.load(found.base, place), array.dtype)]
            if value is not None and extents_of(value):
                dtype = value.dtype  # pyright: ignore
                operands.append(Scalar(island.element(value, dtype, index), dtype))
            elif value is not None:
                operands.append(value)
            result = apply(graph, ufunc, *operands)
            _require_same_kind(graph, ufunc.__name__, result, array.dtype)
            island.store(found.base, place, island.scalar(result, array.dtype))

        island.for_each(found.extents, one)

    in_island(graph, run)
    return Static(None)
