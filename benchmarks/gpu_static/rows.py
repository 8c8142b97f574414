"""The programs of the table, and the shapes and dtypes that they are compiled for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
from nestor import nn

from ..gpu.rows import dtype_of


@dataclass(frozen=True)
class Row:
    """A program for static shapes: `arguments` are "dtype shape" each."""

    name: str
    program: Callable[..., Any]
    arguments: tuple[str, ...]
    fastmath: tuple[str, ...] = ()

    def specs(self) -> list[Any]:
        """What it is compiled for. Raises ImportError for bfloat16 without ml_dtypes."""
        found = []
        for text in self.arguments:
            dtype, *extents = text.split()
            found.append(nt.spec(tuple(map(int, extents)), dtype_of(dtype)))
        return found


def product(a, b):
    return a @ b


def squared_distances(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def largest_smaller_ones(a, b):
    return np.minimum(a[:, :, None], b[None, :, :]).max(axis=1)


def conv(x, w):
    return nn.conv2d(x, w, padding=1)


def conv_by_weights(w, x, g):
    return nt.grad(lambda w: np.sum(nn.conv2d(x, w, padding=1) * g))(w)


def attention(q, k, v):
    return nn.attention(q, k, v)


def causal(q, k, v):
    return nn.attention(q, k, v, np.arange(q.shape[-2])[:, None] >= np.arange(k.shape[-2]))


def gradients(q, k, v, c):
    def total(q, k, v):
        return np.sum(nn.attention(q, k, v) * c)

    return nt.grad(total, argnums=(0, 1, 2))(q, k, v)


def causal_gradients(q, k, v, c):
    def total(q, k, v):
        return np.sum(causal(q, k, v) * c)

    return nt.grad(total, argnums=(0, 1, 2))(q, k, v)


def softmax(x):
    return nn.softmax(x)


def layer_norm(x, weight, bias):
    return nn.layer_norm(x, weight, bias)


def row_scan(x):
    return np.cumsum(x, axis=1)


def whole_scan(x):
    return np.cumsum(x)


def scatter(y, at, v):
    y = y.copy()
    np.add.at(y, at, v)
    return y


def middle_sums(x):
    return np.sum(x, axis=1)


def column_sums(x):
    return np.sum(x, axis=0)


def row_sums(x):
    return np.sum(x, axis=1)


def row_maxima(x):
    return np.max(x, axis=1)


def column_maxima(x):
    return np.max(x, axis=0)


def whole_maximum(x):
    return np.max(x)


def transpose(x):
    return np.ascontiguousarray(x.T)


SHAPES = {
    "1024^3": (1024, 1024, 1024),
    "4096^3": (4096, 4096, 4096),
    "1000 x 777 x 333": (1000, 777, 333),
    "1000 x 778 x 334": (1000, 778, 334),
    "128 x 16384 x 128": (128, 16384, 128),
    "8 x 4096 x 4096": (8, 4096, 4096),
}
"""Rows, terms, columns."""

DTYPES = {"f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16"}


def _products() -> list[Row]:
    found = []
    for short, dtype in DTYPES.items():
        granted = ("tf32",) if short == "tf32" else ()
        for title, (m, k, n) in SHAPES.items():
            arguments = (f"{dtype} {m} {k}", f"{dtype} {k} {n}")
            found.append(Row(f"{short} {title}", product, arguments, granted))
        arguments = (f"{dtype} 64 128 128",) * 2
        found.append(Row(f"{short} 64 x 128^3", product, arguments, granted))
    return found


OTHERS = (
    Row(
        "pairwise squared distances f32 2048 x 2048 x 64",
        squared_distances,
        ("float32 2048 64", "float32 2048 64"),
    ),
    Row(
        "largest of the smaller ones f32 2048 x 64 x 2048",
        largest_smaller_ones,
        ("float32 2048 64", "float32 64 2048"),
    ),
    Row("conv f32 8 x 64 x 56 x 56, 3 x 3", conv, ("float32 8 64 56 56", "float32 64 64 3 3")),
    Row("conv f16 8 x 64 x 56 x 56, 3 x 3", conv, ("float16 8 64 56 56", "float16 64 64 3 3")),
    Row(
        "conv f16 8 x 64 x 56 x 56, by weights",
        conv_by_weights,
        ("float16 64 64 3 3", "float16 8 64 56 56", "float16 8 64 56 56"),
    ),
    Row("attention f32 4 x 16 x 1024 x 64", attention, ("float32 4 16 1024 64",) * 3),
    Row("attention f16 4 x 16 x 1024 x 64", attention, ("float16 4 16 1024 64",) * 3),
    Row("attention f16 causal 4 x 16 x 1024 x 64", causal, ("float16 4 16 1024 64",) * 3),
    Row("attention f32 backward 4 x 16 x 1024 x 64", gradients, ("float32 4 16 1024 64",) * 4),
    Row("attention f16 backward 4 x 16 x 1024 x 64", gradients, ("float16 4 16 1024 64",) * 4),
    Row("attention f16 causal backward 4 x 16 x 1024 x 64", causal_gradients, ("float16 4 16 1024 64",) * 4),
    Row("attention f16 backward 4 x 16 x 1024 x 128", gradients, ("float16 4 16 1024 128",) * 4),
    Row("attention f16 4 x 16 x 1024 x 128", attention, ("float16 4 16 1024 128",) * 3),
    Row("softmax f32 16384 x 1024", softmax, ("float32 16384 1024",)),
    Row("softmax f16 16384 x 1024", softmax, ("float16 16384 1024",)),
    Row("softmax f32 2048 x 16384", softmax, ("float32 2048 16384",)),
    Row("layer norm f32 16384 x 1024", layer_norm, ("float32 16384 1024", "float32 1024", "float32 1024")),
    Row("running sums f32 4096 x 4096", row_scan, ("float32 4096 4096",)),
    Row("running sums f32 16M", whole_scan, (f"float32 {1 << 24}",)),
    Row("np.add.at f32 1M at 4M", scatter, (f"float32 {1 << 20}", f"int64 {1 << 22}", f"float32 {1 << 22}")),
    Row("sums f32 64 x 4096 x 512, middle axis", middle_sums, ("float32 64 4096 512",)),
    Row("sums f32 16384 x 4096, columns", column_sums, ("float32 16384 4096",)),
    Row("sums f32 16384 x 4096, rows", row_sums, ("float32 16384 4096",)),
    Row("maxima f32 16384 x 4096, rows", row_maxima, ("float32 16384 4096",)),
    Row("maxima f32 16384 x 4096, columns", column_maxima, ("float32 16384 4096",)),
    Row("maximum f32 16M", whole_maximum, (f"float32 {1 << 24}",)),
    Row("transpose f32 8192 x 8192", transpose, ("float32 8192 8192",)),
)

ROWS = {row.name: row for row in (*_products(), *OTHERS)}
