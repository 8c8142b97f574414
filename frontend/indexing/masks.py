"""Masks as indices: what `x[mask]` selects is computed with, assigned and reduced.

x[mask] = v     ->   x = where(mask, v, x)
x[mask].sum()   ->   where(mask, x, 0).sum()

Where the elements are needed side by side, they become an array (`frontend/values/selection.py`).
"""

from __future__ import annotations

import numpy as np

from ...dialects.nt import ELEMENTWISE
from ..interface.errors import ShapeError
from ..values.arithmetic import apply, emit
from ..values.contents import as_view, read
from ..values.graph import Graph
from ..values.islands import Island, check_assignable, in_island, strip_leading
from ..values.masked import as_masked
from ..values.numbers import number_kind
from ..values.selection import indices_of_true, same_mask
from ..values.tensors import BOOL, as_array, as_readable
from ..values.values import Array, Group, Masked, Static, Value, extents_of
from .views import Slice, view


def spread_mask(graph: Graph, mask: Array, rank: int, axis: int = 0) -> Array:
    """A mask of some axes of an array of `rank`, as one that broadcasts over all of it."""
    rest = rank - axis - len(mask.axes)
    return view(graph, mask, [*[Slice()] * len(mask.axes), *[Static(None)] * rest])


def is_under_mask(graph: Graph, base: Array, mask: Array, axis: int, value: Value) -> bool:
    """Whether a value can be chosen element by element: it is what the same mask selects, or the same for all of it."""
    value = as_masked(graph, value)
    if isinstance(value, Masked):
        is_same = not axis and same_mask(value.mask, _snapshot(graph, mask))
        return is_same and len(value.values.extents) == len(base.extents)
    rest = len(base.extents) - axis - len(mask.extents)
    shape = extents_of(value)
    return all(e.known == 1 for e in shape[: max(0, len(shape) - rest)])


def assign_masked(graph: Graph, base: Array, mask: Array, axis: int, value: Value) -> None:
    """`base[mask] = value`, the mask over the axes from `axis` on, for a value that `is_under_mask`."""
    value = as_masked(graph, value)
    if isinstance(value, Masked):
        value = value.values
    else:
        rest = len(base.extents) - axis - len(mask.extents)
        value = strip_leading(as_readable(value), rest)
        check_assignable(graph, base.extents[len(base.extents) - rest :], extents_of(value))
    whole_mask = spread_mask(graph, mask, len(base.extents), axis)

    def run(island: Island) -> None:
        chosen = emit(
            graph,
            ELEMENTWISE["select"],
            [whole_mask, as_readable(value), base],
            (BOOL, base.dtype, base.dtype),
        )
        island.assign(base, chosen)

    in_island(graph, run)


def _snapshot(graph: Graph, mask: Array) -> Array:
    return mask if graph.island is not None else as_array(read(graph, mask))


# ---- where a mask is true ---------------------------------------------------------------------------


def true_elements(graph: Graph, a: Value) -> Array:
    """Where an array is not zero, as a mask with the contents of now."""
    is_mask = number_kind(graph, a) == BOOL
    return _snapshot(graph, as_view(graph, a if is_mask else apply(graph, np.not_equal, a, Static(0))))


def positions_of_true(graph: Graph, a: Value) -> Group:
    """`np.nonzero(a)`: an array of indices for each axis."""
    if not extents_of(a):
        raise graph.error(
            ShapeError,
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.",
        )
    return Group(tuple(indices_of_true(graph, true_elements(graph, a))))
