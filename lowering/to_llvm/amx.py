"""`amx` to llvm: tiles are values of `!llvm.x86_amx`, which LLVM keeps in registers, and configures them for.

%a = amx.tile_load %x[%i, %c0] : memref<32x64xi8> into !amx.tile<16x64xi8>
->
%a = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%16, %64, %0, %64) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx

The intrinsics say the shape each time; LLVM makes the configuration of the tiles from that, once in a function that has
some, and releases them at its end: threads run functions of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import StringAttr, i16
from xdsl.ir import Attribute, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import amx
from ...dialects.ext.llvm_intrinsics import NO_FASTMATH
from .builder import FunctionBuilder, Handler
from .memref import address
from .types import NO_BUNDLES, X86_AMX, byte_size, index_list

_INTEGERS = {
    (False, False): "tdpbssd",
    (False, True): "tdpbsud",
    (True, False): "tdpbusd",
    (True, True): "tdpbuud",
}
"""The instruction, by which operands have no sign."""

_FLOATS = {"bf16": "tdpbf16ps", "f16": "tdpfp16ps"}


def call_intrinsic(
    b: FunctionBuilder, name: str, operands: Sequence[SSAValue], result: Attribute | None
) -> SSAValue:
    """A call of an intrinsic that has no operation of its own."""
    properties: dict[str, Attribute] = {
        "intrin": StringAttr(name),
        "fastmathFlags": NO_FASTMATH,
        "op_bundle_sizes": NO_BUNDLES,
        "operandSegmentSizes": index_list(len(operands), 0),
    }
    return b.emit(llvm.CallIntrinsicOp, operands, result, properties)


def _shape(b: FunctionBuilder, tile: Attribute) -> list[SSAValue]:
    """Rows, and bytes of a row."""
    assert isinstance(tile, amx.TileType)
    return [b.integer(tile.rows, i16), b.integer(tile.row_bytes, i16)]


def _place(b: FunctionBuilder, op: amx.TileLoadOp | amx.TileStoreOp) -> list[SSAValue]:
    """Where the tile is, and the bytes from one of its rows to the next."""
    ref = b.memref(op.base)
    if ref.strides[-1] != 1:
        raise fail(op, f"{op.name} needs a last axis of stride 1", error=LoweringError)
    (b.read if isinstance(op, amx.TileLoadOp) else b.written).add(ref.base)
    pointer = address(b, ref, [b.index(i) for i in op.indices])
    distance = b.index(op.stride[0]) if op.stride else ref.strides[-2]
    return [pointer, b.size(b.multiply(distance, byte_size(ref.element)))]


def _zero(b: FunctionBuilder, op: amx.TileZeroOp) -> None:
    shape = _shape(b, op.res.type)
    b.bind(op.res, call_intrinsic(b, "llvm.x86.tilezero.internal", shape, X86_AMX))


def _load(b: FunctionBuilder, op: amx.TileLoadOp) -> None:
    operands = [*_shape(b, op.res.type), *_place(b, op)]
    b.bind(op.res, call_intrinsic(b, "llvm.x86.tileloadd64.internal", operands, X86_AMX))


def _store(b: FunctionBuilder, op: amx.TileStoreOp) -> None:
    operands = [*_shape(b, op.val.type), *_place(b, op), b.value(op.val)]
    call_intrinsic(b, "llvm.x86.tilestored64.internal", operands, None)


def _multiply(b: FunctionBuilder, op: amx.TileMulIOp | amx.TileMulFOp) -> None:
    left, total = op.lhs.type, op.acc.type
    assert isinstance(left, amx.TileType) and isinstance(total, amx.TileType)
    if isinstance(op, amx.TileMulIOp):
        name = _INTEGERS[op.is_zext_lhs is not None, op.is_zext_rhs is not None]
    else:
        name = _FLOATS[str(left.element_type)]
    sizes = [*_shape(b, total), b.integer(left.row_bytes, i16)]
    operands = [*sizes, *(b.value(v) for v in (op.acc, op.lhs, op.rhs))]
    b.bind(op.res, call_intrinsic(b, f"llvm.x86.{name}.internal", operands, X86_AMX))


AMX: dict[str, Handler] = {
    "amx.tile_zero": _zero,
    "amx.tile_load": _load,
    "amx.tile_store": _store,
    "amx.tile_muli": _multiply,
    "amx.tile_mulf": _multiply,
}
