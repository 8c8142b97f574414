"""Sweeps on a simulated GPU: elements that depend on their neighbours are computed by diagonals, and are Python's.

Random shapes: seeds 0 to 3 in `make test`, 100 in all; half of them with extents that are not known.
"""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest


def gauss_seidel(u):
    n, m = u.shape
    u = u.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def over_relaxed(u, steps: int, omega):
    n, m = u.shape
    u = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = (1.0 - omega) * u[i, j] + omega * 0.25 * around
    return u


def all_neighbours(u, steps: int):
    n, m = u.shape
    u = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                above = u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1]
                below = u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
                u[i, j] = (above + u[i, j - 1] + u[i, j] + u[i, j + 1] + below) / 9.0
    return u


def backward(u):
    n, m = u.shape
    u = u.copy()
    for i in range(n - 2, -1, -1):
        for j in range(m - 2, -1, -1):
            u[i, j] = u[i, j] - 0.5 * u[i + 1, j] - 0.25 * u[i, j + 1]
    return u


def common_subsequence(a, b):
    n, m = len(a), len(b)
    length = np.zeros((n + 1, m + 1), np.int32)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                length[i, j] = length[i - 1, j - 1] + 1
            else:
                length[i, j] = max(length[i - 1, j], length[i, j - 1])
    return length


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            change = d[i - 1, j - 1] + (1 if a[i - 1] != b[j - 1] else 0)
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, change)
    return d[n, m]


def time_warping(a, b):
    n, m = len(a), len(b)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
            d[i, j] = abs(a[i - 1] - b[j - 1]) + best
    return d


def local_alignment(a, b):
    n, m = len(a), len(b)
    h = np.zeros((n + 1, m + 1), np.int64)
    best = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = 2 if a[i - 1] == b[j - 1] else -1
            h[i, j] = max(0, h[i - 1, j - 1] + score, h[i - 1, j] - 1, h[i, j - 1] - 1)
            best = max(best, h[i, j])
    return best


GRIDS = {
    gauss_seidel: (),
    over_relaxed: (3, 1.5),
    all_neighbours: (2,),
    backward: (),
}
SEQUENCES = {common_subsequence: "i8", edit_distance: "i8", local_alignment: "i8", time_warping: "f8"}

DIAGONAL = [function for function in (*GRIDS, *SEQUENCES) if function is not local_alignment]
"""What is done by diagonals: where the largest element is looked for meanwhile, one thread does it all."""


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = list({**GRIDS, **SEQUENCES})[seed % (len(GRIDS) + len(SEQUENCES))]
    dynamic = bool(rng.random() < 0.5)
    compiled = nt.jit(function, target="cuda-sim", dynamic=dynamic)
    for _ in range(3 if dynamic else 1):
        n, m = rng.choice([1, 2, 3, 5, 40, 70, 90], 2)
        if function in GRIDS:
            arguments = (rng.standard_normal((n, m)), *GRIDS[function])
        else:
            draw = (lambda k: rng.integers(0, 4, k)) if SEQUENCES[function] == "i8" else rng.standard_normal
            arguments = (draw(n), draw(m))
        want, got = function(*arguments), compiled(*arguments)
        if np.asarray(want).dtype.kind == "i":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("seed", range(7))
def test_random_sweeps(seed: int):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7, 100))
def test_more_random_sweeps(seed: int):
    check(seed)


@pytest.mark.parametrize("function", DIAGONAL, ids=lambda function: function.__name__)
def test_no_thread_goes_through_a_sweep_alone(function):
    """The kernels of a sweep of 1000 x 700 elements have as many threads as a diagonal has."""
    if function in GRIDS:
        arguments = (nt.spec((1000, 700), "f8"), *GRIDS[function])
    else:
        arguments = tuple(nt.spec((n,), SEQUENCES[function]) for n in (1000, 700))
    compiled = nt.jit(function, target="cuda-sim")
    assert "schedule.skew" in str(compiled.lower(*arguments).schedule())
    said = str(compiled.explain(*arguments))
    assert "is done by diagonals" in said
    assert "runs as one GPU thread" not in said
