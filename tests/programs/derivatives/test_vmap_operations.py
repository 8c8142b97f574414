"""nt.vmap of each kind of operation does what a Python loop over slices does."""

import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slices import assert_same, in_loop

TOLERANCE = 1e-12


def numbers(*shape, kind="f8", seed=0):
    generator = np.random.default_rng(seed + sum(shape))
    if np.dtype(kind).kind in "iu":
        return generator.integers(0, 4, shape).astype(kind)
    if np.dtype(kind).kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(kind)
    return generator.standard_normal(shape).astype(kind)


X, W, A = numbers(5, 4), numbers(4), numbers(5, 3, 4)
SQUARES, K = numbers(5, 3, 3), numbers(5, kind="i8")


def prefix(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + x[i - 1]
    return y


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = np.exp(x)
    return y


def branch_of_integers(k, x):
    if k == 0:
        return x + 1
    if k == 1:
        return x * x
    return -x


def guarded_branch(x, k):
    if k < 3:
        return x[k + 1]
    return x[0]


def collatz(k):
    n = 0
    while k > 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        n += 1
    return n


def halved(x):
    s = np.abs(x).sum()
    turns = 0
    while s > 0.1:
        s = s * 0.5
        turns = turns + 1
    return s, turns


def smoothed(x):
    y = x.copy()
    turns = 0
    while np.abs(y).sum() > 0.5:
        y[1:] = y[:-1] * 0.5
        y[0] *= 0.4
        turns += 1
    return y, turns


def newton(x):
    y = x
    for _ in range(6):
        y = y - (y * y - 2) / (2 * y)
    return y


def recurrent(h, ws):
    for t in range(3):
        h = np.tanh(ws[t] * h)
    return h


def partial_sum(x, k):
    s = 0.0
    for i in range(k):
        s += x[i]
    return s


def filled(x, k):
    y = x.copy()
    while k < 4:
        y[k] = k
        k = k + 1
    return y


def mutated(x, k):
    y = x.copy()
    y[k] = 9.0
    y[1:] += y[:-1]
    y[y > 1] = -1
    return y


def swapped(x):
    a, b = x, x + 1
    for _ in range(3):
        a, b = b, a + b
    return a, b


def counted(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


def largest(x):
    best, where = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, where = x[i], i
    return best, where


CASES = {
    "elementwise": (lambda x, w: np.where(x > w, np.sin(x), -w) + np.maximum(x, 0), (X, W), (0, None)),
    "integers": (lambda k: (k % 3 + k // 2, k << 1, k > 1, ~k), (K,), 0),
    "comparison": (lambda x, y: (x < y, np.isnan(x), np.clip(x, -1, 1)), (X, X[::-1]), 0),
    "complex": (lambda z: (np.abs(z), z * z.conj(), z.real), (numbers(5, 3, kind="c16"),), 0),
    "cast": (lambda x: (x.astype("f4"), x.astype("i8"), x > 0), (X,), 1),
    "broadcast": (lambda x, w: x[:, None] * w + w[None], (X, W), (0, None)),
    "transpose": (lambda a: (a.T, a.swapaxes(0, 1).copy()), (A,), 2),
    "reshape": (lambda a: (a.reshape(-1), a.reshape(2, 6), a.ravel()), (A,), 0),
    "slice": (lambda x: (x[1:], x[::-1], x[::2], x[-1], x[1:3][None]), (X,), 0),
    "join": (lambda x, w: (np.concatenate([x, w]), np.stack([x, w], 1), np.pad(x, 1)), (X, W), (0, None)),
    "reduce": (lambda a: (a.sum(), a.max(0), a.prod(1), a.mean(), a.var(), a.any(), a.min()), (A,), 0),
    "argmax": (lambda x: (np.argmax(x), np.argmin(x)), (X,), 0),
    "scan": (lambda x: (np.cumsum(x), np.cumprod(x)), (X,), 0),
    "scan 2": (lambda a: np.cumsum(a, 0), (A,), 1),
    "dot": (lambda x, w: x @ w, (X, W), (0, None)),
    "dot 2": (lambda x, y: x @ y, (X, X), (0, 0)),
    "matrix by vector": (lambda a, w: a @ w, (A, W), (0, None)),
    "matrix by vectors": (lambda a, x: a @ x, (A[0], X), (None, 0)),
    "matrices": (lambda a, b: a @ b, (A, numbers(4, 5)), (0, None)),
    "matrices 2": (lambda a, b: a @ b, (A[0], numbers(5, 4, 6)), (None, 0)),
    "matrices 3": (lambda a, b: a @ b.T, (A, A), (0, 0)),
    "matrices of halves": (lambda a, b: a @ b, (A.astype("f2"), numbers(4, 5, kind="f2")), (0, None)),
    "einsum": (
        lambda a, b: np.einsum("bij,bjk->bik", a, b),
        (numbers(2, 5, 3, 4), numbers(2, 4, 3)),
        (1, None),
    ),
    "einsum 2": (
        lambda a, b: np.einsum("bij,bjk->bik", a, b),
        (numbers(2, 3, 4), numbers(2, 5, 4, 3)),
        (None, 1),
    ),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum(1), (X,), 0),
    "convolution": (lambda x, w: np.convolve(x, w, "same"), (X, W[:3]), (0, None)),
    "creation": (lambda x: x + np.arange(4) + np.ones(4) + np.eye(4)[1], (X,), 0),
    "gather": (lambda x, k: (x[k], x[[0, 2]], np.take(x, k)), (X, np.stack([K, K], 1) % 4), 0),
    "gather of one": (lambda x, k: x[k], (W, K), (None, 0)),
    "window of each": (lambda x, k: x[k : k + 2].sum() if k < 2 else x[0], (X, K), 0),
    "row of a table": (lambda t, k: t[k], (A[:, 0], K), (None, 0)),
    "mask": (lambda x: x[x > 0].sum(), (X,), 0),
    "sort": (lambda x: (np.sort(x), np.argsort(x)), (X,), 0),
    "sort 2": (lambda a: (np.sort(a, 0), np.sort(a, axis=-1)), (A,), 0),
    "inv": (lambda a: (np.linalg.inv(a), np.linalg.det(a)), (SQUARES,), 0),
    "solve": (lambda a, b: np.linalg.solve(a, b), (SQUARES, numbers(3, 5)), (0, 1)),
    "solve 2": (lambda a, b: np.linalg.solve(a, b), (SQUARES[0], numbers(5, 3)), (None, 0)),
    "solve 3": (lambda a, b: np.linalg.solve(a, b), (SQUARES, numbers(5, 3, 2)), 0),
    "eigh": (lambda a: np.linalg.eigvalsh(a + a.T), (SQUARES,), 0),
    "fft": (lambda x: np.abs(np.fft.fft(x)), (X,), 0),
    "bincount": (lambda k: np.bincount(k, minlength=5), (numbers(5, 7, kind="i8"),), 0),
    "median": (lambda x: np.median(x), (X,), 0),
    "searchsorted": (lambda x, v: np.searchsorted(np.sort(x), v), (X, W), (0, None)),
    "loop over elements": (prefix, (X,), 1),
    "branch": (branch, (X,), 0),
    "branch of integers": (branch_of_integers, (K, X), 0),
    "guarded branch": (guarded_branch, (X, K), 0),
    "while": (halved, (X,), 0),
    "while of updates": (smoothed, (X,), 0),
    "while of integers": (collatz, (K + 3,), 0),
    "for": (newton, (np.abs(X),), 0),
    "for of whole weights": (recurrent, (X, A[0]), (0, None)),
    "for of own weights": (recurrent, (W, A), (None, 0)),
    "trip count": (partial_sum, (X, K), 0),
    "trip count of one": (partial_sum, (W, K), (None, 0)),
    "fill": (filled, (X, K), 0),
    "mutate": (mutated, (X, K), 0),
    "swap": (swapped, (X,), 0),
    "count": (counted, (X,), 0),
    "search": (largest, (X,), 0),
    "softmax": (lambda x: (nt.nn.softmax(x), nt.nn.log_softmax(x, axis=0)), (A,), 0),
    "layer_norm": (lambda x, w: nt.nn.layer_norm(x, w), (A, W), (0, None)),
    "layer_norm 2": (lambda x, w: nt.nn.layer_norm(x, w), (A, X), 0),
    "attention": (lambda q, k, v: nt.nn.attention(q, k, v), (A, A + 1, A - 1), 0),
    "attention 2": (lambda q, k, v: nt.nn.attention(q, k, v), (A, A[0], A[1]), (0, None, None)),
    "gelu": (lambda x: nt.nn.gelu(x), (X,), 0),
    "random": (lambda k: nt.random.normal(k, (3,)), (np.arange(5),), 0),
    "dropout of one key": (lambda x: x * nt.random.uniform(3, x.shape, np.float64), (X,), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    function, arguments, in_axes = CASES[name]
    want = in_loop(function, arguments, in_axes)
    tolerance = 2e-3 if arguments[0].dtype == np.float16 else 1e-9
    assert_same(nt.vmap(function, in_axes)(*arguments), want, tolerance)
