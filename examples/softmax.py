"""Softmax of each row, in plain NumPy: one nest, compiled once for all shapes with `nt.jit(..., dynamic=True)`."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    result: Array = e / np.sum(e, axis=1, keepdims=True)
    return result
