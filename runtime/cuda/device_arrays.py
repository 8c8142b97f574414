"""Arrays of a GPU, as calls give and take them: CuPy's own, those of any DLPack producer, and NumPy's, which are copied.

CuPy is not imported here: its module is passed, so that a stand-in can take its place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError
from ..errors import DeviceMemoryError

ALIGNMENT = 16
"""The alignment in bytes that kernels ask about."""

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
"""Kinds of devices that DLPack numbers."""


def adopt(cupy: Any, value: Any, name: str = "") -> Any:
    """An argument of a call as a CuPy or NumPy array, without a copy; what no library knows as an array stays as it is.

    Arrays of a GPU come by `__dlpack__` or `__cuda_array_interface__` (PyTorch, JAX, Numba); those in host
    memory by `__dlpack__`. Errors say that it is argument `name`, where one is given.
    """
    if isinstance(value, (cupy.ndarray, np.ndarray, np.generic, type)):
        return value
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _by_dlpack(cupy, value, name)
    if hasattr(value, "__cuda_array_interface__"):
        return cupy.asarray(value)
    return value


def is_elsewhere(value: Any) -> bool:
    """Whether a value is an array of another library that is not in host memory."""
    if isinstance(value, (np.ndarray, np.generic, type)):
        return False
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) not in (_CPU, _CUDA_HOST)
    return hasattr(value, "__cuda_array_interface__")


def check_is_here(cupy: Any, array: Any, name: str) -> None:
    """Raise NestorError for an array of another device than CuPy's current one, on which kernels run."""
    if isinstance(array, cupy.ndarray) and array.device.id != (here := cupy.cuda.runtime.getDevice()):
        raise _on_other_device(f"argument '{name}'", array.device.id, here)


def _on_other_device(what: str, there: int, here: int) -> NestorError:
    return NestorError(
        f"{what} is on GPU {there}, and the current device, which would run the kernels, is GPU {here}",
        hint=f"call it under `with cupy.cuda.Device({there}):`, with all arrays there, or copy the array to GPU {here}",
    )


def _by_dlpack(cupy: Any, value: Any, name: str) -> Any:
    kind, number = map(int, value.__dlpack_device__())
    what = f"{type(value).__module__}.{type(value).__name__}"
    take = {
        _CPU: np.from_dlpack,
        _CUDA_HOST: np.from_dlpack,
        _CUDA: cupy.from_dlpack,
        _CUDA_MANAGED: cupy.from_dlpack,
    }
    of = f"argument '{name}', " if name else ""
    if kind not in take:
        raise NestorError(
            f"{of}a {what} on a device of kind {kind} (DLPack's number) is neither on a CUDA device nor in host memory",
            hint="move it to the GPU first",
        )
    here = cupy.cuda.runtime.getDevice()
    if kind == _CUDA and number != here:
        raise _on_other_device(f"{of}a {what}" if of else f"a {what}", number, here)
    try:
        return take[kind](value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise NestorError(
            f"{of}this {what} cannot be used without a copy: {error}",
            hint="a tensor that records gradients has to be detached; complex numbers are not supported",
        ) from error


def fresh(cupy: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A row-major array from CuPy's pool, not initialised."""
    try:
        return cupy.empty(shape, dtype)
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise DeviceMemoryError(
            f"the GPU has no memory for an array of shape {tuple(shape)} and type {dtype}: {error}"
        ) from error


class _Description:
    """What NumPy needs to know of an array, without its elements."""

    def __init__(self, array: Any):
        self.__array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (array.data.ptr, False),
            "version": 3,
        }


def described(array: Any) -> np.ndarray:
    """A NumPy array with the address, shape, strides and type of one on a GPU: to be asked about these, never to be read."""
    twin = np.asarray(_Description(array))
    return twin if twin.dtype == array.dtype else twin.view(array.dtype)


class Transfer:
    """The arguments of one call on the device; `back` copies what was written to where it belongs.

    `roles` says of each argument whether it is read (`in`), written (`out`) or both (`inout`).
    """

    def __init__(self, cupy: Any, arguments: Sequence[Any], roles: Sequence[str]):
        self._cupy = cupy
        self._fetched: list[tuple[Any, np.ndarray]] = []
        blocks = self._shared_blocks(arguments, roles)
        self.on_device = [
            self._place(argument, role, blocks) for argument, role in zip(arguments, roles, strict=True)
        ]

    def _place(self, argument: Any, role: str, blocks: list[tuple[int, int, Any]]) -> Any:
        if not isinstance(argument, np.ndarray):
            return argument
        if role == "out":
            moved = fresh(self._cupy, argument.shape, argument.dtype)
        elif (block := _block_of(argument, blocks)) is not None:
            start, _, memory = block
            offset = argument.__array_interface__["data"][0] - start
            moved = self._cupy.ndarray(
                argument.shape, argument.dtype, memory.data + offset, strides=argument.strides
            )
        else:
            moved = self._cupy.asarray(argument)
        if role != "in":
            self._fetched.append((moved, argument))
        return moved

    def _shared_blocks(self, arguments: Sequence[Any], roles: Sequence[str]) -> list[tuple[int, int, Any]]:
        """Memory that several arguments share and one writes, copied whole: start, end, and its bytes on the device."""
        spans = [_span(a) for a in arguments if isinstance(a, np.ndarray) and a.size]
        if "inout" not in roles or len(spans) < 2:
            return []
        merged: list[tuple[int, int, int]] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                first, last, count = merged[-1]
                merged[-1] = (first, max(last, end), count + 1)
            else:
                merged.append((start, end, 1))
        return [
            (start, end, self._cupy.asarray(_bytes_at(start, end)))
            for start, end, count in merged
            if count > 1
        ]

    def back(self, device: Any) -> None:
        """Copy what the program wrote to the arrays of NumPy, after waiting for it."""
        for source, target in self._fetched:
            device.fetch(source, target)


def _span(array: np.ndarray) -> tuple[int, int]:
    """The first byte of the elements of an array, and the one after the last."""
    start = end = array.__array_interface__["data"][0]
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        start, end = start + min(reach, 0), end + max(reach, 0)
    return start, end + array.itemsize


def _bytes_at(start: int, end: int) -> np.ndarray:
    memory: Any = (ctypes.c_ubyte * (end - start)).from_address(start)
    return np.frombuffer(memory, np.uint8)


def _block_of(array: np.ndarray, blocks: list[tuple[int, int, Any]]) -> tuple[int, int, Any] | None:
    if not array.size:
        return None
    start, end = _span(array)
    return next((block for block in blocks if block[0] <= start and end <= block[1]), None)
