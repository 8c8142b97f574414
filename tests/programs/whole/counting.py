"""Loops that count by hand, as people from C and Fortran write them: `i = 0`, `while i < n`, `i += 1`."""

import numpy as np
from whole.program import NUMPY, Program

STEPS = 3


class Gauge:
    def __init__(self, lowest, highest):
        self.lowest = lowest
        self.highest = highest
        self.seen = 0

    def take(self, value):
        if value < self.lowest:
            self.lowest = value
        elif value > self.highest:
            self.highest = value
        else:
            self.seen += 1


def letter_grades(points, bounds):
    counts = {"a": 0, "b": 0, "c": 0}
    marks = np.zeros(len(points), dtype=np.int64)
    i = 0
    while i < len(points):
        if points[i] >= bounds[0]:
            mark = "a"
        elif points[i] >= bounds[1]:
            mark = "b"
        else:
            mark = "c"
        counts[mark] += 1
        marks[i] = 1 if mark == "a" else (2 if mark == "b" else 3)
        i += 1
    return marks, counts["a"], counts["b"], counts["c"]


def bit_reversal(values):
    n = len(values)
    out = values.copy()
    i = 0
    while i < n:
        j, k, m = 0, i, n >> 1
        while m > 0:
            j = j * 2 + k % 2
            k //= 2
            m >>= 1
        if i < j < n and (i != j or n == 1):
            out[i], out[j] = out[j], out[i]
        i += 1
    return out


def smooth_by_halves(x):
    k = 0
    y = x.copy()
    while k < STEPS:
        y[1:-1] = 0.5 * y[1:-1] + 0.25 * (y[:-2] + y[2:])
        y[::2] *= 0.99
        y[y < 0.1] = 0.1
        y[-1] = y[0]
        k += 1
    return y


def envelope(signal, width):
    k = 0
    out = np.zeros((2, len(signal) - width))
    while k < len(signal) - width:
        window = signal[k : k + width]
        low, high = window.min(), window.max()
        out[0, k] = low if low < 0 else -low
        out[1, k] = np.where(window > 0, window, 0.0).sum() / (high - low + 1.0)
        k += 1
    return out


def strongest_columns(table, many):
    k = 0
    rest = table.copy()
    chosen = np.zeros(many, dtype=np.int64)
    while k < many:
        norms = np.sqrt((rest * rest).sum(axis=0))
        best = np.argmax(norms)
        chosen[k] = best
        direction = rest[:, best] / (norms[best] + 1e-12)
        rest = rest - np.outer(direction, direction @ rest)
        k += 1
    return chosen, rest.reshape(-1)


def ranks_of_rows(table):
    k = 0
    out = np.empty(table.shape)
    while k < table.shape[0]:
        order = np.argsort(table[k, :])
        out[k, order] = np.arange(table.shape[1])
        k += 1
    return out, np.cumsum(out[-1])


def limits(values, lowest, highest):
    gauge = Gauge(lowest, highest)
    i = 0
    while i < len(values):
        gauge.take(values[i])
        i += 1
    return gauge.lowest, gauge.highest, gauge.seen


def scaled(value, factor):
    return value * factor + 1.0


def powers_by_a_function(x, count):
    def shifted(y):
        return y - x.mean()

    k = 0
    total = 0.0
    row = np.ones_like(x)
    while k < count:
        scale = lambda y, factor=k + 1: y * factor
        row = scaled(row, 0.5) * scale(shifted(x))
        total += float(row[None, :].sum())
        k += 1
    return row, total


def checked_sum(values, bound):
    i = 0
    total = 0.0
    while i < len(values):
        if not np.isfinite(values[i]):
            raise ValueError("a number, please")
        assert i < bound, "too many"
        total += values[i] if i in (0, 2, 4) else -values[i]
        i += 1
    return total


def pair_table(values):
    names = []
    i = 0
    while i < 3:
        both = [values[i], values[-1 - i]]
        names.append(both[0] * both[1])
        i += 1
    while i < len(values):
        tally = {"even": values[i], "odd": 0.0}
        tally.update(odd=values[i] * 2)
        values[i] = sum(tally.values())
        i += 1
    return names, values


def block_sums(x, size):
    start = 0
    out = []
    while start < len(x):
        stop = start + size
        part = x[start:stop]
        if stop > len(x) and len(part) > 0:
            part = part * (size / len(part))
        out.append(int(np.floor(part.sum() * 10)))
        start += 1
    return np.array(out)


PROGRAMS = [
    Program(letter_grades, lambda r, k: (r.random((7, 12, 1)[k]), (0.7, 0.4))),
    Program(bit_reversal, lambda r, k: (r.random((8, 16, 1)[k]),)),
    Program(smooth_by_halves, lambda r, k: (r.random((9, 14, 4)[k]),)),
    Program(envelope, lambda r, k: (r.standard_normal((9, 14, 6)[k]), (3, 4, 2)[k])),
    Program(strongest_columns, lambda r, k: (r.random(((4, 6), (5, 5), (2, 3))[k]), (3, 2, 1)[k]), 1e-9),
    Program(
        ranks_of_rows,
        lambda r, k: (r.random(((3, 5), (4, 7), (1, 2))[k]),),
        python=NUMPY,
        host=NUMPY,
    ),
    Program(limits, lambda r, k: (r.random((7, 12, 1)[k]), 0.4, 0.6), joins=True),
    Program(powers_by_a_function, lambda r, k: (r.random((5, 9, 1)[k]), (3, 4, 1)[k]), 1e-9),
    Program(
        checked_sum,
        lambda r, k: (
            np.where(np.arange((6, 9, 5)[k]) == (9, 5, 9)[k], np.inf, r.random((6, 9, 5)[k])),
            (9, 20, 3)[k],
        ),
    ),
    Program(pair_table, lambda r, k: (r.random((6, 9, 4)[k]),)),
    Program(block_sums, lambda r, k: (r.random((8, 12, 3)[k]), 3)),
]
