"""Whole steps of networks: an LSTM cell and an encoder layer of a transformer."""

from __future__ import annotations

import numpy as np
from nestor import nn

from .pointwise import GATES_ONNX, numba_gates
from .row import FLOAT, Row, normal, uniform, weights

HEADS = 8


def lstm_cell(x, h, c, w, u, bias):
    n = h.shape[-1]
    gates = x @ w + h @ u + bias
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def _cell_numba(nb):
    """numba has no product of its own: the BLAS of NumPy, and a kernel for the gates."""
    gates_kernel = numba_gates(nb)

    def kernel(h_out, c_out, x, h, c, w, u, bias):
        gates = x @ w
        gates += h @ u
        gates += bias
        gates_kernel(h_out, c_out, gates, c)

    return kernel


def _cell_jax(jax, jnp):
    def cell(x, h, c, w, u, bias):
        i, f, z, o = jnp.split(x @ w + h @ u + bias, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(z)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    return cell


def _cell_torch(torch):
    def cell(x, h, c, w, u, bias):
        i, f, z, o = torch.chunk(torch.addmm(torch.addmm(bias, x, w), h, u), 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(z)
        return torch.sigmoid(o) * torch.tanh(c), c

    return cell


CELL_ONNX = "xw = MatMul(x, w)  hu = MatMul(h, u)  both = Add(xw, hu)  gates = Add(both, bias)" + GATES_ONNX


def encoder_layer(x, wq, wk, wv, wo, up, up_bias, down, down_bias, scale1, shift1, scale2, shift2):
    batch, positions, width = x.shape
    heads = (batch, positions, HEADS, width // HEADS)
    y = nn.layer_norm(x, scale1, shift1)
    query = np.swapaxes(np.reshape(y @ wq, heads), 1, 2)
    key = np.swapaxes(np.reshape(y @ wk, heads), 1, 2)
    value = np.swapaxes(np.reshape(y @ wv, heads), 1, 2)
    mixed = np.swapaxes(nn.attention(query, key, value), 1, 2)
    x = x + np.reshape(mixed, x.shape) @ wo
    y = nn.layer_norm(x, scale2, shift2)
    return x + nn.gelu(y @ up + up_bias) @ down + down_bias


def _encoder_arguments(rng, d):
    squares = [weights(rng, d.f, d.f) for _ in range(4)]
    feed = [weights(rng, d.f, d.g), normal(rng, d.g), weights(rng, d.g, d.f), normal(rng, d.f)]
    norms = [uniform(rng, d.f) + FLOAT(0.5), normal(rng, d.f)]
    return [normal(rng, d.b, d.t, d.f), *squares, *feed, *norms, *[n.copy() for n in norms]]


def _encoder_operations(d):
    tokens = d.b * d.t
    return 2 * tokens * (4 * d.f * d.f + 2 * d.f * d.g + 2 * d.t * d.f)


def _encoder_torch(torch):
    f = torch.nn.functional

    def layer(x, wq, wk, wv, wo, up, up_bias, down, down_bias, scale1, shift1, scale2, shift2):
        batch, positions, width = x.shape

        def split(y):
            return y.view(batch, positions, HEADS, width // HEADS).transpose(1, 2)

        y = f.layer_norm(x, (width,), scale1, shift1)
        mixed = f.scaled_dot_product_attention(split(y @ wq), split(y @ wk), split(y @ wv))
        x = x + mixed.transpose(1, 2).reshape(x.shape) @ wo
        y = f.layer_norm(x, (width,), scale2, shift2)
        return x + f.gelu(y @ up + up_bias) @ down + down_bias

    return layer


def _encoder_jax(jax, jnp):
    def norm(x, scale, shift):
        centred = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(centred * centred, -1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * scale + shift

    def layer(x, wq, wk, wv, wo, up, up_bias, down, down_bias, scale1, shift1, scale2, shift2):
        batch, positions, width = x.shape

        def split(y):
            return y.reshape(batch, positions, HEADS, width // HEADS)

        y = norm(x, scale1, shift1)
        mixed = jax.nn.dot_product_attention(split(y @ wq), split(y @ wk), split(y @ wv))
        x = x + mixed.reshape(x.shape) @ wo
        y = norm(x, scale2, shift2)
        return x + jax.nn.gelu(y @ up + up_bias, approximate=False) @ down + down_bias

    return layer


def _encoder_onnx(d):
    return f"""
        heads = Constant<value = int64[4] {{0, 0, {HEADS}, -1}}>()  joined = Constant<value = int64[3] {{0, 0, -1}}>()
        scale = Constant<value = float {{{(d.f // HEADS) ** -0.5}}}>()
        y = LayerNormalization<axis = -1, epsilon = 0.00001>(x, scale1, shift1)
        q = MatMul(y, wq)  k = MatMul(y, wk)  v = MatMul(y, wv)
        qh = Reshape(q, heads)  kh = Reshape(k, heads)  vh = Reshape(v, heads)
        qt = Transpose<perm = [0, 2, 1, 3]>(qh)  kt = Transpose<perm = [0, 2, 3, 1]>(kh)
        vt = Transpose<perm = [0, 2, 1, 3]>(vh)  qs = Mul(qt, scale)  scores = MatMul(qs, kt)
        p = Softmax<axis = -1>(scores)  m = MatMul(p, vt)  mt = Transpose<perm = [0, 2, 1, 3]>(m)
        mj = Reshape(mt, joined)  mo = MatMul(mj, wo)  z = Add(x, mo)
        zn = LayerNormalization<axis = -1, epsilon = 0.00001>(z, scale2, shift2)
        a = MatMul(zn, up)  ab = Add(a, up_bias)  g = Gelu(ab)  e = MatMul(g, down)
        ze = Add(z, e)  r0 = Add(ze, down_bias)"""


def _cell_arguments(rng, d):
    states = [normal(rng, d.rows, d.inputs), normal(rng, d.rows, d.n), normal(rng, d.rows, d.n)]
    return [*states, weights(rng, d.inputs, 4 * d.n), weights(rng, d.n, 4 * d.n), normal(rng, 4 * d.n)]


ROWS = [
    Row(
        "lstm-cell",
        "LSTM cell (64, 512, 512)",
        {"rows": 64, "inputs": 512, "n": 512},
        {"rows": 3, "inputs": 9, "n": 21},
        _cell_arguments,
        lambda d: [((d.rows, d.n), "f4")] * 2,
        lstm_cell,
        lambda d: 8 * d.rows * d.n * (d.inputs + d.n),
        {"numba": _cell_numba, "jax": _cell_jax, "torch": _cell_torch, "onnxruntime": CELL_ONNX},
        tolerance=1e-4,
    ),
    Row(
        "encoder-layer",
        "encoder layer (8, 128, 512), 8 heads",
        {"b": 8, "t": 128, "f": 512, "g": 2048},
        {"b": 2, "t": 5, "f": 16, "g": 24},
        _encoder_arguments,
        lambda d: [((d.b, d.t, d.f), "f4")],
        encoder_layer,
        _encoder_operations,
        {"jax": _encoder_jax, "torch": _encoder_torch, "onnxruntime": _encoder_onnx},
        tolerance=1e-4,
    ),
]
