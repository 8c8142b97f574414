"""Normalisation: of layers, by the root mean square, and of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .composites import composite


@composite
def standardised(x: Any, axis: Any, eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) over `axis`."""
    centred = x - np.mean(x, axis=axis, keepdims=True)
    variance = np.mean(centred * centred, axis=axis, keepdims=True)
    return centred / np.sqrt(variance + eps)


@composite
def divided_by_rms(x: Any, axis: Any, eps: float) -> Any:
    """x / sqrt(mean(x * x) + eps) over `axis`."""
    return x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + eps)


@composite
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, axis: Any = -1, eps: float = 1e-5
) -> NDArray[Any]:
    """(x - mean) / sqrt(var + eps) over `axis` (one or several), times `weight`, plus `bias`."""
    result = standardised(x, axis, eps)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result


@composite
def rms_norm(x: Any, weight: Any = None, axis: Any = -1, eps: float = 1e-6) -> NDArray[Any]:
    """x / sqrt(mean(x * x) + eps) over `axis`, times `weight`."""
    result = divided_by_rms(x, axis, eps)
    if weight is not None:
        result = result * weight
    return result


def _along(vector, x, axis):
    """A vector that belongs to `axis` of `x`, in a shape that broadcasts."""
    position = axis if axis >= 0 else axis + x.ndim
    return np.expand_dims(vector, tuple(range(1, x.ndim - position)))


@composite
def batch_norm(
    x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: Any = 1
) -> NDArray[Any]:
    """Inference: statistics, weight and bias (vectors along `axis`) folded into one scale and one shift."""
    scale = 1 / np.sqrt(var + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return x * _along(scale, x, axis) + _along(shift, x, axis)


def batch_norm_training(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: Any = 1
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Training: normalised by the statistics of this batch; returns the result, the mean, and the (biased) variance."""
    position = axis if axis >= 0 else axis + x.ndim
    others = ()
    for k in range(x.ndim):
        if k != position:
            others = (*others, k)
    mean = np.mean(x, axis=others, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=others, keepdims=True)
    result = standardised(x, others, eps)
    if weight is not None:
        result = result * _along(weight, x, position)
    if bias is not None:
        result = result + _along(bias, x, position)
    return result, np.squeeze(mean, others), np.squeeze(var, others)
