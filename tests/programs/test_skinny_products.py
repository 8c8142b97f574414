"""Products with few rows, columns or terms: whole tiles, what is left over, threads' strips, and the orders of memory."""

import nestor as nt
import numpy as np
import pytest

from .agreement import jitted, same


def product(a, b):
    return a @ b


def by_rows(a, b):
    return a @ b.T


def layer(a, b, bias):
    return np.maximum(a @ b + bias, 0)


def numbers(seed, *shape, dtype="f4"):
    """Small integers: their sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def checked(f, *operands, dynamic=False):
    same(jitted(f, dynamic=dynamic)(*operands), f(*operands), 0.0)


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        ((70,), (70, 1030), "f4"),  # a vector times a matrix: strips of columns
        ((1, 9), (9, 515), "f8"),
        ((3, 77), (77, 131), "f4"),  # few rows: the matrix streams by
        ((13, 41), (41, 70), "f8"),
        ((2, 3, 40), (2, 40, 66), "f4"),
        ((101, 300), (300, 3), "f4"),  # few columns: lanes are terms
        ((37, 100), (100, 1), "f4"),
        ((5, 200), (200, 7), "f8"),
        ((65, 9), (9, 3), "f4"),  # small matrices: tiles of rows
        ((64, 3), (3, 4), "f8"),
        ((21, 3, 3), (21, 3, 3), "f4"),
        ((3, 5, 11, 20), (3, 5, 20, 2), "f4"),
        ((6, 7), (7, 6), "f8"),
        ((300, 130), (130, 5), "i4"),
    ],
    ids=str,
)
def test_shapes(left, right, dtype):
    checked(product, numbers(0, *left, dtype=dtype), numbers(1, *right, dtype=dtype))


@pytest.mark.parametrize("shape", [(4, 90, 150), (150, 90, 3), (2, 2, 300), (40, 3, 5)], ids=str)
def test_the_other_matrix_by_rows(shape):
    m, n, k = shape
    checked(by_rows, numbers(0, m, k), numbers(1, n, k))


@pytest.mark.parametrize("shape", [(4, 90, 150), (150, 3, 90), (40, 5, 3)], ids=str)
def test_what_is_computed_around(shape):
    m, n, k = shape
    checked(layer, numbers(0, m, k), numbers(1, k, n), numbers(2, n))


def test_strides():
    few, wide, tall = numbers(0, 3, 80), numbers(1, 160, 140), numbers(2, 90, 160)
    for left, right in (
        (few[:, ::-1], wide[::2]),
        (few, wide[:80, ::-1]),
        (tall[::-1, ::2], few.T),
        (np.asfortranarray(tall), np.asfortranarray(numbers(3, 160, 2))),
    ):
        checked(product, left, right)


def test_what_is_not_finite():
    a = np.array([[-0.0, np.inf, 1.0], [0.0, -1.0, np.nan]], "f4")
    b = np.array([[1.0, -0.0], [0.0, 2.0], [-0.0, 1.0]], "f4")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(nt.jit(product)(a, b), a @ b)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_vector_times_matrices_of_many_lengths(dynamic):
    f = nt.jit(product, dynamic=dynamic)
    for terms, columns in ((70, 1030), (8, 512), (3, 700), (1, 600), (0, 513), (9, 0), (17, 1)):
        for a, b in (
            (numbers(0, terms, dtype="f8"), numbers(1, terms, columns, dtype="f8")),
            (numbers(0, 2 * terms)[::-2], numbers(1, terms, 2 * columns)[::-1, ::2]),
        ):
            same(f(a, b), a @ b, 0.0)
    a, b = numbers(0, 40), numbers(1, 40, 600)
    b[3, 5], b[4, 599], a[7] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        same(f(a, b), a @ b, 0.0)


def test_threads_share_the_columns():
    low = nt.jit(product).lower(nt.spec((3000,), "f8"), nt.spec((3000, 3000), "f8"))
    steps = str(low.schedule())
    assert "schedule.sink" in steps and "schedule.parallel" in steps
