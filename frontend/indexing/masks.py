"""Masks as indices: what `x[mask]` selects is computed with, assigned and reduced.

x[mask] = v     ->   x = where(mask, v, x)
x[mask].sum()   ->   where(mask, x, 0).sum()

What a mask selects has a length that only the run knows: it can be reduced, computed with, and assigned under the same
mask, and nothing else.
"""

from __future__ import annotations

from ...dialects.nt import ELEMENTWISE
from ..interface.errors import UnsupportedError
from ..values.arithmetic import emit
from ..values.contents import read
from ..values.graph import Graph
from ..values.islands import Island, check_assignable, in_island, strip_leading
from ..values.masked import same_mask, unknown_length
from ..values.tensors import BOOL, as_array, as_readable
from ..values.values import UNKNOWN_LENGTH, Array, Masked, Static, Value, extents_of, shape_text
from .views import Slice, view


def spread_mask(graph: Graph, mask: Array, rank: int, axis: int = 0) -> Array:
    """A mask of some axes of an array of `rank`, as one that broadcasts over all of it."""
    rest = rank - axis - len(mask.axes)
    return view(graph, mask, [*[Slice()] * len(mask.axes), *[Static(None)] * rest])


def assign_masked(graph: Graph, base: Array, mask: Array, axis: int, value: Value) -> None:
    if isinstance(value, Masked):
        if axis or not same_mask(value.mask, _snapshot(graph, mask)):
            raise unknown_length(graph)
        value = value.values
        if len(extents_of(value)) != len(base.extents):
            raise unknown_length(graph)
    else:
        rest = len(base.extents) - axis - len(mask.extents)
        shape = extents_of(value)
        if len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]):
            raise graph.error(
                UnsupportedError,
                f"an array of shape {shape_text(shape)} is assigned to what a mask selects; {UNKNOWN_LENGTH}",
                "assign a number, or elements selected by the same mask: x[mask] = y[mask]",
            )
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


# ---- what a mask selects, reduced -------------------------------------------------------------------
