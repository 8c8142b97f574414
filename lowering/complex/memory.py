"""Complex numbers in memory: which types have them, and what those are of real numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute


def is_complex(type_: Attribute) -> bool:
    """Whether it is a complex number, or a buffer of such."""
    element = type_.element_type if isinstance(type_, MemRefType) else type_
    return isinstance(element, ComplexType)


def parted(type_: MemRefType) -> MemRefType:
    """A buffer of complex numbers as one of real numbers, with a last axis of 2."""
    element = type_.element_type
    assert isinstance(element, ComplexType)
    layout = type_.layout
    if isinstance(layout, StridedLayoutAttr):
        strides = [None if s is None else 2 * s for s in layout.get_strides()]
        offset = layout.get_offset()
        layout = StridedLayoutAttr([*strides, 1], None if offset is None else 2 * offset)
    elif not isinstance(layout, NoneAttr):
        raise TypeError(f"{type_} has a layout that is no list of strides")
    return MemRefType(element.element_type, [*type_.get_shape(), 2], layout, type_.memory_space)
