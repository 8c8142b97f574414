"""Activations, and the softmax family.

Those that are one operation of the element table (erf, lgamma, the sigmoid) are functions of `dialects/special.py`, which
`nt.nn` exports as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.special import erf, sigmoid
from ..interface.log_of_sum import log_of_sum
from .composites import composite

__all__ = [
    "gelu",
    "log_softmax",
    "logsumexp",
    "relu",
    "silu",
    "softmax",
]

_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654


def relu(x: Any) -> Any:
    """max(x, 0)."""
    return np.maximum(x, 0)


def silu(x: Any) -> Any:
    """x times its sigmoid."""
    return x * sigmoid(x)


@composite
def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function at x; `approximate="tanh"` for the usual approximation."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_ROOT_TWO_OVER_PI * (x + 0.044715 * x * x * x)))
    if approximate != "none":
        raise ValueError("approximate is 'none' or 'tanh'")
    return 0.5 * x * (1 + erf(x * _ROOT_HALF))


@composite
def softmax(x: Any, axis: Any = -1) -> NDArray[Any]:
    """exp(x) along `axis`, divided by its sum."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@composite
def log_softmax(x: Any, axis: Any = -1) -> NDArray[Any]:
    """The logarithm of the softmax."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@composite
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) without overflow."""
    return log_of_sum(x, axis, keepdims)
