"""An encoder layer of a transformer: attention with a mask of the padding, a feed-forward part, normalised before each."""

from typing import NamedTuple

import numpy as np
from nestor import nn
from numpy.typing import NDArray

Array = NDArray[np.floating]


class Encoder(NamedTuple):
    """The weights of a layer: `width` features, of which each of `heads` sees an equal part."""

    queries: Array
    keys: Array
    values: Array
    joined: Array
    up: Array
    up_bias: Array
    down: Array
    down_bias: Array
    scale1: Array
    shift1: Array
    scale2: Array
    shift2: Array


def make_encoder(
    rng: np.random.Generator, width: int, hidden: int, dtype: type[np.floating] = np.float32
) -> Encoder:
    """Weights at random."""

    def matrix(rows: int, columns: int) -> Array:
        entries: Array = rng.standard_normal((rows, columns)) / np.sqrt(rows)
        return entries.astype(dtype)

    ones, zeros = np.ones(width, dtype), np.zeros(width, dtype)
    return Encoder(
        queries=matrix(width, width),
        keys=matrix(width, width),
        values=matrix(width, width),
        joined=matrix(width, width),
        up=matrix(width, hidden),
        up_bias=np.zeros(hidden, dtype),
        down=matrix(hidden, width),
        down_bias=zeros.copy(),
        scale1=ones,
        shift1=zeros,
        scale2=ones.copy(),
        shift2=zeros.copy(),
    )


def split_heads(x: Array, heads: int) -> Array:
    """(batch, positions, features) to (batch, heads, positions, features / heads)."""
    batch, positions, width = x.shape
    return np.swapaxes(np.reshape(x, (batch, positions, heads, width // heads)), 1, 2)


def encode(layer: Encoder, x: Array, lengths: NDArray[np.int64], heads: int = 2) -> Array:
    """`x` (batch, positions, width), of which the first `lengths` positions of each are real."""
    positions: int = x.shape[1]
    keep = np.arange(positions) < lengths[:, None]
    y = nn.layer_norm(x, layer.scale1, layer.shift1)
    query, key, value = y @ layer.queries, y @ layer.keys, y @ layer.values
    mixed = nn.attention(
        split_heads(query, heads), split_heads(key, heads), split_heads(value, heads), keep[:, None, None, :]
    )
    x = x + np.reshape(np.swapaxes(mixed, 1, 2), x.shape) @ layer.joined
    y = nn.layer_norm(x, layer.scale2, layer.shift2)
    x = x + nn.gelu(y @ layer.up + layer.up_bias) @ layer.down + layer.down_bias
    return x
