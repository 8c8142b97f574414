"""Products of narrow numbers and of what is computed from the operands: converted where it is copied, sums are wide."""

import nestor as nt
import numpy as np
import pytest

from .agreement import same

pytestmark = pytest.mark.one_of(2)


def product(a, b):
    return a @ b


def in_integers(a, b):
    return a.astype(np.int32) @ b.astype(np.int32)


def in_floats(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def scaled(a, b):
    return (a * 2 - 1) @ b + 1


def twice(a, b):
    wide = a.astype(np.float32)
    return wide @ b.astype(np.float32) + wide @ b.astype(np.float32).sum(axis=1, keepdims=True)


def numbers(seed, *shape, dtype):
    """Small integers: their sums are exact."""
    low = 0 if np.dtype(dtype).kind == "u" else -4
    return np.random.default_rng(seed).integers(low, 5, shape).astype(dtype)


@pytest.mark.parametrize(
    ("f", "dtype", "shape"),
    [
        (product, "f2", (29, 70, 37)),
        (product, "f2", (3, 40, 90)),
        (in_floats, "f2", (57, 33, 200)),
        (in_integers, "i1", (29, 70, 37)),
        (in_integers, "i1", (1, 80, 600)),
        (in_integers, "u1", (40, 9, 41)),
        (scaled, "f4", (29, 70, 37)),
        (twice, "i2", (33, 20, 40)),
    ],
)
def test_shapes(f, dtype, shape):
    m, k, n = shape
    a, b = numbers(0, m, k, dtype=dtype), numbers(1, k, n, dtype=dtype)
    same(nt.jit(f)(a, b), f(a, b), 0.0)


def test_sums_are_wide():
    a = np.full((16, 300), 127, np.int8)
    np.testing.assert_array_equal(nt.jit(in_integers)(a, -a.T), np.full((16, 16), -300 * 127 * 127))
    ones = np.ones((16, 5000), np.float16)  # 2048 + 1 is 2048 in float16
    np.testing.assert_array_equal(nt.jit(product)(ones, ones.T), np.full((16, 16), 5000, np.float16))


def test_bfloat16_is_summed_up_in_float32():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has bfloat16 with ml_dtypes only")
    a = numbers(0, 19, 600, dtype="f4").astype(ml_dtypes.bfloat16)
    b = numbers(1, 600, 35, dtype="f4").astype(ml_dtypes.bfloat16)
    expected = (a.astype("f4") @ b.astype("f4")).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(nt.jit(product)(a, b).astype("f4"), expected.astype("f4"))
