"""A jitted function whose code or defaults are replaced is compiled anew; one that was lowered says that it is of old."""

from __future__ import annotations

from collections import ChainMap, UserDict

import nestor as nt
import numpy as np
import pytest

X = np.linspace(0.5, 2.0, 6)
WARM = 40
STATE = {"gain": 2.0}
CHAIN, USER = ChainMap({"a": 1.0}), UserDict(a=1.0)
ITERATOR = iter([1.0, 2.0, 3.0])
RNG = np.random.default_rng(1)


def made():
    """Functions that nobody else has."""

    def scaled(x, k=2.0, *, by=1.0):
        return x * k + by

    def lessened(x, k=2.0, *, by=1.0):
        return x - k - by

    def three(x, k=1.0, m=2.0, *, by=1.0):
        return x * m + k + by

    return scaled, lessened, three


def check(jitted, *args):
    for _ in range(WARM):
        np.testing.assert_array_equal(jitted(*args), jitted.function(*args))


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_what_the_function_consists_of_is_replaced(target):
    scaled, lessened, three = made()
    jitted = nt.jit(scaled, target=target)
    calls = [(X,), (X, 3.0)] if target == "cpu" else [(X,)]

    def check_all():
        for args in calls:
            for _ in range(WARM if target == "cpu" else 2):
                np.testing.assert_array_equal(jitted(*args), scaled(*args))

    check_all()
    scaled.__defaults__ = (7.0,)
    check_all()
    scaled.__kwdefaults__["by"] = 9.0
    check_all()
    scaled.__kwdefaults__ = {"by": 19.0}
    check_all()
    scaled.__code__ = lessened.__code__
    check_all()
    scaled.__code__, scaled.__defaults__ = three.__code__, (1.0, 5.0)
    check_all()
    np.testing.assert_array_equal(jitted(X, 1.0, 2.0), scaled(X, 1.0, 2.0))


def test_static_arguments_stay_static():
    def axes(x, axis=0):
        return x.sum(axis=axis)

    jitted = nt.jit(axes, static_argnums=(k for k in (1,)))
    x = np.ones((2, 3))
    for default in (0, 1, 0):
        axes.__defaults__ = (default,)
        for args in ((x,), (x, 1), (x, 0)):
            np.testing.assert_array_equal(jitted(*args), axes(*args))


def gained(x):
    return x * STATE["gain"]


def test_what_was_lowered_says_that_something_has_changed(monkeypatch):
    compiled = nt.jit(gained).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), X * 2.0)
    monkeypatch.setitem(STATE, "gain", 3.0)
    with pytest.raises(
        nt.NestorError, match=r"(?s)the item 'gain' of a dict is not what it was.*lower it again"
    ):
        compiled(X)
    np.testing.assert_array_equal(nt.jit(gained).lower(X).compile()(X), X * 3.0)
    monkeypatch.setitem(STATE, "gain", 2.0)
    np.testing.assert_array_equal(compiled(X), X * 2.0)


def chained(x):
    return x * CHAIN["a"]


def counted(x):
    return x * len(USER)


def contained(x):
    return x * 2 if "a" in USER else x


def nexted(x):
    return x + next(ITERATOR)


def iterated(x):
    return x + sum(v for v in ITERATOR)


def drawn(x):
    return x + RNG.normal()


@pytest.mark.parametrize("function", [chained, counted, contained, nexted, iterated, drawn])
def test_objects_that_keep_things_to_themselves_are_refused(function):
    with pytest.raises(nt.NestorError):
        nt.jit(function)(X)
    assert next(ITERATOR) == 1.0 if function is nexted else True  # nothing was taken from it


def test_attributes_that_are_computed_are_refused():
    class Computed:
        def __getattr__(self, name):
            return STATE["gain"]

    class Described:
        class Gain:
            def __get__(self, owner, kind):
                return STATE["gain"]

        gain = Gain()

    for thing in (Computed(), Described()):

        def read(x, thing=thing):
            return x * thing.gain

        with pytest.raises(nt.NestorError, match=r"is computed by .* when it is read"):
            nt.jit(read)(X)


def test_large_objects_are_not_read_as_a_whole():
    table = [float(k) for k in range(10_000)]

    def total(x):
        return x + sum(table)

    def one(x):
        return x + table[7]

    with pytest.raises(nt.NestorError, match=r"a list of 10000 items .* is read as a whole"):
        nt.jit(total)(X)
    jitted = nt.jit(one)
    check(jitted, X)
    table[7] = 1.5
    check(jitted, X)
    table.append(3.0)
    table[8] = 0.0
    check(jitted, X)
    assert jitted.cache_info()["compiled"] == 2  # the others are not looked at


def test_programs_for_what_is_no_longer_so_are_let_go():
    state = [0.0]

    def shifted(x):
        return x + state[0]

    jitted = nt.jit(shifted, target="interp")
    for k in range(80):
        state[0] = float(k)
        np.testing.assert_array_equal(jitted(X), X + k)
    assert jitted.cache_info()["compiled"] <= 65
