"""Gradients of products whose results are read by heads: reshaped, and with axes exchanged."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)


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


def attend(x, wq, wk, wv, wo):
    batch, positions, width = x.shape
    heads = (batch, positions, 4, width // 4)
    query, key, value = (np.swapaxes(np.reshape(x @ w, heads), 1, 2) for w in (wq, wk, wv))
    mixed = np.swapaxes(nt.nn.attention(query, key, value), 1, 2)
    return (np.reshape(mixed, x.shape) @ wo).sum()


def with_gradients(*arrays):
    return nt.value_and_grad(attend, argnums=tuple(range(5)))(*arrays)


def test_products_of_heads_are_tiled():
    """No index of them is a quotient or a remainder, and each is shared among threads."""
    arrays = [nt.spec((4, 64, 128), "f4"), *[nt.spec((128, 128), "f4")] * 4]
    text = nt.jit(with_gradients, target="cpu").lower(*arrays).as_text("nest")
    assert "floordiv" not in text and " mod " not in text
    nests = text.split("\n    nest.for ")[1:]
    products = [nest for nest in nests if "arith.mulf" in nest and '"sums' in nest]
    assert len(products) >= 12
    assert all("vectorized" in nest and "parallel" in nest for nest in products)


@pytest.mark.slow
def test_gradients_of_attention_by_heads():
    """Against central differences, on second calls with other extents too."""
    rng = np.random.default_rng(7)
    jitted = nt.jit(with_gradients)
    for batch, positions in ((2, 9), (1, 5), (3, 1)):
        arrays = [rng.normal(size=s) for s in ((batch, positions, 16), *[(16, 16)] * 4)]
        value, gradients = jitted(*arrays)
        np.testing.assert_allclose(value, attend(*arrays), rtol=1e-12)
        for k, gradient in enumerate(gradients):
            direction = rng.normal(size=gradient.shape)
            moved = [
                [a + s * 1e-5 * direction if j == k else a for j, a in enumerate(arrays)] for s in (1, -1)
            ]
            slope = (attend(*moved[0]) - attend(*moved[1])) / 2e-5
            np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6, atol=1e-7)


def test_products_of_repeated_rows():
    """They are computed once: of rows, columns, none and one of them, with unknown extents too, and of infinities."""

    def program(v, w, n):
        rows = np.broadcast_to(v, (n, v.shape[0]))
        columns = np.broadcast_to(v[:, None], (v.shape[0], n))
        return rows @ w, w.T @ columns, rows @ columns, (w.T @ columns).T + 1

    rng = np.random.default_rng(3)
    for dynamic, shapes in ((False, ((6, 1, 4), (0, 3, 2))), (True, ((5, 7, 3), (9, 8, 3)))):
        jitted = nt.jit(program, static_argnums=2, dynamic=dynamic)
        for k, m, n in shapes:
            v, w = rng.normal(size=k), rng.normal(size=(k, m))
            if k > 5:
                v[0], w[1, 0] = np.inf, np.nan
            with np.errstate(invalid="ignore"):
                expected = program(v, w, n)
            for got, wanted in zip(jitted(v, w, n), expected, strict=True):
                assert got.shape == wanted.shape
                np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_products_that_are_read_transposed():
    def program(a, b):
        product = a @ b
        return np.sin(product.T), np.swapaxes(product, 0, 1).reshape(-1) * 2, a.dtype.type(1) + (b.T @ a.T).T

    rng = np.random.default_rng(4)
    for jitted, shapes in (
        (nt.jit(program), ((1, 4, 2), (3, 0, 2))),
        (nt.jit(program, dynamic=True), ((3, 4, 5), (5, 2, 3))),
        (nt.jit(program, target="interp"), ((3, 4, 5), (0, 2, 2))),
    ):
        for n, k, m in shapes:
            a, b = rng.normal(size=(n, k)), rng.normal(size=(2 * m, k))[::-2].T
            for got, wanted in zip(jitted(a, b), program(a, b), strict=True):
                assert got.shape == wanted.shape and got.dtype == wanted.dtype
                assert got.flags.c_contiguous == wanted.flags.c_contiguous
                np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_heads_of_arguments_are_put_side_by_side():
    """The product reads a copy, of heads that are last in memory too, and of arrays that are not contiguous."""

    def program(x, y, w):
        rows = np.reshape(np.swapaxes(x, 1, 2), (2, 16, 24)) @ w
        last = np.reshape(np.transpose(y, (0, 2, 3, 1)), (2, 16, 24)) @ w
        return rows - last

    rng = np.random.default_rng(6)
    x, y, w = (rng.normal(size=s) for s in ((2, 3, 16, 8), (2, 3, 16, 8), (24, 200)))
    jitted = nt.jit(program)
    assert "floordiv" not in jitted.lower(x, y, w).as_text("nest")
    for arrays in ((x, y, w), (y, x, -w), (x[::-1, :, ::-1], y, w)):
        np.testing.assert_allclose(jitted(*arrays), program(*arrays), rtol=1e-12, atol=1e-12)
    dynamic = nt.jit(side_by_side, dynamic=True)
    for batch, positions in ((2, 16), (3, 9)):
        x = rng.normal(size=(batch, 3, positions, 8))
        np.testing.assert_allclose(dynamic(x, w), side_by_side(x, w), rtol=1e-12, atol=1e-12)


def side_by_side(x, w):
    return np.reshape(np.swapaxes(x, 1, 2), (x.shape[0], x.shape[2], 24)) @ w
