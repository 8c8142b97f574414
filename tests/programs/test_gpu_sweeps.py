"""Sweeps on a simulated GPU: elements that depend on their neighbours are computed by diagonals, and are Python's.

Random shapes: seeds 0 to 8 in `make test`, 100 in all; half of them with extents that are not known.
"""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(4)


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


def weighted_alignment(a, b, match: float, mismatch: float, gap: float):
    h = np.zeros((len(a) + 1, len(b) + 1))
    best = 0.0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            score = match if a[i - 1] == b[j - 1] else mismatch
            h[i, j] = max(0.0, h[i - 1, j - 1] + score, h[i - 1, j] - gap, h[i, j - 1] - gap)
            best = max(best, h[i, j])
    return best


def swept_with_changes(u):
    n, m = u.shape
    u = u.copy()
    largest = 0.0
    least = 1e300
    grown = 0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            change = abs(new - u[i, j])
            largest = max(largest, change)
            least = min(least, change)
            grown += 1 if new > u[i, j] else 0
            u[i, j] = new
    return u, largest, least, grown


GRIDS = {
    gauss_seidel: (),
    swept_with_changes: (),
    over_relaxed: (3, 1.5),
    all_neighbours: (2,),
    backward: (),
}
SEQUENCES = {common_subsequence: "i8", edit_distance: "i8", local_alignment: "i8", time_warping: "f8"}


def aligned_integers(a, b):
    return weighted_alignment(a, b, 2.0, -1.0, 1.5)


SEQUENCES[aligned_integers] = "i8"


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
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
            if np.asarray(other).dtype.kind == "i":
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("seed", range(9))
def test_random_sweeps(seed: int):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9, 100))
def test_more_random_sweeps(seed: int):
    check(seed)


@pytest.mark.parametrize("function", [*GRIDS, *SEQUENCES], ids=lambda function: function.__name__)
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


# ---- bits of what is looked for -----------------------------------------------------------------------


def largest_from(start):
    def swept(u):
        u = u.copy()
        best = start
        for i in range(1, u.shape[0]):
            for j in range(1, u.shape[1]):
                u[i, j] = u[i, j] + 0.0 * (u[i - 1, j] + u[i, j - 1])
                best = max(best, u[i, j])
        return best

    return swept


def smallest_from(start):
    def swept(u):
        u = u.copy()
        best = start
        for i in range(1, u.shape[0]):
            for j in range(1, u.shape[1]):
                u[i, j] = u[i, j] + 0.0 * (u[i - 1, j] + u[i, j - 1])
                best = min(best, u[i, j])
        return best

    return swept


SPECIAL = (
    [np.nan, -0.0, 0.0, -1.0],
    [-0.0, -2.0],
    [0.0, -0.0],
    [np.nan],
    [-np.inf, np.nan],
    [3.0, np.nan, -0.0, 1.0],
)


@pytest.mark.parametrize("numbers", SPECIAL, ids=str)
@pytest.mark.parametrize("start", [0.0, -0.0, 1.0, -1.0, float("-inf"), float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [largest_from, smallest_from], ids=lambda kind: kind.__name__)
def test_extrema_have_the_bits_of_the_loop(kind, start, numbers):
    """A NaN that comes does not win, one that is there stays; of zeros of both signs the first one stays."""
    u = np.random.default_rng(0).choice(numbers, (70, 80))
    program = kind(start)
    got = nt.jit(program, target="cuda-sim")(u)
    want = program(u)
    assert np.isnan(want) if np.isnan(got) else np.float64(got).tobytes() == np.float64(want).tobytes()


def test_what_may_be_a_zero_of_either_sign_is_looked_for_in_order():
    """From 0.0 on no zero wins; from a smaller number on the first zero does, and it is one thread that looks for it."""
    spec = nt.spec((1000, 700), "f8")
    assert "is done by diagonals" in str(nt.jit(largest_from(0.0), target="cuda-sim").explain(spec))
    assert "is done by diagonals" not in str(nt.jit(largest_from(-1.0), target="cuda-sim").explain(spec))


# ---- the same without a sweep ------------------------------------------------------------------------


def counted(a):
    n, m = a.shape
    count, twice = 0, 0
    for i in range(n):
        for j in range(m):
            if a[i, j] > 0.5:
                count += 1
            twice += 2 if a[i, j] < 0 else 1
    return count, twice


def largest_by_branches(a):
    n, m = a.shape
    largest, least = 0.0, np.inf
    for i in range(n):
        for j in range(m):
            if a[i, j] > largest:
                largest = a[i, j]
            if abs(a[i, j]) < least:
                least = abs(a[i, j])
    return largest, least


def count_so_far(a):
    n, m = a.shape
    out, count = np.zeros((n, m), np.int64), 0
    for i in range(n):
        for j in range(m):
            if a[i, j] > 0.5:
                count += 1
            out[i, j] = count
    return out


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("function", [counted, largest_by_branches, count_so_far], ids=lambda f: f.__name__)
def test_loops_that_only_reduce(function, dynamic):
    compiled = nt.jit(function, target="cuda-sim:checked", dynamic=dynamic)
    for seed, shape in enumerate([(90, 71), (1, 5), (3, 1)] if dynamic else [(90, 71)]):
        a = np.random.default_rng(seed).standard_normal(shape)
        a[0, 0] = np.nan
        got, want = compiled(a), function(a)
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [counted, largest_by_branches], ids=lambda f: f.__name__)
def test_loops_that_only_reduce_have_many_threads(function):
    said = str(nt.jit(function, target="cuda-sim").explain(nt.spec((1000, 700), "f8")))
    assert "runs as one GPU thread" not in said
