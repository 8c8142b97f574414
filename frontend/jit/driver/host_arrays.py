"""Arrays of any library in host memory as NumPy arrays, by `__array_interface__` or `__dlpack__`, without a copy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...interface.errors import DTypeError, UnsupportedError

_CPU, _CUDA_HOST = 1, 3
"""Kinds of devices, as DLPack numbers them, whose memory the CPU reads."""

_FAILURES = (BufferError, RuntimeError, TypeError, ValueError, AttributeError, KeyError, NotImplementedError)


class HostArrays:
    """A library that says nothing of how its arrays are made: results are NumPy arrays."""

    name = "numpy"

    def is_elsewhere(self, value: Any) -> bool:
        """Whether an array is in the memory of a device."""
        return not hasattr(type(value), "__array_interface__") and _device_of(value) not in (_CPU, _CUDA_HOST)

    def array_of(self, name: str, value: Any) -> np.ndarray:
        """The memory of the array that argument `name` is. Raises UnsupportedError."""
        if self.is_elsewhere(value):
            kind = type(value)
            raise elsewhere(name, f"a {kind.__module__}.{kind.__name__} in the memory of a device")
        try:
            interface = _interface(value)
            if interface is not None:
                array = _by_interface(name, interface, value)
            else:
                array = np.from_dlpack(value)
        except _FAILURES as error:
            array = self._otherwise(value)
            if array is None:
                raise _unreadable(name, value, error) from None
        if type(array) is not np.ndarray:
            raise _unreadable(name, value, "NumPy cannot make a plain array of it")
        return array

    def result_of(self, array: np.ndarray) -> Any:
        """A result as the caller gets it."""
        return array

    def scalar_of(self, scalar: np.generic) -> Any:
        """What stands for a NumPy scalar as a result."""
        return scalar

    def written(self, value: Any) -> None:
        """Nobody is to be told that an argument was written to."""

    def _otherwise(self, value: Any) -> np.ndarray | None:
        return None


class Namespace(HostArrays):
    """A library of the array API standard, such as JAX: results are copied into arrays of its own."""

    def __init__(self, space: Any):
        self.space = space
        self.name = space.__name__

    def __reduce__(self) -> Any:
        return _namespace, (self.name,)

    def result_of(self, array: np.ndarray) -> Any:
        """A copy of a result, for the library may take its arrays for constant. Raises DTypeError."""
        result = self.space.asarray(array, copy=True)
        dtype = str(getattr(result.dtype, "name", result.dtype)).rpartition(".")[2]
        if dtype != array.dtype.name:
            raise DTypeError(
                f"a result is {array.dtype}, which {self.name} makes {dtype}",
                hint="convert it in the function (.astype), or have the library keep it (jax_enable_x64)",
            )
        return result

    def scalar_of(self, scalar: np.generic) -> Any:
        """The array of rank 0 for a NumPy scalar."""
        return self.result_of(np.asarray(scalar))

    def device_result_of(self, array: Any) -> Any:
        """A copy of a CuPy array as an array of the library; CuPy's own where the library takes none."""
        take = getattr(self.space, "from_dlpack", None)
        return array if take is None else take(array.copy())

    def _otherwise(self, value: Any) -> np.ndarray | None:
        """What DLPack has no type for (bfloat16), to be read only: it may be a copy."""
        try:
            array = np.asarray(value)
        except _FAILURES:
            return None
        if array.dtype.hasobject:
            return None
        array.flags.writeable = False
        return array


def _namespace(name: str) -> Namespace:
    """The library that was pickled."""
    return Namespace(importlib.import_module(name))


class _Memory:
    """What NumPy needs to know of memory, which `owner` keeps."""

    def __init__(self, interface: dict[str, Any], owner: Any):
        self.__array_interface__ = interface
        self.owner = owner


def addressed(array: np.ndarray, owner: Any) -> np.ndarray:
    """The memory of an array as one that can be written; `owner` keeps it."""
    interface = dict(array.__array_interface__, data=(array.__array_interface__["data"][0], False))
    interface["strides"] = array.strides
    made = np.asarray(_Memory(interface, owner))
    return made if made.dtype == array.dtype else made.view(array.dtype)


def _interface(value: Any) -> Any:
    return getattr(value, "__array_interface__", None)


def _by_interface(name: str, interface: Any, value: Any) -> np.ndarray:
    if interface.get("mask") is not None:
        raise UnsupportedError(
            f"argument '{name}' is a {type(value).__name__} with a mask", hint="pass its data and its mask"
        )
    array = np.asarray(_Memory(interface, value))
    data = interface.get("data")
    if not isinstance(data, tuple):
        _check_bounds(array, value if data is None else data)
    return array


def _check_bounds(array: np.ndarray, buffer: Any) -> None:
    """Raise ValueError where elements lie outside of the buffer that is said to hold them, which NumPy believes."""
    held = np.frombuffer(buffer, np.uint8)
    first, end = np.lib.array_utils.byte_bounds(array)
    start, stop = np.lib.array_utils.byte_bounds(held)
    if array.size and not (start <= first and end <= stop):
        raise ValueError(f"its elements need more than the {held.nbytes} bytes of its buffer")


def _device_of(value: Any) -> int:
    """The kind of device that an array says it is on."""
    try:
        return int(value.__dlpack_device__()[0])
    except _FAILURES:
        return _CPU  # what is wrong with it is found where it is read


def elsewhere(name: str, what: str, instead: str | None = None) -> UnsupportedError:
    """The error of an array in the memory of a device, for a target that runs on the CPU."""
    way = "" if instead is None else f"pass {instead.replace('x.', f'{name}.', 1)}, or "
    return UnsupportedError(
        f"argument '{name}' is {what}, and this target computes in host memory",
        hint=f'{way}compile for a GPU: nt.jit(f, target="cuda")',
    )


def _unreadable(name: str, value: Any, why: Any) -> UnsupportedError:
    kind = type(value)
    text = str(why).strip().partition("\n")[0]
    return UnsupportedError(
        f"argument '{name}' is a {kind.__module__}.{kind.__name__} that cannot be used without a copy: {text}",
        hint=f"pass a NumPy array: np.asarray({name})",
    )
