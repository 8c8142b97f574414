"""Calls of programs for a GPU: arrays of the device come in and go out without copies, NumPy's are copied.

A call with an array of the device (CuPy's, or by DLPack any other) has CuPy arrays as results, and scalars as CuPy arrays of
rank 0: nothing waits for the device. A call with NumPy arrays only has NumPy's results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..runtime.device_arrays import adopt, described, fresh
from .invoke import Invocation
from .jit import JitFunction
from .specialise import ArgumentType


class CudaFunction(JitFunction):
    """A jitted function whose target is `cuda`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..runtime.cuda import load_cupy

        load_cupy()
        return super().__call__(*args, **kwargs)

    def _leaves(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list[str], list[Any], list[str | None]]:
        names, values, groups = super()._leaves(args, kwargs)
        return names, adopted(values), groups

    def _signature_key(self, names: Sequence[str], values: Sequence[Any]) -> Any:
        return (is_on_device(values), super()._signature_key(names, descriptions(values)))

    def _types(
        self, names: Sequence[str], values: Sequence[Any], groups: Sequence[str | None]
    ) -> tuple[ArgumentType, ...]:
        return super()._types(names, descriptions(values), groups)

    def _invocation(self, program: Any, kernel: Any, types: Any, values: Sequence[Any]) -> Invocation:
        return invocation_for(values)(program, kernel, types)


def adopted(values: Sequence[Any]) -> list[Any]:
    """The leaves of a call, arrays of other libraries as CuPy's or NumPy's; as they are where there is no CuPy."""
    cupy = _cupy()
    return list(values) if cupy is None else [adopt(cupy, value) for value in values]


def is_on_device(values: Sequence[Any]) -> bool:
    """Whether one of the values is a CuPy array."""
    cupy = _cupy()
    return cupy is not None and any(isinstance(value, cupy.ndarray) for value in values)


def descriptions(values: Sequence[Any]) -> list[Any]:
    """The values, NumPy arrays without contents in the place of those on the device."""
    cupy = _cupy()
    if cupy is None:
        return list(values)
    return [described(value) if isinstance(value, cupy.ndarray) else value for value in values]


def invocation_for(values: Sequence[Any]) -> type[Invocation]:
    """How a program is called with these values."""
    return DeviceInvocation if is_on_device(values) else Invocation


def _cupy() -> Any:
    """CuPy, where it is imported: nobody has an array of it otherwise."""
    import sys

    return sys.modules.get("cupy")


class DeviceInvocation(Invocation):
    """A call whose results are CuPy arrays."""

    def __init__(self, program: Any, kernel: Any, types: Sequence[ArgumentType]):
        super().__init__(program, kernel, types)
        self._cupy = _cupy()
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
