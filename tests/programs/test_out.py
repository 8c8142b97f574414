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


def of_a_sign(x):
    if len(x) == 0 or x[0] > 0:
        return x * 2
    return None


def some_or_none(x):
    total = x.sum()
    if total > 2:
        return total > 0, x * 2, x[::-1] + 1, x - 1
    if total > 0:
        return total > 0, x * 2, None, x - 1
    return total > 0, None, None, x - 1


def pair_or_none(x):
    if x.sum() > 0:
        return x * 2, x[::-1] + 1
    return None


def an_argument_or_none(x):
    if x.sum() > 100:
        return None
    return x if x.sum() > 0 else x * 3


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_function_that_may_return_none(target, dynamic):
    """Where it returns None the caller's array keeps its elements; else they are the result's."""
    for f in (of_a_sign, an_argument_or_none):
        compiled = nt.jit(f, target=target, dynamic=dynamic)
        for x in (
            np.arange(1.0, 4),
            -np.arange(1.0, 4),
            np.full(5, 90.0),
            np.array([-2.0]),
            np.array([np.nan, 1])[::-1],
        ):
            for buffer in (np.full(len(x), 7.0), np.full(2 * len(x), 7.0)[::-2]):
                before, want = x.copy(), f(x)
                result = compiled(x, out=buffer)
                assert (result is None) == (want is None) and (result is None or result is buffer)
                np.testing.assert_array_equal(buffer, 7.0 if want is None else want)
                np.testing.assert_array_equal(x, before)
    compiled, inside = nt.jit(of_a_sign, target=target, dynamic=dynamic), np.array([-1.0, 2.0])
    assert compiled(inside, out=inside) is None and inside.tolist() == [-1.0, 2.0]
    inside[0] = 1.0
    assert compiled(inside, out=inside) is inside and inside.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="the result is"):
        compiled(inside, out=np.zeros(3))


def test_several_results_that_may_be_none():
    compiled, pair = nt.jit(some_or_none), nt.jit(pair_or_none)
    for x in (np.arange(3.0), -np.arange(3.0), np.arange(4.0), np.array([0.5, 0.0])):
        flag, last = np.array(False), np.zeros(len(x))
        first, second = np.full(len(x), 7.0), np.full(len(x), 7.0)
        wanted = some_or_none(x)
        got = compiled(x, out=(flag, first, second, last))
        assert got[0] is flag and bool(flag) == wanted[0] and got[3] is last
        np.testing.assert_array_equal(last, x - 1)
        for k, buffer in ((1, first), (2, second)):
            want = wanted[k]
            assert got[k] is (None if want is None else buffer)
            np.testing.assert_array_equal(buffer, 7.0 if want is None else want)
        first[:], second[:], wanted = 7, 7, pair_or_none(x)
        got = pair(x, out=(first, second))
        assert got is None if wanted is None else (got[0] is first and got[1] is second)
        np.testing.assert_array_equal(
            (first, second), np.full((2, len(x)), 7.0) if wanted is None else wanted
        )
    with pytest.raises(ValueError, match="5 arrays for 4 results"):
        compiled(x, out=(flag, first, second, last, last))
