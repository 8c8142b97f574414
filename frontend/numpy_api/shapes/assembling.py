"""Arrays from blocks and taken apart: block, unstack, cumulative_sum; filled in place: place, fill_diagonal, fill."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...indexing.stores import store_window
from ...interface.errors import Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import copy
from ...values.assemble import as_piece
from ...values.equal_extents import require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.islands import Island, in_island
from ...values.nested import array_of
from ...values.values import Array, Group, Static, Value, describe, extents_of
from ...values.writes import check_writable
from ..definitions import defines, dtype_of, is_symbol, require, shape_of, unsupported, xp
from ..registry import handles, static
from .joining import vstack

_FALSE = Static(False)


@defines(np.block)
def block(arrays):
    """The innermost lists are joined along the last axis, those around them along the one before it, and so on."""
    depth = _depth(arrays)
    rank = max(depth, *[xp.ndim(leaf) for leaf in _leaves(arrays)])
    return _joined(arrays, depth, rank) if depth else xp.array(arrays, ndmin=rank)


def _depth(arrays: Any) -> int:
    """How deep the lists are nested, which is the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError(
            "arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(item) for item in arrays}
    if len(depths) > 1:
        raise ValueError("List depths are mismatched.")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for item in arrays for leaf in _leaves(item)] if isinstance(arrays, list) else [arrays]


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        leaf = xp.asarray(arrays)
        return xp.expand_dims(leaf, tuple(range(rank - leaf.ndim)))
    return xp.concatenate([_joined(item, depth - 1, rank) for item in arrays], axis=-depth)


@defines(np.unstack)
def unstack(x, axis=0):
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(xp.moveaxis(x, axis, 0))


if hasattr(np, "row_stack"):  # gone in NumPy 2.5
    handles(np.row_stack)(vstack)


@defines(np.cumulative_sum)
def cumulative_sum(x, axis=None, dtype=None, out=None, include_initial=False):
    return _cumulated(x, axis, dtype, include_initial, np.cumsum, 0)


@defines(np.cumulative_prod)
def cumulative_prod(x, axis=None, dtype=None, out=None, include_initial=False):
    return _cumulated(x, axis, dtype, include_initial, np.cumprod, 1)


def _cumulated(x: Any, axis: int | None, dtype: Any, include_initial: bool, function: Any, start: int) -> Any:
    x = xp.atleast_1d(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"For arrays which have more than one dimension ``axis`` argument is required (got {x.ndim=})."
            )
        axis = 0
    result = getattr(xp, function.__name__)(x, axis=axis, dtype=dtype)
    if not include_initial:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return xp.concatenate([xp.full_like(result, start, shape=tuple(shape)), result], axis=axis)


@defines(np.asarray_chkfinite)
def asarray_chkfinite(a, dtype=None, order=None):
    a = xp.asarray(a, dtype=dtype, order=order)
    if dtype_of(a).kind == "f":
        require(xp.all(xp.isfinite(a)), "array must not contain infs or NaNs")
    return a


# ---- in place ---------------------------------------------------------------------------------------


@defines(np.place)
def place(arr, mask, vals):
    """One value for all that the mask selects; more would be dealt out by what the mask holds."""
    if not is_symbol(arr):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    vals = xp.ravel(xp.asarray(vals))
    if shape_of(vals) != (1,):
        raise unsupported(
            "np.place of more than one value is not supported: which element gets which depends on the mask",
            "np.where(mask, values, x), or np.copyto(x, values, where=mask), of as many values as x has",
        )
    xp.copyto(arr, vals[0].astype(arr.dtype), where=mask)


def _target(graph: Graph, a: Value, what: str) -> Array:
    if not isinstance(a, Array):
        raise graph.error(UnsupportedError, f"{what} of {describe(a)} is not supported", "make it an array")
    check_writable(graph, a.buffer)
    return a


@handles(np.fill_diagonal)
def fill_diagonal(graph: Graph, a: Value, val: Value, wrap: Value = _FALSE) -> Value:
    array = _target(graph, a, "np.fill_diagonal")
    extents = array.extents
    if len(extents) < 2:
        raise graph.error(ShapeError, "array must be at least 2-d")
    count = _shortest(graph, extents)
    if static(graph, wrap, "wrap") and not count.equals(extents[0]):
        raise graph.error(
            UnsupportedError, "np.fill_diagonal with wrap=True is not supported", "write a loop"
        )
    if isinstance(val, Group) or (isinstance(val, Static) and isinstance(val.value, tuple | list)):
        val = array_of(graph, val)
    if len(extents_of(val)) > 1 or (
        extents_of(val) and not require_equal(graph, extents_of(val)[0], count, "np.fill_diagonal")
    ):
        raise graph.error(
            UnsupportedError,
            "np.fill_diagonal with another number of values than the diagonal has elements is not supported",
            "give a number, or one value each",
        )
    value = as_piece(graph, copy(graph, val, array.dtype)) if extents_of(val) else val

    def fill(island: Island) -> None:
        if extents_of(value):
            return island.for_each(
                (count,),
                lambda at: island.store(array, at * len(extents), island.element(value, array.dtype, at)),
            )
        number = island.scalar(value, array.dtype)
        island.for_each((count,), lambda at: island.store(array, at * len(extents), number))

    if count.known != 0:
        in_island(graph, fill)
    return Static(None)


def _shortest(graph: Graph, extents: tuple[Affine, ...]) -> Affine:
    """The length of the diagonal."""
    first = extents[0]
    if all(e.equals(first) for e in extents[1:]):
        return first
    if any(e.known is None for e in extents):
        raise Respecialise(shapes=True, why="a diagonal of unknown extents")
    if len(extents) > 2:
        raise graph.error(ShapeError, "All dimensions of input must be of equal length")
    return Affine(min(e.constant for e in extents))


@handles(method="fill")
def fill(graph: Graph, a: Value, value: Value) -> Value:
    array = _target(graph, a, ".fill()")
    if extents_of(value):
        raise graph.error(ShapeError, "setting an array element with a sequence.")
    store_window(graph, array, value)
    return Static(None)
