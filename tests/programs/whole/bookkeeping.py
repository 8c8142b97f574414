"""Dicts, objects, functions and masks in loops of every kind."""

import numpy as np
from whole.program import NUMPY, SIZED, Program


class Budget:
    def __init__(self, money):
        self.money = money
        self.spent = 0.0
        self.refused = 0


def spend(budget, prices):
    for price in prices:
        if price > budget.money:
            budget.refused += 1
            continue
        budget.money -= price
        budget.spent += price
        if budget.money < 0.5:
            return budget, "poor"
    return budget, "rich"


def buy(prices, money):
    budget, word = spend(Budget(money), prices)
    return budget.money, budget.spent, budget.refused, word == "poor"


def tally_signs(values):
    counts = {"+": 0, "-": 0, "0": 0}
    for v in values:
        sign = "+" if v > 0 else ("-" if v < 0 else "0")
        counts[sign] += 1
    total = 0
    for name, count in counts.items():
        pair = [count, total]
        total = max(pair) if name in ("+", "-") else total + count
    return total, counts


def settle_until_even(weights, tol):
    shares = {"left": weights[0], "right": weights[-1]}
    steps = 0
    mix = lambda a, b: 0.75 * a + 0.25 * b
    while not (-tol < shares["left"] - shares["right"] < tol):
        left = mix(shares["left"], shares["right"])
        shares.update(right=mix(shares["right"], shares["left"]), left=left)
        pair = [shares["left"], shares["right"]]
        steps += 1
        if steps in (40, 41):
            raise ArithmeticError("it does not settle")
        weights[weights < pair[0] * 0.5] = 0.0
    return shares["left"], steps, weights


def cool_down(heat, rate):
    budget = Budget(heat.sum())
    while budget.money > 1.0:
        hot = heat > heat.mean()
        loss = heat[heat > heat.mean()].sum() * rate
        heat[hot] *= 1.0 - rate
        budget.money = heat.sum()
        budget.spent += loss
        order = np.cumsum(heat)
        budget.refused = int(order[-1] > budget.money + 1.0)
    return heat, budget.spent, budget.refused


def grid_paths(grid):
    step = lambda a, b: a if a < b else b
    cost = grid.copy()
    ways = {"down": 0, "right": 0}
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if i == 0 and j == 0:
                continue
            up = cost[i - 1, j] if i > 0 else np.inf
            left = cost[i, j - 1] if j > 0 else np.inf
            ways["down" if up < left else "right"] += 1
            cost[i, j] += step(up, left)
        row = cost[i]
        row[row > 4.0] = 4.0
    return cost, ways["down"], ways.get("right")


def inventory(orders, stock):
    missing = np.zeros(len(stock))
    for item, amount in orders:
        item = int(item) % len(stock)
        if not amount or amount < 0:
            raise ValueError("an amount, please")
        taken = min(stock[item], amount)
        stock[item] -= taken
        missing[item] += amount - taken
        missing[missing > 2.0] = 2.0
    return stock, missing, missing.any()


def running_ranks(table):
    best = np.zeros(table.shape[1])
    for row in table:
        scaled = np.cumsum(row[:, None], axis=0)[:, 0]
        best = np.where(scaled > best, scaled, best)
        best[best > 3.0] = 3.0
    return best


def decide(x):
    if x.size == 0:
        return "empty", 0.0
    elif x.min() >= 0.0 and x.max() <= 1.0:
        word = "unit"
    elif -1.0 <= x.min() < 0.0 or x.max() > 5.0:
        word = "signed"
    else:
        word = "other"
    far = x[np.abs(x) > 0.5]
    return word, far.sum() if word in ("unit", "signed") else x.mean()


def table_of_sines(count, step):
    closures = [lambda y: np.sin(y), lambda y: np.cos(y)]
    out = np.zeros((2, count))
    for i in range(count):
        shift = lambda y, by=i * step: y + by
        for row, f in enumerate(closures):
            out[row, i] = f(shift(0.5))
        limits = {"low": -0.9, "high": 0.9}
        out[:, i] = np.clip(out[:, i], limits["low"], limits["high"])
        if i in (3, 5):
            out[0, i] = 0.0
    return out


def longest_word(codes, breaks):
    best, current = 0, 0
    seen = {"letters": 0, "spaces": 0}
    for c in codes:
        if c in (0, 1) or c == breaks:
            best = max(best, current)
            current = 0
            seen["spaces"] += 1
            continue
        current += 1
        seen["letters"] += 1
    else:
        best = max(best, current)
        seen["spaces"] *= 2
    return best, list(seen.values())


def nearest_in_order(points, start):
    here, path = start, []
    left = points.copy()
    while len(path) < len(points):
        distance = np.abs(left - here)
        k = int(np.argmin(distance))
        path.append(k)
        here = left[k]
        left[k] = np.inf
    order = np.argsort(np.array(path))
    return path, order


PROGRAMS = [
    Program(buy, lambda r, k: (r.random((6, 9, 3)[k]), (1.6, 9.0, 0.2)[k]), joins=True),
    Program(tally_signs, lambda r, k: (r.integers(-1, 2, (9, 14, 1)[k]).astype(float),)),
    Program(settle_until_even, lambda r, k: (r.random((5, 8, 2)[k]) + 0.1, (1e-3, 1e-6, 1e-30)[k]), 1e-10),
    Program(cool_down, lambda r, k: (r.random((5, 8, 2)[k]) + 1.0, (0.3, 0.2, 0.5)[k]), 1e-10),
    Program(grid_paths, lambda r, k: (r.random(((3, 5), (4, 4), (1, 2))[k]) * 2,)),
    Program(
        inventory,
        lambda r, k: (
            np.array([(0, 2), (5, 1), (2, 3), (2, (1, 4, 0)[k])], dtype=float),
            r.random((3, 5, 4)[k]) * 3,
        ),
    ),
    Program(running_ranks, lambda r, k: (r.random(((3, 5), (4, 8), (1, 2))[k]),)),
    Program(decide, lambda r, k: (r.random((4, 7, 2)[k]) * (1.0, 9.0, 1.0)[k] - (0.0, 0.5, 3.0)[k],)),
    Program(table_of_sines, lambda r, k: ((6, 4, 1)[k], 0.3)),
    Program(longest_word, lambda r, k: (r.integers(0, 6, (9, 14, 1)[k]), 3)),
    Program(nearest_in_order, lambda r, k: (r.random((5, 8, 1)[k]), 0.5), python=NUMPY, host=SIZED),
]
