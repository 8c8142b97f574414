"""An encoder layer of a transformer: attention with a mask of the padding, a feed-forward part, normalised before each."""

from typing import NamedTuple

import numpy as np
from nestor import nn


class Encoder(NamedTuple):
    """The weights of a layer: `width` features, of which each of `heads` sees an equal part."""

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    joined: np.ndarray
    up: np.ndarray
    up_bias: np.ndarray
    down: np.ndarray
    down_bias: np.ndarray
    scale1: np.ndarray
    shift1: np.ndarray
    scale2: np.ndarray
    shift2: np.ndarray


def make_encoder(rng, width, hidden, dtype=np.float32):
    """Weights at random."""

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(dtype)

    square = [matrix(width, width) for _ in range(4)]
    feed = matrix(width, hidden), np.zeros(hidden, dtype), matrix(hidden, width), np.zeros(width, dtype)
    ones, zeros = np.ones(width, dtype), np.zeros(width, dtype)
    return Encoder(*square, *feed, ones, zeros, ones.copy(), zeros.copy())


def split_heads(x, heads):
    """(batch, positions, features) to (batch, heads, positions, features / heads)."""
    batch, positions, width = x.shape
    return np.swapaxes(np.reshape(x, (batch, positions, heads, width // heads)), 1, 2)


def encode(layer, x, lengths, heads=2):
    """`x` (batch, positions, width), of which the first `lengths` positions of each are real."""
    keep = np.arange(x.shape[1]) < lengths[:, None]
    y = nn.layer_norm(x, layer.scale1, layer.shift1)
    query, key, value = y @ layer.queries, y @ layer.keys, y @ layer.values
    mixed = nn.attention(
        split_heads(query, heads), split_heads(key, heads), split_heads(value, heads), keep[:, None, None, :]
    )
    x = x + np.reshape(np.swapaxes(mixed, 1, 2), x.shape) @ layer.joined
    y = nn.layer_norm(x, layer.scale2, layer.shift2)
    return x + nn.gelu(y @ layer.up + layer.up_bias) @ layer.down + layer.down_bias
