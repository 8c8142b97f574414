"""Gradients of products whose results are read by heads: reshaped, and with axes exchanged."""

import nestor as nt
import numpy as np


def test_weights_of_keys():
    """Tiles are written by heads, at `floordiv` and `mod` of an index: threads share only what is proved to be theirs."""

    def loss(x, w, q):
        key = np.swapaxes(np.reshape(x @ w, (2, 64, 4, 64)), 1, 2)
        return np.sin(q @ np.swapaxes(key, -1, -2)).sum()

    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=s) / 8 for s in ((2, 64, 256), (256, 256), (2, 4, 64, 64))]
    gradient = nt.grad(loss, argnums=(0, 1))
    for scale in (1.0, 2.0):
        x, w, q = arrays[0] * scale, *arrays[1:]
        key = np.swapaxes(np.reshape(x @ w, (2, 64, 4, 64)), 1, 2)
        d_key = np.swapaxes(np.cos(q @ np.swapaxes(key, -1, -2)), -1, -2) @ q
        d_product = np.swapaxes(d_key, 1, 2).reshape(2, 64, 256)
        d_x, d_w = gradient(*(a.astype("f4") for a in (x, w, q)))
        np.testing.assert_allclose(d_x, d_product @ w.T, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(d_w, np.tensordot(x, d_product, ((0, 1), (0, 1))), rtol=1e-4, atol=1e-4)
