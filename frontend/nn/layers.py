"""Attention, embeddings, dropout and the cross entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .activations import log_softmax, softmax
from .composites import composite
from .random import uniform


def one_hot(ids: Any, n: int, dtype: Any = np.float32) -> NDArray[Any]:
    """A new last axis of `n`: 1 where it equals the id, else 0."""
    return (np.expand_dims(ids, -1) == np.arange(n)).astype(dtype)


def embedding(table: Any, ids: Any) -> NDArray[Any]:
    """The rows of `table` that `ids` name."""
    return table[ids]


def dropout(x: Any, p: float, key: Any) -> NDArray[Any]:
    """Elements are 0 with probability `p`; the others grow by 1 / (1 - p). `p` is a number, `key` as in nt.random."""
    if p == 0:
        return x
    kept = uniform(key, x.shape, np.float32) >= p
    return np.where(kept, x * (1 / (1 - p)), 0)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean of -log softmax(logits)[label]; classes are the last axis, labels integers of the other axes' shape."""
    classes = np.arange(logits.shape[-1])
    chosen = np.where(np.expand_dims(labels, -1) == classes, log_softmax(logits), 0)
    return -np.mean(np.sum(chosen, axis=-1))


@composite
def attention(query: Any, key: Any, value: Any, mask: Any = None, scale: float | None = None) -> NDArray[Any]:
    """softmax(query @ key.T * scale + mask) @ value over the last two axes: (..., positions, features).

    A mask of booleans says which keys count; one of numbers is added to the scores. `scale` is 1 / sqrt(features).
    """
    if scale is None:
        scale = 1 / float(np.sqrt(query.shape[-1]))
    scores = (query @ np.swapaxes(key, -1, -2)) * scale
    if mask is not None:
        if mask.dtype == np.bool_:
            scores = np.where(mask, scores, -np.inf)
        else:
            scores = scores + mask
    return softmax(scores) @ value
