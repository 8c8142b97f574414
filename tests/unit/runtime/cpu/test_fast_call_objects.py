"""A jitted function is an object as functions are: methods, names, signatures, copies, defaults."""

import contextlib
import copy
import doctest
import inspect
import io
import pickle
import weakref
from types import ModuleType

import nestor as nt
import numpy as np
import pytest
from fast_calls import (
    add,
    doubled,
    native,
    scaled,
    warmed,
)
from nestor.runtime.cpu import fast_call

pytestmark = pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter")

X = np.arange(6.0)


def test_it_remains_an_object_with_methods():
    jitted = warmed(add, X, X + 1)
    assert jitted.__name__ == "add" and jitted.__wrapped__ is add and "nt.jit of add" in repr(jitted)
    assert "float64[6]" in jitted.explain(X, X) and "nt." in jitted.lower(X, X).as_text()
    jitted.label = "mine"
    assert jitted.label == "mine" and weakref.ref(jitted)() is jitted
    assert copy.copy(jitted) is jitted and copy.deepcopy([jitted])[0] is jitted
    assert next(map(jitted, [X], [X])).tolist() == (X + X).tolist()
    hits = jitted.cache_info()["hits"]
    jitted(X, X + 1)
    assert jitted.cache_info()["hits"] == hits + 1


def test_methods():
    class Model:
        scale = 1

        @nt.jit
        def times(self, x):
            return x * 2.0

    model = Model()
    for _ in range(4):
        np.testing.assert_array_equal(model.times(X), X * 2)
    assert native(Model.times, model, X)
    np.testing.assert_array_equal(Model().times(X), X * 2)


def test_pickle_by_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    again = pickle.loads(pickle.dumps(nt.jit(scaled)))  # the name is that of the function that was jitted
    assert again.function is scaled and again is not scaled


def test_bound_methods():
    class Model:
        @nt.jit
        def times(self, x):
            return x * 2.0

        @staticmethod
        @nt.jit
        def thrice(x):
            return x * 3.0

        @classmethod
        @nt.jit
        def four_times(cls, x):
            return x * 4.0

    model = Model()
    assert model.times == model.times and model.times.__self__ is model and model.times.__name__ == "times"
    assert str(inspect.signature(model.times)) == "(x)"
    for _ in range(4):
        np.testing.assert_array_equal(model.times(X), X * 2)
        np.testing.assert_array_equal(model.thrice(X), X * 3)
        np.testing.assert_array_equal(model.four_times(X), X * 4)
    assert native(Model.times, model, X) and native(Model.thrice, X)


@pytest.mark.parametrize(
    "function, words",
    [
        (staticmethod(add), "write @staticmethod above @nt.jit"),
        (classmethod(add), "write @classmethod above @nt.jit"),
        (dict.pop, "has no signature"),
        (object(), "is not a function"),
    ],
    ids=["staticmethod", "classmethod", "no signature", "object"],
)
def test_what_is_no_function(function, words):
    with pytest.raises(nt.NestorError, match=words):
        nt.jit(function)


def test_signature_help_and_doctest():
    module = ModuleType("jitted_module")
    vars(module)["documented"] = nt.jit(documented)
    assert inspect.signature(module.documented) == inspect.signature(documented)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        help(module.documented)
    assert "Twice the sum" in shown.getvalue()
    (test,) = doctest.DocTestFinder(exclude_empty=True).find(module.documented, globs={})
    assert len(test.examples) == 1


def documented(x, y=1.0):
    """Twice the sum.

    >>> documented(1, 2)
    """
    return (x + y) * 2


def test_a_subclass_with_a_call_of_its_own():
    """Native calls would pass it by."""
    seen = []

    class Counting(type(nt.jit(add))):
        def __call__(self, *args, **kwargs):
            seen.append(args)
            return super().__call__(*args, **kwargs)

    counting = Counting(add)
    for _ in range(40):
        counting(X, X)
    assert len(seen) == 40


WEIGHTS = np.arange(6.0)
FACTORS = [2.0, 3.0]


def weighted(x, w=WEIGHTS):
    return x * w


def with_factors(x, factors=FACTORS):
    return x * factors[0] + factors[1]


@pytest.mark.parametrize(
    "function, default, other", [(weighted, WEIGHTS, X), (with_factors, FACTORS, [1.0, 2.0])]
)
def test_defaults_that_change(function, default, other):
    jitted = nt.jit(function)
    for value in (5.0, 6.0, 7.0, 8.0):
        default[0] = value
        for _ in range(4):
            np.testing.assert_array_equal(jitted(X), function(X))
            np.testing.assert_array_equal(jitted(x=X), function(X))
            np.testing.assert_array_equal(jitted(X, other), function(X, other))


def test_values_without_a_hash_are_refused():
    with pytest.raises(nt.NestorError, match="memoryview"):
        nt.jit(add)(X, memoryview(bytearray(4)))
