"""Which arguments are arrays of Dask. Dask is not imported to find out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any


def is_dask(value: Any) -> bool:
    """Whether a value is an array of Dask; Dask is not imported for it."""
    module = sys.modules.get("dask.array.core")
    return module is not None and isinstance(value, module.Array)


def has_dask(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has arrays of Dask, in tuples and lists and dicts too."""
    return "dask.array.core" in sys.modules and any(map(_contains, (*args, *kwargs.values())))


def _contains(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_contains, value))
    if isinstance(value, dict):
        return any(map(_contains, value.values()))
    return is_dask(value)
