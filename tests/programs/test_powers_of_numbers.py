"""`number ** number` of Python: the exponent is a number of the run; one program serves all, and raises as Python does."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import UnsupportedError

X = np.linspace(0.5, 2.0, 7)


def decayed(x, t):
    return x * 0.9**t


def doubled(x, t):
    return x * 2.0**t


def alternating(x, t):
    return x * (-2.0) ** t


def of_nothing(x, t):
    return x * 0.0**t


def huge(x, t):
    return x * 1e300**t


def later(x, t):
    return x / (1 - 0.5 ** (t + 1))


def root(x, t):
    return x * t**0.5


def inverse(x, t):
    return x * t**-1


def fraction(x, t):
    return x * t**1.5


def both(x, t):
    return x * (2.0 * t) ** t


def of_whole(x, t):
    return x * 3 ** (t / 2)


def shared(x, t):
    return x * (1 / (t + 1))


PROGRAMS = (
    decayed, doubled, alternating, of_nothing, huge, later, root, inverse, fraction, both, of_whole, shared,
)  # fmt: skip
INTEGERS, FLOATS = (
    (3, 1, 2, 0, 7, -1, -2, 5, 40),
    (3.0, 4.5, 0.0, 0.5, -1.0, -2.5, 2.0, float("inf"), float("nan")),
)


@pytest.mark.parametrize("values", [INTEGERS, FLOATS], ids=["int", "float"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@np.errstate(all="ignore")
def test_one_program_for_all_values(program, values):
    compiled = nt.jit(program)
    for t in values:
        try:
            wanted = program(X, t)
        except ArithmeticError as error:
            with pytest.raises(type(error)) as raised:
                compiled(X, t)
            if not isinstance(error, ZeroDivisionError) or "power" in str(error):
                assert str(error).strip("()") in str(raised.value)
            continue
        if np.iscomplexobj(wanted) and program is not alternating:
            with pytest.raises(UnsupportedError, match="a negative number of Python to a fraction"):
                compiled(X, t)
            continue
        np.testing.assert_allclose(compiled(X, t), wanted, rtol=4e-16)
    is_each = (
        program is alternating and values is FLOATS
    )  # a negative constant to a float may be a complex number
    assert compiled.cache_info()["compiled"] == (len(values) if is_each else 1)


def test_a_root_of_minus_zero_has_no_sign():
    compiled = nt.jit(root)
    assert not np.signbit(compiled(X, -0.0)).any()
    assert not np.signbit(root(X, -0.0)).any()


def adam(p, g, m, v, t, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    return p - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps), m, v


@pytest.mark.parametrize("given", [(), (1e-3, 0.9, 0.999, 1e-8)], ids=["defaults", "given"])
@pytest.mark.parametrize("kind", [int, float])
def test_steps_of_adam_are_one_program(kind, given):
    compiled = nt.jit(adam)
    g = np.linspace(-1, 1, 11)
    state = wanted = (np.ones(11), np.zeros(11), np.zeros(11))
    for t in range(1, 200):
        state = compiled(state[0], g, *state[1:], kind(t), *given)
        wanted = adam(wanted[0], g, *wanted[1:], kind(t), *given)
        np.testing.assert_allclose(state, wanted, rtol=1e-12)
    assert compiled.cache_info() == {"compiled": 1, "signatures": 1, "hits": 198}


def powers(x, t):
    return x**t


@pytest.mark.parametrize("program", [powers])
def test_opened_integers_are_native_and_the_first_values_keep_their_programs(program):
    """x ** 1 and x ** 2 are no powers in NumPy: their programs give other bits than the one for any exponent might."""
    compiled = nt.jit(program)
    for k in range(300):
        t = 1 + k % 9
        np.testing.assert_allclose(compiled(X, t), program(X, t), rtol=1e-15)
        if t < 3:
            assert compiled(X, t).tobytes() == program(X, t).tobytes()
    assert compiled.cache_info()["compiled"] == 3
    for t in (-1, -2, 1 << 62, True, 2.0, np.int64(2)):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(compiled(X, t), program(X, t), rtol=1e-15)
