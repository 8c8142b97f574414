"""Numbers to integers with a scale and a zero point, and back: as ONNX's QuantizeLinear and DequantizeLinear.

    q = saturate(round(x / scale) + zero_point)        y = (q - zero_point) * scale

Rounding is to the nearest, halves to even. What is beyond the integers becomes the last of them; NaN the least.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..functional.derivatives import stop_gradient
from ..nn.composites import composite

__all__ = ["dequantise", "fake_quantise", "quantise"]


EDGE = 0.49
"""What is beyond the last integer by this is rounded to it."""


@composite
def quantise(
    x: Any, scale: Any, zero_point: Any = 0, dtype: Any = np.int8, axis: int | None = None
) -> NDArray[Any]:
    """`x`, floats, as integers of `dtype`: saturate(round(x / scale) + zero_point).

    `scale`, positive, and `zero_point` are numbers, or of shape (x.shape[axis],): one of each for every channel. `dtype` is
    an integer of 8 or 16 bits. Without gradient: an integer has none. Raises ValueError for another dtype.
    """
    low, high = _limits(dtype)
    v = np.rint(x / _along(scale, axis, x.ndim))
    if v.dtype.itemsize < 4:
        v = v.astype(np.float32)
    v = v + _along(np.asarray(zero_point), axis, x.ndim).astype(v.dtype)
    return np.fmin(np.fmax(v, low), high).astype(dtype)


@composite
def dequantise(q: Any, scale: Any, zero_point: Any = 0, axis: int | None = None) -> NDArray[Any]:
    """(q - zero_point) * scale, in float32 or what NumPy makes of float32 and `scale`.

    `scale` and `zero_point` are numbers, or of shape (q.shape[axis],). `q` may be of int32, as biases are.
    """
    whole = q.astype(np.int32) - _along(np.asarray(zero_point), axis, q.ndim).astype(np.int32)
    return whole.astype(np.float32) * _along(scale, axis, q.ndim)


@composite
def fake_quantise(
    x: Any, scale: Any, zero_point: Any = 0, dtype: Any = np.int8, axis: int | None = None
) -> NDArray[Any]:
    """What `dequantise` gives of `quantise`, with a gradient: that of a rounding is 1 (straight through).

    So the derivative by `x` is 1 where x / scale + zero_point is rounded to one of the integers, and 0 outside; that by
    `scale` is of S. Esser and others, Learned step size quantization, 2020. NaN stays NaN. Raises ValueError as `quantise`.
    """
    low, high = _limits(dtype)
    by = _along(scale, axis, x.ndim)
    v = x / by
    if v.dtype.itemsize < 4:
        v = v.astype(np.float32)
    zero = _along(np.asarray(zero_point), axis, x.ndim).astype(v.dtype)
    v = np.clip(v, low - EDGE - zero, high + EDGE - zero)
    return (v + stop_gradient(np.rint(v) - v)) * by


def _limits(dtype):
    """The least and the largest integer of a type."""
    info = np.iinfo(dtype)
    if info.bits > 16:
        raise ValueError("nt.quant: dtype is int8, uint8, int16 or uint16")
    return info.min, info.max


def _along(value, axis, rank):
    """A number, or one for each index of an axis, as arrays of a rank take it."""
    if axis is None or np.ndim(value) == 0:
        return value
    return np.expand_dims(value, tuple([k for k in range(rank) if k != axis % rank]))
