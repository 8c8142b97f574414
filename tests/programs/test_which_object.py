"""Lists, dicts and objects of which control flow says which one they are: the caller gets back the one that Python gives."""

from __future__ import annotations

from dataclasses import dataclass

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import UnsupportedError


class Box:
    def __init__(self, total, items):
        self.total, self.items = total, items


@dataclass
class State:
    w: np.ndarray
    steps: int


def one_of_two(xs, o, n):
    return xs if n > 0 else [1.0, 2.0]


def by_name(xs, o, n):
    ys = [1.0, 2.0]
    if n > 0:
        ys = xs
    return ys, n


def of_the_caller(xs, o, n):
    return xs if n > 0 else o.items


def of_three(xs, o, n):
    if n > 1:
        return xs
    if n > 0:
        return o.items
    return [0.0, 1.0]


def attribute_on_one_path(xs, o, n):
    if n > 0:
        o.items = [3.0, 4.0]


def attribute_of_another(xs, o, n):
    if n > 0:
        o.items = xs


def attribute_behind_a_return(xs, o, n):
    if n > 0:
        return 1.0
    o.items = [o.items[1], n + 0.5]
    return 2.0


def changed_before(xs, o, n):
    xs.append(n + 0.5)
    o.items.append(1.0)
    return xs if n > 0 else o.items


def in_a_loop(xs, o, n):
    ys = xs
    while n > 1:
        ys = [ys[0] + 1.0, ys[1]]
        n -= 1
    return ys


def one_loop_inside_another(xs, o, n):
    ys = o.items
    for i in range(n):
        for j in range(i):
            if j > n:
                ys = [ys[0], i + 0.5]
            else:
                ys = xs
    return ys


def in_a_tuple(xs, o, n):
    both = (xs, n) if n > 0 else (o.items, n + 1)
    return both[0], both[1]


def chosen_twice(xs, o, n):
    ys = xs if n > 0 else o.items
    zs = ys if n > 1 else [0.5, 0.5]
    return ys, zs


def dict_of_them(xs, o, n):
    return {"a": xs if n > 0 else [1.0, 2.0], "b": xs}


PROGRAMS = [
    one_of_two,
    by_name,
    of_the_caller,
    of_three,
    attribute_on_one_path,
    attribute_of_another,
    attribute_behind_a_return,
    changed_before,
    in_a_loop,
    one_loop_inside_another,
    in_a_tuple,
    chosen_twice,
    dict_of_them,
]


def held(result, xs, o, items):
    """What there is after a call: values, and which lists are those of the caller."""
    parts = list(result.values()) if isinstance(result, dict) else result
    parts = parts if isinstance(parts, tuple) or isinstance(result, dict) else (parts,)
    lists = [part for part in parts if isinstance(part, list)]
    which = [[part is xs, part is items, part is o.items] for part in [*lists, o.items]]
    return result, xs, items, o.items, which


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("is_one_list", [False, True])
def test_the_caller_has_the_very_list(f, is_one_list, target):
    def call(function, n):
        xs = [0.5, 1.5]
        items = xs if is_one_list else [2.5, 3.5]
        o = Box(1.0, items)
        return held(function(xs, o, n), xs, o, items)

    compiled = nt.jit(f, target=target)
    for n in (0, 1, 2, 3, 0):
        assert call(compiled, n) == call(f, n)


def advance(state: State, n: int):
    while n > 0:
        state = State(state.w * 0.5, state.steps + 1)
        n -= 1
    return state


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_state_that_no_iteration_replaced_is_the_one_that_came(target):
    step = nt.jit(advance, target=target)
    for n in (0, 2, 0, 1):
        state = State(np.array([1.0, 2.0]), 0)
        after, wanted = step(state, n), advance(state, n)
        assert (after is state) == (n == 0)
        np.testing.assert_array_equal(after.w, wanted.w)
        assert after.steps == wanted.steps


def test_the_gradient_through_such_a_state():
    def loss(w, n):
        return (advance(State(w, 0), n).w ** 2).sum()

    w = np.array([1.0, 2.0])
    for n in (0, 1, 3):
        np.testing.assert_allclose(nt.grad(loss)(w, n), 2 * w * 0.25**n)


def test_a_list_that_may_be_two_results_is_refused():
    def twice(xs, n):
        ys = [1.0, 2.0]
        zs = ys if n > 0 else xs
        return ys, zs

    with pytest.raises(UnsupportedError, match="a list that is returned may be another result too"):
        nt.jit(twice)([0.5, 1.5], 1)


# ---- lists that are made on one path and seen behind it ----------------------------------------------------


def made_and_returned(a, n):
    for v in a:
        if n == 1:
            return [v, 2.0]
        if v > 1.2:
            break
    return [1.0, 3.0]


def known_and_returned(a, n):
    for v in a:
        if v > 1.2:
            return sorted({1.0, 2.0})
        if n == 1:
            break
    return [1.0, 3.0]


def made_in_a_tuple(a, n):
    for v in a:
        if n == 1:
            return v, [v, [4.0, n]]
        if v > 1.2:
            break
    return 0.0, [n, [4.0, v]]


def made_or_nothing(a, n):
    for v in a:
        if n == 1:
            return [v, 2.0]
        if v > 1.2:
            break
    return None


@pytest.mark.parametrize("f", [made_and_returned, known_and_returned, made_in_a_tuple, made_or_nothing])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_a_list_made_on_one_path_of_a_loop_with_breaks(f, target):
    compiled = nt.jit(f, target=target)
    for values in ([1.0, 1.5, 0.5], [0.5, 0.5, 0.5], [2.0]):
        for n in (0, 1, 2):
            assert compiled(np.array(values), n) == f(np.array(values), n)
