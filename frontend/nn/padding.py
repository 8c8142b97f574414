"""What convolutions and pooling share: one number for each dimension of space, and padding."""

from __future__ import annotations

import numpy as np

from .orders import is_channels_last


def each(value, rank):
    """`value` for every dimension, unless it is a tuple already."""
    return value if isinstance(value, tuple) else (value,) * rank


def spans(padding, windows):
    """How much is added before and after every dimension; "same" and "valid" are words for it."""
    if padding == "valid":
        return ((0, 0),) * len(windows)
    if padding == "same":
        found = ()
        for window in windows:
            found = (*found, ((window - 1) // 2, window - 1 - (window - 1) // 2))
        return found
    found = ()
    for amount in each(padding, len(windows)):
        found = (*found, each(amount, 2))
    return found


def padded(x, amounts, fill):
    """`x` with `fill` around its last dimensions; where channels come last in memory they still do."""
    some = False
    for before, after in amounts:
        some = some or before > 0 or after > 0
    if not some:
        return x
    if x.ndim - len(amounts) == 2 and is_channels_last(x):
        moved = np.pad(np.moveaxis(x, 1, -1), ((0, 0), *amounts, (0, 0)), constant_values=fill)
        return np.moveaxis(moved, -1, 1)
    return np.pad(x, ((0, 0),) * (x.ndim - len(amounts)) + amounts, constant_values=fill)


def every(steps):
    """Full slices with these steps."""
    found = ()
    for step in steps:
        found = (*found, slice(None, None, step))
    return found
