"""Conditions of `while` that write arrays, take from lists, change objects or print: evaluated as often as Python does."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from agreement import same

TARGETS = ["cpu", "interp", "cuda-sim"]


def advance(a):
    a[0] += 1
    return a[0]


def counting(a):
    turns = 0
    while advance(a) < 5:
        turns += 1
    return turns


def of_whole_arrays(a):
    total = a * 1
    while advance(a) < 5:
        total = total + a
    return total


def in_a_loop(a):
    turns = 0
    for k in range(2):
        while advance(a) < 5:
            turns += 1
        a[0] = k
    return turns


def with_jumps(a):
    total = a * 1
    while advance(a) < 7:
        if a[1] > 5:
            break
        if a[0] > 3:
            total[1] += 1
            continue
        total = total + a
    else:
        total = total - 1
    return total


def of_two_parts(a):
    total = a * 1
    while (advance(a) < 5 and advance(a[1:]) < 4) or a[0] < 2:
        total = total + a
    return total


def relaxed(u):
    u[1:-1] += 0.25 * (u[:-2] - 2 * u[1:-1] + u[2:])
    return np.abs(u[:-2] - 2 * u[1:-1] + u[2:]).max()


def until_smooth(a):
    sweeps = 0
    trace = np.zeros(3)
    while relaxed(a) > 0.01:
        sweeps += 1
        trace[sweeps % 3] = a.sum()
    return sweeps, trace


def of_a_new_array(a):
    v = a + 1
    total = v.copy()
    while advance(v) < 6:
        v = v * 1.25
        total += v
    return v, total


class Meter:
    def __init__(self, limit):
        self.used, self.limit = 0, limit

    def may_go_on(self):
        self.used += 1
        return self.used < self.limit


def of_an_object(a):
    meter = Meter(a.shape[0])
    total = 0.0
    while meter.may_go_on():
        total += a[meter.used]
    return total, meter.used


QUICK = (counting, of_whole_arrays, of_a_new_array)
OTHERS = (in_a_loop, with_jumps, of_two_parts, until_smooth, of_an_object)


@pytest.mark.parametrize(
    ("function", "target"),
    [
        *((f, target) for f in QUICK for target in TARGETS),
        *((f, target) for f in OTHERS for target in TARGETS[:2]),
        *(pytest.param(f, "cuda-sim", marks=pytest.mark.slow) for f in OTHERS),
    ],
)
def test_written_in_the_condition(function, target):
    compiled = nt.jit(function, target=target)
    for size, start in ((4, 0.0), (4, 3.0), (4, 7.0), (6, -2.0)):
        a = (np.arange(float(size)) + start) ** 2 / 4
        other = a.copy()
        same(compiled(a), function(other))
        same(a, other)


def takes_while_small(xs, a):
    turns = 0
    while turns < 3 and xs.pop() < 1.0:
        turns += 1
        a += a[0]
        a[:2] *= 2
    return turns


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_taken_in_the_condition(target):
    compiled = nt.jit(takes_while_small, target=target)
    for items in ([0.5, 0.2], [0.5, 2.0, 0.5], [0.5, 0.2, 0.1, 0.7], [3.0], [], [0.5]):
        for _ in range(2):
            outcomes = []
            for function in (compiled, takes_while_small):
                xs, a = list(items), np.arange(1.0, 5.0)
                try:
                    outcomes.append((function(xs, a), xs, a.tolist()))
                except IndexError:
                    outcomes.append(("IndexError", xs, a.tolist()))
            assert outcomes[0] == outcomes[1]


def speaks(a):
    print("at", a[0])
    return a[0] < 3


def spoken(a):
    while speaks(a):
        a[0] += 1
    return a[1]


def test_printed_in_the_condition(capsys):
    nt.jit(spoken)(np.arange(4.0))
    compiled = capsys.readouterr().out
    spoken(np.arange(4.0))
    assert compiled == capsys.readouterr().out


class Refused(Exception):
    pass


def checked(n):
    if n > 2:
        raise Refused("checked", n)
    return n + 1


def known_to_be_false(a, n):
    turns = 0
    while turns < n and 0 < checked(4) <= 0:
        turns += 1
    a[0] = 9.0
    return turns


def false_behind_what_raises(a, n):
    total = 0.5
    while total < n and 0 < checked(n) <= n:
        total = total + a[n // n]
    return total


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [known_to_be_false, false_behind_what_raises])
def test_a_condition_that_raises_before_it_is_false(function, target):
    compiled = nt.jit(function, target=target)
    for n in (6, 2, 0, 5, 1):
        ends = []
        for one in (compiled, function):
            a = np.arange(4.0)
            try:
                ends.append((one(a, n), a.tolist()))
            except Refused as error:
                ends.append((error.args, a.tolist()))
        assert ends[0] == ends[1]
