"""What the parts of convert-to-llvm share: lowered types, memory references, functions, cached attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...analysis.machine import Cpu
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.llvm import X86AMXType

X86_AMX = X86AMXType()
TILE = "amx.tile"
"""The type of tiles by its name: programs without them do not import the dialect."""

PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()
UNIT = UnitAttr()
NSW = IntegerAttr(1, 32)
NO_WRAP = IntegerAttr(0, 32)
INBOUNDS = IntegerAttr(3, 32)
ANYWHERE = IntegerAttr(0, 32)
SSA_INDEX = DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL])
NO_BUNDLES = DenseArrayBase.from_list(i32, [])
C_CONVENTION = llvm.CallingConventionAttr("ccc")
NO_TAIL_CALL = llvm.TailCallKindAttr(llvm.TailCallKind.NONE)
ZERO_VISIBILITY = IntegerAttr(0, 64)


@cache
def int_attr(value: int, type: IntegerType = i64) -> IntegerAttr:
    """Attributes cost 30 us to make, and a function needs the same few again and again."""
    return IntegerAttr(value, type)


@cache
def index_list(*values: int) -> Attribute:
    """`array<i32: ...>`."""
    return DenseArrayBase.from_list(i32, values)


Size = int | SSAValue
"""An extent, stride or offset: known now, or an i64 value."""


@dataclass(frozen=True, slots=True, eq=False)
class MemRef:
    """A memory reference taken apart: element (i, j) is at `base + offset + i*strides[0] + j*strides[1]`.

    `base` is never derived from another pointer, so that `noalias` can be said of it in any function
    that receives it.
    """

    base: SSAValue
    offset: Size
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    element: Attribute
    noalias: bool


@dataclass(eq=False)
class ModuleState:
    """The functions made so far and the external ones they need."""

    cpu: Cpu
    functions: list[Operation] = field(default_factory=list)
    externals: dict[str, llvm.FuncOp] = field(default_factory=dict)
    sources: dict[str, func.FuncOp] = field(default_factory=dict)
    """The functions with a body that are converted, by name."""

    answered: dict[str, func.FuncOp] = field(default_factory=dict)
    """Those without a body that the runtime answers (`custom_calls.py`)."""

    def declare(self, name: str, inputs: Sequence[Attribute], output: Attribute, **attributes: Any) -> str:
        if name not in self.externals:
            self.externals[name] = make_function(
                name, inputs, output, Region(), linkage="external", **attributes
            )
        return name


_type_cache: dict[Attribute, Attribute] = {}
_SIZES: dict[type, int] = {BFloat16Type: 2, Float16Type: 2, Float32Type: 4, Float64Type: 8}


def lower_type(op: Operation, type_: Any) -> Attribute:
    """The llvm type of a scalar or 1-D vector: index is i64."""
    lowered = _type_cache.get(type_)
    if lowered is None:
        lowered = _type_cache[type_] = _lower_type(op, type_)
    return lowered


def _lower_type(op: Operation, type_: Any) -> Attribute:
    if isinstance(type_, IndexType):
        return i64
    if isinstance(type_, IntegerType) or type(type_) in _SIZES or isinstance(type_, llvm.LLVMPointerType):
        return type_
    if isinstance(type_, VectorType) and len(type_.get_shape()) == 1:
        return VectorType(lower_type(op, type_.element_type), type_.get_shape())  # type: ignore[type-var]
    if type_.name == TILE:
        return X86_AMX
    hint = "vectors have one dimension at this level" if isinstance(type_, VectorType) else None
    raise fail(op, f"{op.name}: no llvm type for {type_}", hint=hint, error=LoweringError)


def lower_element(op: Operation, element: Attribute) -> Attribute:
    """The LLVM type of the elements of a buffer: as many bytes as NumPy has for them, and no bits between."""
    width = element.width.data if isinstance(element, IntegerType) else 8
    if width != 1 and (width < 8 or width & (width - 1)):
        raise fail(op, f"integers of {width} bits are not whole bytes in memory", error=LoweringError)
    return lower_type(op, element)


def byte_size(element: Attribute) -> int:
    """Bytes of one element in memory."""
    if isinstance(element, IntegerType):
        return max(1, element.width.data // 8)
    return _SIZES[type(element)]


def make_function(
    name: str,
    inputs: Sequence[Attribute],
    output: Attribute,
    body: Region,
    *,
    linkage: str,
    arg_attrs: Sequence[dict[str, Attribute]] = (),
    res_attrs: dict[str, Attribute] | None = None,
    passthrough: Sequence[Attribute] = (),
    location: Any = None,
) -> llvm.FuncOp:
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": llvm.LLVMFunctionType(list(inputs), output),
        "CConv": C_CONVENTION,
        "linkage": llvm.LinkageAttr(linkage),
        "visibility_": ZERO_VISIBILITY,
        "no_unwind": UNIT,
    }
    if any(arg_attrs):
        properties["arg_attrs"] = ArrayAttr([DictionaryAttr(attributes) for attributes in arg_attrs])
    if res_attrs:
        properties["res_attrs"] = ArrayAttr([DictionaryAttr(res_attrs)])
    if passthrough:
        properties["passthrough"] = ArrayAttr(passthrough)
    return llvm.FuncOp.create(properties=properties, regions=[body], location=location)


def _pair(key: str, value: str) -> Attribute:
    return ArrayAttr([StringAttr(key), StringAttr(value)])


@cache
def prefer_vectors_of(bits: int) -> Attribute:
    """LLVM would otherwise use half of each register of 512 bits."""
    return _pair("prefer-vector-width", str(bits))


SCALAR_LOOPS = _pair("nestor-loops", "scalar")
"""Read by the runtime: the function has innermost loops without explicit vectors."""


NO_SLP_HERE = _pair("nestor-slp", "off")
"""Read by the runtime: the function has such a loop."""
