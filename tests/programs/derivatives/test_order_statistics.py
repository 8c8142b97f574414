"""Gradients of medians and quantiles, of extents that change from call to call, against differences and closed forms."""

import differences
import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(8)
SHAPES = ((4, 3), (5, 2), (1, 1))
FUNCTIONS = {
    "median of rows": lambda x: (np.median(x, axis=0) ** 2).sum(),
    "quantiles": lambda x: (np.quantile(x, [0.3, 0.9, 1.0, 0.0], axis=1) ** 2).sum(),
    "percentile of all": lambda x: np.percentile(x, 37.0) ** 3,
    "median of two axes": lambda x: (np.median(x, axis=(1, 0), keepdims=True) ** 2).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_extents_in_later_calls(name):
    f = FUNCTIONS[name]
    g = nt.grad(f)
    for shape in SHAPES:
        x = RNG.normal(size=shape)
        np.testing.assert_allclose(g(x), differences.gradient(f, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_unknown_extents_from_the_first_call(target):
    f = FUNCTIONS["quantiles"]
    g = nt.jit(nt.grad(f), target=target, dynamic=True)
    x = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(g(x[::-1, ::2]), differences.gradient(f, x[::-1, ::2]), rtol=1e-6, atol=1e-7)
    assert g(x.astype("f4")).dtype == np.float32
    tangent = nt.jit(lambda x, t: nt.jvp(lambda v: np.median(v, axis=1), (x,), (t,))[1], dynamic=True)
    np.testing.assert_allclose(
        tangent(x, x + 1), np.take_along_axis(x + 1, np.argsort(x, axis=1)[:, 2:3], 1)[:, 0]
    )
