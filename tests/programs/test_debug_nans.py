"""`nt.debug_nans()`: the operation that makes the first NaN or infinity of a result, with its line, operands and loops."""

from __future__ import annotations

import os
import subprocess
import sys

import nestor as nt
import numpy as np
import pytest


@nt.jit
def scaled(x, w):
    y = np.log(x) * w
    return y.sum(axis=1)


@nt.jit
def swept(x):
    for k in range(1, x.shape[0]):
        x[k] = x[k] / x[k - 1]


@nt.jit
def overflow(x):
    return np.exp(x) - np.exp(x)


@nt.jit
def masked(x):
    return np.where(x > 0, np.log(x), 0.0)


def slope(x):
    return np.sqrt(x).sum()


ONES = np.ones((4, 5))


def one_negative():
    x = ONES.copy()
    x[2, 3] = -1
    return x


CASES = {
    "nan": (
        scaled,
        (one_negative(), 2.0),
        r"log\(-1\) is nan, at i = 2, j = 3, and result\[2\] is nan",
        "np.log(x) * w",
    ),
    "infinity": (
        swept,
        (np.array([1.0, 0, 3, 4]),),
        r"div\(3, 0\) is inf.* = 2, and x\[2\] is an infinity",
        "x[k] / x[k - 1]",
    ),
    "derivative": (nt.grad(slope), (np.array([1.0, 0, 4]),), r"div\(0\.5, 0\) is inf", "np.sqrt(x)"),
    "overflow": (overflow, (np.array([1.0, 1000]),), r"sub\(inf, inf\) is nan", "np.exp(x) - np.exp(x)"),
}


@pytest.mark.parametrize(("f", "args", "said", "line"), CASES.values(), ids=CASES)
def test_what_arose_first(f, args, said, line):
    given = [np.array(a) for a in args]
    with nt.debug_nans(), pytest.raises(FloatingPointError, match=said) as caught:
        f(*given)
    assert isinstance(caught.value, nt.NestorError) and line in str(caught.value)
    assert "test_debug_nans.py" in str(caught.value)


def test_an_infinity_before_a_nan_is_a_note():
    with (
        nt.debug_nans(),
        pytest.raises(FloatingPointError, match=r"note: before, or elsewhere, exp\(1000\) is inf"),
    ):
        overflow(np.array([1.0, 1000]))


def test_arguments_have_it_already():
    x = ONES.copy()
    x[1, 2] = np.nan
    with (
        nt.debug_nans(),
        pytest.raises(FloatingPointError, match=r"comes from an argument: x\[1, 2\] is nan"),
    ):
        scaled(x, 2.0)
    with nt.debug_nans(), pytest.raises(FloatingPointError, match=r"comes from an argument: w is inf"):
        scaled(2 * ONES, np.inf)


def test_what_is_not_in_a_result_is_fine():
    x = np.array([-1.0, 2])
    with nt.debug_nans():
        np.testing.assert_array_equal(masked(x), [0, np.log(2)])
        np.testing.assert_array_equal(scaled(ONES, w=2.0), np.zeros(4))


def test_arguments_that_were_not_changed_may_have_it():
    @nt.jit
    def first(x):
        return x[0] * 2

    with nt.debug_nans():
        assert first(np.array([1.0, np.nan])) == 2


def test_native_calls_are_watched_too():
    x = np.ones((4, 5))
    for _ in range(100):
        scaled(x, 2.0)
    with nt.debug_nans():
        scaled(x, 2.0)
        with pytest.raises(FloatingPointError):
            scaled(-x, 2.0)
        with nt.debug_nans(enable=False):
            scaled(-x, 2.0)
    assert np.isnan(scaled(-x, 2.0)).all()


def test_results_of_many_kinds():
    @nt.jit
    def both(x):
        return {"a": x + 1, "b": (x * 2, [np.sqrt(x)])}

    with nt.debug_nans(), pytest.raises(FloatingPointError, match=r"result\['b'\]\[1\]\[0\]\[1\] is nan"):
        both(np.array([1.0, -1]))


def test_complex_and_float32():
    @nt.jit
    def inverse(z):
        return 1 / z

    with nt.debug_nans(), pytest.raises(FloatingPointError, match="result"):
        inverse(np.array([1 + 1j, 0]))
    with nt.debug_nans(), pytest.raises(FloatingPointError, match=r"div\(1, 0\) is inf"):
        inverse(np.array([1, 0], np.float32))


def test_cuda_simulator():
    f = nt.jit(scaled.function, target="cuda-sim")
    with nt.debug_nans(), pytest.raises(FloatingPointError, match=r"log\(-1\) is nan, at i = 2, j = 3"):
        f(one_negative(), 2.0)


def test_the_environment(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import numpy as np, nestor as nt\n@nt.jit\ndef f(x):\n    return np.log(x)\nf(np.array([-1.0]))\n"
    )
    environment = {**os.environ, "NESTOR_DEBUG_NANS": "1"}
    ran = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)
    assert ran.returncode == 1 and "log(-1) is nan, at i = 0, and result[0] is nan" in ran.stderr
