"""Functions whose text is not known are traced, with a warning, where that gives what Python gives; else refused."""

import warnings

import nestor as nt
import numpy as np
import pytest

X = np.arange(4.0)


def made(text, **space):
    space |= {"np": np}
    exec(text, space)
    return space["f"]


def quiet(function, *args, **options):
    """A call, and the warnings it gave."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return nt.jit(function, **options)(*args), [str(one.message) for one in said]


def test_what_computes_is_traced_and_a_warning_says_so():
    function = made("def f(x, k=2):\n    return np.tanh(x) * k + x[::-1]\n")
    result, said = quiet(function, X)
    assert np.array_equal(result, function(X))
    assert len(said) == 1 and "the text of 'f' is not known: Python compiled it from a string" in said[0]
    assert "it is traced" in said[0] and "linecache" in said[0]


def test_arrays_outside_are_looked_at_in_each_call():
    space = {"np": np, "W": np.ones(4)}
    exec("def f(x):\n    return x * W\n", space)
    fast = nt.jit(space["f"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(fast(X), X)
        space["W"][1] = 5.0
        assert np.array_equal(fast(X), X * space["W"])
        space["W"] = np.full(4, 3.0)
        assert np.array_equal(fast(X), X * 3)


def test_a_helper_is_traced_in_a_function_that_is_compiled():
    helper = made("f = lambda x: x * 5")

    def positive(x):
        s = 0.0
        for i in range(x.size):
            if x[i] > 1:
                s += x[i]
        return helper(x) + s

    result, said = quiet(positive, X)
    assert np.array_equal(result, positive(X)) and len(said) == 1


def test_gradients_of_what_is_traced():
    function = made("f = lambda x: (x ** 2).sum()")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.allclose(nt.grad(function)(X), 2 * X)


def test_arguments_are_written():
    x = X.copy()
    quiet(made("def f(x):\n    x[0] = 9\n"), x)
    assert np.array_equal(x, [9, 1, 2, 3])


REFUSED = {
    "a branch on elements": (
        "def f(x):\n    return x if x[0] > 0 else -x\n",
        "must be known at compile time",
    ),
    "an effect": (
        "def f(x):\n    print(x)\n    return x\n",
        "it is not traced, which runs it once: it calls 'print'",
    ),
    "a list outside": (
        "L = []\ndef f(x):\n    L.append(1)\n    return x\n",
        "for it changed the length of a list",
    ),
    "an array outside": (
        "W = np.ones(4)\ndef f(x):\n    W[0] += 1\n    return x + W\n",
        "for it changed the content",
    ),
    "a long loop": (
        "def f(x):\n    s = 0.0\n    for i in range(9000):\n        s = s + x[0] * i\n    return s\n",
        "the loops of this function are unrolled, for its text is not known",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_tracing_would_change_is_refused(name):
    text, message = REFUSED[name]
    with warnings.catch_warnings(), pytest.raises(nt.UnsupportedError, match=message) as raised:
        warnings.simplefilter("ignore")
        nt.jit(made(text))(X)
    assert "the text of 'f' is not known" in str(raised.value)


def test_strict_refuses_to_trace():
    with warnings.catch_warnings(), pytest.raises(nt.UnsupportedError, match="strict: the text of"):
        warnings.simplefilter("ignore")
        nt.jit(made("f = lambda x: x + 1"), strict=True)(X)
