"""What a specialisation depends on: the type of each argument, and how array arguments overlap in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...dialects.records import changed, record
from .errors import UnsupportedError
from .static_values import distinction, hashable, why_refused

Dim = int | str
"""A static extent, or the name of an unknown one."""


@record
class ArgumentType:
    """One argument of a specialisation.

    `kind` is `array`, `int`, `float`, `bool`, `complex` (Python numbers passed at run time), `scalar` (a NumPy
    scalar), `static` (baked in: `value`) or `same` (the very array of argument number `value`). `order` is set for
    arrays that are contiguous in another than row-major order: axes from the outermost; `memory_order` for the other
    strided ones, which only says in which order results are laid out. `layout` is `c`, `strided`, or `folded`:
    strided, may be written, and some of its elements share memory. `witness` are the extents of the call being
    compiled; `text` tells static values apart that compare equal.
    """

    name: str
    kind: str
    dtype: np.dtype | None = None
    extents: tuple[Dim, ...] = ()
    witness: tuple[int | None, ...] = ()
    layout: str = "c"
    order: tuple[int, ...] | None = None
    memory_order: tuple[int, ...] | None = None
    read_only: bool = False
    overlap: int | None = None
    value: Any = None
    text: str = ""
    group: str | None = None
    constant: bool = False
    """Whether the elements of this array are the same in every call that passes it."""

    def dims(self) -> list[tuple[Dim, int | None]]:
        """Each extent with its value in the call being compiled, where there is one."""
        witness = self.witness or (None,) * len(self.extents)
        return list(zip(self.extents, witness, strict=True))

    def __str__(self) -> str:
        if self.kind == "static":
            return f"{self.name} = {self.value!r}"
        if self.kind == "array":
            shape = ", ".join(map(str, self.extents))
            layout = (
                ""
                if self.layout == "c" and not self.order
                else ", strided"
                if not self.order
                else ", transposed"
            )
            return f"{self.name}: {self.dtype}[{shape}]{layout}"
        if self.kind == "same":
            return f"{self.name}: the same array as argument {self.value}"
        return f"{self.name}: {self.dtype if self.kind == 'scalar' else self.kind}"


def argument_type(name: str, value: Any, *, mutates: bool, group: str | None = None) -> ArgumentType:
    """The type of a run-time value, all extents static. Raises UnsupportedError for what cannot be passed."""
    if isinstance(value, np.ndarray):
        return _array_type(name, value, mutates, group)
    if isinstance(value, np.generic):
        _check_dtype(name, value.dtype)
        return ArgumentType(name, "scalar", value.dtype, group=group)
    if isinstance(value, bool):
        return ArgumentType(name, "bool", np.dtype(np.bool_), group=group)
    if type(value) is int:
        if not -(1 << 63) <= value < 1 << 63:
            raise UnsupportedError(f"argument '{name}': the integer {value} does not fit in 64 bits")
        return ArgumentType(name, "int", np.dtype(np.int64), group=group)
    if type(value) is float:
        return ArgumentType(name, "float", np.dtype(np.float64), group=group)
    if type(value) is complex:
        return ArgumentType(name, "complex", np.dtype(np.complex128), group=group)
    return static_type(name, value, group)


OPEN = "open"
"""The text of an integer that is a number of the run like any other: nothing is compiled for its value."""


def opened(argument: ArgumentType) -> ArgumentType:
    """An integer that was baked in, as one of the run."""
    return ArgumentType(argument.name, "int", np.dtype(np.int64), text=OPEN, group=argument.group)


def is_open(argument: ArgumentType) -> bool:
    """Whether an argument is an integer of the run for whose value nothing may be compiled again."""
    return argument.kind == "int" and argument.text == OPEN


def static_type(name: str, value: Any, group: str | None = None) -> ArgumentType:
    """An argument baked in by its value. Raises UnsupportedError for what can change."""
    refused = why_refused(value)
    if refused is not None:
        what, hint = refused
        raise UnsupportedError(f"argument '{name}': {what} cannot be passed to compiled code", hint=hint)
    return ArgumentType(name, "static", value=hashable(value), text=distinction(value), group=group)


_NAMES = frozenset(("complex64", "complex128", "bfloat16"))


def is_element_type(dtype: np.dtype) -> bool:
    """Whether arrays of it can be arguments."""
    return dtype.isnative and (dtype.name in _NAMES or (dtype.kind in "biuf" and dtype.itemsize <= 8))


def _check_dtype(name: str, dtype: np.dtype) -> None:
    if is_element_type(dtype):
        return
    what = (
        "objects"
        if dtype.kind == "O"
        else f"dtype {dtype.str} (not in native byte order)"
        if not dtype.isnative
        else f"dtype {dtype}"
    )
    raise UnsupportedError(
        f"argument '{name}': arrays of {what} cannot be compiled",
        hint=f"convert it: {name}.astype({dtype.newbyteorder('=').name!r})"
        if not dtype.isnative
        else "use bool, integers, floats or complex numbers",
    )


def _array_type(name: str, array: np.ndarray, mutates: bool, group: str | None) -> ArgumentType:
    if type(array) is not np.ndarray and type(array) is not np.memmap:
        raise UnsupportedError(
            f"argument '{name}': {type(array).__name__} is a subclass of ndarray with rules of its own",
            hint="pass np.asarray(x)",
        )
    dtype = array.dtype
    _check_dtype(name, dtype)
    layout, order, memory_order = "c", None, None
    if not array.flags.c_contiguous:
        by_stride = memory_axes(array)
        dense = not mutates and array.transpose(by_stride).flags.c_contiguous
        layout = "c" if dense else "strided"
        order = by_stride if dense else None
        memory_order = by_stride if by_stride != tuple(range(array.ndim)) else None
        if mutates and array.flags.writeable and _is_folded(array):
            layout = "folded"
    read_only = mutates and not array.flags.writeable
    shape = array.shape
    return ArgumentType(
        name, "array", dtype, shape, shape, layout, order, memory_order, read_only, group=group
    )


def constant_type(type_: ArgumentType, value: Any) -> ArgumentType:
    """The type of an argument that is constant. Raises UnsupportedError for an array that can be written."""
    if type_.kind != "array":
        return type_
    if isinstance(value, np.ndarray) and value.flags.writeable:
        raise UnsupportedError(
            f"argument '{type_.name}' is constant, and its array can be written",
            hint=f"{type_.name}.setflags(write=False): what is computed from it is kept as long as it lives",
        )
    return changed(type_, constant=True)


def memory_axes(array: np.ndarray) -> tuple[int, ...]:
    """Axes from the one with the largest stride to the smallest; ties keep their order.

    As NumPy's iterator does it: an axis along which elements repeat has no place of its own, and stays where it is
    among the others.
    """
    strides = [0 if n == 1 else abs(s) for s, n in zip(array.strides, array.shape, strict=True)]
    axes: list[int] = []
    for axis in reversed(range(array.ndim)):
        position = 0
        for k, other in enumerate(axes):
            if not strides[axis] or not strides[other]:
                continue
            if strides[axis] >= strides[other]:
                break
            position = k + 1
        axes.insert(position, axis)
    return tuple(axes)


# ---- overlap ----------------------------------------------------------------------------------------


def overlap_partition(types: Sequence[ArgumentType], values: Sequence[Any]) -> tuple[ArgumentType, ...]:
    """Mark arrays that are the very same memory (`same`), and the sets of those that overlap otherwise (`overlap`).

    Overlap is not transitive, and sets are: two arrays that a third one overlaps are in its set, and may overlap.
    """
    arrays = [
        (k, v) for k, (t, v) in enumerate(zip(types, values, strict=True)) if t.kind == "array" and v.size
    ]
    result = list(types)
    first: dict[int, int] = {}
    for position, (k, array) in enumerate(arrays):
        near = [
            (j, other) for j, other in arrays[:position] if j in first and np.may_share_memory(array, other)
        ]
        twin = next((j for j, other in near if _same(array, other)), None)
        if twin is not None:
            result[k] = ArgumentType(types[k].name, "same", value=twin, group=types[k].group)
            continue
        met = {first[j] for j, other in near if _shares(array, other)}
        first[k] = min(met, default=k)
        first.update({j: first[k] for j, number in first.items() if number in met})
    members = Counter(first.values())
    for k, number in first.items():
        if members[number] > 1:
            result[k] = changed(result[k], overlap=number)
    return tuple(result)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether they are the same elements in the same order, and may both be written or both not."""
    return (
        a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
        and a.flags.writeable == b.flags.writeable
    )


def _shares(a: np.ndarray, b: np.ndarray) -> bool:
    """Exact where that is cheap; arrays that are hard to tell apart count as overlapping."""
    try:
        return bool(np.shares_memory(a, b, max_work=1000))  # pyright: ignore
    except np.exceptions.TooHardError:
        return True


def _is_folded(array: np.ndarray) -> bool:
    """Whether two elements may share memory: those along an axis lie within what the axes inside of it span."""
    span = array.itemsize
    for stride, extent in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if extent > 1 and stride < span and array.size:
            return True
        span += stride * (extent - 1)
    return False


# ---- unknown extents --------------------------------------------------------------------------------


def generalised(
    types: Sequence[ArgumentType], open_extents: Iterable[tuple[int, int]]
) -> tuple[ArgumentType, ...]:
    """The types with the given (argument, axis) extents unknown; 0 and 1 stay static."""
    opened = set(open_extents)
    result = []
    for k, one in enumerate(types):
        extents = tuple(
            [
                f"{one.name}_{axis}" if (k, axis) in opened and extent not in (0, 1) else extent
                for axis, extent in enumerate(one.extents)
            ]
        )
        result.append(changed(one, extents=extents))
    return tuple(result)


def without_extents(types: Sequence[ArgumentType]) -> tuple:
    """What specialisations that differ in extents only have in common."""
    return tuple([changed(t, extents=(len(t.extents),), witness=()) for t in types])


def binding(pattern: Sequence[ArgumentType], types: Sequence[ArgumentType]) -> dict[str, int] | None:
    """The extents that the names of `pattern` have in `types`; None when it does not fit."""
    names: dict[str, int] = {}
    for one, actual in zip(pattern, types, strict=True):
        for extent, size in zip(one.extents, actual.extents, strict=True):
            if isinstance(extent, int):
                if extent != size:
                    return None
            elif size in (0, 1) or names.setdefault(extent, size) != size:  # pyright: ignore
                return None
    return names
