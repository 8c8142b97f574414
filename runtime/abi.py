"""The packed call: NumPy arrays and Python scalars to the 8-byte slots that a kernel's entry point reads.

    packer = Packer.for_function(func_op)          # once a signature
    arguments = packer(x, 2.0, out)                # every call
    status = module.entry("f")(arguments, error)

The layout is section 5 of docs/architecture.md: a memref takes its data pointer, then each `?` extent,
then each `?` stride in elements; a scalar takes one slot. What a kernel was promised (element type, rank,
static extents, contiguity) is checked here, for a kernel that believes a wrong promise reads wild memory.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dialects.diagnostic import NestorError

ERROR_WORDS = 4
"""Words of the error record: code, site, value, extent."""

ErrorRecord = ctypes.c_int64 * ERROR_WORDS

Fill = Callable[[Any, list[int]], None]
"""Appends the slots of one argument."""

MemrefSlots = tuple[tuple[int, ...], tuple[int, ...]]
"""The axes whose extents have slots, and those whose strides have, after the slot of the data pointer."""


class Packer:
    """Packs the arguments of one signature. Calling it gives a ctypes array to pass to an entry point."""

    def __init__(self, fills: Sequence[Fill], layouts: Sequence[MemrefSlots | None]):
        self._fills = tuple(fills)
        self.layouts = tuple(layouts)
        """By argument: the slots of a memref; None for a scalar, which has one."""
        self._array_types: dict[int, type] = {}

    @classmethod
    def for_types(cls, types: Sequence[Any]) -> Packer:
        """A packer for memref and scalar types (xDSL attributes), in argument order."""
        fills = [_fill_for(k, type) for k, type in enumerate(types)]
        return cls(fills, [memref_slots(type) for type in types])

    @classmethod
    def for_function(cls, function: Any) -> Packer:
        """A packer for the arguments of a `func.func`."""
        return cls.for_types(function.function_type.inputs.data)

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self._fills):
            raise NestorError(f"takes {len(self._fills)} arguments, got {len(values)}")
        slots: list[int] = []
        for fill, value in zip(self._fills, values, strict=True):
            fill(value, slots)
        array_type = self._array_types.get(len(slots))
        if array_type is None:
            array_type = self._array_types[len(slots)] = ctypes.c_uint64 * len(slots)
        return array_type(*slots)


_MASK = (1 << 64) - 1


def _fill_for(position: int, type_: Any) -> Fill:
    from xdsl.dialects.builtin import (
        BFloat16Type,
        Float16Type,
        Float32Type,
        Float64Type,
        IndexType,
        IntegerType,
        MemRefType,
    )

    if isinstance(type_, MemRefType):
        return _memref_fill(position, type_)
    if isinstance(type_, IntegerType | IndexType):
        return _fill_integer
    formats = {Float64Type: "<d", Float32Type: "<f4x", Float16Type: "<e6x"}
    if type(type_) in formats:
        return _float_fill(formats[type(type_)])
    if isinstance(type_, BFloat16Type):
        return _fill_bfloat
    raise NestorError(f"argument {position}: no packed form for {type_}")


def _fill_integer(value: Any, slots: list[int]) -> None:
    slots.append(int(value) & _MASK)


def _float_fill(format: str) -> Fill:
    pack = struct.Struct(format).pack
    unpack = struct.Struct("<Q").unpack

    def fill(value: Any, slots: list[int]) -> None:
        slots.append(unpack(pack(value))[0])

    return fill


def _fill_bfloat(value: Any, slots: list[int]) -> None:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    slots.append((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 if value == value else 0x7FC0)


@functools.cache
def _data_pointer() -> Callable[[np.ndarray], int]:
    """What gives the address of element zero: read in place where that is known to work, which is four times as fast."""
    from .fast_call import data_offset

    offset = data_offset()
    if offset is None:
        return lambda array: array.__array_interface__["data"][0]
    word_at = ctypes.c_int64.from_address
    return lambda array: word_at(id(array) + offset).value


def memref_slots(type_: Any) -> MemrefSlots | None:
    """Which extents and strides of a memref are passed; None for other types."""
    from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

    if not isinstance(type_, MemRefType):
        return None
    dynamic = tuple([axis for axis, extent in enumerate(type_.get_shape()) if extent == DYNAMIC_INDEX])
    stated = () if isinstance(type_.layout, NoneAttr) else tuple(type_.layout.get_strides() or ())
    return dynamic, tuple([axis for axis, stride in enumerate(stated) if stride is None])


def _memref_fill(position: int, type_: Any) -> Fill:
    from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, NoneAttr

    shape = tuple(type_.get_shape())
    rank = len(shape)
    element = type_.element_type
    bits = 64 if isinstance(element, IndexType) else element.bitwidth
    item_size = max(1, bits // 8)
    kinds = "iub" if isinstance(element, IntegerType | IndexType) else "fV"
    dynamic = tuple(axis for axis, extent in enumerate(shape) if extent == DYNAMIC_INDEX)
    static = tuple((axis, extent) for axis, extent in enumerate(shape) if extent != DYNAMIC_INDEX)
    contiguous = isinstance(type_.layout, NoneAttr)
    stated = () if contiguous else tuple(type_.layout.get_strides())
    free_strides = tuple(axis for axis, stride in enumerate(stated) if stride is None)
    fixed_strides = tuple((axis, stride) for axis, stride in enumerate(stated) if stride is not None)

    data_pointer = _data_pointer()

    def refuse(array: Any, why: str) -> NestorError:
        found = (
            f"{getattr(array, 'dtype', type(array).__name__)} array of shape {getattr(array, 'shape', ())}"
        )
        return NestorError(f"argument {position}: {found} does not fit {type_}: {why}")

    def fill(array: np.ndarray, slots: list[int]) -> None:
        if not isinstance(array, np.ndarray):
            raise refuse(array, "not a NumPy array")
        extents = array.shape
        dtype = array.dtype
        if len(extents) != rank:
            raise refuse(array, f"{rank} axes are wanted")
        if dtype.itemsize != item_size or dtype.kind not in kinds:
            raise refuse(array, "the element type differs")
        flags = array.flags
        if contiguous and not flags.c_contiguous:
            raise refuse(array, "it is not contiguous in row-major order")
        if not flags.aligned:
            raise refuse(array, "its elements are not aligned")
        for axis, extent in static:
            if extents[axis] != extent:
                raise refuse(array, f"axis {axis} must be {extent}")
        slots.append(data_pointer(array))
        for axis in dynamic:
            slots.append(extents[axis])
        strides = array.strides
        for axis in free_strides:
            steps, rest = divmod(strides[axis], item_size)
            if rest:
                raise refuse(array, f"the stride of axis {axis} is not a whole number of elements")
            slots.append(steps & _MASK)
        for axis, stride in fixed_strides:
            if extents[axis] > 1 and strides[axis] != stride * item_size:
                raise refuse(array, f"the stride of axis {axis} must be {stride} elements")

    return fill
