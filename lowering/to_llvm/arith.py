"""`arith` and `math` to llvm: one table per family, by the names of operations.

    %r = arith.maximumf %a, %b : vector<16xf32>
    ->
    %r = llvm.intr.maximum(%a, %b) {fastmathFlags = #llvm.fastmath<nsz>} : (...) -> vector<16xf32>

NumPy leaves the sign of zero in minimum and maximum open, hence `nsz` there. Nothing else gains a
fast-math flag that its source operation does not carry. Conversions between f64 or f32 and bf16, and
from f64 to f16, are written out, for not every host has them and the C library may lack the helper.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from .builder import FunctionBuilder, Handler, llvm_class
from .types import NO_WRAP, lower_type

_fastmath_cache: dict[Any, llvm.FastMathAttr] = {}
_EXACT = {"fastmathFlags": intr.NO_FASTMATH}


def fastmath(op: Operation, *extra: FastMathFlag) -> llvm.FastMathAttr:
    """The llvm flags for the `fastmath` attribute of an arith, math or vector operation."""
    source = op.properties.get("fastmath")
    key = (source, extra)
    found = _fastmath_cache.get(key)
    if found is None:
        flags = set(source.data) if source is not None else set()  # type: ignore[attr-defined]
        found = _fastmath_cache[key] = llvm.FastMathAttr([*flags, *(f for f in extra if f not in flags)])
    return found


def element_of(type: Attribute) -> Any:
    return type.element_type if isinstance(type, VectorType) else type


def like(type: Attribute, element: Attribute) -> Any:
    """`element`, as a vector when `type` is one."""
    return VectorType(element, type.shape) if isinstance(type, VectorType) else element  # type: ignore[type-var]


# --- shapes of translation -------------------------------------------------------------------------------


def _binary(kind: str) -> Handler:
    def lower(b: FunctionBuilder, op: Operation) -> None:
        lhs, rhs = map(b.value, op.operands)
        b.bind(op.results[0], b.emit(llvm_class(kind), (lhs, rhs), lhs.type))

    return lower


def _wrapping(kind: str) -> Handler:
    codes = {0: NO_WRAP, 1: IntegerAttr(1, 32), 2: IntegerAttr(2, 32), 3: IntegerAttr(3, 32)}

    def lower(b: FunctionBuilder, op: Any) -> None:
        lhs, rhs = map(b.value, op.operands)
        flags = op.properties.get("overflowFlags")
        words = {str(flag) for flag in flags.data} if flags is not None else ()
        code = codes[("nsw" in words) + 2 * ("nuw" in words)]
        b.bind(op.result, b.emit(llvm_class(kind), (lhs, rhs), lhs.type, {"overflowFlags": code}))

    return lower


def _float(kind: str, *extra: FastMathFlag) -> Handler:
    def lower(b: FunctionBuilder, op: Operation) -> None:
        operands = [b.value(v) for v in op.operands]
        b.bind(
            op.results[0],
            b.emit(llvm_class(kind), operands, operands[0].type, {"fastmathFlags": fastmath(op, *extra)}),
        )

    return lower


def _unary(kind: str) -> Handler:
    def lower(b: FunctionBuilder, op: Operation) -> None:
        arg = b.value(op.operands[0])
        b.bind(op.results[0], b.emit(llvm_class(kind), (arg,), arg.type))

    return lower


def _cast(kind: str) -> Handler:
    def lower(b: FunctionBuilder, op: Any) -> None:
        b.bind(op.result, b.emit(llvm_class(kind), (b.value(op.input),), lower_type(op, op.result.type)))

    return lower


def _flagged(kind: str, flag: str) -> Handler:
    properties = {flag: BoolAttr.from_bool(False)}

    def lower(b: FunctionBuilder, op: Any) -> None:
        arg = b.value(op.operands[0])
        b.bind(op.results[0], b.emit(llvm_class(kind), (arg,), arg.type, properties))

    return lower


# --- arith -----------------------------------------------------------------------------------------------


def _constant(b: FunctionBuilder, op: arith.ConstantOp) -> None:
    value: Any = op.value
    type_ = lower_type(op, op.result.type)
    if isinstance(value, IntegerAttr) and isinstance(value.type, IndexType):
        value = IntegerAttr(value.value.data, i64)
    elif isinstance(value, DenseIntOrFPElementsAttr) and isinstance(value.get_element_type(), IndexType):
        value = DenseIntOrFPElementsAttr.from_list(type_, list(value.get_values()))  # type: ignore[arg-type]
    b.bind(op.result, b.constant_attribute(value, type_))


def _cmpi(b: FunctionBuilder, op: arith.CmpiOp) -> None:
    lhs = b.value(op.lhs)
    b.bind(
        op.result,
        b.emit(ext.ICmpOp, (lhs, b.value(op.rhs)), like(lhs.type, i1), {"predicate": op.predicate}),
    )


def _cmpf(b: FunctionBuilder, op: arith.CmpfOp) -> None:
    lhs = b.value(op.lhs)
    properties = {"predicate": op.predicate, "fastmathFlags": fastmath(op)}
    b.bind(op.result, b.emit(ext.FCmpOp, (lhs, b.value(op.rhs)), like(lhs.type, i1), properties))


def _select(b: FunctionBuilder, op: arith.SelectOp) -> None:
    lower_type(op, op.result.type)
    b.bind(op.result, b.select(*(b.value(v) for v in op.operands)))


def _index_cast(b: FunctionBuilder, op: arith.IndexCastOp) -> None:
    source = b.value(op.input)
    target = lower_type(op, op.result.type)
    change = element_of(target).width.data - element_of(source.type).width.data
    if change == 0:
        b._values[op.result] = source
        return
    b.bind(op.result, b.emit(llvm.SExtOp if change > 0 else llvm.TruncOp, (source,), target))


def _bitcast(b: FunctionBuilder, op: Any) -> None:
    source, target = b.value(op.operands[0]), lower_type(op, op.results[0].type)
    b.bind(op.results[0], b.emit(llvm.BitcastOp, (source,), target))


def _floordiv(b: FunctionBuilder, op: arith.FloorDivSIOp) -> None:
    """Quotient towards zero, less one where a remainder is left and the signs differ."""
    lhs, rhs = map(b.value, op.operands)
    quotient, remainder = _divide(b, lhs, rhs)
    signs = b.compare("slt", b.binary(llvm.XOrOp, remainder, rhs), b.splat(0, rhs.type))
    inexact = b.compare("ne", remainder, b.splat(0, rhs.type))
    correction = b.emit(llvm.SExtOp, (b.emit(llvm.AndOp, (signs, inexact), signs.type),), lhs.type)
    b.bind(op.results[0], b.emit(llvm.AddOp, (quotient, correction), lhs.type, {"overflowFlags": NO_WRAP}))


def _ceildiv(b: FunctionBuilder, op: arith.CeilDivSIOp) -> None:
    lhs, rhs = map(b.value, op.operands)
    quotient, remainder = _divide(b, lhs, rhs)
    signs = b.compare("sge", b.binary(llvm.XOrOp, lhs, rhs), b.splat(0, rhs.type))
    inexact = b.compare("ne", remainder, b.splat(0, rhs.type))
    correction = b.emit(llvm.ZExtOp, (b.emit(llvm.AndOp, (signs, inexact), signs.type),), lhs.type)
    b.bind(op.results[0], b.emit(llvm.AddOp, (quotient, correction), lhs.type, {"overflowFlags": NO_WRAP}))


def _divide(b: FunctionBuilder, lhs: SSAValue, rhs: SSAValue) -> tuple[SSAValue, SSAValue]:
    quotient = b.binary(llvm.SDivOp, lhs, rhs)
    product = b.emit(llvm.MulOp, (quotient, rhs), lhs.type, {"overflowFlags": NO_WRAP})
    return quotient, b.emit(llvm.SubOp, (lhs, product), lhs.type, {"overflowFlags": NO_WRAP})


def _ceildiv_unsigned(b: FunctionBuilder, op: arith.CeilDivUIOp) -> None:
    lhs, rhs = map(b.value, op.operands)
    quotient = b.binary(llvm.UDivOp, lhs, rhs)
    product = b.emit(llvm.MulOp, (quotient, rhs), lhs.type, {"overflowFlags": NO_WRAP})
    inexact = b.emit(llvm.ZExtOp, (b.compare("ne", product, lhs),), lhs.type)
    b.bind(op.results[0], b.emit(llvm.AddOp, (quotient, inexact), lhs.type, {"overflowFlags": NO_WRAP}))


def _multiply_extended(extend: str) -> Handler:
    def lower(b: FunctionBuilder, op: Operation) -> None:
        lhs, rhs = map(b.value, op.operands)
        width = element_of(lhs.type).width.data
        wide = like(lhs.type, IntegerType(2 * width))
        operands = [b.emit(llvm_class(extend), (v,), wide) for v in (lhs, rhs)]
        product = b.emit(llvm.MulOp, operands, wide, {"overflowFlags": NO_WRAP})
        high = b.binary(llvm.LShrOp, product, b.splat(width, wide))
        b.bind(op.results[0], b.emit(llvm.TruncOp, (product,), lhs.type))
        b.bind(op.results[1], b.emit(llvm.TruncOp, (high,), lhs.type))

    return lower


def _add_extended(b: FunctionBuilder, op: arith.AddUIExtendedOp) -> None:
    lhs, rhs = map(b.value, op.operands)
    total = b.emit(llvm.AddOp, (lhs, rhs), lhs.type, {"overflowFlags": NO_WRAP})
    b.bind(op.results[0], total)
    b.bind(op.results[1], b.compare("ult", total, lhs))


# --- float widths ----------------------------------------------------------------------------------------


def _extend(b: FunctionBuilder, op: arith.ExtFOp) -> None:
    b.bind(op.result, extend_float(b, b.value(op.input), element_of(op.result.type)))


def extend_float(b: FunctionBuilder, value: SSAValue, target: Attribute) -> SSAValue:
    """`value` in the wider float type `target`: always exact."""
    if isinstance(element_of(value.type), BFloat16Type):
        value = _bfloat_to_single(b, value)
        if isinstance(target, Float32Type):
            return value
    return b.emit(llvm.FPExtOp, (value,), like(value.type, target))


def _truncate(b: FunctionBuilder, op: arith.TruncFOp) -> None:
    if (mode := op.properties.get("roundingmode")) is not None:
        raise fail(op, f"no translation for rounding mode {mode}", error=LoweringError)
    b.bind(op.result, truncate_float(b, b.value(op.input), element_of(op.result.type)))


def truncate_float(b: FunctionBuilder, value: SSAValue, target: Attribute) -> SSAValue:
    """`value` rounded (once, to nearest even) to the narrower float type `target`."""
    source = element_of(value.type)
    if isinstance(target, BFloat16Type) or (
        isinstance(source, Float64Type) and isinstance(target, Float16Type)
    ):
        if isinstance(source, Float64Type):
            value = _round_to_odd_single(b, value)
        elif not isinstance(source, Float32Type):
            value = extend_float(b, value, f32)
        if isinstance(target, BFloat16Type):
            return _single_to_bfloat(b, value)
    return b.emit(llvm.FPTruncOp, (value,), like(value.type, target))


def _bits(b: FunctionBuilder, value: SSAValue, width: int) -> SSAValue:
    return b.emit(llvm.BitcastOp, (value,), like(value.type, IntegerType(width)))


def _bfloat_to_single(b: FunctionBuilder, value: SSAValue) -> SSAValue:
    wide = like(value.type, i32)
    bits = b.emit(llvm.ZExtOp, (_bits(b, value, 16),), wide)
    shifted = b.emit(llvm.ShlOp, (bits, b.splat(16, wide)), wide, {"overflowFlags": NO_WRAP})
    return b.emit(llvm.BitcastOp, (shifted,), like(value.type, f32))


def _single_to_bfloat(b: FunctionBuilder, value: SSAValue) -> SSAValue:
    """Add half a unit (less one bit when the kept part is even) and cut; a NaN is cut and made quiet."""
    bits = _bits(b, value, 32)
    word = bits.type
    high = b.binary(llvm.LShrOp, bits, b.splat(16, word))
    odd = b.binary(llvm.AndOp, high, b.splat(1, word))
    bias = b.emit(llvm.AddOp, (odd, b.splat(0x7FFF, word)), word, {"overflowFlags": NO_WRAP})
    rounded = b.emit(llvm.AddOp, (bits, bias), word, {"overflowFlags": NO_WRAP})
    kept = b.binary(llvm.LShrOp, rounded, b.splat(16, word))
    quiet = b.emit(llvm.OrOp, (high, b.splat(0x40, word)), word)
    is_nan = _fcmp(b, "uno", value, value)
    half = b.emit(llvm.TruncOp, (b.select(is_nan, quiet, kept),), like(word, IntegerType(16)))
    return b.emit(llvm.BitcastOp, (half,), like(word, BFloat16Type()))


def _round_to_odd_single(b: FunctionBuilder, value: SSAValue) -> SSAValue:
    """f64 -> f32 rounded to odd, so that a second rounding to 16 bits is as if done at once."""
    single = like(value.type, f32)
    nearest = b.emit(llvm.FPTruncOp, (value,), single)
    back = b.emit(llvm.FPExtOp, (nearest,), value.type)
    bits = _bits(b, nearest, 32)
    word = bits.type
    # Step back towards zero where rounding went away from it, then set the last bit: round to odd.
    magnitude = b.emit(llvm.FAbsOp, (value,), value.type, _EXACT)
    back_magnitude = b.emit(llvm.FAbsOp, (back,), value.type, _EXACT)
    away = b.emit(llvm.SExtOp, (_fcmp(b, "ogt", back_magnitude, magnitude),), word)
    toward_zero = b.emit(llvm.AddOp, (bits, away), word, {"overflowFlags": NO_WRAP})
    odd = b.emit(llvm.OrOp, (toward_zero, b.splat(1, word)), word)
    inexact = _fcmp(b, "one", back, value)
    return b.emit(llvm.BitcastOp, (b.select(inexact, odd, bits),), single)


def _fcmp(b: FunctionBuilder, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    code = IntegerAttr(llvm.FCmpPredicateFlag(predicate).to_int(), 64)
    properties = {"predicate": code, "fastmathFlags": intr.NO_FASTMATH}
    return b.emit(ext.FCmpOp, (lhs, rhs), like(lhs.type, i1), properties)


def _float_to_int(kind: str) -> Handler:
    """Of a number that is out of range LLVM says it is poison, and may take any value at each use: it is frozen to one."""

    def lower(b: FunctionBuilder, op: Any) -> None:
        value = b.value(op.input)
        if isinstance(element_of(value.type), BFloat16Type):
            value = _bfloat_to_single(b, value)
        whole = b.emit(llvm_class(kind), (value,), lower_type(op, op.result.type))
        b.bind(op.result, b.emit(llvm_class("ext.FreezeOp"), (whole,), whole.type))

    return lower


def _int_to_float(kind: str) -> Handler:
    def lower(b: FunctionBuilder, op: Any) -> None:
        value, target = b.value(op.input), lower_type(op, op.result.type)
        if not isinstance(element_of(target), BFloat16Type):
            b.bind(op.result, b.emit(llvm_class(kind), (value,), target))
            return
        exact = f32 if element_of(value.type).width.data <= 16 else Float64Type()
        b.bind(
            op.result,
            truncate_float(b, b.emit(llvm_class(kind), (value,), like(target, exact)), element_of(target)),
        )

    return lower


def _in_single(lower_single: Handler) -> Handler:
    """bf16 arithmetic: computed in f32, rounded once."""

    def lower(b: FunctionBuilder, op: Operation) -> None:
        result = op.results[0]
        if not isinstance(element_of(result.type), BFloat16Type):
            lower_single(b, op)
            return
        kept = {operand: b.value(operand) for operand in op.operands}
        for operand, value in kept.items():
            b._values[operand] = _bfloat_to_single(b, value)
        lower_single(b, op)
        b._values.update(kept)
        b.bind(result, _single_to_bfloat(b, b.value(result)))

    return lower


def _cmpf_any(b: FunctionBuilder, op: arith.CmpfOp) -> None:
    if not isinstance(element_of(op.lhs.type), BFloat16Type):
        _cmpf(b, op)
        return
    lhs, rhs = (_bfloat_to_single(b, b.value(v)) for v in (op.lhs, op.rhs))
    properties = {"predicate": op.predicate, "fastmathFlags": fastmath(op)}
    b.bind(op.result, b.emit(ext.FCmpOp, (lhs, rhs), like(lhs.type, i1), properties))


_NSZ = FastMathFlag.NO_SIGNED_ZEROS

ARITH: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.addi": _wrapping("llvm.AddOp"),
    "arith.subi": _wrapping("llvm.SubOp"),
    "arith.muli": _wrapping("llvm.MulOp"),
    "arith.shli": _wrapping("llvm.ShlOp"),
    "arith.divsi": _binary("llvm.SDivOp"),
    "arith.divui": _binary("llvm.UDivOp"),
    "arith.remsi": _binary("llvm.SRemOp"),
    "arith.remui": _binary("llvm.URemOp"),
    "arith.floordivsi": _floordiv,
    "arith.ceildivsi": _ceildiv,
    "arith.ceildivui": _ceildiv_unsigned,
    "arith.addui_extended": _add_extended,
    "arith.mului_extended": _multiply_extended("llvm.ZExtOp"),
    "arith.mulsi_extended": _multiply_extended("llvm.SExtOp"),
    "arith.minsi": _binary("intr.SMinOp"),
    "arith.maxsi": _binary("intr.SMaxOp"),
    "arith.minui": _binary("intr.UMinOp"),
    "arith.maxui": _binary("intr.UMaxOp"),
    "arith.andi": _binary("llvm.AndOp"),
    "arith.ori": _binary("llvm.OrOp"),
    "arith.xori": _binary("llvm.XOrOp"),
    "arith.shrsi": _binary("llvm.AShrOp"),
    "arith.shrui": _binary("llvm.LShrOp"),
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf_any,
    "arith.select": _select,
    "arith.addf": _in_single(_float("llvm.FAddOp")),
    "arith.subf": _in_single(_float("llvm.FSubOp")),
    "arith.mulf": _in_single(_float("llvm.FMulOp")),
    "arith.divf": _in_single(_float("llvm.FDivOp")),
    "arith.remf": _in_single(_float("llvm.FRemOp")),
    "arith.negf": _float("llvm.FNegOp"),
    "arith.maximumf": _in_single(_float("intr.MaximumOp", _NSZ)),
    "arith.minimumf": _in_single(_float("intr.MinimumOp", _NSZ)),
    "arith.maxnumf": _in_single(_float("llvm.VectorFMaxOp")),
    "arith.minnumf": _in_single(_float("llvm.VectorFMinOp")),
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.fptosi": _float_to_int("ext.FPToSIOp"),
    "arith.fptoui": _float_to_int("ext.FPToUIOp"),
    "arith.sitofp": _int_to_float("llvm.SIToFPOp"),
    "arith.uitofp": _int_to_float("ext.UIToFPOp"),
    "arith.extf": _extend,
    "arith.truncf": _truncate,
    "arith.trunci": _cast("llvm.TruncOp"),
    "arith.extsi": _cast("llvm.SExtOp"),
    "arith.extui": _cast("llvm.ZExtOp"),
}

MATH: dict[str, Handler] = {
    "math.absf": _float("llvm.FAbsOp"),
    "math.absi": _flagged("intr.AbsOp", "is_int_min_poison"),
    "math.ceil": _in_single(_float("llvm.FCeilOp")),
    "math.floor": _in_single(_float("llvm.FFloorOp")),
    "math.round": _in_single(_float("intr.RoundOp")),
    "math.roundeven": _in_single(_float("intr.RoundEvenOp")),
    "math.trunc": _in_single(_float("intr.FTruncOp")),
    "math.sqrt": _in_single(_float("llvm.FSqrtOp")),
    "math.fma": _in_single(_float("llvm.FMAOp")),
    "math.copysign": _float("llvm.FCopySignOp"),
    "math.ctlz": _flagged("intr.CtlzOp", "is_zero_poison"),
    "math.cttz": _flagged("intr.CttzOp", "is_zero_poison"),
    "math.ctpop": _unary("intr.CtpopOp"),
}
