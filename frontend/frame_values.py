"""Whether a global that was compiled in has changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .source import FunctionSource

_BY_VALUE = (bool, int, float, complex, str, type(None), np.generic)


def unchanged(source: FunctionSource, name: str, value: Any) -> bool:
    """Whether `name`, looked up from the function, still gives what it gave: the same object, or an equal scalar."""
    try:
        present = source.lookup(name)
    except (KeyError, ValueError):
        return False
    if present is value:
        return True
    return type(present) is type(value) and isinstance(value, _BY_VALUE) and repr(present) == repr(value)
