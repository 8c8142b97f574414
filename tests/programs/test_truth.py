"""Truth values: of lists, of records, of arrays of one element, of what a loop makes; `assert` without a message."""

import dataclasses
import typing
from collections import namedtuple

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X = np.arange(4.0)
LONG = np.arange(20.0)
each_target = pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])

Point = namedtuple("Point", "x y")
Nothing = namedtuple("Nothing", "")


@dataclasses.dataclass
class Box:
    value: typing.Any


@dataclasses.dataclass
class Empty:
    pass


@dataclasses.dataclass
class Never:
    value: typing.Any

    def __bool__(self):
        return False


def asserts(x):
    assert x[0] == 1
    return x + 1


def asserts_its_only_element(x):
    assert x, "no"
    return x


@each_target
def test_an_assert_without_a_message(target):
    compiled = agrees(asserts, np.ones(3), target=target)
    with pytest.raises(AssertionError):
        compiled(np.zeros(3))
    compiled = agrees(asserts_its_only_element, np.ones(1), target=target)
    with pytest.raises(AssertionError, match="no"):
        compiled(np.zeros(1))


def empties_a_stack(x):
    stack, s = [0, 1, 2], 0.0
    while stack:
        k = stack.pop()
        if k == 2:
            stack.append(3)
        s += x[k]
    else:
        s += 0.5
    return s


def empties_one_in_each_turn(x):
    s = 0.0
    for i in range(len(x)):
        stack = [0, 1, 2]
        while stack:
            k = stack.pop()
            if k == 1:
                continue
            s += x[k] * i
    return s


def of_arrays(x):
    stack, s = [x, x + 1], 0.0
    while stack:
        s = s + stack.pop().sum()
    return s


def of_others(x):
    t, d, e = (1, 2), {"a": 1}, []
    while t:
        t = t[1:]
    while d:
        d.pop("a")
    while e:
        pass
    return x, t, d


@pytest.mark.parametrize("function", [empties_a_stack, empties_one_in_each_turn, of_arrays, of_others])
def test_while_there_are_items(function):
    agrees(function, X)


@each_target
def test_while_there_are_items_on_each_target(target):
    agrees(empties_one_in_each_turn, LONG, target=target, dynamic=True)


def branches(x):
    s = 0
    for i in range(9):
        if x:
            s += i
        if not x:
            s -= 100
    return s, bool(x), not x, 1 if x else 2, 3 if x and s else 4


@each_target
@pytest.mark.parametrize(
    "value", [np.ones(1), np.zeros(1), np.ones((1, 1)), np.zeros(()), 3, 0.0, np.float32(0)], ids=repr
)
def test_an_array_of_one_element(value, target):
    agrees(branches, value, target=target)


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros(0), np.zeros((0, 1))], ids=repr)
def test_other_arrays_have_none(value):
    with pytest.raises(ValueError, match="ambiguous"):
        branches(value)
    with pytest.raises(ValueError, match="ambiguous"):
        nt.jit(branches)(value)


def counts_down(x):
    n = 0
    while x:
        x = x - 1
        n += 1
    return n


@pytest.mark.parametrize("value", [np.full(1, 3.0), np.full((1, 1), 20.0), 3])
def test_while_an_element_is_not_zero(value):
    agrees(counts_down, value)


def records(x):
    p = Point(x, 1)
    return (
        [bool(p), not p, 1 if p else 2, bool(Nothing()), bool(Box(x)), bool(Empty())],
        [bool([]), bool(()), bool({}), bool(None), not None],
        [bool(lambda: 0), bool(map(len, ())), bool(range(3)), bool(range(3, 0)), not range(0)],
    )


def lists_that_loops_make(x):
    ys = []
    for i in range(len(x)):
        ys.append(x[i])
    assert ys
    return bool(ys), not ys, 1 if ys else 2


def of_a_range(x, n):
    r = range(n)
    return bool(r), 1 if range(n, 0, -1) else 2


def test_objects():
    agrees(records, X)
    agrees(lists_that_loops_make, LONG)
    agrees(of_a_range, X, 3)
    agrees(of_a_range, X, 0)


def sides(a, b):
    return a and b


@pytest.mark.parametrize(("a", "b"), [([1], X), ([], X), (None, X), (3, 4), (0, 4), ((), [1])], ids=repr)
def test_the_last_side_is_the_result(a, b):
    agrees(sides, a, b)


@pytest.mark.parametrize(("a", "error"), [(X, ValueError), (np.ones(1), nt.NestorError)])
def test_an_array_on_the_left_is_refused(a, error):
    with pytest.raises(error):
        nt.jit(sides)(a, X)


def own_truth(x):
    return bool(Never(x))


def test_a_truth_value_of_its_own():
    agrees(own_truth, X)
