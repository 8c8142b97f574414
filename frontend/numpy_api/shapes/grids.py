"""What NumPy makes of subscripts: np.mgrid and np.ogrid of ranges, np.r_ and np.c_ of arrays, numbers and ranges.

np.mgrid[0:h, 0:w]   ->   the index along each axis, as np.indices
np.r_[0, x, 1:4]     ->   np.concatenate([[0], x, np.arange(1, 4)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...indexing.views import Item, Slice
from ...interface.errors import UnsupportedError
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.promotion import result_dtype
from ...values.values import Static, Value, extents_of, is_number
from ..definitions import recorded, run, xp
from ..registry import FUNCTIONS


def _range(graph: Graph, item: Slice) -> Value:
    """A slice as numbers: of a step like 5j, that many, the last one included."""
    start = Static(0) if item.start is None or _is_none(item.start) else item.start
    step = Static(1) if item.step is None or _is_none(item.step) else item.step
    if item.stop is None or _is_none(item.stop):
        raise graph.error(UnsupportedError, "a range without an end", "write np.mgrid[0:n]")
    if isinstance(step, Static) and isinstance(step.value, complex):
        return FUNCTIONS[np.linspace](graph, start, item.stop, Static(int(abs(step.value))))
    return FUNCTIONS[np.arange](graph, start, item.stop, step)


def _is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.value is None


def _ranges(graph: Graph, items: Sequence[Item]) -> tuple[Value, ...]:
    ranges: list[Value] = []
    for item in items:
        if not isinstance(item, Slice):
            raise graph.error(
                UnsupportedError, "np.mgrid and np.ogrid take ranges", "write np.mgrid[0:n, 0:m]"
            )
        ranges.append(_range(graph, item))
    dtype = result_dtype(tuple([number_kind(graph, r) for r in ranges]))
    return tuple([FUNCTIONS[np.asarray](graph, r, Static(dtype)) for r in ranges])


def _open(*ranges: Any) -> Any:
    """Each range along its own axis."""
    rank = len(ranges)
    return tuple([xp.expand_dims(r, tuple(j for j in range(rank) if j != k)) for k, r in enumerate(ranges)])


def _dense(*ranges: Any) -> Any:
    shape = tuple([r.shape[0] for r in ranges])
    return recorded(np.stack, [xp.broadcast_to(r, shape) for r in _open(*ranges)])


def _mgrid(graph: Graph, items: Sequence[Item]) -> Value:
    ranges = _ranges(graph, items)
    return ranges[0] if len(ranges) == 1 else run(graph, _dense, ranges, {})


def _ogrid(graph: Graph, items: Sequence[Item]) -> Value:
    ranges = _ranges(graph, items)
    return ranges[0] if len(ranges) == 1 else run(graph, _open, ranges, {})


def _pieces(graph: Graph, items: Sequence[Item], rank: int) -> tuple[Value, ...]:
    """Arrays of one element type, of `rank` at least; vectors become columns where that is 2."""
    values: list[Value] = []
    for item in items:
        if isinstance(item, Static) and isinstance(item.value, str):
            raise graph.error(
                UnsupportedError,
                "a string in np.r_ or np.c_ is not supported",
                "use np.concatenate or np.stack",
            )
        value = _range(graph, item) if isinstance(item, Slice) else item
        values.append(value if is_number(value) else FUNCTIONS[np.asarray](graph, value))
    dtype = Static(result_dtype(tuple([number_kind(graph, v) for v in values])))
    arrays = [FUNCTIONS[np.asarray](graph, v, dtype) for v in values]
    if rank == 2:
        arrays = [
            FUNCTIONS[np.expand_dims](graph, a, Static(1)) if len(extents_of(a)) == 1 else a for a in arrays
        ]
    at_least = np.atleast_1d if rank == 1 else np.atleast_2d
    return tuple([FUNCTIONS[at_least](graph, a) for a in arrays])


def _rows(graph: Graph, items: Sequence[Item]) -> Value:
    return run(graph, lambda *parts: recorded(np.concatenate, list(parts)), _pieces(graph, items, 1), {})


def _columns(graph: Graph, items: Sequence[Item]) -> Value:
    return run(graph, lambda *parts: recorded(np.concatenate, list(parts), -1), _pieces(graph, items, 2), {})


_OBJECTS: tuple[tuple[Any, Callable[[Graph, Sequence[Item]], Value]], ...] = (
    (np.mgrid, _mgrid),
    (np.ogrid, _ogrid),
    (np.r_, _rows),
    (np.c_, _columns),
)


def maker(owner: Any) -> Callable[[Graph, Sequence[Item]], Value] | None:
    """What makes an array of a subscript of one of these objects; None for any other."""
    return next((make for known, make in _OBJECTS if known is owner), None)
