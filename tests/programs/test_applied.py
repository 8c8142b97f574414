"""NumPy's functions that call functions of the program, and its loops over indices, against NumPy."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X, Y = np.arange(12.0).reshape(3, 4) - 5, np.array([3.0, 1, 2, 4])
TARGETS = pytest.mark.parametrize("target", ["cpu", "interp"])


def stepped(v, w=2.0):
    if v > 1:
        return v * w
    return 0.5


def summed(v):
    total = 0
    for k in range(5):
        total += k * v
    return total, v > 0


wide = np.vectorize(stepped)
narrow = np.vectorize(stepped, otypes=["f4"])


def vectorized(x, y, n):
    total = np.zeros(4)
    for k in range(n):
        total += np.vectorize(stepped)(x[0]) * k
    plus_one = np.vectorize(lambda v: v + 1)
    return wide(x), narrow(x), wide(x, y), np.vectorize(summed)(x), plus_one(y), wide(2.0), total


@TARGETS
def test_vectorize(target):
    agrees(vectorized, X, Y, 3, target=target)
    agrees(vectorized, X.astype("i4"), Y[::-1], 3, target=target)


def along_axes(x, z, n):
    return (
        np.apply_along_axis(np.sum, 1, x),
        np.apply_along_axis(lambda r: r * 2, 0, x),
        np.apply_along_axis(lambda r: r.max() - r.min(), 0, x),
        np.apply_along_axis(np.mean, 0, x[0]),
        np.apply_along_axis(lambda r, a, b=1: r.sum() * a + b, 1, x, 2.0, b=n),
        np.apply_along_axis(np.cumsum, -1, x),
        np.apply_along_axis(np.sort, 0, x),
        np.apply_along_axis(lambda r: np.outer(r, r), 1, x),
        np.apply_along_axis(np.sum, 1, z),
        np.apply_along_axis(lambda r: r[::-1], 0, z),
        np.apply_over_axes(np.sum, x, [0, 1]),
        np.apply_over_axes(np.max, x, 0),
    )


def test_apply_along_axis():
    agrees(along_axes, X, np.arange(24.0).reshape(2, 3, 4), 3)
    agrees(along_axes, np.asfortranarray(X), np.arange(24).reshape(2, 3, 4)[::-1], 3)


def made(x):
    return (
        np.fromfunction(lambda i, j: i * 10 + j, (3, 4)),
        np.fromfunction(lambda i, j: i == j, (3, 3), dtype=int),
        np.fromfunction(lambda i: x[0] + i, (4,)),
    )


def test_fromfunction():
    agrees(made, X)


def pieces(x, y):
    return (
        np.piecewise(y, [y < 2, y >= 3], [-1, lambda v: v * v, 0.5]),
        np.piecewise(x, [x < 0], [lambda v: -v, lambda v: v * 10]),
        np.piecewise(y, y < 2, [np.sqrt, 1]),
    )


def test_piecewise():
    agrees(pieces, X, Y)
    agrees(pieces, X.astype("i8"), Y.astype("f4"))


def over_indices(x, y):
    out, total = np.zeros_like(x), 0.0
    for i, j in np.ndindex(x.shape):
        out[i, j] = x[i, j] * j
    for i, j in np.ndindex(3, 4):
        out[i, j] += i
    for (i, _), v in np.ndenumerate(x):
        total += v * i
    for k, v in np.ndenumerate(y):
        total += v * k[0]
    for index in np.ndindex(2, 2):
        out[index] += 1
    return out, total


@TARGETS
def test_loops_over_indices(target):
    agrees(over_indices, X, Y, target=target)
    agrees(over_indices, X.T.copy().T, Y, target=target)


def written_apart(x, n):
    part, table = np.s_[1:3], {(1, 2): 3.0, "k": 2.0}
    x[np.s_[0, ::2]] = 0
    return (
        x[np.s_[1:3, ::2]] + 0,
        x[part] + 0,
        x[np.index_exp[0]] + 0,
        table[1, 2] + table["k"],
        "abc"[1:] == "bc",
    )


def test_subscripts_written_apart():
    agrees(written_apart, X, 3)


def keywords(x):
    return wide(v=x)


def signature(x):
    return np.vectorize(stepped, signature="(n)->()")(x)


def none(x):
    return wide(x[:0])


def too_few(x):
    return np.piecewise(x, [x < 0, x > 1], [1])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (keywords, "keywords for a vectorized function"),
        (signature, "signature= is not supported"),
        (none, "size 0 inputs"),
        (too_few, "either 2 or 3 functions are expected"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(X[0])
