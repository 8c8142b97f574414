"""Calls of programs for a GPU: arrays of the device come in and go out without copies, NumPy's are copied.

A call with an array of the device has results of its kind (CuPy's, PyTorch's, or of a library of the array API standard),
and scalars as arrays of rank 0: nothing waits for the device. A call with NumPy arrays only has NumPy's results. Arrays of
another device than the current one are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....dialects.tracebacks import boundary
from ....lowering.abi.kernel_signature import LARGEST_SMALL
from ....runtime.cuda.device_arrays import ALIGNMENT, fresh
from ...interface.argument_types import ArgumentType
from ...interface.errors import UnsupportedError
from ...interface.structures import LEAVES, Seen, Structure, is_spread
from ..call.invoke import Invocation
from ..specialise.arguments import Default, is_long, key_of, overlaps
from .adoption import Adoption, adoption
from .device_adoption import device_adoption
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

INTEGERS = (int, np.int32, np.int64)
VARYING = (*INTEGERS, float, np.float32, np.float64)
"""Types of numbers that a plan takes as they come, where nothing is decided by them."""

MOST_VALUES = 64
"""Maximum number of plans for values of integers that decide something, for calls that are alike otherwise."""


class CudaFunction(JitFunction):
    """A jitted function whose target is `cuda`.

    Calls that are like an earlier one follow its plan (`cuda/launch_plan.py`): results are allocated and kernels queued,
    nothing else. `JitFunction.__call__` answers the others.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        super().__init__(function, **options)
        self._planned: dict[Any, PlannedCall | ByValue | None] = {}

    def _take_signature(self) -> None:
        super()._take_signature()
        by_name = [p.name for p in self.signature.parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
        self._places = {name: self._names.index(name) for name in by_name}

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._look_again()
        if is_plain(self.function):
            return super().__call__(*args, **kwargs)
        cupy = loaded_cupy()
        taken = None if cupy is None else device_adoption(self, cupy, args, kwargs)
        if taken is None:
            return self._answered(cupy, args, kwargs)
        try:
            result = self._answered(cupy, taken.args, taken.kwargs)
        finally:
            taken.note_writes(self._written if self._has_out else {*self._written, "out"})
        return taken.results(result)

    def _answered(self, cupy: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call whose arrays of the device are CuPy's, by its plan where there is one."""
        asked = None if cupy is None or is_watched() else self._asked(cupy, args, kwargs)
        if asked is None:
            check_device()
            return super().__call__(*args, **kwargs)
        found: Any = self._planned.get(asked.key, _NEW)
        if type(found) is ByValue:
            found = found.plans.get(_integers(asked.values), _NEW if len(found.plans) < MOST_VALUES else None)
        if found is _NEW:
            return self._call_and_plan(cupy, args, kwargs)
        if found is not None and found.is_valid(self):
            try:
                result = found(asked.values, asked.out)
            except OverflowError:  # a number that a kernel takes in fewer bits: the general call says which
                return super().__call__(*args, **kwargs)
            self._hits += 1
            return result
        check_device()
        return super().__call__(*args, **kwargs)

    def _asked(self, cupy: Any, args: tuple, kwargs: dict[str, Any]) -> Asked | None:
        """What decides what a call does; None for calls without a plan."""
        out = None
        if kwargs and not self._has_out and "out" in kwargs:
            kwargs = dict(kwargs)
            out = kwargs.pop("out")
        names, values = self._names, self._in_order(args, kwargs)
        if values is None:
            return None
        if not self._is_flat(cupy, values):
            try:
                names, values, _ = self._spread_out(values, Seen())
            except UnsupportedError:
                return None  # the general call says where it is
        key = self._plan_key(cupy, names, values, _targets(out))
        return None if key is None else Asked(names, values, out, key)

    def _forget_all(self) -> None:
        super()._forget_all()
        self._planned.clear()

    def _in_order(self, args: tuple, kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """The arguments by the order of the parameters, defaults marked; None for calls that have no plan."""
        count, names = len(args), self._names
        if not self._plain or self._spreads or count > len(names):
            return None
        if not kwargs:
            return (*args, *self._defaults[count:]) if count >= self._required else None
        values = [*args, *self._defaults[count:]]
        given = {self._places.get(name, -1) for name in kwargs}
        if min(given) < count or not given.issuperset(range(count, self._required)):
            return None  # `out`, or a call that does not fit
        for name, value in kwargs.items():
            values[self._places[name]] = value
        return values

    def _is_flat(self, cupy: Any, values: Sequence[Any]) -> bool:
        """Whether no value is a structure."""
        array = cupy.ndarray
        return (
            all([type(v) is array or type(v) in _FLAT or not is_spread(v) for v in values])
            and not self._opened
        )

    def _plan_key(
        self, cupy: Any, names: Sequence[str], values: Sequence[Any], targets: Sequence[Any]
    ) -> Any:
        """What decides what a call with these leaves does, but for values of numbers; None for calls without a plan.
        `targets` are the arrays that the caller gives for results."""
        array = cupy.ndarray
        here = cupy.cuda.runtime.getDevice()
        parts: list[Any] = [here, len(targets)]
        for target in targets:
            if type(target) is not array or target.device.id != here:
                return None
            parts += (target.shape, target.strides, target.dtype, target.data.ptr % ALIGNMENT)
        for name, value in zip(names, values, strict=True):
            kind = type(value)
            if kind is array:
                if value.device.id != here:
                    return None  # refused
                parts += (value.shape, value.strides, value.dtype, value.data.ptr % ALIGNMENT)
            elif kind is Default:
                parts.append(Default)
            elif kind in (bool, str) or value is None or name in self._static or name in self._baked:
                parts.append((kind, key_of(value)))
            elif is_long(value):
                return None
            elif kind in VARYING:
                parts.append((kind, kind not in INTEGERS or abs(int(value)) < LARGEST_SMALL))
            elif kind is Structure:
                parts.append(key_of(value))
            else:
                return None
        if targets or self._writes():
            arrays = [v for v in (*values, *targets) if type(v) is array]
            parts.append(overlaps(descriptions(arrays)))
        return tuple(parts)

    def _call_and_plan(self, cupy: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Answer a call of a new kind; the next ones like it follow a plan, if there is one."""
        check_device()
        result = super().__call__(*args, **kwargs)
        asked = self._asked(cupy, args, kwargs)
        if asked is None:  # more is known of the function now
            return result
        invocation = self._invocations.get(self._signature_key(asked.names, asked.values))
        if len(self._planned) >= MAX_SIGNATURES:
            self._planned.clear()
        if invocation is None or invocation.touches:
            return result
        key = asked.key
        plan = self._planned.get(key)
        integers = _integers(asked.values)
        if plan is None:
            plan = PlannedCall.of(cupy, invocation, asked)
        if plan is None and integers:
            first = PlannedCall.of(cupy, invocation, asked, is_by_value=True)
            plan = None if first is None else ByValue({integers: first})
        elif type(plan) is ByValue:
            plan.plans[integers] = PlannedCall.of(cupy, invocation, asked, is_by_value=True)
        self._planned[key] = plan
        return result

    def _adoption(self, args: tuple, kwargs: dict[str, Any]) -> Adoption | None:
        """Arrays in host memory are NumPy's from here on; those of a device are adopted by CuPy."""
        return adoption(self, args, kwargs, leaves_devices=True)

    def _leaves(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list[str], list[Any], list[str | None]]:
        names, values, groups = super()._leaves(args, kwargs)
        return names, adopted(names, values), groups

    def _signature_key(self, names: Sequence[str], values: Sequence[Any]) -> Any:
        return (is_on_device(values), super()._signature_key(names, descriptions(values)))

    def _types(
        self, names: Sequence[str], values: Sequence[Any], groups: Sequence[str | None]
    ) -> tuple[ArgumentType, ...]:
        return super()._types(names, descriptions(values), groups)

    def _invocation(self, program: Any, kernel: Any, types: Any, values: Sequence[Any]) -> Invocation:
        return invocation_for(values)(program, kernel, types)


class Asked(NamedTuple):
    """A call: the names and values of its leaves, the caller's `out`, and what decides which plan it follows."""

    names: Sequence[str]
    values: Sequence[Any]
    out: Any
    key: Any


def _targets(out: Any) -> Sequence[Any]:
    """The arrays that a caller gives for results."""
    if out is None:
        return ()
    return out if isinstance(out, tuple | list) else (out,)


class PlannedCall:
    """A call of which everything is known but the addresses of arrays, and the values of numbers that decide nothing."""

    def __init__(
        self,
        invocation: DeviceInvocation,
        cupy: Any,
        launch: Callable[..., None],
        outputs: Sequence[tuple[tuple[int, ...], np.dtype]],
        count: int,
        targets: Mapping[int, int],
    ):
        self._invocation = invocation
        self._cupy = cupy
        self._launch = launch
        self._passed = invocation.passed
        self._takes_all = invocation.passed == list(range(count))
        program = invocation.program
        self._captured = bool(program.captured)
        self._outputs = outputs
        self._targets = targets
        """Outputs, and which of the arrays of `out` they are."""
        only = program.results
        is_only = not isinstance(only, tuple) and only.how == "output" and len(self._outputs) == 1
        self._is_array = (
            is_only and invocation.outputs[0].kind == "array" and invocation.outputs[0].order is None
        )

    @classmethod
    def of(
        cls, cupy: Any, invocation: Invocation, asked: Asked, is_by_value: bool = False
    ) -> PlannedCall | None:
        """The plan of calls like one that was answered by `invocation`, with the same integers if `is_by_value`; None where
        they have none."""
        values = asked.values
        if not isinstance(invocation, DeviceInvocation) or invocation.has_complex:
            return None
        try:  # without the values of integers
            names = {
                **invocation.names,
                **({k: values[k] for k in invocation.integers} if is_by_value else {}),
            }
            shapes = invocation._shapes(names)
        except KeyError:
            return None
        passed = [values[k] for k in invocation.passed]
        if not all(
            type(v) in (*VARYING, bool) or (isinstance(v, cupy.ndarray) and invocation.addressable(v))
            for v in passed
        ):
            return None
        arguments, _ = invocation._arguments(values)
        stored, given = invocation._buffers(shapes, asked.out, values)
        if any(stored[k] is not target for k, target in given.items()):
            return None  # elements are copied there
        varying = [kind for kind in VARYING if not is_by_value or kind not in INTEGERS]
        varies = [type(v) in varying for v in (*passed, *stored)]
        launch = invocation.kernel.plan(cupy, [*arguments, *stored], varies)
        if launch is None:
            return None
        outputs = [(array.shape, array.dtype) for array in stored]
        places = [id(one) for one in _targets(asked.out)]
        targets = {k: places.index(id(target)) for k, target in given.items()}
        return cls(invocation, cupy, launch, outputs, len(values), targets)

    def is_valid(self, function: JitFunction) -> bool:
        """Whether the globals that were compiled in have the values they had."""
        return not self._captured or function._still_valid(self._invocation.program)

    def __call__(self, values: Sequence[Any], out: Any = None) -> Any:
        """Queue the kernels; the results."""
        cupy, invocation = self._cupy, self._invocation
        if self._is_array and self._takes_all and out is None:
            result = fresh(cupy, *self._outputs[0])
            self._launch(*values, result)
            return result
        given = _targets(out)
        targets = {k: given[place] for k, place in self._targets.items()}
        stored = [
            targets[k] if k in targets else fresh(cupy, shape, dtype)
            for k, (shape, dtype) in enumerate(self._outputs)
        ]
        orders = invocation.orders
        passed = [values[k].transpose(orders[k]) if k in orders else values[k] for k in self._passed]
        self._launch(*passed, *stored)
        return invocation.assembled(stored, values, targets)


_FLAT = frozenset((*LEAVES, Default, *VARYING))
"""Types of values that are certainly no structures."""

_NEW: Any = object()
"""Instead of a plan: no call like this one has been made."""


class ByValue:
    """Instead of a plan: what is done depends on the values of integers, and there is a plan for each."""

    def __init__(self, plans: dict[Any, PlannedCall | None]):
        self.plans = plans


def _integers(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([v for v in values if type(v) in INTEGERS])
