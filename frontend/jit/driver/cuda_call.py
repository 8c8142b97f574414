"""Calls of programs for a GPU: arrays of the device come in and go out without copies, NumPy's are copied.

A call with an array of the device (CuPy's, or by DLPack any other) has CuPy arrays as results, and scalars as CuPy arrays of
rank 0: nothing waits for the device. A call with NumPy arrays only has NumPy's results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....dialects.tracebacks import boundary
from ....runtime.cuda.device_arrays import ALIGNMENT, fresh
from ...interface.argument_types import ArgumentType
from ..call.invoke import Invocation
from .adoption import Adoption, adoption
from .device_calls import (
    DeviceInvocation,
    adopted,
    check_device,
    descriptions,
    invocation_for,
    is_on_device,
    loaded_cupy,
)
from .jit_function import MAX_SIGNATURES, JitFunction
from .nan_watch import is_watched
from .plain_calls import is_plain


class CudaFunction(JitFunction):
    """A jitted function whose target is `cuda`.

    Calls that are like an earlier one follow its plan (`cuda/launch_plan.py`): results are allocated and kernels queued,
    nothing else. `JitFunction.__call__` answers the others.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        super().__init__(function, **options)
        self._planned: dict[Any, PlannedCall | None] = {}

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._look_again()
        cupy = loaded_cupy()
        is_planned = not kwargs and cupy is not None and not (is_plain(self.function) or is_watched())
        key = self._plan_key(cupy, args) if is_planned else None
        if key is not None:
            found = self._planned.get(key, _NEW)
            if found is not None and found is not _NEW and found.is_valid(self):
                self._hits += 1
                return found(args)
            if found is _NEW:
                return self._call_and_plan(cupy, key, args)
        if not is_plain(self.function):
            check_device()
        return super().__call__(*args, **kwargs)

    def _forget_all(self) -> None:
        super()._forget_all()
        self._planned.clear()

    def _plan_key(self, cupy: Any, args: Sequence[Any]) -> Any:
        """What decides what a call with these arguments does; None for calls that have no plan."""
        if self._writes() or not self._plain or not self._required <= len(args) <= len(self._names):
            return None
        parts: list[Any] = [cupy.cuda.runtime.getDevice()]
        for arg in args:
            kind = type(arg)
            if kind is cupy.ndarray:
                parts += (arg.shape, arg.strides, arg.dtype, arg.data.ptr % ALIGNMENT)
            elif kind is float:
                parts.append(float)
            elif arg is None:
                parts.append(None)
            else:
                return None
        return tuple(parts)

    def _call_and_plan(self, cupy: Any, key: Any, args: tuple) -> Any:
        """Answer a call of a new kind; the next ones like it follow a plan, if there is one."""
        check_device()
        result = super().__call__(*args)
        names, values, _ = self._leaves(args, {})
        invocation = self._invocations.get(self._signature_key(names, values))
        if len(self._planned) >= MAX_SIGNATURES:
            self._planned.clear()
        has_numbers = any(type(arg) is float for arg in args)
        is_by_value = has_numbers and bool(self._static or self._baked)
        if invocation is not None and not is_by_value and not self._writes():
            self._planned[key] = PlannedCall.of(cupy, invocation, values, len(args))
        return result

    def _adoption(self, args: tuple, kwargs: dict[str, Any]) -> Adoption | None:
        """Arrays in host memory are NumPy's from here on; those of a device are adopted by CuPy."""
        return adoption(self, args, kwargs, leaves_devices=True)

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


class PlannedCall:
    """A call of which everything is known but the addresses of arrays and the values of floats."""

    def __init__(
        self,
        invocation: DeviceInvocation,
        cupy: Any,
        launch: Callable[..., None],
        outputs: Sequence[tuple[tuple[int, ...], np.dtype]],
        values: Sequence[Any],
        count: int,
    ):
        self._invocation = invocation
        self._cupy = cupy
        self._launch = launch
        self._defaults = tuple(values[count:])
        self._passed = invocation.passed
        self._takes_all = invocation.passed == list(range(count))
        program = invocation.program
        self._captured = bool(program.captured)
        self._outputs = outputs
        only = program.results
        is_only = not isinstance(only, tuple) and only.how == "output" and len(self._outputs) == 1
        self._is_array = (
            is_only and invocation.outputs[0].kind == "array" and invocation.outputs[0].order is None
        )

    @classmethod
    def of(cls, cupy: Any, invocation: Invocation, values: Sequence[Any], count: int) -> PlannedCall | None:
        """The plan of calls like one that was answered by `invocation`; None where they have none."""
        if (
            not isinstance(invocation, DeviceInvocation)
            or invocation.shapes is None
            or invocation.has_complex
        ):
            return None
        passed = [values[k] for k in invocation.passed]
        if not all(
            type(v) is float or (isinstance(v, cupy.ndarray) and invocation.addressable(v)) for v in passed
        ):
            return None
        arguments, _ = invocation._arguments(values)
        stored, _ = invocation._buffers(invocation.shapes, None, values)
        launch = invocation.kernel.plan(cupy, [*arguments, *stored])
        if launch is None:
            return None
        return cls(invocation, cupy, launch, [(array.shape, array.dtype) for array in stored], values, count)

    def is_valid(self, function: JitFunction) -> bool:
        """Whether the globals that were compiled in have the values they had."""
        return not self._captured or function._still_valid(self._invocation.program)

    def __call__(self, args: Sequence[Any]) -> Any:
        """Queue the kernels; the results."""
        cupy, invocation = self._cupy, self._invocation
        if self._is_array and self._takes_all:
            result = fresh(cupy, *self._outputs[0])
            self._launch(*args, result)
            return result
        values = (*args, *self._defaults)
        stored = [fresh(cupy, shape, dtype) for shape, dtype in self._outputs]
        self._launch(*[values[k] for k in self._passed], *stored)
        return invocation.assembled(stored, values)


_NEW: Any = object()
"""Instead of a plan: no call like this one has been made."""
