"""The packed call: NumPy arrays and Python scalars to the 8-byte slots that a kernel's entry point reads.

    packer = Packer.for_function(func_op)          # once per signature
    arguments = packer(x, 2.0, out)                # every call
    status = module.entry("f")(arguments, error)

The layout is that of docs/levels/llvm.md: a memref takes its data pointer, then each `?` extent,
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

from ..dialects.diagnostic import CallError, NestorError
from ..dialects.records import record
from ..lowering.abi.error_codes import RECORD_WORDS

ERROR_WORDS = RECORD_WORDS
"""Words of the error record: code, site, value, extent, the numbers of a `raise`, and when signals were handled."""

ErrorRecord = ctypes.c_int64 * ERROR_WORDS

Fill = Callable[[Any, list[int]], None]
"""Appends the slots of one argument."""

MemrefSlots = tuple[tuple[int, ...], tuple[int, ...]]
"""The axes whose extents have slots, and those whose strides have, after the slot of the data pointer."""


@record
class MemrefForm:
    """What a kernel was promised of an array: None stands for an extent or a stride that is passed."""

    text: str
    """Its type in the IR."""
    kinds: str
    """Kinds of NumPy's dtypes."""
    item_size: int
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    """In elements; None: contiguous in row-major order."""

    @property
    def slots(self) -> MemrefSlots:
        """Which extents and strides are passed."""
        return _unknown(self.extents), _unknown(self.strides or ())


def _unknown(numbers: Sequence[int | None]) -> tuple[int, ...]:
    return tuple([axis for axis, number in enumerate(numbers) if number is None])


Form = MemrefForm | str
"""Of an argument: a memref, or how a scalar is packed: `integer`, `bfloat`, or a format of `struct`."""


class Packer:
    """Packs the arguments of one signature. Calling it gives a ctypes array to pass to an entry point."""

    def __init__(self, forms: Sequence[Form]):
        self.forms = tuple(forms)
        self._fills = [_fill_for(k, form) for k, form in enumerate(forms)]
        self.layouts = tuple([form.slots if isinstance(form, MemrefForm) else None for form in forms])
        """By argument: the slots of a memref; None for a scalar, which has one."""
        self._array_types: dict[int, type] = {}

    @classmethod
    def for_types(cls, types: Sequence[Any]) -> Packer:
        """A packer for memref and scalar types (xDSL attributes), in argument order."""
        return cls([form_of(k, type) for k, type in enumerate(types)])

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


def form_of(position: int, type_: Any) -> Form:
    """What the packed form of an argument depends on, from its type (an xDSL attribute)."""
    from xdsl.dialects.builtin import (
        DYNAMIC_INDEX,
        BFloat16Type,
        Float16Type,
        Float32Type,
        Float64Type,
        IndexType,
        IntegerType,
        MemRefType,
        NoneAttr,
    )

    if isinstance(type_, MemRefType):
        element = type_.element_type
        bits = 64 if isinstance(element, IndexType) else element.bitwidth  # pyright: ignore
        kinds = "iub" if isinstance(element, IntegerType | IndexType) else "fV"
        extents = tuple([None if e == DYNAMIC_INDEX else e for e in type_.get_shape()])
        layout = type_.layout
        strides = None if isinstance(layout, NoneAttr) else tuple(layout.get_strides() or ())
        return MemrefForm(_text(type_), kinds, max(1, bits // 8), extents, strides)
    if isinstance(type_, IntegerType | IndexType):
        return "integer"
    if isinstance(type_, BFloat16Type):
        return "bfloat"
    formats = {Float64Type: "<d", Float32Type: "<f4x", Float16Type: "<e6x"}
    if type(type_) in formats:
        return formats[type(type_)]
    raise NestorError(f"argument {position}: no packed form for {type_}")


def _text(type_: Any) -> str:
    """The text of a memref type. xDSL's printer, which nothing else in a compilation needs, is not asked for a plain one."""
    from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, NoneAttr, Signedness

    element = type_.element_type
    if not (isinstance(type_.layout, NoneAttr) and isinstance(type_.memory_space, NoneAttr)):
        return str(type_)
    if not isinstance(element, IntegerType):
        name = element.name  # f32, bf16, index
    elif element.signedness.data == Signedness.SIGNLESS:
        name = f"i{element.width.data}"
    else:
        return str(type_)
    return f"memref<{''.join(['?x' if e == DYNAMIC_INDEX else f'{e}x' for e in type_.get_shape()])}{name}>"


def _fill_for(position: int, form: Form) -> Fill:
    if isinstance(form, MemrefForm):
        return _memref_fill(position, form)
    return {"integer": _fill_integer, "bfloat": _fill_bfloat}.get(form) or _float_fill(form)


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
    from .cpu.fast_call import data_offset

    offset = data_offset()
    if offset is None:
        return lambda array: array.__array_interface__["data"][0]
    word_at = ctypes.c_int64.from_address
    return lambda array: word_at(id(array) + offset).value


def _memref_fill(position: int, form: MemrefForm) -> Fill:
    rank, item_size, kinds = len(form.extents), form.item_size, form.kinds
    static = tuple([(axis, extent) for axis, extent in enumerate(form.extents) if extent is not None])
    contiguous = form.strides is None
    dynamic, free_strides = form.slots
    fixed_strides = tuple([(a, stride) for a, stride in enumerate(form.strides or ()) if stride is not None])

    data_pointer = _data_pointer()

    def refuse(array: Any, why: str) -> NestorError:
        found = (
            f"{getattr(array, 'dtype', type(array).__name__)} array of shape {getattr(array, 'shape', ())}"
        )
        hint = (
            ""
            if isinstance(array, np.ndarray)
            else "f.lower takes nt.spec in place of arrays, a call takes arrays"
        )
        message = f"argument {position}: {found} does not fit {form.text}: {why}"
        return CallError(message, hint=hint or "call the jitted function: it compiles for these arguments")

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
