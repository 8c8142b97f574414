"""Pooling over windows of the last dimensions, and to a given number of windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .padding import each, every, padded, spans


def _windows(x, window, stride, padding, fill):
    """(..., *places, *window): the windows that pooling reduces."""
    rank = len(window)
    steps = window if stride is None else each(stride, rank)
    x = padded(x, spans(padding, window), fill)
    view = sliding_window_view(x, window, tuple(range(x.ndim - rank, x.ndim)))
    return view[(..., *every(steps), *every((1,) * rank))]


def max_pool(x: Any, window: Any, stride: Any = None, padding: Any = 0) -> NDArray[Any]:
    """The largest element of every window: a tuple of extents, of the last dimensions. The stride is the window."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.max(_windows(x, window, stride, padding, lowest), axis=tuple(range(-len(window), 0)))


def avg_pool(x: Any, window: Any, stride: Any = None, padding: Any = 0) -> NDArray[Any]:
    """The mean of every window, in which zeros of the padding count."""
    return np.mean(_windows(x, window, stride, padding, 0), axis=tuple(range(-len(window), 0)))


def _adaptive(x, count, reduce):
    """`reduce` of `count` nearly equal, possibly overlapping parts of the last dimension."""
    n = x.shape[-1]
    if count == 1:
        return reduce(x, axis=-1, keepdims=True)
    if n % count == 0:
        return reduce(np.reshape(x, (*x.shape[:-1], count, n // count)), axis=-1)
    parts = []
    for k in tuple(range(count)):
        parts.append(reduce(x[..., k * n // count : -(-(k + 1) * n // count)], axis=-1))
    return np.stack(parts, axis=-1)


def _each_axis(x, counts, reduce):
    for k in range(len(counts)):
        axis = x.ndim - len(counts) + k
        x = np.moveaxis(_adaptive(np.moveaxis(x, axis, -1), counts[k], reduce), -1, axis)
    return x


def adaptive_avg_pool(x: Any, counts: Any) -> NDArray[Any]:
    """Means of parts of the last dimensions, so many that the results' extents are `counts`."""
    return _each_axis(x, counts, np.mean)


def adaptive_max_pool(x: Any, counts: Any) -> NDArray[Any]:
    """The largest elements of parts of the last dimensions, so many that the results' extents are `counts`."""
    return _each_axis(x, counts, np.max)
