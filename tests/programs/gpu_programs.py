"""The programs of the GPU schedules: one table for the simulator, for NVRTC, and for a real GPU.

`test_gpu_programs.py` runs every call of every row on cuda-sim against NumPy, `test_nvrtc_programs.py` compiles all their
kernels for sm_80 and sm_90 and looks at their registers, `make test-gpu` runs them on the GPU of the machine.

A row is a plain NumPy function and the calls it is tested with. A call is a text, its arguments separated by semicolons:

    f32[33,65]              an array of normal numbers (integers: -20 to 20; bool: both)
    f32[33,65] strided      every second element along each axis of a larger array
    f32[33,65] reversed     negative strides along each axis
    f32[33,65] transposed   the transpose of a row-major array
    f32[33,65] shifted      row-major, from one element past an aligned address
    f32[33,65] positive     no number below 0.1
    f32[33,65] special      with NaNs, infinities, zeros of both signs and denormals among them
    i64[100] below 7        indices from 0 to 6
    i64[100] within 7       indices from -7 to 6
    3, 0.5                  a Python number

The first call of a row is the one that `make test` runs; it should be odd in every extent. All are run by `make test-all`,
with static extents and with unknown ones. `tolerance` bounds the error relative to each element, `absolute` that relative to
the largest one (sums whose terms cancel); 0 and 0 ask for equality. What floats of 16 bits may be off is FLOAT16 instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nestor import nn


@dataclass(frozen=True, eq=False)
class Program:
    """A row of the table."""

    name: str
    function: Callable[..., Any]
    calls: tuple[str, ...]
    tolerance: float = 0.0
    absolute: float = 0.0
    dynamic: bool = True
    """Whether it can be compiled for extents that are not known."""


FLOAT16 = {"float16": 4e-3, "bfloat16": 4e-2}

# ---- pointwise --------------------------------------------------------------------------------------


def iou(x1, y1, w1, h1, x2, y2, w2, h2):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
    area_i = wi * hi
    area_u = w1 * h1 + w2 * h2 - area_i
    return area_i / (area_u + 1e-5)


def dropped(x, key):
    return nn.dropout(x, 0.25, key)


def axpy(a, x, y):
    return a * x + y


def clipped(x):
    return np.where(np.isnan(x), 0, np.minimum(np.maximum(x, -1), 1))


def bias_and_scale(x, row, column):
    return (x + row) * column


def integer_mix(a, b):
    return (a * 3 + b) // 7 - (a % 5)


def gelu_bias_residual(x, bias, residual):
    h = x + bias
    return 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3))) + residual


def batch_norm_inference(x, mean, variance, weight, bias):
    mean, variance, weight, bias = (v[:, None, None] for v in (mean, variance, weight, bias))
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


def sum_and_difference(x, y):
    return x + y, (x - y) * 2


def every_second_column(x):
    return x[:, ::2] * 2


def backwards(x):
    return x[::-1, ::-1] + 1


def chosen(mask, x, y):
    return np.where(mask, x, y)


def gates(g, c):
    n = c.shape[-1]
    i, f, o = nn.sigmoid(g[:, :n]), nn.sigmoid(g[:, n : 2 * n]), nn.sigmoid(g[:, 3 * n :])
    c = f * c + i * np.tanh(g[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


POINTWISE = (
    Program(
        "iou",
        iou,
        (
            "; ".join(["f32[1021]"] * 8),
            "; ".join(["f32[7,45]"] * 8),
            "; ".join(["f32[7,45] strided"] * 4 + ["f32[7,45] reversed"] * 4),
            "; ".join(["f64[300]"] * 7 + ["f64[300] shifted"]),
            "; ".join(["f32[0]"] * 8),
            "; ".join(["f32[1]"] * 8),
            "; ".join(["f16[77,10] positive"] * 8),
        ),
        tolerance=1e-6,
    ),
    Program(
        "axpy",
        axpy,
        (
            "0.5; f32[1027]; f32[1027] shifted",
            "3; i32[131]; i32[131]",
            "0.5; f16[515]; f16[515]",
            "0.5; f64[33,5] reversed; f64[33,5] strided",
            "0.5; f32[2048]; f32[1]",
            "0.5; f32[0]; f32[0]",
        ),
    ),
    Program("dropout", dropped, ("f32[33,70]; 12345", "f64[5]; -7")),
    Program("axpy of bfloat16", axpy, ("0.5; bf16[515]; bf16[515]", "0.5; bf16[3,7] strided; bf16[7]")),
    Program(
        "clipped", clipped, ("f32[517] special", "f64[5,7] special", "f16[33] special", "f32[5,9] transposed")
    ),
    Program(
        "bias and scale",
        bias_and_scale,
        (
            "f32[33,67]; f32[67]; f32[33,1]",
            "f64[1,5]; f64[5]; f64[7,1]",
            "f32[0,4]; f32[4]; f32[0,1]",
            "f16[33,64]; f16[64]; f16[33,1]",
            "bf16[9,67]; bf16[67]; bf16[9,1]",
        ),
    ),
    Program(
        "integer mix",
        integer_mix,
        (
            "i32[259]; i32[259]",
            "i64[9,31]; i64[31]",
            "i8[77]; i8[77]",
            "ui8[77] strided; ui8[77]",
            "i16[259]; i16[259]",
            "ui16[77]; ui16[77]",
            "ui32[9,31]; ui32[31]",
            "ui64[33]; ui64[33]",
        ),
    ),
    Program(
        "large pointwise",
        clipped,
        (
            "f32[600001] special",
            "f32[1000,1000]",
            "f64[300001] shifted",
            "f16[600006]",
            "f32[700,1001] strided",
            "f32[4096,516] reversed",
        ),
    ),
    Program(
        "large bias and scale",
        bias_and_scale,
        (
            "f32[999,260]; f32[260]; f32[999,1]",
            "f32[9001,36]; f32[36]; f32[9001,1]",
            "f64[20001,6]; f64[6]; f64[20001,1]",
            "f32[4099,130] strided; f32[130]; f32[4099,1]",
            "f32[2,70000]; f32[70000]; f32[2,1] shifted",
        ),
    ),
    Program(
        "gelu with bias and residual",
        gelu_bias_residual,
        (
            "f32[65,36]; f32[36]; f32[65,36]",
            "f64[9,1]; f64[1]; f64[9,1]",
            "f32[2048,256]; f32[256]; f32[2048,256]",
            "f16[65,36]; f16[36]; f16[65,36]",
        ),
        tolerance=1e-5,
        absolute=1e-6,
    ),
    Program(
        "batch norm inference",
        batch_norm_inference,
        (
            "f32[3,5,7,9]; f32[5]; f32[5] positive; f32[5]; f32[5]",
            "f32[8,16,33,32]; f32[16]; f32[16] positive; f32[16]; f32[16]",
            "f64[1,1,3,1]; f64[1]; f64[1] positive; f64[1]; f64[1]",
        ),
        tolerance=1e-6,
    ),
    Program("two results", sum_and_difference, ("f32[33,17]; f32[33,17]", "i16[70000]; i16[70000]")),
    Program("strided view", every_second_column, ("f32[33,67]", "f64[5,1]", "i8[9,200] transposed")),
    Program("backwards", backwards, ("f32[33,67]", "i16[1,300]", "f64[7,0]")),
    Program(
        "chosen by a mask",
        chosen,
        (
            "bool[513]; f32[513]; f32[513]",
            "bool[9,1]; f64[9,33]; f64[33]",
            "bool[77]; bool[77]; bool[77]",
            "bool[513]; f16[513]; f16[513]",
            "bool[9,33]; i8[9,33]; i8[33]",
        ),
    ),
    Program(
        "gates", gates, ("f32[7,36]; f32[7,9]", "f32[64,1024]; f32[64,256]"), tolerance=1e-5, absolute=1e-6
    ),
)

# ---- transposes, concatenation, padding, gathers ----------------------------------------------------


def transposed(x):
    return np.ascontiguousarray(x.T)


def plus_transpose(x, y):
    return x + y.T


def joined(x, y):
    return np.concatenate([x, y * 2], axis=1)


def bordered(x):
    return np.pad(x, ((1, 2), (3, 0)))


def counted(b):
    counts = np.zeros(37, np.int32)
    for i in range(len(b)):
        counts[b[i]] += 1
    return counts


def counted_rows(b):
    counts = np.zeros((len(b), 20), np.int64)
    for r in range(len(b)):
        for i in range(b.shape[1]):
            counts[r, b[r, i]] += 1
    return counts


def marked(b, c):
    counts, bits = np.zeros(19, np.int64), np.zeros(5, np.int32)
    for i in range(len(b)):
        counts[b[i]] -= i
        bits[c[i]] |= 1 << (i % 29)
    return counts, bits


def added_at(y, at, v):
    y = y.copy()
    np.add.at(y, at, v)
    return y


def set_at(y, at, v):
    y = y.copy()
    y[at] = v
    return y


def updated_at(y, at, v):
    y = y.copy()
    y[at] += v
    return y


def embedding_gradient(w, at):
    """That of sum(w[at] ** 2)."""
    gradient = np.zeros_like(w)
    np.add.at(gradient, at, 2 * w[at])
    return gradient


def taken(x, rows):
    return x[rows]


def columns_taken(x, columns):
    return np.tanh(x[:, columns]) * 2


def taken_along(x, places):
    return np.take_along_axis(x, places, axis=1)


def picked(x, rows, columns):
    return x[rows, columns] + x[columns, rows]


def embedded(table, positions, words):
    x = table[words] + positions
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(1e-5))


def likelihood(x, labels):
    return -x[np.arange(x.shape[0]), labels].mean()


def permuted(x):
    return np.ascontiguousarray(x.transpose(2, 1, 0))


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def symmetric(x):
    return x + x.T


def stacked(x, y):
    return np.stack([x, y], axis=-1)


def rotated(x):
    half = x.shape[-1] // 2
    return np.concatenate([-x[:, half:], x[:, :half]], axis=-1)


def rolled(x):
    return np.roll(x, 3, axis=1)


def tiled(x):
    return np.tile(x, (2, 3))


def repeated(x):
    return np.repeat(x, 3, axis=1)


def bordered_by_zeros(x):
    y = x.copy()
    y[1:-1] = 0
    return y


def bordered_transpose(x):
    return np.pad(x.T, ((1, 2), (2, 1)))


def upper_triangle(x):
    return np.triu(x) + np.arange(x.shape[1])


LAYOUTS = (
    Program(
        "transpose",
        transposed,
        (
            "f32[65,47]",
            "f64[33,31]",
            "i8[129,35]",
            "f16[31,70]",
            "f32[1,77]",
            "f32[77,1]",
            "f32[0,5]",
            "bool[65,47]",
            "i16[33,129]",
            "i64[31,33]",
            "bf16[33,40]",
        ),
    ),
    Program(
        "plus transpose",
        plus_transpose,
        ("f32[45,37]; f32[37,45]", "f64[3,130] strided; f64[130,3] reversed"),
    ),
    Program(
        "concatenate",
        joined,
        (
            "f32[9,31]; f32[9,5]",
            "i32[3,1]; i32[3,40]",
            "f32[5,0]; f32[5,3]",
            "f16[9,32]; f16[9,8]",
            "ui8[5,33]; ui8[5,7]",
        ),
    ),
    Program(
        "pad",
        bordered,
        (
            "f32[17,29]",
            "f64[1,1]",
            "i16[5,64] reversed",
            "bool[17,29]",
            "f16[9,64]",
        ),
    ),
    Program(
        "gather",
        taken,
        (
            "f32[37,19]; i64[53] below 37",
            "f64[5,1]; i32[7] below 5",
            "f16[37,20]; i64[53] below 37",
            "bool[9,33]; i64[13] below 9",
        ),
    ),
    Program(
        "gather of columns",
        columns_taken,
        ("f32[19,37]; i64[53] within 37", "f64[5,3]; i32[2,7] within 3", "f16[9,64]; i8[33] within 64"),
        tolerance=3e-6,
    ),
    Program(
        "take along rows", taken_along, ("f32[33,7]; i64[33,5] within 7", "i8[5,70]; i32[5,70] within 70")
    ),
    Program(
        "elements of a matrix",
        picked,
        ("f32[37,37]; i64[53] within 37; i64[53] within 37", "f64[5,5]; i32[3,1] within 5; i16[7] within 5"),
    ),
    Program(
        "embedding and normalisation",
        embedded,
        (
            "f32[50,65]; f32[9,65]; i64[3,9] within 50",
            "f32[50,1100]; f32[7,1100]; i32[7] within 50",
            "f32[9,64]; f32[64]; i8[33] within 9",
        ),
        tolerance=1e-4,
        absolute=1e-5,
    ),
    Program(
        "likelihood of labels",
        likelihood,
        ("f32[131,7]; i64[131] within 7", "f64[33,70]; i32[33] below 70"),
        tolerance=1e-4,
        absolute=1e-5,
    ),
    Program(
        "histogram",
        counted,
        ("i64[1003] below 37", "ui8[300] below 7", "i32[1]", "i64[0] below 3", "i64[3000] within 1"),
    ),
    Program("histogram of each row", counted_rows, ("i64[5,203] below 7", "i32[1,900] below 3", "i8[40,3]")),
    Program(
        "histograms and bits",
        marked,
        ("i64[333] below 19; i32[333] below 5", "i32[70] below 19; i64[70] below 5"),
    ),
    Program(
        "sums at indices",
        added_at,
        (
            "f32[19]; i64[1003] within 19; f32[1003]",
            "f32[5]; i32[333] below 5; f32[333] special",
            "f64[7]; i64[333] within 7; f64[333] special",
            "f64[300]; i64[70] within 300; f64[70] strided",
            "i32[5]; i64[333] within 5; i32[333]",
            "f32[1]; i64[2000] within 1; f32[2000] reversed",
            "f16[5]; i64[99] within 5; f16[99]",
            "f32[4]; i64[0] within 4; f32[0]",
        ),
        tolerance=2e-5,
        absolute=1e-6,
    ),
    Program(
        "sums of rows at indices",
        added_at,
        ("f64[19,7]; i64[103] within 19; f64[103,7]", "f32[3,130]; i32[77] below 3; f32[77,130]"),
        tolerance=2e-5,
        absolute=1e-6,
    ),
    Program(
        "the last value at an index",
        set_at,
        (
            "f32[19]; i64[1003] within 19; f32[1003]",
            "f64[300,5]; i32[77] below 300; f64[77,5]",
            "bool[9]; i64[333] within 9; bool[333]",
            "f32[4]; i64[0] within 4; f32[0]",
        ),
    ),
    Program(
        "updates at indices of which the last stays",
        updated_at,
        ("f32[19]; i64[1003] within 19; f32[1003]", "f64[30,5]; i32[77] below 30; f64[77,5]"),
    ),
    Program(
        "gradient of an embedding",
        embedding_gradient,
        ("f32[19,33]; i64[103] within 19", "f64[5,64]; i32[9,13] below 5"),
        tolerance=2e-5,
        absolute=1e-6,
    ),
    Program("gather of long rows", taken, ("f32[40,64]; i64[3001] below 40", "i8[7,1000]; i32[700] below 7")),
    Program("reverse of the axes", permuted, ("f32[35,3,41]", "f64[33,2,9]", "i8[70,3,130]", "f32[3,300,2]")),
    Program("triples as rows", transposed, ("f32[131,3]", "i8[4099,7]", "f64[9,2]")),
    Program("channels last", channels_last, ("f32[2,9,7,11]", "f16[3,64,5,13]", "f32[1,3,40,40]")),
    Program("matrix plus its transpose", symmetric, ("f32[67,67]", "f64[33,33] reversed")),
    Program(
        "stack",
        stacked,
        (
            "f32[33,17]; f32[33,17]",
            "i8[300,300]; i8[300,300]",
            "bool[33,17]; bool[33,17]",
        ),
    ),
    Program("rotated halves", rotated, ("f32[9,34]", "f32[600,256]", "f64[3,2]"), dynamic=False),
    Program("roll", rolled, ("f32[9,67]", "i32[3,4]")),
    Program("tile", tiled, ("f32[9,31]", "i8[1,1]")),
    Program(
        "repeat",
        repeated,
        (
            "f32[9,31]",
            "i64[70,100]",
            "f16[9,31]",
        ),
    ),
    Program("rows set to zero", bordered_by_zeros, ("f32[9,31]", "f64[3,1]", "f32[300,512]")),
    Program("transpose with a border", bordered_transpose, ("f32[67,45]", "f64[9,40]")),
    Program("upper triangle", upper_triangle, ("f32[33,35]", "i64[300,256]")),
)

# ---- reductions -------------------------------------------------------------------------------------


def row_sums(x):
    return np.sum(x, axis=1)


def column_sums(x):
    return np.sum(x, axis=0)


def whole_sum(x):
    return np.sum(x)


def outer_axes(x):
    return np.sum(x, axis=(0, 2))


def column_spread(x):
    return np.mean(x, axis=0), np.var(x, axis=0)


def leading_axes_normalised(x):
    mean, variance = np.mean(x, axis=(0, 1)), np.var(x, axis=(0, 1))
    return (x - mean) / np.sqrt(variance + 1e-5)


def column_extremes(x):
    return np.max(x, axis=0), np.min(x, axis=0)


def spread(x):
    return np.mean(x, axis=1), np.var(x, axis=1)


def best(x):
    return np.argmax(x, axis=1)


def best_of_columns(x):
    best = np.argmax(x, axis=0).astype(x.dtype)
    return best - np.prod(best, axis=0, keepdims=True)


def count_above(x, limit):
    return np.count_nonzero(x > limit)


def running(x):
    return np.cumsum(x, axis=1)


def running_total(x):
    return np.cumsum(x[::-1])[::-1]


REDUCTIONS = (
    Program(
        "row sums",
        row_sums,
        (
            "f32[37,301]",
            "f64[5,2000]",
            "i64[9,33]",
            "i32[3,1]",
            "f32[1,70000] positive",
            "f32[4,0]",
            "f32[129,7] transposed",
            "f16[37,301]",
            "bool[33,65]",
            "ui8[9,130]",
            "i16[5,2000]",
            "bf16[9,64]",
            "f32[3,70001]",
            "f16[2,70000]",
            "i64[2,70001]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "column sums",
        column_sums,
        (
            "f32[301,37]",
            "f64[2000,5]",
            "i64[33,129]",
            "f32[1,9]",
            "f32[0,9]",
            "f32[300,70] reversed",
            "f32[5001,1]",
            "f32[3001,2]",
            "f16[300,70]",
            "bool[77,40]",
            "i8[300,64]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "whole sum",
        whole_sum,
        (
            "f32[70001] positive",
            "f64[33,57]",
            "i32[1001]",
            "f32[0]",
            "f32[1]",
            "f32[100,31] strided",
            "f16[1001] positive",
            "bool[5000]",
            "ui32[3001]",
        ),
        tolerance=1e-5,
        absolute=1e-4,
    ),
    Program(
        "outer axes",
        outer_axes,
        (
            "f32[5,9,33]",
            "f64[3,1,7]",
            "i32[5,9,33]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "column extremes",
        column_extremes,
        (
            "f32[77,35]",
            "i16[5,130]",
            "f32[40,9] special",
            "f16[77,64] special",
            "ui8[33,130]",
            "bool[40,9]",
            "f64[300,33]",
            "f32[257,132] special",
            "f16[300,70]",
        ),
    ),
    Program(
        "mean and variance",
        spread,
        (
            "f32[11,257]",
            "f64[3,1]",
            "f32[2,5000]",
            "f16[11,256]",
            "f32[2,70001]",
        ),
        tolerance=1e-5,
        absolute=1e-6,
    ),
    Program(
        "mean and variance of columns",
        column_spread,
        (
            "f32[1057,35]",
            "f64[3001,6]",
            "f32[2000,130]",
            "f64[4100,1]",
            "f32[5000,2]",
            "f32[77,9]",
            "f32[9001,32] shifted",
            "f32[1500,40] strided",
        ),
        tolerance=1e-5,
        absolute=1e-6,
    ),
    Program(
        "argmax",
        best,
        (
            "f32[13,77]",
            "i32[5,300]",
            "f32[4,1]",
            "f16[9,130]",
            "f64[5,1030]",
            "ui8[9,200]",
            "bool[7,77]",
            "f32[2,70001]",
            "i64[1,70000]",
        ),
    ),
    Program(
        "count above",
        count_above,
        (
            "f32[5003]; 0.25",
            "i32[77]; 3",
            "f64[5003]; 0.25",
            "f16[777]; 0.5",
        ),
    ),
    Program(
        "argmax of columns", best_of_columns, ("f32[16,1,7]", "f64[257,1,33]", "f32[300,1,1]", "f64[9,2]")
    ),
    Program(
        "running total",
        running_total,
        ("f64[4999]", "i64[131]", "i32[63]", "i64[0]", "i32[2048] strided", "f64[10001] reversed"),
        tolerance=1e-9,
        absolute=1e-9,
    ),
    Program(
        "running sums",
        running,
        (
            "i64[7,300]",
            "f64[3,1030]",
            "i32[2,1]",
            "f16[9,33] positive",
            "bool[7,300]",
            "ui8[3,200]",
        ),
        tolerance=1e-9,
        absolute=1e-9,
    ),
)

# ---- rows that are normalised -----------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_of_columns(x):
    e = np.exp(x - np.max(x, axis=0))
    return e / np.sum(e, axis=0)


def log_softmax(x):
    return nn.log_softmax(x)


def layer_norm(x, weight, bias):
    return nn.layer_norm(x, weight, bias)


def rms_norm(x, weight):
    return nn.rms_norm(x, weight)


def batch_norm_training(x, weight, bias):
    mean = np.mean(x, axis=0)
    centred = x - mean
    return centred / np.sqrt(np.mean(centred * centred, axis=0) + 1e-5) * weight + bias


ROWS = (
    Program(
        "softmax",
        softmax,
        (
            "f32[9,131]",
            "f64[5,1000]",
            "f32[3,5000]",
            "f32[2,17001]",
            "f32[33,1000]",
            "f32[7,1]",
            "f32[1,700]",
            "f32[33,40] transposed",
            "f32[0,4]",
            "f16[33,256]",
            "bf16[9,131]",
            "f32[2,70001]",
            "f32[2,65536] special",
            "f16[3,70000]",
            "f16[2,70001]",
        ),
        tolerance=2e-5,
    ),
    Program(
        "log_softmax",
        log_softmax,
        (
            "f32[9,131]",
            "f64[5,1025]",
            "f32[3,1]",
            "f16[9,131]",
            "f64[2,66000]",
        ),
        tolerance=2e-5,
        absolute=1e-6,
    ),
    Program(
        "softmax of columns",
        softmax_of_columns,
        (
            "f32[77,35]",
            "f64[33,70]",
            "f32[5,9000]",
            "f32[1030,3]",
            "f32[4099,35]",
            "f32[2100,3] special",
            "f32[65,64] transposed",
            "f16[77,64]",
            "bf16[33,35]",
        ),
        tolerance=2e-5,
    ),
    Program(
        "layer norm",
        layer_norm,
        (
            "f32[7,257]; f32[257]; f32[257]",
            "f64[3,1024]; f64[1024]; f64[1024]",
            "f32[2,9000]; f32[9000]; f32[9000]",
            "f32[2,70001]; f32[70001]; f32[70001]",
            "f32[3,70000]; f32[70000]; f32[70000]",
            "f16[7,256]; f16[256]; f16[256]",
        ),
        tolerance=2e-5,
        absolute=1e-5,
    ),
    Program(
        "layer norm of bfloat16",
        layer_norm,
        ("bf16[3,33]; bf16[33]; bf16[33]", "bf16[7,256]; bf16[256]; bf16[256]"),
        tolerance=4e-2,
        absolute=4e-2,
    ),
    Program(
        "RMS norm",
        rms_norm,
        (
            "f32[7,257]; f32[257]",
            "f64[3,33]; f64[33]",
            "f32[2,5000]; f32[5000]",
            "f16[2,70000]; f16[70000]",
            "f16[7,257]; f16[257]",
        ),
        tolerance=2e-5,
    ),
    Program(
        "normalised over leading axes",
        leading_axes_normalised,
        ("f32[31,43,17]", "f64[50,41,8]", "f32[3,5,33]", "f32[64,64,4]"),
        tolerance=1e-5,
        absolute=1e-6,
    ),
    Program(
        "batch norm",
        batch_norm_training,
        (
            "f32[257,35]; f32[35]; f32[35]",
            "f64[40,7]; f64[7]; f64[7]",
            "f32[2083,37]; f32[37]; f32[37]",
            "f64[2049,40] reversed; f64[40]; f64[40]",
            "f32[1100,1]; f32[1]; f32[1]",
            "f32[2051,37]; f32[37]; f32[37]",
            "f32[70,4100]; f32[4100]; f32[4100]",
            "f16[77,64]; f16[64]; f16[64]",
        ),
        tolerance=2e-5,
        absolute=1e-5,
    ),
)

# ---- products, convolutions, attention --------------------------------------------------------------


def matmul(a, b):
    return a @ b


def short_matmul(a, b):
    return (a @ b).astype(a.dtype)


def byte_matmul(a, b):
    return np.matmul(a, b, dtype=np.int32)


def dense(x, w, bias):
    return np.maximum(x @ w + bias, 0)


def squared_distances(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def largest_differences(x, y):
    return np.abs(x[:, None] - y[None]).max(-1)


def largest_differences_of_rows(x):
    return np.abs(x[:, None] - x[None]).max(-1)


def largest_smaller_ones(a, b):
    return np.minimum(a[:, :, None], b[None, :, :]).max(axis=1)


def weighted_distances(x, y, row, term):
    return np.sqrt((row[:, None, None] * np.abs(x[:, None] - y[None]) * term).sum(-1))


def any_of_both(a, b):
    return ((a[:, None] > 0) & (b[None] > 0)).any(-1)


def products_of_terms(x, y):
    return (1 + x[:, None] * y[None]).prod(-1)


def attention(q, k, v):
    return nn.attention(q, k, v)


def conv(x, w):
    return nn.conv2d(x, w)


def pooled(x):
    return nn.max_pool(x, (3, 3), 2, 1)


def means_of_windows(x):
    return nn.avg_pool(x, (2, 4), (2, 3))


def separate_channels(x, w):
    return nn.conv2d(x, w, padding=1, groups=x.shape[1])


def separate_channels_last(x, w):
    y = nn.conv2d(np.moveaxis(x, -1, 1), w, stride=2, padding=1, groups=x.shape[-1])
    return np.ascontiguousarray(np.moveaxis(y, 1, -1))


def lstm_cell(x, h, c, w, u, bias):
    n = h.shape[-1]
    gates = x @ w + h @ u + bias
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


PRODUCTS = (
    Program(
        "matmul",
        matmul,
        (
            "f32[33,45]; f32[45,37]",
            "f64[17,9]; f64[9,20]",
            "f32[130,70]; f32[70,131]",
            "f32[5,1]; f32[1,7]",
            "f32[1,33]; f32[33,1]",
            "f32[4,0]; f32[0,5]",
            "i32[9,11]; i32[11,13]",
            "f32[40,33] transposed; f32[33,50] strided",
            "f32[3,2050]; f32[2050,261]",
            "f32[3,24]; f32[24,34001]",
            "f32[3000,7,9]; f32[3000,9,8]",
            "f32[300,2048]; f32[2048,5]",
            "f64[2,6,2000]; f64[2,2000,7]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "matmul of short floats",
        short_matmul,
        (
            "f16[33,45]; f16[45,31]",
            "f16[64,96]; f16[96,64]",
            "f16[96,64] transposed; f16[64,32] transposed",
            "f16[64,64] shifted; f16[64,64]",
            "bf16[64,32]; bf16[32,128]",
            "f16[40,72]; f16[72,56]",
            "f16[3,33,40]; f16[3,40,48]",
            "f16[40,33] transposed; f16[33,50] strided",
        ),
    ),
    Program(
        "matmul of bytes",
        byte_matmul,
        (
            "i8[33,81]; i8[81,40]",
            "i8[64,64]; i8[64,32] transposed",
            "i8[40,80]; i8[80,33] transposed",
        ),
    ),
    Program(
        "dense layer",
        dense,
        (
            "f32[35,33]; f32[33,41]; f32[41]",
            "f16[32,64]; f16[64,48]; f16[48]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "squared distances",
        squared_distances,
        (
            "f32[33,17]; f32[65,17]",
            "f64[70,64]; f64[40,64]",
            "f32[9,40] strided; f32[12,40] reversed",
            "i32[33,9]; i32[17,9]",
            "f16[40,32]; f16[33,32]",
            "f32[5,0]; f32[3,0]",
            "f32[1,9]; f32[1,9]",
            "f32[0,9]; f32[5,9]",
            "f32[17,4099]; f32[19,4099]",
            "f32[16384,9]; f32[3,9]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "largest differences",
        largest_differences,
        (
            "f32[33,17] special; f32[65,17] special",
            "f64[70,64]; f64[40,64] transposed",
            "i16[33,9]; i16[17,9]",
            "f16[40,33]; f16[33,33] special",
            "f32[17,4099]; f32[19,4099]",
            "f32[1,1]; f32[9,1]",
        ),
    ),
    Program(
        "largest differences of rows",
        largest_differences_of_rows,
        ("f32[65,19] special", "f32[130,64]", "f64[9,1]"),
    ),
    Program(
        "largest of the smaller ones",
        largest_smaller_ones,
        (
            "f32[33,17] special; f32[17,65]",
            "f64[70,64]; f64[64,40]",
            "i32[33,9]; i32[9,37]",
            "f32[17,4099]; f32[4099,19] special",
            "ui8[40,31]; ui8[31,9] reversed",
        ),
    ),
    Program(
        "weighted distances",
        weighted_distances,
        (
            "f32[33,17]; f32[65,17]; f32[33] positive; f32[17] positive",
            "f64[16,64]; f64[40,64]; f64[16] positive; f64[64] positive",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "any of both",
        any_of_both,
        ("f32[33,17] special; f32[65,17]", "i32[40,64]; i32[9,64]"),
    ),
    Program(
        "products of terms",
        products_of_terms,
        ("f32[33,17]; f32[65,17]", "f64[40,16]; f64[9,16]", "i32[40,9]; i32[9,9]"),
        tolerance=1e-4,
    ),
    Program(
        "batched matmul",
        matmul,
        (
            "f32[3,17,9]; f32[3,9,21]",
            "f64[2,1,5]; f64[2,5,3]",
            "i64[2,9,5]; i64[2,5,7]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "attention",
        attention,
        (
            "f32[2,3,17,9]; f32[2,3,13,9]; f32[2,3,13,9]",
            "f64[1,1,40,8]; f64[1,1,70,8]; f64[1,1,70,8]",
            "f16[1,2,33,16]; f16[1,2,40,16]; f16[1,2,40,16]",
        ),
        tolerance=2e-5,
        absolute=1e-5,
    ),
    Program(
        "attention of bfloat16",
        attention,
        (
            "bf16[1,1,7,16]; bf16[1,1,9,16]; bf16[1,1,9,16]",
            "bf16[1,2,16,32]; bf16[1,2,64,32]; bf16[1,2,64,32]",
        ),
        tolerance=4e-2,
        absolute=4e-2,
    ),
    Program(
        "convolution",
        conv,
        (
            "f32[2,3,11,9]; f32[5,3,3,3]",
            "f64[1,1,5,5]; f64[1,1,1,1]",
            "f16[2,8,11,9]; f16[5,8,3,3]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "maxima of windows",
        pooled,
        (
            "f32[2,3,19,45] special",
            "f64[1,2,9,67]",
            "f16[3,70,33] strided",
            "i32[2,40,33]",
            "f32[2,8,7,7]",
            "f32[1,2,150,300]",
            "f32[0,3,5,5]",
            "ui8[1,3,20,33]",
        ),
    ),
    Program(
        "means of windows",
        means_of_windows,
        (
            "f32[2,3,9,33]",
            "f64[4,70] reversed",
            "f32[3,200,200]",
            "f16[2,32,48]",
        ),
        tolerance=1e-6,
        absolute=1e-6,
    ),
    Program(
        "convolution of separate channels",
        separate_channels,
        (
            "f32[2,3,41,37]; f32[3,1,3,3]",
            "f64[1,1,5,5]; f64[1,1,3,3]",
            "f32[1,4,7,7]; f32[4,1,5,3]",
            "f32[2,3,9,70]; f32[6,1,3,3]",
            "f16[1,4,20,33]; f16[4,1,3,3]",
        ),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "separate channels, channels last",
        separate_channels_last,
        ("f32[2,19,23,18]; f32[18,1,3,3]", "f32[1,9,7,5]; f32[5,1,3,3]", "f64[1,8,8,40]; f64[40,1,3,3]"),
        tolerance=1e-5,
        absolute=1e-5,
    ),
    Program(
        "LSTM step",
        lstm_cell,
        ("f32[5,7]; f32[5,9]; f32[5,9]; f32[7,36]; f32[9,36]; f32[36]",),
        tolerance=2e-5,
        absolute=1e-5,
    ),
)

# ---- several kernels, checks ------------------------------------------------------------------------


def centred_columns(x):
    y = x - np.mean(x, axis=0)
    z = y * y
    return z / np.max(z, axis=0), np.sum(y, axis=1)


def doubled_at(x, places):
    y = x + 1
    for i in range(places.shape[0]):
        y[places[i]] *= 2
    return y


def uniformity(x):
    """The mean of a function of all distances: sums along the last axis that are not fused with what starts them."""
    difference = x[:, None, :] - x[None, :, :]
    return np.log(np.mean(np.exp(-2 * np.sum(difference * difference, axis=2))))


SEVERAL = (
    Program("uniformity", uniformity, ("f32[21,17]", "f64[5,40]"), tolerance=1e-5, absolute=1e-5),
    Program("centred columns", centred_columns, ("f32[65,33]", "f64[9,5]"), tolerance=1e-5, absolute=1e-5),
    Program("indices that are checked", doubled_at, ("f32[41]; i64[9] below 41",)),
)

PROGRAMS = (*POINTWISE, *LAYOUTS, *REDUCTIONS, *ROWS, *PRODUCTS, *SEVERAL)

# ---- arguments --------------------------------------------------------------------------------------

_ARRAY = re.compile(
    r"(?P<type>[a-z]+\d*)\[(?P<shape>[\d,\s]*)\](?:\s+(?P<word>[a-z]+)(?:\s+(?P<number>\d+))?)?$"
)
_TYPES = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "ui8": "u1", "ui16": "u2", "ui32": "u4",
    "ui64": "u8", "f16": "f2", "f32": "f4", "f64": "f8",
}  # fmt: skip
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3e38)


class Unavailable(Exception):
    """This machine cannot make the arguments of a call; the text says why."""


def arguments_of(call: str, seed: int = 0) -> list[Any]:
    """The arguments of a call, the same ones every time. Raises Unavailable for bfloat16 without ml_dtypes."""
    rng = np.random.default_rng(seed)
    return [_argument(text.strip(), rng) for text in call.split(";")]


def _argument(text: str, rng: np.random.Generator) -> Any:
    match = _ARRAY.match(text)
    if match is None:
        return float(text) if "." in text else int(text)
    shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
    dtype, word = dtype_of(match["type"]), match["word"]
    if word in _PLACES:
        return _PLACES[word](lambda s: _values(s, dtype, rng), shape)
    array = _values(shape, dtype, rng)
    if word in ("below", "within"):
        number = int(match["number"])
        array = rng.integers(-number if word == "within" else 0, number, shape).astype(dtype)
    elif word == "positive":
        array = (np.abs(array) + dtype.type(0.1)).astype(dtype)
    elif word == "special":
        with np.errstate(all="ignore"):
            array.reshape(-1)[: len(_SPECIAL)] = np.array(_SPECIAL[: array.size]).astype(dtype)
    elif word is not None:
        raise ValueError(f"'{word}' in the call {text!r} is not known")
    return array


def dtype_of(name: str) -> np.dtype:
    """The dtype that a text of the table names."""
    if name != "bf16":
        return np.dtype(_TYPES[name])
    try:
        import ml_dtypes  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise Unavailable("NumPy has bfloat16 with ml_dtypes only, which is not installed") from None
    return np.dtype(ml_dtypes.bfloat16)


def _values(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(-20 if dtype.kind == "i" else 0, 20, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _strided(make: Callable, shape: tuple[int, ...]) -> np.ndarray:
    return make(tuple(2 * n for n in shape))[tuple(slice(None, None, 2) for _ in shape)]


def _reversed(make: Callable, shape: tuple[int, ...]) -> np.ndarray:
    return make(shape)[tuple(slice(None, None, -1) for _ in shape)]


def _transposed(make: Callable, shape: tuple[int, ...]) -> np.ndarray:
    return make(shape[::-1]).T


def _shifted(make: Callable, shape: tuple[int, ...]) -> np.ndarray:
    return make((int(np.prod(shape)) + 1,))[1:].reshape(shape)


_PLACES: dict[str, Callable[[Callable, tuple[int, ...]], np.ndarray]] = {
    "strided": _strided,
    "reversed": _reversed,
    "transposed": _transposed,
    "shifted": _shifted,
}

# ---- comparing --------------------------------------------------------------------------------------


def expected(program: Program, arguments: list[Any]) -> Any:
    """What NumPy computes."""
    with np.errstate(all="ignore"):
        return program.function(*[a.copy(order="K") if isinstance(a, np.ndarray) else a for a in arguments])


def compare(program: Program, got: Any, want: Any) -> None:
    """Raise AssertionError unless a result, or each of a tuple of them, is NumPy's within the tolerance of the row."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            compare(program, one, other)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    relative = absolute = FLOAT16.get(want.dtype.name, 0.0)
    if want.dtype.kind in "iub":
        relative = absolute = 0.0
    elif not relative:
        relative, absolute = program.tolerance, program.absolute
    if want.dtype.kind not in "iub":
        got, want = got.astype("f8"), want.astype("f8")
    if not relative and not absolute:
        return np.testing.assert_array_equal(got, want)
    largest = float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0))
    np.testing.assert_allclose(got, want, rtol=relative, atol=absolute * largest)


# ---- what is launched -------------------------------------------------------------------------------


def threads_launched(text: str) -> list[int]:
    """The threads of each kernel of CUDA C whose launch is known, as the comments above them say."""
    launches = re.findall(r"// \w+ \(.*\): (.*?) blocks? of (.*?) threads?$", text, re.MULTILINE)
    return [
        math.prod(int(n) for part in one for n in part.replace("one", "1").split(" x ")) for one in launches
    ]
