"""Random convolutions for a GPU, and what they compute in float64, by a sum over the window that is written out."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
from nestor import nn
from numpy.lib.stride_tricks import sliding_window_view

ROUNDED = {"f2": 2.0**-11, "bfloat16": 2.0**-8, "f4": 2.0**-24, "tf32": 2.0**-24}
"""By how much the result is rounded at most."""

ORDERS = ("cuda-sim:checked", "cuda-sim:checked,reverse", "cuda-sim:checked,random=5")
"""Checked, with threads in each of the orders."""


@dataclass(frozen=True)
class Case:
    """A convolution: `channels` and `outputs` are those of a group, and what is `dynamic` is known at run time only."""

    kind: str
    layout: str
    batch: int
    groups: int
    channels: int
    outputs: int
    space: tuple[int, int]
    window: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]
    dynamic: str
    has_bias: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of the operands."""
        if self.kind != "bfloat16":
            return np.dtype("f4" if self.kind == "tf32" else self.kind)
        import ml_dtypes  # pyright: ignore[reportMissingImports]

        return np.dtype(ml_dtypes.bfloat16)

    def operands(self, seed: int, odd: bool = False) -> list[np.ndarray]:
        """Image, weights and a bias; with `odd` some elements are no numbers."""
        rng = np.random.default_rng(seed)
        rows, columns = self.space
        image = rng.standard_normal((self.batch, self.groups * self.channels, rows, columns))
        weights = rng.standard_normal((self.groups * self.outputs, self.channels, *self.window))
        if odd:
            image.flat[rng.integers(image.size)] = np.nan
            weights.flat[rng.integers(weights.size)] = np.inf
        if self.layout == "NHWC":
            image, weights = image.transpose(0, 2, 3, 1), weights.transpose(2, 3, 1, 0)
        bias = rng.standard_normal(self.groups * self.outputs)
        return [np.ascontiguousarray(a).astype(self.dtype) for a in (image, weights, bias)]

    def program(self):
        """The convolution as a user writes it."""
        stride, dilation, padding, groups = self.stride, self.dilation, self.padding, self.groups
        spans = tuple((u - 1) * d + 1 for u, d in zip(self.window, dilation, strict=True))
        has_bias = self.has_bias

        def channels_first(x, w, bias):
            y = nn.conv2d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
            return np.maximum(y + bias[:, None, None], 0) if has_bias else y

        def channels_last(x, w, bias):
            x = np.pad(x, ((0, 0), *padding, (0, 0)))
            view = sliding_window_view(x, spans, (1, 2))
            view = view[:, :: stride[0], :: stride[1], :, :: dilation[0], :: dilation[1]]
            y = np.tensordot(view, w, ((4, 5, 3), (0, 1, 2)))
            return np.maximum(y + bias, 0) if has_bias else y

        return channels_first if self.layout == "NCHW" else channels_last

    def exact(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The sums in float64, (batch, outputs, rows, columns); zeros of the border are multiplied, too."""
        if self.layout == "NHWC":
            x, w = x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)
        x = np.pad(x.astype("f8"), ((0, 0), (0, 0), *self.padding))
        extents = [
            (x.shape[2 + k] - (self.window[k] - 1) * self.dilation[k] - 1) // self.stride[k] + 1
            for k in (0, 1)
        ]
        x = x.reshape(len(x), self.groups, self.channels, *x.shape[2:])
        w = w.astype("f8").reshape(self.groups, self.outputs, *w.shape[1:])
        total = np.zeros((len(x), self.groups, self.outputs, *extents))
        for u in range(self.window[0]):
            for v in range(self.window[1]):
                first = u * self.dilation[0], v * self.dilation[1]
                part = x[..., first[0] :: self.stride[0], first[1] :: self.stride[1]]
                part = part[..., : extents[0], : extents[1]]
                total += np.einsum("bgcij,gkc->bgkij", part, w[..., u, v])
        return total.reshape(len(x), -1, *extents)

    def wanted(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The result in float64, and the largest error of one with sums in float32."""
        terms = self.channels * self.window[0] * self.window[1]
        with np.errstate(invalid="ignore"):
            total, size = self.exact(x, w), self.exact(abs(x), abs(w))
            bound = terms * 2.0**-24 * size + (2.0**-10 + 2.0**-20) * size * (self.kind == "tf32")
            bound += 2 * ROUNDED[self.kind] * abs(total) + 2.0**-24
            if self.has_bias:
                total = total + bias.astype("f8")[:, None, None]
                bound += 2 * ROUNDED[self.kind] * abs(total)
                total = np.maximum(total, 0)
            bound[~np.isfinite(bound)] = 0  # of infinities: those, or 0
        if self.layout == "NHWC":
            return total.transpose(0, 2, 3, 1), bound.transpose(0, 2, 3, 1)
        return total, bound

    def options(self) -> dict[str, Any]:
        """How it is compiled."""
        channels = self.layout.index("C")
        of_image = {"x": {k: name for k, name in enumerate(self.layout.lower()) if k != channels}}
        dynamic = {"static": False, "image": of_image, "all": True}[self.dynamic]
        return {"dynamic": dynamic, "fastmath": ("tf32",) if self.kind == "tf32" else ()}


def drawn(seed: int, largest: int = 19) -> Case:
    """A convolution with a result of at least one pixel."""
    rng = random.Random(f"convolution {seed}")
    layout = rng.choice(["NCHW", "NHWC"])
    groups = rng.choice([1, 1, 2, 3]) if layout == "NCHW" else 1
    window = tuple(rng.choice([1, 2, 3, 3]) for _ in range(2))
    dilation = tuple(rng.choice([1, 1, 2]) for _ in range(2))
    padding = tuple(tuple(rng.choice([0, 1, 1, 2, 3]) for _ in range(2)) for _ in range(2))
    space = []
    for u, d, p in zip(window, dilation, padding, strict=True):
        least = max(1, (u - 1) * d + 1 - sum(p))
        space.append(rng.randint(least, max(least, largest)))
    return Case(
        rng.choice(["f2", "f2", "bfloat16", "tf32", "f4"]),
        layout,
        rng.choice([1, 2, 3]),
        groups,
        rng.choice([1, 3, 4, 8, 16, 20, 32, 40]),
        rng.choice([8, 9, 16, 33, 40]),
        tuple(space),  # pyright: ignore[reportArgumentType]
        window,  # pyright: ignore[reportArgumentType]
        tuple(rng.choice([1, 1, 2, 3]) for _ in range(2)),  # pyright: ignore[reportArgumentType]
        dilation,  # pyright: ignore[reportArgumentType]
        padding,  # pyright: ignore[reportArgumentType]
        rng.choice(["static", "static", "static", "image", "image", "all"]),
        rng.random() < 0.4,
    )


def check(case: Case, seed: int, orders: tuple[str, ...] = ORDERS[:1]) -> str:
    """Compare what the simulator computes with float64, for numbers and for what is none; the CUDA C."""
    arrays = case.operands(seed)
    text = ""
    for target in orders:
        compiled = nt.jit(case.program(), target=target, **case.options()).lower(*arrays)
        text = compiled.as_text("cuda")
        run = compiled.compile()
        for odd in (False, True):
            arrays = case.operands(seed + odd, odd)
            got = np.asarray(run(*arrays)).astype("f8")
            wanted, bound = case.wanted(*arrays)
            finite = np.isfinite(wanted)
            assert got.shape == wanted.shape, (got.shape, wanted.shape)
            assert np.array_equal(got[~finite], wanted[~finite], equal_nan=True), f"{case}: not numbers"
            error = np.abs(got[finite] - wanted[finite])
            assert np.all(error <= bound[finite]), f"{case}: {(error / bound[finite]).max()} of the bound"
    return text


def gradients(
    case: Case, x: np.ndarray, w: np.ndarray, cotangent: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the sum of a convolution (channels first) times `cotangent`, by image and by weights, in float64."""
    (top, bottom), (left, right) = case.padding
    padded = np.pad(x.astype("f8"), ((0, 0), (0, 0), (top, bottom), (left, right)))
    image = padded.reshape(len(x), case.groups, case.channels, *padded.shape[2:])
    d_image = np.zeros_like(image)
    weights = w.astype("f8").reshape(case.groups, case.outputs, *w.shape[1:])
    d_weights = np.zeros_like(weights)
    rows, columns = cotangent.shape[2:]
    given = cotangent.astype("f8").reshape(len(x), case.groups, case.outputs, rows, columns)
    for u in range(case.window[0]):
        for v in range(case.window[1]):
            first = u * case.dilation[0], v * case.dilation[1]
            place = (
                ...,
                slice(first[0], first[0] + case.stride[0] * (rows - 1) + 1, case.stride[0]),
                slice(first[1], first[1] + case.stride[1] * (columns - 1) + 1, case.stride[1]),
            )
            d_weights[..., u, v] = np.einsum("bgkij,bgcij->gkc", given, image[place])
            d_image[place] += np.einsum("bgkij,gkc->bgcij", given, weights[..., u, v])
    d_padded = d_image.reshape(padded.shape)
    end = padded.shape[2] - bottom, padded.shape[3] - right
    return d_padded[:, :, top : end[0], left : end[1]], d_weights.reshape(w.shape)


def check_gradients(case: Case, seed: int, target: str) -> str:
    """Compare the gradients of a loss by image and weights with float64; the CUDA C."""
    x, w, bias = case.operands(seed)
    forward = case.program()
    cotangent = np.random.default_rng(seed).standard_normal(case.exact(x, w).shape).astype(case.dtype)

    def loss(x, w, bias, cotangent):
        return np.sum(forward(x, w, bias) * cotangent)

    compiled = nt.jit(nt.grad(loss, (0, 1)), target=target, **case.options()).lower(x, w, bias, cotangent)
    got = compiled.compile()(x, w, bias, cotangent)
    wanted = gradients(case, x, w, cotangent)
    sizes = gradients(case, abs(x), abs(w), abs(cotangent))
    terms = len(x) * cotangent.shape[2] * cotangent.shape[3] + case.outputs * case.window[0] * case.window[1]
    for one, exact, size in zip(got, wanted, sizes, strict=True):
        rounding = {"f2": 2.0**-9, "bfloat16": 2.0**-6, "tf32": 2.0**-9, "f4": 0.0}[case.kind]
        bound = (terms * 2.0**-23 + rounding) * size + 2.0**-24
        error = np.abs(np.asarray(one).astype("f8") - exact)
        assert one.shape == exact.shape
        assert np.all(error <= bound), f"{case}: {(error / bound).max()} of the bound"
    return compiled.as_text("cuda")
