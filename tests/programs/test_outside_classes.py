"""What a class is made of is looked at in every call: methods, properties, defaults of fields; methods read their object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import nestor as nt
import numpy as np
import pytest

X = np.linspace(0.5, 2.0, 6)


@dataclass
class Pair:
    left: Any
    right: float = 2.0
    more: list = field(default_factory=list)

    @property
    def product(self):
        return self.left * self.right

    def total(self):
        return self.left + self.right


class Named(NamedTuple):
    left: Any
    right: float = 2.0


class Layer:
    def __init__(self, k):
        self.k = k
        self.sizes = [1.0, 2.0]

    @nt.jit
    def forward(self, x):
        return x * self.k + self.sizes[1]


class Asked(type):
    answer = True

    def __instancecheck__(cls, thing):
        return cls.answer


class Anything(metaclass=Asked):
    pass


def left_only(self):
    return self.left


FIRST, SECOND = Pair(1.0), Pair(1.0)


def of_pair(x):
    return Pair(x).right * x


def of_named(x):
    return Named(x).right * x


def of_property(x):
    return Pair(x).product


def of_method(x):
    return Pair(x).total()


def of_argument(p):
    return p.product + p.total()


def of_comparison(x):
    return x if FIRST == SECOND else x * 2


def of_instances(x):
    return x * 2 if isinstance(FIRST, Anything) else x


CASES = [
    (of_pair, (X,), (Pair.__init__, "__defaults__", (7.0, *Pair.__init__.__defaults__[1:]))),  # pyright: ignore
    (of_named, (X,), (Named.__new__, "__defaults__", (7.0,))),
    (of_property, (X,), (Pair, "product", property(left_only))),
    (of_method, (X,), (Pair, "total", left_only)),
    (of_argument, (Pair(X),), (Pair, "total", left_only)),
    (of_argument, (Pair(X),), (Pair, "product", property(left_only))),
    (of_comparison, (X,), (SECOND, "left", 3.0)),
]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_changes_of_classes_are_seen(case, target, monkeypatch):
    function, args, change = CASES[case]
    jitted = nt.jit(function, target=target)
    before = function(*args)
    for _ in range(10):
        np.testing.assert_array_equal(jitted(*args), before)
    monkeypatch.setattr(*change)
    after = function(*args)
    assert not np.array_equal(before, after)
    for _ in range(10):
        np.testing.assert_array_equal(jitted(*args), after)
    monkeypatch.undo()
    np.testing.assert_array_equal(jitted(*args), before)


def test_methods_read_their_object():
    layers = [Layer(1.0), Layer(5.0)]
    for step in range(4):
        for layer in layers:
            for _ in range(5):
                np.testing.assert_array_equal(layer.forward(X), X * layer.k + layer.sizes[1])
        layers[step % 2].k += 1
        layers[0].sizes[1] = float(step)
        if step == 2:
            layers[1].sizes = [0.0, 9.0]


def test_a_class_that_decides_what_its_objects_are_is_refused():
    with pytest.raises(nt.NestorError, match="says itself what its objects are"):
        nt.jit(of_instances)(X)


def own_init(self, left):
    self.left = left
    self.right = 3.0


def test_a_dataclass_that_gets_an_init_of_its_own(monkeypatch):
    jitted = nt.jit(of_pair)
    np.testing.assert_array_equal(jitted(X), of_pair(X))
    monkeypatch.setattr(Pair, "__init__", own_init)
    np.testing.assert_array_equal(jitted(X), of_pair(X))


MADE_OF_A_TEXT = """
K = 1.0
class Made:
    def __add__(self, other): return K + other
    def __len__(self): return int(K)
    def __float__(self): return K
    def __str__(self): return f"k{K}"
    def __bool__(self): return K > 1
    def __eq__(self, other): return K > 1
    def __hash__(self): return 3
class Bare:
    z = 1.0
made, bare = Made(), Bare()
"""

USES = {
    "+": lambda x: x * (MADE["made"] + 1.0),
    "len": lambda x: x * len(MADE["made"]),
    "float": lambda x: x * float(MADE["made"]),
    "str": lambda x: x * 2 if str(MADE["made"]) == "k1.0" else x,
    "format": lambda x: x * 2 if f"{MADE['made']}" == "k1.0" else x,
    "bool": lambda x: x * 2 if MADE["made"] else x,
    "==": lambda x: x * 2 if MADE["made"] == 3 else x,
    "a new object": lambda x: x * len(MADE["Made"]()),
    "a class attribute": lambda x: x * MADE["bare"].z,
}
MADE: dict[str, Any] = {}


@pytest.mark.parametrize(
    "space", [{}, {"__name__": "math"}, {"__name__": "numpy"}, {"__name__": "functools"}]
)
@pytest.mark.parametrize("use", USES)
def test_classes_that_exec_makes_are_the_programs_whatever_module_they_name(use, space):
    """Without a name their module is builtins: what their methods give was compiled in as if Python had them itself."""
    MADE.clear()
    MADE.update(space)
    exec(MADE_OF_A_TEXT, MADE)
    program = nt.jit(USES[use])
    for k in (1.0, 3.0, 1.0):
        MADE["K"] = MADE["Bare"].z = k
        try:
            found = program(X)
        except nt.UnsupportedError:
            continue  # the code of the text has no source that can be read
        np.testing.assert_array_equal(found, USES[use](X))


class Line:
    offset = 1.0

    def __init__(self, slope):
        self.slope = slope

    def at(self, x, times=2.0):
        return (x * self.slope).sum() * times

    @classmethod
    def moved(cls, x):
        return x + cls.offset


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_methods_of_an_object_or_a_class_read_what_it_has_now(target):
    line = Line(np.array([1.0, 2.0, 3.0]))
    at, slope, moved = (nt.jit(f, target=target) for f in (line.at, nt.grad(line.at), Line.moved))
    for step in range(4):
        assert at(X[:3]) == line.at(X[:3])
        assert at(X[:3], times=3.0) == line.at(X[:3], times=3.0)
        np.testing.assert_array_equal(slope(X[:3]), np.ones(3) * line.slope * 2)
        np.testing.assert_array_equal(moved(X), Line.moved(X))
        if step == 0:
            line.slope = np.array([3.0, 5.0, 7.0])
        elif step == 1:
            line.slope[1] = -1.0
        else:
            line.slope, Line.offset = 2.5, 4.0
    Line.offset = 1.0
