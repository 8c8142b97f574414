"""`out=` of functions and methods, and the keywords of ufuncs, against NumPy."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(12.0).reshape(3, 4) - 5


def reduced(x, rows, columns, total):
    a = np.sum(x, axis=0, out=columns)
    b = x.mean(axis=1, out=rows)
    np.cumsum(x, axis=1, out=x)
    np.max(x, out=total)
    np.argmax(x, axis=0, out=np.zeros(4, dtype=np.int64))
    return a + 1, b.sum(), x.cumprod(axis=0)[-1] + 0


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_reductions_into_arrays(target):
    agrees(reduced, X, np.zeros(3), np.zeros(4), np.array(0.0), target=target)
    agrees(reduced, np.asfortranarray(X), np.zeros(6)[::2], np.zeros(4)[::-1], np.array(0.0), target=target)


def made(x, y, z):
    np.dot(x, y, out=z)
    np.clip(x, -1, 2, out=x)
    np.round(x, 1, out=x)
    w = np.empty((6, 4))
    np.concatenate([x, x], out=w)
    s = np.empty((2, 3, 4))
    np.stack([x, x * 2], out=s)
    t = np.take(x, [0, 2], axis=0, out=w[:2])
    return w, s, t.sum(), np.nansum(x, axis=1, out=np.empty(3))


def test_other_functions_into_arrays():
    agrees(made, X, X.T.copy(), np.zeros((3, 3)), tolerance=1e-12)


def into_overlap(x):
    np.cumsum(x[:-1], out=x[1:])
    return x


def test_out_overlaps_the_operand():
    x = np.arange(6.0)
    want = np.concatenate([x[:1], np.cumsum(x[:-1])])
    np.testing.assert_array_equal(nt.jit(into_overlap)(x), want)


def keywords(x, k):
    out = np.zeros(x.shape, np.int32)
    np.add(x, 1.5, out=out, casting="unsafe")
    return (
        out,
        np.add(x, k, dtype=np.int64, casting="unsafe"),
        np.multiply(x, 2, order="F"),
        np.sqrt(k, dtype=np.float32, casting="unsafe"),
        np.exp2(k, subok=True, order="C"),
        np.negative(x.T, order="A"),
    )


def test_keywords_of_ufuncs():
    agrees(keywords, X, np.arange(12).reshape(3, 4))


def other_shape(x):
    return np.sum(x, axis=0, out=np.zeros(3))


def other_type(x):
    return np.max(x, axis=0, out=np.zeros(4, np.float32))


def no_array(x):
    return np.sum(x, axis=0, out=3)


def unsafe(x):
    return np.add(x, x, dtype=np.float32, casting="safe")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (other_shape, r"out= has shape \(3,\), the result \(4,\)"),
        (other_type, "out= has element type float32, the result float64"),
        (no_array, "out= needs an array"),
        (unsafe, "casting rule 'safe'"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(X)
