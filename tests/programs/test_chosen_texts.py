"""Strings that a loop or an index chooses at run time, from those that the program names."""

import nestor as nt
import numpy as np
import pytest
from agreement import same

pytestmark = pytest.mark.one_of(2)


def last_kind(a):
    kind, negative = "none", 0
    for v in a:
        if v > 1:
            kind = "large"
        elif v < 0:
            kind = "negative"
            negative += 1
    if kind == "large":
        negative += 100
    return kind, negative


def until_stopped(a):
    state, i = "go", 0
    while state == "go" and i < len(a):
        state = {"large": "stop", "small": "go"}["large" if a[i] > 2.5 else "small"]
        i += 1
    return i, state


def counted(a):
    counts = {"low": 0, "middle": 0, "high": 0}
    total = {"low": 0.0, "middle": 0.0, "high": 0.0}
    for v in a:
        kind = "low" if v < 0 else "middle" if v < 2 else "high"
        counts[kind] += 1
        total[kind] += float(v)
    return counts, total["high"] - total["low"]


def swapped(a):
    """Strings move between variables: each has all that the other may have."""
    first, second = "a", "b"
    for v in a:
        if v > 0:
            first, second = second, first
        elif v < -1:
            second = "c"
    return first, second, ("a", "b", "c").index(second), first == second


def from_before(a):
    """A string of the iteration before, and one that is the same in all iterations."""
    before, changes, unit = "", 0, "m"
    for v in a:
        now = "up" if v > 0 else "down"
        if before and now != before:
            changes += 1
        before = now
        unit = "m"
    return changes, before, np.zeros(2, dtype={"m": "f4", "s": "f8"}[unit])


def in_a_branch(a):
    """A loop in a loop, and a string that only one path of the inner one sets."""
    worst, found = "fine", 0
    for i in range(len(a)):
        state = "fine"
        for k in range(i):
            if a[k] > a[i]:
                state = "late"
                break
        if state == "late":
            worst = state
            found += i
    return worst, found


INPUTS = [
    np.array(v) for v in ([3.0, 1, 2], [1.0, -2, 2, 5, np.nan], [], [-3.0], [0.5, -1.5, 2.0, -2.0, 9.0])
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [last_kind, until_stopped, counted, swapped, from_before, in_a_branch])
def test_loops_choose_strings(f, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    for a in (*INPUTS, INPUTS[-1][::-1]):
        same(compiled(a), f(a))


@pytest.mark.parametrize("f", [last_kind, counted, swapped])
def test_on_a_gpu(f):
    compiled = nt.jit(f, target="cuda-sim")
    for a in (INPUTS[0], INPUTS[1]):
        same(compiled(a), f(a))


def character(codes):
    total = 0
    for code in codes:
        letter = "abcb"[code]
        if letter == "b":
            total += 1
        elif letter == "c":
            total += 10
    return total


def test_a_character_at_an_index():
    compiled = nt.jit(character)
    for codes in ([0, 1, 2], [-1, 0, -2, 3, -4], []):
        codes = np.array(codes, dtype=int)
        assert compiled(codes) == character(codes)
    for bad in (4, -5):
        with pytest.raises(IndexError, match="string index out of range"):
            compiled(np.array([bad, 0]))


def test_an_index_computed_of_an_argument():
    def name(a, k):
        return ("p", "q", "r")[k % 3], "xyz"[k // 5], a + k

    compiled = nt.jit(name)
    for k in (0, 4, 11):
        same(compiled(np.ones(2), k), name(np.ones(2), k))
    with pytest.raises(IndexError):
        compiled(np.ones(2), 16)


def test_what_is_refused():
    def mixed(a):
        kind = "none"
        for i in range(len(a)):
            if a[i] > 0:
                kind = 1
        return kind

    def new_key(a):
        counts = {"low": 0}
        for v in a:
            kind = "low" if v < 0 else "high"
            counts[kind] = 1
        return counts

    with pytest.raises(nt.UnsupportedError, match=r"'kind' is .* on one path and .* on another"):
        nt.jit(mixed)(np.ones(100))
    with pytest.raises(
        nt.UnsupportedError, match=r"'high' may be the key, .*, and the dict has no such entry"
    ):
        nt.jit(new_key)(np.ones(100))
