"""What the interval analysis of scalars proves, and that it proves nothing that does not hold."""

import copy
import time

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.values.symbolic_ranges import (
    ANY,
    LARGEST,
    Bound,
    Leasts,
    Range,
    exactly,
    of_width,
)

pytestmark = pytest.mark.one_of(3)

N = Bound(0, 1, "n")
LEASTS = Leasts({"n": 2})


def below(bound, k):
    return bound.plus(Bound(-k))


def test_bounds_are_compared_whatever_the_extent():
    assert LEASTS.never_above(below(N, 1), N)
    assert LEASTS.never_above(Bound(2), N) and not LEASTS.never_above(Bound(3), N)
    assert not LEASTS.never_above(N, Bound(1 << 20)) and LEASTS.never_above(N, Bound(LARGEST))
    assert not LEASTS.never_above(N, Bound(5, 1, "m"))


@pytest.mark.parametrize("a", [Bound(k, f, "n") for k in (-3, 0, 4) for f in (0, 1, 2)])
@pytest.mark.parametrize("b", [Bound(k, f, "n") for k in (-3, 0, 4) for f in (0, 1, 2)])
def test_joined_and_divided_bounds_hold_for_every_extent(a, b):
    def at(bound, n):
        return bound.factor * n + bound.constant

    larger = LEASTS.larger(a, b)
    for n in range(2, 40):
        assert at(larger, n) >= max(at(a, n), at(b, n))
        for divisor in (1, 2, 3, 4):
            assert at(a.over(divisor), n) >= at(a, n) // divisor
        if LEASTS.never_above(a, b):
            assert at(a, n) <= at(b, n)


def test_arithmetic_that_may_leave_64_bits_says_nothing():
    counter, wide = Range(0, None), of_width(64)
    assert counter.plus(exactly(1)) == Range(1, None)
    assert counter.plus(counter) == ANY and counter.plus(exactly(1 << 20)) == ANY
    assert wide.plus(exactly(1)) == ANY and counter.times(2) == ANY
    assert Range(0, N).plus(Range(0, below(N, 1))) == Range(0, Bound(-1, 2, "n"))
    assert Range(0, Bound(0, 7, "n")).plus(Range(0, Bound(0, 7, "m"))) == ANY
    assert Range(1, Bound(5)).negated() == Range(-5, Bound(-1))


# ---- programs ---------------------------------------------------------------------------------------


def binary_search(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def sift(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def two_pointers(a):
    i, j = 0, len(a) - 1
    while i < j:
        a[i], a[j] = a[j], a[i]
        i += 1
        j -= 1


def ring(a, steps):
    k = 0
    for _ in range(steps):
        a[k] += 1
        k = (k + 1) % len(a)


def table(counts, data):
    for i in range(len(data)):
        counts[data[i]] += 1


def clipped(a, at):
    for i in range(len(at)):
        a[min(max(at[i], 0), len(a) - 1)] += 1


def scan_up(a):
    k = 0
    while a[k] > 0:
        k += 1
    return k


def scan_down(a):
    k = 0
    while a[k] > 0:
        k -= 1
    return k


def doubling(a):
    k = 1
    while k < 10**6:
        a[k] += 1
        k = k * 2


def halving_too_late(a):
    low, high = 0, len(a)
    while low <= high:
        middle = (low + high) // 2
        if a[middle] < 100:
            low = middle + 1
        else:
            high = middle
    return low


def by_truth(a, flag):
    if flag == True:  # noqa: E712
        a[int(flag)] += 1


def power_tower(a, x):
    k = 1
    for i in range(len(a)):
        k = (k * k if k > i else k * 3) * (k * k if k < 50 else k)
        k = (k * k if k > i else k + x) * (k * k if k < 50 else k)
        k = (k * k if k > i else k - x) * (k * k if k < 50 else k)
        k = k**x % len(a)
        a[k] += 1
    while k < len(a):
        a[k] += 1
        k += max(1, (k * k if k > x else k) * (k**x if k < x else k) * (k * k if k < 50 else k))
    return k


def test_deep_expressions_are_looked_at_in_steps():
    """An expression that says each operand twice would be looked at exponentially often."""
    start = time.process_time()
    lowered = nt.jit(power_tower).lower(np.zeros(7), 2)
    assert "nest.index" in lowered.as_text("nest")
    assert time.process_time() - start < 20


SORTED = np.arange(10.0)
PROVED = [
    (binary_search, (SORTED, 3.5)),
    (sift, (np.array([3.0, 1, 2, 5, 4, 0]),)),
    (two_pointers, (np.arange(7.0),)),
    (ring, (np.zeros(5), 13)),
    (table, (np.zeros(256), np.array([3, 255, 3], np.uint8))),
    (clipped, (np.zeros(5), np.array([-4, 2, 99]))),
]
CHECKED = [
    (scan_up, (np.ones(4),)),
    (scan_down, (np.ones(4),)),
    (doubling, (np.zeros(100),)),
    (halving_too_late, (SORTED,)),
    (table, (np.zeros(255), np.array([3, 255, 3], np.uint8))),
    (by_truth, (np.zeros(1), True)),
]
named = pytest.mark.parametrize(("function", "arguments"), PROVED, ids=lambda p: getattr(p, "__name__", ""))
failing = pytest.mark.parametrize(
    ("function", "arguments"), CHECKED, ids=lambda p: getattr(p, "__name__", "")
)


@named
def test_checks_that_cannot_fail_go(function, arguments):
    assert "nest.index" not in nt.jit(function).lower(*arguments).as_text("nest")
    expected, got = copy.deepcopy(arguments), copy.deepcopy(arguments)
    assert nt.jit(function)(*got) == function(*expected)
    np.testing.assert_array_equal(got[0], expected[0])


@failing
def test_checks_that_can_fail_stay(function, arguments):
    assert "nest.index" in nt.jit(function).lower(*arguments).as_text("nest")
    for run in (function, nt.jit(function)):
        with pytest.raises(IndexError):
            run(*copy.deepcopy(arguments))


# ---- random programs --------------------------------------------------------------------------------

SOURCE = """
def program(a, n, m):
    i, j, k = {starts}
    count = 0
    while count < 20 and ({condition}):
        count += 1
        {first}
        if {inner}:
            {second}
        else:
            {third}
        for t in range({bound}):
            {fourth}
            a[{read}] += 1
        a[{write}] += 2
"""
EXPRESSIONS = ["i + 1", "j - 1", "i + j", "k - i", "j // 2", "(i + k) // 2", "min(i, 5)", "max(j, 0)", "k % 4", "n", "m - 2",
               "i * 2", "-j", "7", "0", "abs(k)", "i if j < 3 else k", "len(a) - 1 - i"]  # fmt: skip
CONDITIONS = [
    "i < n",
    "j >= 0",
    "i < j",
    "k <= 6",
    "i != k",
    "j > -3 and i < 8",
    "i < 3 or j < 2",
    "not k > 4",
]
INDICES = ["i", "j", "k", "i + 1", "j - 1", "k + t", "(i + j) // 2", "min(max(k, 0), 9)", "i % 10", "t"]


def random_program(rng):
    def pick(items):
        return items[rng.integers(len(items))]

    def statement():
        return f"{pick('ijk')} = {pick(EXPRESSIONS)}"

    return SOURCE.format(
        starts=", ".join(pick(["0", "1", "9", "n", "-2", "len(a)"]) for _ in range(3)),
        condition=pick(CONDITIONS), inner=pick(CONDITIONS), bound=pick(["2", "n", "3"]),
        first=statement(), second=statement(), third=statement(), fourth=statement(),
        read=pick(INDICES), write=pick(INDICES[:5] + INDICES[6:9]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_fail_where_python_fails(seed, tmp_path):
    rng = np.random.default_rng(seed)
    file = tmp_path / "program.py"
    file.write_text(random_program(rng))
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    function = scope["program"]
    compiled = nt.jit(function)
    for n, m in ((0, 0), (3, 9), (8, -4)):
        expected, got = np.zeros(10), np.zeros(10)
        outcomes = []
        for run, array in ((function, expected), (compiled, got)):
            try:
                run(array, n, m)
                outcomes.append(None)
            except IndexError:
                outcomes.append("IndexError")
        assert outcomes[0] == outcomes[1], file.read_text()
        np.testing.assert_array_equal(got, expected, file.read_text())
