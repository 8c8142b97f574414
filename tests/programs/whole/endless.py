"""`while True`, left by break or return."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

LIMIT = 50


class Walker:
    def __init__(self, place, speed):
        self.place = place
        self.speed = speed
        self.turns = 0


def collatz(start):
    n = start
    steps = 0
    peak = n
    while True:
        if n == 1:
            break
        elif n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        peak = n if n > peak else peak
        steps += 1
    return steps, peak


def walk(place, speed, walls):
    walker = Walker(place, speed)
    while True:
        walker.place += walker.speed
        if not walls[0] < walker.place < walls[1]:
            walker.speed = -0.5 * walker.speed
            walker.turns += 1
        if abs(walker.speed) < 0.01 or walker.turns > LIMIT:
            return walker.place, walker.turns


def bracket(values, target):
    lo, hi = 0, len(values) - 1
    while True:
        if hi - lo <= 1:
            break
        mid = (lo + hi) // 2
        if values[mid] < target:
            lo = mid
        else:
            hi = mid
    return lo, hi, values[-hi - 1]


def relax_columns(u, tol):
    count = 0
    while True:
        old = u.copy()
        u[:, 1:-1] = 0.5 * (u[:, :-2] + u[:, 2:])
        u[0] += 0.1 * u[1]
        u *= 0.9
        u[u < 1e-3] = 0.0
        change = np.abs(u - old).sum(axis=0)
        worst = int(np.argmax(change))
        count += 1
        if change[worst] < tol:
            return u.T.copy(), count, worst


def take_turns(hands):
    left = [hand for hand in hands]
    order = []
    player = 0
    while True:
        left[player] -= 1.0
        order.append(player)
        if left[player] <= 0:
            break
        player = (player + 1) % len(left)
    return order, left


def settle(accounts, payments):
    names = {"in": 0.0, "out": 0.0}
    k = 0
    while True:
        if k == len(payments):
            break
        if payments[k] == 0:
            raise ValueError("nothing to pay")
        which = "in" if payments[k] > 0 else "out"
        names[which] += payments[k]
        accounts[k % len(accounts)] += payments[k]
        k += 1
    return accounts, names.get("in", 0.0), list(names.values())


def digits(number, base):
    found = []
    while True:
        number, digit = divmod(number, base)
        found.append(digit)
        if number == 0:
            break
    return found[::-1], len(found)


def digits_behind_each_other(number, base):
    found = []
    while True:
        found.append(number % base)
        number //= base
        if number == 0:
            return found[::-1]


def median_filter_until_still(x, tol):
    y = x
    while True:
        padded = np.concatenate([y[:1], y, y[-1:]])
        windows = np.stack([padded[:-2], padded[1:-1], padded[2:]])
        new = np.sort(windows, axis=0)[1, ...]
        still = np.abs(new - y).max()
        y = new
        if still <= tol:
            break
    return y[None, ::2], still


def slope_at(f, x):
    return (f(x + 1e-3) - f(x - 1e-3)) / 2e-3


def downhill(x, rate):
    bowl = lambda y: (y - 2.0) ** 2 + 1.0
    steps = 0
    while True:
        slope = slope_at(bowl, x)
        x = x - rate * slope
        steps += 1
        if abs(slope) < 1e-6 and steps not in (1, 2):
            return x, steps
        if steps == LIMIT:
            return x, -1


def reach(sizes, want):
    total = 0.0
    k = 0
    while True:
        pieces = [sizes[k], sizes[-1 - k]]
        best = {"small": min(pieces), "large": max(pieces)}
        total += best["small"] if total + best["large"] > want else best["large"]
        k += 1
        if k == len(sizes) // 2 or total >= want:
            return total, k


PROGRAMS = [
    Program(collatz, lambda r, k: ((7, 27, 1)[k],)),
    Program(walk, lambda r, k: (0.5, (0.3, 0.7, 0.001)[k], (0.0, 1.0))),
    Program(bracket, lambda r, k: (np.sort(r.random((9, 16, 3)[k])), 0.5)),
    Program(relax_columns, lambda r, k: (r.random(((4, 6), (3, 9), (2, 3))[k]), 1e-4), 1e-9),
    Program(take_turns, lambda r, k: ([3.0, 2.0, 4.0],) if k < 2 else ([1.0, 1.0, 1.0],), host=SIZED),
    Program(settle, lambda r, k: (r.random(3), r.integers(-2, 3, (4, 7, 1)[k]).astype(float))),
    Program(digits, lambda r, k: ((12345, 255, 0)[k], (10, 2, 7)[k]), host=SIZED),
    Program(
        digits_behind_each_other,
        lambda r, k: (255, 2),
        refused="slicing a list inside of the loop that appends to it is not supported",
    ),
    Program(median_filter_until_still, lambda r, k: (r.random((9, 14, 4)[k]), 0.0), python=NUMPY, host=NUMPY),
    Program(downhill, lambda r, k: ((5.0, -3.0, 2.0)[k], (0.3, 0.2, 0.1)[k]), 1e-9),
    Program(reach, lambda r, k: (r.random((6, 9, 2)[k]), (1.5, 2.5, 9.0)[k])),
]
