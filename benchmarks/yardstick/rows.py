"""Programs on whole rows: softmax, layer norm, and batch norm with the statistics of the batch."""

from __future__ import annotations

import math

import numpy as np
from nestor import nn

from .pointwise import IMAGES, SMALL_IMAGES, image
from .row import Row, normal

REORDERED = {"reassoc", "contract"}
"""What numba needs to make vectors of a sum; Nestor's sums have any order as well."""


def softmax(x):
    return nn.softmax(x)


def log_softmax(x):
    return nn.log_softmax(x)


def _softmax_numba(logarithm):
    def make(nb):
        @nb.njit(parallel=True, error_model="numpy", fastmath=REORDERED)
        def kernel(out, x):
            for i in nb.prange(x.shape[0]):
                row = x[i]
                largest = row[0]
                for j in range(row.size):
                    largest = max(largest, row[j])
                total = np.float32(0)
                for j in range(row.size):
                    e = math.exp(row[j] - largest)
                    total += e
                    if not logarithm:
                        out[i, j] = e
                if logarithm:
                    shift = largest + math.log(total)
                    for j in range(row.size):
                        out[i, j] = row[j] - shift
                else:
                    scale = np.float32(1) / total
                    for j in range(row.size):
                        out[i, j] *= scale

        return kernel

    return make


def _softmax_halide(logarithm):
    def make(hl, d, x):
        i, j, r = hl.Var(), hl.Var(), hl.RDom([(0, d.m)])
        largest, power, total, out = (hl.Func(n) for n in ("largest", "power", "total", "out"))
        largest[j] = hl.f32(-3.4e38)
        largest[j] = hl.max(largest[j], x[r, j])
        power[i, j] = hl.exp(x[i, j] - largest[j])
        total[j] = hl.f32(0)
        total[j] += power[r, j]
        if logarithm:
            out[i, j] = x[i, j] - largest[j] - hl.log(total[j])
        else:
            out[i, j] = power[i, j] / total[j]
        out.vectorize(i, 16).parallel(j, 16)
        for function in (largest, total):
            lanes, u = hl.RVar(), hl.Var()
            function.compute_at(out, j)
            if d.m % 16 == 0:
                outer = hl.RVar()
                partial = function.update().split(r.x, outer, lanes, 16).rfactor(lanes, u)
                partial.compute_at(out, j).vectorize(u).update().vectorize(u)
                function.update().atomic().vectorize(lanes)
        power.compute_at(out, j).vectorize(i, 16)
        return [out]

    return make


def layer_norm(x, weight, bias):
    return nn.layer_norm(x, weight, bias)


def _layer_norm_numba(nb):
    @nb.njit(parallel=True, error_model="numpy", fastmath=REORDERED)
    def kernel(out, x, weight, bias):
        m = x.shape[1]
        for i in nb.prange(x.shape[0]):
            row = x[i]
            total = np.float32(0)
            for j in range(m):
                total += row[j]
            mean = total / np.float32(m)
            squares = np.float32(0)
            for j in range(m):
                squares += (row[j] - mean) * (row[j] - mean)
            scale = np.float32(1) / math.sqrt(squares / np.float32(m) + np.float32(1e-5))
            for j in range(m):
                out[i, j] = (row[j] - mean) * scale * weight[j] + bias[j]

    return kernel


def _layer_norm_jax(jax, jnp):
    def norm(x, weight, bias):
        centred = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(centred * centred, -1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * weight + bias

    return norm


def _layer_norm_torch(torch):
    return lambda x, weight, bias: torch.nn.functional.layer_norm(x, weight.shape, weight, bias)


def _layer_norm_halide(hl, d, x, weight, bias):
    i, j, r = hl.Var(), hl.Var(), hl.RDom([(0, d.m)])
    total, squares, out = (hl.Func(n) for n in ("total", "squares", "out"))
    total[j] = hl.f32(0)
    total[j] += x[r, j]
    mean = total[j] / hl.f32(d.m)
    squares[j] = hl.f32(0)
    squares[j] += (x[r, j] - mean) * (x[r, j] - mean)
    scale = hl.f32(1) / hl.sqrt(squares[j] / hl.f32(d.m) + hl.f32(1e-5))
    out[i, j] = (x[i, j] - mean) * scale * weight[i] + bias[i]
    out.vectorize(i, 16).parallel(j, 16)
    for function in (total, squares):
        function.compute_at(out, j)
        if d.m % 16 == 0:
            outer, lanes, u = hl.RVar(), hl.RVar(), hl.Var()
            partial = function.update().split(r.x, outer, lanes, 16).rfactor(lanes, u)
            partial.compute_at(out, j).vectorize(u).update().vectorize(u)
            function.update().atomic().vectorize(lanes)
    return [out]


def batch_norm_training(x, weight, bias):
    return nn.batch_norm_training(x, weight, bias)


def batch_norm_training_last(x, weight, bias):
    return nn.batch_norm_training(x, weight, bias, axis=-1)


def _training_numba(nb):
    @nb.njit(parallel=True, error_model="numpy", fastmath=REORDERED)
    def kernel(out, mean, var, x, weight, bias):
        n, c, h, w = x.shape
        count = np.float32(n * h * w)
        for k in nb.prange(c):
            total = np.float32(0)
            for b in range(n):
                part = np.float32(0)
                for i in range(h):
                    for j in range(w):
                        part += x[b, k, i, j]
                total += part
            centre = total / count
            squares = np.float32(0)
            for b in range(n):
                part = np.float32(0)
                for i in range(h):
                    for j in range(w):
                        part += (x[b, k, i, j] - centre) * (x[b, k, i, j] - centre)
                squares += part
            mean[k], var[k] = centre, squares / count
            scale = weight[k] / math.sqrt(var[k] + np.float32(1e-5))
            shift = bias[k] - centre * scale
            for b in range(n):
                for i in range(h):
                    for j in range(w):
                        out[b, k, i, j] = x[b, k, i, j] * scale + shift

    return kernel


def _training_last_numba(nb):
    @nb.njit(parallel=True, error_model="numpy", fastmath=REORDERED)
    def flat(out, mean, var, x, weight, bias):
        rows, c = x.shape
        parts = 64
        size = (rows + parts - 1) // parts
        sums = np.zeros((parts, c), np.float32)
        for p in nb.prange(parts):
            for i in range(p * size, min(rows, (p + 1) * size)):
                for k in range(c):
                    sums[p, k] += x[i, k]
        mean[:] = sums.sum(0) / np.float32(rows)
        sums[:] = 0
        for p in nb.prange(parts):
            for i in range(p * size, min(rows, (p + 1) * size)):
                for k in range(c):
                    sums[p, k] += (x[i, k] - mean[k]) * (x[i, k] - mean[k])
        var[:] = sums.sum(0) / np.float32(rows)
        scale = weight / np.sqrt(var + np.float32(1e-5))
        shift = bias - mean * scale
        for i in nb.prange(rows):
            for k in range(c):
                out[i, k] = x[i, k] * scale[k] + shift[k]

    def kernel(out, mean, var, x, weight, bias):
        flat(out.reshape(-1, x.shape[-1]), mean, var, x.reshape(-1, x.shape[-1]), weight, bias)

    return kernel


def _training_torch(last):
    def make(torch):
        def norm(x, weight, bias):
            planes = x.permute(0, 3, 1, 2) if last else x  # in memory: channels last
            out, mean, root = torch.native_batch_norm(planes, weight, bias, None, None, True, 0.0, 1e-5)
            return out.permute(0, 2, 3, 1) if last else out, mean, 1 / (root * root) - 1e-5

        return norm

    return make


def _training_jax(axes, shape):
    def make(jax, jnp):
        def norm(x, weight, bias):
            mean = jnp.mean(x, axes)
            centred = x - mean.reshape(shape)
            var = jnp.mean(centred * centred, axes)
            scale = weight * jax.lax.rsqrt(var + 1e-5)
            return centred * scale.reshape(shape) + bias.reshape(shape), mean, var

        return norm

    return make


def _training_onnx(axes, shape):
    return f"""
        axes = Constant<value = int64[3] {{{axes}}}>()  shape = Constant<value = int64[4] {{{shape}}}>()
        eps = Constant<value = float {{0.00001}}>()
        wide = ReduceMean<keepdims = 1>(x, axes)  centred = Sub(x, wide)  squares = Mul(centred, centred)
        v = ReduceMean<keepdims = 1>(squares, axes)  safe = Add(v, eps)  root = Sqrt(safe)
        w = Reshape(weight, shape)  b = Reshape(bias, shape)  scale = Div(w, root)
        scaled = Mul(centred, scale)  r0 = Add(scaled, b)
        r1 = Squeeze(wide, axes)  r2 = Squeeze(v, axes)"""


def _matrix(rng, d):
    return [normal(rng, d.n, d.m)]


def _same(d):
    return [((d.n, d.m), "f4")]


def _images(rng, d, last):
    return [normal(rng, *image(d, last)), normal(rng, d.c), normal(rng, d.c)]


def _with_statistics(d, last):
    return [(image(d, last), "f4"), ((d.c,), "f4"), ((d.c,), "f4")]


MATRIX = {"n": 4096, "m": 1024}
SMALL = {"n": 5, "m": 37}

ROWS = [
    Row(
        "softmax",
        "softmax of rows, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        _same,
        softmax,
        lambda d: 17 * d.n * d.m,
        {
            "numba": _softmax_numba(False),
            "jax": lambda jax, jnp: lambda x: jax.nn.softmax(x, -1),
            "torch": lambda torch: lambda x: torch.softmax(x, -1),
            "torch-out": lambda torch: lambda out, x: torch.softmax(x, -1, out=out),
            "halide": _softmax_halide(False),
            "onnxruntime": "r0 = Softmax<axis = -1>(x)",
        },
    ),
    Row(
        "log-softmax",
        "log_softmax of rows, 4096 x 1024",
        MATRIX,
        SMALL,
        _matrix,
        _same,
        log_softmax,
        lambda d: 17 * d.n * d.m,
        {
            "numba": _softmax_numba(True),
            "jax": lambda jax, jnp: lambda x: jax.nn.log_softmax(x, -1),
            "torch": lambda torch: lambda x: torch.log_softmax(x, -1),
            "torch-out": lambda torch: lambda out, x: torch.ops.aten._log_softmax.out(x, -1, False, out=out),
            "halide": _softmax_halide(True),
            "onnxruntime": "r0 = LogSoftmax<axis = -1>(x)",
        },
    ),
    Row(
        "layer-norm",
        "layer norm of rows, 4096 x 1024",
        MATRIX,
        SMALL,
        lambda rng, d: [normal(rng, d.n, d.m), normal(rng, d.m), normal(rng, d.m)],
        _same,
        layer_norm,
        lambda d: 8 * d.n * d.m,
        {
            "numba": _layer_norm_numba,
            "jax": _layer_norm_jax,
            "torch": _layer_norm_torch,
            "halide": _layer_norm_halide,
            "onnxruntime": "r0 = LayerNormalization<axis = -1, epsilon = 0.00001>(x, weight, bias)",
        },
    ),
    Row(
        "batch-norm-training-nchw",
        "batch norm, training, (32, 64, 56, 56) NCHW",
        IMAGES,
        SMALL_IMAGES,
        lambda rng, d: _images(rng, d, False),
        lambda d: _with_statistics(d, False),
        batch_norm_training,
        lambda d: 6 * d.n * d.c * d.h * d.w,
        {
            "numba": _training_numba,
            "jax": _training_jax((0, 2, 3), (1, -1, 1, 1)),
            "torch": _training_torch(False),
            "onnxruntime": _training_onnx("0, 2, 3", "1, -1, 1, 1"),
        },
        tolerance=1e-4,  # the means are near 0
    ),
    Row(
        "batch-norm-training-nhwc",
        "batch norm, training, (32, 56, 56, 64) NHWC",
        IMAGES,
        SMALL_IMAGES,
        lambda rng, d: _images(rng, d, True),
        lambda d: _with_statistics(d, True),
        batch_norm_training_last,
        lambda d: 6 * d.n * d.c * d.h * d.w,
        {
            "numba": _training_last_numba,
            "jax": _training_jax((0, 1, 2), (-1,)),
            "torch": _training_torch(True),
            "onnxruntime": _training_onnx("0, 1, 2", "1, 1, 1, -1"),
        },
        tolerance=1e-4,  # the means are near 0
    ),
]
