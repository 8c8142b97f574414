"""Programs on arrays that may be in chunks, as people write them, with how exactly chunks agree with the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nestor as nt
import numpy as np


def chain(x):
    return np.sqrt(np.abs(x)) * 2 + 1


def anomaly(x):
    return x - x.mean(0)


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


def rows(x):
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


def share(x):
    return x / np.abs(x).sum()


def softmax(x):
    return nt.nn.softmax(x, 1)


def five_points(x):
    y = x.copy()
    y[1:-1, 1:-1] = (x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) / 5
    return y


def four_steps(x):
    for _ in range(4):
        x = five_points(x)
    return x


def nine_points(x):
    y = x.copy()
    y[1:-1, 1:-1] = (
        x[:-2, :-2]
        + x[:-2, 1:-1]
        + x[:-2, 2:]
        + x[1:-1, :-2]
        + x[1:-1, 2:]
        + x[2:, :-2]
        + x[2:, 1:-1]
        + x[2:, 2:]
    ) / 8
    return y


def asymmetric(x):
    return x[3:] - x[:-3] * 2


def jacobi(x):
    a = x.copy()
    b = x.copy()
    for _ in range(2):
        b[1:-1, 1:-1] = (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]) / 4
        a[1:-1, 1:-1] = (b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2]) / 4
    return a


def running_sum(x):
    return np.cumsum(x, axis=0)


def running_results(x):
    """What is before a chunk: along both axes, read at a distance, reversed, after a reduction and before one."""
    c = np.cumsum(x - x.mean(0), axis=0)
    d = np.cumsum(np.abs(x)[::-1], axis=0)[::-1]
    return c[3:] - c[:-3], d, np.cumprod(x, axis=1).max(0), np.cumsum(np.cumsum(x, 1), 0)


def running_extrema(x):
    return np.maximum.accumulate(x, axis=0), np.cumsum(x > 0, axis=1), np.minimum.accumulate(x[:, 0])


def place_of_largest(x):
    return x.argmax(0)


def log_sum(x):
    return nt.nn.logsumexp(x, 0)


def image(x):
    g = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
    g = (g[:, :-2] + 2 * g[:, 1:-1] + g[:, 2:]) / 4
    return np.clip((g - g.min()) / (g.max() - g.min()), 0.1, 0.9)


def masked_mean(x):
    positive = x > 0
    return np.where(positive, x, 0).sum(0) / np.maximum(positive.sum(0), 1)


def with_positions(x):
    return x + np.arange(x.shape[0])[:, None] * 10 + np.arange(x.shape[1])


def every_other(x):
    return x[::2] * 2 + x[1::2][:1]


def transposed(x):
    return x.T + 1


def extrema(x):
    return x.max(), x.min(1)


def loss(x):
    return ((x - x.mean(0)) ** 2).sum()


def gradient(x):
    return nt.grad(loss)(x)


def gradient_of_steps(x):
    return nt.grad(lambda x: (five_points(x) ** 2).sum())(x)


def several(x):
    return x.mean(0), x - x.max(0), np.sin(x)


def place_in_rows(x):
    return x.argmax(1), x.argmin(), np.abs(x).argmax(0)


def rolled(x):
    return np.roll(x, (3, -2), (0, 1)) + np.roll(x, -1, 0)


def reversed_steps(x):
    return x[::-3, ::2] - x[-1:2:-3, 1::2].max() + x[1, ::2], np.flip(x, 1) * x[:, :1]


def borders(x):
    y = x * 1.0
    y[0], y[-1] = 0.5, x[1]
    y[:, 2] = x[:, -1]
    y[0, 0] = x[-1, -1]
    z = y.copy()
    z[1:-1] = (y[:-2] + y[2:]) / 2
    return z


def sums_of_parts(x):
    """Loops that are longer than their inputs, begin later, or take every other row."""
    return np.concatenate([x, x[:5] * 2]).sum(0) + x[::2].sum(0) + x[3:-2].sum(0), x[::-1].max(0)


def product(x, w):
    return np.tanh(x @ w)


def means_step(x, centers):
    distances = ((x[:, None, :] - centers[None, :, :]) ** 2).sum(-1)
    nearest = distances.argmin(1)
    belongs = (nearest[:, None] == np.arange(centers.shape[0])[None, :]).astype(x.dtype)
    return (belongs.T @ x) / np.maximum(belongs.sum(0), 1)[:, None]


def histogram(x):
    """Updates of elements that are looked up, in a loop."""
    bins = np.clip(np.floor(x * 2), -4, 3).astype(np.int64)
    counts = np.zeros(8, dtype=np.int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            counts[bins[i, j]] += i + 1
    return counts


def largest_of_bins(x):
    largest = np.full(8, -np.inf)
    np.maximum.at(largest, np.clip(np.floor(x * 2), -4, 3).astype(np.int64), x)
    return largest


def histogram_of_rows(x):
    bins = np.clip(np.floor(x * 2), -4, 3).astype(np.int64)
    counts = np.zeros((x.shape[0], 8), dtype=np.int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            counts[i, bins[i, j]] += 1
    return counts


def looked_up(x, w):
    """Elements at places that are computed: all of the table, and the places of the box."""
    return w[np.clip(np.abs(x * 5), 0, 16).astype(np.int64), 1] - x


def random_mask(x, key):
    return np.where(nt.random.uniform(key, x.shape) < 0.7, x, 0) / 0.7


def one_sided(x, steps):
    """Steps that look ahead by one and two: 1 to 4 of them."""
    for _ in range(steps):
        y = x.copy()
        y[:-2] = x[:-2] - 0.5 * (x[1:-1] - x[2:])
        x = y
    return x


def one_sided_1(x):
    return one_sided(x, 1)


def one_sided_2(x):
    return one_sided(x, 2)


def one_sided_3(x):
    return one_sided(x, 3)


def one_sided_4(x):
    return one_sided(x, 4)


def layer_norm(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def whole_norm(x):
    return (x - x.mean()) / x.std()


def product_chain(x, w):
    return np.tanh(x @ w) @ (w.T @ w)


def gradient_of_running_sum(x):
    return nt.grad(lambda x: (np.cumsum(x, axis=0) ** 2).sum())(x)


def smoothed(x, k):
    return x * k + x[::-1]


X = np.random.default_rng(7).standard_normal((23, 17))
W = np.random.default_rng(8).standard_normal((17, 6))

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], float]] = [
    *(
        (f, (X,), 0.0)
        for f in (chain, five_points, four_steps, nine_points, asymmetric, jacobi, place_of_largest)
    ),
    *((f, (X,), 0.0) for f in (place_in_rows, rolled, reversed_steps, borders, running_extrema)),
    *((f, (X,), 0.0) for f in (one_sided_1, one_sided_2, one_sided_3, one_sided_4)),
    *((f, (X,), 0.0) for f in (histogram, histogram_of_rows, largest_of_bins)),
    *((f, (X,), 1e-12) for f in (layer_norm, whole_norm, gradient_of_running_sum)),
    (looked_up, (X, W), 0.0),
    (product_chain, (X, W), 1e-12),
    *((f, (X,), 0.0) for f in (image, with_positions, every_other, transposed, extrema, gradient_of_steps)),
    *(
        (f, (X,), 1e-13)
        for f in (anomaly, standardised, rows, share, softmax, running_sum, log_sum, masked_mean)
    ),
    *((f, (X,), 1e-13) for f in (loss, gradient, several, sums_of_parts)),
    (running_results, (X,), 1e-12),
    (product, (X, W), 1e-13),
    (means_step, (X[:, :3].copy(), X[:4, :3].copy()), 1e-13),
    (smoothed, (X, 3), 0.0),
    (random_mask, (X, 11), 0.0),
]
"""A program, its arguments, and by how much chunks may differ from the whole: sums and scans are added up otherwise."""

RAGGED, SMALL, SINGLE = "ragged", "smaller than the halo", "one element"
CHUNKS = {RAGGED: (7, 5, 1, 10), SMALL: 2, SINGLE: 1}
"""How the first axis of 23 is cut; others into chunks of 6, or of one where these are of one."""
