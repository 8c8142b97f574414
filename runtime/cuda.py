"""Target `cuda`: a whole GPU program on CuPy arrays (`pip install cupy-cuda13x`).

Kernels are compiled for the device at hand by NVRTC (runtime/nvrtc.py) and loaded through CuPy, whose
stream and memory pool the program shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..dialects.diagnostic import NestorError
from .host_plan import ErrorRecord, HostPlan
from .nvrtc import compile_cubin

_HINT = 'target="cuda-sim" runs the same kernels on the CPU'


def load_cupy() -> Any:
    """The `cupy` module, once it is known that a device answers. Raises NestorError otherwise."""
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise NestorError(f"no CUDA device: CuPy is not installed ({error})", hint=_HINT) from error
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NestorError(f"no CUDA device: {error}", hint=_HINT) from error
    if devices == 0:
        raise NestorError("no CUDA device: the driver reports none", hint=_HINT)
    return cupy


class CudaDevice:
    """The current CuPy device as a `Device`."""

    def __init__(self, cupy: Any, source: str):
        self._cupy = cupy
        self._module = cupy.cuda.function.Module()
        capability = cupy.cuda.Device().compute_capability
        self._module.load(compile_cubin(source, f"sm_{capability}"))

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A row-major array from CuPy's pool, not initialised."""
        return self._cupy.empty(shape, dtype)

    def copy(self, source: Any, target: Any) -> None:
        """Copy the elements of an array, in stream order."""
        self._cupy.copyto(target, source)

    def launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any]) -> None:
        """Queue a kernel on the current stream."""
        self._module.get_function(kernel)(tuple(grid), tuple(block), arguments)

    def new_error_record(self) -> Any:
        """Four int64 zeros on the device."""
        return self._cupy.zeros(4, np.int64)

    def read_error_record(self, record: Any) -> Sequence[int]:
        """Its content, after waiting for the stream."""
        return record.get().tolist()


class CudaEngine:
    """A module of the gpu level on the current CuPy device.

    Call it with the arguments of the host function: CuPy arrays and scalars, outputs last. The result says
    how the program ended; turning it into an exception is up to the caller.
    """

    def __init__(self, module: ModuleOp, function: str | None = None):
        cupy = load_cupy()
        self.plan = HostPlan(module, function)
        self.device = CudaDevice(cupy, self.plan.cuda.source)

    def __call__(self, *arguments: Any) -> ErrorRecord:
        """Queue the program; waits for the device only where a check may fail."""
        return self.plan.run(self.device, arguments)
