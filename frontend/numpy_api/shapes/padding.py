"""np.pad: constants around an array, or its own elements again in segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.assemble import fresh, window
from ...values.contents import as_view
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.islands import Island
from ...values.values import Array, Extents, Group, Static, Value, extents_of, is_number
from ..registry import handles, static
from .joining import in_order_of
from .rearranging import atleast

ZERO, CONSTANT = Static(0), Static("constant")

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
        return in_order_of(source, _pad_constant(graph, source, widths, fills))
    if name not in _SEGMENTS:
        raise graph.error(
            UnsupportedError,
            f"np.pad with mode '{name}' is not supported",
            f"modes: constant, {', '.join(_SEGMENTS)}",
        )
    return in_order_of(source, _pad_periodic(graph, source, widths, name))


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
    """The constant everywhere and the array over it, in one nest; borders of their own where constants differ."""
    extents = _padded(source, widths)
    fills = [(_stored(graph, a, source.dtype), _stored(graph, b, source.dtype)) for a, b in fills]
    is_empty = any(x.extent.known == 0 for x in source.axes)
    if fills and not is_empty and all(_is_same(fill, fills[0][0]) for pair in fills for fill in pair):
        fill = fills[0][0]
        return fresh(graph, source.dtype, extents, lambda i, t: _fill_around(i, t, source, widths, fill))

    def write(island: Island, target: Array) -> None:
        """The borders of the last axis over all of the others, and so on inwards; then the array itself."""
        inner = target
        for axis in reversed(range(len(widths))):
            before, after = widths[axis]
            extent = source.axes[axis].extent
            if before:
                island.assign(window(inner, axis, Affine(0), Affine(before)), fills[axis][0])
            if after:
                island.assign(window(inner, axis, extent + before, Affine(after)), fills[axis][1])
            inner = window(inner, axis, Affine(before), extent)
        if not is_empty:
            island.assign(inner, source)

    return fresh(graph, source.dtype, extents, write)


def _is_same(fill: Value, other: Value) -> bool:
    """Whether two constants have the same bits (a zero has a sign)."""
    if isinstance(fill, Static) and isinstance(other, Static):
        return np.asarray(fill.value).tobytes() == np.asarray(other.value).tobytes()
    return fill is other


def _fill_around(
    island: Island, target: Array, source: Array, widths: Sequence[tuple[int, int]], fill: Value
) -> None:
    """Each element is `fill` first, and then that of the array where there is one."""
    number = island.scalar(fill, target.dtype)

    def element(index: list[Affine]) -> None:
        island.store(target, index, number)
        inner = [i - before for i, (before, _) in zip(index, widths, strict=True)]
        inside: list[Affine] = []
        for i, axis, (before, after) in zip(inner, source.axes, widths, strict=True):
            inside += [i] if before else []
            inside += [axis.extent - 1 - i] if after else []
        value = island.element(source, target.dtype, inner)
        island.store(target, index, value, inside)

    island.for_each(target.extents, element)


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
