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


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (np.clip, (X, -1, 1), {}),
        (np.clip, (X, None, 1), {}),
        (np.clip, (X,), {"a_min": -1, "a_max": None}),
        (np.clip, (X,), {"max": 1}),
        (np.sum, (X,), {"keepdims": True}),
        (np.max, (X, 0, None, True), {}),
        (np.max, (X,), {"initial": 7.0}),
        (np.diff, (X,), {"prepend": 0.0}),
    ],
)
def test_parameters_of_numpy_that_have_no_value_of_their_own(function, args, kwargs):
    check(function, *args, **kwargs)
    check(function, X[:2], *args[1:], **kwargs)


def test_jit_in_compiled_code_is_the_function():
    check(lambda x, y: nt.jit(np.clip)(x, -1, 1) + nt.jit(lambda v: v * 2)(y), X, Y)
    with pytest.raises(
        nt.UnsupportedError, match=r"the option target of nt\.jit is not supported in compiled code"
    ):
        nt.jit(lambda x: nt.jit(np.sin, target="cuda")(x))(X)
    with pytest.raises(
        nt.UnsupportedError, match=r"(?s)set_num_threads is not supported in .*call it outside"
    ):
        nt.jit(lambda x: nt.set_num_threads(len(x)) or x)(X)
