"""Python loops over elements: in-place sweeps, carried scalars, branches, index errors, overlap."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

RNG = np.random.default_rng(5)


def gauss_seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def split(x):
    count, small = 0, 0
    for i in range(len(x)):
        if x[i] > 0.5:
            count += 1
        else:
            small += x[i]
    return count, small


def row_maxima(x):
    out = np.empty(x.shape[0], dtype=x.dtype)
    for i in range(x.shape[0]):
        best = 0.0
        for j in range(x.shape[1]):
            best = max(best, x[i, j])
        out[i] = best
    return out


def backwards(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        a[i, :] = a[i, :] * b[i] + np.sum(a[i, :])


def triangle(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = -a[j, i]


def negative_indices(a):
    for i in range(1, len(a)):
        a[-i] = a[i - 1] + 1


def unrolled(x):
    for k in range(3):
        x = x * 2 + k
    return x


def add_from(a, b):
    for i in range(len(b)):
        b[i] = a[i] + 1


def past_the_end(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (gauss_seidel, (RNG.random((6, 7)), 3)),
        (gauss_seidel, (RNG.random((7, 6)).T, 2)),
        (total, (RNG.random(9).astype("f4"),)),
        (split, (RNG.random(9),)),
        (row_maxima, (RNG.random((4, 5)),)),
        (backwards, (RNG.random((4, 5)), RNG.random(4))),
        (triangle, (RNG.random((5, 5)),)),
        (negative_indices, (RNG.random(6),)),
        (unrolled, (RNG.random(6),)),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_agrees(function, arguments, dynamic):
    tolerance = 1e-12 if function is backwards else 0.0
    agrees(function, *arguments, dynamic=dynamic, tolerance=tolerance)


def test_index_error_at_its_line():
    with pytest.raises(IndexError) as caught:
        nt.jit(past_the_end)(np.zeros(3), 9)
    assert isinstance(caught.value, nt.NestorError)
    line = past_the_end.__code__.co_firstlineno + 3
    assert f"{__file__}:{line}:14: error: index 3 is out of bounds for axis 0 with size 3" in str(
        caught.value
    )
    assert "s += x[i]" in str(caught.value)


def test_overlapping_arguments_keep_program_order():
    got, want = np.arange(6.0), np.arange(6.0)
    nt.jit(add_from)(got[:-1], got[1:])
    add_from(want[:-1], want[1:])
    np.testing.assert_array_equal(got, want)


def test_the_same_array_twice():
    got, want = np.arange(6.0), np.arange(6.0)
    nt.jit(add_from)(got, got)
    add_from(want, want)
    np.testing.assert_array_equal(got, want)
