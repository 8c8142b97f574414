"""Arrays in other layouts: what random tests give programs beside contiguous ones."""

from __future__ import annotations

import numpy as np


def laid_out(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """An array of the same shape and type in another layout, mostly: by columns, backwards, every second row."""
    way = rng.integers(0, 4) if x.ndim else 0
    if way == 1:
        return np.asfortranarray(x)
    if way == 2:
        return x[..., ::-1]
    return np.repeat(x, 2, axis=0)[::2] if way == 3 else x
