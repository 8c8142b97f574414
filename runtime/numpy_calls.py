"""The functions of NumPy that compiled code calls, by name: operands in order, what else they take by keyword."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _lexsort(*keys: np.ndarray, axis: int, table: bool) -> np.ndarray:
    return np.lexsort(keys[0] if table else keys, axis=axis)


def _searchsorted(a: np.ndarray, v: np.ndarray, sorter: Any = None, *, side: Any) -> Any:
    return np.searchsorted(a, v, side=side, sorter=sorter)


NUMPY_CALLS: dict[str, Callable[..., Any]] = {
    "numpy.sort": np.sort,
    "numpy.argsort": np.argsort,
    "numpy.partition": np.partition,
    "numpy.argpartition": np.argpartition,
    "numpy.lexsort": _lexsort,
    "numpy.searchsorted": _searchsorted,
    "numpy.digitize": np.digitize,
    "numpy.interp": np.interp,
}
