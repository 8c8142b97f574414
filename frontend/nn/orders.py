"""Memory orders of images: channels may lie first or last, and strides say which."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_channels_last(x: Any) -> bool:
    """Whether the channels, axis 1, of a dense array lie side by side in memory, and the array is not row-major as well."""
    return np.isfortran(np.moveaxis(x, 1, -1).T) and not np.isfortran(x.T)
