"""Sequences, windows and indices that hang on sizes alone: NumPy computes them when the program is compiled.

np.hanning(8), np.tril_indices(3), np.logspace(0, 2, 5): constants of the program. A size known at run time only, as in
`np.hanning(len(x))`, has the program compiled for its value.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from ..definitions import defines, known, recorded, require, reshaped, shape_of, xp


def _table(function: Any) -> None:
    """NumPy's own values, for arguments that are known or compiled for."""

    def table(*args: Any, **kwargs: Any) -> Any:
        return function(*map(known, args), **{name: known(value) for name, value in kwargs.items()})

    table.__name__ = function.__name__
    table.__signature__ = inspect.signature(function)  # pyright: ignore
    defines(function)(table)


for _function in (
    np.bartlett,
    np.blackman,
    np.hamming,
    np.hanning,
    np.kaiser,
    np.logspace,
    np.geomspace,
    np.diag_indices,
    np.mask_indices,
    np.tril_indices,
    np.triu_indices,
    np.fft.fftfreq,
    np.fft.rfftfreq,
):
    _table(_function)


@defines(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    rows, columns = _sides(arr)
    return np.tril_indices(rows, known(k), columns)


@defines(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    rows, columns = _sides(arr)
    return np.triu_indices(rows, known(k), columns)


def _sides(arr: Any) -> tuple[int, int]:
    shape = known(shape_of(arr))
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape


@defines(np.diag_indices_from)
def diag_indices_from(arr):
    shape = known(shape_of(arr))
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(shape[0], len(shape))


@defines(np.indices, folds=False)
def indices(dimensions, dtype=int, sparse=False):
    """The index along each axis; `sparse` leaves them to broadcasting."""
    rank = len(dimensions)
    ranges: list[Any] = []
    for axis, extent in enumerate(dimensions):
        others = tuple([k for k in range(rank) if k != axis])
        ranges.append(xp.expand_dims(recorded(np.arange, extent, dtype=dtype), others))
    if sparse:
        return tuple(ranges)
    if not rank:
        return np.empty((0,), dtype)
    return xp.stack([xp.broadcast_to(r, tuple(dimensions)) for r in ranges])


@defines(np.broadcast_shapes)
def broadcast_shapes(*args):
    shapes = [known(shape if isinstance(shape, tuple | list) else (shape,)) for shape in args]
    return np.broadcast_shapes(*map(tuple, shapes))


# ---- positions in a shape ---------------------------------------------------------------------------


def _strides(shape: tuple[int, ...], order: str) -> list[int]:
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    if order == "C":
        return [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    return [math.prod(shape[:k]) for k in range(len(shape))]


@defines(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    """The index along each axis of the elements at these positions."""
    shape = known(shape if isinstance(shape, tuple | list) else (shape,))
    count = math.prod(shape)
    _require_integers(indices)
    require(xp.all((indices >= 0) & (indices < count)), f"index is out of bounds for array with size {count}")
    wide = indices.astype(np.int64)
    return tuple([(wide // s) % max(n, 1) for s, n in zip(_strides(shape, order), shape, strict=True)])


@defines(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The positions of the elements with these indices."""
    dims = known(dims if isinstance(dims, tuple | list) else (dims,))
    modes = mode if isinstance(mode, tuple | list) else [mode] * len(dims)
    parts = list(multi_index)
    if len(parts) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    total: Any = 0
    for index, extent, stride, way in zip(parts, dims, _strides(tuple(dims), order), modes, strict=True):
        _require_integers(index)
        if way == "raise":
            require(xp.all(xp.logical_and(index >= 0, index < extent)), "invalid entry in coordinates array")
        elif way == "clip":
            index = xp.clip(index, 0, extent - 1)
        elif way == "wrap":
            index = index % extent
        else:
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {way!r})")
        total = total + index * stride
    return total.astype(np.int64) if hasattr(total, "astype") else np.int64(total)


def _require_integers(index: Any) -> None:
    dtype = xp.result_type(index)
    if dtype.kind not in "iu":
        raise TypeError("only int indices permitted")


@defines(np.resize)
def resize(a, new_shape):
    """The elements in row-major order, over again until the new array is full."""
    shape = known(new_shape if isinstance(new_shape, tuple | list) else (new_shape,))
    count, size = math.prod(shape), known(xp.size(a))
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not count or not size:
        return xp.zeros(shape, xp.asarray(a).dtype)
    flat = xp.ravel(a)
    repeats = -(-count // size)
    return reshaped(xp.tile(flat, repeats)[:count] if repeats > 1 else flat[:count], shape)
