"""Pass `expand-math`: transcendental functions become arithmetic, for any vector width.

    %y = math.exp %x : vector<16xf32>

becomes

    %t = math.fma %x, log2(e), 1.5 * 2^23        // the low bits of %t are n = round(x / ln 2)
    %r = x - n ln 2                              // two fused steps
    %p = polynomial in %r                        // |r| <= ln(2) / 2
    %y = %p * 2^(n / 2) * 2^(n - n / 2)          // two steps, so that denormal results round once

Every function of `FORMS` is expanded, for f32 and f64 (f16 and bf16 are computed in f32), within 2 ULP over all
arguments (docs/math.md has the figures) and with the same bits for scalars and vectors. No library is called.
Expansions carry no fast-math flags: they rely on the order of their operations. Of an operation's own flags, `afn` gives
shorter forms of tan, asinh, acosh and tanh of f64. Rare cases that would cost the others
(the reduction of large arguments of sin) are branches which a vector takes when one of its lanes has to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    ModuleOp,
    VectorType,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects import functions
from ..dialects.diagnostic import LoweringError, fail
from ..dialects.ext.math import ErfcOp
from . import expand_math_forms as forms
from . import expand_math_hyperbolic as hyperbolic
from . import expand_math_inverse as inverse
from . import expand_math_pow as powers
from . import expand_math_trig as trig
from .expand_math_builder import FormBuilder
from .expand_math_erf import erf, erfc
from .expand_math_gamma import lgamma


class ExpandMathPass(ModulePass):
    """Write transcendental math operations as polynomials."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_math(op)


def expand_math(module: ModuleOp) -> None:
    """Expand in place every math operation that has no machine instruction."""
    for function in list(module.body.block.ops):
        if isinstance(function, func.FuncOp) and function.body.blocks:
            _expand_function(function)


def _expand_function(function: func.FuncOp) -> None:
    constants: dict[tuple[Any, Attribute], SSAValue] = {}
    for op in list(function.walk()):
        if type(op) not in FORMS:
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
    if isinstance(element, Float32Type | Float64Type):
        return form(b, *op.operands)
    if not isinstance(element, Float16Type | BFloat16Type):
        raise fail(op, f"{op.name} of {element} has no expansion", error=LoweringError)
    wide = b.retype(type_, f32)
    operands = [b.emit(arith.ExtFOp, [v], wide) for v in op.operands]
    return b.emit(arith.TruncFOp, [form(b, *operands)], type_)


def _rsqrt(b: FormBuilder, x: SSAValue) -> SSAValue:
    return b.div(1.0, b.sqrt(x))


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
    functions.LgammaOp: lgamma,
    functions.SigmoidOp: forms.sigmoid,
    math.PowFOp: powers.pow,
    math.CbrtOp: powers.cbrt,
    math.RsqrtOp: _rsqrt,
}
"""How each is written, for f32 and f64, scalars and vectors."""
