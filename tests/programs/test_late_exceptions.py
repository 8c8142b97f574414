"""Exceptions that are known while a call is compiled: what Python does before them is done, and they may not be reached."""

import math
import warnings

import nestor as nt
import numpy as np
import pytest
from early_ends import TARGETS, outcome


def item_of_a_list(x, xs):
    x[0] = 9.0
    xs.append(1.0)
    return xs[7]


def pop_of_an_empty_list(x, xs):
    xs.clear()
    return xs.pop()


def logarithm_of_zero(x, xs):
    x[0] = 9.0
    return math.log(0.0)


def shapes_that_do_not_go_together(x, xs):
    x += 1
    return x + np.ones(7)


def shapes_of_an_assignment(x, xs):
    xs[0] = x.sum()
    x[:] = np.ones(7)


def a_missing_key(x, xs):
    x[0] = 9.0
    return {"a": 1}["b"]


def a_missing_attribute(x, xs):
    x[0] = 9.0
    return x.foo


def a_missing_name(x, xs):
    x[0] = 9.0
    return missing  # noqa: F821


def too_many_values(x, xs):
    x[0] = 9.0
    a, _b = xs
    return a


def an_axis(x, xs):
    x[0] = 9.0
    return x.sum(axis=4)


def a_text(x, xs):
    x[0] = 9.0
    return "a" + 1


def after_a_print(x, xs):
    print("before")
    return xs[99]


def in_a_function(x, xs):
    item_of_a_list(x, xs)


def after_a_loop(x, xs):
    for i in range(3):
        x[i] = i
        xs.append(1.0)
    del xs[99]


def in_a_loop(x, xs):
    for i in range(3):
        x[i] = 7.0
        xs.append(math.sqrt(-1.0))


def after_a_check(x, xs):
    assert x[0] < 0, "first"
    return xs[99]


def on_a_path(x, xs):
    if x[0] < 5:
        x[1] = 3.0
        return xs[99]
    return x.sum()


CERTAIN = [
    item_of_a_list, pop_of_an_empty_list, logarithm_of_zero, shapes_that_do_not_go_together, shapes_of_an_assignment,
    a_missing_key, a_missing_attribute, a_missing_name, too_many_values, an_axis, a_text, after_a_print, in_a_function,
    after_a_loop, in_a_loop, after_a_check, on_a_path,
]  # fmt: skip


def arguments():
    return np.arange(3.0), [1.0, 2.0, 3.0]


@pytest.mark.parametrize("function", CERTAIN)
def test_what_comes_before_is_done(function):
    want = outcome(function, arguments())
    assert want[-1] is not None
    jitted = nt.jit(function)
    for _ in range(2):
        assert outcome(jitted, arguments()) == want


@pytest.mark.parametrize("target", TARGETS)
def test_on_other_targets_too(target):
    want = outcome(item_of_a_list, arguments())
    assert outcome(nt.jit(item_of_a_list, target=target), arguments()) == want


def test_the_exception_says_where():
    with pytest.raises(IndexError, match=r"test_late_exceptions.py:\d+:12: error: list index out of range"):
        nt.jit(item_of_a_list)(*arguments())


def an_item(x, xs):
    return xs[99] if x[0] > 5 else x.sum()


def a_branch(x, xs):
    if x[0] > 5:
        xs.clear()
        xs.pop()
    return x.sum()


def a_branch_in_a_loop(x, xs):
    for i in range(3):
        if x[i] > 5:
            x = x + np.ones(7)
    return x.sum()


@pytest.mark.parametrize("function", [an_item, a_branch, a_branch_in_a_loop])
def test_a_path_that_is_not_taken_raises_nothing(function):
    jitted = nt.jit(function)
    with pytest.warns(RuntimeWarning, match="runs in Python"):
        assert jitted(*arguments()) == function(*arguments())
    taken = np.full(3, 7.0), [1.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(jitted, taken) == outcome(function, taken)


def test_nothing_runs_where_nothing_came_before():
    def f(x, xs):
        return calls(xs[99])

    calls = []
    with pytest.raises(IndexError, match="error: list index out of range"):
        nt.jit(f)(*arguments())


def test_strict_functions_are_not_run_in_python():
    x, xs = arguments()
    with pytest.raises(IndexError):
        nt.jit(item_of_a_list, strict=True)(x, xs)
    assert x[0] == 0.0 and len(xs) == 3


MODES = {
    "grad": lambda f, x: nt.grad(f)(x),
    "value_and_grad": lambda f, x: nt.value_and_grad(f)(x),
    "jvp": lambda f, x: nt.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: nt.vjp(f, x),
    "linearize": lambda f, x: nt.linearize(f, x),
    "jacfwd": lambda f, x: nt.jacfwd(f)(x),
    "jacrev": lambda f, x: nt.jacrev(f)(x),
    "hvp": lambda f, x: nt.hvp(f, (x,), (x,)),
    "vmap": lambda f, x: nt.vmap(f)(np.stack([x, x])),
    "in jit": lambda f, x: nt.jit(lambda x: nt.grad(f)(x))(x),
}


def _index_on_a_path(x):
    z = [1.0]
    y = x * 2
    y = y * z[3] if x[0] > 100 else y
    return y.sum()


def _key_on_a_path(x):
    z = {"a": 1.0}
    y = x * 2
    if x[0] > 100:
        y = y * z["b"]
    return y.sum()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [_index_on_a_path, _key_on_a_path])
def test_derivatives_raise_no_exception_of_a_path_that_is_not_taken(f, mode):
    with pytest.raises(nt.UnsupportedError, match="has no derivatives or slices") as raised:
        MODES[mode](f, np.ones(3))
    assert not isinstance(raised.value, LookupError)


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_raise_an_exception_that_is_certain(mode):
    def f(x):
        z = [1.0]
        return (x * z[3]).sum()

    with pytest.raises(IndexError):
        MODES[mode](f, np.ones(3))


def test_exceptions_that_are_known_at_once_have_the_arguments_of_python():
    def of_a_set(n):
        numbers = {1, 2}
        numbers.remove(n)
        return sorted(numbers)

    def of_a_dict(n):
        return {1: 2.0}[n]

    def of_popitem(n):
        left = {}
        return left.popitem()

    def of_a_call(n):
        return int("x1") + n

    for function in (of_a_set, of_a_dict, of_popitem, of_a_call):
        with pytest.raises(Exception) as expected:
            function(3)
        with pytest.raises(expected.type) as found:
            nt.jit(function)(3)
        assert found.value.args == expected.value.args
