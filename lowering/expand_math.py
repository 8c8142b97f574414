"""Pass `expand-math`: transcendental functions become arithmetic, for any vector width, or libm calls.

    %y = math.exp %x : vector<16xf32>

becomes

    %t = math.fma %x, log2(e), 1.5 * 2^23        // the low bits of %t are n = round(x / ln 2)
    %r = x - n ln 2                              // two fused steps
    %p = polynomial in %r                        // |r| <= ln(2) / 2
    %y = %p * 2^(n / 2) * 2^(n - n / 2)          // two steps, so that denormal results round once

exp, exp2, expm1, log, log2, log10, log1p and tanh are expanded for f32 and f64, erf for f32 (f16 and bf16 are computed
in f32): exp and erf within 1 ULP, tanh within 2.5, the others within 2, over all inputs, with the same bits for
scalars and vectors. The rest (sin, pow, erf of f64, ...) are calls of the C library, lane by lane for vectors.
Expansions carry no fast-math flags: they rely on the order of their operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, math, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..dialects.diagnostic import LoweringError, fail
from .expand_math_forms import FORMS, FormBuilder, erf_single

LIBM: dict[type[Operation], str] = {
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    math.PowFOp: "pow",
}
"""Operations that are calls of the C library, by the name for double; single adds an `f`."""

_PURE_CALL = ArrayAttr([StringAttr("willreturn"), ArrayAttr([StringAttr("memory"), StringAttr("0")])])


class ExpandMathPass(ModulePass):
    """Write transcendental math operations as polynomials, or as calls of the C math library."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_math(op)


def expand_math(module: ModuleOp) -> None:
    """Expand in place every math operation that has no machine instruction."""
    for function in list(module.body.block.ops):
        if isinstance(function, func.FuncOp) and function.body.blocks:
            _expand_function(module, function)


def _expand_function(module: ModuleOp, function: func.FuncOp) -> None:
    constants: dict[tuple[Any, Attribute], SSAValue] = {}
    for op in list(function.walk()):
        expand = _EXPANDERS.get(type(op))
        if expand is None:
            continue
        builder = FormBuilder(op, function.body.blocks[0], constants)
        result = expand(module, builder, op)
        if result.name_hint is None:
            result.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()


def _element(type: Attribute) -> Any:
    return type.element_type if isinstance(type, VectorType) else type


def _with_element(type: Attribute, element: Attribute) -> Any:
    return VectorType(element, type.shape) if isinstance(type, VectorType) else element  # type: ignore[type-var]


Expander = Callable[[ModuleOp, FormBuilder, Operation], SSAValue]


def _by_width(compute: Callable[[ModuleOp, FormBuilder, Operation, list[SSAValue]], SSAValue]) -> Expander:
    """Compute in f32 where the operands are narrower."""

    def expand(module: ModuleOp, b: FormBuilder, op: Operation) -> SSAValue:
        type_ = op.results[0].type
        element = _element(type_)
        if isinstance(element, Float32Type | Float64Type):
            return compute(module, b, op, list(op.operands))
        if not isinstance(element, Float16Type | BFloat16Type):
            raise fail(op, f"{op.name} of {element} has no expansion", error=LoweringError)
        wide = _with_element(type_, f32)
        operands = [b.emit(arith.ExtFOp, [v], wide) for v in op.operands]
        return b.emit(arith.TruncFOp, [compute(module, b, op, operands)], type_)

    return expand


def _inline(module: ModuleOp, b: FormBuilder, op: Operation, operands: list[SSAValue]) -> SSAValue:
    return FORMS[type(op)](b, operands[0])


def _call(module: ModuleOp, b: FormBuilder, op: Operation, operands: list[SSAValue]) -> SSAValue:
    type_: Any = operands[0].type
    element = _element(type_)
    name = LIBM[type(op)] + ("f" if isinstance(element, Float32Type) else "")
    _declare(module, op, name, element, len(operands))
    callee = {"callee": SymbolRefAttr(name)}
    if not isinstance(type_, VectorType):
        return b.emit(func.CallOp, operands, element, callee)
    if len(type_.get_shape()) != 1:
        raise fail(op, f"{op.name} of {type_}: vectors have one dimension here", error=LoweringError)
    result = b.constant(0.0, type_)
    for lane in range(type_.get_shape()[0]):
        position = {"static_position": DenseArrayBase.from_list(i64, [lane])}
        scalars = [b.emit(vector.ExtractOp, [v], element, position) for v in operands]
        value = b.emit(func.CallOp, scalars, element, callee)
        result = b.emit(vector.InsertOp, [value, result], type_, position)
    return result


def _declare(module: ModuleOp, op: Operation, name: str, element: Attribute, arity: int) -> None:
    for present in module.body.block.ops:
        if isinstance(present, func.FuncOp) and present.sym_name.data == name:
            if present.body.blocks:
                raise fail(
                    op, f"@{name} is a function of the module, not of the C library", error=LoweringError
                )
            return
    declaration = func.FuncOp(name, ([element] * arity, [element]), Region(), visibility="private")
    declaration.attributes["passthrough"] = _PURE_CALL
    module.body.block.insert_op_before(declaration, module.body.block.first_op)  # type: ignore[arg-type]


def _rsqrt(module: ModuleOp, b: FormBuilder, op: Operation, operands: list[SSAValue]) -> SSAValue:
    x = operands[0]
    return b.div(b.constant(1.0, x.type), b.emit(math.SqrtOp, [x], x.type))


def _erf(module: ModuleOp, b: FormBuilder, op: Operation, operands: list[SSAValue]) -> SSAValue:
    if isinstance(_element(operands[0].type), Float64Type):
        return _call(module, b, op, operands)
    return erf_single(b, operands[0])


_EXPANDERS: dict[type[Operation], Expander] = {
    **{kind: _by_width(_inline) for kind in FORMS},
    **{kind: _by_width(_call) for kind in LIBM},
    math.RsqrtOp: _by_width(_rsqrt),
    math.ErfOp: _by_width(_erf),
}
