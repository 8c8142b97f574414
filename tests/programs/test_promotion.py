"""Element types follow NumPy (NEP 50): kinds, dtypes and bits of mixed arithmetic."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

DTYPES = ["?", "i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8"]


def arithmetic(x, y):
    return x + y, x * y, x / y, np.maximum(x, y), x < y, x == y


def with_scalars(x):
    return x + 1, x * 2.5, 3 - x, x > 0, np.where(x > 1, x, 0), np.clip(x, 1, 3), x.sum(), x.max(), x.mean()


def integers(x):
    return x // 3, x % 3, -x, ~x, x & 6, x**2, abs(x)


def with_an_argument(x, k):
    return x * k + k


def scalars(x, k, f):
    return x.shape, x.ndim, k + 1, k * f, float(k), x.sum() * k, len(x), min(k, 3)


@pytest.mark.parametrize("a", ["i1", "i4", "u8", "f2", "f4", "?"])
@pytest.mark.parametrize("b", ["i4", "u1", "f4", "f8", "?"])
def test_pairs(a, b):
    agrees(arithmetic, np.arange(6).astype(a), np.arange(1, 7).astype(b))


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "f4", "f8"])
def test_python_scalars(dtype):
    agrees(with_scalars, np.arange(6).astype(dtype), tolerance=1e-6)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8"])
def test_integers(dtype):
    agrees(integers, np.arange(-5, 5).astype(dtype))


@pytest.mark.parametrize("k", [3, 2.5, True, np.float32(1.5), np.int64(2)])
def test_scalar_arguments(k):
    agrees(with_an_argument, np.arange(6, dtype="f4"), k)


def test_scalar_results():
    agrees(scalars, np.arange(6.0), 5, 0.5)


def test_an_integer_that_does_not_fit():
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        nt.jit(with_an_argument)(np.zeros(3, "i1"), 300)
