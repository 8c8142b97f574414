"""Elementwise programs: boxes, gates, normalisation by known statistics, an activation with bias and residual."""

from __future__ import annotations

import math

import numpy as np
from nestor import nn

from .row import STREAMS, Row, normal, uniform


def ratio_iou(x1, y1, w1, h1, x2, y2, w2, h2, eps=1e-5):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.clip(np.minimum(x1 + w1, x2 + w2) - xi, 0, None)
    hi = np.clip(np.minimum(y1 + h1, y2 + h2) - yi, 0, None)
    area_i = wi * hi
    area_u = w1 * h1 + w2 * h2 - wi * hi
    return area_i / np.maximum(area_u, eps)


def _boxes(rng, d):
    shape = tuple(vars(d).values())
    return [uniform(rng, *shape) * np.float32(scale) for scale in (1, 1, 0.5, 0.5) * 2]


def _iou_numba(nb):
    @nb.njit(parallel=True, error_model="numpy")
    def flat(out, x1, y1, w1, h1, x2, y2, w2, h2):
        for i in nb.prange(out.size):
            xi = max(x1[i], x2[i])
            yi = max(y1[i], y2[i])
            wi = max(min(x1[i] + w1[i], x2[i] + w2[i]) - xi, np.float32(0))
            hi = max(min(y1[i] + h1[i], y2[i] + h2[i]) - yi, np.float32(0))
            inter = wi * hi
            union = w1[i] * h1[i] + w2[i] * h2[i] - inter
            out[i] = inter / max(union, np.float32(1e-5))

    def kernel(out, *arrays):
        flat(out.reshape(-1), *[a.reshape(-1) for a in arrays])

    return kernel


def _iou_torch(torch):
    def iou(x1, y1, w1, h1, x2, y2, w2, h2):
        wi = torch.clamp(torch.minimum(x1 + w1, x2 + w2) - torch.maximum(x1, x2), min=0)
        hi = torch.clamp(torch.minimum(y1 + h1, y2 + h2) - torch.maximum(y1, y2), min=0)
        inter = wi * hi
        return inter / torch.clamp(w1 * h1 + w2 * h2 - inter, min=1e-5)

    return iou


def _iou_jax(jax, jnp):
    def iou(x1, y1, w1, h1, x2, y2, w2, h2):
        wi = jnp.maximum(jnp.minimum(x1 + w1, x2 + w2) - jnp.maximum(x1, x2), 0)
        hi = jnp.maximum(jnp.minimum(y1 + h1, y2 + h2) - jnp.maximum(y1, y2), 0)
        inter = wi * hi
        return inter / jnp.maximum(w1 * h1 + w2 * h2 - inter, 1e-5)

    return iou


def _iou_halide(hl, d, *boxes):
    variables = [hl.Var() for _ in vars(d)]
    x1, y1, w1, h1, x2, y2, w2, h2 = (b[tuple(variables)] for b in boxes)
    zero = hl.f32(0)
    wi = hl.max(hl.min(x1 + w1, x2 + w2) - hl.max(x1, x2), zero)
    hi = hl.max(hl.min(y1 + h1, y2 + h2) - hl.max(y1, y2), zero)
    out = hl.Func("iou")
    out[tuple(variables)] = wi * hi / hl.max(w1 * h1 + w2 * h2 - wi * hi, hl.f32(1e-5))
    if len(variables) == 1:
        block, inner = hl.Var(), hl.Var()
        out.split(variables[0], block, inner, 1 << 16).vectorize(inner, 16).parallel(block)
    else:
        out.vectorize(variables[0], 16).parallel(variables[1], max(1, d.n // 2))
    return [out]


IOU_PEERS = {
    "numexpr": "where({w}>0, {w}, 0) * where({h}>0, {h}, 0) / where({u}>tiny, {u}, tiny)".format(
        w="(where(x1+w1<x2+w2, x1+w1, x2+w2) - where(x1>x2, x1, x2))",
        h="(where(y1+h1<y2+h2, y1+h1, y2+h2) - where(y1>y2, y1, y2))",
        u="(w1*h1 + w2*h2 - where({w}>0, {w}, 0) * where({h}>0, {h}, 0))".format(
            w="(where(x1+w1<x2+w2, x1+w1, x2+w2) - where(x1>x2, x1, x2))",
            h="(where(y1+h1<y2+h2, y1+h1, y2+h2) - where(y1>y2, y1, y2))",
        ),
    ),
    "numba": _iou_numba,
    "jax": _iou_jax,
    "torch": _iou_torch,
    "halide": _iou_halide,
    "onnxruntime": """
        zero = Constant<value = float {0.0}>()  eps = Constant<value = float {0.00001}>()
        a = Add(x1, w1)  b = Add(x2, w2)  c = Min(a, b)  xi = Max(x1, x2)  wd = Sub(c, xi)  wi = Max(wd, zero)
        e = Add(y1, h1)  f = Add(y2, h2)  g = Min(e, f)  yi = Max(y1, y2)  hd = Sub(g, yi)  hi = Max(hd, zero)
        inter = Mul(wi, hi)  s1 = Mul(w1, h1)  s2 = Mul(w2, h2)  s = Add(s1, s2)  u = Sub(s, inter)
        v = Max(u, eps)  r0 = Div(inter, v)""",
}


def lstm_pointwise(gates, c):
    n = c.shape[-1]
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def numba_gates(nb):
    """The gates of an LSTM, for numba: states into `h_out` and `c_out`."""

    @nb.njit
    def sigmoid(x):
        return np.float32(1) / (np.float32(1) + math.exp(-x))

    @nb.njit(parallel=True, error_model="numpy")
    def kernel(h_out, c_out, gates, c):
        rows, n = c.shape
        for r in nb.prange(rows):
            for k in range(n):
                i, f = sigmoid(gates[r, k]), sigmoid(gates[r, n + k])
                o = sigmoid(gates[r, 3 * n + k])
                new = f * c[r, k] + i * math.tanh(gates[r, 2 * n + k])
                c_out[r, k] = new
                h_out[r, k] = o * math.tanh(new)

    return kernel


def _gates_torch(torch):
    def gates(g, c):
        i, f, z, o = torch.chunk(g, 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(z)
        return torch.sigmoid(o) * torch.tanh(c), c

    return gates


def _gates_jax(jax, jnp):
    def gates(g, c):
        i, f, z, o = jnp.split(g, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(z)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    return gates


def _gates_halide(hl, d, gates, c):
    x, y = hl.Var(), hl.Var()

    def sigmoid(e):
        return hl.f32(1) / (hl.f32(1) + hl.exp(-e))

    def tanh(e):
        return hl.f32(2) * sigmoid(hl.f32(2) * e) - hl.f32(1)

    i, f, z, o = (gates[x + k * d.n, y] for k in range(4))
    new = sigmoid(f) * c[x, y] + sigmoid(i) * tanh(z)
    out = hl.Func("gates")
    out[x, y] = (sigmoid(o) * tanh(new), new)
    out.vectorize(x, 16).parallel(y, max(1, d.rows // 2))
    return [out]


GATES_ONNX = """
        i, f, z, o = Split<axis = 1, num_outputs = 4>(gates)
        si = Sigmoid(i)  sf = Sigmoid(f)  tz = Tanh(z)  so = Sigmoid(o)
        kept = Mul(sf, c)  taken = Mul(si, tz)  r1 = Add(kept, taken)  tc = Tanh(r1)  r0 = Mul(so, tc)"""


def batch_norm(x, mean, var, weight, bias):
    return nn.batch_norm(x, mean, var, weight, bias)


def batch_norm_last(x, mean, var, weight, bias):
    return nn.batch_norm(x, mean, var, weight, bias, axis=-1)


def image(d, last):
    """The shape of a batch of images, channels first or last."""
    return (d.n, d.h, d.w, d.c) if last else (d.n, d.c, d.h, d.w)


def _statistics(rng, d, last):
    c = d.c
    vectors = normal(rng, c), uniform(rng, c) + np.float32(0.5), uniform(rng, c), normal(rng, c)
    return [normal(rng, *image(d, last)), *vectors]


def _norm_numba(nb):
    @nb.njit(parallel=True, error_model="numpy")
    def kernel(out, x, mean, var, weight, bias):
        n, c, h, w = x.shape
        for plane in nb.prange(n * c):
            b, k = plane // c, plane % c
            scale = weight[k] / math.sqrt(var[k] + np.float32(1e-5))
            shift = bias[k] - mean[k] * scale
            for i in range(h):
                for j in range(w):
                    out[b, k, i, j] = x[b, k, i, j] * scale + shift

    return kernel


def _norm_last_numba(nb):
    @nb.njit(parallel=True, error_model="numpy")
    def flat(out, x, mean, var, weight, bias):
        scale = weight / np.sqrt(var + np.float32(1e-5))
        shift = bias - mean * scale
        for i in nb.prange(x.shape[0]):
            for k in range(x.shape[1]):
                out[i, k] = x[i, k] * scale[k] + shift[k]

    def kernel(out, x, *vectors):
        flat(out.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1]), *vectors)

    return kernel


def _norm_torch(torch):
    def norm(x, mean, var, weight, bias):
        return torch.nn.functional.batch_norm(x, mean, var, weight, bias, False, 0.0, 1e-5)

    return norm


def _norm_last_torch(torch):
    def norm(x, mean, var, weight, bias):
        planes = x.permute(0, 3, 1, 2)  # in memory: channels last
        out = torch.nn.functional.batch_norm(planes, mean, var, weight, bias, False, 0.0, 1e-5)
        return out.permute(0, 2, 3, 1)

    return norm


def _norm_jax(shape):
    def make(jax, jnp):
        def norm(x, mean, var, weight, bias):
            scale = weight * jax.lax.rsqrt(var + 1e-5)
            return x * scale.reshape(shape) + (bias - mean * scale).reshape(shape)

        return norm

    return make


def _norm_halide(last):
    def make(hl, d, x, mean, var, weight, bias):
        i, j, k, b = hl.Var(), hl.Var(), hl.Var(), hl.Var()
        indices = (k, i, j, b) if last else (i, j, k, b)
        scale, out = hl.Func("scale"), hl.Func("norm")
        scale[k] = weight[k] / hl.sqrt(var[k] + hl.f32(1e-5))
        out[indices] = x[indices] * scale[k] + (bias[k] - mean[k] * scale[k])
        scale.compute_root()
        out.vectorize(indices[0], 16).fuse(indices[2], indices[3], indices[3]).parallel(indices[3], 28)
        return [out]

    return make


NORM_ONNX = "r0 = BatchNormalization<epsilon = 0.00001>(x, weight, bias, mean, var)"
NORM_LAST_ONNX = """
        eps = Constant<value = float {0.00001}>()  v = Add(var, eps)  root = Sqrt(v)  scale = Div(weight, root)
        moved = Mul(mean, scale)  shift = Sub(bias, moved)  scaled = Mul(x, scale)  r0 = Add(scaled, shift)"""


def gelu_bias_residual(x, bias, residual):
    return nn.gelu(x + bias) + residual


def _gelu_numba(nb):
    @nb.njit(parallel=True, error_model="numpy")
    def kernel(out, x, bias, residual):
        half, root = np.float32(0.5), np.float32(0.7071067811865476)
        for i in nb.prange(x.shape[0]):
            for j in range(x.shape[1]):
                y = x[i, j] + bias[j]
                out[i, j] = half * y * (np.float32(1) + math.erf(y * root)) + residual[i, j]

    return kernel


def _gelu_halide(hl, d, x, bias, residual):
    i, j = hl.Var(), hl.Var()
    y = x[i, j] + bias[i]
    out = hl.Func("gelu")
    out[i, j] = hl.f32(0.5) * y * (hl.f32(1) + hl.erf(y * hl.f32(0.7071067811865476))) + residual[i, j]
    out.vectorize(i, 16).parallel(j, 16)
    return [out]


def _square(d):
    return [((d.n, d.n), "f4")]


IMAGES = {"n": 32, "c": 64, "h": 56, "w": 56}
SMALL_IMAGES = {"n": 2, "c": 3, "h": 5, "w": 7}

ROWS = [
    Row(
        "iou-small",
        "IoU, 8 x (100, 1000)",
        {"n": 100, "m": 1000},
        {"n": 7, "m": 33},
        _boxes,
        lambda d: [((d.n, d.m), "f4")],
        ratio_iou,
        lambda d: 19 * d.n * d.m,
        IOU_PEERS,
        of_roof=STREAMS,
    ),
    Row(
        "iou-10m",
        "IoU, 8 x 10M",
        {"n": 10_000_000},
        {"n": 1003},
        _boxes,
        lambda d: [((d.n,), "f4")],
        ratio_iou,
        lambda d: 19 * d.n,
        IOU_PEERS,
        of_roof=STREAMS,
    ),
    Row(
        "lstm-pointwise",
        "LSTM cell (64, 512), its pointwise part",
        {"rows": 64, "n": 512},
        {"rows": 3, "n": 21},
        lambda rng, d: [normal(rng, d.rows, 4 * d.n), normal(rng, d.rows, d.n)],
        lambda d: [((d.rows, d.n), "f4")] * 2,
        lstm_pointwise,
        lambda d: 25 * d.rows * d.n,
        {
            "numba": numba_gates,
            "jax": _gates_jax,
            "torch": _gates_torch,
            "halide": _gates_halide,
            "onnxruntime": GATES_ONNX,
        },
    ),
    Row(
        "batch-norm-nchw",
        "batch norm, inference, (32, 64, 56, 56) NCHW",
        IMAGES,
        SMALL_IMAGES,
        lambda rng, d: _statistics(rng, d, False),
        lambda d: [(image(d, False), "f4")],
        batch_norm,
        lambda d: 2 * d.n * d.c * d.h * d.w,
        {
            "numba": _norm_numba,
            "jax": _norm_jax((1, -1, 1, 1)),
            "torch": _norm_torch,
            "halide": _norm_halide(False),
            "onnxruntime": NORM_ONNX,
        },
        of_roof=STREAMS,
    ),
    Row(
        "batch-norm-nhwc",
        "batch norm, inference, (32, 56, 56, 64) NHWC",
        IMAGES,
        SMALL_IMAGES,
        lambda rng, d: _statistics(rng, d, True),
        lambda d: [(image(d, True), "f4")],
        batch_norm_last,
        lambda d: 2 * d.n * d.c * d.h * d.w,
        {
            "numexpr": "(x - mean) / sqrt(var + tiny) * weight + bias",
            "numba": _norm_last_numba,
            "jax": _norm_jax((-1,)),
            "torch": _norm_last_torch,
            "halide": _norm_halide(True),
            "onnxruntime": NORM_LAST_ONNX,
        },
        of_roof=STREAMS,
    ),
    Row(
        "gelu",
        "gelu(x + bias) + residual, 4096 x 4096",
        {"n": 4096},
        {"n": 37},
        lambda rng, d: [normal(rng, d.n, d.n), normal(rng, d.n), normal(rng, d.n, d.n)],
        _square,
        gelu_bias_residual,
        lambda d: 25 * d.n * d.n,
        {
            "numba": _gelu_numba,
            "jax": lambda jax, jnp: (
                lambda x, bias, residual: jax.nn.gelu(x + bias, approximate=False) + residual
            ),
            "torch": lambda torch: lambda x, bias, residual: torch.nn.functional.gelu(x + bias) + residual,
            "halide": _gelu_halide,
            "onnxruntime": "y = Add(x, bias)  g = Gelu(y)  r0 = Add(g, residual)",
        },
        of_roof=STREAMS,
    ),
]
