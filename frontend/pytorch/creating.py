"""ATen operations that make tensors of no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_api.definitions import dtype_of, recorded, xp
from .numbers import number
from .table import row

_FLOAT = np.dtype(np.float32)
"""The dtype that is meant where none is said; results are in that of the graph in any case."""


def _full(size: Any, fill_value: Any, dtype: Any = None) -> Any:
    dtype = dtype or _of_number(fill_value)
    return recorded(np.full, tuple(size), number(fill_value, dtype), dtype)


def _of_number(value: Any) -> np.dtype:
    return np.dtype(bool if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float32)


def _full_like(self: Any, fill_value: Any, dtype: Any = None) -> Any:
    dtype = dtype or dtype_of(self)
    return recorded(np.full, self.shape, number(fill_value, dtype), dtype)


def _arange(start: Any, end: Any, step: Any = 1, dtype: Any = None) -> Any:
    """Integers, counted in 64 bits whatever the dtype of the result."""
    return recorded(np.arange, start, end, step)


row("aten.full.default", _full)
row("aten.zeros.default aten.empty.memory_format", lambda size, dtype=None: _full(size, 0, dtype or _FLOAT))
row("aten.ones.default", lambda size, dtype=None: _full(size, 1, dtype or _FLOAT))
row("aten.empty_permuted.default", lambda size, physical_layout, dtype=None: _full(size, 0, dtype or _FLOAT))
row("aten.full_like.default", _full_like)
row("aten.zeros_like.default aten.empty_like.default", lambda self, dtype=None: _full_like(self, 0, dtype))
row("aten.ones_like.default", lambda self, dtype=None: _full_like(self, 1, dtype))
row(
    "aten.new_full.default",
    lambda self, size, fill_value, dtype=None: _full(size, fill_value, dtype or dtype_of(self)),
)
row(
    "aten.new_zeros.default aten.new_empty.default",
    lambda self, size, dtype=None: _full(size, 0, dtype or dtype_of(self)),
)
row("aten.new_ones.default", lambda self, size, dtype=None: _full(size, 1, dtype or dtype_of(self)))
row("aten.scalar_tensor.default", lambda s, dtype=None: _full((), s, dtype))
row("aten.arange.start_step", _arange, takes=lambda given: _arange_takes(given))
row(
    "prims.iota.default",
    lambda length, start, step, dtype, requires_grad=False: _iota(length, start, step, dtype),
)
row("aten.eye.default", lambda n, dtype=None: recorded(np.eye, n, dtype=dtype or _FLOAT))
row("aten.eye.m", lambda n, m, dtype=None: recorded(np.eye, n, m, dtype=dtype or _FLOAT))


def _iota(length: Any, start: Any, step: Any, dtype: Any) -> Any:
    return (xp.multiply(recorded(np.arange, length), step) + start).astype(dtype)


def _arange_takes(given: Any) -> str | None:
    """Floating-point steps are counted by PyTorch in its own way."""
    bounds = [given.get(name, 0) for name in ("start", "end", "step")]
    return "a range of floating-point numbers" if any(isinstance(b, float) for b in bounds) else None
