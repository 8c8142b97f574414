"""One element at a time: how nt element types are loaded, stored, converted and written as constants.

A tensor element has three forms: its nt type (`i1`, `ui8`, ...), its storage in memory (`i8`, `i8`) and its SSA
scalar (`i1`, `i8`). Accumulators of half-precision sums are stored wider than their tensor's type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.nest import YieldOp as NestYieldOp
from ...dialects.nt import YieldOp
from ...dialects.nt import expand_complex as xc
from ...dialects.nt.expand import Emitter
from ...dialects.nt.types import kind_of, part_type, scalar_type, width_of

_HALVES = (f16, bf16)


def from_storage(e: Emitter, loaded: SSAValue, element: Attribute) -> SSAValue:
    """The scalar of nt type `element` from what memory holds: `i8` becomes `i1`, a wide accumulator is rounded."""
    scalar = scalar_type(element)
    if loaded.type == scalar:
        return loaded
    if scalar == i1:
        return e.cmp("ne", loaded, e.const(0, loaded.type))
    return e.op(arith.TruncFOp, (loaded,), scalar)


def to_storage(e: Emitter, value: SSAValue, storage: Attribute) -> SSAValue:
    """What memory of type `storage` holds for the scalar `value`."""
    if value.type == storage:
        return value
    if value.type == i1:
        return e.op(arith.ExtUIOp, (value,), storage)
    return e.op(arith.ExtFOp, (value,), storage)


def stored_combiner(
    source: Block, elements: Sequence[Attribute], storages: Sequence[Attribute], location: Any = UNKNOWN_LOC
) -> Region:
    """The region of nt.reduce on what memory holds: its operations, between conversions where that differs from scalars."""
    body = Block(arg_types=[*storages, *storages])
    emitter = Emitter(body.add_op, location)
    mapping: dict[SSAValue, SSAValue] = {}
    for old, new, element in zip(source.args, body.args, [*elements, *elements], strict=True):
        new.name_hint = old.name_hint
        mapping[old] = from_storage(emitter, new, element)
    for inner in source.ops:
        if not isinstance(inner, YieldOp):
            body.add_op(inner.clone(mapping))
            continue
        pairs = zip(inner.values, storages, strict=True)
        values = [to_storage(emitter, mapping.get(v, v), t) for v, t in pairs]
        body.add_op(NestYieldOp.create(operands=values, location=inner.location))
    return Region(body)


def stored_identity(identity: ArrayAttr, storages: Sequence[Attribute]) -> ArrayAttr:
    """The identities of nt.reduce as memory holds them."""
    pairs = zip(identity.data, storages, strict=True)
    return ArrayAttr([IntegerAttr(a.value.data & 1, t) if t == i8 and a.type == i1 else a for a, t in pairs])  # pyright: ignore


def accumulator_type(element: Attribute, storage: Attribute, combiner: str) -> Attribute:
    """The storage of a reduction's accumulator: half-precision sums and products are kept in f32."""
    return f32 if element in _HALVES and combiner in ("add", "mul") else storage


def convert(e: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """The scalar `value` of nt type `source` as nt type `target`, as NumPy's astype does it.

    A float outside the range of an integer type converts to an unspecified integer, as in NumPy.
    """
    if source == target:
        return value
    if "c" in (kind_of(source), kind_of(target)):
        return _convert_complex(e, value, source, target)
    if target == i1:
        zero = e.const(0, value.type)
        return e.cmp("une" if kind_of(source) == "f" else "ne", value, zero)
    if kind_of(source) == "f":
        if kind_of(target) == "f":
            return _float_to_float(e, value, target)
        return _float_to_integer(e, value, target)
    if kind_of(target) == "f":
        return _integer_to_float(e, value, kind_of(source) == "i", target)
    return _integer_to_integer(e, value, kind_of(source) == "i", scalar_type(target))


def _convert_complex(e: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """The imaginary part of a real number is 0; that of a complex number is dropped, but for its truth."""
    if kind_of(source) != "c":
        part = part_type(target)
        return xc.create(e, convert(e, value, source, part), e.const(0.0, part))
    part = part_type(source)
    if target == i1:
        return e.op(arith.OrIOp, tuple([convert(e, xf(e, value), part, i1) for xf in (xc.real, xc.imag)]))
    real = convert(e, xc.real(e, value), part, part_type(target) if kind_of(target) == "c" else target)
    if kind_of(target) != "c":
        return real
    return xc.create(e, real, convert(e, xc.imag(e, value), part, part_type(target)))


def _float_to_float(e: Emitter, value: SSAValue, target: Attribute) -> SSAValue:
    # Between the two halves there is no direct conversion, and bfloat16 is by definition made from a float32.
    through_f32 = target in _HALVES and value.type != f32 and (target == bf16 or value.type == bf16)
    if through_f32:
        value = _resize_float(e, value, f32)
    return _resize_float(e, value, target)


def _resize_float(e: Emitter, value: SSAValue, target: Attribute) -> SSAValue:
    before, after = width_of(value.type), width_of(target)
    if before == after:
        return value
    return e.op(arith.ExtFOp if after > before else arith.TruncFOp, (value,), target)


def _float_to_integer(e: Emitter, value: SSAValue, target: Attribute) -> SSAValue:
    # Narrow integers wrap around from a wider one: what C compilers and NumPy do with -1.0 or 300.0.
    if value.type in _HALVES:
        value = _resize_float(e, value, f32)
    unsigned, width = kind_of(target) == "u", width_of(target)
    if width == 64:
        return _to_unsigned(e, value) if unsigned else e.op(arith.FPToSIOp, (value,), i64)
    wide = i64 if unsigned and width == 32 else i32
    whole = e.op(arith.FPToSIOp, (value,), wide)
    return _integer_to_integer(e, whole, True, scalar_type(target))


def _to_unsigned(e: Emitter, value: SSAValue) -> SSAValue:
    """What NumPy's compilers make of a float on x86: negative numbers wrap around, as from a signed integer."""
    half = e.const(2.0**63, value.type)
    rest = e.op(arith.FPToSIOp, (e.op(arith.SubfOp, (value, half)),), i64)
    upper = e.op(arith.XOrIOp, (rest, e.const(-(1 << 63), i64)))
    return e.select(e.cmp("oge", value, half), upper, e.op(arith.FPToSIOp, (value,), i64))


def _integer_to_float(e: Emitter, value: SSAValue, signed: bool, target: Attribute) -> SSAValue:
    wide = f32 if target in _HALVES else target
    result = e.op(arith.SIToFPOp if signed else arith.UIToFPOp, (value,), wide)
    return _resize_float(e, result, target)


def _integer_to_integer(
    e: Emitter, value: SSAValue, signed: bool, target: AnyFloat | IntegerType
) -> SSAValue:
    before, after = width_of(value.type), width_of(target)
    if before == after:
        return value
    if after < before:
        return e.op(arith.TruncIOp, (value,), target)
    return e.op(arith.ExtSIOp if signed else arith.ExtUIOp, (value,), target)
