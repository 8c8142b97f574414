"""`vector` to llvm, for vectors of one dimension (of any length: LLVM splits them into machine vectors).

%v = vector.load %x[%i] : memref<?xf32>, vector<64xf32>
%m = vector.create_mask %n : vector<64xi1>
->
%v = llvm.load %0 {alignment = 4 : i64} : !llvm.ptr -> vector<64xf32>
%m = llvm.icmp "slt" dense<[0, 1, ...]>, splat(clamp(%n)) : vector<64xi32>
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    Float16Type,
    IntegerType,
    VectorType,
    i16,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.attributes import NONTEMPORAL
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from ...dialects.ext import vector as ext_vector
from .arith import fastmath
from .builder import FunctionBuilder, Handler, llvm_class
from .memref import address
from .types import (
    NO_WRAP,
    PTR,
    MemRef,
    Size,
    byte_size,
    index_list,
    int_attr,
    lower_type,
)

_HALVES = (Float16Type, BFloat16Type)


def _vector_address(b: FunctionBuilder, op: Any, source: SSAValue, indices: Any) -> tuple[MemRef, SSAValue]:
    ref = b.memref(source)
    if isinstance(ref.element, IntegerType) and ref.element.width.data < 8:
        raise fail(op, "vectors of i1 have no memory form", hint="bool is i8 in memory", error=LoweringError)
    if ref.strides and ref.strides[-1] != 1:
        raise fail(
            op,
            f"{op.name} needs a last axis of stride 1",
            hint="use vector.gather or vector.scatter, or vectorize a contiguous axis",
            error=LoweringError,
        )
    return ref, address(b, ref, [b.index(i) for i in indices])


def _alignment(ref: MemRef) -> dict[str, Attribute]:
    return {"alignment": int_attr(byte_size(ref.element), i32)}


def _load(b: FunctionBuilder, op: vector.LoadOp) -> None:
    ref, pointer = _vector_address(b, op, op.base, op.indices)
    b.read.add(ref.base)
    b.bind(op.result, b.load(pointer, lower_type(op, op.result.type), byte_size(ref.element)))


def _store(b: FunctionBuilder, op: vector.StoreOp) -> None:
    ref, pointer = _vector_address(b, op, op.base, op.indices)
    b.written.add(ref.base)
    value = b.value(op.vector)
    if NONTEMPORAL in op.attributes or _is_true(op.nontemporal):
        _store_streaming(b, ref, value, pointer)
    elif isinstance(ref.base.owner, llvm.AllocaOp):
        b.store(value, pointer, byte_size(ref.element))
    else:
        _store_registers(b, ref, value, pointer)


def _store_registers(b: FunctionBuilder, ref: MemRef, value: SSAValue, pointer: SSAValue) -> None:
    """One store a register, in ascending order: LLVM would store a long vector from its end, and caches that
    meet a row for the first time take that for no stream."""
    size = byte_size(ref.element)
    lanes, length = _register_bytes(b) // size, value.type.get_shape()[0]  # type: ignore[union-attr]
    if length <= lanes or length % lanes:
        b.store(value, pointer, size)
        return
    part = VectorType(value.type.element_type, (lanes,))  # type: ignore[union-attr,type-var]
    for first in range(0, length, lanes):
        mask = {"mask": index_list(*range(first, first + lanes))}
        piece = b.emit(llvm.ShuffleVectorOp, (value, value), part, mask)
        at = b.gep(pointer, b.integer(first), ref.element) if first else pointer
        b.store(piece, at, size)


def _register_bytes(b: FunctionBuilder) -> int:
    return b.module.cpu.vector_bits // 8


def _store_streaming(b: FunctionBuilder, ref: MemRef, value: SSAValue, pointer: SSAValue) -> None:
    """Past the caches where the address allows it: machines stream whole aligned registers only, and
    NumPy memory may start anywhere, so the alignment is asked at run time (a branch that never changes), and so is
    whether a buffer is larger than the caches where its extents do not say it."""
    element_size = byte_size(ref.element)
    size = element_size * value.type.get_shape()[0]  # type: ignore[union-attr]
    register = min(_register_bytes(b), size & -size)
    streamed, plain, done = (b.new_block() for _ in range(3))
    low = b.binary(llvm.AndOp, b.emit(llvm.PtrToIntOp, (pointer,), i64), b.integer(register - 1))
    is_streamed = b.compare("eq", low, b.integer(0))
    if not all(isinstance(extent, int) for extent in ref.sizes):
        total: Size = element_size
        for extent in ref.sizes:
            total = b.multiply(total, extent)
        is_big = b.compare("sgt", b.size(total), b.integer(b.module.cpu.non_temporal_bytes))
        is_streamed = b.binary(llvm.AndOp, is_streamed, is_big)
    b.branch_if(is_streamed, streamed, (), plain, ())
    b.start(streamed)
    b.store(value, pointer, register, streaming=True)
    b.branch(done)
    b.start(plain)
    b.store(value, pointer, element_size)
    b.branch(done)
    b.start(done)


def _is_true(flag: BoolAttr | None) -> bool:
    return flag is not None and bool(flag.value.data)


def _load_lanes(b: FunctionBuilder, op: Any, ref: MemRef, where: SSAValue, access: type[Operation]) -> None:
    """Load the lanes that are on. Floats of 16 bits move as their bits: LLVM would take them one after the other."""
    b.read.add(ref.base)
    result, rest = lower_type(op, op.result.type), b.value(op.pass_thru)
    moved = result
    if isinstance(ref.element, _HALVES):
        moved = VectorType(i16, op.result.type.shape)
        rest = b.emit(llvm.BitcastOp, (rest,), moved)
    value = b.emit(access, (where, b.value(op.mask), rest), moved, _alignment(ref))
    b.bind(op.result, value if moved is result else b.emit(llvm.BitcastOp, (value,), result))


def _store_lanes(b: FunctionBuilder, op: Any, ref: MemRef, where: SSAValue, access: type[Operation]) -> None:
    """Store the lanes that are on, floats of 16 bits as their bits."""
    b.written.add(ref.base)
    value = b.value(op.value_to_store)
    if isinstance(ref.element, _HALVES):
        value = b.emit(llvm.BitcastOp, (value,), VectorType(i16, value.type.shape))  # type: ignore[union-attr]
    b.emit(access, (value, where, b.value(op.mask)), None, _alignment(ref))


def _masked_load(b: FunctionBuilder, op: vector.MaskedLoadOp) -> None:
    ref, pointer = _vector_address(b, op, op.base, op.indices)
    _load_lanes(b, op, ref, pointer, intr.MaskedLoadOp)


def _masked_store(b: FunctionBuilder, op: vector.MaskedStoreOp) -> None:
    ref, pointer = _vector_address(b, op, op.base, op.indices)
    _store_lanes(b, op, ref, pointer, intr.MaskedStoreOp)


def _element_pointers(b: FunctionBuilder, op: Any) -> tuple[MemRef, SSAValue]:
    ref = b.memref(op.base)
    indices = b.value(op.indices)
    if indices.type.element_type != i64:  # type: ignore[union-attr]
        wide = VectorType(i64, indices.type.shape)  # type: ignore[union-attr]
        indices = b.emit(llvm.SExtOp, (indices,), wide)
    if ref.strides[-1] != 1:
        stride = _broadcast_value(b, b.size(ref.strides[-1]), indices.type)
        indices = b.emit(llvm.MulOp, (indices, stride), indices.type, {"overflowFlags": NO_WRAP})
    origin = address(b, ref, [b.index(i) for i in op.offsets])
    pointers = VectorType(PTR, indices.type.shape)  # type: ignore[union-attr,type-var]
    return ref, b.gep(origin, indices, ref.element, pointers)


def _gather(b: FunctionBuilder, op: ext_vector.GatherOp) -> None:
    ref, pointers = _element_pointers(b, op)
    _load_lanes(b, op, ref, pointers, intr.MaskedGatherOp)


def _scatter(b: FunctionBuilder, op: ext_vector.ScatterOp) -> None:
    ref, pointers = _element_pointers(b, op)
    _store_lanes(b, op, ref, pointers, intr.MaskedScatterOp)


# --- making vectors --------------------------------------------------------------------------------------


def _create_mask(b: FunctionBuilder, op: vector.CreateMaskOp) -> None:
    """Lane k is on when k < n: compared as 32-bit lanes, which is what the mask of an f32 vector wants."""
    mask: Any = lower_type(op, op.mask_vector.type)
    width = mask.get_shape()[0]
    count = b.value(op.mask_dim_sizes[0])
    at_most = b.binary(intr.SMinOp, count, b.integer(width))
    clamped = b.binary(intr.SMaxOp, at_most, b.integer(0))
    lanes = VectorType(i32, mask.shape)
    limit = _broadcast_value(b, b.emit(llvm.TruncOp, (clamped,), i32), lanes)
    b.bind(op.mask_vector, b.compare("slt", b.dense(range(width), lanes), limit))


def _step(b: FunctionBuilder, op: ext_vector.StepOp) -> None:
    result: Any = lower_type(op, op.result.type)
    b.bind(op.result, b.dense(range(result.get_shape()[0]), result))


def _broadcast(b: FunctionBuilder, op: vector.BroadcastOp) -> None:
    source = b.value(op.source)
    target = lower_type(op, op.vector.type)
    if source.type == target:
        b.bind(op.vector, source)
        return
    if isinstance(source.type, VectorType) and source.type.get_shape() != (1,):
        raise fail(op, "broadcasts a vector to a longer one", error=LoweringError)
    if isinstance(source.type, VectorType):
        source = b.emit(ext.ExtractElementOp, (source, b.integer(0)), source.type.element_type)
    b.bind(op.vector, _broadcast_value(b, source, target))


def _broadcast_value(b: FunctionBuilder, scalar: SSAValue, target: Any) -> SSAValue:
    """insertelement and shufflevector, which LLVM knows as a splat; a constant becomes a constant."""
    if isinstance(scalar.owner, llvm.ConstantOp):
        return b.dense([scalar.owner.value.value.data], target)  # type: ignore[union-attr]
    poison = b.emit(ext.PoisonOp, (), target)
    first = b.emit(llvm.InsertElementOp, (poison, scalar, b.integer(0)), target)
    mask = index_list(*([0] * target.get_shape()[0]))
    return b.emit(llvm.ShuffleVectorOp, (first, poison), target, {"mask": mask})


def _extract(b: FunctionBuilder, op: vector.ExtractOp) -> None:
    source = b.value(op.vector)
    positions = [b.size(p if isinstance(p, int) else b.index(p)) for p in op.get_mixed_position()]
    if len(positions) != 1:
        raise fail(op, "extracts from a vector that is not of one dimension", error=LoweringError)
    element = lower_type(op, op.result.type)
    b.bind(op.result, b.emit(ext.ExtractElementOp, (source, positions[0]), element))


def _insert(b: FunctionBuilder, op: vector.InsertOp) -> None:
    positions = [b.size(p if isinstance(p, int) else b.index(p)) for p in op.get_mixed_position()]
    if len(positions) != 1:
        raise fail(op, "inserts into a vector that is not of one dimension", error=LoweringError)
    target = b.value(op.dest)
    operands = (target, b.value(op.source), positions[0])
    b.bind(op.result, b.emit(llvm.InsertElementOp, operands, target.type))


def _shuffle(b: FunctionBuilder, op: vector.ShuffleOp) -> None:
    lhs, rhs = b.value(op.v1), b.value(op.v2)
    if lhs.type != rhs.type:
        raise fail(op, "shuffles vectors of different lengths", error=LoweringError)
    mask, result = {"mask": index_list(*op.mask.iter_values())}, lower_type(op, op.result.type)
    if not isinstance(op.result.type.element_type, BFloat16Type):
        return b.bind(op.result, b.emit(llvm.ShuffleVectorOp, (lhs, rhs), result, mask))
    # LLVM 22.1 knows few vectors of bfloat16 (an assertion that a type is legal fails): their bits.
    bits = [b.emit(llvm.BitcastOp, (v,), VectorType(i16, v.type.get_shape())) for v in (lhs, rhs)]
    moved = b.emit(llvm.ShuffleVectorOp, bits, VectorType(i16, op.result.type.get_shape()), mask)
    b.bind(op.result, b.emit(llvm.BitcastOp, (moved,), result))


def _bitcast(b: FunctionBuilder, op: vector.BitcastOp) -> None:
    b.bind(op.result, b.emit(llvm.BitcastOp, (b.value(op.source),), lower_type(op, op.result.type)))


def _fma(b: FunctionBuilder, op: vector.FMAOp) -> None:
    operands = [b.value(v) for v in op.operands]
    b.bind(op.res, b.emit(llvm.FMAOp, operands, operands[0].type, {"fastmathFlags": intr.NO_FASTMATH}))


# --- reductions ------------------------------------------------------------------------------------------

_ORDERED: dict[str, tuple[str, float]] = {
    "add": ("llvm.VectorReduceFAddOp", -0.0),
    "mul": ("llvm.VectorReduceFMulOp", 1.0),
}
_FLOAT_REDUCTIONS: dict[str, tuple[str, str]] = {
    "maximumf": ("intr.ReduceFMaximumOp", "intr.MaximumOp"),
    "minimumf": ("intr.ReduceFMinimumOp", "intr.MinimumOp"),
    "maxnumf": ("intr.ReduceFMaxOp", "llvm.VectorFMaxOp"),
    "minnumf": ("intr.ReduceFMinOp", "llvm.VectorFMinOp"),
}
_INTEGER_REDUCTIONS: dict[str, tuple[str, str]] = {
    "add": ("intr.ReduceAddOp", "llvm.AddOp"),
    "mul": ("intr.ReduceMulOp", "llvm.MulOp"),
    "and": ("intr.ReduceAndOp", "llvm.AndOp"),
    "or": ("intr.ReduceOrOp", "llvm.OrOp"),
    "xor": ("intr.ReduceXorOp", "llvm.XOrOp"),
    "maxsi": ("intr.ReduceSMaxOp", "intr.SMaxOp"),
    "minsi": ("intr.ReduceSMinOp", "intr.SMinOp"),
    "maxui": ("intr.ReduceUMaxOp", "intr.UMaxOp"),
    "minui": ("intr.ReduceUMinOp", "intr.UMinOp"),
}
_NSZ = FastMathFlag.NO_SIGNED_ZEROS


def _reduction(b: FunctionBuilder, op: vector.ReductionOp) -> None:
    kind = str(op.kind.data)
    source = b.value(op.vector)
    element = source.type.element_type  # type: ignore[union-attr]
    accumulator = None if op.acc is None else b.value(op.acc)
    if isinstance(element, IntegerType):
        value = _reduce_integers(b, kind, source, accumulator)
    elif kind in _ORDERED:
        reduce, identity = _ORDERED[kind]
        start = accumulator if accumulator is not None else b.splat(identity, element)
        value = b.emit(llvm_class(reduce), (start, source), element, {"fastmathFlags": fastmath(op)})
    else:
        reduce, combine = _FLOAT_REDUCTIONS[kind]
        flags = {"fastmathFlags": fastmath(op, _NSZ)}
        value = b.emit(llvm_class(reduce), (source,), element, flags)
        if accumulator is not None:
            value = b.emit(llvm_class(combine), (value, accumulator), element, flags)
    b.bind(op.dest, value)


def _reduce_integers(
    b: FunctionBuilder, kind: str, source: SSAValue, accumulator: SSAValue | None
) -> SSAValue:
    reduce, combine = _INTEGER_REDUCTIONS[kind]
    value = b.emit(llvm_class(reduce), (source,), source.type.element_type)  # type: ignore[union-attr]
    if accumulator is None:
        return value
    properties = {"overflowFlags": NO_WRAP} if kind in ("add", "mul") else None
    return b.emit(llvm_class(combine), (value, accumulator), value.type, properties)


VECTOR: dict[str, Handler] = {
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
    "vector.step": _step,
    "vector.create_mask": _create_mask,
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.bitcast": _bitcast,
    "vector.fma": _fma,
    "vector.reduction": _reduction,
}
