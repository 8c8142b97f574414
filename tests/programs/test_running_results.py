"""Running results (cumsum, cumprod, accumulate) along every axis, long enough to be computed in blocks by threads."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, jitted, random

pytestmark = pytest.mark.one_of(2)

LENGTHS = [0, 1, 2, 15, 16, 17, 2079, 2080, 2081, 16_639, 16_640, 20_000, 100_003]


def running_sum(x):
    return np.cumsum(x)


def running_sums(x):
    return np.cumsum(x, axis=-1)


def down(x):
    return np.cumsum(x, axis=0)


def running_extremes(x):
    return np.maximum.accumulate(x, axis=-1), np.minimum.accumulate(x, axis=-1)


def differences(x):
    return np.subtract.accumulate(x, axis=-1)


def squares(x, y):
    return np.cumsum(x * x + y) * 2


def truth(x):
    return np.logical_and.accumulate(x), np.logical_or.accumulate(x)


def products(x):
    return np.cumprod(x)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("size", LENGTHS)
def test_sums_of_any_length(size, dynamic):
    agrees(running_sum, random(size, "i4"), dynamic=dynamic)
    x = random(size, "f8")
    np.testing.assert_allclose(jitted(running_sum, dynamic=dynamic)(x), np.cumsum(x), rtol=0, atol=1e-9)


def test_one_compilation_serves_all_lengths():
    f = nt.jit(running_sum, dynamic=True)
    for size in LENGTHS:
        x = random(size, "i8")
        np.testing.assert_array_equal(f(x), np.cumsum(x))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "u8"])
def test_extremes(dtype):
    agrees(running_extremes, random(50_001, dtype))
    agrees(running_extremes, random((37, 129), dtype))


def test_nan_and_infinity_stay():
    extremes, total = nt.jit(running_extremes), nt.jit(running_sum)
    for place in (0, 1, 31_000, 49_999):
        x = random(50_000, "f8")
        x[place] = np.nan
        for ours, numpys in zip(extremes(x), running_extremes(x), strict=True):
            np.testing.assert_array_equal(ours, numpys)
        got = total(x)
        assert np.isnan(got[place:]).all()
        assert not np.isnan(got[:place]).any()
        x[place] = np.inf
        got = total(x)
        assert np.isposinf(got[place:]).all()
        assert np.isfinite(got[:place]).all()


def test_negative_zeros():
    x = np.full(40_000, -0.0)
    got = nt.jit(running_sum)(x)
    assert np.signbit(got).all()


@pytest.mark.parametrize(
    "shape", [(1, 40_000), (2, 50_001), (3, 7), (130, 1025), (5, 17, 33), (4096, 5), (0, 4), (4, 0)]
)
def test_rows(shape):
    agrees(running_sums, random(shape, "i8"))
    agrees(down, random(shape, "i8"))
    x = random(shape, "f8")
    np.testing.assert_allclose(nt.jit(running_sums)(x), np.cumsum(x, axis=-1), rtol=0, atol=1e-9)


VIEWS = ("[::2]", "[:, ::2]", "[::-1]", "[:, ::-1]", ".T", "[7:, 3:]")


def views():
    """Each view along one of the axes; along the other among slow tests."""
    for k, view in enumerate(VIEWS):
        for j, function in enumerate((running_sums, down)):
            yield pytest.param(function, view, marks=[pytest.mark.slow] if (k + j) % 2 else [])


@pytest.mark.parametrize(("function", "view"), list(views()))
def test_views(function, view):
    agrees(function, eval(f"base{view}", {"base": random((300, 700), "i8")}))


def test_views_of_a_line():
    long = random(120_000, "i8")
    for view in (long[::-1], long[1:], long[3::3]):
        agrees(running_sum, view)


def test_what_is_summed_is_computed():
    x, y = random(60_000, "i8"), random(60_000, "i8")
    agrees(squares, x, y)


def test_operations_without_an_identity_stay_in_order():
    agrees(differences, random(40_000))
    agrees(differences, random((20, 300)))


def test_truth():
    x = np.zeros(40_000, bool)
    x[20_001] = True
    agrees(truth, x)
    agrees(truth, ~x)


def test_products():
    x = np.ones(40_000, "i8")
    x[[3, 20_000, 39_999]] = 7
    agrees(products, x)
    agrees(products, 1 + random(30_000, "f8") * 1e-4, tolerance=1e-9)


def test_same_bits_each_time():
    x, f = random(1_000_003), nt.jit(running_sum)
    first = f(x)
    assert all(np.array_equal(first, f(x)) for _ in range(10))


def test_errors_are_smaller_than_those_of_one_chain():
    x = np.random.default_rng(3).random(2_000_000, dtype=np.float32)
    exact = np.cumsum(x.astype(np.float64))
    ours, numpys = (np.max(np.abs(y - exact) / exact) for y in (nt.jit(running_sum)(x), np.cumsum(x)))
    assert ours < numpys
