"""Lists that loops and comprehensions make."""

import numpy as np
from whole.program import NUMPY, SIZED, Program


class Tape:
    def __init__(self):
        self.length = 0.0
        self.marks = 0


def local_peaks(x, floor):
    peaks = []
    sizes = [0, 0]
    for k in range(1, len(x) - 1):
        if x[k] < floor or k in (2, 3):
            continue
        near = x[k - 1 : k + 2 : 2]
        if x[k] > near.max():
            peaks.append(x[k])
            sizes[0] += 1
        elif x[k] == near.max():
            sizes[1] += 1
    return np.array(peaks), sizes


def tape_cuts(lengths, most):
    tape = Tape()
    pieces = []
    for length in lengths:
        if length <= 0:
            raise ValueError("a length, please")
        tape.length += length
        tape.marks += 1
        if tape.length > most:
            pieces.append(tape.length - most)
            tape.length = 0.0
    return pieces, tape.length, tape.marks


def normalised_rows(table):
    halved = lambda row: row * 0.5
    rows = []
    for row in table:
        sums = {"plus": row[row > 0].sum(), "minus": row[row < 0].sum()}
        span = sums["plus"] - sums["minus"]
        rows.append(np.concatenate([halved(row / span)[::2], row[:1].reshape(-1)]))
    return np.stack(rows)


def ordered_runs(x):
    runs = []
    start = 0
    for k in range(1, len(x)):
        if x[k] < x[k - 1]:
            pair = [start, k]
            runs.append(pair[1] - pair[0])
            start = k
    runs.append(len(x) - start)
    return runs, np.cumsum(np.array(runs))


def totals_by_rank(table):
    out = []
    for row in table:
        ranked = np.sort(row)
        names = {"low": ranked[0], "high": ranked[-1]}
        out.append(sum(names.values()) if "low" in names else 0.0)
    return out


def moments(x, orders):
    mean = x.mean()
    centred = [((x - mean) ** p).mean() for p in orders]
    signs = ["even" if p % 2 == 0 else "odd" for p in orders]
    named = [v for v, s in zip(centred, signs) if s == "even"]
    return centred, named, [p for p in orders if 1 < p < 4 or p == 5]


def features(table):
    norms = [np.sqrt(row @ row) for row in table]
    clipped = [np.clip(row, 0.0, 1.0).sum() for row in table]
    means = [table[:, j].mean(axis=0) for j in range(table.shape[1])]
    best = [int(np.argmax(row)) for row in table]
    ends = [row[-1] - row[::-2][0] for row in table]
    spread = [np.outer(row, row)[None, 0].max() for row in table]
    return np.array(norms), np.array(clipped), means, best, ends, spread


def windows(x, width):
    rows = [np.zeros(width) + x[k : k + width] for k in range(len(x) - width + 1)]
    kept = [row for row in x.reshape(-1, 1) if len(row) == 1]
    return np.stack(rows), np.array([row[0] if row[0] > 0 else -row[0] for row in kept])


def applied(x):
    steps = [lambda y: y + 1.0, lambda y: y * 2.0, lambda y: y - x.mean()]
    values = [step(x) for step in steps]
    pairs = [[v.min(), v.max()] for v in values]
    named = [{"low": low, "high": high} for low, high in pairs]
    return [pair["high"] - pair["low"] for pair in named if pair["high"] not in (0.0, 1.0)]


def sorted_columns(table):
    columns = [np.sort(table[:, j]) for j in range(table.shape[1])]
    positive = [table[:, j][table[:, j] > 0].sum() for j in range(table.shape[1])]
    return np.stack(columns, axis=1), np.array(positive)


def words_to_codes(order, table):
    codes = {"stop": 0, "left": 1, "right": 2}
    moves = [codes[word] for word in ("left", "right", "right", "stop")]
    return [table[m] * (k + 1) for k, m in enumerate(moves)], [f"{word}!" for word in codes], order


def stack_of_sums(values):
    stack = []
    for v in values:
        while len(stack) > 0 and stack[-1] < v:
            v += stack.pop()
        stack.append(v)
    return stack


PROGRAMS = [
    Program(local_peaks, lambda r, k: (r.random((9, 14, 4)[k]), 0.3), host=SIZED),
    Program(tape_cuts, lambda r, k: (r.random((6, 9, 3)[k]) - (0, 0, 2.0)[k], 1.0), joins=True, host=SIZED),
    Program(normalised_rows, lambda r, k: (r.standard_normal(((3, 5), (4, 8), (1, 2))[k]),), 1e-10),
    Program(ordered_runs, lambda r, k: (r.random((8, 12, 1)[k]),), host=SIZED),
    Program(totals_by_rank, lambda r, k: (r.random(((3, 5), (4, 8), (1, 2))[k]),), python=NUMPY, host=NUMPY),
    Program(moments, lambda r, k: (r.random((8, 12, 1)[k]), (2, 3, 4, 5)), 1e-10),
    Program(features, lambda r, k: (r.standard_normal(((3, 5), (4, 8), (1, 2))[k]),), 1e-10, host=SIZED),
    Program(windows, lambda r, k: (r.standard_normal((8, 12, 3)[k]), (3, 4, 3)[k])),
    Program(applied, lambda r, k: (r.random((8, 12, 2)[k]),), 1e-10, host=SIZED),
    Program(
        sorted_columns,
        lambda r, k: (r.standard_normal(((3, 5), (4, 8), (1, 2))[k]),),
        python=NUMPY,
        host=NUMPY,
    ),
    Program(words_to_codes, lambda r, k: (("a", "b", "a")[k], r.random((3, 5, 4)[k]))),
    Program(stack_of_sums, lambda r, k: (r.random((8, 12, 1)[k]),), host=SIZED),
]
