"""`nt.disable_jit()` and NESTOR_DISABLE_JIT: plain Python runs, in this thread, and compiled code again afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from fractions import Fraction

import nestor as nt
import numpy as np
import pytest

X = np.arange(6.0)


@nt.jit
def helper(x):
    return np.sin(x) * 2


@nt.jit
def program(x, n=2, *, scale=1.0):
    return helper(x) * n + scale


class Model:
    def __init__(self, w):
        self.w = w

    @nt.jit
    def apply(self, x):
        return x * self.w


@contextmanager
def watched():
    """The names of the Python functions of this file that run meanwhile."""
    names = []

    def note(frame, event, argument):
        if (
            event == "call"
            and frame.f_code.co_filename == __file__
            and frame.f_code is not watched.__wrapped__.__code__
        ):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        yield names
    finally:
        sys.setprofile(None)


def test_plain_python_runs():
    with watched() as names:
        program(X)
    assert not names
    with nt.disable_jit(), watched() as names:
        np.testing.assert_array_equal(program(X, 3, scale=X), np.sin(X) * 2 * 3 + X)
    assert names == ["program", "helper"]
    with watched() as names:
        program(X)
    assert not names


def test_native_calls_end_and_begin_again():
    f = nt.jit(lambda x: x + 1)
    for _ in range(100):
        f(X)
    assert f._entries
    with nt.disable_jit(), watched() as names:
        for _ in range(100):
            f(X)
        assert len(names) == 100 and not f._entries
    for _ in range(100):
        np.testing.assert_array_equal(f(X), X + 1)
    assert f._entries


def test_functions_called_first_in_a_block():
    f = nt.jit(lambda x: x + 1)
    with nt.disable_jit():
        assert f(Fraction(1, 2)) == Fraction(3, 2)  # not an argument of compiled code
        assert f.cache_info()["compiled"] == 0
    np.testing.assert_array_equal(f(X), X + 1)
    assert f.cache_info()["compiled"] == 1


def test_methods_and_changed_objects():
    model = Model(2.0)
    with nt.disable_jit(), watched() as names:
        np.testing.assert_array_equal(model.apply(X), X * 2)
        model.w = 3.0
        np.testing.assert_array_equal(model.apply(X), X * 3)
    assert names == ["apply", "apply"]


def test_out():
    y, pair = np.empty(6), (np.empty(6), np.empty(()))
    both = nt.jit(lambda x: (x + 1, x.sum()))
    own = nt.jit(lambda x, out: np.add(x, 1, out=out))
    with nt.disable_jit():
        assert program(X, out=y) is y
        assert both(X, out=pair) is pair
        np.testing.assert_array_equal(own(X, out=np.empty(6)), X + 1)
        np.testing.assert_array_equal(program(X, out=None), y)
    np.testing.assert_array_equal(y, np.sin(X) * 4 + 1)
    np.testing.assert_array_equal(pair[0], X + 1)
    assert pair[1] == 15


def test_errors_are_those_of_python():
    def lost(x):
        return x[7]

    with nt.disable_jit(), pytest.raises(IndexError, match="index 7 is out of bounds") as caught:
        nt.jit(lost)(X)
    assert caught.traceback[-1].name == "lost"


def test_blocks_in_blocks_and_a_decorator():
    @nt.disable_jit()
    def plain():
        return program(X)

    with watched() as names:
        plain()
        program(X)
        with nt.disable_jit():
            with nt.disable_jit(disable=False):
                program(X)
            with pytest.raises(ZeroDivisionError), nt.disable_jit():
                raise ZeroDivisionError
            assert names == ["plain", "program", "helper"]
            program(X)
    assert names == ["plain", "program", "helper", "program", "helper"]


def test_derivatives_stay_compiled():
    def loss(x):
        return (helper(x) ** 2).sum()

    slope = nt.grad(loss)
    expected = slope(X)
    with nt.disable_jit(), watched() as names:
        np.testing.assert_array_equal(slope(X), expected)
        np.testing.assert_array_equal(nt.jit(nt.vmap(helper))(X), helper.function(X))
    assert "loss" not in names


def test_other_threads_go_on_compiled():
    f, seen = nt.jit(lambda x: x + 1), []

    def elsewhere():
        with watched() as names:
            for _ in range(50):
                f(X)
        seen.append((list(names), len(f._entries)))

    with nt.disable_jit():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with watched() as names:
            f(X)
        assert len(names) == 1
    assert seen == [([], 0)]


SCRIPT = """
import numpy as np, nestor as nt
from fractions import Fraction

@nt.jit
def f(x):
    return x + 1

print(f(Fraction(1, 2)))
"""


@pytest.mark.parametrize(
    ("value", "code", "said"), [("1", 0, "3/2"), ("yes", 1, "NESTOR_DISABLE_JIT is 'yes'")]
)
def test_the_environment(value, code, said, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    environment = {**os.environ, "NESTOR_DISABLE_JIT": value}
    ran = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)
    assert ran.returncode == code and said in ran.stdout + ran.stderr
