"""Statistics: moments, regressions, resampling, tests, filters of outliers."""

import numpy as np
from nestor import random
from whole.program import NUMPY, SIZED, Program

EDGES = np.linspace(-2, 2, 5)
QUANTILE = 0.5
PRIOR = {"mean": 0.0, "precision": 1.0}


def running_moments(x):
    n, mean, m2, m3 = 0, 0.0, 0.0, 0.0
    for value in x:
        if np.isnan(value):
            continue
        n += 1
        delta = value - mean
        step = delta / n
        m3 += delta * step * step * (n - 1) * (n - 2) - 3 * step * m2
        m2 += delta * step * (n - 1)
        mean += step
    variance = m2 / (n - 1) if n > 1 else np.nan
    skew = np.sqrt(n) * m3 / m2**1.5 if m2 > 0 else 0.0
    return n, mean, variance, skew


def weighted_least_squares(X, y, w):
    design = np.column_stack([np.ones(len(y)), X])
    root = np.sqrt(w)[:, None]
    A = design * root
    b = y * root[:, 0]
    G = A.T @ A
    c = A.T @ b
    n = len(c)
    for i in range(n):
        for j in range(i + 1, n):
            f = G[j, i] / G[i, i]
            G[j, i:] -= f * G[i, i:]
            c[j] -= f * c[i]
    beta = np.zeros(n)
    for i in range(n - 1, -1, -1):
        beta[i] = (c[i] - G[i, i + 1 :] @ beta[i + 1 :]) / G[i, i]
    residual = y - design @ beta
    return beta, residual, 1 - residual.var() / y.var()


def drop_outliers(x, limit=2.0):
    kept = x
    for _ in range(10):
        z = (kept - kept.mean()) / kept.std()
        inside = np.abs(z) < limit
        if inside.all():
            break
        kept = kept[inside]
    return kept, kept.mean(), len(x) - len(kept)


def histogram_by_hand(x):
    counts = np.zeros(len(EDGES) - 1, dtype=np.int64)
    under = over = 0
    for v in x:
        if v < EDGES[0]:
            under += 1
        elif v >= EDGES[-1]:
            over += 1
        else:
            k = 0
            while v >= EDGES[k + 1]:
                k += 1
            counts[k] += 1
    return counts, under, over


def group_means(keys, values):
    groups, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.zeros(len(groups))
    np.add.at(sums, inverse, values)
    return {"group": groups, "mean": sums / counts, "n": counts}


def bootstrap_interval(key, x, draws):
    n = len(x)
    means = np.empty(draws)
    for b in range(draws):
        u = random.uniform(random.fold_in(key, b), (n,), np.float64)
        picks = (u * n).astype(np.int64)
        means[b] = x[picks].mean()
    ordered = np.sort(means)
    lo = ordered[int(0.05 * draws)]
    hi = ordered[int(0.95 * draws)]
    return lo, hi, means.std()


def kendall_tau(x, y):
    concordant = discordant = ties = 0
    for i in range(len(x)):
        for j in range(i):
            s = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
            if s > 0:
                concordant += 1
            elif s < 0:
                discordant += 1
            else:
                ties += 1
    n = concordant + discordant
    return (concordant - discordant) / n if n else 0.0, ties


def normal_posterior(x, sigma):
    precision = PRIOR["precision"] + len(x) / sigma**2
    mean = (PRIOR["mean"] * PRIOR["precision"] + x.sum() / sigma**2) / precision
    grid = mean + np.linspace(-4, 4, 9) / np.sqrt(precision)
    density = np.sqrt(precision / (2 * np.pi)) * np.exp(-0.5 * precision * (grid - mean) ** 2)
    PRIOR["mean"], PRIOR["precision"] = mean, precision
    return grid, density


def correlation_and_pairs(X, threshold):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = Z.T @ Z / len(X)
    i, j = np.triu_indices(C.shape[0], 1)
    strong = np.abs(C[i, j]) > threshold
    return C, np.stack([i[strong], j[strong]], axis=1), C[i, j][strong]


def ordinary_kriging_weights(points, target):
    d = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    n = len(points)
    K = np.ones((n + 1, n + 1))
    K[:n, :n] = np.exp(-d)
    K[n, n] = 0
    k = np.ones(n + 1)
    k[:n] = np.exp(-np.sqrt(((points - target) ** 2).sum(1)))
    w = np.linalg.solve(K, k)
    return w[:n], w[n]


def metropolis(key, start, steps, width):
    x = start
    accepted = 0
    chain = np.zeros(steps)
    moves = random.normal(key, (steps,), np.float64) * width
    levels = random.uniform(random.fold_in(key, 1), (steps,), np.float64)
    for t in range(steps):
        proposal = x + moves[t]
        if np.log(levels[t] + 1e-300) < 0.5 * (x * x - proposal * proposal):
            x = proposal
            accepted += 1
        chain[t] = x
    burnt = chain[steps // 4 :]
    return burnt.mean(), burnt.var(), accepted / steps


def _with_gaps(r, n):
    x = r.standard_normal(n)
    x[::4] = np.nan
    return x


def _edges(k):
    global EDGES
    EDGES = (np.linspace(-2, 2, 5), np.array([-0.5, 0.0, 0.25]), np.linspace(-1, 1, 9))[k]
    PRIOR["mean"], PRIOR["precision"] = (0.0, 1.0, -2.0)[k], (1.0, 4.0, 0.5)[k]


PROGRAMS = [
    Program(running_moments, lambda r, k: (_with_gaps(r, (9, 30, 3)[k]),)),
    Program(
        weighted_least_squares,
        lambda r, k: (
            r.standard_normal(((9, 2), (15, 3), (5, 1))[k]),
            r.standard_normal((9, 15, 5)[k]),
            r.random((9, 15, 5)[k]) + 0.1,
        ),
        tolerance=1e-8,
        host="an element is used after its array is overwritten",
        long=True,
    ),
    Program(
        drop_outliers,
        lambda r, k: (np.concatenate([r.standard_normal((20, 9, 30)[k]), [9.0, -12.0]]),),
        host=SIZED,
        refused="'kept' is an array of shape",
    ),
    Program(histogram_by_hand, lambda r, k: (r.standard_normal((30, 17, 50)[k]),), outside=_edges),
    Program(
        group_means,
        lambda r, k: (r.integers(0, 5, (20, 9, 33)[k]), r.standard_normal((20, 9, 33)[k])),
        python="np.unique sorts by NumPy",
        host=NUMPY,
        long=True,
    ),
    Program(
        bootstrap_interval,
        lambda r, k: (np.uint64((1, 77, 5)[k]), r.standard_normal((9, 20, 5)[k]), (20, 40, 7)[k]),
        python="np.sort is NumPy's",
        host=NUMPY,
    ),
    Program(kendall_tau, lambda r, k: (r.integers(0, 9, (8, 14, 1)[k]), r.standard_normal((8, 14, 1)[k]))),
    Program(
        normal_posterior,
        lambda r, k: (r.standard_normal((8, 14, 1)[k]), 0.7),
        outside=_edges,
        seen=lambda: dict(PRIOR),
        refused="changing a dict from outside the function is not supported",
    ),
    Program(
        correlation_and_pairs,
        lambda r, k: (r.standard_normal(((9, 4), (12, 6), (5, 2))[k]), (0.3, 0.2, 0.0)[k]),
        tolerance=1e-10,
        host=SIZED,
    ),
    Program(
        ordinary_kriging_weights,
        lambda r, k: (r.random(((6, 2), (9, 3), (3, 2))[k]), r.random((2, 3, 2)[k])),
        tolerance=1e-8,
        python="np.linalg.solve is LAPACK's",
        host=NUMPY,
    ),
    Program(
        metropolis,
        lambda r, k: (np.uint64((3, 9, 1)[k]), (0.0, 1.0, -2.0)[k], (40, 64, 8)[k], 0.8),
        1e-9,
        long=True,
    ),
]
