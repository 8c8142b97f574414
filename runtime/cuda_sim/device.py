"""The simulator as a device: what a host plan allocates, copies and launches on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..abi import ERROR_WORDS
from .memory import GuardedMemory
from .module import SimModule


class SimDevice:
    """The simulator as a `Device`: fresh arrays are filled with NaNs, so that a missing write shows.

    Where accesses are seen, `memory` holds the arrays of the program that runs.
    """

    def __init__(self, module: SimModule, memory: GuardedMemory | None = None):
        self._module = module
        self._memory = memory

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array that holds nothing sensible."""
        if self._memory is not None:
            return self._memory.allocate(shape, dtype)
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        return array

    def view(self, memory: np.ndarray, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array in memory of others, which it overwrites; one of its own where accesses are seen."""
        if self._memory is not None:
            return self._memory.allocate(shape, dtype)
        array = np.ndarray(shape, dtype, memory, offset)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        return array

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the elements of an array."""
        np.copyto(target, source)
        if self._memory is not None:
            self._memory.copied(source, target)

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any], shared: int = 0
    ) -> None:
        """Run a kernel to its end, with `shared` bytes of shared memory beside what it declares."""
        self._module.launch(kernel, grid, block, arguments, shared_bytes=shared, memory=self._memory)

    def read_element(self, source: np.ndarray, index: tuple[int, ...]) -> Any:
        """An element as a Python number."""
        return source[index].item()

    def new_error_record(self) -> np.ndarray:
        """Four int64 zeros."""
        zeros = np.zeros(ERROR_WORDS, np.int64)
        if self._memory is None:
            return zeros
        record = self._memory.allocate(zeros.shape, zeros.dtype)
        self.copy(zeros, record)
        return record

    def read_error_record(self, record: np.ndarray) -> Sequence[int]:
        """Its content."""
        return record.tolist()
