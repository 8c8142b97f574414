"""Convolutions of any number of dimensions: channels first, cross-correlation as everywhere in neural networks."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .padding import each, every, padded, spans


def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """`x` (batch, channels, *space) with `w` (outputs, channels / groups, *window), plus `bias` (outputs).

    `stride`, `padding` and `dilation` are one integer for all dimensions or a tuple of one for each. A padding is of
    zeros, on both sides; it may also be a pair for each dimension, "same" (as much as keeps the extents at a stride of
    1, the odd one behind), or "valid" (none).
    """
    rank = w.ndim - 2
    gaps = each(dilation, rank)
    windows = ()
    for k in range(rank):
        windows = (*windows, (w.shape[k + 2] - 1) * gaps[k] + 1)
    x = padded(x, spans(padding, windows), 0)
    x = np.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    w = np.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    view = sliding_window_view(x, windows, tuple(range(3, 3 + rank)))
    view = view[(*every((1,) * 3), *every(each(stride, rank)), *every(gaps))]
    # (batch, group, output, channel, *space, *window): the sum over channel and window
    products = np.expand_dims(view, 2) * np.expand_dims(w, tuple(range(3, 3 + rank)))
    result = np.sum(products, axis=(3, *range(4 + rank, 4 + 2 * rank)), dtype=products.dtype)
    result = np.reshape(result, (result.shape[0], result.shape[1] * result.shape[2], *result.shape[3:]))
    return result if bias is None else result + np.expand_dims(bias, tuple(range(1, 1 + rank)))


def conv1d(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """`conv` of (batch, channels, length)."""
    if w.ndim != 3:
        raise ValueError("conv1d takes weights of shape (outputs, channels, length)")
    return conv(x, w, bias, stride, padding, dilation, groups)


def conv2d(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """`conv` of (batch, channels, height, width)."""
    if w.ndim != 4:
        raise ValueError("conv2d takes weights of shape (outputs, channels, height, width)")
    return conv(x, w, bias, stride, padding, dilation, groups)


def conv3d(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """`conv` of (batch, channels, depth, height, width)."""
    if w.ndim != 5:
        raise ValueError("conv3d takes weights of shape (outputs, channels, depth, height, width)")
    return conv(x, w, bias, stride, padding, dilation, groups)
