"""Memory for outputs: large buffers are used again, because fresh pages cost 0.2 ms a megabyte.

A buffer goes back to the pool when the array made on it, and every view of that array, is gone: each of them keeps the
buffer's handle alive as the end of its `base` chain. `NESTOR_POOL=0` turns the pool off.
"""

from __future__ import annotations

import os
import threading
from math import prod

import numpy as np

SMALLEST = 1 << 20
"""Smaller arrays come from NumPy, which keeps small blocks itself."""

CAPACITY = 1 << 29
"""Bytes that the pool holds at most while nobody uses them."""


class _Pool:
    """Idle blocks by size."""

    def __init__(self) -> None:
        self._idle: dict[int, list[np.ndarray]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> np.ndarray:
        with self._lock:
            blocks = self._idle.get(size)
            if blocks:
                self._bytes -= size
                return blocks.pop()
        return np.empty(size, np.uint8)

    def give(self, block: np.ndarray) -> None:
        # Called from a finalizer, perhaps while this thread is inside `take`: never wait.
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._bytes + block.nbytes <= CAPACITY:
                self._idle.setdefault(block.nbytes, []).append(block)
                self._bytes += block.nbytes
        finally:
            self._lock.release()


_pool = _Pool()
_enabled = os.environ.get("NESTOR_POOL", "1") != "0"


class _Handle:
    """Owns a block through the array interface; NumPy keeps it as the base of the array and of its views."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: np.ndarray):
        self._block = block
        self.__array_interface__ = block.__array_interface__

    def __del__(self) -> None:
        if _pool is not None:  # the module may be half gone at exit
            _pool.give(self._block)


def allocate(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A row-major array whose elements are not set."""
    size = prod(shape) * dtype.itemsize
    if size < SMALLEST or not _enabled:
        return np.empty(shape, dtype)
    return np.asarray(_Handle(_pool.take(size))).view(dtype).reshape(shape)
