"""Dynamic programming, recurrences and searches over tables."""

import itertools
import operator
from functools import reduce

import numpy as np
from whole.program import SIZED, Program

GAP = -1
MATCH = {"same": 2, "other": -1}
COSTS = np.zeros((3, 3))


def align_sequences(a, b):
    n, m = len(a), len(b)
    H = np.zeros((n + 1, m + 1), dtype=np.int64)
    H[:, 0] = GAP * np.arange(n + 1)
    H[0, :] = GAP * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = MATCH["same"] if a[i - 1] == b[j - 1] else MATCH["other"]
            H[i, j] = max(H[i - 1, j - 1] + s, H[i - 1, j] + GAP, H[i, j - 1] + GAP)
    pairs = []
    i, j = n, m
    while i > 0 and j > 0:
        s = MATCH["same"] if a[i - 1] == b[j - 1] else MATCH["other"]
        if H[i, j] == H[i - 1, j - 1] + s:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif H[i, j] == H[i - 1, j] + GAP:
            i -= 1
        else:
            j -= 1
    return H[n, m], pairs[::-1]


def longest_increasing(x):
    n = len(x)
    tails = np.zeros(n, dtype=np.int64)
    before = np.full(n, -1)
    length = 0
    for i in range(n):
        lo, hi = 0, length
        while lo < hi:
            mid = (lo + hi) // 2
            if x[tails[mid]] < x[i]:
                lo = mid + 1
            else:
                hi = mid
        if lo > 0:
            before[i] = tails[lo - 1]
        tails[lo] = i
        if lo == length:
            length += 1
    out = np.empty(length, dtype=x.dtype)
    k = tails[length - 1]
    for j in range(length - 1, -1, -1):
        out[j] = x[k]
        k = before[k]
    return out


def time_warp(a, b, window):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    w = max(window, abs(n - m))
    for i in range(1, n + 1):
        for j in range(max(1, i - w), min(m, i + w) + 1):
            cost = np.sqrt(np.sum((a[i - 1] - b[j - 1]) ** 2))
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m], D[1:, 1:]


def coin_change(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for c in coins:
        for v in range(c, amount + 1):
            ways[v] += ways[v - c]
    fewest = np.full(amount + 1, amount + 1)
    fewest[0] = 0
    for v in range(1, amount + 1):
        for c in coins:
            if c <= v:
                fewest[v] = min(fewest[v], fewest[v - c] + 1)
    return ways[amount], fewest[amount] if fewest[amount] <= amount else -1


def matrix_chain(sizes):
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    split = np.zeros((n, n), dtype=int)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            options = [
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            ]
            best = min(options)
            cost[i, j] = best
            split[i, j] = i + options.index(best)
    return cost[0, n - 1], split


def forward_backward(observations):
    n = len(observations)
    states = COSTS.shape[0]
    emission = np.abs(COSTS) + 0.1
    transition = np.exp(-np.abs(np.subtract.outer(np.arange(states), np.arange(states))))
    transition /= transition.sum(axis=1, keepdims=True)
    alpha = np.zeros((n, states))
    beta = np.ones((n, states))
    scale = np.ones(n)
    alpha[0] = emission[:, observations[0]] / states
    for t in range(n):
        if t > 0:
            alpha[t] = (alpha[t - 1] @ transition) * emission[:, observations[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in reversed(range(n - 1)):
        beta[t] = transition @ (emission[:, observations[t + 1]] * beta[t + 1]) / scale[t + 1]
    posterior = alpha * beta
    return posterior.argmax(axis=1), np.log(scale).sum()


def knapsack_with_items(values, weights, capacity):
    n = len(values)
    best = np.zeros((n + 1, capacity + 1), dtype=values.dtype)
    for i in range(1, n + 1):
        w = weights[i - 1]
        best[i] = best[i - 1]
        if w <= capacity:
            best[i, w:] = np.maximum(best[i - 1, w:], best[i - 1, : capacity + 1 - w] + values[i - 1])
    taken = []
    c = capacity
    for i in range(n, 0, -1):
        if best[i, c] != best[i - 1, c]:
            taken.append(i - 1)
            c -= weights[i - 1]
    return best[n, capacity], taken


def pascal_rows(n, modulus):
    row = np.ones(1, dtype=np.int64)
    odd = 0
    for _ in range(n):
        nxt = np.ones(len(row) + 1, dtype=np.int64)
        nxt[1:-1] = (row[1:] + row[:-1]) % modulus
        row = nxt
        odd += np.count_nonzero(row % 2)
    return row, odd


def maximal_rectangle(grid):
    rows, cols = grid.shape
    heights = [0] * (cols + 1)
    best = 0
    for i in range(rows):
        for j in range(cols):
            heights[j] = heights[j] + 1 if grid[i, j] else 0
        stack = []
        for j in range(cols + 1):
            while stack and heights[stack[-1]] >= heights[j]:
                h = heights[stack.pop()]
                left = stack[-1] if stack else -1
                best = max(best, h * (j - left - 1))
            stack.append(j)
    return best


def subset_sums(x, target):
    found = []
    for size in (1, 2, 3):
        for c in itertools.combinations(range(4), size):
            if reduce(operator.add, [x[i] for i in c]) == target:
                found.append(sum(1 << i for i in c))
    return np.array(found, dtype=np.int64), len(found)


def _outside(k):
    global GAP, COSTS
    GAP = (-1, -2, -3)[k]
    MATCH["same"], MATCH["other"] = (2, 1, 5)[k], (-1, -1, 0)[k]
    COSTS = np.random.default_rng(k).standard_normal(((3, 4), (4, 4), (2, 5))[k])


PROGRAMS = [
    Program(
        align_sequences,
        lambda r, k: (r.integers(0, 4, (7, 5, 1)[k]), r.integers(0, 4, (6, 9, 3)[k])),
        outside=_outside,
        host=SIZED,
        long=True,
    ),
    Program(
        longest_increasing,
        lambda r, k: (r.integers(0, 50, (9, 17, 2)[k]),),
        host=SIZED,
    ),
    Program(
        time_warp,
        lambda r, k: (
            r.random(((7, 2), (5, 3), (1, 1))[k]),
            r.random(((6, 2), (9, 3), (4, 1))[k]),
            (2, 9, 0)[k],
        ),
    ),
    Program(
        coin_change,
        lambda r, k: ((np.array([1, 2, 5]), np.array([3, 7]), np.array([4, 6]))[k], (13, 12, 9)[k]),
        joins=True,
        long=True,
    ),
    Program(
        matrix_chain,
        lambda r, k: (r.integers(1, 20, (6, 8, 3)[k]),),
        host="kernels have no memory for a list that grows",
    ),
    Program(
        forward_backward,
        lambda r, k: (r.integers(0, 4, (7, 12, 1)[k]),),
        1e-10,
        outside=_outside,
        long=True,
    ),
    Program(
        knapsack_with_items,
        lambda r, k: (r.integers(1, 30, (6, 9, 2)[k]), r.integers(1, 8, (6, 9, 2)[k]), (13, 20, 3)[k]),
        host=SIZED,
        long=True,
    ),
    Program(pascal_rows, lambda r, k: ((6, 11, 1)[k], (1000, 7, 2)[k]), refused="'row' is an array of shape"),
    Program(
        maximal_rectangle,
        lambda r, k: (r.random(((5, 6), (3, 9), (4, 1))[k]) < 0.7,),
        host="kernels have no memory for a list that grows",
    ),
    Program(
        subset_sums,
        lambda r, k: (r.integers(1, 9, (4, 6, 5)[k]), (9, 12, 100)[k]),
        host=SIZED,
    ),
]
