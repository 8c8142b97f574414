"""Reductions of random shapes over random axes on a simulated GPU are NumPy's, however they are shared out.

Seeds 0 to 3 in `make test`, 300 in all, and 120 of two arrays; half of them with extents that are not known. Shapes have
one long extent or several short ones, so that rows, columns, middle axes and few long results are among them.
"""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)


def total(x, axis):
    return x.sum(axis)


def largest(x, axis):
    return x.max(axis)


def place_of_smallest(x, axis):
    return x.argmin(axis[0])


def mean_and_spread(x, axis):
    return x.mean(axis), x.var(axis)


def normalised(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def exponentials(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


FUNCTIONS = (total, total, largest, place_of_smallest, mean_and_spread, normalised, exponentials)


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    rank = int(rng.integers(1, 5))
    shape = [int(rng.integers(1, 9)) for _ in range(rank)]
    most = int(rng.choice([2_000, 20_000, 150_000], p=[0.5, 0.35, 0.15]))
    shape[int(rng.integers(rank))] = max(1, most // int(np.prod(shape)) - int(rng.integers(0, 3)))
    return tuple(shape)


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function, shape = FUNCTIONS[rng.integers(len(FUNCTIONS))], shape_of(rng)
    count = int(rng.integers(1, len(shape) + 1))
    axis = tuple(sorted(int(k) for k in rng.choice(len(shape), count, replace=False)))
    dtype = (
        str(rng.choice(["f4", "f8", "i4"])) if function in (total, largest) else str(rng.choice(["f4", "f8"]))
    )
    dynamic = bool(rng.random() < 0.5)
    compiled = nt.jit(function, target="cuda-sim", static_argnums=1, dynamic=dynamic)
    for turn in range(2):
        x = (rng.standard_normal(shape) * 5).astype(dtype)
        want, got = function(x.astype("f8") if dtype[0] == "f" else x, axis), compiled(x, axis)
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for one, other in pairs:
            assert one.shape == other.shape
            error = np.abs(one - other).max(initial=0)
            times = 3000 if function is normalised else 300  # a spread of two near numbers is divided by
            allowed = (
                times * np.finfo(dtype).eps * np.abs(other).max(initial=1) if other.dtype.kind == "f" else 0
            )
            if function is total and dtype[0] == "f":
                allowed = 100 * np.finfo(dtype).eps * np.abs(x).sum(axis).max()
            assert error <= allowed, (function.__name__, shape, axis, dtype, dynamic, turn, error)
        if dynamic:
            shape = tuple(n + int(rng.integers(0, 3)) for n in shape)


@pytest.mark.parametrize("seed", range(4))
def test_random_reductions(seed: int):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 300))
def test_more_random_reductions(seed: int):
    check(seed)


# ---- of two arrays, which move along different loops -----------------------------------------------


def sum_of_differences(x, y):
    return np.abs(x[:, None] - y[None]).sum()


def largest_difference(x, y):
    return np.abs(x[:, None] - y[None]).max()


def squared_distances(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def largest_distances(x, y):
    return np.abs(x[:, None] - y[None]).max(-1)


def smallest_larger_ones(x, y):
    return np.maximum(x.T[:, :, None], y.T[:, None]).min(0)


def nearest(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1).min(1)


OF_TWO = (
    sum_of_differences,
    largest_difference,
    squared_distances,
    largest_distances,
    smallest_larger_ones,
    nearest,
)


def check_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function, dtype = OF_TWO[seed % len(OF_TWO)], str(rng.choice(["f4", "f8", "i4"]))
    m, n, k = (int(rng.choice([1, 3, 17, 40, 130])) + int(rng.integers(0, 3)) for _ in range(3))
    dynamic = bool(rng.random() < 0.5)
    compiled = nt.jit(function, target="cuda-sim", dynamic=dynamic)
    for turn in range(2):
        x, y = ((rng.standard_normal((count, k)) * 5).astype(dtype) for count in (m, n))
        if function in (largest_difference, largest_distances, smallest_larger_ones) and dtype[0] == "f":
            x[rng.integers(m), rng.integers(k)] = np.nan
        want, got = function(x, y), compiled(x, y)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        bound = 0 if function in (largest_difference, largest_distances, smallest_larger_ones) else 1e-5
        bound = 0 if dtype == "i4" else bound
        np.testing.assert_allclose(
            got, want, rtol=bound, err_msg=f"{(function, dtype, m, n, k, dynamic, turn)}"
        )
        if dynamic:
            m, n, k = (count + int(rng.integers(0, 3)) for count in (m, n, k))


@pytest.mark.parametrize("seed", range(6))
def test_random_reductions_of_two_arrays(seed: int):
    check_two(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 120))
def test_more_random_reductions_of_two_arrays(seed: int):
    check_two(seed)
