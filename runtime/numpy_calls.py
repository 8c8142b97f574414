"""The functions of NumPy that compiled code calls, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NUMPY_CALLS: dict[str, Callable[..., Any]] = {
    "numpy.sort": np.sort,
}
