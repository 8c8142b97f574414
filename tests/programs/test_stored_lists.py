"""Lists that are stored in arrays, arrays of rank 0 as indices, `out=` of another type, `np.ndarray(shape)`."""

import nestor as nt
import numpy as np
import pytest

X = np.arange(9.0).reshape(3, 3)


def lists(x):
    x[0] = [1, 2, 3]
    x[1:] = [[4, 5, 6], [7, 8, 9.5]]
    return x


def computed(x):
    x[0] = (1, x[1, 1], x.sum())
    x[:, 1] = range(3)
    x[2] = [x[0, 0]] * 3
    return x


def of_rows(x):
    x[1:] = [x[0], x[0] * 2]
    x[...] = [[1], [x[1, 1]], [3]]
    return x


def in_a_loop(x):
    for i in range(3):
        x[i] = [i, x[i, 0], 7]
    return x


def by_masks_and_arrays(x):
    x[np.array([0, 2])] = [[1, 2, 3], [4, 5, 6]]
    x[x[:, 0] > 3] = [9, 8, 7]
    return x


def indices(x):
    i, j = np.array(1), np.asarray(2)
    x[i] = 5
    x[i, j] += 1
    row = x[i]
    row[0] = 100
    part = x[..., i]
    part[0] = 200
    return row, part, x[j, 1:], x[i, j], x[i:j]


def made(x):
    y = np.ndarray((2, 3))
    y[:] = x[:2]
    z = np.ndarray(3, dtype=np.int32)
    z[...] = 4
    return y, z


def into_other_types(x):
    y, z = np.zeros(3, "f4"), np.zeros(3)
    np.add(x[0], 1, out=y)
    np.multiply(y, 2, out=z)
    np.sqrt(np.abs(x[1]), out=y)
    return y, z


def totals_of_other_types(x):
    y, z = np.zeros(3, "f4"), np.zeros(3, "f4")
    x.sum(axis=0, out=y)
    np.cumsum(x[1], out=z)
    return y, z, np.prod(x + 1, axis=1, out=np.zeros(3, "f4"))


FUNCTIONS = [
    lists, computed, of_rows, in_a_loop, by_masks_and_arrays, indices, made, into_other_types, totals_of_other_types,
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_numpy_does(function, target):
    compiled = nt.jit(function, target=target)
    for x in (X, X[::-1] * 0.5, X.astype("f4"), X.astype("i4")):
        if x.dtype.kind == "i" and function in (into_other_types, totals_of_other_types):
            continue
        ours, theirs = x.copy(), x.copy()
        found, expected = compiled(ours), function(theirs)
        np.testing.assert_array_equal(ours, theirs)
        found, expected = [one if isinstance(one, tuple) else (one,) for one in (found, expected)]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def index_that_is_passed(x, i):
    return x[i], x[i, 1:]


def test_an_index_of_rank_0_that_is_passed():
    compiled = nt.jit(index_that_is_passed)
    for i in (1, 0, -1, 2):
        for a, b in zip(compiled(X, np.array(i)), index_that_is_passed(X, np.array(i)), strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.shares_memory(a, X)
    for i in (3, -4):
        with pytest.raises(IndexError):
            compiled(X, np.array(i))


def test_what_numpy_refuses():
    def too_few(x):
        x[0] = [1, 2]

    def too_large(x):
        x[0] = [1, 300, 2]

    def narrow(x):
        np.add(x[0], 1.5, out=np.zeros(3, "i4"))

    for function, x, kind in (
        (too_few, X, ValueError),
        (too_large, np.zeros((3, 3), "u1"), OverflowError),
        (narrow, X, TypeError),
    ):
        for one in (function, nt.jit(function)):
            with pytest.raises(kind):
                one(x.copy())
