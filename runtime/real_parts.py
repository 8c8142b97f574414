"""Arrays of complex numbers as compiled code sees them: real numbers, with a last axis of 2."""

from __future__ import annotations

from typing import Any

import numpy as np

PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
"""The type of the parts of each complex type."""


def real_view(array: Any) -> Any:
    """The same memory, of any strides, with the parts of an element along a last axis (arrays of CuPy as well).

    >>> real_view(np.array([1 + 2j, 3j]))
    array([[1., 2.],
           [0., 3.]])
    """
    return array[..., None].view(PARTS[array.dtype])


def complex_view(array: np.ndarray) -> np.ndarray:
    """The complex numbers of a row-major array with the parts along its last axis.

    >>> complex_view(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([1.+2.j, 0.+3.j])
    """
    dtype = next(whole for whole, part in PARTS.items() if part == array.dtype)
    return array.view(dtype)[..., 0]
