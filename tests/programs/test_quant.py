"""`nt.quant`: quantise, dequantise and fake_quantise, in Python and compiled, and onnxruntime as the judge."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from onnx_judge import run_node

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(6)
DTYPES = [np.int8, np.uint8, np.int16, np.uint16]
INTEGERS = pytest.mark.parametrize("dtype", DTYPES)


def singles(*shape, scale=20.0):
    """Numbers, halves of scales of 0.25 among them, and what is beyond all integers."""
    x = (RNG.standard_normal(shape) * scale).astype(np.float32)
    flat = x.reshape(-1)
    special = [0.125, 0.375, -0.125, -0.625, np.inf, -np.inf, 1e30, -1e30, np.nan, 0.0]
    flat[: min(flat.size, len(special))] = special[: flat.size]
    return x


def check(function, *arguments):
    """The result of Python, which compiled code has too."""
    with np.errstate(all="ignore"):
        plain = function(*arguments)
    for target in ("cpu", "interp"):
        made = nt.jit(function, target=target)(*arguments)
        assert (made.dtype, made.shape) == (plain.dtype, plain.shape)
        np.testing.assert_array_equal(made, plain)
    return plain


SHAPES = [(4, 10), (0, 3), (1, 1), (7,), (2, 3, 33)]


@INTEGERS
@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_functions_are_those_of_python(dtype, shape):
    x, scale, zero = singles(*shape), np.float32(0.25), dtype(5)
    q = check(lambda x, s, z: nt.quant.quantise(x, s, z, dtype), x, scale, zero)
    assert q.dtype == dtype
    y = check(lambda q, s, z: nt.quant.dequantise(q, s, z), q, scale, zero)
    assert y.dtype == np.float32
    fake = check(lambda x, s, z: nt.quant.fake_quantise(x, s, z, dtype), x, scale, zero)
    np.testing.assert_array_equal(fake[~np.isnan(x)], y[~np.isnan(x)])
    assert np.isnan(fake[np.isnan(x)]).all()


@INTEGERS
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_scale_for_each_channel(dtype, axis):
    x = singles(3, 5, 4)
    n = x.shape[axis]
    scale, zero = np.linspace(0.1, 0.7, n).astype(np.float32), np.arange(n).astype(dtype)
    q = check(lambda x, s, z: nt.quant.quantise(x, s, z, dtype, axis), x, scale, zero)
    y = check(lambda q, s, z: nt.quant.dequantise(q, s, z, axis), q, scale, zero)
    check(lambda x, s, z: nt.quant.fake_quantise(x, s, z, dtype, axis), x, scale, zero)
    for k in range(n):
        one = nt.quant.quantise(np.take(x, k, axis), scale[k], zero[k], dtype)
        np.testing.assert_array_equal(np.take(q, k, axis), one)
        np.testing.assert_array_equal(np.take(y, k, axis), nt.quant.dequantise(one, scale[k], zero[k]))


def test_halves_go_to_even_and_ends_saturate():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, np.nan], np.float32)
    np.testing.assert_array_equal(
        check(lambda x: nt.quant.quantise(x, 1.0), x), np.array([0, 2, 2, 0, -2, 127, -128, -128], np.int8)
    )
    np.testing.assert_array_equal(
        check(lambda x: nt.quant.quantise(x, 1.0, 1, np.uint8), x), np.array([1, 3, 3, 1, 0, 255, 0, 0])
    )


@pytest.mark.parametrize("float_type", [np.float16, np.float64])
def test_other_floats(float_type):
    with np.errstate(over="ignore"):
        x = singles(4, 9).astype(float_type)
    check(lambda x: nt.quant.quantise(x, 0.25, 3, np.uint16), x)
    check(lambda x: nt.quant.fake_quantise(x, 0.25, 3), x)
    check(lambda x: nt.quant.quantise(x, np.full(9, 0.25, float_type), axis=1), x)


def test_views_and_unknown_extents():
    f = nt.jit(lambda x, s: nt.quant.quantise(x, s, 3, np.uint8), dynamic=True)
    for n in (1, 0, 5, 70):
        x = singles(n, 6)
        for view in (x, x[::2, ::-1], np.asfortranarray(x), x.T):
            with np.errstate(all="ignore"):
                plain = nt.quant.quantise(view, np.float32(0.25), 3, np.uint8)
            np.testing.assert_array_equal(f(view, np.float32(0.25)), plain)


def test_a_scale_of_outside_is_read_again():
    scale = np.array(0.5, np.float32)
    f = nt.jit(lambda x: nt.quant.quantise(x, scale))
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(f(x), [0, 2, 4, 6])
    scale[...] = 0.25
    np.testing.assert_array_equal(f(x), [0, 4, 8, 12])


def test_the_gradient_goes_straight_through():
    x = np.array([0.3, -0.7, 5.0, -5.0, 1.27, 1.2, 0.0], np.float32)
    scale, zero = np.float32(0.01), np.int8(2)

    def total(x, s):
        return (nt.quant.fake_quantise(x, s, zero) * np.arange(1, 8)).sum()

    by_x, by_scale = nt.grad(total, argnums=(0, 1))(x, scale)
    inside = np.abs(x / scale + zero) <= 127.4
    np.testing.assert_array_equal(by_x, np.where(inside, np.arange(1, 8), 0))
    v = x.astype(np.float64) / scale
    wanted = np.where(inside, np.rint(v) - v, np.clip(np.rint(v) + 2, -128, 127) - 2)
    np.testing.assert_allclose(by_scale, (wanted * np.arange(1, 8)).sum(), rtol=1e-3)
    primal, tangent = nt.jvp(lambda x: nt.quant.fake_quantise(x, scale, zero), (x,), (np.ones_like(x),))
    np.testing.assert_array_equal(tangent, inside)
    np.testing.assert_array_equal(primal, nt.quant.fake_quantise(x, scale, zero))


def test_slices_of_stacks():
    x, scale = singles(3, 4, 5), np.linspace(0.1, 0.5, 4).astype(np.float32)
    one = lambda x, s: nt.quant.dequantise(nt.quant.quantise(x, s, 0, np.int8, 0), s, 0, 0)  # noqa: E731
    np.testing.assert_array_equal(
        nt.vmap(one, in_axes=(0, None))(x, scale), np.stack([one(a, scale) for a in x])
    )


@pytest.mark.parametrize("function", [nt.quant.quantise, nt.quant.fake_quantise])
def test_other_types_are_refused(function):
    for call in (lambda x: function(x, 1.0, 0, np.int32), lambda x: function(x, 1.0, 0, np.float32)):
        for made in (call, nt.jit(call)):
            with pytest.raises((ValueError, nt.NestorError), match=r"integer|int8"):
                made(np.ones(3, np.float32))


# ---- onnxruntime ----------------------------------------------------------------------------------------


@INTEGERS
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_onnx_quantises_the_same(dtype, axis):
    x = singles(6, 7)
    n = () if axis is None else (x.shape[axis],)
    scale = RNG.uniform(0.05, 0.5, n).astype(np.float32)
    zero = RNG.integers(0, 100, n).astype(dtype)
    extra = {} if axis is None else {"axis": axis}
    q = check(lambda x, s, z: nt.quant.quantise(x, s, z, dtype, axis), x, scale, zero)
    np.testing.assert_array_equal(run_node("QuantizeLinear", [x, scale, zero], dtype, **extra), q)
    y = check(lambda q, s, z: nt.quant.dequantise(q, s, z, axis), q, scale, zero)
    np.testing.assert_array_equal(run_node("DequantizeLinear", [q, scale, zero], np.float32, **extra), y)
