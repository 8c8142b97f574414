"""Where the chunks of a call are: in host memory as arrays of NumPy, or in that of a GPU as arrays of CuPy.

    memory = memory_of(arrays)              # DEVICE where one is CuPy's, else HOST
    with memory.on(blocks):                 # a task runs on the device that its chunks are on
        part = memory.empty((4, 3), dtype)

This is all that differs between them: slices, assignments and copies are written alike. CuPy is imported by nobody who has
no array of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import DeviceError
from ....runtime.pool import POOL
from ...interface.errors import DTypeError


@dataclass(frozen=True)
class HostMemory:
    """Memory of the host, with arrays of NumPy."""

    is_device = False

    def taken(self, block: Any) -> Any:
        """A chunk as an array of this memory. Raises DTypeError for one that is elsewhere."""
        try:
            return np.asarray(block)
        except TypeError as error:
            kind = type(block)
            raise DTypeError(
                f"chunks of a Dask array are {kind.__module__}.{kind.__qualname__} where it says numpy.ndarray: {error}",
                hint="say what map_blocks and from_delayed make: meta=",
            ) from None

    def on(self, blocks: Iterable[Any]) -> AbstractContextManager[Any]:
        """Where a task with these chunks runs."""
        return nullcontext()

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> Any:
        """A row-major array, not initialised."""
        return POOL.empty(tuple(shape), dtype)

    def meta(self, rank: int, dtype: np.dtype) -> Any:
        """What tells Dask of which kind chunks are: an array without elements."""
        return np.empty((0,) * rank, dtype)

    def is_aligned(self, array: Any) -> bool:
        """Whether each element is at a multiple of its size."""
        return array.flags.aligned

    def in_order(self, array: Any) -> Any:
        """The array in row-major order, with aligned elements: those that came from other processes may lie anywhere."""
        flags = array.flags
        return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A"))


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of a GPU, with arrays of CuPy."""

    is_device = True

    @property
    def _cupy(self) -> Any:
        from ....runtime.cuda.engine import load_cupy

        return load_cupy()

    def taken(self, block: Any) -> Any:
        """A chunk as an array of this memory: one of NumPy is copied to it."""
        return self._cupy.asarray(block)

    def on(self, blocks: Iterable[Any]) -> AbstractContextManager[Any]:
        """Where a task with these chunks runs: on their device. Raises DeviceError where they are on several."""
        cupy = self._cupy
        numbers = sorted({one.device.id for one in _arrays(blocks) if isinstance(one, cupy.ndarray)})
        if not numbers:
            return nullcontext()
        if len(numbers) > 1:
            raise DeviceError(
                f"a task needs chunks that are on GPU {' and GPU '.join(map(str, numbers))}",
                hint="one worker for each GPU (dask-cuda) has all chunks of its tasks on its own",
            )
        return cupy.cuda.Device(numbers[0])

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> Any:
        """A row-major array, not initialised."""
        from ....runtime.cuda.device_arrays import fresh

        return fresh(self._cupy, tuple(shape), dtype)

    def meta(self, rank: int, dtype: np.dtype) -> Any:
        """What tells Dask of which kind chunks are: an array without elements."""
        return self._cupy.empty((0,) * rank, dtype)

    def is_aligned(self, array: Any) -> bool:
        """Whether each element is at a multiple of its size."""
        return array.data.ptr % array.itemsize == 0

    def in_order(self, array: Any) -> Any:
        """The array in row-major order."""
        return array if array.flags.c_contiguous and self.is_aligned(array) else array.copy()


Memory = HostMemory | DeviceMemory

HOST, DEVICE = HostMemory(), DeviceMemory()


def is_cupy(kind: type) -> bool:
    """Whether a class is that of CuPy's arrays; CuPy is not imported to find out."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and issubclass(kind, cupy.ndarray)


def memory_of(arrays: Iterable[Any]) -> Memory:
    """Where the results of a call are: with chunks or arrays of CuPy, on the device."""
    kinds = (type(getattr(one, "_meta", one)) for one in arrays)
    return DEVICE if any(map(is_cupy, kinds)) else HOST


def _arrays(blocks: Iterable[Any]) -> Iterable[Any]:
    """The arrays among chunks, and in tuples and dictionaries of parts of them."""
    for one in blocks:
        if isinstance(one, tuple | dict):
            yield from _arrays(one.values() if isinstance(one, dict) else one)
        else:
            yield one
