"""Convolutions of any number of dimensions: channels first, cross-correlation as everywhere in neural networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .orders import is_channels_last
from .padding import each, every, padded, spans


def conv(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> NDArray[Any]:
    """`x` (batch, channels, *space) with `w` (outputs, channels / groups, *window), plus `bias` (outputs).

    `stride`, `padding` and `dilation` are one integer for all dimensions or a tuple of one for each. A padding is of
    zeros, on both sides; it may also be a pair for each dimension, "same" (as much as keeps the extents at a stride of
    1, the odd one behind), or "valid" (none). The result's channels lie last in memory where those of `x` do.
    """
    rank = w.ndim - 2
    gaps = each(dilation, rank)
    windows = ()
    for k in range(rank):
        windows = (*windows, (w.shape[k + 2] - 1) * gaps[k] + 1)
    is_last = is_channels_last(x)
    x = padded(x, spans(padding, windows), 0)
    if groups == 1 and all(window == 1 for window in windows):
        result = np.tensordot(x[(..., *every(each(stride, rank)))], w.reshape(w.shape[:2]), ((1,), (1,)))
        return _biased(_outputs(result, is_last), bias, rank)
    view = sliding_window_view(x, windows, tuple(range(2, 2 + rank)))
    view = view[(..., *every(each(stride, rank)), *every(gaps))]
    if groups == 1:
        summed = (1, *range(2 + rank, 2 + 2 * rank))
        result = _outputs(np.tensordot(view, w, (summed, (1, *range(2, 2 + rank)))), is_last)
    else:
        result = _products(view, w, rank, groups, is_last)
    return _biased(result, bias, rank)


def _outputs(result, is_last):
    """(batch, outputs, *space) of (batch, *space, outputs), row-major unless channels are to lie last."""
    result = np.moveaxis(result, -1, 1)
    return result if is_last else result.copy()


def _biased(result, bias, rank):
    return result if bias is None else result + np.expand_dims(bias, tuple(range(1, 1 + rank)))


def _products(view, w, rank, groups, is_last):
    """The sum over channels and windows in groups of channels, each with its outputs, (batch, outputs, *space)."""
    places, window = "ijk"[:rank], "uvw"[:rank]
    view = view.reshape(view.shape[0], groups, w.shape[1], *view.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    terms = "bgc" + places + window + ",gkc" + window
    if is_last:
        result = np.einsum(terms + "->b" + places + "gk", view, w)
        return np.moveaxis(result.reshape(*result.shape[: 1 + rank], groups * w.shape[1]), -1, 1)
    result = np.einsum(terms + "->bgk" + places, view, w)
    return result.reshape(view.shape[0], groups * w.shape[1], *result.shape[3:])


def conv1d(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> NDArray[Any]:
    """`conv` of (batch, channels, length)."""
    if w.ndim != 3:
        raise ValueError("conv1d takes weights of shape (outputs, channels, length)")
    return conv(x, w, bias, stride, padding, dilation, groups)


def conv2d(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> NDArray[Any]:
    """`conv` of (batch, channels, height, width)."""
    if w.ndim != 4:
        raise ValueError("conv2d takes weights of shape (outputs, channels, height, width)")
    return conv(x, w, bias, stride, padding, dilation, groups)


def conv3d(
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> NDArray[Any]:
    """`conv` of (batch, channels, depth, height, width)."""
    if w.ndim != 5:
        raise ValueError("conv3d takes weights of shape (outputs, channels, depth, height, width)")
    return conv(x, w, bias, stride, padding, dilation, groups)
