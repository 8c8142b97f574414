"""NumPy's corners: arrays without axes, empty ones, NaN and infinities, signed zeros, casts that do not fit."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

TARGETS = pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])


def numpys_error(function, *arguments):
    with pytest.raises(Exception) as caught, np.errstate(all="ignore"):
        function(*arguments)
    return caught.type


def raises_as_numpy(function, *arguments):
    with pytest.raises(numpys_error(function, *arguments)):
        nt.jit(function)(*arguments)


def mean_along(x):
    return np.mean(x, axis=0)


def var_along(x):
    return np.var(x, axis=-1)


def std_along(x):
    return np.std(x, axis=0)


def norm_along(x):
    return np.linalg.norm(x, axis=0)


def norm_of_order(x):
    return np.linalg.norm(x, ord=2)


def average_along(x):
    return np.average(x, axis=0)


def mean_without_nan(x):
    return np.nanmean(x, axis=0)


def var_without_nan(x):
    return np.nanvar(x, axis=0)


def extremes(x):
    return np.sum(x, axis=0), np.max(x, axis=-1), np.argmax(x, axis=0), np.any(x, axis=0)


def order(x):
    return np.argsort(x), np.argsort(x, axis=0), np.argsort(x, axis=None), x.argsort()


def repeated(x):
    return np.repeat(x, 3, axis=0), np.repeat(x, 2, axis=-1), np.repeat(x, 2)


def repeated_along_another(x):
    return np.repeat(x, 2, axis=1)


@pytest.mark.parametrize(
    "function", [mean_along, var_along, std_along, norm_along, norm_of_order, average_along, repeated_along_another],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_axes_that_a_scalar_does_not_have(function):
    raises_as_numpy(function, np.array(2.0))


@pytest.mark.parametrize("function", [mean_without_nan, var_without_nan], ids=lambda f: f.__name__)
def test_reductions_without_nan_of_a_scalar(function):
    agrees(function, np.array(2.0))
    agrees(function, np.array(np.nan))
    raises_as_numpy(function, np.array(2))


@pytest.mark.parametrize("value", [2.5, -0.0, np.nan])
def test_axes_that_a_scalar_has(value):
    agrees(extremes, np.array(value))
    agrees(order, np.array(value))
    agrees(repeated, np.array(value))


@TARGETS
def test_no_sum_is_a_negative_zero(target):
    def sums(x, y):
        return x.sum(), np.sum(x, axis=0), y.sum(), y.sum(axis=()), x.mean(), np.nansum(x)

    results = nt.jit(sums, target=target)(np.array(-0.0), np.array([-0.0, -0.0]))
    wanted = sums(np.array(-0.0), np.array([-0.0, -0.0]))
    for got, numpys in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(np.signbit(got), np.signbit(numpys))


def lowest(x):
    return np.nanargmin(x)


def highest(x):
    return np.nanargmax(x)


@pytest.mark.parametrize("function", [lowest, highest], ids=lambda f: f.__name__)
def test_places_among_nothing_but_nan(function):
    agrees(function, np.array(1.0))
    agrees(function, np.array([np.nan, 1.0, np.inf, -np.inf]))
    for x in (np.array(np.nan), np.array([np.nan, np.nan]), np.zeros(0)):
        raises_as_numpy(function, x)


def weighted(x, w):
    return np.average(x, axis=0, weights=w)


def weighted_without_axis(x, w):
    return np.average(x, weights=w)


def test_averages_of_nothing():
    agrees(average_along, np.zeros((0, 3)))
    raises_as_numpy(average_along, np.zeros((3, 0)))
    raises_as_numpy(weighted, np.zeros((0, 3)), np.zeros(0))
    raises_as_numpy(weighted_without_axis, np.zeros(0), np.zeros(0))
    raises_as_numpy(weighted_without_axis, np.ones(3), np.ones(2))
    agrees(weighted_without_axis, np.array(2.0), np.array(1.0))


def as_unsigned(x):
    return x.astype(np.uint64)


FLOATS = [
    0.0,
    -0.0,
    0.9,
    -0.9,
    -1.0,
    -1.5,
    -2.0,
    -300.7,
    1e15,
    2.0**62,
    -(2.0**62),
    2.0**63,
    2.0**63 + 2**40,
    1.5 * 2.0**63,
]


@TARGETS
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_negative_floats_wrap_into_unsigned_integers(dtype, target):
    """What NumPy does on every x86-64: as from a signed integer below 2**63, exactly from there on."""
    x = np.array(FLOATS, dtype)
    assert nt.jit(as_unsigned, target=target)(x).tolist() == [int(v) % 2**64 for v in x.tolist()]


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_negative_integers_wrap_into_unsigned_ones(dtype):
    def converted(x):
        return x.astype(dtype)

    agrees(converted, np.array([-1, -2, 0, 127, -(2**62), 2**62 + 3, -(2**63), 2**63 - 1]))


@TARGETS
def test_zeros_that_extremes_choose_between_are_equal(target):
    """Which of 0.0 and -0.0 it is depends in NumPy on the length of the array and the processor."""

    def chosen(x, y):
        return np.fmin(x, y), np.fmax(x, y), np.minimum(x, y), np.maximum(x, y), np.clip(x, y, y)

    x, y = np.tile([0.0, -0.0, 0.0, -0.0], 9), np.tile([0.0, 0.0, -0.0, -0.0], 9)
    for got in nt.jit(chosen, target=target)(x, y):
        assert not got.any()
        assert set(np.signbit(got[::4])) == {False}
        assert set(np.signbit(got[3::4])) == {True}
