"""Searches: loops that end early by break or return, go on by continue, or have an else."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

WORDS = ("none", "some", "many")


class Best:
    def __init__(self):
        self.value = 0.0
        self.place = -1


def first_rise(x, threshold):
    for k in range(1, len(x)):
        change = x[k] - x[k - 1]
        if threshold < change < 10 * threshold:
            break
        elif change < -threshold and k > 2:
            k = -k
            break
    else:
        k = 0
    return k, WORDS[0 if k == 0 else (1 if k > 0 else 2)]


def divisors(n):
    found = []
    for d in range(1, n + 1):
        if n % d:
            continue
        found.append(d)
        if len(found) >= 4 and d not in (1, 2, 3):
            break
    else:
        found.append(0)
    return found


def steady_rows(table, tol):
    mean = table.mean(axis=0)
    for k in range(len(table)):
        row = table[k]
        row[row < 0] = 0.0
        if row.sum() == 0.0:
            raise ValueError("an empty row")
        row /= row.sum()
        far = np.abs(row - mean)
        if far[-1] > tol and int(np.argmax(far)) == 0:
            break
        mean[::2] += 0.1 * (row - mean)[::2]
    else:
        mean *= 2.0
    return mean, table


def account(moves, limit):
    names = {"left": 0.0, "right": 0.0}
    for move in moves:
        key = "left" if move < 0 else "right"
        if abs(move) > limit:
            break
        names[key] += abs(move)
        both = [names["left"], names["right"]]
        if max(both) > 2 * limit and "left" in names:
            return list(names.items()), both
    else:
        for name in names:
            names[name] *= 2.0
    return list(names.items()), [0.0, 0.0]


def peak_by_a_function(x, half):
    weight = lambda d: 1.0 / (1.0 + d * d)
    best = Best()
    for k in range(len(x)):
        if not (half <= k < len(x) - half):
            continue
        near = x[k - half : k + half + 1]
        score = float(np.sort(near)[half] * weight(k - len(x) // 2))
        if score <= best.value or np.isnan(score):
            continue
        best.value = score
        best.place = k
        if best.value > 0.9:
            break
    return best.value, best.place


def find_in_table(table, wanted):
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            if table[i, j] == wanted or table[-1 - i, j] == wanted:
                return i, j
        if i in (1, 3) and table[i].max(axis=0) < wanted:
            return -1, len(table)
    return -1, -1


def follow(links, start, limit):
    place, count = start, 0
    path = []
    while place >= 0:
        path.append(place)
        count += 1
        if count > limit:
            raise RuntimeError("a circle")
        place = links[place]
    else:
        count = -count
    return path, count


def stop_when_sorted(x):
    passes = 0
    while np.any(x[1:] < x[:-1]):
        for i in range(len(x) - 1):
            if x[i] <= x[i + 1]:
                continue
            x[i], x[i + 1] = x[i + 1], x[i]
        passes += 1
        if passes == 3:
            break
    else:
        x[x < 0] *= -1.0
        return np.cumsum(x), passes
    return x, -passes


def skip_gaps(values, holes):
    out = []
    seen = {"even": 0, "odd": 0}
    for k, v in enumerate(values):
        if holes[k] and v not in (0.5, 0.25):
            continue
        label = "even" if k % 2 == 0 else "odd"
        if seen.get(label) == 1:
            continue
        pair = {"v": v, "w": v * 2}
        seen[label] += 1
        out.append(sum(pair.values()))
    return out


def rows_until(table, bound):
    scale = lambda row: row / (1.0 + row.sum())
    total = np.zeros(table.shape[1])
    for row in table:
        part = scale(np.clip(row, 0.0, 1.0))
        if part[::2].sum() > bound:
            continue
        total[1:] += part[:-1]
        middle = np.concatenate([part, total])[None, ::-1]
        total += middle[0, : len(total)] * 0.01
        if total.sum(axis=0) > bound * len(total):
            return total.reshape(-1, 1), int(total.sum()), len(row) // 2
    return total.reshape(-1, 1), -1, 0


def match_score(a, b):
    best = 0
    for shift in range(len(a)):
        score = 0
        for i in range(len(b)):
            if i + shift >= len(a):
                break
            elif a[i + shift] == b[i] and (score or i == 0):
                score += 1
        else:
            best = score if score > best else best
            if best == len(b):
                return shift, best
    return -1, best


PROGRAMS = [
    Program(
        first_rise,
        lambda r, k: (np.array(([0, 1, 1.2, 3], [3, 2.9, 2.8, 0.5], [1, 1, 1, 1])[k], dtype=float), 0.15),
    ),
    Program(divisors, lambda r, k: ((36, 7, 1)[k],), host=SIZED),
    Program(steady_rows, lambda r, k: (r.random(((3, 5), (4, 7), (2, 2))[k]) + (0.1, 0.1, -2.0)[k], 0.05)),
    Program(
        account,
        lambda r, k: (r.standard_normal((6, 9, 2)[k]), (1.0, 5.0, 9.0)[k]),
        joins=True,
        host="dicts of floats",
    ),
    Program(
        peak_by_a_function, lambda r, k: (r.random((9, 14, 4)[k]), (2, 1, 1)[k]), python=NUMPY, host=NUMPY
    ),
    Program(find_in_table, lambda r, k: (r.integers(0, 9, ((3, 5), (5, 4), (2, 2))[k]), (4, 99, 10)[k])),
    Program(follow, lambda r, k: (np.array(([2, -1, 1], [1, 2, 0], [-1])[k]), 0, 5), joins=True, host=SIZED),
    Program(
        stop_when_sorted,
        lambda r, k: (np.array(([1.0, 2.0, 3.0], [3.0, 2.0, 1.0, -1.0, 7.0], [2.0, -1.0])[k]),),
    ),
    Program(skip_gaps, lambda r, k: (r.random((6, 9, 2)[k]), r.random((6, 9, 2)[k]) > 0.6), host=SIZED),
    Program(rows_until, lambda r, k: (r.random(((4, 6), (7, 3), (1, 2))[k]), (0.4, 0.5, 0.6)[k])),
    Program(match_score, lambda r, k: (r.integers(0, 2, (9, 14, 4)[k]), r.integers(0, 2, (3, 4, 2)[k]))),
]
