"""What rows that ask for gradients compute, by formulas, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def conv_gradients(x: Any, w: Any, cotangent: Any) -> tuple[Any, Any]:
    """Of a convolution with a border of 1, (b, c, i, j) and (k, c, u, v), by the image and by the weights."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    by_padded, by_weights = np.zeros_like(padded), np.zeros_like(w)
    rows, columns = cotangent.shape[2:]
    for u in range(w.shape[2]):
        for v in range(w.shape[3]):
            place = (slice(None), slice(None), slice(u, u + rows), slice(v, v + columns))
            by_weights[:, :, u, v] = np.tensordot(cotangent, padded[place], ((0, 2, 3), (0, 2, 3)))
            by_padded[place] += np.moveaxis(np.tensordot(cotangent, w[:, :, u, v], (1, 0)), 3, 1)
    return by_padded[:, :, 1:-1, 1:-1], by_weights


def attention_gradients(q: Any, k: Any, v: Any, cotangent: Any) -> tuple[Any, Any, Any]:
    """Of softmax(q k.T / sqrt(d)) v, over the last two axes, by q, k and v."""
    scale = 1 / np.sqrt(q.shape[-1])
    scores = (q @ np.swapaxes(k, -1, -2)) * scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    by_weights = cotangent @ np.swapaxes(v, -1, -2)
    by_scores = weights * (by_weights - (by_weights * weights).sum(-1, keepdims=True)) * scale
    return by_scores @ k, np.swapaxes(by_scores, -1, -2) @ q, np.swapaxes(weights, -1, -2) @ cotangent


def training_step(x: Any, wanted: Any, w: Any, b: Any, u: Any, c: Any) -> tuple[Any, ...]:
    """Parameters of two layers, the first one with maximum(., 0), after a step of 0.1 down the mean of squared errors."""
    before = x @ w + b
    hidden = np.maximum(before, 0)
    by_output = 2 * (hidden @ u + c - wanted) / wanted.size
    by_before = (by_output @ u.T) * (before > 0)
    gradients = (x.T @ by_before, by_before.sum(0), hidden.T @ by_output, by_output.sum(0))
    return tuple(p - 0.1 * g for p, g in zip((w, b, u, c), gradients, strict=True))
