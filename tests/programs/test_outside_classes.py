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
