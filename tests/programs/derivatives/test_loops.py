"""Gradients of loops in machine code, and in the simulator, are those of NumPy code by central differences."""

import nestor as nt
import numpy as np
import pytest

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((5, 3))
H = _RNG.standard_normal(3)
W = _RNG.standard_normal((3, 3)) / 2


def steps(h, w, n):
    for _ in range(n):
        h = np.tanh(h @ w) + 0.1
    return (h * h).sum()


def until(h, w, limit):
    while np.abs(h).sum() > limit:
        h = h * 0.8 * np.tanh(w[0])
        if h[0] > 3:
            break
    return h.sum()


def over_rows(h, w, x):
    s = 0.0
    for t in range(x.shape[0]):
        if h[0] > 0:
            h = np.tanh(x[t] + h @ w)
        else:
            h = np.sin(w @ h) * x[t]
        s = s + (h * h).sum()
    return s


def differences(f, arguments, k):
    found = np.zeros_like(arguments[k])
    for place in np.ndindex(found.shape):
        values = []
        for sign in (1, -1):
            near = [np.copy(a) for a in arguments]
            near[k][place] += sign * 1e-6
            values.append(f(*near))
        found[place] = (values[0] - values[1]) / 2e-6
    return found


CALLS = {
    steps: [(H, W, 4), (H, W, 0), (H[::-1], W.T, 1)],
    until: [(H, W, 0.1), (H, W, 100.0)],
    over_rows: [(H, W, X), (H, W, X[::-2]), (H, W, X[:1])],
}


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda-sim", marks=pytest.mark.slow)])
@pytest.mark.parametrize("f", CALLS)
def test_gradients(f, target):
    gradient = nt.jit(nt.grad(f, argnums=(0, 1)), target=target)
    for arguments in CALLS[f]:
        for k, found in enumerate(gradient(*arguments)):
            np.testing.assert_allclose(found, differences(f, arguments, k), rtol=1e-5, atol=1e-7)


def sums_of_products(x, y):
    products, columns = np.zeros((256, 512), x.dtype), np.zeros(512, x.dtype)
    for t in range(x.shape[0]):
        z = y[t] * 2
        products = products + x[t].T @ z
        columns = columns + z.sum(axis=0)
    return products, columns


def test_sums_of_products_that_a_loop_carries():
    x, y = (_RNG.standard_normal((9, 64, n)).astype("f4") for n in (256, 512))
    for found, expected in zip(nt.jit(sums_of_products)(x, y), sums_of_products(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
