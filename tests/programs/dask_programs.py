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


def smoothed(x, k):
    return x * k + x[::-1]


X = np.random.default_rng(7).standard_normal((23, 17))
W = np.random.default_rng(8).standard_normal((17, 6))

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], float]] = [
    *(
        (f, (X,), 0.0)
        for f in (chain, five_points, four_steps, nine_points, asymmetric, jacobi, place_of_largest)
    ),
    *((f, (X,), 0.0) for f in (image, with_positions, every_other, transposed, extrema, gradient_of_steps)),
    *(
        (f, (X,), 1e-13)
        for f in (anomaly, standardised, rows, share, softmax, running_sum, log_sum, masked_mean)
    ),
    *((f, (X,), 1e-13) for f in (loss, gradient, several, sums_of_parts)),
    (product, (X, W), 1e-13),
    (means_step, (X[:, :3].copy(), X[:4, :3].copy()), 1e-13),
    (smoothed, (X, 3), 0.0),
]
"""A program, its arguments, and by how much chunks may differ from the whole: sums and scans are added up otherwise."""

RAGGED, SMALL, SINGLE = "ragged", "smaller than the halo", "one element"
CHUNKS = {RAGGED: (7, 5, 1, 10), SMALL: 2, SINGLE: 1}
"""How the first axis of 23 is cut; others into chunks of 6, or of one where these are of one."""
