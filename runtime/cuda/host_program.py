"""A GPU program as data: the text of its host function, which runs on any device, and how its kernels are called.

`host_plan.py` makes one of a module, and the disk keeps it: nothing here imports xDSL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ...lowering.abi.error_codes import FACTS, RAISED
from ...lowering.abi.kernel_signature import LARGEST_SMALL, CudaModule
from .. import scalars
from .launch_arguments import Packer, packer_of


class ErrorRecord(NamedTuple):
    """How a program ended: `code` 0 is success, the rest as in docs/levels/llvm.md."""

    code: int = 0
    site: int = 0
    value: int = 0
    extent: int = 0
    numbers: tuple[int, ...] = ()
    """Those of a `raise`, as 64-bit words."""


class Device(Protocol):
    """Where a plan runs. Arrays have `shape`, `strides` (bytes) and `itemsize`, as in NumPy and CuPy."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A fresh row-major array."""
        ...

    def view(self, memory: Any, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A row-major array in memory that was allocated as bytes; what it holds is not defined."""
        ...

    def copy(self, source: Any, target: Any) -> None:
        """Copy the elements of an array."""
        ...

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any], shared: int = 0
    ) -> None:
        """Run a kernel with `shared` bytes of shared memory; an argument is an array of this device or a NumPy scalar."""
        ...

    def read_element(self, source: Any, index: tuple[int, ...]) -> Any:
        """An element as a Python number, once all kernels so far have finished."""
        ...

    def new_error_record(self) -> Any:
        """An array of `ERROR_WORDS` int64 zeros."""
        ...

    def read_error_record(self, record: Any) -> Sequence[int]:
        """Its content, once all kernels so far have finished."""
        ...


class _Stopped(Exception):
    """A check failed: nothing more of the program runs."""

    def __init__(self, record: ErrorRecord):
        self.record = record


class HostProgram:
    """A GPU program: the text of its kernels, and its host function ready to run.

    `parameters` are the types of numbers by name (`scalars.named_scalar`), None for arrays; `places` say where in the
    Python source each kernel comes from, by its name in CUDA C.
    """

    def __init__(
        self,
        name: str,
        source: str,
        parameters: tuple[str | None, ...],
        cuda: CudaModule,
        places: dict[str, SourceLocation | None],
        has_small_indices: bool,
    ):
        self.name = name
        self.source = source
        self.parameters = parameters
        self.cuda = cuda
        self.places = places
        self._has_small_indices = has_small_indices
        self._function = self._compiled(functions_of(source))
        self._packers = {name: packer_of(signature) for name, signature in cuda.signatures.items()}

    @property
    def names(self) -> list[str]:
        """The names of the arguments of the host function."""
        head = self.source.partition("(")[2].partition(")")[0]
        return head.split(", ")[1:]

    def as_data(self) -> tuple[Any, ...]:
        """What makes it again: plain data."""
        return self.name, self.source, self.parameters, self.cuda, self.places, self._has_small_indices

    def run(self, device: Device, arguments: Sequence[Any]) -> ErrorRecord:
        """Run the program on `device` with the arguments of the host function, outputs last."""
        if len(arguments) != len(self.parameters):
            raise NestorError(f"{self.name} takes {len(self.parameters)} arguments, not {len(arguments)}")
        values = [
            value if kind is None else scalars.named_scalar(value, kind)
            for value, kind in zip(arguments, self.parameters, strict=True)
        ]
        try:
            with np.errstate(all="ignore"):
                run = _Run(device, self._packers, self._has_small_indices)
                self._function(run, *values)
        except _Stopped as stop:
            return stop.record
        return ErrorRecord()

    def record(
        self, device: Any, packers: Mapping[str, Packer], names: Mapping[str, Any], values: Sequence[Any]
    ) -> None:
        """Run the host function with other packers and functions of scalars: for who writes down what it does."""
        try:
            self._compiled(names)(_Run(device, packers, self._has_small_indices), *values)
        except _Stopped as stop:
            raise TypeError("a check fails") from stop

    def _compiled(self, names: Mapping[str, Any]) -> Callable[..., None]:
        namespace = dict(names)
        exec(compile(self.source, f"<host function {self.name}>", "exec"), namespace)
        return namespace["host"]


@dataclass
class _Run:
    """One execution: what the translated function calls."""

    device: Device
    packers: Mapping[str, Packer]
    has_small_indices: bool = False
    record: Any = None

    def arena(self, size: int) -> Any:
        """Memory for several temporaries, in bytes."""
        return self.device.allocate((size,), np.dtype(np.int8))

    def view(self, arena: Any, offset: int, shape: tuple[int, ...], dtype: str) -> Any:
        """A temporary in an arena."""
        self._check_size(shape)
        return self.device.view(arena, offset, shape, np.dtype(dtype))

    def allocate(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A temporary of its own."""
        self._check_size(shape)
        return self.device.allocate(shape, np.dtype(dtype))

    def _check_size(self, shape: tuple[int, ...]) -> None:
        if self.has_small_indices and math.prod(shape) > LARGEST_SMALL:
            raise NestorError(
                f"a temporary array of shape {shape} is too large for kernels with 32-bit indices",
                hint="compile with 64-bit indices: convert-nest-to-gpu{index-bits=64}, or for static extents",
            )

    def copy(self, source: Any, target: Any) -> None:
        self.device.copy(source, target)

    def element(self, source: Any, index: tuple[int, ...], element: str) -> Any:
        """An element of an array of the device, once all kernels so far have finished."""
        return scalars.named_scalar(self.device.read_element(source, index), element)

    def collapse(self, source: Any, groups: tuple[tuple[int, ...], ...]) -> Any:
        """A view whose axes are groups of those of a row-major array."""
        if not source.flags.c_contiguous:
            raise NestorError(
                f"an array of shape {source.shape} is not contiguous, and its axes are collapsed"
            )
        return source.reshape([math.prod(source.shape[k] for k in group) for group in groups])

    def address(self, source: Any) -> int:
        """Where element zero of an array is."""
        return source.__array_interface__["data"][0] if isinstance(source, np.ndarray) else source.data.ptr

    def check(self, condition: Any, code: int, site: int, value: Any, extent: Any) -> None:
        if not condition:
            raise _Stopped(ErrorRecord(code, site, int(value), int(extent)))

    def stop(self, site: int, *numbers: Any) -> None:
        """A `raise` with numbers."""
        raise _Stopped(ErrorRecord(RAISED, site, 0, 0, tuple([int(n) for n in numbers])))

    def launch(self, kernel: str, grid: tuple, block: tuple, operands: tuple) -> None:
        x, y, z = grid
        if x <= 0 or y <= 0 or z <= 0:
            return
        if x > GRID_LIMITS[0] or y > GRID_LIMITS[1] or z > GRID_LIMITS[2]:
            check_grid(kernel, grid)
        name, can_fail, shared, pack = self.packers[kernel]
        if can_fail and self.record is None:
            self.record = self.device.new_error_record()
        self.device.launch(name, grid, block, pack(operands, self.record), shared)
        if not can_fail:
            return
        words = [int(word) for word in self.device.read_error_record(self.record)]
        if words[0]:
            numbers = tuple(words[FACTS:]) if words[0] == RAISED else ()
            code, site, value, extent = words[:FACTS]
            raise _Stopped(ErrorRecord(code, site, value, extent, numbers))


GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)
"""Maximum number of blocks along x, y and z, on every CUDA device."""


def functions_of(source: str) -> Mapping[str, Any]:
    """The functions of scalars that a host function may call; those of the `special` dialect where it does."""
    if set(re.findall(r"\b([a-z_]\w*)\(", source)) <= {*scalars.NAMESPACE, *_PYTHON}:
        return scalars.NAMESPACE
    from .. import scalar_eval

    return scalar_eval.NAMESPACE


_PYTHON = ("abs", "bool", "float", "host", "int", "len", "max", "min", "range")


def check_grid(kernel: str, grid: Sequence[int]) -> None:
    """Refuse a grid that no device launches; the simulator has no such limit, and would hide it."""
    for axis, extent, limit in zip("xyz", grid, GRID_LIMITS, strict=True):
        if extent > limit:
            raise NestorError(
                f"kernel '{kernel}' needs a grid of {extent} blocks along {axis}; CUDA launches at most {limit}",
                hint="bind the loop with the most iterations to block.x, or compile for static extents",
            )


def is_small(argument: Any) -> bool:
    """Whether 32-bit indices reach every element and extent of an array, or hold an integer."""
    if isinstance(argument, int | np.integer):
        return abs(int(argument)) < LARGEST_SMALL
    shape = getattr(argument, "shape", ())
    if not shape:
        return True
    span = sum((n - 1) * abs(s) for n, s in zip(shape, argument.strides, strict=True))
    return span // argument.itemsize < LARGEST_SMALL and max(shape) < LARGEST_SMALL
