"""Graphs: searches, shortest paths, components, rankings, colourings."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

DAMPING = 0.85
BLOCKED = np.zeros(0, dtype=np.int64)


def breadth_first_levels(indptr, neighbours, source):
    n = len(indptr) - 1
    level = np.full(n, -1)
    queue = np.empty(n, dtype=np.int64)
    queue[0] = source
    level[source] = 0
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for v in neighbours[indptr[u] : indptr[u + 1]]:
            if level[v] < 0:
                level[v] = level[u] + 1
                queue[tail] = v
                tail += 1
    return level, queue[:tail]


def dijkstra(W, source):
    n = len(W)
    distance = np.full(n, np.inf)
    before = np.full(n, -1)
    done = np.zeros(n, dtype=bool)
    done[BLOCKED] = True
    distance[source] = 0
    for _ in range(n):
        u = -1
        best = np.inf
        for v in range(n):
            if not done[v] and distance[v] < best:
                u, best = v, distance[v]
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            if W[u, v] > 0 and best + W[u, v] < distance[v]:
                distance[v] = best + W[u, v]
                before[v] = u
    path = []
    v = n - 1
    while v != -1:
        path.append(v)
        v = before[v]
    return distance, path[::-1]


def connected_components(edges, n):
    parent = np.arange(n)
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
    labels = np.empty(n, dtype=np.int64)
    for i in range(n):
        root = i
        while parent[root] != root:
            root = parent[root]
        labels[i] = root
    return labels, len(np.unique(labels))


def page_rank(A, tol=1e-9):
    n = A.shape[0]
    out = A.sum(axis=1)
    P = np.where(out[:, None] > 0, A / np.where(out > 0, out, 1)[:, None], 1 / n)
    rank = np.full(n, 1 / n)
    rounds = 0
    while True:
        new = DAMPING * (rank @ P) + (1 - DAMPING) / n
        rounds += 1
        if np.abs(new - rank).sum() < tol:
            return new, rounds
        rank = new


def bellman_ford(edges, weights, n, source):
    distance = np.full(n, np.inf)
    distance[source] = 0.0
    for _ in range(n - 1):
        changed = False
        for (u, v), w in zip(edges, weights):
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            break
    else:
        for (u, v), w in zip(edges, weights):
            if distance[u] + w < distance[v] - 1e-12:
                raise ValueError("a cycle of negative length")
    return distance


def topological_order(A):
    n = len(A)
    incoming = A.sum(axis=0)
    ready = [i for i in range(n) if incoming[i] == 0]
    order = []
    while len(ready) > 0:
        u = ready.pop(0)
        order.append(u)
        for v in range(n):
            if A[u, v]:
                incoming[v] -= 1
                if incoming[v] == 0:
                    ready.append(v)
    return order if len(order) == n else []


def greedy_colouring(A):
    n = A.shape[0]
    colour = -np.ones(n, dtype=np.int64)
    order = np.argsort(-A.sum(axis=1), kind="stable")
    for u in order:
        taken = np.zeros(n + 1, dtype=bool)
        for v in np.flatnonzero(A[u]):
            if colour[v] >= 0:
                taken[colour[v]] = True
        colour[u] = np.argmin(taken)
    return colour, colour.max() + 1


def minimum_spanning_tree(W):
    n = len(W)
    near = np.zeros(n, dtype=int)
    cost = W[0].copy()
    inside = np.zeros(n, dtype=bool)
    inside[0] = True
    edges = []
    total = 0.0
    for _ in range(n - 1):
        outside = np.where(inside, np.inf, cost)
        v = np.argmin(outside)
        total += cost[v]
        edges.append((near[v], v))
        inside[v] = True
        closer = W[v] < cost
        near[closer] = v
        cost = np.minimum(cost, W[v])
    return total, np.array(edges)


def triangles_and_clustering(A):
    B = A - np.diag(np.diag(A))
    degree = B.sum(axis=1)
    closed = np.diag(B @ B @ B)
    possible = degree * (degree - 1)
    some = possible > 0
    coefficient = np.zeros(len(A))
    coefficient[some] = closed[some] / possible[some]
    return closed.sum() // 6, coefficient, coefficient[some].mean() if some.any() else 0.0


def _directed(r, k, p=0.35):
    n = (7, 10, 4)[k]
    A = (r.random((n, n)) < p).astype(np.int64)
    np.fill_diagonal(A, 0)
    return A


def _csr(r, k):
    A = _directed(r, k)
    return np.concatenate([[0], np.cumsum(A.sum(axis=1))]), np.nonzero(A)[1]


def _weights(r, k):
    n = (7, 10, 4)[k]
    W = r.integers(1, 20, (n, n)).astype(float)
    W = (W + W.T) / 2
    return W


def _outside(k):
    global DAMPING, BLOCKED
    DAMPING = (0.85, 0.5, 0.9)[k]
    BLOCKED = (np.array([2]), np.array([3, 5]), np.zeros(0, dtype=np.int64))[k]


PROGRAMS = [
    Program(breadth_first_levels, lambda r, k: (*_csr(r, k), (0, 3, 1)[k]), host=SIZED, long=True),
    Program(
        dijkstra,
        lambda r, k: (_weights(r, k) * (r.random((7, 10, 4)[k]) < 0.6), 0),
        outside=_outside,
        joins=True,
        host=SIZED,
        long=True,
    ),
    Program(
        connected_components,
        lambda r, k: (r.integers(0, (7, 10, 4)[k], ((5, 2), (8, 2), (1, 2))[k]), (7, 10, 4)[k]),
        python="np.unique sorts by NumPy",
        host=NUMPY,
    ),
    Program(page_rank, lambda r, k: (_directed(r, k).astype(float),), 1e-7, outside=_outside),
    Program(
        bellman_ford,
        lambda r, k: (
            r.integers(0, (7, 10, 4)[k], (20, 2)),
            r.random(20) - (0.0, 0.05, 0.6)[k],
            (7, 10, 4)[k],
            1,
        ),
    ),
    Program(
        topological_order,
        lambda r, k: (np.triu(_directed(r, k)) + (k == 2) * np.eye((7, 10, 4)[k], k=-1, dtype=int),),
        host=SIZED,
    ),
    Program(
        greedy_colouring,
        lambda r, k: ((lambda A: A | A.T)(_directed(r, k)),),
        python="argsort is NumPy's",
        host=NUMPY,
        long=True,
    ),
    Program(
        minimum_spanning_tree,
        lambda r, k: (_weights(r, k),),
        host=SIZED,
        long=True,
    ),
    Program(triangles_and_clustering, lambda r, k: ((lambda A: A | A.T)(_directed(r, k)),), long=True),
]
