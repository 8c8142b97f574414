"""`ufunc.reduce` of every operation on two numbers."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees

R = np.random.default_rng(3)
INTEGERS = R.integers(1, 50, (3, 4, 5))
FLOATS = R.uniform(0.5, 2.0, (3, 4, 5))


def bits(n):
    return np.bitwise_or.reduce(n), np.bitwise_and.reduce(n, axis=1), np.bitwise_xor.reduce(n, axis=-1)


def divisors(n):
    return np.gcd.reduce(n, axis=(0, 2)), np.lcm.reduce(n[:, 0, :2], axis=0)


def divisor_of_all(n):
    return np.gcd.reduce(n, axis=None)


def parity(n):
    return np.logical_xor.reduce(n > 20), np.logical_xor.reduce(n % 2, axis=1, keepdims=True)


def differences(n):
    return np.subtract.reduce(n), np.floor_divide.reduce(n, axis=2), np.remainder.reduce(n, axis=-1)


def sizes(x):
    return np.hypot.reduce(x, axis=None), np.hypot.reduce(x, axis=(0, 1)), np.logaddexp.reduce(x, axis=1)


def extremes(x):
    return (
        np.fmax.reduce(x, axis=1),
        np.fmin.reduce(x, axis=None),
        np.divide.reduce(x, axis=0),
        np.arctan2.reduce(x),
    )


def kept(x):
    return np.logaddexp.reduce(x, axis=2, keepdims=True), np.hypot.reduce(x, axis=(0, 2), keepdims=True)


def in_single(x):
    return np.logaddexp.reduce(x, dtype=np.float32), np.hypot.reduce(x[0, 0])


CASES = [
    (bits, INTEGERS), (divisors, INTEGERS), (parity, INTEGERS), (differences, INTEGERS),
    (sizes, FLOATS), (extremes, FLOATS), (kept, FLOATS), (in_single, FLOATS),
    (bits, INTEGERS.astype(np.uint8)), (differences, INTEGERS.astype(np.int16)), (sizes, FLOATS.astype(np.float32)),
]  # fmt: skip

CASES.append(
    pytest.param(divisor_of_all, INTEGERS, marks=pytest.mark.slow)
)  # adds an axis of None to the gcd


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("function", "x"), CASES)
def test_as_numpy(function, x, target):
    agrees(
        function,
        x,
        target=target,
        tolerance=2e-6 if x.dtype == np.float32 or function is in_single else 1e-14,
    )


@pytest.mark.parametrize("function", [bits, differences, sizes])
def test_hostile_shapes(function):
    x = FLOATS if function is sizes else INTEGERS
    for part in (x[::-1, ::2], np.asfortranarray(x), x[:1, :1, :1], x[:, 1:2, ::-2]):
        agrees(function, part, tolerance=1e-14)


def of_two_axes(n):
    return np.subtract.reduce(n, axis=(0, 1))


def of_a_number(n):
    return np.gcd.reduce(n.sum())


def without_elements(n):
    return np.hypot.reduce(n[:, :0], axis=1)


def test_refusals():
    with pytest.raises(
        ValueError, match="'subtract' is not reorderable, so at most one axis may be specified"
    ):
        nt.jit(of_two_axes)(INTEGERS)
    with pytest.raises(TypeError, match="cannot reduce on a scalar"):
        nt.jit(of_a_number)(INTEGERS)
    with pytest.raises(nt.UnsupportedError, match="an axis without elements"):
        nt.jit(without_elements)(FLOATS)
