"""Clustering, trees, nearest neighbours, decompositions of data."""

import numpy as np
from nestor import random
from whole.program import NUMPY, SIZED, Program

METRIC = "euclid"
SCALE = np.ones(2)


def k_means(points, centres, most=50):
    for rounds in range(most):
        d = ((points[:, None, :] - centres[None]) ** 2 * SCALE).sum(axis=2)
        label = d.argmin(axis=1)
        new = centres.copy()
        for c in range(len(centres)):
            members = points[label == c]
            if len(members) > 0:
                new[c] = members.mean(axis=0)
        if np.allclose(new, centres):
            break
        centres = new
    return label, centres, rounds


def dbscan(points, radius, least):
    n = len(points)
    label = np.full(n, -2)
    cluster = 0
    for i in range(n):
        if label[i] != -2:
            continue
        near = np.flatnonzero(((points - points[i]) ** 2).sum(axis=1) <= radius**2)
        if len(near) < least:
            label[i] = -1
            continue
        label[i] = cluster
        todo = np.zeros(n, dtype=bool)
        todo[near] = True
        done = np.zeros(n, dtype=bool)
        done[i] = True
        while (todo & ~done).any():
            j = np.argmax(todo & ~done)
            done[j] = True
            if label[j] == -1:
                label[j] = cluster
            if label[j] != -2:
                continue
            label[j] = cluster
            more = ((points - points[j]) ** 2).sum(axis=1) <= radius**2
            if np.count_nonzero(more) >= least:
                todo |= more
        cluster += 1
    return label, cluster


def agglomerate(D, wanted):
    D = D.copy()
    n = len(D)
    np.fill_diagonal(D, np.inf)
    active = np.ones(n, dtype=bool)
    label = np.arange(n)
    merges = []
    for _ in range(n - wanted):
        flat = np.argmin(D)
        i, j = divmod(int(flat), n)
        i, j = min(i, j), max(i, j)
        merges.append(D[i, j])
        label[label == label[j]] = label[i]
        D[i] = np.minimum(D[i], D[j])
        D[:, i] = D[i]
        D[i, i] = np.inf
        D[j] = np.inf
        D[:, j] = np.inf
        active[j] = False
    return label, np.array(merges), np.flatnonzero(active)


def nearest_neighbours_vote(train, labels, queries, k):
    out = np.empty(len(queries), dtype=labels.dtype)
    for q in range(len(queries)):
        if METRIC == "euclid":
            d = ((train - queries[q]) ** 2).sum(axis=1)
        else:
            d = np.abs(train - queries[q]).sum(axis=1)
        votes = np.zeros(labels.max() + 1, dtype=np.int64)
        for _ in range(k):
            i = d.argmin()
            votes[labels[i]] += 1
            d[i] = np.inf
        out[q] = votes.argmax()
    return out


def principal_components(X, count, rounds):
    X = X - X.mean(axis=0)
    parts = np.zeros((count, X.shape[1]))
    shares = np.zeros(count)
    total = (X**2).sum()
    for c in range(count):
        v = np.ones(X.shape[1]) / np.sqrt(X.shape[1])
        for _ in range(rounds):
            v = X.T @ (X @ v)
            v -= parts[:c].T @ (parts[:c] @ v)
            v /= np.linalg.norm(v)
        parts[c] = v
        shares[c] = ((X @ v) ** 2).sum() / total
    return parts, shares


def best_split(X, y):
    best = (np.inf, -1, 0.0)
    n, features = X.shape
    for f in range(features):
        column = X[:, f]
        for threshold in np.unique(column)[:-1]:
            left = y[column <= threshold]
            right = y[column > threshold]
            score = left.var() * len(left) + right.var() * len(right)
            if score < best[0]:
                best = (score, f, threshold)
    return best


def gaussian_mixture(x, means, rounds):
    k = len(means)
    weights = np.full(k, 1 / k)
    variances = np.full(k, x.var())
    means = means.copy()
    history = []
    for _ in range(rounds):
        p = weights * np.exp(-0.5 * (x[:, None] - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)
        total = p.sum(axis=1, keepdims=True)
        r = p / total
        n = r.sum(axis=0)
        means = (r * x[:, None]).sum(axis=0) / n
        variances = (r * (x[:, None] - means) ** 2).sum(axis=0) / n + 1e-6
        weights = n / len(x)
        history.append(np.log(total).sum())
    return means, variances, weights, np.array(history)


def nonnegative_factors(key, V, rank, rounds):
    m, n = V.shape
    W = random.uniform(key, (m, rank), np.float64) + 0.1
    H = random.uniform(random.fold_in(key, 1), (rank, n), np.float64) + 0.1
    for _ in range(rounds):
        H *= (W.T @ V) / (W.T @ W @ H + 1e-9)
        W *= (V @ H.T) / (W @ (H @ H.T) + 1e-9)
    return W, H, np.sqrt(((V - W @ H) ** 2).sum())


def self_organising_map(key, data, n, rounds):
    nodes = random.uniform(key, (n, data.shape[1]), np.float64)
    for t in range(rounds):
        x = data[t % len(data)]
        winner = np.argmin(((nodes - x) ** 2).sum(axis=1))
        width = max(n / 2 * (1 - t / rounds), 0.5)
        reach = np.exp(-((np.arange(n) - winner) ** 2) / (2 * width**2))
        nodes += 0.3 * reach[:, None] * (x - nodes)
    return nodes


def _outside(k):
    global METRIC, SCALE
    METRIC = ("euclid", "city", "euclid")[k]
    SCALE = (np.ones(2), np.array([1.0, 2.0, 0.5]), np.ones(1))[k]


SHAPES = ((12, 2), (20, 3), (5, 1))

PROGRAMS = [
    Program(
        k_means,
        lambda r, k: (r.random(SHAPES[k]), r.random(((3, 2), (4, 3), (2, 1))[k])),
        1e-10,
        outside=_outside,
    ),
    Program(dbscan, lambda r, k: (r.random(SHAPES[k]), (0.3, 0.4, 0.2)[k], 3), long=True),
    Program(
        agglomerate,
        lambda r, k: ((lambda d: d + d.T)(r.random(((8, 8), (12, 12), (3, 3))[k])), (3, 4, 2)[k]),
        host=SIZED,
        long=True,
    ),
    Program(
        nearest_neighbours_vote,
        lambda r, k: (
            r.random(SHAPES[k]),
            r.integers(0, 3, SHAPES[k][0]),
            r.random(((4, 2), (6, 3), (1, 1))[k]),
            3,
        ),
        outside=_outside,
        long=True,
    ),
    Program(
        principal_components,
        lambda r, k: (r.random(((12, 4), (20, 3), (6, 5))[k]) * np.arange(1, (5, 4, 6)[k]), (2, 3, 1)[k], 30),
        1e-6,
        long=True,
    ),
    Program(
        best_split,
        lambda r, k: (
            r.integers(0, 6, ((12, 2), (20, 3), (5, 1))[k]).astype(float),
            r.random((12, 20, 5)[k]),
        ),
        1e-10,
        python="np.unique sorts by NumPy",
        host=NUMPY,
        long=True,
    ),
    Program(
        gaussian_mixture,
        lambda r, k: (
            r.standard_normal((20, 31, 9)[k]),
            np.array(([-1.0, 1], [-1.0, 0, 1], [0.0])[k]),
            (5, 3, 4)[k],
        ),
        1e-9,
        long=True,
    ),
    Program(
        nonnegative_factors,
        lambda r, k: (np.uint64((4, 8, 2)[k]), r.random(((6, 5), (4, 8), (3, 3))[k]), (2, 3, 1)[k], 6),
        1e-9,
        long=True,
    ),
    Program(
        self_organising_map,
        lambda r, k: (np.uint64((4, 8, 2)[k]), r.random(SHAPES[k]), (5, 7, 3)[k], (10, 25, 6)[k]),
        1e-10,
        long=True,
    ),
]
