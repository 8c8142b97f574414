"""Operations that become C expressions: `arith`, `math`, and the reads of `gpu` and `memref`.

Each rule takes the printer and the operation and returns a `CExpr`; `EXPRESSIONS` dispatches by operation
type. The rules of arithmetic are in integer.py, float.py and conversions.py.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, gpu, math, memref, vector
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Operation

from ...dialects import functions
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import arith as ext_arith
from ...dialects.ext import gpu as gpu_ext
from ...dialects.ext.math import ErfcOp
from .conversions import (
    bitcast,
    from_integer,
    index_cast,
    resize_float,
    to_integer,
    truncate,
    widen_signed,
    widen_unsigned,
)
from .expressions import (
    Printer,
    Rule,
    join,
    signed_operand,
    typed_literal,
)
from .float import (
    c_math_call,
    compare_floats,
    exponential,
    float_binary,
    fma,
    nan_minmax,
    negate,
    powi,
    reciprocal_root,
    sigmoid,
)
from .integer import (
    abs_integer,
    bitwise,
    ceil_div_unsigned,
    compare_integers,
    count_bits,
    integer_helper,
    integer_minmax,
    random_bits,
    shift_left,
    shift_right_signed,
    shift_right_unsigned,
    signed_division,
    unsigned_division,
    wrapping,
)
from .types import (
    ADD,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    LOGIC_AND,
    LOGIC_OR,
    MUL,
    TERNARY,
    CExpr,
)
from .vector import extract_lane


def _constant(p: Printer, op: arith.ConstantOp) -> CExpr:
    value = op.value
    if isinstance(value, IntegerAttr):
        return p.types.integer(value.value.data, op.result.type)
    if isinstance(value, FloatAttr):
        return p.types.floating(value.value.data, op.result.type)
    raise fail(op, "only scalar constants can be printed as CUDA C", error=LoweringError)


def _select(p: Printer, op: arith.SelectOp) -> CExpr:
    condition, then, other = p.value(op.cond), signed_operand(p, op.lhs), signed_operand(p, op.rhs)
    then, other = typed_literal(p, op.result.type, then), typed_literal(p, op.result.type, other)
    # ?: groups to the right: a chain of selects reads as a table without parentheses.
    text = f"{condition.at(TERNARY + 1)} ? {then.at(TERNARY + 1)} : {other.text}"
    return join(text, TERNARY, condition, then, other)


def _load(p: Printer, op: memref.LoadOp) -> CExpr:
    return p.element(op.memref, list(op.indices))


def _dim(p: Printer, op: memref.DimOp) -> CExpr:
    index = op.index.owner
    if not (isinstance(index, arith.ConstantOp) and isinstance(index.value, IntegerAttr)):
        raise fail(op, "memref.dim needs a constant axis", error=LoweringError)
    if not isinstance(op.source.type, MemRefType):
        raise fail(op, f"memref.dim of {op.source.type}", error=LoweringError)
    return p.extent(op.source, index.value.value.data)


def _builtin(name: str) -> Rule:
    def rule(p: Printer, op: Any) -> CExpr:
        return CExpr(f"{name}.{op.dimension.data.value}", is_builtin=True)

    return rule


def _global_id(p: Printer, op: gpu.GlobalIdOp) -> CExpr:
    d = op.dimension.data.value
    if p.types.index_bits == 64:
        return CExpr(f"(long long)blockIdx.{d} * blockDim.{d} + threadIdx.{d}", ADD)
    return CExpr(f"blockIdx.{d} * blockDim.{d} + threadIdx.{d}", ADD, is_builtin=True)


EXPRESSIONS: dict[type[Operation], Rule] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: wrapping("+", ADD, "!="),
    arith.SubiOp: wrapping("-", ADD, "!="),
    arith.MuliOp: wrapping("*", MUL, "&&"),
    arith.DivSIOp: signed_division("/"),
    arith.RemSIOp: signed_division("%"),
    arith.DivUIOp: unsigned_division("/"),
    arith.RemUIOp: unsigned_division("%"),
    arith.FloorDivSIOp: integer_helper("nt_floor_div"),
    arith.CeilDivSIOp: integer_helper("nt_ceil_div"),
    arith.CeilDivUIOp: ceil_div_unsigned,
    arith.AndIOp: bitwise("&", BIT_AND, "&&", LOGIC_AND),
    arith.OrIOp: bitwise("|", BIT_OR, "||", LOGIC_OR),
    arith.XOrIOp: bitwise("^", BIT_XOR, "!=", EQUALITY),
    arith.ShLIOp: shift_left,
    arith.ShRSIOp: shift_right_signed,
    arith.ShRUIOp: shift_right_unsigned,
    arith.MinSIOp: integer_minmax("min", unsigned=False),
    arith.MaxSIOp: integer_minmax("max", unsigned=False),
    arith.MinUIOp: integer_minmax("min", unsigned=True),
    arith.MaxUIOp: integer_minmax("max", unsigned=True),
    arith.CmpiOp: compare_integers,
    arith.CmpfOp: compare_floats,
    arith.SelectOp: _select,
    arith.AddfOp: float_binary("+", ADD),
    arith.SubfOp: float_binary("-", ADD),
    arith.MulfOp: float_binary("*", MUL),
    arith.DivfOp: float_binary("/", MUL),
    ext_arith.RemfOp: c_math_call("fmod"),
    arith.NegfOp: negate,
    arith.MaximumfOp: nan_minmax("nt_maximum"),
    arith.MinimumfOp: nan_minmax("nt_minimum"),
    arith.MaxnumfOp: c_math_call("fmax"),
    arith.MinnumfOp: c_math_call("fmin"),
    arith.ExtSIOp: widen_signed,
    arith.ExtUIOp: widen_unsigned,
    arith.TruncIOp: truncate,
    arith.IndexCastOp: index_cast,
    arith.SIToFPOp: from_integer(unsigned=False),
    arith.UIToFPOp: from_integer(unsigned=True),
    arith.FPToSIOp: to_integer(unsigned=False),
    arith.FPToUIOp: to_integer(unsigned=True),
    arith.ExtFOp: resize_float,
    arith.TruncFOp: resize_float,
    arith.BitcastOp: bitcast,
    math.AbsIOp: abs_integer,
    math.FPowIOp: powi,
    math.IPowIOp: integer_helper("nt_int_pow"),
    math.FmaOp: fma,
    math.RsqrtOp: reciprocal_root,
    functions.OPERATIONS["sigmoid"]: sigmoid,
    functions.PhiloxOp: random_bits,
    math.CtPopOp: count_bits("popc", fixup=0),
    math.CountLeadingZerosOp: count_bits("clz", fixup=1),
    math.CountTrailingZerosOp: count_bits("ffs", fixup=0),
    memref.LoadOp: _load,
    memref.DimOp: _dim,
    vector.ExtractOp: extract_lane,
    gpu.ThreadIdOp: _builtin("threadIdx"),
    gpu.BlockIdOp: _builtin("blockIdx"),
    gpu.BlockDimOp: _builtin("blockDim"),
    gpu.GridDimOp: _builtin("gridDim"),
    gpu.GlobalIdOp: _global_id,
}
"""How each operation with one result is written as a C expression."""

for _op, _name in {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    ErfcOp: "erfc",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundOp: "round",
    math.RoundEvenOp: "rint",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
    **{functions.OPERATIONS[row.name]: row.cuda for row in functions.FUNCTIONS if row.cuda},
}.items():
    EXPRESSIONS[_op] = c_math_call(_name)

EXPRESSIONS[math.ExpOp] = exponential

for _base in (gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp, gpu.GlobalIdOp):
    EXPRESSIONS[getattr(gpu_ext, _base.__name__)] = EXPRESSIONS[_base]
