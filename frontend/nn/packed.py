"""Sequences of different lengths without their padding: their rows one after the other, attention within each of them.

    rows = packed(x, lengths)                                  # (tokens, features) of (batch, positions, features)
    rows = rows + packed_attention(rows @ q, rows @ k, rows @ v, lengths, heads) @ o
    x = unpacked(rows, lengths, positions)                     # zeros where the padding was

What works on rows, norms, products, activations, is as it is: it goes over `lengths.sum()` rows, not over the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed(x: Any, lengths: Any) -> NDArray[Any]:
    """The first `lengths[b]` positions of each x[b], one after the other: (tokens, ...) of (batch, positions, ...).

    Lengths are integers from 0 to the number of positions. Of a mask of booleans whose True come first they are
    `mask.sum(axis=1)`.
    """
    return x[np.arange(x.shape[1]) < np.expand_dims(lengths, 1)]


def unpacked(rows: Any, lengths: Any, positions: int) -> NDArray[Any]:
    """(batch, positions, ...) of (tokens, ...), the reverse of `packed`: zeros behind the `lengths[b]` first positions."""
    ends = np.cumsum(lengths)
    x = np.zeros((lengths.shape[0], positions, *rows.shape[1:]), rows.dtype)
    for b in range(lengths.shape[0]):
        x[b, : lengths[b]] = rows[ends[b] - lengths[b] : ends[b]]
    return x


def packed_attention(
    query: Any, key: Any, value: Any, lengths: Any, heads: int = 1, scale: float | None = None
) -> NDArray[Any]:
    """softmax(query @ key.T * scale) @ value of each sequence and of each head, on rows: (tokens, heads * features).

    A head sees an equal part of the features. `scale` is 1 / sqrt(features of a head). There are scores of one sequence with
    itself only: as many as the sum of the squares of the lengths, for each head.
    """
    if scale is None:
        scale = 1 / float(np.sqrt(query.shape[1] // heads))
    ends = np.cumsum(lengths)
    mixed = np.zeros((query.shape[0], value.shape[1]), value.dtype)
    for b in range(lengths.shape[0]):
        first, end = ends[b] - lengths[b], ends[b]
        scores = _split(query[first:end], heads) @ np.swapaxes(_split(key[first:end], heads), 1, 2) * scale
        weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-np.inf))
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        own = weights @ _split(value[first:end], heads)
        mixed[first:end] = np.reshape(np.swapaxes(own, 0, 1), (own.shape[1], value.shape[1]))
    return mixed


def _split(rows: Any, heads: int) -> Any:
    """(heads, tokens, features of a head) of (tokens, heads * features)."""
    return np.swapaxes(np.reshape(rows, (rows.shape[0], heads, rows.shape[1] // heads)), 0, 1)
