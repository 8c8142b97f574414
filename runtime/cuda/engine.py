"""Target `cuda`: a whole GPU program on CuPy arrays (`pip install cupy-cuda13x`).

Kernels are compiled by NVRTC (cuda/nvrtc.py), for the device at hand or for an architecture that is named, and loaded
through CuPy, whose current stream and memory pool the program shares. Compiling needs no GPU; running does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ..abi import ERROR_WORDS
from ..errors import DeviceError
from .device_arrays import fresh
from .host_program import ErrorRecord, HostProgram
from .kernel_resources import with_launches
from .nvrtc import Cubin, compile_cubin, compile_for_device, compile_ptx

_HINT = 'target="cuda-sim" runs the same kernels on the CPU; compile(target="cuda", arch="sm_90") makes machine code here'
_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of the driver's interface."""
SHARED_UNASKED = 48 << 10
"""Shared memory that a launch gets without asking the driver first, in bytes."""


def load_cupy() -> Any:
    """The `cupy` module, once it is known that a device answers. Raises DeviceError otherwise."""
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DeviceError(f"no CUDA device: CuPy is not installed ({error})", hint=_HINT) from None
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"no CUDA device: {error}", hint=_HINT) from None
    if devices == 0:
        raise DeviceError("no CUDA device: the driver reports none", hint=_HINT)
    return cupy


class CudaDevice:
    """A CuPy device with the kernels of a program loaded, as a `Device`; use it while it is CuPy's current one."""

    def __init__(self, cupy: Any, image: Cubin, places: Mapping[str, SourceLocation | None]):
        self._cupy = cupy
        self._places = places
        self._last: str | None = None
        self._functions: dict[str, Callable[..., None]] = {}
        self._failures = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)
        self._module = cupy.cuda.function.Module()
        if image.image:
            with self._errors(f"the driver does not load what was compiled for {image.arch}"):
                self._module.load(image.image)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A row-major array from CuPy's pool, not initialised."""
        return fresh(self._cupy, shape, dtype)

    def view(self, memory: Any, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A row-major array in memory that was allocated as bytes."""
        return self._cupy.ndarray(shape, dtype, memory.data + offset)

    def copy(self, source: Any, target: Any) -> None:
        """Copy the elements of an array, in stream order."""
        self._cupy.copyto(target, source)

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any], shared: int = 0
    ) -> None:
        """Queue a kernel on the current stream, with `shared` bytes of shared memory beside what it declares."""
        self._last = kernel
        try:
            function = self._functions.get(kernel) or self._function(kernel, shared)
            function(grid, block, arguments, shared)
        except self._failures as error:
            raise self._error(f"the GPU does not run kernel '{kernel}'", error) from error

    def _function(self, kernel: str, shared: int) -> Callable[..., None]:
        function = self._functions[kernel] = self._module.get_function(kernel)
        if shared > SHARED_UNASKED:
            self._cupy.cuda.driver.funcSetAttribute(function.ptr, _DYNAMIC_SHARED, shared)
        return function

    def read_element(self, source: Any, index: tuple[int, ...]) -> Any:
        """An element as a Python number, after waiting for the stream."""
        with self._errors("the GPU stopped"):
            return source[index].item()

    def new_error_record(self) -> Any:
        """Four int64 zeros on the device."""
        return self._cupy.zeros(ERROR_WORDS, np.int64)

    def read_error_record(self, record: Any) -> Sequence[int]:
        """Its content, after waiting for the stream."""
        with self._errors("the GPU stopped"):
            return record.get().tolist()

    def fetch(self, source: Any, target: np.ndarray) -> None:
        """Copy an array of the device to one of NumPy, after waiting for the stream."""
        with self._errors("the GPU stopped"):
            if target.flags.c_contiguous:
                source.get(out=target)
            else:
                target[...] = source.get()

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            last = f", after kernel '{self._last}' was queued" if self._last else ""
            raise self._error(f"{what}{last}", error) from error

    def _error(self, what: str, error: Exception) -> DeviceError:
        return DeviceError(
            f"{what}: {error}",
            self._places.get(self._last or ""),
            hint='target="cuda-sim" runs the same kernels on the CPU, where a fault has its line',
        )


class CudaEngine:
    """A GPU program, compiled for `arch`, or without one for the current CuPy device.

    `kept` is machine code that was made of it before: devices of its architecture load it. Call it with the arguments of
    the host function: CuPy arrays and scalars, outputs last. The result says how the program ended; turning it into an
    exception is up to the caller.
    """

    def __init__(self, plan: HostProgram, arch: str | None = None, kept: Cubin | None = None):
        self.plan = plan
        self.arch = arch
        self._devices: dict[int, CudaDevice] = {}
        self._compiled: Cubin | None = kept
        if kept is not None:
            return
        if arch is None:
            self.device(load_cupy())
        elif self.cuda:
            self._compiled = self._with_launches(compile_cubin(self.cuda, arch))

    def __call__(self, *arguments: Any) -> ErrorRecord:
        """Queue the program on the current stream; waits for the device only where a check may fail."""
        return self.plan.run(self.device(load_cupy()), arguments)

    def device(self, cupy: Any) -> CudaDevice:
        """CuPy's current device with the kernels loaded."""
        number = cupy.cuda.runtime.getDevice()
        found = self._devices.get(number)
        if found is None:
            image = self._image(cupy, number)
            found = self._devices[number] = CudaDevice(cupy, image, self.plan.places)
        return found

    def _image(self, cupy: Any, number: int) -> Cubin:
        capability = int(cupy.cuda.Device(number).compute_capability)
        if not self.cuda:
            return Cubin(b"", f"sm_{capability}", ())
        if self.arch is not None:
            _check_runs(self.arch, capability)
            return self.cubin
        known = self._compiled
        if known is not None and known.arch == f"sm_{capability}":
            return known
        driver = cupy.cuda.runtime.driverGetVersion()
        image = compile_for_device(self.cuda, capability, (driver // 1000, driver % 1000 // 10))
        if self._compiled is None:
            self._compiled = self._with_launches(image)
        return image

    def _with_launches(self, image: Cubin) -> Cubin:
        """Machine code whose report counts the shared memory that launches add."""
        return replace(image, kernels=with_launches(image.kernels, self.plan.cuda.signatures.values()))

    @property
    def cuda(self) -> str:
        """The CUDA C text of the kernels; empty for a program that has none."""
        return self.plan.cuda.source

    @property
    def cubin(self) -> Cubin:
        """The machine code, with its report."""
        if self._compiled is None:
            raise NestorError("the program has no kernels, and no machine code")
        return self._compiled

    @property
    def ptx(self) -> str:
        """The PTX of the kernels for the same architecture; empty for a program that has none."""
        if not self.cuda:
            return ""
        return compile_ptx(self.cuda, self.cubin.arch.replace("sm_", "compute_"))


def _check_runs(arch: str, capability: int) -> None:
    """Refuse machine code of another generation than the device's, or of a later member of it."""
    number = int("".join(c for c in arch if c.isdigit()))
    if number // 10 == capability // 10 and number <= capability:
        return
    raise NestorError(
        f"this program is compiled for {arch}, and the device is of compute capability "
        f"{capability // 10}.{capability % 10}",
        hint=f'compile it with arch="sm_{capability}", or without arch for the device that is there',
    )
