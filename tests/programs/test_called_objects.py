"""What is called and is no function of `def`: objects, partials, functions of NumPy and of Python."""

import functools
import operator

import nestor as nt
import numpy as np
import pytest

X, Y = np.arange(4.0) - 1.5, np.arange(4.0) + 1


class Gain:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, x, offset=0.0):
        s = 0.0
        for i in range(x.size):
            if x[i] > 0:
                s += x[i]
        return x * self.gain + s + offset

    def added(self, x, y):
        return x + y * self.gain


class Derived(Gain):
    pass


def check(function, *args, **kwargs):
    np.testing.assert_array_equal(nt.jit(function)(*args, **kwargs), function(*args, **kwargs))


@pytest.mark.parametrize("kind", [Gain, Derived])
def test_an_object_is_compiled_as_its_call_and_read_in_each(kind):
    gain = kind(2.0)
    fast = nt.jit(gain)
    for gain.gain in (2.0, 5.0, np.full(4, 3.0)):
        np.testing.assert_array_equal(fast(X), gain(X))
        np.testing.assert_array_equal(fast(X, offset=1.0), gain(X, offset=1.0))


FUNCTIONS = {
    "a partial of an object": (functools.partial(Gain(3.0), offset=2.0), (X,)),
    "a partial of a method": (functools.partial(Gain(3.0).added, Y), (X,)),
    "a partial of a lambda": (functools.partial(lambda x, y: x - y, y=Y), (X,)),
    "a partial of partials": (
        functools.partial(functools.partial(lambda x, y, z: x + y * z, 1.0), 2.0),
        (X,),
    ),
    "a partial of a ufunc": (functools.partial(np.subtract, 1.0), (X,)),
    "a ufunc": (np.maximum, (X, Y)),
    "a function of NumPy": (np.linalg.norm, (X,)),
    "another": (np.outer, (X, Y)),
    "a builtin": (abs, (X,)),
    "an operator": (operator.sub, (X, Y)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_compiled(name):
    function, args = FUNCTIONS[name]
    check(function, *args)


def test_a_cached_function_says_what_to_compile():
    @functools.lru_cache
    def cached(x):
        return x + 1

    with pytest.raises(nt.NestorError, match=r"nt.jit\(cached.__wrapped__\)"):
        nt.jit(cached)(X)
    check(cached.__wrapped__, X)
