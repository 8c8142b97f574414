"""Convolutions of 3 x 3 with a border of zeros, channels first and last."""

from __future__ import annotations

import numpy as np
from nestor import nn
from numpy.lib.stride_tricks import sliding_window_view

from .row import Row, normal, weights


def conv(x, w):
    return nn.conv2d(x, w, padding=1)


def conv_last(x, w):
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(x, (3, 3), (1, 2))
    return np.tensordot(windows, w, ((4, 5, 3), (0, 1, 2)))


def _conv_numba(nb):
    @nb.njit(parallel=True, fastmath={"contract"})
    def kernel(out, x, w):
        n, channels, height, width = x.shape
        outputs = w.shape[0]
        for plane in nb.prange(n * outputs):
            b, k = plane // outputs, plane % outputs
            out[b, k] = 0
            for c in range(channels):
                for i in range(height):
                    for u in range(max(0, 1 - i), min(3, height + 1 - i)):
                        left, middle, right = w[k, c, u, 0], w[k, c, u, 1], w[k, c, u, 2]
                        line, source = out[b, k, i], x[b, c, i + u - 1]
                        line[0] += middle * source[0] + right * source[1]
                        for j in range(1, width - 1):
                            line[j] += left * source[j - 1] + middle * source[j] + right * source[j + 1]
                        line[width - 1] += left * source[width - 2] + middle * source[width - 1]

    return kernel


def _conv_last_numba(nb):
    @nb.njit(parallel=True, fastmath={"contract"})
    def kernel(out, x, w):
        n, height, width, channels = x.shape
        outputs = w.shape[3]
        for line in nb.prange(n * height):
            b, i = line // height, line % height
            out[b, i] = 0
            for u in range(max(0, 1 - i), min(3, height + 1 - i)):
                for j in range(width):
                    for v in range(max(0, 1 - j), min(3, width + 1 - j)):
                        for c in range(channels):
                            e = x[b, i + u - 1, j + v - 1, c]
                            for k in range(outputs):
                                out[b, i, j, k] += e * w[u, v, c, k]

    return kernel


def _conv_jax(layouts):
    def make(jax, jnp):
        return lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layouts)

    return make


def _conv_torch(torch):
    return lambda x, w: torch.nn.functional.conv2d(x, w, padding=1)


def _conv_last_torch(torch):
    def conv2d(x, w):
        planes = x.permute(0, 3, 1, 2)  # in memory: channels last
        filters = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        return torch.nn.functional.conv2d(planes, filters, padding=1).permute(0, 2, 3, 1)

    return conv2d


def _conv_halide(hl, d, x, w):
    i, j, k, b = (hl.Var() for _ in range(4))
    r = hl.RDom([(0, 3), (0, 3), (0, d.c)])
    padded, total, out = hl.Func("padded"), hl.Func("total"), hl.Func("out")
    inside = (i >= 0) & (i < d.w) & (j >= 0) & (j < d.h)
    column, line = hl.clamp(i, 0, d.w - 1), hl.clamp(j, 0, d.h - 1)
    padded[i, j, k, b] = hl.select(inside, x[column, line, k, b], hl.f32(0))
    total[i, j, k, b] = hl.f32(0)
    total[i, j, k, b] += padded[i + r.x - 1, j + r.y - 1, r.z, b] * w[r.x, r.y, r.z, k]
    out[i, j, k, b] = total[i, j, k, b]
    if d.w % 8 == 0 and d.k % 8 == 0:
        oi, ii, ok, ik, task = (hl.Var() for _ in range(5))
        out.split(i, oi, ii, 28).split(k, ok, ik, 8).reorder(ii, ik, oi, j, ok, b)
        out.vectorize(ii, 14).unroll(ii).unroll(ik).fuse(ok, b, task).parallel(task)
        total.compute_at(out, oi).vectorize(i, 14).unroll(i).unroll(k)
        total.update().reorder(i, k, r.x, r.y, r.z).vectorize(i, 14).unroll(i).unroll(k)
        padded.compute_root().vectorize(i, 16).parallel(b)
    return [out]


def _conv_last_halide(hl, d, x, w):
    k, i, j, b = (hl.Var() for _ in range(4))
    r = hl.RDom([(0, d.c), (0, 3), (0, 3)])
    padded, total, out = hl.Func("padded"), hl.Func("total"), hl.Func("out")
    inside = (i >= 0) & (i < d.w) & (j >= 0) & (j < d.h)
    column, line = hl.clamp(i, 0, d.w - 1), hl.clamp(j, 0, d.h - 1)
    padded[k, i, j, b] = hl.select(inside, x[k, column, line, b], hl.f32(0))
    total[k, i, j, b] = hl.f32(0)
    total[k, i, j, b] += padded[r.x, i + r.y - 1, j + r.z - 1, b] * w[k, r.x, r.y, r.z]
    out[k, i, j, b] = total[k, i, j, b]
    if d.k % 32 == 0 and d.w % 7 == 0:
        ok, ik, oi, ii, task = (hl.Var() for _ in range(5))
        out.split(k, ok, ik, 32).split(i, oi, ii, 7).reorder(ik, ii, oi, ok, j, b)
        out.vectorize(ik, 16).unroll(ik).unroll(ii).fuse(j, b, task).parallel(task, 14)
        total.compute_at(out, oi).vectorize(k, 16).unroll(k).unroll(i)
        total.update().reorder(k, i, r.x, r.y, r.z).vectorize(k, 16).unroll(k).unroll(i)
        padded.compute_root().vectorize(k, 16).parallel(b)
    return [out]


IMAGES = {"n": 8, "c": 64, "k": 64, "h": 56, "w": 56}
SMALL = {"n": 2, "c": 3, "k": 5, "h": 6, "w": 7}


def _operations(d):
    return 2 * 9 * d.n * d.c * d.k * d.h * d.w


ROWS = [
    Row(
        "conv-nchw",
        "conv 3 x 3, (8, 64, 56, 56) to 64 channels, NCHW",
        IMAGES,
        SMALL,
        lambda rng, d: [
            normal(rng, d.n, d.c, d.h, d.w),
            weights(rng, 9 * d.c, d.k).T.reshape(d.k, d.c, 3, 3).copy(),
        ],
        lambda d: [((d.n, d.k, d.h, d.w), "f4")],
        conv,
        _operations,
        {
            "numba": _conv_numba,
            "jax": _conv_jax(("NCHW", "OIHW", "NCHW")),
            "torch": _conv_torch,
            "halide": _conv_halide,
            "onnxruntime": "r0 = Conv<pads = [1, 1, 1, 1]>(x, w)",
        },
        tolerance=1e-4,
    ),
    Row(
        "conv-nhwc",
        "conv 3 x 3, (8, 56, 56, 64) to 64 channels, NHWC",
        IMAGES,
        SMALL,
        lambda rng, d: [normal(rng, d.n, d.h, d.w, d.c), weights(rng, 9 * d.c, d.k).reshape(3, 3, d.c, d.k)],
        lambda d: [((d.n, d.h, d.w, d.k), "f4")],
        conv_last,
        _operations,
        {
            "numba": _conv_last_numba,
            "jax": _conv_jax(("NHWC", "HWIO", "NHWC")),
            "torch": _conv_last_torch,
            "halide": _conv_last_halide,
            "onnxruntime": """
                planes = Transpose<perm = [0, 3, 1, 2]>(x)  filters = Transpose<perm = [3, 2, 0, 1]>(w)
                y = Conv<pads = [1, 1, 1, 1]>(planes, filters)  r0 = Transpose<perm = [0, 2, 3, 1]>(y)""",
        },
        tolerance=1e-4,
    ),
]
