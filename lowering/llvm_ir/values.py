"""LLVM IR text of types and constants: how `!llvm.ptr`, `vector<8xf32>`, `dense<1.0>` are spelled."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    VectorType,
)
from xdsl.ir import Attribute

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.llvm import X86AMXType

_FLOAT_NAMES: dict[type[Attribute], tuple[str, str]] = {
    BFloat16Type: ("bfloat", "bf16"),
    Float16Type: ("half", "f16"),
    Float32Type: ("float", "f32"),
    Float64Type: ("double", "f64"),
}

_type_cache: dict[Attribute, str] = {}
_same_object: dict[int, tuple[Attribute, str]] = {}
"""By identity, for hashing a type costs more than spelling it; what is here keeps its identity."""
_suffix_cache: dict[Attribute, str] = {}


def symbol_text(name: str) -> str:
    """`f` -> `@f`, and `f<i32>` -> `@"f<i32>"`."""
    letters = name.replace("_", "a").replace(".", "a").replace("$", "a").replace("-", "a")
    if letters.isascii() and letters.isalnum() and not letters[0].isdigit():
        return f"@{name}"
    text = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in name.encode())
    return f'@"{text}"'


def type_text(type: Attribute) -> str:
    """`vector<8xf32>` -> `<8 x float>`."""
    if (known := _same_object.get(id(type))) is not None:
        return known[1]
    text = _type_cache.get(type)
    if text is None:
        text = _type_cache[type] = _spell_type(type)
    if len(_same_object) >= 10_000:
        _same_object.clear()
    _same_object[id(type)] = type, text
    return text


def _spell_type(t: Any) -> str:
    if type(t) in _FLOAT_NAMES:
        return _FLOAT_NAMES[type(t)][0]
    if isinstance(t, IntegerType):
        return f"i{t.width.data}"
    if isinstance(t, VectorType) and len(t.get_shape()) == 1:
        return f"<{t.get_shape()[0]} x {type_text(t.element_type)}>"
    if isinstance(t, llvm.LLVMPointerType):
        return "ptr" if isinstance(t.addr_space, NoneAttr) else f"ptr addrspace({t.addr_space.data})"
    if isinstance(t, X86AMXType):
        return "x86_amx"
    if isinstance(t, llvm.LLVMVoidType):
        return "void"
    if isinstance(t, llvm.LLVMArrayType):
        return f"[{t.size.data} x {type_text(t.type)}]"
    if isinstance(t, llvm.LLVMStructType):
        return "{ " + ", ".join(map(type_text, t.types)) + " }"
    raise fail(None, f"LLVM IR has no type for {t}", error=LoweringError)


def intrinsic_suffix(type: Attribute) -> str:
    """How an overloaded intrinsic names a type: `vector<8xf32>` -> `v8f32`."""
    text = _suffix_cache.get(type)
    if text is None:
        text = _suffix_cache[type] = _spell_suffix(type)
    return text


def _spell_suffix(t: Any) -> str:
    if type(t) in _FLOAT_NAMES:
        return _FLOAT_NAMES[type(t)][1]
    if isinstance(t, VectorType):
        return f"v{t.get_shape()[0]}{intrinsic_suffix(t.element_type)}"
    return "p0" if isinstance(t, llvm.LLVMPointerType) else type_text(t)


def constant_text(value: Attribute, type: Attribute) -> str:
    """The operand spelling of a constant, without its type."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return _dense_text(value)
    element: Any = type.element_type if isinstance(type, VectorType) else type
    if isinstance(value, IntegerAttr | FloatAttr):
        scalar = _scalar_text(value.value.data, element)
        return scalar if element is type else f"splat ({type_text(element)} {scalar})"
    raise fail(None, f"LLVM IR has no constant for {value}", error=LoweringError)


def _dense_text(value: DenseIntOrFPElementsAttr) -> str:
    data = value.data.data
    if not any(data):
        return "zeroinitializer"
    element: Any = value.get_element_type()
    element_text = type_text(element)
    count = len(value)
    size = len(data) // count
    if data[:size] * count == data:
        first = next(iter(value.iter_values()))
        return f"splat ({element_text} {_scalar_text(first, element)})"
    return "<" + ", ".join(f"{element_text} {_scalar_text(v, element)}" for v in value.iter_values()) + ">"


def _scalar_text(value: Any, type_: Any) -> str:
    if isinstance(type_, IntegerType):
        if type_.width.data == 1:
            return "true" if value else "false"
        return str(value)
    spell = _FLOAT_SPELLING.get(type(type_))
    if spell is None:
        raise fail(None, f"LLVM IR has no constant of type {type_}", error=LoweringError)
    return spell(value)


def _hex_double(value: float) -> str:
    return "0x" + struct.pack(">d", value).hex().upper()


def _hex_single(value: float) -> str:
    """LLVM spells a `float` as the `double` of the same value."""
    try:
        rounded = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        rounded = float("inf") if value > 0 else float("-inf")
    return _hex_double(rounded)


def _hex_half(value: float) -> str:
    return "0xH" + struct.pack(">e", value).hex().upper()


def _hex_bfloat(value: float) -> str:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return "0xR7FC0"
    bits += 0x7FFF + ((bits >> 16) & 1)
    return f"0xR{(bits >> 16) & 0xFFFF:04X}"


_FLOAT_SPELLING: dict[type[Attribute], Callable[[float], str]] = {
    BFloat16Type: _hex_bfloat,
    Float16Type: _hex_half,
    Float32Type: _hex_single,
    Float64Type: _hex_double,
}
