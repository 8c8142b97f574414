"""How each transcendental function is written (part of expand-math): a form for each operation of `math` and `special`."""

from __future__ import annotations

from collections.abc import Callable, Container
from importlib import import_module
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    VectorType,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.gpu import FuncOp as KernelOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import functions
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.math import ErfcOp
from ...dialects.walk import walk
from . import exp_log as forms
from . import hyperbolic, inverse, trig
from . import pow as powers
from .builder import FormBuilder
from .erf import erf, erfc
from .random import philox


def expand_function(function: FuncOp | KernelOp, unless: Container[type[Operation]] = ()) -> None:
    """Expand in place what the function computes, `unless` the operation is one of these."""
    constants: dict[tuple[Any, Attribute], SSAValue] = {}
    for op in walk(function):
        if type(op) not in FORMS or type(op) in unless:
            continue
        result = _expand(FormBuilder(op, function.body.blocks[0], constants), op)
        if result.name_hint is None:
            result.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()


def _expand(b: FormBuilder, op: Operation) -> SSAValue:
    """Computed in f32 where the operands are narrower."""
    form = FORMS[type(op)]
    type_ = op.results[0].type
    element = type_.element_type if isinstance(type_, VectorType) else type_
    if isinstance(element, Float32Type | Float64Type | IntegerType):
        return form(b, *op.operands)
    if not isinstance(element, Float16Type | BFloat16Type):
        raise fail(op, f"{op.name} of {element} has no expansion", error=LoweringError)
    wide = b.retype(type_, f32)
    operands = [b.emit(arith.ExtFOp, [v], wide) for v in op.operands]
    return b.emit(arith.TruncFOp, [form(b, *operands)], type_)


def _rsqrt(b: FormBuilder, x: SSAValue) -> SSAValue:
    return b.div(1.0, b.sqrt(x))


def _form_of(row: functions.Function) -> Callable[..., SSAValue]:
    """The function called like the row in the module called like it."""
    return getattr(import_module(f".{row.name}", __package__), row.name)


FORMS: dict[type[Operation], Callable[..., SSAValue]] = {
    math.ExpOp: forms.exp,
    math.Exp2Op: forms.exp2,
    math.ExpM1Op: forms.expm1,
    math.LogOp: forms.log,
    math.Log2Op: forms.log2,
    math.Log10Op: forms.log10,
    math.Log1pOp: forms.log1p,
    math.SinOp: trig.sin,
    math.CosOp: trig.cos,
    math.TanOp: trig.tan,
    math.AsinOp: inverse.asin,
    math.AcosOp: inverse.acos,
    math.AtanOp: inverse.atan,
    math.Atan2Op: inverse.atan2,
    math.SinhOp: hyperbolic.sinh,
    math.CoshOp: hyperbolic.cosh,
    math.TanhOp: hyperbolic.tanh,
    math.AsinhOp: hyperbolic.asinh,
    math.AcoshOp: hyperbolic.acosh,
    math.AtanhOp: hyperbolic.atanh,
    math.ErfOp: erf,
    ErfcOp: erfc,
    math.PowFOp: powers.pow,
    math.CbrtOp: powers.cbrt,
    math.RsqrtOp: _rsqrt,
    functions.PhiloxOp: philox,
    **{functions.OPERATIONS[row.name]: _form_of(row) for row in functions.FUNCTIONS},
}
"""How each is written, for f32 and f64 (philox: i64), scalars and vectors."""
