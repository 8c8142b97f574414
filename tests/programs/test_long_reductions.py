"""Reductions that are long enough to be shared among threads, and sums of columns: right for every shape and type, and
the same bits whatever the number of threads."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, jitted, random

pytestmark = pytest.mark.one_of(3)

LONG = 600_011


def total(x):
    return np.sum(x)


def extremes(x):
    return np.max(x), np.min(x)


def columns(x):
    return np.sum(x, axis=0)


def column_extremes(x):
    return np.max(x, axis=0), np.argmin(x, axis=0)


def middle(x):
    return np.sum(x, axis=1)


def moments(x):
    return np.mean(x, axis=(0, 1)), np.var(x, axis=(0, 1))


def truth(x):
    return np.any(x, axis=0), np.all(x)


def products(x, y):
    return np.sum(x * y[:, None], axis=0), np.sum(x * x)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("size", [0, 1, 5, 1000, 262_144, LONG, 1_048_576])
def test_total_of_any_length(size, dynamic):
    agrees(total, random(size, "i4"), dynamic=dynamic)
    x = random(size, "f8")
    assert abs(jitted(total, dynamic=dynamic)(x) - np.sum(x)) <= 1e-9


def test_one_compilation_serves_all_lengths():
    f = nt.jit(total, dynamic=True)
    for size in (3, 100, 4095, 4096, 525_000, LONG, 2_000_003):
        x = random(size, "i8")
        assert f(x) == np.sum(x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "u4", "i8"])
def test_extremes(dtype):
    agrees(extremes, random(LONG, dtype))


def test_nan_is_found_in_every_part():
    f = nt.jit(extremes)
    for place in (0, 100_000, LONG // 2, LONG - 1):
        x = random(LONG)
        x[place] = np.nan
        assert all(np.isnan(r) for r in f(x))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "shape",
    [(1024, 1024), (1021, 300), (5003, 64), (5003, 67), (70_001, 3), (16, 40_000), (9, 5), (0, 7), (33, 65)],
)
def test_columns(shape, dynamic):
    agrees(columns, random(shape, "i8"), dynamic=dynamic)
    agrees(columns, random(shape), tolerance=1e-3, dynamic=dynamic)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_column_extremes(dtype):
    agrees(column_extremes, random((2003, 301), dtype))


@pytest.mark.parametrize("shape", [(4, 700, 130), (64, 40, 300), (2, 3, 5), (1, 4000, 64)])
def test_middle_axis(shape):
    agrees(middle, random(shape, "i8"))


def test_columns_of_views():
    base = random((2100, 620), "i8")
    for view in (
        base[::2],
        base[:, ::2],
        base[::-1],
        base[:, ::-1],
        base.T,
        base[7:, 3:],
        base.reshape(1050, 2, 620),
    ):
        agrees(columns, view)


def test_moments_of_the_last_axis():
    x = random((40, 500, 64), "f8")
    agrees(moments, x, tolerance=1e-9)


def test_truth():
    x = np.zeros((5000, 130), bool)
    x[4999, 7] = True
    agrees(truth, x)
    agrees(truth, ~x)


def test_sums_of_products():
    agrees(products, random((4000, 200), "f8"), random(4000, "f8"), tolerance=1e-9)


def test_bits_do_not_depend_on_threads():
    x = np.random.default_rng(5).standard_normal((3001, 700)).astype("f4")
    before = nt.get_num_threads()
    try:
        for program in (total, columns):
            f = nt.jit(program)
            found = set()
            for threads in (1, 2, 5):
                nt.set_num_threads(threads)
                assert nt.get_num_threads() == threads
                found |= {np.asarray(f(x)).tobytes() for _ in range(5)}
            assert len(found) == 1
    finally:
        nt.set_num_threads(before)


def test_errors_grow_slowly():
    x = np.random.default_rng(1).random(4_000_000, dtype=np.float32)
    exact = np.sum(x.astype(np.float64))
    assert abs(float(nt.jit(total)(x)) - exact) / exact < 2e-7


def of_what_is_left(x):
    """With few columns, many rows leave nothing."""
    return (x[:, x.shape[0] :] ** 2).sum()


def test_rows_that_may_be_many_only_where_nothing_is_added():
    jitted = nt.jit(of_what_is_left)
    for shape in ((3, 5), (2, 5), (9000, 5), (5, 5)):
        x = np.arange(np.prod(shape), dtype=float).reshape(shape)
        np.testing.assert_allclose(jitted(x), of_what_is_left(x))
