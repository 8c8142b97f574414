"""Scalar expansions of operations on complex numbers: operations of MLIR's `complex` dialect, with NumPy's meaning.

What they are on real numbers is written in `lowering/complex/`. The dialect is imported when it is used: few programs
have complex numbers.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import ComplexType, i1
from xdsl.ir import Attribute, SSAValue

from .expand import Emitter

Expansion = Callable[..., SSAValue]

_FLAGS: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}


def _class(name: str) -> Any:
    from xdsl.dialects import complex as dialect

    return getattr(dialect, name)


def _op(name: str) -> Expansion:
    return lambda e, *operands: e.op(_class(name), operands, None, _FLAGS)


def _to_real(name: str) -> Expansion:
    return lambda e, a: e.op(_class(name), (a,), a.type.element_type, _FLAGS)


def _to_bool(name: str) -> Expansion:
    return lambda e, a, b: e.op(_class(name), (a, b), i1)


add, subtract, multiply, divide = _op("AddOp"), _op("SubOp"), _op("MulOp"), _op("DivOp")
negative, conjugate = _op("NegOp"), _op("ConjOp")
absolute, real, imag = _to_real("AbsOp"), _to_real("ReOp"), _to_real("ImOp")
equal, not_equal = _to_bool("EqualOp"), _to_bool("NotEqualOp")
exp, log, sqrt, power = _op("ExpOp"), _op("LogOp"), _op("SqrtOp"), _op("PowOp")
sin, cos, tan, tanh = _op("SinOp"), _op("CosOp"), _op("TanOp"), _op("TanhOp")


def create(e: Emitter, real_part: SSAValue, imaginary: SSAValue) -> SSAValue:
    """The complex number of two parts."""
    return e.op(_class("CreateOp"), (real_part, imaginary), ComplexType(real_part.type))  # pyright: ignore


# ---- order: lexicographic, and false beside a NaN, as NumPy has it ------------------------------------


def _both(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.AndIOp, (a, b))


def _either(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.OrIOp, (a, b))


def _ordered(strict: str, last: str) -> Expansion:
    """By the real parts where no imaginary part is a NaN; by the imaginary parts where the real ones are equal."""

    def expand(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        ar, ai, br, bi = real(e, a), imag(e, a), real(e, b), imag(e, b)
        known = e.invert(e.cmp("uno", ai, bi))
        by_real = _both(e, e.cmp(strict, ar, br), known)
        return _either(e, by_real, _both(e, e.cmp("oeq", ar, br), e.cmp(last, ai, bi)))

    return expand


less, less_equal = _ordered("olt", "olt"), _ordered("olt", "ole")
greater, greater_equal = _ordered("ogt", "ogt"), _ordered("ogt", "oge")


def isnan(e: Emitter, a: SSAValue) -> SSAValue:
    return e.cmp("uno", real(e, a), imag(e, a))


def _of_parts(test: str, join: Callable[[Emitter, SSAValue, SSAValue], SSAValue]) -> Expansion:
    """What a test of real numbers says of both parts."""

    def expand(e: Emitter, a: SSAValue) -> SSAValue:
        from . import expand

        return join(e, getattr(expand, test)(e, real(e, a)), getattr(expand, test)(e, imag(e, a)))

    return expand


isinf, isfinite = _of_parts("isinf_float", _either), _of_parts("isfinite_float", _both)


def maximum(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The larger; the first that is a NaN, where one is."""
    return e.select(_either(e, greater_equal(e, a, b), isnan(e, a)), a, b)


def minimum(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The smaller; the first that is a NaN, where one is."""
    return e.select(_either(e, less_equal(e, a, b), isnan(e, a)), a, b)


def fmax(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The larger; a NaN is ignored when the other is a number."""
    return e.select(_either(e, greater_equal(e, a, b), isnan(e, b)), a, b)


def fmin(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The smaller; a NaN is ignored when the other is a number."""
    return e.select(_either(e, less_equal(e, a, b), isnan(e, b)), a, b)


# ---- arithmetic that the dialect lacks ----------------------------------------------------------------


def reciprocal(e: Emitter, a: SSAValue) -> SSAValue:
    """1 / a by Smith's method, in NumPy's steps (its signs of zero are those of a division by a complex 1, not all)."""
    ar, ai = real(e, a), imag(e, a)
    one = e.const(1.0, ar.type)
    by_real = e.cmp("ole", _magnitude(e, ai), _magnitude(e, ar))
    ratio = _divide(e, e.select(by_real, ai, ar), e.select(by_real, ar, ai))
    first = e.op(arith.AddfOp, (ar, e.op(arith.MulfOp, (ai, ratio))))
    second = e.op(arith.AddfOp, (e.op(arith.MulfOp, (ar, ratio)), ai))
    below = e.select(by_real, first, second)
    negated = e.op(arith.NegfOp, (e.select(by_real, ratio, one),))
    return create(e, _divide(e, e.select(by_real, one, ratio), below), _divide(e, negated, below))


def sign(e: Emitter, a: SSAValue) -> SSAValue:
    """a / |a|; 0 of 0, and 1, -1, 1j or -1j of what is infinite in one part."""
    ar, ai, size = real(e, a), imag(e, a), absolute(e, a)
    infinity, zero = e.const(float("inf"), ar.type), e.const(0.0, ar.type)
    infinite = e.cmp("oeq", size, infinity)

    def part(value: SSAValue) -> SSAValue:
        unit = e.select(e.cmp("ogt", value, zero), e.const(1.0, ar.type), e.const(-1.0, ar.type))
        axis = e.select(e.cmp("oeq", _magnitude(e, value), infinity), unit, zero)
        return e.select(infinite, axis, _divide(e, value, size))

    from .expand import isinf_float

    both = _both(e, isinf_float(e, ar), isinf_float(e, ai))
    nan = e.const(float("nan"), ar.type)
    unknown = _either(e, both, e.cmp("uno", size, size))
    parts = [e.select(unknown, nan, part(value)) for value in (ar, ai)]
    nothing = e.cmp("oeq", size, zero)
    return create(e, *[e.select(nothing, zero, value) for value in parts])


def _magnitude(e: Emitter, a: SSAValue) -> SSAValue:
    from xdsl.dialects import math

    return e.op(math.AbsFOp, (a,), None, _FLAGS)


def _divide(e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.op(arith.DivfOp, (a, b))


# ---- functions that are others of real numbers --------------------------------------------------------


def _math(e: Emitter, name: str, *operands: SSAValue) -> SSAValue:
    from xdsl.dialects import math

    return e.op(getattr(math, name), operands, None, _FLAGS)


def _times(e: Emitter, a: SSAValue, factor: float) -> SSAValue:
    scale = e.const(factor, real(e, a).type)
    return create(e, *[e.op(arith.MulfOp, (part(e, a), scale)) for part in (real, imag)])


def rint(e: Emitter, a: SSAValue) -> SSAValue:
    return create(e, *[_math(e, "RoundEvenOp", part(e, a)) for part in (real, imag)])


def log2(e: Emitter, a: SSAValue) -> SSAValue:
    return _times(e, log(e, a), python_math.log2(python_math.e))


def log10(e: Emitter, a: SSAValue) -> SSAValue:
    return _times(e, log(e, a), python_math.log10(python_math.e))


def exp2(e: Emitter, a: SSAValue) -> SSAValue:
    return exp(e, _times(e, a, python_math.log(2.0)))


def log1p(e: Emitter, a: SSAValue) -> SSAValue:
    """log(1 + a), the sum rounded as NumPy rounds it."""
    from .expand_float import hypot

    ar, ai = real(e, a), imag(e, a)
    raised = e.op(arith.AddfOp, (ar, e.const(1.0, ar.type)))
    return create(e, _math(e, "LogOp", hypot(e, raised, ai)), _math(e, "Atan2Op", ai, raised))


def expm1(e: Emitter, a: SSAValue) -> SSAValue:
    """exp(a) - 1 without loss near zero: expm1(x) cos y - 2 sin(y / 2)**2."""
    ar, ai = real(e, a), imag(e, a)
    half = _math(e, "SinOp", e.op(arith.MulfOp, (ai, e.const(0.5, ai.type))))
    loss = e.op(arith.MulfOp, (e.op(arith.MulfOp, (e.const(2.0, ai.type), half)), half))
    grown = e.op(arith.MulfOp, (_math(e, "ExpM1Op", ar), _math(e, "CosOp", ai)))
    imaginary = e.op(arith.MulfOp, (_math(e, "ExpOp", ar), _math(e, "SinOp", ai)))
    return create(e, e.op(arith.SubfOp, (grown, loss)), imaginary)


# ---- functions that are others of i a -----------------------------------------------------------------


def _times_i(e: Emitter, a: SSAValue) -> SSAValue:
    return create(e, e.op(arith.NegfOp, (imag(e, a),)), real(e, a))


def sinh(e: Emitter, a: SSAValue) -> SSAValue:
    """-i sin(i a)"""
    turned = sin(e, _times_i(e, a))
    return create(e, imag(e, turned), e.op(arith.NegfOp, (real(e, turned),)))


def cosh(e: Emitter, a: SSAValue) -> SSAValue:
    """cos(i a)"""
    return cos(e, _times_i(e, a))


FUNCTIONS: dict[str, dict[str, Expansion]] = {"sinh": {"c": sinh}, "cosh": {"c": cosh}}
"""Rows of the table that are made in a loop."""
