"""What is compiled in by its value can be changed by nobody; code of other classes never runs while compiling."""

import array
import collections
import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import math
import re
import threading
from dataclasses import dataclass
from typing import NamedTuple

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.static_values import distinction, why_refused

X = np.arange(4.0)


class Config:
    """Of such an object attributes are read."""

    def __init__(self, k=2.0):
        self.k = k
        self.rows = [1, 2]

    def __add__(self, other):
        return self.k + other

    def __mul__(self, other):
        return self.k * other

    def __lt__(self, other):
        return self.k < other

    def __neg__(self):
        return -self.k

    def __len__(self):
        return int(self.k)

    def __getitem__(self, key):
        return self.k + key

    def __contains__(self, item):
        return item == self.k

    def __str__(self):
        return f"config {self.k}"

    def __abs__(self):
        return abs(self.k)


class Number(float):
    def __add__(self, other):
        return 7.0


class Convertible:
    def __float__(self):
        return 2.0


class Arrayed:
    def __array__(self, dtype=None, copy=None):
        return np.ones(4)


class Same:
    """All are equal, and have other attributes."""

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Mode(enum.Enum):
    FAST = 2
    SLOW = 3

    def __str__(self):
        return self.name


class Level(enum.IntEnum):
    LOW = 2


class Size(NamedTuple):
    rows: int
    columns: int


@dataclass(frozen=True)
class Options:
    scale: float = 2.0


def attribute(x, c):
    return x * c.k


def sum_with(x, c):
    return x * (c + 1)


def times(x, c):
    return x * (c * 2)


def negated(x, c):
    return x * -c


def smaller(x, c):
    return x if c < 3 else -x


def true(x, c):
    return x if c else -x


def negation(x, c):
    return x * (not c)


def both(x, c):
    return c and x


def length(x, c):
    return x * len(c)


def item(x, c):
    return x * c[1]


def member(x, c):
    return x * (2.0 in c)


def text(x, c):
    return x * len(f"{c}")


def text_of(x, c):
    return x * len(str(c))


def formatted(x, c):
    return x * len("%s" % c)  # noqa: UP031


def absolute(x, c):
    return x * abs(c)


def largest(x, c):
    return x * max(c, 1.0)


def along(x, c):
    return x.sum(axis=c)


OPERATIONS = [
    sum_with,
    times,
    negated,
    smaller,
    true,
    negation,
    both,
    length,
    item,
    member,
    text,
    text_of,
    absolute,
]
REFUSED = [formatted, largest]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", OPERATIONS, ids=lambda f: f.__name__)
def test_code_of_an_object_is_compiled(function, target):
    compiled, config = nt.jit(function, target=target), Config()
    for k in (2.0, 3.0, 2.0):
        config.k = k
        np.testing.assert_array_equal(compiled(X, config), function(X, config))
        np.testing.assert_array_equal(compiled(X, Config(k + 1)), function(X, Config(k + 1)))


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_code_of_an_object_does_not_run_while_compiling(function, target):
    with pytest.raises(
        nt.UnsupportedError, match="this runs code of the class 'Config', which is not compiled"
    ) as caught:
        nt.jit(function, target=target)(X, Config())
    assert "read its attributes here" in str(caught.value)


CONFIG = Config()


def subtracted(self, other):
    return self.k - other


def outside(x):
    return x * (CONFIG + 1)


def test_so_is_that_of_one_from_outside(monkeypatch):
    compiled = nt.jit(outside)
    np.testing.assert_array_equal(compiled(X), outside(X))
    monkeypatch.setattr(CONFIG, "k", 7.0)
    np.testing.assert_array_equal(compiled(X), X * 8.0)
    monkeypatch.setattr(Config, "__add__", subtracted)
    np.testing.assert_array_equal(compiled(X), X * 6.0)


def test_attributes_of_objects():
    f = nt.jit(attribute)
    for config in (Config(2.0), Config(3.0), Same(4.0), Same(5.0), Same(6.0)):
        for x in (X, X, np.ones(3)):
            np.testing.assert_array_equal(f(x, config), attribute(x, config))


def test_programs_for_objects_that_are_gone_go():
    f = nt.jit(attribute)
    from nestor.frontend.jit.specialise import specialiser

    most = specialiser.MOST_OBJECTS
    specialiser.MOST_OBJECTS = 3
    try:
        for k in range(8):
            np.testing.assert_array_equal(f(X, Config(k)), X * k)
            assert f.cache_info()["compiled"] <= 3
            assert f.cache_info()["signatures"] <= 3
    finally:
        specialiser.MOST_OBJECTS = most


def given(x, c):
    return c


def test_constants():
    values = [
        None, True, "text", b"bytes", ..., range(3), frozenset((1, 2)), (1, (2.0, "a")), np.float32, np.dtype("f4"),
        math.sqrt, len, given, Mode.FAST, Level.LOW, Config, np, functools.partial(given, 1), datetime.date(2020, 1, 1),
        np.add, object(), Config(), str.join,
    ]  # fmt: skip
    f = nt.jit(given)
    for value in values:
        assert why_refused(value) is None
        assert f(X, value) is value
    assert f(X, Size(1, 2)) == Size(1, 2)


def power(x, mode):
    return x * mode.value if mode == Mode.FAST else x + mode.value


def scaled(x, options, level):
    return x * options.scale + level.value


def test_members_and_records():
    f = nt.jit(power)
    for mode in (Mode.FAST, Mode.SLOW, Mode.FAST):
        np.testing.assert_array_equal(f(X, mode), power(X, mode))
    g = nt.jit(scaled)
    np.testing.assert_array_equal(g(X, Options(3.0), Level.LOW), scaled(X, Options(3.0), Level.LOW))
    np.testing.assert_array_equal(g(X, Options(4.0), Level.LOW), scaled(X, Options(4.0), Level.LOW))


@pytest.mark.parametrize(
    ("value", "what", "hint"),
    [
        (iter([1, 2]), "an iterator (list_iterator), which is used up by one call,", "pass list(x)"),
        ((k for k in (1, 2)), "an iterator (generator)", "pass list(x)"),
        (zip([1], [2], strict=True), "an iterator (zip)", "pass list(x)"),
        ({1, 2}, "a set, which can change,", "pass arrays, numbers"),
        (collections.deque([1]), "a collections.deque, which can change,", "pass arrays, numbers"),
        (bytearray(b"ab"), "a bytearray, whose contents can change,", "pass np.asarray(x), which shares its memory"),
        (memoryview(b"ab"), "a memoryview, whose contents can change,", "pass np.asarray(x), which shares its memory"),
        (array.array("d", [1]), "a array.array, whose contents can change,", "pass np.asarray(x)"),
        ((ctypes.c_float * 3)(), "a test_static_values.c_float_Array_3, whose contents can change,", "pass np.asarray"),
        (threading.Lock(), "a _thread.lock, which may change,", "pass arrays, numbers"),
        (np.random.default_rng(), "a numpy.random._generator.Generator, which may change,", "pass arrays, numbers"),
        (re.compile("a"), "a re.Pattern, which may change,", "pass arrays, numbers"),
        (Number(1.0), "a Number, a subclass of float with rules of its own,", "pass float(x)"),
        (decimal.Decimal(1), "a decimal.Decimal, a number with rules of its own,", "pass float(x) or int(x)"),
        (fractions.Fraction(1), "a fractions.Fraction, a number with rules of its own,", "pass float(x) or int(x)"),
        (Convertible(), "Convertible, a number with rules of its own,", "pass float(x) or int(x)"),
        (Arrayed(), "Arrayed, an array with rules of its own,", "pass np.asarray(x)"),
        ((1, iter(())), "an iterator (tuple_iterator)", "pass list(x)"),
        (functools.partial(given, iter(())), "an iterator (tuple_iterator)", "pass list(x)"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_can_change_is_refused_by_name(value, what, hint):
    f = nt.jit(given)
    with pytest.raises(nt.UnsupportedError) as caught:
        f(X, value)
    assert "argument 'c': a" in str(caught.value)
    assert what.removeprefix("a test_static_values.") in str(caught.value)
    assert hint in str(caught.value)
    assert "def given(x, c):" in str(caught.value)
    assert f.cache_info()["compiled"] == 0


def test_static_arguments_and_defaults_are_constants():
    for value in (np.ones(3), [1, 2], {"a": 1}, {1}, (1, [2])):
        with pytest.raises(nt.UnsupportedError, match=r"argument 'c': a.* can change,") as caught:
            nt.jit(given, static_argnames="c")(X, value)
        assert "def given(x, c):" in str(caught.value)

    numbers = iter([1, 2])

    @nt.jit
    def with_default(x, c=numbers):
        return c

    with pytest.raises(nt.UnsupportedError, match="argument 'c': an iterator"):
        with_default(X)


def test_equal_values_that_differ_have_programs_of_their_own():
    f = nt.jit(given)
    for one, other in [
        (0.0, -0.0), ((0.0,), (-0.0,)), (range(0), range(2, 2)), (1j, complex(-0.0, 1)), ((1,), (True,)), ((1,), (1.0,)),
        (frozenset([1]), frozenset([True])), ((range(0),), (range(2, 2),)),
    ]:  # fmt: skip
        assert one == other
        for value in (one, other, one):
            assert repr(f(X, (value, "static"))) == repr((value, "static"))
        assert distinction(one) != distinction(other)


def add_list(x, c):
    return x + np.array(c)


def total(x, c):
    return x * sum(c) + len(c)


def test_lists_are_structures():
    """Their items are arguments each: one program serves all lists of a length."""
    for function in (add_list, total):
        f = nt.jit(function)
        for c in ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [0.5, 0.0, 0.0, 0.0]):
            np.testing.assert_array_equal(f(X, c), function(X, c))
        assert f.cache_info()["compiled"] == 1


def window(x, at):
    return x[at] * 2


def test_slices():
    """Python hashes them from 3.12 on only."""
    f = nt.jit(window)
    for _ in range(2):
        for at in (slice(0, 2), slice(1, None), slice(None, None, -1), (slice(1, 3),), ..., (..., 1)):
            np.testing.assert_array_equal(f(X, at), window(X, at))
            np.testing.assert_array_equal(nt.jit(window, static_argnames="at")(X, at), window(X, at))
    assert f.cache_info()["compiled"] == 6
    assert "at = slice(1, None, None)" in f.explain(X, slice(1, None))
    with pytest.raises(nt.UnsupportedError, match=r"argument 'at': a set"):
        f(X, slice({1}, None))

    @nt.jit
    def inner(x, at=slice(1, -1)):
        return x[at]

    np.testing.assert_array_equal(inner(X), X[1:-1])


def of_constants(x):
    return x * len(bytes(3)) + len(bytearray(2)) + len(str(12)) + complex(3).real


def test_classes_of_python_are_called_with_constants():
    np.testing.assert_array_equal(nt.jit(of_constants)(X), of_constants(X))
