"""Numbers of Python in the dtype of a tensor: wrapped where they do not fit, as PyTorch does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_api.definitions import is_symbol


def number(value: Any, dtype: Any) -> Any:
    """A number of the dtype; what is known at run time only is converted then."""
    if is_symbol(value):
        return value.astype(dtype)
    return np.asarray(value).astype(dtype)[()]
