"""Arrays joined, taken apart and repeated: concatenate, stack, split, tile, repeat, pad, roll, append, insert, delete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..assemble import as_piece, concatenated, fortran_order, fresh, joint_dtype, repeated, window, with_axis
from ..errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ..extents import Affine
from ..graph import Graph
from ..islands import Island
from ..values import Array, Extents, Group, Static, Value, describe, extents_of
from ..views import Slice, as_view, subscript, view
from .registry import dtype_of, handles, normal_axis, refuse_out, static
from .shapes import atleast, reshape_to

ZERO, NONE, CONSTANT = Static(0), Static(None), Static("constant")


def known_extent(graph: Graph, extent: Affine, what: str) -> int:
    """An extent that must be known; an unknown one is compiled for its value."""
    if extent.known is not None:
        return extent.known
    if extent.over_dims() is not None:
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
    from .creation import array_of

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
            graph.assumptions.equal(a, b, "np.stack") for a, b in zip(shape, shapes[0], strict=True)
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


# ---- repeating --------------------------------------------------------------------------------------


@handles(np.tile)
def tile(graph: Graph, A: Value, reps: Value) -> Value:
    request: Any = static(graph, reps, "the repetitions")
    counts = [int(r) for r in (request if isinstance(request, tuple | list) else (request,))]
    array = as_view(graph, atleast(graph, A, 0))
    while len(array.axes) < len(counts):
        array = with_axis(array, 0)
    rank = len(array.axes)
    counts = [1] * (rank - len(counts)) + counts
    axes = [k for k in range(rank) if counts[k] != 1]
    for k in axes:
        if counts[k] < 0:
            raise graph.error(ShapeError, "negative dimensions are not allowed")
    extents = tuple([a.extent * c for a, c in zip(array.axes, counts, strict=True)])
    if not axes:
        from ..arithmetic import copy

        return copy(graph, array, array.dtype)

    def write(island: Island, target: Array, axis: int = 0, source: Array = array) -> None:
        if axis == rank:
            return island.assign(target, source)
        for k in range(counts[axis]):
            extent = array.axes[axis].extent
            write(island, window(target, axis, extent * k, extent), axis + 1, source)

    pieces = int(np.prod(counts))
    if pieces <= 8 or any(a.extent.known is None for a in array.axes):
        if pieces > 256:
            raise Respecialise(shapes=True, why="np.tile of unknown extents")
        return fresh(graph, array.dtype, extents, write)
    # many copies: one nest with an axis for the repetitions
    spread: list[Affine] = []
    along: list[int] = []
    for k, axis in enumerate(array.axes):
        spread.append(Affine(counts[k]))
        along.append(len(spread))
        spread.append(axis.extent)
    return reshape_to(graph, repeated(graph, array, tuple(spread), along), extents, new=True)


@handles(np.repeat, method="repeat")
def repeat(graph: Graph, a: Value, repeats: Value, axis: Value | None = None) -> Value:
    request: Any = static(graph, axis, "axis")
    if request is None:
        a, position = flat(graph, atleast(graph, a, 1)), 0
    else:
        position = normal_axis(graph, request, _rank(a))
    array = as_view(graph, a)
    counts: Any = static(graph, repeats, "the repeats (the shape of the result depends on them)")
    extent = array.axes[position].extent
    if isinstance(counts, tuple | list | np.ndarray) and len(counts) == 1:
        counts = counts[0]
    if isinstance(counts, tuple | list | np.ndarray):
        n = known_extent(graph, extent, "np.repeat")
        if len(counts) != n:
            raise graph.error(
                ShapeError, f"operands could not be broadcast together with shape ({n},) ({len(counts)},)"
            )
        return _repeat_each(graph, array, position, [int(c) for c in counts])
    count = int(counts)
    if count < 0:
        raise graph.error(ShapeError, "repeats may not contain negative values.")
    wide = with_axis(array, position + 1)
    total = [x.extent for x in array.axes]
    total[position] = extent * count

    def write(island: Island, target: Array) -> None:
        old = target.axes[position]
        for k in range(count):
            every = type(old)(old.root, old.offset + old.stride * k, old.stride * count, extent)
            axes = (*target.axes[:position], every, *target.axes[position + 1 :])
            island.assign(Array(target.buffer, axes, target.fixed), array)

    if count == 0 or count <= 4 or any(x.extent.known is None for x in array.axes):
        if count > 256:
            raise Respecialise(shapes=True, why="np.repeat of unknown extents")
        return fresh(graph, array.dtype, tuple(total), write)
    spread = [x.extent for x in wide.axes]
    spread[position + 1] = Affine(count)
    along = [k if k <= position else k + 1 for k in range(len(array.axes))]
    return reshape_to(graph, repeated(graph, array, tuple(spread), along), tuple(total), new=True)


def _repeat_each(graph: Graph, array: Array, axis: int, counts: Sequence[int]) -> Array:
    extents = [x.extent for x in array.axes]
    extents[axis] = Affine(sum(counts))

    def write(island: Island, target: Array) -> None:
        at = 0
        for k, count in enumerate(counts):
            if count:
                island.assign(
                    window(target, axis, Affine(at), Affine(count)), window(array, axis, Affine(k), Affine(1))
                )
            at += count

    return fresh(graph, array.dtype, tuple(extents), write)


@handles(np.roll)
def roll(graph: Graph, a: Value, shift: Value, axis: Value | None = None) -> Value:
    array = as_view(graph, a)
    shifts: Any = static(graph, shift, "the shift")
    request: Any = static(graph, axis, "axis")
    if request is None:
        extents = array.extents
        rolled = _roll(graph, as_view(graph, flat(graph, array)), 0, _total(graph, shifts))
        return reshape_to(graph, rolled, extents, new=True)
    axes = request if isinstance(request, tuple | list) else (request,)
    amounts = shifts if isinstance(shifts, tuple | list) else (shifts,)
    if len(axes) != len(amounts) and 1 not in (len(axes), len(amounts)):
        raise graph.error(ShapeError, "shape mismatch: objects cannot be broadcast to a single shape")
    count = max(len(axes), len(amounts))
    by_axis: dict[int, int] = {}
    for k in range(count):
        position = normal_axis(graph, axes[k % len(axes)], len(array.axes))
        by_axis[position] = by_axis.get(position, 0) + int(amounts[k % len(amounts)])
    for position, amount in by_axis.items():
        array = _roll(graph, array, position, amount)
    return array


def _total(graph: Graph, shifts: Any) -> int:
    return int(sum(shifts)) if isinstance(shifts, tuple | list) else int(shifts)


def _roll(graph: Graph, array: Array, axis: int, shift: int) -> Array:
    extent = array.axes[axis].extent
    if extent.known is not None:
        shift = shift % extent.known if extent.known else 0
    elif shift and not graph.assumptions.nonnegative(extent - abs(shift) - 2, "a shift below the extent"):
        raise Respecialise(shapes=True, why="np.roll by more than the extent")
    ahead = Affine(shift) if shift >= 0 else extent + shift
    parts = [window(array, axis, extent - ahead, ahead), window(array, axis, Affine(0), extent - ahead)]
    return concatenated(graph, [p for p in parts if p.extents[axis].known != 0] or [array], axis)


# ---- padding ----------------------------------------------------------------------------------------

Segment = tuple[Affine, Affine, int, Affine]
"""Part of a padded axis: where it begins, and the offset, stride and number of the elements of the source."""


@handles(np.pad)
def pad(graph: Graph, array: Value, pad_width: Value, mode: Value = CONSTANT, **options: Value) -> Value:
    source = as_view(graph, atleast(graph, array, 0))
    rank = len(source.axes)
    widths = _pairs(graph, static(graph, pad_width, "the width of a pad"), rank, "pad_width")
    if any(w < 0 for pair in widths for w in pair):
        raise graph.error(ShapeError, "index can't contain negative values")
    name = static(graph, mode, "the mode of a pad")
    allowed = {"constant": {"constant_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}}
    for option in options:
        if option not in allowed.get(name, ()):
            raise graph.error(ShapeError, f"unsupported keyword arguments for mode '{name}': {{'{option}'}}")
    if static(graph, options.get("reflect_type"), "reflect_type") not in (None, "even"):
        raise graph.error(UnsupportedError, "np.pad with reflect_type='odd' is not supported")
    if name == "constant":
        fills = _fills(graph, options.get("constant_values", ZERO), rank)
        return _in_order(source, _pad_constant(graph, source, widths, fills))
    if name not in _SEGMENTS:
        raise graph.error(
            UnsupportedError,
            f"np.pad with mode '{name}' is not supported",
            f"modes: constant, {', '.join(_SEGMENTS)}",
        )
    return _in_order(source, _pad_periodic(graph, source, widths, name))


def _in_order(source: Array, result: Array) -> Array:
    """A result that is in Fortran's order if the source is."""
    result.buffer.order = fortran_order(source)
    return result


def _pairs(graph: Graph, request: Any, rank: int, what: str) -> list[tuple[int, int]]:
    try:
        table = np.broadcast_to(np.asarray(request), (rank, 2))
    except ValueError as error:
        raise graph.error(ShapeError, str(error)) from None
    if table.size and table.dtype.kind not in "iu":
        raise graph.error(DTypeError, f"`{what}` must be of integral type.")
    return [(int(a), int(b)) for a, b in table]


def _fills(graph: Graph, values: Value, rank: int) -> list[tuple[Value, Value]]:
    """The constants before and after each axis."""
    from ..values import is_number

    if is_number(values) and not extents_of(values):
        return [(values, values)] * rank
    if isinstance(values, Group) and all(is_number(v) and not extents_of(v) for v in values.items):
        items = values.items
        if len(items) in (1, 2):
            return [(items[0], items[-1])] * rank
    request = static(graph, values, "the constants of a pad")
    table = np.broadcast_to(np.asarray(request), (rank, 2))
    return [(Static(a.item()), Static(b.item())) for a, b in table]


def _padded(source: Array, widths: Sequence[tuple[int, int]]) -> Extents:
    return tuple([x.extent + (a + b) for x, (a, b) in zip(source.axes, widths, strict=True)])


def _pad_constant(
    graph: Graph, source: Array, widths: Sequence[tuple[int, int]], fills: Sequence[tuple[Value, Value]]
) -> Array:
    """The borders of the last axis over all of the others, and so on inwards; then the array itself."""
    extents = _padded(source, widths)
    fills = [(_stored(graph, a, source.dtype), _stored(graph, b, source.dtype)) for a, b in fills]

    def write(island: Island, target: Array) -> None:
        inner = target
        for axis in reversed(range(len(widths))):
            before, after = widths[axis]
            extent = source.axes[axis].extent
            if before:
                island.assign(window(inner, axis, Affine(0), Affine(before)), fills[axis][0])
            if after:
                island.assign(window(inner, axis, extent + before, Affine(after)), fills[axis][1])
            inner = window(inner, axis, Affine(before), extent)
        if not any(x.extent.known == 0 for x in source.axes):
            island.assign(inner, source)

    return fresh(graph, source.dtype, extents, write)


def _stored(graph: Graph, value: Value, dtype: np.dtype) -> Value:
    """A constant as the array's dtype holds it."""
    if isinstance(value, Static):
        return Static(np.asarray(value.value).astype(dtype)[()])
    return value


def _constant_run(at: Affine, offset: Affine, count: int) -> list[Segment]:
    return [(at + k, offset, 1, Affine(1)) for k in range(count)]


def _edge(graph: Graph, n: Affine, before: int, after: int) -> list[Segment]:
    ends = _constant_run(Affine(0), Affine(0), before) + _constant_run(n + before, n - 1, after)
    return [*ends, (Affine(before), Affine(0), 1, n)]


def _mirrored(graph: Graph, n: Affine, before: int, after: int, skip: int) -> list[Segment]:
    """Reflections at the borders: `skip` is 1 where the border itself is not repeated."""
    if n.known == 1 and skip:
        return _edge(graph, n, before, after)
    widest = max(before, after)
    if n.known is None and not graph.assumptions.nonnegative(n - widest - skip, "a pad within the array"):
        raise Respecialise(shapes=True, why="a reflection wider than the array")
    if n.known is not None and widest > n.known - skip:
        period = 2 * (n.known - skip)
        return _runs(n.known, before, after, [_fold(p, n.known, period, skip) for p in range(period)])
    segments: list[Segment] = [(Affine(before), Affine(0), 1, n)]
    if before:
        segments.append((Affine(0), Affine(before - 1 + skip), -1, Affine(before)))
    if after:
        segments.append((n + before, n - 1 - skip, -1, Affine(after)))
    return segments


def _fold(position: int, n: int, period: int, skip: int) -> int:
    return position if position < n else period - position - (0 if skip else 1)


def _wrapped(graph: Graph, n: Affine, before: int, after: int) -> list[Segment]:
    widest = max(before, after)
    if n.known is None and not graph.assumptions.nonnegative(n - widest, "a pad within the array"):
        raise Respecialise(shapes=True, why="a wrap wider than the array")
    if n.known is not None and widest > n.known:
        return _runs(n.known, before, after, list(range(n.known)))
    segments: list[Segment] = [(Affine(before), Affine(0), 1, n)]
    if before:
        segments.append((Affine(0), n - before, 1, Affine(before)))
    if after:
        segments.append((n + before, Affine(0), 1, Affine(after)))
    return segments


def _runs(n: int, before: int, after: int, cycle: Sequence[int]) -> list[Segment]:
    """A periodic pad wider than the array, in runs of one direction."""
    where = [cycle[(k - before) % len(cycle)] for k in range(n + before + after)]
    segments: list[Segment] = []
    start = 0
    while start < len(where):
        end = start + 1
        step = where[end] - where[start] if end < len(where) else 1
        step = step if step in (1, -1) else 1
        while end < len(where) and where[end] - where[end - 1] == step:
            end += 1
        segments.append((Affine(start), Affine(where[start]), step, Affine(end - start)))
        start = end
    return segments


_SEGMENTS: dict[str, Any] = {
    "edge": _edge,
    "reflect": lambda graph, n, before, after: _mirrored(graph, n, before, after, 1),
    "symmetric": lambda graph, n, before, after: _mirrored(graph, n, before, after, 0),
    "wrap": _wrapped,
}


def _pad_periodic(graph: Graph, source: Array, widths: Sequence[tuple[int, int]], mode: str) -> Array:
    for k, axis in enumerate(source.axes):
        if axis.extent.known == 0 and any(widths[k]):
            raise graph.error(
                ShapeError, f"can't extend empty axis {k} using modes other than 'constant' or 'empty'"
            )
    segments = [
        _SEGMENTS[mode](graph, axis.extent, *pair) if any(pair) else [(Affine(0), Affine(0), 1, axis.extent)]
        for axis, pair in zip(source.axes, widths, strict=True)
    ]

    def write(island: Island, target: Array, seen: Array = source, axis: int = 0) -> None:
        if axis == len(segments):
            return island.assign(target, seen)
        for at, offset, stride, count in segments[axis]:
            old = seen.axes[axis]
            part = type(old)(old.root, old.offset + offset * old.stride, old.stride * stride, count)
            cut = Array(seen.buffer, (*seen.axes[:axis], part, *seen.axes[axis + 1 :]), seen.fixed)
            write(island, window(target, axis, at, count), cut, axis + 1)

    return fresh(graph, source.dtype, _padded(source, widths), write)


# ---- items added and removed ------------------------------------------------------------------------


@handles(np.append)
def append(graph: Graph, arr: Value, values: Value, axis: Value | None = None) -> Value:
    pieces = [_listed(graph, v) for v in (arr, values)]
    if static(graph, axis, "axis") is None:
        return concatenated(graph, [flat(graph, atleast(graph, p, 1)) for p in pieces], 0)
    assert axis is not None
    return concatenate(graph, Group(tuple(pieces)), axis)


def _position(graph: Graph, index: int, extent: Affine, axis: int, end: int) -> Affine:
    from ..errors import IndexRangeError

    at = Affine(index) if index >= 0 else extent + index
    inside = graph.assumptions.nonnegative(at, "a position") and graph.assumptions.nonnegative(
        extent - at - end, "a position"
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
    kept = [p for p in parts if p.extents[position].known != 0] or parts[:1]
    return _in_order(array, concatenated(graph, kept, position))


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

    return _in_order(array, fresh(graph, array.dtype, tuple(extents), write))
