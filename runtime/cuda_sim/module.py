"""A CUDA C text loaded into this process, and launches of its kernels on NumPy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError
from .build import build_library, kernel_names

_Extent3 = ctypes.c_uint * 3


class SimModule:
    """Kernels that run on the CPU.

    >>> text = 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }'
    >>> x = np.arange(4, dtype=np.int32)
    >>> SimModule(text).launch("twice", grid=(1,), block=(4,), args=[x])
    >>> x.tolist()
    [0, 2, 4, 6]
    """

    def __init__(self, source: str):
        self.source = source
        self.kernels = kernel_names(source)
        self._library = ctypes.CDLL(str(build_library(source)))
        self._library.sim_take_fault.restype = ctypes.c_char_p
        self._lock = threading.Lock()  # the library runs one launch at a time

    def launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        """Run a kernel on `grid` x `block` threads (x first; missing extents are 1).

        An argument is an array (its address is passed), a NumPy scalar (passed with its own type), or a
        Python int (`int`), float (`float`) or bool. Raises NestorError for a fault such as a deadlock.
        """
        if kernel not in self.kernels:
            raise NestorError(f"no kernel {kernel!r}", hint=f"kernels here: {', '.join(self.kernels)}")
        cells = [_cell(argument) for argument in args]
        pointers = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(cell) for cell in cells))
        run = getattr(self._library, f"sim_launch_{kernel}")
        with self._lock:
            failed = run(pointers, _extent3(grid, "grid"), _extent3(block, "block"))
            fault = self._library.sim_take_fault().decode() if failed else ""
        if failed:
            raise NestorError(f"kernel {kernel!r} failed in the CUDA simulator: {fault}")


def _extent3(extents: Sequence[int], what: str) -> ctypes.Array:
    if not 1 <= len(extents) <= 3 or any(extent < 0 for extent in extents):
        raise NestorError(f"a {what} has one to three extents that are not negative, not {tuple(extents)}")
    return _Extent3(*extents, *[1] * (3 - len(extents)))


def _cell(argument: Any) -> Any:
    """Memory that holds an argument as the kernel expects it."""
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.generic):
        return ctypes.create_string_buffer(argument.tobytes(), argument.itemsize)
    if isinstance(argument, bool):
        return ctypes.c_bool(argument)
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    if isinstance(argument, float):
        return ctypes.c_float(argument)
    raise NestorError(f"a kernel cannot take an argument of type {type(argument).__name__}")
