"""What one `arith` or `math` operation computes, as a Python expression on NumPy scalars.

Integers wrap, floats round to their own type after every operation, i1 is `bool`, index is `int`. The
table gives an expression an operation; `expression` fills it in for the types at hand, `function`
compiles it.
bfloat16 has no NumPy type: its values are `np.float32` that are rounded after every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from ..dialects import special
from ..dialects.diagnostic import LoweringError, fail
from ..dialects.functions import FUNCTIONS
from . import scalars
from .scalars import bf16_from_bits, bf16_round, bf16_to_bits, named_scalar

_FLOATS = {Float16Type: "f16", Float32Type: "f32", Float64Type: "f64", BFloat16Type: "bf16"}


NAMESPACE: dict[str, Any] = {
    **scalars.NAMESPACE,
    **{row.name: row.reference for row in FUNCTIONS},
    "philox": special.philox,
}
"""Names that the expressions use."""

_SAME_NAME = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "floor", "ceil", "trunc",
    "sin", "cos", "tan", "sinh", "cosh", "tanh",
)  # fmt: skip
_OPERANDS = {1: "{0}", 2: "{0}, {1}"}
_INVERSE = ("asin", "acos", "atan", "asinh", "acosh", "atanh")

# {0}, {1}, {2}: operands; {r}: type of the result; {u}, {v}: unsigned twins of the result and the operand.
_TABLE: dict[str, str] = {
    "arith.addi": "({0} + {1})",
    "arith.subi": "({0} - {1})",
    "arith.muli": "({0} * {1})",
    "arith.divsi": "divide({0}, {1})",
    "arith.remsi": "remainder({0}, {1})",
    "arith.floordivsi": "floor_divide({0}, {1})",
    "arith.ceildivsi": "ceil_divide({0}, {1})",
    "arith.divui": "({0}.view({v}) // {1}.view({v})).view({r})",
    "arith.remui": "({0}.view({v}) % {1}.view({v})).view({r})",
    "arith.ceildivui": "(-(-int({0}.view({v})) // int({1}.view({v}))))",
    "arith.maxsi": "({0} if {0} > {1} else {1})",
    "arith.minsi": "({0} if {0} < {1} else {1})",
    "arith.maxui": "({0} if {0}.view({v}) > {1}.view({v}) else {1})",
    "arith.minui": "({0} if {0}.view({v}) < {1}.view({v}) else {1})",
    "arith.andi": "({0} & {1})",
    "arith.ori": "({0} | {1})",
    "arith.xori": "({0} ^ {1})",
    "arith.shli": "({0} << {1})",
    "arith.shrsi": "({0} >> {1})",
    "arith.shrui": "({0}.view({v}) >> {1}.view({v})).view({r})",
    "arith.addf": "({0} + {1})",
    "arith.subf": "({0} - {1})",
    "arith.mulf": "({0} * {1})",
    "arith.divf": "({0} / {1})",
    "arith.remf": "np.fmod({0}, {1})",
    "arith.negf": "(-{0})",
    "arith.maximumf": "larger({0}, {1})",
    "arith.minimumf": "smaller({0}, {1})",
    "arith.maxnumf": "np.fmax({0}, {1})",
    "arith.minnumf": "np.fmin({0}, {1})",
    "arith.select": "({1} if {0} else {2})",
    "arith.extsi": "{0}.astype({r})",
    "arith.extui": "{0}.view({v}).astype({r})",
    "arith.trunci": "{0}.astype({r})",
    "arith.sitofp": "{r}({0})",
    "arith.uitofp": "{r}({0}.view({v}))",
    "arith.fptosi": "{0}.astype({r})",
    "arith.fptoui": "{0}.astype({u}).view({r})",
    "arith.extf": "{r}({0})",
    "arith.truncf": "{r}({0})",
    "arith.bitcast": "{0}.view({r})",
    "math.absf": "abs({0})",
    "math.absi": "abs({0})",
    "math.ctpop": "{r}(int({0}.view({v})).bit_count())",
    "math.cttz": "trailing_zeros({0})",
    "math.roundeven": "np.rint({0})",
    "math.fpowi": "np.power({0}, {r}({1}))",
    "math.powf": "({0}) ** ({1})",  # np.power of scalars has roots of its own: -0.0 for -0.0 ** 0.5
    "math.erf": "{r}(erf({0}))",
    "math.erfc": "{r}(erfc({0}))",
    **{f"special.{row.name}": f"{row.name}({_OPERANDS[row.arity]})" for row in FUNCTIONS},
    "special.philox": "philox({0}.view({u}), {1}.view({u}), {2}.view({u})).view({r})",
    "math.rsqrt": "({r}(1) / np.sqrt({0}))",
    "math.atan2": "np.arctan2({0}, {1})",
    "math.copysign": "np.copysign({0}, {1})",
    **{f"math.{name}": f"np.{name}({{0}})" for name in _SAME_NAME},
    **{f"math.{name}": f"np.arc{name[1:]}({{0}})" for name in _INVERSE},
}

_ON_I1 = {
    "arith.addi": "({0} ^ {1})",
    "arith.subi": "({0} ^ {1})",
    "arith.muli": "({0} & {1})",
    "arith.maxui": "({0} | {1})",
    "arith.minui": "({0} & {1})",
    "arith.maxsi": "({0} & {1})",  # a true i1 is -1
    "arith.minsi": "({0} | {1})",
    "arith.extui": "{r}({0})",
    "arith.extsi": "(-{r}({0}))",
    "arith.uitofp": "{r}({0})",
    "arith.sitofp": "(-{r}({0}))",
}

_ON_INDEX = {
    "arith.divui": "({0} // {1})",
    "arith.remui": "({0} % {1})",
    "arith.ceildivui": "(-(-{0} // {1}))",
    "arith.maxui": "max({0}, {1})",
    "arith.minui": "min({0}, {1})",
    "arith.shrui": "({0} >> {1})",
    "arith.index_cast": "i64({0}).astype({r})",
}

_BF16_BITS = {("bf16", "i16"): "bf16_to_bits({0})", ("i16", "bf16"): "bf16_from_bits({0})"}

_CMPI = ("==", "!=", "<", "<=", ">", ">=")
_CMPF = (
    "False", "{0} == {1}", "{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}", "({0} < {1} or {0} > {1})",
    "({0} == {0} and {1} == {1})", "not ({0} < {1} or {0} > {1})", "not {0} <= {1}", "not {0} < {1}",
    "not {0} >= {1}", "not {0} > {1}", "{0} != {1}", "({0} != {0} or {1} != {1})", "True",
)  # fmt: skip


def type_name(type_: Attribute) -> str:
    """The name in `NAMESPACE` of a scalar type: `f32`, `i64`, `i1`; `int` for index."""
    if isinstance(type_, IndexType):
        return "int"
    if isinstance(type_, IntegerType):
        return f"i{type_.width.data}"
    name = _FLOATS.get(type(type_))
    if name is None:
        raise LoweringError(f"the interpreter has no scalar of type {type_}")
    return name


def dtype_of(type_: Attribute) -> np.dtype:
    """The NumPy dtype that stores this memref element type; bfloat16 is stored as its bits, int16."""
    name = type_name(type_)
    if name == "int":
        return np.dtype(np.int64)
    return np.dtype(np.int16 if name == "bf16" else NAMESPACE[name])


def expression(op: Operation, operands: Sequence[str]) -> str:
    """The Python expression of the scalar operation `op` on operands that are written `operands`."""
    template = _template(op)
    result = type_name(op.results[0].type)
    source = type_name(op.operands[0].type)
    text = template.format(*operands, r=result, u="u" + result[1:], v="u" + source[1:])
    return f"bf16({text})" if result == "bf16" and not template.startswith("{r}") else text


def _template(op: Operation) -> str:
    source = type_name(op.operands[0].type)
    if op.name == "arith.cmpi":
        return _comparison(op.properties["predicate"].value.data, source)  # pyright: ignore
    if op.name == "arith.cmpf":
        return f"({_CMPF[op.properties['predicate'].value.data]})"  # pyright: ignore
    if op.name == "arith.trunci" and type_name(op.results[0].type) == "i1":
        return "i1({0} & 1)"
    if op.name == "arith.index_cast" and source != "int":
        return "(-int({0}))" if source == "i1" else "int({0})"
    if op.name == "arith.bitcast" and (converted := _BF16_BITS.get((source, type_name(op.results[0].type)))):
        return converted
    special = {"i1": _ON_I1, "int": _ON_INDEX}.get(source, {})
    template = special.get(op.name) or _TABLE.get(op.name)
    if template is None:
        raise fail(op, f"the interpreter does not know the operation '{op.name}'", error=LoweringError)
    return template


def _comparison(predicate: int, source: str) -> str:
    if predicate <= 5:
        if source == "i1" and predicate >= 2:
            return f"(-int({{0}}) {_CMPI[predicate]} -int({{1}}))"
        return f"({{0}} {_CMPI[predicate]} {{1}})"
    sign = ("<", "<=", ">", ">=")[predicate - 6]
    if source in ("int", "i1"):
        return f"({{0}} {sign} {{1}})"
    return f"({{0}}.view({{v}}) {sign} {{1}}.view({{v}}))"


def constant(op: Operation) -> Any:
    """The NumPy scalar (or int, for an index) of an `arith.constant`."""
    type_ = op.results[0].type
    if isinstance(type_, VectorType):
        raise fail(op, "the interpreter has no vectors", error=LoweringError)
    value = op.properties["value"].value.data  # pyright: ignore
    return scalar(value, type_)


def scalar(value: Any, type_: Attribute) -> Any:
    """`value` as a scalar of type `type_`; integers wrap."""
    return named_scalar(value, type_name(type_))


def poison(type_: Attribute) -> Any:
    """What a fresh buffer holds: NaN, or a pattern far from any likely value."""
    name = type_name(type_)
    if name == "bf16":
        return np.int16(0x7FC1)
    if name in ("int", "i1"):
        return scalar(-0x5A5A5A5A, type_) if name == "int" else np.bool_(True)
    if name.startswith("i"):
        return NAMESPACE[name](-(1 << (int(name[1:]) - 1)) + 0x5A)
    return NAMESPACE[name](np.nan)


def function(op: Operation) -> Callable[..., Any]:
    """The scalar operation `op` as a function of its operands."""
    return _compiled(expression(op, [f"a{k}" for k in range(len(op.operands))]), len(op.operands))


@cache
def _compiled(text: str, arity: int) -> Callable[..., Any]:
    arguments = ", ".join(f"a{k}" for k in range(arity))
    return eval(f"lambda {arguments}: {text}", NAMESPACE)


__all__ = [
    "NAMESPACE",
    "bf16_from_bits",
    "bf16_round",
    "bf16_to_bits",
    "constant",
    "dtype_of",
    "expression",
    "function",
    "named_scalar",
    "poison",
    "scalar",
    "type_name",
]
