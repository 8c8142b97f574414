"""The rows: programs in plain NumPy, their arguments, and how PyTorch writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nestor import nn

Arrays = list[Any]


@dataclass(frozen=True, eq=False)
class Row:
    """One row of the table.

    `shapes` are those of the arguments, `small` those of a dry run; `dtype` is that of all. `torch` makes the same
    program of the modules torch and torch.nn.functional. A reference that would take NumPy too long is computed of
    `sample(arguments)` only, and compared with `pick(result)`. Results agree when they differ by at most `tolerance`
    times the largest element. `operations` says how many multiplications and additions a call takes, where these
    and not memory bound it. `by_hand` names a file with a kernel that a person wrote, called on flat arrays.
    """

    name: str
    title: str
    program: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    small: Sequence[tuple[int, ...]]
    torch: Callable[[Any, Any], Callable[..., Any]]
    dtype: str = "float32"
    tolerance: float = 1e-5
    sample: Callable[[Arrays], Arrays] = list
    pick: Callable[[Any], Any] = lambda result: result
    operations: Callable[[Sequence[tuple[int, ...]]], float] | None = None
    positive: bool = False
    by_hand: str = ""

    def arguments(self, small: bool) -> list[np.ndarray]:
        """The arguments, the same at every call."""
        rng = np.random.default_rng(0)
        make = rng.random if self.positive else rng.standard_normal
        dtype = dtype_of(self.dtype)
        arrays = [make(shape, dtype=np.float32) for shape in (self.small if small else self.shapes)]
        return [array if array.dtype == dtype else array.astype(dtype) for array in arrays]

    def expected(self, arguments: Arrays) -> Any:
        """The results, or those of the sample, in float64."""
        return self.program(*[np.asarray(a).astype(np.float64) for a in self.sample(arguments)])


def dtype_of(name: str) -> np.dtype:
    """A dtype by name; bfloat16 is that of ml_dtypes. Raises ImportError without it."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


# ---- programs ---------------------------------------------------------------------------------------


def iou(x1, y1, w1, h1, x2, y2, w2, h2):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
    area_i = wi * hi
    area_u = w1 * h1 + w2 * h2 - area_i
    return area_i / (area_u + 1e-5)


def _torch_iou(torch, _):
    def program(x1, y1, w1, h1, x2, y2, w2, h2):
        wi = (torch.minimum(x1 + w1, x2 + w2) - torch.maximum(x1, x2)).clamp(min=0)
        hi = (torch.minimum(y1 + h1, y2 + h2) - torch.maximum(y1, y2)).clamp(min=0)
        area_i = wi * hi
        return area_i / (w1 * h1 + w2 * h2 - area_i + 1e-5)

    return program


def bias_gelu_residual(x, bias, residual):
    return nn.gelu(x + bias) + residual


def softmax(x):
    return nn.softmax(x)


def log_softmax(x):
    return nn.log_softmax(x)


def layer_norm(x, weight, bias):
    return nn.layer_norm(x, weight, bias)


def rms_norm(x, weight):
    return nn.rms_norm(x, weight)


def batch_norm(x, weight, bias):
    mean = np.mean(x, axis=0)
    centred = x - mean
    return centred / np.sqrt(np.mean(centred * centred, axis=0) + 1e-5) * weight + bias


def transpose(x):
    return np.ascontiguousarray(x.T)


def transpose_batch(x):
    return np.ascontiguousarray(np.transpose(x, (0, 2, 1, 3)))


def row_sums(x):
    return np.sum(x, axis=1)


def column_sums(x):
    return np.sum(x, axis=0)


def whole_sum(x):
    return np.sum(x)


def matmul(a, b):
    return a @ b


def attention(q, k, v):
    return nn.attention(q, k, v)


def lstm_step(x, h, c, w, u, bias):
    n = h.shape[-1]
    gates = x @ w + h @ u + bias
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def _torch_lstm(torch, _):
    def program(x, h, c, w, u, bias):
        i, f, z, o = (x @ w + h @ u + bias).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(z)
        return torch.sigmoid(o) * torch.tanh(c), c

    return program


def plus_one(x):
    return x + 1


def _products(shapes: Sequence[tuple[int, ...]]) -> float:
    (m, k), (_, n) = shapes
    return 2.0 * m * n * k


def _attention_operations(shapes: Sequence[tuple[int, ...]]) -> float:
    batch, heads, positions, width = shapes[0]
    return 4.0 * batch * heads * positions * positions * width


def _lstm_operations(shapes: Sequence[tuple[int, ...]]) -> float:
    (batch, inputs), (_, n) = shapes[:2]
    return 2.0 * batch * (inputs + n) * 4 * n


def _matmul(name: str, title: str, n: int, dtype: str, tolerance: float) -> Row:
    return Row(
        name,
        title,
        matmul,
        [(n, n)] * 2,
        [(37, 29), (29, 41)],
        lambda torch, F: torch.matmul,
        dtype=dtype,
        tolerance=tolerance,
        sample=lambda a: [a[0][:32], a[1]],
        pick=lambda r: r[:32],
        operations=_products,
    )


ROWS = {
    row.name: row
    for row in (
        Row("iou-100k", "IoU, 8 x 100k", iou, [(100, 1000)] * 8, [(7, 45)] * 8, _torch_iou, positive=True, by_hand="iou.cu"),
        Row("iou-10m", "IoU, 8 x 10M", iou, [(10_000_000,)] * 8, [(1021,)] * 8, _torch_iou, positive=True, by_hand="iou.cu"),
        Row(
            "gelu", "gelu(x + bias) + residual, 8192 x 4096", bias_gelu_residual,
            [(8192, 4096), (4096,), (8192, 4096)], [(9, 33), (33,), (9, 33)],
            lambda torch, F: lambda x, b, r: F.gelu(x + b) + r,
        ),
        Row(
            "softmax", "softmax of rows, 16384 x 1024", softmax, [(16384, 1024)], [(9, 131)],
            lambda torch, F: lambda x: F.softmax(x, -1),
        ),
        Row(
            "softmax-long", "softmax of rows, 2048 x 16384", softmax, [(2048, 16384)], [(3, 5001)],
            lambda torch, F: lambda x: F.softmax(x, -1),
        ),
        Row(
            "log-softmax", "log_softmax of rows, 16384 x 1024", log_softmax, [(16384, 1024)], [(9, 131)],
            lambda torch, F: lambda x: F.log_softmax(x, -1),
        ),
        Row(
            "layer-norm", "layer norm of rows, 16384 x 1024", layer_norm,
            [(16384, 1024), (1024,), (1024,)], [(7, 131), (131,), (131,)],
            lambda torch, F: lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        ),
        Row(
            "rms-norm", "RMS norm of rows, 16384 x 1024", rms_norm,
            [(16384, 1024), (1024,)], [(7, 131), (131,)],
            lambda torch, F: lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6), tolerance=1e-4,
        ),
        Row(
            "batch-norm", "batch norm, training, 65536 x 512", batch_norm,
            [(65536, 512), (512,), (512,)], [(67, 35), (35,), (35,)],
            lambda torch, F: lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ),
        Row(
            "transpose", "transpose, 8192 x 8192", transpose, [(8192, 8192)], [(65, 47)],
            lambda torch, F: lambda x: x.T.contiguous(),
        ),
        Row(
            "transpose-batch", "axes 1 and 2 swapped, 16 x 1024 x 16 x 128", transpose_batch,
            [(16, 1024, 16, 128)], [(2, 9, 5, 33)], lambda torch, F: lambda x: x.transpose(1, 2).contiguous(),
        ),
        Row(
            "row-sums", "sums of rows, 16384 x 4096", row_sums, [(16384, 4096)], [(37, 301)],
            lambda torch, F: lambda x: torch.sum(x, 1), tolerance=1e-4,
        ),
        Row(
            "column-sums", "sums of columns, 16384 x 4096", column_sums, [(16384, 4096)], [(301, 37)],
            lambda torch, F: lambda x: torch.sum(x, 0), tolerance=1e-4,
        ),
        Row(
            "whole-sum", "sum of 64M", whole_sum, [(1 << 26,)], [(70001,)],
            lambda torch, F: torch.sum, tolerance=1e-4, positive=True,
        ),
        _matmul("matmul-f32", "matmul, 4096, float32", 4096, "float32", 1e-4),
        _matmul("matmul-f16", "matmul, 4096, float16", 4096, "float16", 1e-2),
        _matmul("matmul-bf16", "matmul, 4096, bfloat16", 4096, "bfloat16", 4e-2),
        Row(
            "attention", "attention, 4 x 16 heads, 1024 x 64", attention,
            [(4, 16, 1024, 64)] * 3, [(1, 2, 17, 8)] * 3,
            lambda torch, F: F.scaled_dot_product_attention, tolerance=1e-4,
            sample=lambda a: [x[:1, :1] for x in a], pick=lambda r: r[:1, :1], operations=_attention_operations,
        ),
        Row(
            "attention-f16", "attention, 4 x 16 heads, 1024 x 64, float16", attention,
            [(4, 16, 1024, 64)] * 3, [(1, 2, 17, 16)] * 3,
            lambda torch, F: F.scaled_dot_product_attention, dtype="float16", tolerance=1e-2,
            sample=lambda a: [x[:1, :1] for x in a], pick=lambda r: r[:1, :1], operations=_attention_operations,
        ),
        Row(
            "lstm-step", "LSTM step, batch 64, 512 wide", lstm_step,
            [(64, 512), (64, 512), (64, 512), (512, 2048), (512, 2048), (2048,)],
            [(5, 7), (5, 9), (5, 9), (7, 36), (9, 36), (36,)], _torch_lstm, tolerance=1e-4,
            operations=_lstm_operations,
        ),
        Row("launch", "x + 1, one element", plus_one, [(1,)], [(1,)], lambda torch, F: lambda x: x + 1),
    )
}  # fmt: skip
"""By name, in the order of the table."""
