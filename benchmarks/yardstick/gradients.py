"""Gradients: the sum of a program's results, with its gradients by all arguments.

The peers differentiate the same loss: jax by `jax.value_and_grad`, torch by `torch.autograd.grad` (of the compiled loss for
torch.compile); for numba both halves are written by hand, in one loop.
"""

from __future__ import annotations

import nestor as nt
import numpy as np
from nestor import nn

from . import networks
from .row import FLOAT, Row, normal, uniform, weights

LOSSES = {}
"""The loss of each row, by the row's name."""


def with_gradients_of(loss):
    """The function of arrays that gives the loss and its gradients by all of them."""

    def with_gradients(*arrays):
        value, gradients = nt.value_and_grad(loss, argnums=tuple(range(len(arrays))))(*arrays)
        return value, *gradients

    return with_gradients


def gradient_row(
    name, title, dims, small, arguments, loss, flops, jax=None, torch=None, numba=None, tolerance=1e-4
):
    """A row of a loss: `jax(jax, jnp)` and `torch(torch)` make the same loss, `numba(nb)` a function of both halves."""

    LOSSES[name] = loss

    def results(d):
        made = arguments(np.random.default_rng(0), d)
        return [((), FLOAT), *((a.shape, a.dtype) for a in made)]

    def by_jax(jax_module, jnp):
        differentiated = jax(jax_module, jnp)

        def both(*arrays):
            value, gradients = jax_module.value_and_grad(differentiated, tuple(range(len(arrays))))(*arrays)
            return value, *gradients

        return both

    peers = {"jax": by_jax if jax else None, "torch-loss": torch, "numba": numba}
    return Row(
        name,
        title,
        dims,
        small,
        arguments,
        results,
        with_gradients_of(loss),
        flops,
        {peer: made for peer, made in peers.items() if made is not None},
        tolerance=tolerance,
        by_numpy=False,
    )


# ---- intersection over union ------------------------------------------------------------------------------


def iou(x1, y1, w1, h1, x2, y2, w2, h2):
    xi, yi = np.maximum(x1, x2), np.maximum(y1, y2)
    wi = np.clip(np.minimum(x1 + w1, x2 + w2) - xi, 0, None)
    hi = np.clip(np.minimum(y1 + h1, y2 + h2) - yi, 0, None)
    area = wi * hi
    return (area / np.maximum(w1 * h1 + w2 * h2 - area, FLOAT(1e-5))).sum()


def _iou_jax(jax, jnp):
    def loss(x1, y1, w1, h1, x2, y2, w2, h2):
        xi, yi = jnp.maximum(x1, x2), jnp.maximum(y1, y2)
        wi = jnp.clip(jnp.minimum(x1 + w1, x2 + w2) - xi, 0)
        hi = jnp.clip(jnp.minimum(y1 + h1, y2 + h2) - yi, 0)
        area = wi * hi
        return (area / jnp.maximum(w1 * h1 + w2 * h2 - area, 1e-5)).sum()

    return loss


def _iou_torch(torch):
    def loss(x1, y1, w1, h1, x2, y2, w2, h2):
        xi, yi = torch.maximum(x1, x2), torch.maximum(y1, y2)
        wi = torch.clamp(torch.minimum(x1 + w1, x2 + w2) - xi, min=0)
        hi = torch.clamp(torch.minimum(y1 + h1, y2 + h2) - yi, min=0)
        area = wi * hi
        return (area / torch.clamp(w1 * h1 + w2 * h2 - area, min=1e-5)).sum()

    return loss


def _iou_numba(nb):
    @nb.njit(parallel=True)
    def kernel(out, dx1, dy1, dw1, dh1, dx2, dy2, dw2, dh2, x1, y1, w1, h1, x2, y2, w2, h2):
        zero, one, tiny = np.float32(0), np.float32(1), np.float32(1e-5)
        total = 0.0
        for k in nb.prange(x1.size):
            right1, right2 = x1[k] + w1[k], x2[k] + w2[k]
            low1, low2 = y1[k] + h1[k], y2[k] + h2[k]
            wi = max(min(right1, right2) - max(x1[k], x2[k]), zero)
            hi = max(min(low1, low2) - max(y1[k], y2[k]), zero)
            area = wi * hi
            union = w1[k] * h1[k] + w2[k] * h2[k] - area
            below = max(union, tiny)
            value = area / below
            total += value
            inverse = one / below
            d_union = -value * inverse if union > tiny else zero
            d_area = inverse - d_union
            d_wi = d_area * hi if wi > zero else zero
            d_hi = d_area * wi if hi > zero else zero
            first, left = right1 < right2, x1[k] > x2[k]
            a, b = (d_wi if first else zero), (zero if first else d_wi)
            dw1[k], dw2[k] = d_union * h1[k] + a, d_union * h2[k] + b
            dx1[k] = a - (d_wi if left else zero)
            dx2[k] = b - (zero if left else d_wi)
            first, left = low1 < low2, y1[k] > y2[k]
            a, b = (d_hi if first else zero), (zero if first else d_hi)
            dh1[k], dh2[k] = d_union * w1[k] + a, d_union * w2[k] + b
            dy1[k] = a - (d_hi if left else zero)
            dy2[k] = b - (zero if left else d_hi)
        out[()] = total

    return kernel


OFFSETS = (0, 0, 2**-14, 2**-14, 2**-13, 2**-13, 2**-15, 2**-15)


def _boxes(rng, d):
    """Numbers on grids that lie apart: no two sides fall together, where gradients are a matter of convention."""
    return [(rng.integers(1, 4096, d.n) / 4096 + offset).astype(FLOAT) for offset in OFFSETS]


# ---- the uniformity loss ----------------------------------------------------------------------------------


def uniformity_by_products(x):
    squares = (x * x).sum(axis=1)
    return np.log(np.exp(FLOAT(-2) * (squares[:, None] + squares[None, :] - FLOAT(2) * (x @ x.T))).mean())


def uniformity_by_differences(x):
    d = x[:, None, :] - x[None, :, :]
    return np.log(np.exp(FLOAT(-2) * (d * d).sum(axis=-1)).mean())


def _products_jax(jax, jnp):
    def loss(x):
        s = (x * x).sum(1)
        return jnp.log(jnp.exp(-2 * (s[:, None] + s[None, :] - 2 * (x @ x.T))).mean())

    return loss


def _products_torch(torch):
    def loss(x):
        s = (x * x).sum(1)
        return torch.log(torch.exp(-2 * (s[:, None] + s[None, :] - 2 * (x @ x.T))).mean())

    return loss


def _differences_jax(jax, jnp):
    return lambda x: jnp.log(jnp.exp(-2 * ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)).mean())


def _differences_torch(torch):
    return lambda x: torch.log(torch.exp(-2 * ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)).mean())


def _points(rng, d):
    return [normal(rng, d.n, d.k) * FLOAT(0.1)]


# ---- norms, softmax -----------------------------------------------------------------------------------------


def batch_norm(x, scale, shift):
    mean = x.mean(axis=0)
    variance = ((x - mean) ** 2).mean(axis=0)
    return np.tanh((x - mean) / np.sqrt(variance + FLOAT(1e-5)) * scale + shift).sum()


def layer_norm(x, scale, shift):
    return np.tanh(nn.layer_norm(x, scale, shift)).sum()


def softmax(x):
    return (nn.softmax(x, axis=-1) ** 2).sum()


def _batch_norm_jax(jax, jnp):
    def loss(x, scale, shift):
        mean = x.mean(0)
        return jnp.tanh((x - mean) / jnp.sqrt(((x - mean) ** 2).mean(0) + 1e-5) * scale + shift).sum()

    return loss


def _batch_norm_torch(torch):
    def loss(x, scale, shift):
        return torch.tanh(torch.nn.functional.batch_norm(x, None, None, scale, shift, training=True)).sum()

    return loss


def _layer_norm_jax(jax, jnp):
    def loss(x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        normal_ = (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
        return jnp.tanh(normal_ * scale + shift).sum()

    return loss


def _layer_norm_torch(torch):
    def loss(x, scale, shift):
        return torch.tanh(torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)).sum()

    return loss


def _norm_arguments(rng, d):
    return [normal(rng, d.n, d.m), uniform(rng, d.m), normal(rng, d.m)]


# ---- networks -----------------------------------------------------------------------------------------------


def lstm_cell(x, h, c, w, u, bias):
    h, c = networks.lstm_cell(x, h, c, w, u, bias)
    return h.sum() + c.sum()


def _cell_jax(jax, jnp):
    cell = networks._cell_jax(jax, jnp)
    return lambda *arrays: sum(part.sum() for part in cell(*arrays))


def _cell_torch(torch):
    cell = networks._cell_torch(torch)
    return lambda *arrays: sum(part.sum() for part in cell(*arrays))


def _cell_arguments(rng, d):
    states = [normal(rng, d.b, d.k), normal(rng, d.b, d.n), normal(rng, d.b, d.n)]
    return [*states, weights(rng, d.k, 4 * d.n), weights(rng, d.n, 4 * d.n), normal(rng, 4 * d.n)]


def lstm(xs, h, c, w, u, bias):
    total = FLOAT(0)
    for t in range(xs.shape[0]):
        h, c = networks.lstm_cell(xs[t], h, c, w, u, bias)
        total = total + h.sum()
    return total + c.sum()


def _lstm_jax(jax, jnp):
    cell = networks._cell_jax(jax, jnp)

    def loss(xs, h, c, w, u, bias):
        def step(state, x):
            state = cell(x, *state, w, u, bias)
            return state, state[0].sum()

        (_, c), sums = jax.lax.scan(step, (h, c), xs)
        return sums.sum() + c.sum()

    return loss


def _lstm_torch(torch):
    cell = networks._cell_torch(torch)

    def loss(xs, h, c, w, u, bias):
        total = 0
        for x in xs.unbind():
            h, c = cell(x, h, c, w, u, bias)
            total = total + h.sum()
        return total + c.sum()

    return loss


def _lstm_arguments(rng, d):
    return [normal(rng, d.t, d.b, d.k), *_cell_arguments(rng, d)[1:]]


def encoder_layer(*arrays):
    return networks.encoder_layer(*arrays).sum()


def _encoder_jax(jax, jnp):
    layer = networks._encoder_jax(jax, jnp)
    return lambda *arrays: layer(*arrays).sum()


def _encoder_torch(torch):
    layer = networks._encoder_torch(torch)
    return lambda *arrays: layer(*arrays).sum()


def conv_net(x, w, dense):
    y = nn.max_pool(nn.relu(nn.conv(x, w)), (2, 2))
    return -nn.log_softmax(y.reshape(y.shape[0], -1) @ dense, axis=-1)[:, 0].mean()


def _conv_jax(jax, jnp):
    def loss(x, w, dense):
        y = jax.nn.relu(jax.lax.conv(x, w, (1, 1), "VALID"))
        y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return -jax.nn.log_softmax(y.reshape(y.shape[0], -1) @ dense)[:, 0].mean()

    return loss


def _conv_torch(torch):
    functional = torch.nn.functional

    def loss(x, w, dense):
        y = functional.max_pool2d(functional.relu(functional.conv2d(x, w)), 2)
        return -functional.log_softmax(y.flatten(1) @ dense, -1)[:, 0].mean()

    return loss


def _conv_arguments(rng, d):
    side = (d.s - 2) // 2
    kernels = normal(rng, d.c, 3, 3, 3) / FLOAT(np.sqrt(27))
    return [normal(rng, d.n, 3, d.s, d.s), kernels, weights(rng, d.c * side * side, 10)]


ROWS = [
    *[
        gradient_row(
            f"grad-iou-{title}",
            f"gradients of IoU of {title} boxes",
            {"n": n},
            {"n": 77},
            _boxes,
            iou,
            lambda d: 60 * d.n,
            _iou_jax,
            _iou_torch,
            _iou_numba,
        )
        for title, n in (("100k", 100_000), ("10M", 10_000_000))
    ],
    gradient_row(
        "grad-uniformity-products",
        "gradient of the uniformity loss by products, 1024 x 128",
        {"n": 1024, "k": 128},
        {"n": 13, "k": 5},
        _points,
        uniformity_by_products,
        lambda d: 6 * d.n * d.n * d.k,
        _products_jax,
        _products_torch,
    ),
    gradient_row(
        "grad-uniformity-differences",
        "gradient of the uniformity loss by differences, 1024 x 128",
        {"n": 1024, "k": 128},
        {"n": 13, "k": 5},
        _points,
        uniformity_by_differences,
        lambda d: 8 * d.n * d.n * d.k,
        _differences_jax,
        _differences_torch,
    ),
    gradient_row(
        "grad-batch-norm",
        "gradients of batch norm in training, 4096 x 256",
        {"n": 4096, "m": 256},
        {"n": 9, "m": 7},
        _norm_arguments,
        batch_norm,
        lambda d: 30 * d.n * d.m,
        _batch_norm_jax,
        _batch_norm_torch,
    ),
    gradient_row(
        "grad-layer-norm",
        "gradients of layer norm, 4096 x 1024",
        {"n": 4096, "m": 1024},
        {"n": 9, "m": 7},
        _norm_arguments,
        layer_norm,
        lambda d: 30 * d.n * d.m,
        _layer_norm_jax,
        _layer_norm_torch,
    ),
    gradient_row(
        "grad-softmax",
        "gradient of a softmax, 4096 x 1024",
        {"n": 4096, "m": 1024},
        {"n": 9, "m": 7},
        lambda rng, d: [normal(rng, d.n, d.m)],
        softmax,
        lambda d: 20 * d.n * d.m,
        lambda jax, jnp: lambda x: (jax.nn.softmax(x) ** 2).sum(),
        lambda torch: lambda x: (torch.softmax(x, -1) ** 2).sum(),
    ),
    gradient_row(
        "grad-lstm-cell",
        "gradients of an LSTM cell, batch 64, 256 states",
        {"b": 64, "k": 256, "n": 256},
        {"b": 3, "k": 4, "n": 5},
        _cell_arguments,
        lstm_cell,
        lambda d: 24 * d.b * d.n * (d.k + d.n),
        _cell_jax,
        _cell_torch,
    ),
    gradient_row(
        "grad-lstm",
        "gradients of an LSTM over 20 steps, batch 64, 256 states",
        {"t": 20, "b": 64, "k": 256, "n": 256},
        {"t": 3, "b": 3, "k": 4, "n": 5},
        _lstm_arguments,
        lstm,
        lambda d: 24 * d.t * d.b * d.n * (d.k + d.n),
        _lstm_jax,
        _lstm_torch,
    ),
    gradient_row(
        "grad-encoder-layer",
        "gradients of an encoder layer (8, 128, 512), 8 heads",
        {"b": 8, "t": 128, "f": 512, "g": 2048},
        {"b": 2, "t": 5, "f": 16, "g": 24},
        networks._encoder_arguments,
        encoder_layer,
        lambda d: 3 * networks._encoder_operations(d),
        _encoder_jax,
        _encoder_torch,
    ),
    gradient_row(
        "grad-conv-net",
        "gradients of a small convolutional net, 64 images of 3 x 32 x 32",
        {"n": 64, "c": 32, "s": 32},
        {"n": 2, "c": 3, "s": 8},
        _conv_arguments,
        conv_net,
        lambda d: 6 * d.n * d.c * 27 * (d.s - 2) ** 2,
        _conv_jax,
        _conv_torch,
    ),
]
