"""Programs called with arrays of a device: what they are taken for, and results that are CuPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....runtime.cuda.device_arrays import adopt, check_is_here, described, fresh
from ...interface.argument_types import ArgumentType
from ..call.invoke import Invocation


def adopted(names: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """The leaves of a call, arrays of other libraries as CuPy's or NumPy's; as they are where there is no CuPy.

    Raises NestorError for arrays of another device than the current one.
    """
    cupy = loaded_cupy()
    if cupy is None:
        return list(values)
    found = [adopt(cupy, value, name) for name, value in zip(names, values, strict=True)]
    for name, array in zip(names, found, strict=True):
        check_is_here(cupy, array, name)
    return found


def is_on_device(values: Sequence[Any]) -> bool:
    """Whether one of the values is a CuPy array."""
    cupy = loaded_cupy()
    return cupy is not None and any(isinstance(value, cupy.ndarray) for value in values)


def descriptions(values: Sequence[Any]) -> list[Any]:
    """The values, NumPy arrays without contents in the place of those on the device."""
    cupy = loaded_cupy()
    if cupy is None:
        return list(values)
    return [described(value) if isinstance(value, cupy.ndarray) else value for value in values]


def invocation_for(values: Sequence[Any]) -> type[Invocation]:
    """How a program is called with these values."""
    return DeviceInvocation if is_on_device(values) else Invocation


def check_device() -> None:
    """Raise NestorError unless a device answers."""
    from ....runtime.cuda.engine import load_cupy

    load_cupy()


def loaded_cupy() -> Any:
    """CuPy, where it is imported: nobody has an array of it otherwise."""
    return sys.modules.get("cupy")


class DeviceInvocation(Invocation):
    """A call whose results are CuPy arrays."""

    def __init__(self, program: Any, kernel: Any, types: Sequence[ArgumentType]):
        super().__init__(program, kernel, types)
        self._cupy = loaded_cupy()
        self.array_types = (self._cupy.ndarray, np.ndarray)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An array for a result."""
        return fresh(self._cupy, shape, dtype)

    def copy_to(self, target: Any, source: Any) -> None:
        """Copy the elements of an array, to the device or from it."""
        if isinstance(target, np.ndarray):
            target[...] = self._cupy.asnumpy(source)
        else:
            target[...] = self._cupy.asarray(source)

    def addressable(self, array: Any) -> bool:
        """Whether elements are aligned, and a whole number of elements apart."""
        if isinstance(array, np.ndarray):
            return super().addressable(array)
        return all(stride % array.itemsize == 0 for stride in array.strides)

    def is_apart(self, target: Any, values: Sequence[Any]) -> bool:
        """Whether an array shares no memory with an argument."""
        twin = described(target)
        return not any(
            isinstance(value, np.ndarray) and np.may_share_memory(value, twin)
            for value in descriptions(values)
        )
