"""A bounded pool of result buffers.

Touching fresh pages costs about 0.2 ms/MB, more than the kernel that fills them: a large result is therefore placed in a
buffer that an earlier result no longer uses. A buffer is free when nothing but the pool refers to it:
NumPy makes every view refer to the array that owns the memory, so the owner's reference count says whether
any result, view or exported buffer is alive.

`NESTOR_POOL=0` turns it off; `NESTOR_POOL_BYTES` bounds what is kept (default 512 MiB).
"""

from __future__ import annotations

import os
import sys
from math import prod

import numpy as np

from .fork_lock import ForkLock

SMALLEST = 1 << 20
"""Results of fewer bytes are allocated by NumPy, whose own cache is fast enough."""

ALIGNMENT = 64
"""Results, and copies of arguments, start at a multiple of this many bytes, a cache line."""


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array in rows that starts at a multiple of `ALIGNMENT`, in memory of its own."""
    memory = np.empty(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % ALIGNMENT)


PAGE = 4096

PLACE = PAGE // 2
"""Bytes of a page before a result of the pool.

A load whose address has the lowest 20 bits of a store just before it waits for that store on Intel's processors ("1 MB
aliasing"). Linux places large arrays at multiples of 2 MB, NumPy starts 16 bytes behind: a result on the next cache line
would be 48 bytes behind its arguments, so that loads of the next elements wait for the stores of these: three times as
long for a running sum of rows. Half a page is as good as no distance.
"""


def _free_position(buffers: list[np.ndarray], size: int, references: int) -> int | None:
    """Where a buffer of about `size` bytes stands that has no more than `references` references."""
    for position in range(len(buffers)):
        buffer = buffers[position]
        if size <= buffer.nbytes <= size + size // 8 and sys.getrefcount(buffer) <= references:
            return position
    return None


def _references_of_an_idle_buffer() -> int:
    """What `_free_position` counts for a buffer that only the list holds: measured, as it depends on the interpreter."""
    probe = [np.empty(1, np.uint8)]
    return next(n for n in range(1, 8) if _free_position(probe, 1, n) == 0)


_IDLE = _references_of_an_idle_buffer()


class ResultPool:
    """Buffers of dead results, most recently used last."""

    def __init__(self, limit: int):
        self.limit = limit
        self._buffers: list[np.ndarray] = []
        self._lock = ForkLock()

    def empty(
        self, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None
    ) -> np.ndarray:
        """An uninitialised array, as `np.empty`; `strides` in bytes, for other memory orders than row-major."""
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        if size < SMALLEST or size > self.limit:
            return np.ndarray(shape, dtype, strides=strides) if strides else np.empty(shape, dtype)
        buffer = self._take(size + PAGE)
        return np.ndarray(shape, dtype, buffer, (PLACE - buffer.ctypes.data) % PAGE, strides)

    def clear(self) -> None:
        """Forget every buffer; those still in use live on with their results."""
        with self._lock:
            self._buffers.clear()

    @property
    def held_bytes(self) -> int:
        """Bytes that the pool keeps alive, in use or not."""
        return sum(b.nbytes for b in self._buffers)

    def _take(self, size: int) -> np.ndarray:
        with self._lock:
            position = _free_position(self._buffers, size, _IDLE)
            if position is not None:
                self._buffers.append(self._buffers.pop(position))
                return self._buffers[-1]
            buffer = np.empty(size, np.uint8)
            self._buffers.append(buffer)
            self._evict()
            return buffer

    def _evict(self) -> None:
        """Drop the least recently used buffers until the pool is within its bound."""
        held = self.held_bytes
        while held > self.limit and len(self._buffers) > 1:
            held -= self._buffers.pop(0).nbytes


def _limit_from_environment() -> int:
    if os.environ.get("NESTOR_POOL", "1") == "0":
        return 0
    return int(os.environ.get("NESTOR_POOL_BYTES", 512 << 20))


POOL = ResultPool(_limit_from_environment())
"""The pool that compiled functions allocate their results from."""
