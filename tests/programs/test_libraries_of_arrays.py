"""Arrays of JAX, images of Pillow, columns of pandas as arguments: adopted, or refused with what to pass."""

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import DTypeError, ReadOnlyError


def affine(x, y):
    return x * 2 + y


def update(x):
    x[1:] += 1
    return x


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX comes with the bench extra")
    jnp = jax.numpy
    f = nt.jit(affine)
    for length in (3, 3, 5):
        x = jnp.arange(length, dtype=jnp.float32)
        for result in (f(x, x), f(x, 1.0), f(x, np.ones(length, np.float32))):
            assert isinstance(result, jax.Array)
            assert result.dtype == jnp.float32
        np.testing.assert_array_equal(f(x, x), affine(np.asarray(x), np.asarray(x)))
    assert f(x, 1.0).dtype == jnp.float32
    half = x.astype(jnp.bfloat16)
    assert f(half, half).dtype == jnp.bfloat16
    np.testing.assert_array_equal(f(half, half), affine(half, half))
    assert f.cache_info()["compiled"] <= 8
    with pytest.raises(ReadOnlyError, match="read-only"):
        nt.jit(update)(x)
    if not jax.config.jax_enable_x64:
        with pytest.raises(DTypeError, match=r"a result is float64, which jax.numpy makes float32"):
            f(x, np.ones(5))
    with pytest.raises(nt.UnsupportedError, match=r"argument 'x' is a .*Tracer that cannot be used"):
        jax.jit(lambda x: f(x, 1.0))(x)


def test_pillow():
    image_class = pytest.importorskip(
        "PIL.Image", reason="Pillow comes with the bench extra, as a part of matplotlib"
    )
    image = image_class.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    f = nt.jit(affine)
    for _ in range(3):
        np.testing.assert_array_equal(f(image, 1), affine(np.asarray(image), 1))
    with pytest.raises(ReadOnlyError, match="read-only"):
        nt.jit(update)(image)


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is in no extra: pip install pandas")
    series = pandas.Series([1.0, 2.0])
    for value in (series, series.to_frame(), pandas.Index([1, 2]), pandas.Timestamp("2020")):
        with pytest.raises(
            nt.UnsupportedError, match=r"argument 'x': a pandas.* has rules of its own"
        ) as caught:
            nt.jit(affine)(value, 1.0)
        assert "pass x.to_numpy()" in str(caught.value)
    np.testing.assert_array_equal(nt.jit(affine)(series.to_numpy(), 1.0), [3.0, 5.0])
