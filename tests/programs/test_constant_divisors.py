"""Integers divided by constants, which become shifts, low bits or C's division: NumPy's floor and Python's, to the bit."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(2)

INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


def extremes(dtype):
    info = np.iinfo(dtype)
    near = [info.min, info.min + 1, info.min // 2, 0, 1, 2, 3, 7, 8, 63, 64, 65, 127, info.max - 1, info.max]
    return np.array(near + [-k for k in (1, 2, 3, 7, 8, 64, 65) if info.min < 0], dtype)


def small(x):
    return x // 1, x % 1, x // 2, x % 2, x // 3, x % 3, x // 7, x % 7, x // 64, x % 64, x // 100, x % 100


def negative(x):
    return x // -1, x % -1, x // -2, x % -2, x // -3, x % -3, x // -64, x % -64


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_positive(dtype, target):
    agrees(small, extremes(dtype), target=target)


@pytest.mark.parametrize("dtype", [d for d in INTEGERS if d.kind == "i"], ids=str)
def test_negative(dtype):
    agrees(negative, extremes(dtype))


def eighths(x):
    return x // 8, x % 8


def test_a_power_of_two_is_a_shift():
    text = nt.jit(eighths).lower(np.arange(5)).as_text("nest")
    assert "arith.shrsi" in text and "arith.andi" in text
    assert "arith.divsi" not in text and "arith.remsi" not in text


def halves(n, out):
    for i in range(len(out)):
        k = i - 5
        out[i] = k // 2 * 1000 + k % 4 * 10 + k // n + k % n


def test_python_integers():
    agrees(halves, 3, np.zeros(12, np.int64))


def middle_of_pairs(x, out):
    for i in range(len(x)):
        for j in range(len(x)):
            out[i] += x[(i + j) // 2]


def test_the_middle_of_two_indices_needs_no_check():
    x = np.arange(6.0)
    jitted = agrees(middle_of_pairs, x, np.zeros(6))
    assert "nest.index" not in jitted.lower(x, np.zeros(6)).as_text("nest")
