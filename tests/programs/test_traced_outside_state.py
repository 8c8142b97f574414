"""A traced function runs in Python once: what it could read then is looked at in every call, and it is traced again."""

from __future__ import annotations

import types
from typing import Any

import nestor as nt
import numpy as np
import pytest

X = np.linspace(0.5, 2.0, 6)

TEXT = """
W, L, G, D = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [1.0, [2.0]], 1.0, {"a": {"b": 2.0}}
class Plain:
    k = 1.0
    def __init__(self):
        self.z = [3.0]
        self.w = W * 2
    def total(self):
        return self.z[0] * G
    @property
    def double(self):
        return self.z[0] * 2
class Called:
    def __init__(self, inner):
        self.inner = inner
    def __call__(self, x):
        return inner_of(self).total() * x
def inner_of(thing):
    return thing.inner
P = Plain()
CALLED = Called(P)
def helper(x, k=2.0, ks=[1.0]):
    return x * k + L[1][0] + ks[0]
def other(x, k=2.0, ks=[1.0]):
    return x - k
def less(x, by=3.0):
    return x - by
def decide(x):
    return x * 2 if D["a"]["b"] > 1.0 else x
def make(cell):
    def program(x, by=1.0):
        return {expression}
    def change(value):
        nonlocal cell
        cell = value
    return program, change
"""

PROGRAMS = {
    "an array": ("x + W * 2", ["W[1] = 7.0", "W += 1.0", "W = np.ones(6)"]),
    "an array of an object": ("x + P.w", ["P.w[1] = 7.0", "P.w = np.ones(6)", "P = Plain()"]),
    "a list in a list": ("helper(x)", ["L[1][0] = 9.0", "L[1] = [8.0]", "L = [1.0, [2.5]]"]),
    "a branch": ("decide(x)", ["D['a']['b'] = 0.5", "D['a'] = {'b': 2.0}"]),
    "a method": ("x * P.total()", ["P.z[0] = 5.0", "G = 3.0", "Plain.total = lambda self: 2.0"]),
    "a property": ("x * P.double", ["P.z[0] = 5.0", "Plain.double = 2.0"]),
    "an attribute of a class": ("x * P.k", ["Plain.k = 5.0", "P.k = 6.0", "del P.k"]),
    "an object that is called": ("CALLED(x)", ["P.z[0] = 5.0", "CALLED.inner = Plain()", "G = 4.0"]),
    "defaults": ("helper(x)", ["helper.__defaults__ = (5.0, [2.0])", "helper.__defaults__[1][0] = 4.0"]),
    "the code of a helper": ("helper(x)", ["helper.__code__ = other.__code__", "helper = decide"]),
    "a cell": ("x * cell", ["change(5.0)", "change(1)"]),
    "its own default": ("x * by", ["program.__defaults__ = (5.0,)"]),
    "its own code": ("x * by", ["program.__code__ = less.__code__"]),
    "a function of NumPy": ("np.exp(x)", ["np.exp = np.sqrt", "np.exp = exp"]),
    "a function inside": ("(lambda y: y * G)(x)", ["G = 5.0"]),
}


@pytest.fixture(autouse=True)
def as_before():
    exp = np.exp
    yield
    np.exp = exp


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_traced_again(name, tmp_path):
    expression, changes = PROGRAMS[name]
    text = TEXT.replace("{expression}", expression)
    space: dict[str, Any] = vars(types.ModuleType("traced_world"))
    space.update(np=np, exp=np.exp)
    exec(compile(text, str(tmp_path / "traced_world.py"), "exec"), space)
    program, change = space["make"](2.0)
    space.update(program=program, change=change)
    traced = nt.trace(program)
    for statement in ("pass", *changes):
        exec(statement, space)
        for _ in range(10):
            np.testing.assert_allclose(traced(X), program(X), rtol=1e-14)
    assert traced.cache_info()["compiled"] <= len(changes) + 1


def test_large_arrays_are_refused_by_name():
    weights = np.ones((512, 1024))

    def scaled(x):
        return x * weights[0, :6]

    with pytest.raises(nt.NestorError, match=r"a ndarray of 4194304 bytes .* is read as a whole"):
        nt.trace(scaled)(X)
