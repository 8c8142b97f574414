"""Numerical programs by loops and slices, as people write them for numba: compared with Python in test_numerical.py,
timed against numba in benchmarks/loops.py.

Each is a plain function; `PROGRAMS` gives its arguments by a size (small for tests, larger for timing).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---- stencils ---------------------------------------------------------------------------------------


def gauss_seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def jacobi_slices(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * a.dtype.type(0.25)
        a[1:-1, 1:-1] = b[1:-1, 1:-1]


def jacobi_loops(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def heat(u, steps, r):
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + r * (u[i - 1] - 2 * u[i] + u[i + 1])
        u[1:-1] = new[1:-1]


def wave(u, v, w, steps, c):
    """Leapfrog: u(t+1) from u(t) and u(t-1)."""
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            w[i] = 2 * v[i] - u[i] + c * (v[i - 1] - 2 * v[i] + v[i + 1])
        for i in range(len(u)):
            u[i] = v[i]
            v[i] = w[i]


def red_black(a, sweeps):
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, a.shape[0] - 1):
                for j in range(1 + (i + colour) % 2, a.shape[1] - 1, 2):
                    a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def life(grid, new, steps):
    n, m = grid.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                near = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            near += grid[i + di, j + dj]
                new[i, j] = 1 if near == 3 or (near == 2 and grid[i, j] == 1) else 0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                grid[i, j] = new[i, j]


def rule30(rows):
    for t in range(1, rows.shape[0]):
        for i in range(1, rows.shape[1] - 1):
            rows[t, i] = rows[t - 1, i - 1] ^ (rows[t - 1, i] | rows[t - 1, i + 1])


# ---- matrices ---------------------------------------------------------------------------------------


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / a[j, j]
    for i in range(n):
        for j in range(i + 1, n):
            a[i, j] = 0


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def lu_pivoted(a, order):
    n = a.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        order[k] = best
        if best != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[best, j]
                a[best, j] = t
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = c[i, j] * 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def gemm_chain(a, b, c, t, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                t[i, j] += a[i, k] * b[k, j]
    for i in range(t.shape[0]):
        for k in range(t.shape[1]):
            for j in range(c.shape[1]):
                out[i, j] += t[i, k] * c[k, j]


def forward_substitution(l, x):
    for i in range(len(x)):
        s = x[i]
        for j in range(i):
            s -= l[i, j] * x[j]
        x[i] = s / l[i, i]


def thomas(a, b, c, d):
    """A tridiagonal system, in place; the solution is in d."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[n - 1] /= b[n - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]


def power_iteration(a, x, y, steps):
    for _ in range(steps):
        for i in range(a.shape[0]):
            s = x[0] * 0
            for j in range(a.shape[1]):
                s += a[i, j] * x[j]
            y[i] = s
        largest = y[0] * 0
        for i in range(len(y)):
            largest = max(largest, abs(y[i]))
        for i in range(len(y)):
            x[i] = y[i] / largest


def transpose_in_place(a):
    for i in range(a.shape[0]):
        for j in range(i):
            t = a[i, j]
            a[i, j] = a[j, i]
            a[j, i] = t


def pairwise(x, d):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = x[i, 0] * 0
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = s


# ---- tables -----------------------------------------------------------------------------------------


def longest_common(a, b, table):
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[len(a), len(b)]


def knapsack(weights, values, best):
    for i in range(len(weights)):
        for w in range(len(best) - 1, weights[i] - 1, -1):
            candidate = best[w - weights[i]] + values[i]
            if candidate > best[w]:
                best[w] = candidate


def edit_distance(a, b, row):
    for j in range(len(b) + 1):
        row[j] = j
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            cost = diagonal if a[i] == b[j] else diagonal + 1
            row[j + 1] = min(cost, above + 1, row[j] + 1)
            diagonal = above
    return row[len(b)]


def viterbi(start, move, emit, seen, score, back):
    states = len(start)
    for s in range(states):
        score[0, s] = start[s] + emit[s, seen[0]]
    for t in range(1, len(seen)):
        for s in range(states):
            best = score[t - 1, 0] + move[0, s]
            which = 0
            for p in range(1, states):
                candidate = score[t - 1, p] + move[p, s]
                if candidate > best:
                    best = candidate
                    which = p
            score[t, s] = best + emit[s, seen[t]]
            back[t, s] = which


# ---- sequences --------------------------------------------------------------------------------------


def horner(x, coefficients, out):
    for i in range(len(x)):
        y = x[i] * 0
        for k in range(len(coefficients)):
            y = y * x[i] + coefficients[k]
        out[i] = y


def histogram(x, bins, low, high):
    n = len(bins)
    for i in range(len(x)):
        k = int((x[i] - low) / (high - low) * n)
        if 0 <= k < n:
            bins[k] += 1


def recursive_filter(x, y, a, b):
    y[0] = b * x[0]
    for i in range(1, len(x)):
        y[i] = b * x[i] + a * y[i - 1]


def filter_both_ways(x, y, a):
    state = x[0]
    for i in range(len(x)):
        state = a * state + (1 - a) * x[i]
        y[i] = state
    for i in range(len(x) - 1, -1, -1):
        state = a * state + (1 - a) * y[i]
        y[i] = state


def prefix_sum(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]


def moving_average(x, out, width):
    s = x[0] * 0
    for i in range(len(x)):
        s += x[i]
        if i >= width:
            s -= x[i - width]
        if i >= width - 1:
            out[i - width + 1] = s / width


def rolling_maximum(x, out, width):
    for i in range(len(out)):
        best = x[i]
        for k in range(1, width):
            if x[i + k] > best:
                best = x[i + k]
        out[i] = best


def convolve(x, kernel, out):
    for i in range(len(out)):
        s = x[i] * 0
        for k in range(len(kernel)):
            s += x[i + k] * kernel[k]
        out[i] = s


def convolve_2d(x, kernel, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = x[i, j] * 0
            for p in range(kernel.shape[0]):
                for q in range(kernel.shape[1]):
                    s += x[i + p, j + q] * kernel[p, q]
            out[i, j] = s


def max_pool(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            best = x[2 * i, 2 * j]
            for p in range(2):
                for q in range(2):
                    best = max(best, x[2 * i + p, 2 * j + q])
            out[i, j] = best


def logistic(x, steps, r):
    for i in range(len(x)):
        y = x[i]
        for _ in range(steps):
            y = r * y * (1 - y)
        x[i] = y


# ---- searching --------------------------------------------------------------------------------------


def mandelbrot(out, limit):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            cr = 3.0 * j / out.shape[1] - 2.0
            ci = 2.0 * i / out.shape[0] - 1.0
            zr = 0.0
            zi = 0.0
            count = 0
            while zr * zr + zi * zi <= 4 and count < limit:
                t = zr * zr - zi * zi + cr
                zi = 2 * zr * zi + ci
                zr = t
                count += 1
            out[i, j] = count


def mandelbrot_masks(cr, ci, limit):
    zr = np.zeros_like(cr)
    zi = np.zeros_like(ci)
    count = np.zeros(cr.shape, dtype=np.int64)
    for _ in range(limit):
        inside = zr * zr + zi * zi <= 4
        new = zr * zr - zi * zi + cr
        zi = np.where(inside, 2 * zr * zi + ci, zi)
        zr = np.where(inside, new, zr)
        count = count + inside
    return count


def sieve(prime):
    n = len(prime)
    prime[0] = False
    prime[1] = False
    k = 2
    while k * k < n:
        if prime[k]:
            for j in range(k * k, n, k):
                prime[j] = False
        k += 1


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def binary_search(a, queries, found):
    for q in range(len(queries)):
        low = 0
        high = len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] < queries[q]:
                low = middle + 1
            else:
                high = middle
        found[q] = low


def greatest_divisors(a, b, out):
    for i in range(len(a)):
        x = a[i]
        y = b[i]
        while y != 0:
            r = x % y
            x = y
            y = r
        out[i] = x


def nearest_centre(x, centres, which):
    for i in range(x.shape[0]):
        best = np.inf
        for c in range(centres.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - centres[c, k]
                s += t * t
            if s < best:
                best = s
                which[i] = c


def bodies(position, velocity, mass, steps, dt):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            fx = 0.0
            fy = 0.0
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                d2 = dx * dx + dy * dy + 0.01
                inverse = mass[j] / (d2 * np.sqrt(d2))
                fx += dx * inverse
                fy += dy * inverse
            velocity[i, 0] += dt * fx
            velocity[i, 1] += dt * fy
        for i in range(n):
            position[i, 0] += dt * velocity[i, 0]
            position[i, 1] += dt * velocity[i, 1]


def interpolate(image, xs, ys, out):
    for i in range(len(xs)):
        x0 = int(xs[i])
        y0 = int(ys[i])
        fx = xs[i] - x0
        fy = ys[i] - y0
        top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
        bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
        out[i] = top * (1 - fy) + bottom * fy


# ---- arguments --------------------------------------------------------------------------------------


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
