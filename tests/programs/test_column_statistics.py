"""Sums over columns, and what is computed of them for every element: stored for all columns first where it is slow."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees

pytestmark = pytest.mark.one_of(2)

X = np.random.default_rng(0).standard_normal((37, 20))


def standardised(x):
    mean = x.mean(axis=0)
    centred = x - mean
    root = np.sqrt((centred * centred).mean(axis=0) + 1e-5)
    return centred / root, mean, root


def log_softmax_of_columns(x):
    logarithm = np.log(np.exp(x).sum(axis=0))
    return x - logarithm, logarithm * 2, logarithm


def result_twice(x):
    mean = x.mean(axis=0)
    return (x - mean) / np.sqrt(mean * mean + 1), mean, mean


def total_of_statistics(x):
    inverse = 1 / x.sum(axis=0)
    return np.sum(inverse) + x * inverse


def then_a_maximum(x):
    mean = x.mean(axis=0)
    return mean.sum(), (x / (mean * mean + 1)).max(axis=0)


def of_two_axes(x):
    z = x.reshape(37, 4, 5)
    return z - z.mean(axis=(0, 1)), z.sum(axis=1) / np.sqrt(np.abs(z).sum(axis=0).sum(axis=0) + 1)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        standardised,
        log_softmax_of_columns,
        result_twice,
        total_of_statistics,
        then_a_maximum,
        of_two_axes,
    ],
)
def test_against_numpy(program, dynamic):
    agrees(program, X, tolerance=1e-12, dynamic=dynamic)


def over_three_axes(x):
    mean = x.mean(axis=(0, 1, 2))
    centred = x - mean
    return centred / np.sqrt((centred * centred).mean(axis=(0, 1, 2)) + 1e-5), mean


def test_one_program_of_unknown_extents_for_rows_of_any_length():
    """Rests of rows that are empty, and ones that are all there is; few and many rows, none, and one channel."""
    compiled = nt.jit(over_three_axes, dynamic=True)
    for shape in (
        (2, 3, 5, 64),
        (2, 3, 5, 65),
        (3, 2, 2, 7),
        (13, 17, 11, 64),
        (13, 17, 11, 100),
        (1, 2, 1, 1),
        (2, 2, 0, 3),
    ):
        x = np.random.default_rng(0).standard_normal(shape)
        with np.errstate(all="ignore"):
            expected = over_three_axes(x) if x.size else (np.empty(shape), np.full(shape[-1:], np.nan))
        for found, wanted in zip(compiled(x), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
