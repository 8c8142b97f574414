"""Programs steered by strings, slices and functions: methods by name, operators, reductions, containers."""

import functools
import math
import operator
from collections import namedtuple

import numpy as np
from whole.program import NUMPY, Program

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
METHOD = "midpoint"
NODES = [1, 2]
Fit = namedtuple("Fit", "slope intercept quality")


def integrate(f_values, dx, method):
    n = len(f_values)
    if method == "trapezoid":
        return dx * (f_values[1:-1].sum() + 0.5 * (f_values[0] + f_values[-1]))
    if method == "simpson":
        if n % 2 == 0:
            raise ValueError("an odd number of points, please")
        return dx / 3 * (f_values[0] + 4 * f_values[1:-1:2].sum() + 2 * f_values[2:-1:2].sum() + f_values[-1])
    if method == "left":
        return dx * np.sum(f_values[:-1])
    raise KeyError(method)


def root(coefficients, lo, hi, tol=1e-10):
    def f(x):
        return functools.reduce(lambda acc, c: acc * x + c, coefficients)

    def df(x):
        total = 0.0
        n = len(coefficients) - 1
        for i, c in enumerate(coefficients[:-1]):
            total = total + (n - i) * c * x ** (n - i - 1)
        return total

    x = 0.5 * (lo + hi)
    how = "newton"
    for k in range(100):
        slope = df(x)
        step = f(x) / slope if abs(slope) > 1e-8 else np.inf
        guess = x - step
        how = "newton" if lo < guess < hi else "bisect"
        if how == "bisect":
            guess = 0.5 * (lo + hi)
        if f(lo) * f(guess) <= 0:
            hi = guess
        else:
            lo = guess
        if abs(guess - x) < tol:
            return guess, k, how
        x = guess
    return x, -1, how


def stack_machine(codes, operands):
    stack = np.zeros(len(codes) + 1)
    top = 0
    for code, value in zip(codes, operands):
        if code == 0:
            stack[top] = value
            top += 1
            continue
        if top < 2:
            raise IndexError("stack underflow")
        a, b = stack[top - 2], stack[top - 1]
        op = "+-*/"[code - 1]
        if op == "+":
            r = a + b
        elif op == "-":
            r = a - b
        elif op == "*":
            r = a * b
        else:
            r = a / b if b != 0 else math.inf
        stack[top - 2] = r
        top -= 1
    return stack[top - 1], top


def apply_table(x, y):
    results = {name: op(x, y) for name, op in OPERATIONS.items()}
    total = functools.reduce(operator.add, results.values())
    best = max(results, key=lambda name: float(abs(results[name]).max()))
    return results, total, best


def classify_triangles(sides):
    counts = {"equilateral": 0, "isosceles": 0, "scalene": 0, "none": 0}
    kinds = np.empty(len(sides), dtype=np.int64)
    names = list(counts)
    for i, (a, b, c) in enumerate(sides):
        if a + b <= c or b + c <= a or a + c <= b:
            kind = "none"
        elif a == b == c:
            kind = "equilateral"
        elif a == b or b == c or a == c:
            kind = "isosceles"
        else:
            kind = "scalene"
        kinds[i] = names.index(kind)
        counts[kind] += 1
    return kinds, counts["scalene"] - counts["none"]


def piecewise_ode(y, t_end, n):
    h = t_end / n
    t = 0.0
    slope = lambda t, y: -y + np.sin(t)
    for _ in range(n):
        if METHOD == "euler":
            y = y + h * slope(t, y)
        elif METHOD == "midpoint":
            y = y + h * slope(t + h / 2, y + h / 2 * slope(t, y))
        else:
            k1 = slope(t, y)
            k2 = slope(t + h, y + h * k1)
            y = y + h / 2 * (k1 + k2)
        t += h
    return y


def best_line(x, y):
    fits = []
    for p in (1.0, 2.0):
        w = 1 / (np.abs(y - y.mean()) + 0.1) ** (p - 1)
        mx, my = np.average(x, weights=w), np.average(y, weights=w)
        slope = (w * (x - mx) * (y - my)).sum() / (w * (x - mx) ** 2).sum()
        fits.append(Fit(slope, my - slope * mx, -(np.abs(y - slope * x - my + slope * mx) ** p).mean()))
    best = fits[0] if fits[0].quality > fits[1].quality else fits[1]
    return best.slope, best.intercept


def window_reductions(x, how, width):
    f = {"max": np.max, "min": np.min, "mean": np.mean, "range": np.ptp}[how]
    out = np.array([f(x[i : i + width]) for i in range(len(x) - width + 1)])
    parts = [slice(None, width), slice(width, None), slice(None, None, -1)]
    return out, [float(x[s].sum()) for s in parts]


def barycentric(values, t):
    nodes = np.array(NODES, dtype=float)
    n = len(nodes)
    weights = np.array([1.0 / np.prod([nodes[i] - nodes[j] for j in range(n) if j != i]) for i in range(n)])
    out = np.empty_like(t)
    for k, s in enumerate(t):
        d = s - nodes
        exact = np.flatnonzero(d == 0)
        if exact.size:
            out[k] = values[exact[0]]
        else:
            c = weights / d
            out[k] = (c @ values[:n]) / c.sum()
    return out


def state_machine(events):
    state = "idle"
    since = 0
    log = np.zeros((len(events), 2), dtype=np.int64)
    for t, e in enumerate(events):
        before = state
        if state == "idle" and e > 0:
            state = "busy"
        elif state == "busy" and e < 0:
            state = "error" if t - since < 2 else "idle"
        elif state == "error" and e == 0:
            state = "idle"
        if state != before:
            since = t
        log[t] = ("idle", "busy", "error").index(state), t - since
    return log, state


def _outside(k):
    global METHOD, NODES
    METHOD = ("midpoint", "euler", "heun")[k]
    NODES = ([1, 2, 4], [0, 1], [3, 5, 6, 7])[k]


PROGRAMS = [
    Program(
        integrate,
        lambda r, k: (r.random((9, 12, 7)[k]), 0.1, ("simpson", "trapezoid", "left")[k]),
        quick=True,
    ),
    Program(
        root,
        lambda r, k: (((1.0, 0.0, -2.0), (1.0, -3.0, 1.0, 0.5), (2.0, -3.0))[k], 0.0, (2.0, 1.0, 4.0)[k]),
    ),
    Program(
        stack_machine,
        lambda r, k: (
            np.array(([0, 0, 1, 0, 3], [0, 0, 0, 4, 2], [0, 1])[k]),
            r.integers(0, 5, (5, 5, 2)[k]).astype(float),
        ),
    ),
    Program(
        apply_table,
        lambda r, k: (r.random((5, 7, 1)[k]), r.random((5, 7, 1)[k]) + 1),
        python="the result has a string",
        host=NUMPY,
    ),
    Program(
        classify_triangles,
        lambda r, k: (r.integers(1, 5, ((8, 3), (15, 3), (1, 3))[k]),),
    ),
    Program(piecewise_ode, lambda r, k: (r.random((3, 5, 1)[k]), 1.0, (5, 8, 3)[k]), outside=_outside),
    Program(best_line, lambda r, k: (r.random((9, 14, 4)[k]), r.random((9, 14, 4)[k])), 1e-10, long=True),
    Program(
        window_reductions, lambda r, k: (r.random((9, 14, 4)[k]), ("max", "mean", "range")[k], (3, 4, 2)[k])
    ),
    Program(
        barycentric,
        lambda r, k: (r.random(5), np.concatenate([r.random((3, 5, 2)[k]) * 4, [3.0, 1.0]])),
        1e-10,
        outside=_outside,
    ),
    Program(state_machine, lambda r, k: (r.integers(-1, 2, (12, 25, 3)[k]),)),
]
