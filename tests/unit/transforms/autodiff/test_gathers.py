"""Sums into neighbours that become gathers: adjoints of linear sweeps, held by <J v, w> = <v, J' w> against plain Python."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

_RNG = np.random.default_rng(7)


def jacobi(a, b, steps):
    a, b = a.copy(), b.copy()
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + 2 * a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] - b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a


def in_place(a, b, steps):
    a = a.copy() + b
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + 3 * a[i, j + 1])
    return a


def fields(a, b, steps):
    e, h = a.copy(), b.copy()
    n, m = a.shape
    for t in range(steps):
        for i in range(min(n, 1)):
            for j in range(m):
                e[i, j] = t
        for i in range(1, n):
            for j in range(m):
                e[i, j] = e[i, j] - 0.5 * (h[i, j] - h[i - 1, j])
        for i in range(n - 1):
            for j in range(m - 1):
                h[i, j] = h[i, j] - 0.7 * (e[i, j + 1] - e[i, j] + e[i + 1, j])
    return h


def blurred(a, b, steps):
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(n - 2):
        for j in range(m - steps):
            for k in range(3):
                for l in range(steps):
                    out[i, j] += (k - 2 * l) * a[i + k, j + l]
    return out + b


def below(a, b, steps):
    n = min(a.shape)
    out = b.copy()
    for i in range(1, n):
        for j in range(i):
            out[i, j] = a[i, j] - 2 * a[i - 1, j] + steps * a[i, j + 1]
    return out


def rows_from_the_end(a, b, steps):
    n, m = a.shape
    out = b.copy()
    for i in range(n - steps):
        for j in range(m):
            out[i, j] = a[n - 1 - i, j] + 2 * a[n - 1 - i - steps, m - 1 - j] - a[i, j]
    return out


PROGRAMS = [jacobi, in_place, fields, blurred, below, rows_from_the_end]
SHAPES = [(6, 7), (3, 4), (2, 5), (9, 3), (1, 1), (0, 4), (5, 0), (8, 9)]


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=pytest.mark.slow) if f in (fields, rows_from_the_end) else f for f in PROGRAMS],
)
@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_adjoints_of_linear_sweeps(f, first):
    """Unknown extents, those that leave no core and no elements too; a second number of steps; strides of any kind, each of
    which is a program of its own: two of four in a test."""
    gradient = nt.jit(nt.grad(lambda a, b, w, s: (f(a, b, s) * w).sum(), argnums=(0, 1)), dynamic=True)
    for k, shape in list(enumerate(SHAPES))[first::2]:
        a, b, w, v, u = _RNG.standard_normal((5, *shape))
        steps = 1 + k % 3
        if min(shape) < steps and f in (blurred, rows_from_the_end):
            steps = 1
        a = [a, a[::-1], np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]][k % 4]
        a.flags.writeable = False
        ga, gb = gradient(a, b, w, steps)
        zero = np.zeros(shape)
        forward = ((f(v, u, steps) - f(zero, zero, steps)) * w).sum()
        np.testing.assert_allclose((ga * v).sum() + (gb * u).sum(), forward, rtol=1e-10, atol=1e-10)


def test_which_loops_are_gathers():
    """From array to array each element gathers, in vectors; in place nothing is moved."""
    x = np.ones((40, 50))

    def backward(f):
        text = nt.grad(lambda a, b, s: f(a, b, s).sum()).lower(x, x, 3).as_text("nest")
        return text[text.index('nest.for "_"') :]

    assert backward(jacobi).count("vectorized") > 4
    assert "vectorized" not in backward(in_place)


def test_infinities_stay_where_they_are():
    """A term that is not there is no product with zero."""
    a, b, w = np.ones((3, 6, 7))
    w[2, 3] = np.inf
    w[4, 5] = np.nan
    ga, _ = nt.grad(lambda a, b: (jacobi(a, b, 1) * w).sum(), argnums=(0, 1))(a, b)
    plain = nt.grad(lambda a, b: (jacobi(a, b, 1) * np.where(np.isfinite(w), w, 0.0)).sum())(a, b)
    far = np.ones((6, 7), bool)
    far[0:5, 1:6] = False
    far[2:, 3:] = False
    np.testing.assert_array_equal(ga[far], plain[far])
