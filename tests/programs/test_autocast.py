"""`autocast`: products in 16 bits, with sums and results in 32, against the same program in double precision."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(5)
ROUNDING = {"bf16": 2.0**-8, "f16": 2.0**-11}
"""How far a number is from its rounding to 16 bits, at most, as a part of it."""


def singles(*shapes):
    return [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]


def product(x, w):
    return x @ w


def layers(x, w, b, v):
    return np.maximum(x @ w + b, 0) @ v


def followed(x, w):
    h = np.abs(x @ w) * 0.5
    return h.sum(1), (h.T @ h).max()


def convolved(x, w):
    return nt.nn.relu(nt.nn.conv2d(x, w, padding=1))


def attended(q, k, v):
    return nt.nn.softmax(q @ k.swapaxes(-1, -2) / 4.0, -1) @ v


def repeated(x, w):
    for _ in range(3):
        x = np.tanh(x @ w)
    return x


PROGRAMS = [
    (product, singles((5, 33), (33, 7))),
    (product, singles((4, 3, 16), (16, 9))),
    (layers, singles((6, 20), (20, 31), (31,), (31, 4))),
    (followed, singles((9, 17), (17, 5))),
    (convolved, singles((2, 3, 9, 8), (4, 3, 3, 3))),
    (attended, singles((2, 7, 16), (2, 7, 16), (2, 7, 16))),
    (repeated, singles((5, 8), (8, 8))),
]


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("to", ROUNDING)
@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=[f"{f.__name__}{a[0].ndim}" for f, a in PROGRAMS])
def test_results_are_near_those_of_double_precision(f, arguments, to):
    """Within a few roundings of the largest element: factors, and what follows products, are rounded once each."""
    wide = leaves(nt.jit(f)(*[a.astype(np.float64) for a in arguments]))
    made, plain = leaves(nt.jit(f, autocast=to)(*arguments)), leaves(nt.jit(f)(*arguments))
    for one, other, exact in zip(made, plain, wide, strict=True):
        assert (np.asarray(one).dtype, np.shape(one)) == (np.float32, np.shape(exact))
        largest = np.abs(exact).max()
        assert np.abs(one - exact).max() <= 24 * ROUNDING[to] * largest
        assert not np.array_equal(one, other)  # it is another program


@pytest.mark.parametrize("to", ROUNDING)
def test_a_product_is_of_rounded_factors_and_has_sums_in_32_bits(to):
    x, w = singles((8, 64), (64, 8))
    dtype = np.float16 if to == "f16" else pytest.importorskip("ml_dtypes").bfloat16
    exact = x.astype(dtype).astype(np.float64) @ w.astype(dtype).astype(np.float64)
    np.testing.assert_allclose(nt.jit(product, autocast=to)(x, w), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_other_targets_agree(target):
    x, w, b, v = singles((6, 20), (20, 31), (31,), (31, 4))
    here = nt.jit(layers, autocast="bf16")(x, w, b, v)
    there = nt.jit(layers, autocast="bf16", target=target)(x, w, b, v)
    np.testing.assert_allclose(there, here, rtol=1e-2, atol=1e-2 * np.abs(here).max())


def test_extents_that_are_not_known():
    f = nt.jit(layers, autocast="bf16", dynamic=True)
    for rows in (1, 3, 8):
        x, w, b, v = singles((rows, 20), (20, 31), (31,), (31, 4))
        exact = layers(*[a.astype(np.float64) for a in (x, w, b, v)])
        assert np.abs(f(x, w, b, v) - exact).max() <= 12 * ROUNDING["bf16"] * np.abs(exact).max()


def test_gradients():
    def loss(w, x):
        return (np.maximum(x @ w, 0) ** 2).mean()

    w, x = singles((12, 6), (20, 12))
    exact = nt.grad(loss)(w.astype(np.float64), x.astype(np.float64))
    made = nt.jit(nt.grad(loss), autocast="bf16")(w, x)
    assert made.dtype == np.float32
    assert np.abs(made - exact).max() <= 12 * ROUNDING["bf16"] * np.abs(exact).max()
    with nt.autocast("bf16"):
        np.testing.assert_array_equal(nt.grad(loss)(w, x), made)


def test_what_is_of_other_types_stays():
    x, w = (a.astype(np.float64) for a in singles((5, 9), (9, 4)))
    np.testing.assert_array_equal(nt.jit(product, autocast="bf16")(x, w), nt.jit(product)(x, w))
    k = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(nt.jit(lambda a: a @ a.T, autocast="f16")(k), k @ k.T)
    z = x.astype(np.complex64), w.astype(np.complex64)
    np.testing.assert_array_equal(nt.jit(product, autocast="bf16")(*z), nt.jit(product)(*z))


def test_blocks():
    x, w = singles((5, 33), (33, 7))
    f, own = nt.jit(product), nt.jit(product, autocast="f16")
    plain, low, half = f(x, w), nt.jit(product, autocast="bf16")(x, w), own(x, w)
    for _ in range(200):  # calls are native by now
        f(x, w)
    with nt.autocast("bf16"):
        np.testing.assert_array_equal(f(x, w), low)
        np.testing.assert_array_equal(own(x, w), half)
        assert "bf16" in f.lower(x, w).as_text("llvm-ir") or "bfloat" in f.lower(x, w).as_text("llvm-ir")
        with nt.autocast(enabled=False):
            np.testing.assert_array_equal(f(x, w), plain)
        with ThreadPoolExecutor(1) as pool:  # another thread is not in the block
            np.testing.assert_array_equal(pool.submit(f, x, w).result(), plain)
    np.testing.assert_array_equal(f(x, w), plain)


def test_the_option_travels_and_is_checked():
    x, w = singles((5, 33), (33, 7))
    f = nt.jit(product, autocast="bf16")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(x, w), f(x, w))
    for wrong in ("int8", True):
        with pytest.raises(nt.errors.DTypeError, match="autocast="):
            nt.jit(product, autocast=wrong)
    with pytest.raises(nt.errors.DTypeError, match="autocast="), nt.autocast("f8"):
        pass


def test_explain_lists_the_types():
    x, w, b, v = singles((6, 20), (20, 31), (31,), (31, 4))
    said = json.loads(nt.jit(layers, autocast="bf16").explain(x, w, b, v, format="json"))["precisions"]
    assert said["types"] == {"bf16": {"dot": 2}, "f32": {"add": 1, "maximum": 1}}
    # The factors: three arguments, and what the second product is of.
    assert said["casts"] == 4 and said["bytes"] == 6 * (6 * 20 + 20 * 31 + 31 * 4 + 6 * 31)
    text = nt.jit(layers, autocast="bf16").explain(x, w, b, v)
    assert "autocast (docs/precision.md):\n  bf16: 2 dot\n  f32: add, maximum\n  casts: 4, 6300 bytes" in text
    assert "autocast" not in nt.jit(layers).explain(x, w, b, v)
