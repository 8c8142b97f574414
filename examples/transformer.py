"""An encoder of a transformer: attention with a mask of the padding, a feed-forward part, normalised before each.

`encode` works on padded arrays, `encode_rows` on the tokens that there are: norms, products and activations go over the
rows of all sequences, one after the other, and each sequence attends to itself alone. `python examples/transformer.py`
compares them.
"""

from collections.abc import Callable, Sequence
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


def encode_rows(layer: Encoder, rows: Array, lengths: NDArray[np.int64], heads: int = 2) -> Array:
    """A layer on `rows` (tokens, width), the `lengths` of the sequences one after the other."""
    y = nn.layer_norm(rows, layer.scale1, layer.shift1)
    query, key, value = y @ layer.queries, y @ layer.keys, y @ layer.values
    rows = rows + nn.packed_attention(query, key, value, lengths, heads) @ layer.joined
    y = nn.layer_norm(rows, layer.scale2, layer.shift2)
    result: Array = rows + nn.gelu(y @ layer.up + layer.up_bias) @ layer.down + layer.down_bias
    return result


def encode_ragged(
    layers: Sequence[Encoder],
    x: Array,
    lengths: NDArray[np.int64],
    heads: int = 2,
    layer: Callable[[Encoder, Array, NDArray[np.int64], int], Array] = encode_rows,
) -> Array:
    """`x` (batch, positions, width) through all layers, zeros behind the first `lengths` positions of each."""
    rows = nn.packed(x, lengths)
    for weights in layers:
        rows = layer(weights, rows, lengths, heads)
    return nn.unpacked(rows, lengths, x.shape[1])


def main() -> None:
    import time

    import nestor as nt

    rng = np.random.default_rng(0)
    heads, positions, width = 4, 128, 128
    layers = [make_encoder(rng, width, 4 * width) for _ in range(3)]
    lengths = np.minimum(positions, rng.lognormal(3, 1, 16).astype(np.int64) + 1)
    x = rng.standard_normal((16, positions, width)).astype(np.float32)
    on_rows = nt.jit(encode_rows, static_argnames="heads")
    padded = nt.jit(encode, static_argnames="heads")

    def whole(x: Array) -> Array:
        for weights in layers:
            x = padded(weights, x, lengths, heads)
        return x

    keep = np.arange(positions) < lengths[:, None]
    ragged, full = encode_ragged(layers, x, lengths, heads, on_rows), whole(x)
    print(f"{lengths.sum()} tokens of {keep.size}, largest difference {abs(ragged - full)[keep].max():.1e}")

    def skipping(x: Array) -> Array:
        return encode_ragged(layers, x, lengths, heads, on_rows)

    for name, call in (("padded", whole), ("ragged", skipping)):
        start = time.perf_counter()
        for _ in range(10):
            call(x)
        print(f"{name}: {100 * (time.perf_counter() - start):.1f} ms")


if __name__ == "__main__":
    main()
