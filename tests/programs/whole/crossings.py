"""What other files do not have: forms in kinds of loops where people write them seldom, but do."""

import numpy as np
from whole.program import NUMPY, Program


class Meter:
    def __init__(self):
        self.level = 0.0
        self.count = 0


def drained(levels, tol):
    meter = Meter()
    while levels[levels > tol].sum() > 0.0:
        lost = {"top": levels[-1], "rest": levels[:-1].sum()}
        meter.level += lost["top"] + 0.1 * lost["rest"]
        meter.count += 1
        levels *= 0.5
    return meter.level, meter.count, levels


def shed(loads, limit):
    rate = lambda v: 0.1 if v > 0.5 else 0.25
    given = {"first": 0.0, "last": 0.0}
    k = 0
    while True:
        part = loads[::2]
        given.update(first=given["first"] + part[0] * rate(part[0]), last=loads[-1])
        loads[loads > limit] -= rate(limit)
        k += 1
        if loads[loads > limit].size == 0 or k == 30:
            break
    return given["first"], given["last"], k


def first_heavy(rows, bound):
    for k in range(len(rows)):
        row = rows[k]
        if row.sum() > bound:
            heavy = row[row > bound / len(row)]
            parts = {"n": heavy.size, "s": heavy.sum()}
            break
    else:
        parts = {"n": -1, "s": 0.0}
    return parts["n"], parts["s"], k


def repaired(rows):
    fixed = 0
    for k in range(len(rows)):
        row = rows[k]
        if row[-1] < 0.0:
            row[row < 0.0] = 0.0
            fixed += 1
            continue
        row[row > 1.0] = 1.0
        if row[row == 1.0].size > 1:
            continue
        row[0] = row[-1]
    return rows, fixed


def lookup(keys, values, wanted):
    tried = []
    order = np.argsort(keys)
    for k in range(len(keys)):
        key, value = keys[order[k]], values[order[k]]
        tried.append(key)
        if key == wanted:
            return value, len(tried)
        elif key > wanted:
            near = values[values > value]
            return near.sum() + values[-1], -len(tried)
        elif np.isnan(key):
            raise KeyError("a key that is no number")
    return 0.0, 0


def running_limit(x, bound):
    low, total = x[0], 0.0
    for k in range(len(x)):
        part = np.cumsum(x[: k + 1])
        low, total = min(low, part[-1]), part[-1]
        if total > bound:
            return k, low, total
    return -1, low, total


def calibrated(signal, tol):
    meter = Meter()
    damp = lambda v: v * 0.5
    tallies = {"up": 0, "down": 0}
    for k in range(20):
        loud = signal[np.abs(signal) > tol]
        if loud.size == 0:
            break
        meter.level = max(meter.level, float(np.sort(np.abs(loud))[-1]))
        meter.count += 1
        half = np.concatenate([signal[:1], signal[1:]]).reshape(-1)
        signal = half * clipped_rate(damp(1.0), tol)
        pair = {"up": int(loud.max() > 0), "down": int(loud.min() < 0)}
        tallies["up"] += pair["up"]
        tallies["down"] += pair["down"]
    else:
        meter.count = -1
    return signal, meter.level, meter.count, tallies["up"], tallies["down"]


def clipped_rate(rate, least):
    return rate if rate > least else least


def calm_for_long(x, tol):
    meter = Meter()
    halved = lambda v: v / 2.0
    while meter.count < 12:
        meter.count += 1
        x = np.stack([x, np.roll(x, 1)]).mean(axis=0).reshape(-1) - x.mean()
        if np.abs(x).max() < tol:
            break
    else:
        named = {"last": halved(x[-1]), "peak": clipped_rate(x[x > 0].sum(), tol)}
        meter.level = named["last"] + np.cumsum(x)[-1]
    return meter.level, meter.count


def tally_grid(grid, names):
    counts = {"a": 0.0, "b": 0.0, "c": 0.0}
    meter = Meter()
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            word = "a" if grid[i, j] < 0.3 else ("b" if grid[i, j] < 0.6 else "c")
            counts[word] += grid[i, j]
            if word in ("b", "c"):
                meter.count += 1
                meter.level += counts.get(word)
            pair = {"here": grid[i, j], "there": grid[-1 - i, j]}
            grid[i, j] = max(pair.values())
        for row in grid:
            row[row > 0.9] = 0.9
            row[:] = np.sort(row)
    return counts["a"], counts["b"], counts["c"], meter.count, meter.level, grid


def polynomial_rows(x, degree):
    def term(k):
        return x**k / (k + 1.0)

    rows = [term(k) for k in range(degree)]
    return np.stack(rows).sum(axis=0), [row[0] for row in rows]


def folded(x, count):
    k = 0
    while k < count:
        x = np.concatenate([x[: len(x) // 2], x[len(x) // 2 :]]).reshape(2, -1).T.reshape(-1)
        k += 1
    return x


PROGRAMS = [
    Program(drained, lambda r, k: (r.random((5, 8, 2)[k]), 0.1)),
    Program(shed, lambda r, k: (r.random((5, 8, 2)[k]) + 0.2, 0.6)),
    Program(
        first_heavy, lambda r, k: (r.random(((3, 5), (4, 8), (1, 2))[k]), (2.0, 4.5, 99.0)[k]), joins=True
    ),
    Program(repaired, lambda r, k: (r.standard_normal(((3, 5), (4, 8), (1, 2))[k]),)),
    Program(
        lookup,
        lambda r, k: (np.array((3.0, 1.0, (2.0, 7.0, np.nan)[k])), r.random(3), (2.0, 2.5, 9.0)[k]),
        python=NUMPY,
        host=NUMPY,
    ),
    Program(running_limit, lambda r, k: (r.standard_normal((6, 9, 1)[k]), (0.5, 1.0, 9.0)[k])),
    Program(calibrated, lambda r, k: (r.standard_normal((6, 9, 1)[k]), 0.01), python=NUMPY, host=NUMPY),
    Program(calm_for_long, lambda r, k: (r.standard_normal((20, 9, 1)[k]), 1e-9), 1e-10, joins=True),
    Program(
        tally_grid,
        lambda r, k: (r.random(((3, 5), (4, 4), (1, 2))[k]), "abc"),
        joins=True,
        python=NUMPY,
        host=NUMPY,
    ),
    Program(polynomial_rows, lambda r, k: (r.random((5, 8, 1)[k]), (3, 4, 1)[k])),
    Program(folded, lambda r, k: (r.random((8, 16, 2)[k]), (3, 2, 1)[k])),
]
