"""Numerical programs by loops and slices, as people write them for numba: compared with Python in test_numerical.py,
timed against numba in benchmarks/loops.py.

Each is a plain function; `PROGRAMS` gives its arguments by a size (small for tests, larger for timing).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numerical_matrices import (
    cholesky,
    floyd_warshall,
    forward_substitution,
    gemm_chain,
    lu,
    lu_pivoted,
    matmul,
    pairwise,
    power_iteration,
    thomas,
    transpose_in_place,
)
from numerical_sequences import (
    binary_search,
    bodies,
    convolve,
    convolve_2d,
    edit_distance,
    filter_both_ways,
    greatest_divisors,
    histogram,
    horner,
    insertion_sort,
    interpolate,
    knapsack,
    logistic,
    longest_common,
    mandelbrot,
    mandelbrot_masks,
    max_pool,
    moving_average,
    nearest_centre,
    prefix_sum,
    recursive_filter,
    rolling_maximum,
    sieve,
    viterbi,
)
from numerical_stencils import gauss_seidel, heat, jacobi_loops, jacobi_slices, life, red_black, rule30, wave


@dataclass(frozen=True)
class Case:
    """A program, its arguments for a size and a dtype, the dtypes it is tested with, and sizes to test and to time."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int, Any], tuple[Any, ...]]
    dtypes: tuple[str, ...] = ("f8", "f4")
    small: int = 9
    large: int = 300
    tolerance: float = 0.0
    """For sums, whose order is not Python's; else results are equal to the bit."""


def _floats(rng, dtype, *shape):
    return (rng.random(shape) + 0.5).astype(dtype)


def _definite(rng, n, dtype):
    a = rng.random((n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def _integers(rng, low, high, n, dtype="i8"):
    return rng.integers(low, high, n).astype(dtype)


def _zeros(dtype, *shape):
    return np.zeros(shape, dtype)


def _grid(r, n, t):
    return r.integers(-50, 50, (n, n)).astype(t) if np.dtype(t).kind == "i" else _floats(r, t, n, n)


BOTH, ALL = ("f8", "f4"), ("f8", "f4", "i4", "i8")

PROGRAMS = [
    Case(gauss_seidel, lambda r, n, t: (_floats(r, t, n, n), 4), large=600),
    Case(jacobi_slices, lambda r, n, t: (*[_floats(r, t, n, n)] * 1, _zeros(t, n, n), 5), large=500),
    Case(jacobi_loops, lambda r, n, t: (_floats(r, t, n, n), _zeros(t, n, n), 5), large=500),
    Case(heat, lambda r, n, t: (_floats(r, t, n * 10), 20, np.dtype(t).type(0.1)), large=10000),
    Case(
        wave,
        lambda r, n, t: (*(_floats(r, t, n * 10) for _ in range(3)), 20, np.dtype(t).type(0.1)),
        large=5000,
    ),
    Case(red_black, lambda r, n, t: (_floats(r, t, n, n), 4), large=500),
    Case(
        life,
        lambda r, n, t: (_integers(r, 0, 2, (n, n), t), _zeros(t, n, n), 3),
        ("u1", "i4", "i8"),
        large=1000,
    ),
    Case(rule30, lambda r, n, t: (_integers(r, 0, 2, (n, 2 * n), t),), ("u1", "i4", "i8"), large=3500),
    Case(floyd_warshall, lambda r, n, t: (_grid(r, n, t) + np.dtype(t).type(60),), ALL, large=200),
    Case(cholesky, lambda r, n, t: (_definite(r, n, t),), tolerance=1e-5),
    Case(lu, lambda r, n, t: (_definite(r, n, t),)),
    Case(lu_pivoted, lambda r, n, t: (_floats(r, t, n, n), _zeros("i8", n))),
    Case(matmul, lambda r, n, t: (_grid(r, n, t), _grid(r, n, t), _zeros(t, n, n)), ALL, tolerance=1e-5),
    Case(
        gemm_chain,
        lambda r, n, t: (*(_grid(r, n, t) for _ in range(3)), _zeros(t, n, n), _zeros(t, n, n)),
        ALL,
    ),
    Case(
        forward_substitution,
        lambda r, n, t: (_definite(r, n, t), _floats(r, t, n)),
        large=1500,
        tolerance=1e-5,
    ),
    Case(
        thomas,
        lambda r, n, t: (*(_floats(r, t, n * 10) + k for k in (0, 4, 0, 0)),),
        large=20000,
    ),
    Case(
        power_iteration,
        lambda r, n, t: (_definite(r, n, t), _floats(r, t, n), _zeros(t, n), 6),
        tolerance=1e-5,
        large=700,
    ),
    Case(transpose_in_place, lambda r, n, t: (_grid(r, n, t),), ALL, large=1000),
    Case(
        pairwise,
        lambda r, n, t: (_grid(r, n, t)[:, :5].copy(), _zeros(t, n, n)),
        ALL,
        tolerance=1e-5,
        large=1000,
    ),
    Case(
        longest_common,
        lambda r, n, t: (_integers(r, 0, 4, n), _integers(r, 0, 4, n + 3), _zeros(t, n + 1, n + 4)),
        ("i4", "i8"),
        large=1500,
    ),
    Case(
        knapsack,
        lambda r, n, t: (_integers(r, 1, 20, n), _integers(r, 1, 50, n, t), _zeros(t, 10 * n)),
        ("i4", "f8"),
    ),
    Case(
        edit_distance,
        lambda r, n, t: (_integers(r, 0, 4, n), _integers(r, 0, 4, n + 3), _zeros(t, n + 4)),
        ("i4", "f8"),
        large=1000,
    ),
    Case(
        viterbi,
        lambda r, n, t: (
            _floats(r, t, 7),
            _floats(r, t, 7, 7),
            _floats(r, t, 7, 5),
            _integers(r, 0, 5, n),
            _zeros(t, n, 7),
            _zeros("i8", n, 7),
        ),
        large=30000,
    ),
    Case(horner, lambda r, n, t: (_floats(r, t, n * 10), _floats(r, t, 8), _zeros(t, n * 10)), large=60000),
    Case(
        histogram,
        lambda r, n, t: (
            _floats(r, t, n * 10),
            _zeros("i8", 16),
            np.dtype(t).type(0.4),
            np.dtype(t).type(1.4),
        ),
        large=50000,
    ),
    Case(
        recursive_filter,
        lambda r, n, t: (
            _floats(r, t, n * 10),
            _zeros(t, n * 10),
            np.dtype(t).type(0.9),
            np.dtype(t).type(0.1),
        ),
        large=200000,
    ),
    Case(
        filter_both_ways,
        lambda r, n, t: (_floats(r, t, n * 10), _zeros(t, n * 10), np.dtype(t).type(0.8)),
        large=120000,
    ),
    Case(prefix_sum, lambda r, n, t: (_grid(r, n, t).ravel(),), ALL, large=1500),
    Case(moving_average, lambda r, n, t: (_floats(r, t, n * 10), _zeros(t, n * 10 - 4), 5), large=200000),
    Case(rolling_maximum, lambda r, n, t: (_grid(r, n, t).ravel(), _zeros(t, n * n - 7), 8), ALL, large=500),
    Case(
        convolve,
        lambda r, n, t: (_grid(r, n, t).ravel(), _grid(r, 3, t).ravel(), _zeros(t, n * n - 8)),
        ALL,
        tolerance=1e-5,
        large=1000,
    ),
    Case(
        convolve_2d,
        lambda r, n, t: (_grid(r, n, t), _grid(r, 3, t), _zeros(t, n - 2, n - 2)),
        ALL,
        tolerance=1e-5,
        large=1000,
    ),
    Case(max_pool, lambda r, n, t: (_grid(r, 2 * n, t), _zeros(t, n, n)), ALL, large=1000),
    Case(logistic, lambda r, n, t: (_floats(r, t, n * 10) / 2, 30, np.dtype(t).type(3.7)), large=5000),
    Case(mandelbrot, lambda r, n, t: (_zeros("i8", n, n), 60), ("i8",), large=200),
    Case(mandelbrot_masks, lambda r, n, t: (_floats(r, t, n, n) - 1, _floats(r, t, n, n) - 1, 20), large=200),
    Case(sieve, lambda r, n, t: (np.ones(n * 30, bool),), ("?",), large=40000),
    Case(insertion_sort, lambda r, n, t: (_grid(r, n, t).ravel(),), ALL, small=6, large=60),
    Case(
        binary_search,
        lambda r, n, t: (np.sort(_grid(r, n, t).ravel()), _grid(r, n, t).ravel(), _zeros("i8", n * n)),
        ALL,
    ),
    Case(
        greatest_divisors,
        lambda r, n, t: (
            _integers(r, 1, 10000, n * 10, t),
            _integers(r, 1, 10000, n * 10, t),
            _zeros(t, n * 10),
        ),
        ("i4", "i8"),
        large=5000,
    ),
    Case(
        nearest_centre,
        lambda r, n, t: (_floats(r, t, n * 10, 3), _floats(r, t, 5, 3), _zeros("i8", n * 10)),
        large=20000,
        tolerance=1e-5,
    ),
    Case(
        bodies,
        lambda r, n, t: (_floats(r, "f8", n, 2), _floats(r, "f8", n, 2), _floats(r, "f8", n), 2, 0.01),
        ("f8",),
        tolerance=1e-12,
        large=500,
    ),
    Case(
        interpolate,
        lambda r, n, t: (
            _floats(r, t, n, n),
            _floats(r, t, n * 400) * 4,
            _floats(r, t, n * 400) * 4,
            _zeros(t, n * 400),
        ),
        large=1000,
    ),
]
"""Every program."""


def arguments_of(case: Case, size: int, dtype: str, seed: int = 0) -> tuple[Any, ...]:
    """Fresh arguments; the same for the same seed."""
    return case.arguments(np.random.default_rng(seed), size, dtype)
