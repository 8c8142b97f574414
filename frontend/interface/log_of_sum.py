"""The logarithm of a sum of exponentials, as NumPy runs it: compiled code has one reduction in its place."""

from __future__ import annotations

from typing import Any

import numpy as np


def log_of_sum(x: Any, axis: Any, keepdims: bool) -> Any:
    """log(sum(exp(x))) without overflow (`frontend/numpy_api/statistics/log_sums.py` compiles calls of it)."""
    largest = np.max(x, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    total = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.sum(total, axis=axis)
