"""Element types of nt tensors: their NumPy dtypes, their kinds, and their storage in memory."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    ComplexType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

c64, c128 = ComplexType(f32), ComplexType(f64)
u8, u16, u32, u64 = (IntegerType(w, Signedness.UNSIGNED) for w in (8, 16, 32, 64))

BY_NAME: dict[str, Attribute] = {
    "bool": i1,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": u8,
    "uint16": u16,
    "uint32": u32,
    "uint64": u64,
    "float16": f16,
    "bfloat16": bf16,
    "float32": f32,
    "float64": f64,
    "complex64": c64,
    "complex128": c128,
}
"""Element type by the name of the NumPy dtype (bfloat16 is ml_dtypes' name)."""

TO_NAME: dict[Attribute, str] = {v: k for k, v in BY_NAME.items()}

_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)


def kind_of(element: Attribute) -> str:
    """`f` float, `i` signed integer, `u` unsigned integer, `b` bool, `c` complex; raises TypeError for anything else."""
    if isinstance(element, _FLOATS):
        return "f"
    if isinstance(element, ComplexType) and element in TO_NAME:
        return "c"
    if element == i1:
        return "b"
    if isinstance(element, IntegerType) and element in TO_NAME:
        return "u" if element.signedness.data is Signedness.UNSIGNED else "i"
    raise TypeError(f"{element} is not an element type of nt; one of {', '.join(map(str, BY_NAME.values()))}")


def part_type(element: Attribute) -> AnyFloat:
    """The type of the real and the imaginary part of a complex type."""
    assert isinstance(element, ComplexType)
    return element.element_type  # pyright: ignore


def storage_type(element: Attribute) -> AnyFloat | IntegerType:
    """The memref element type: bool is stored as i8, integers are signless."""
    if element == i1:
        return i8
    if isinstance(element, IntegerType):
        return IntegerType(element.width.data)
    return element  # pyright: ignore


def scalar_type(element: Attribute) -> AnyFloat | IntegerType:
    """The type of one element as an SSA value: bool is i1, integers are signless."""
    return i1 if element == i1 else storage_type(element)


def width_of(element: Attribute) -> int:
    """Size in bits (1 for bool)."""
    if isinstance(element, ComplexType):
        return 2 * width_of(element.element_type)
    return element.width.data if isinstance(element, IntegerType) else element.bitwidth  # pyright: ignore


def with_element(tensor: TensorType, element: Attribute) -> TensorType:
    """The tensor type of the same shape with another element type; `tensor` where it has that one and nothing else."""
    if tensor.element_type == element and isinstance(tensor.encoding, NoneAttr):
        return tensor
    return TensorType(element, tensor.get_shape())
