"""The rows: programs in plain NumPy, their arguments, and how PyTorch writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import nestor as nt
import numpy as np
from nestor import nn

from . import references

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
    indices: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Arguments that are indices, of int64, and below what each is: at the sizes of the table, and small."""
    reference: Callable[..., Any] | None = None
    """The same in NumPy of float64, where the program is not plain NumPy: it asks for gradients."""

    def arguments(self, small: bool) -> list[np.ndarray]:
        """The arguments, the same at every call."""
        rng = np.random.default_rng(0)
        make = rng.random if self.positive else rng.standard_normal
        dtype = dtype_of(self.dtype)
        found = []
        for k, shape in enumerate(self.small if small else self.shapes):
            if k in self.indices:
                found.append(rng.integers(0, self.indices[k][small], shape))
                continue
            array = make(shape, dtype=np.float32)
            found.append(array if array.dtype == dtype else array.astype(dtype))
        return found

    def expected(self, arguments: Arrays) -> Any:
        """The results, or those of the sample, in float64."""
        sample = [np.asarray(a) for a in self.sample(arguments)]
        wide = [a if k in self.indices else a.astype(np.float64) for k, a in enumerate(sample)]
        return (self.reference or self.program)(*wide)


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


def conv(x, w):
    return nn.conv2d(x, w, padding=1)


def conv_gradients(x, w, cotangent):
    return nt.grad(lambda x, w: np.sum(nn.conv2d(x, w, padding=1) * cotangent), (0, 1))(x, w)


def _torch_conv_gradients(torch, F):
    def program(x, w, cotangent):
        by_x = torch.nn.grad.conv2d_input(x.shape, w, cotangent, padding=1)
        return by_x, torch.nn.grad.conv2d_weight(x, w.shape, cotangent, padding=1)

    return program


def causal_attention(q, k, v):
    positions = np.arange(q.shape[2])
    return nn.attention(q, k, v, positions[:, None] >= positions)


def attention_gradients(q, k, v, cotangent):
    return nt.grad(lambda q, k, v: np.sum(nn.attention(q, k, v) * cotangent), (0, 1, 2))(q, k, v)


def _torch_attention_gradients(torch, F):
    def program(q, k, v, cotangent):
        given = [a.detach().requires_grad_() for a in (q, k, v)]
        return torch.autograd.grad(F.scaled_dot_product_attention(*given), given, cotangent)

    return program


def batch_norm_of_images(x, weight, bias):
    mean = np.mean(x, axis=(0, 2, 3), keepdims=True)
    centred = x - mean
    scale = weight.reshape(1, -1, 1, 1) / np.sqrt(
        np.mean(centred * centred, axis=(0, 2, 3), keepdims=True) + 1e-5
    )
    return centred * scale + bias.reshape(1, -1, 1, 1)


def running_sums_of_rows(x):
    return np.cumsum(x, axis=1)


def running_sum(x):
    return np.cumsum(x)


def scatter(y, at, values):
    y = y.copy()
    np.add.at(y, at, values)
    return y


def embedding(table, at):
    return table[at]


def stencil(x):
    y = x.copy()
    y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return y


def _torch_stencil(torch, _):
    def program(x):
        y = x.clone()
        y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        return y

    return program


def training_step(x, wanted, w, b, u, c):
    def loss(w, b, u, c):
        hidden = np.maximum(x @ w + b, 0)
        error = hidden @ u + c - wanted
        return np.mean(error * error)

    gradients = nt.grad(loss, (0, 1, 2, 3))(w, b, u, c)
    return tuple(p - 0.1 * g for p, g in zip((w, b, u, c), gradients, strict=True))


def _torch_training_step(torch, _):
    def program(x, wanted, *parameters):
        given = [p.detach().requires_grad_() for p in parameters]
        w, b, u, c = given
        error = torch.relu(x @ w + b) @ u + c - wanted
        gradients = torch.autograd.grad((error * error).mean(), given)
        return tuple(p.detach() - 0.1 * g for p, g in zip(given, gradients, strict=True))

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


def _conv_operations(shapes: Sequence[tuple[int, ...]]) -> float:
    (batch, channels, *space), (outputs, _, *window) = shapes[:2]
    return 2.0 * batch * channels * outputs * prod(space) * prod(window)


def _training_operations(shapes: Sequence[tuple[int, ...]]) -> float:
    """Two products there, and of their four gradients the three by parameters and hidden values."""
    (batch, inputs), (_, outputs), (_, hidden) = shapes[:3]
    return 2.0 * batch * hidden * (2 * inputs + 3 * outputs)


def _matmul(name: str, title: str, sizes: tuple[int, int, int], dtype: str, tolerance: float) -> Row:
    m, k, n = sizes
    return Row(
        name,
        title,
        matmul,
        [(m, k), (k, n)],
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
        _matmul("matmul-f32", "matmul, 4096, float32", (4096,) * 3, "float32", 1e-4),
        _matmul("matmul-f16", "matmul, 4096, float16", (4096,) * 3, "float16", 1e-2),
        _matmul("matmul-bf16", "matmul, 4096, bfloat16", (4096,) * 3, "bfloat16", 4e-2),
        _matmul("matmul-f16-8192", "matmul, 8192, float16", (8192,) * 3, "float16", 1e-2),
        _matmul("matmul-f16-odd", "matmul, 4097 x 4099 x 4095, float16", (4097, 4099, 4095), "float16", 1e-2),
        _matmul("matmul-f32-odd", "matmul, 1000 x 777 x 333, float32", (1000, 777, 333), "float32", 1e-4),
        _matmul("matmul-f16-few-rows", "matmul, 8 x 4096 x 4096, float16", (8, 4096, 4096), "float16", 1e-2),
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
            "attention-causal", "causal attention, 4 x 16 heads, 1024 x 64, float16", causal_attention,
            [(4, 16, 1024, 64)] * 3, [(1, 2, 17, 16)] * 3,
            lambda torch, F: lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            dtype="float16", tolerance=1e-2, sample=lambda a: [x[:1, :1] for x in a], pick=lambda r: r[:1, :1],
            operations=_attention_operations,
        ),
        Row(
            "attention-gradients", "gradients of attention, 4 x 16 heads, 1024 x 64", attention_gradients,
            [(4, 16, 1024, 64)] * 4, [(1, 2, 17, 8)] * 4, _torch_attention_gradients, tolerance=1e-4,
            sample=lambda a: [x[:1, :1] for x in a], pick=lambda r: r[:1, :1],
            operations=lambda shapes: 3.5 * _attention_operations(shapes), reference=references.attention_gradients,
        ),
        Row(
            "conv", "convolution 3 x 3, 32 x 64 x 56 x 56", conv,
            [(32, 64, 56, 56), (64, 64, 3, 3)], [(2, 3, 9, 11), (5, 3, 3, 3)],
            lambda torch, F: lambda x, w: F.conv2d(x, w, padding=1), tolerance=1e-4, operations=_conv_operations,
            sample=lambda a: [a[0][:2], a[1]], pick=lambda r: r[:2],
        ),
        Row(
            "conv-f16", "convolution 3 x 3, 32 x 64 x 56 x 56, float16", conv,
            [(32, 64, 56, 56), (64, 64, 3, 3)], [(2, 16, 9, 11), (9, 16, 3, 3)],
            lambda torch, F: lambda x, w: F.conv2d(x, w, padding=1), dtype="float16", tolerance=1e-2,
            operations=_conv_operations, sample=lambda a: [a[0][:2], a[1]], pick=lambda r: r[:2],
        ),
        Row(
            "conv-gradients", "gradients of the convolution, 8 x 64 x 56 x 56, float16", conv_gradients,
            [(8, 64, 56, 56), (64, 64, 3, 3), (8, 64, 56, 56)], [(2, 8, 9, 11), (9, 8, 3, 3), (2, 9, 9, 11)],
            _torch_conv_gradients, dtype="float16", tolerance=1e-2, reference=references.conv_gradients,
            operations=lambda shapes: 2 * _conv_operations(shapes),
        ),
        Row(
            "batch-norm-images", "batch norm, training, 32 x 256 x 56 x 56", batch_norm_of_images,
            [(32, 256, 56, 56), (256,), (256,)], [(3, 5, 7, 9), (5,), (5,)],
            lambda torch, F: lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ),
        Row(
            "running-sums", "running sums of rows, 4096 x 4096", running_sums_of_rows, [(4096, 4096)], [(5, 301)],
            lambda torch, F: lambda x: torch.cumsum(x, 1), tolerance=1e-4, positive=True,
        ),
        Row(
            "running-sum", "running sum of 16M", running_sum, [(1 << 24,)], [(5003,)],
            lambda torch, F: lambda x: torch.cumsum(x, 0), tolerance=1e-4, positive=True,
        ),
        Row(
            "scatter", "np.add.at, 4M values to 1M places", scatter,
            [(1 << 20,), (1 << 22,), (1 << 22,)], [(37,), (301,), (301,)],
            lambda torch, F: lambda y, at, v: y.index_add(0, at, v), tolerance=1e-4, indices={1: (1 << 20, 37)},
        ),
        Row(
            "embedding", "rows of an embedding, 32768 of 50000 x 512", embedding,
            [(50000, 512), (32768,)], [(41, 13), (67,)], lambda torch, F: lambda table, at: F.embedding(at, table),
            indices={1: (50000, 41)},
        ),
        Row("stencil", "5-point stencil, 8192 x 8192", stencil, [(8192, 8192)], [(37, 41)], _torch_stencil),
        Row(
            "training-step", "training step of two layers, batch 4096, 1024 to 4096 to 1024", training_step,
            [(4096, 1024), (4096, 1024), (1024, 4096), (4096,), (4096, 1024), (1024,)],
            [(9, 7), (9, 5), (7, 11), (11,), (11, 5), (5,)], _torch_training_step, tolerance=1e-4,
            operations=_training_operations, reference=references.training_step,
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
