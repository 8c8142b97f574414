"""What a function may name that is run once in place of its calls."""

from __future__ import annotations

import functools
import math
import operator
import random
import time

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.traceable import why_not


class Model:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x


def drawing(x):
    return x + random.random()


def helper(x):
    return np.tanh(x) * math.pi


MODEL, WEIGHTS, NUMBERS, DRAW = Model(), np.ones(3), [1, (2.0, {"k": None})], np.random.default_rng(1)


JITTED, PARTIAL = nt.jit(helper), functools.partial(helper)
JITTED_DRAWING, PARTIAL_DRAWING = nt.jit(drawing), functools.partial(drawing)


def counted(x):
    global WEIGHTS
    WEIGHTS = x
    return x


def assigned(x):
    helper.last = x
    return x


def imported(x):
    import os

    return x + len(os.environ)


HARMLESS = {
    "numpy": lambda x: np.linalg.norm(np.where(x > 0, x, 0.0)),
    "builtins": lambda x: sum([abs(v) for v in range(len(x))]),
    "a helper": lambda x: helper(x) + WEIGHTS,
    "data": lambda x: x * NUMBERS[0],
    "an exception": lambda x: ValueError(x),
    "jitted": lambda x, f=JITTED: f(x),
    "a partial": lambda x, f=PARTIAL: f(x),
    "operator": lambda x, add=operator.add: functools.reduce(add, [x, x]),
}
HARMFUL = {
    "print": (lambda x: print(x), "it calls 'print'"),
    "input": (lambda x: input(x), "it calls 'input'"),
    "a clock": (lambda x: x + time.time(), "it uses 'time', a module"),
    "random of NumPy": (lambda x: np.random.rand(3), "it names 'random'"),
    "a generator of numbers": (lambda x: x + DRAW.random(), "it names 'random'"),
    "a bound draw": (
        lambda x, draw=DRAW.normal: x + draw(),
        "it uses 'a default', a method",
    ),
    "an object": (lambda x: MODEL(x), "it uses 'MODEL', a Model"),
    "in a helper": (lambda x: drawing(x), "it names 'random', in 'drawing'"),
    "in a partial": (lambda x, f=PARTIAL_DRAWING: f(x), "it names 'random', in 'drawing'"),
    "in a jitted one": (lambda x, f=JITTED_DRAWING: f(x), "it names 'random', in 'drawing'"),
    "a global": (counted, "it assigns 'WEIGHTS'"),
    "an attribute": (assigned, "it assigns 'last'"),
    "an import": (imported, "it imports 'os'"),
    "a file": (lambda x: np.load(x), "it names 'load'"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_computes_may_be_traced(name):
    assert why_not(HARMLESS[name]) is None


@pytest.mark.parametrize("name", HARMFUL)
def test_what_draws_reads_writes_or_changes_may_not(name):
    function, reason = HARMFUL[name]
    assert why_not(function) == reason
