"""The one table of elementwise operations.

A row gives the name (NumPy's), arity, the ufunc it must match to the bit, how its result type follows from
its operands, and its scalar expansion by element kind (`f` float, `i` signed, `u` unsigned, `b` bool,
`c` complex; a
missing kind is not an operation NumPy has, or one the frontend casts away first). Adding an operation means adding a
row here and its tests; nothing else in the compiler names operations. One that NumPy lacks is a function of special.py
as well, which `nt.nn` exports; those with a form of their own in `lowering/math` are rows of `dialects/functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, ComplexType, i1
from xdsl.ir import Attribute, SSAValue

from .. import functions, special
from ..ext import math as ext_math
from ..ext.arith import NO_OVERFLOW
from . import expand as x
from . import expand_complex as xc
from . import expand_float as xf
from . import expand_integer as xi
from . import expand_random as xr
from . import partials as d
from .expand import Emitter
from .expand_complex_inverse import INVERSES
from .partials import Partial
from .work import Effort

Expansion = Callable[..., SSAValue]


@dataclass(frozen=True, eq=False)
class Elementwise:
    """One row: see the module's docstring.

    `result` is `same` (as the operands), `bool`, `real` (the type of the parts of complex operands, else as the operands)
    or `complex` (the type whose parts are of the operands' type).
    """

    name: str
    arity: int
    ufunc: str
    expansions: Mapping[str, Expansion]
    result: str = "same"
    commutative: bool = False
    ulp: float = 0.0
    """Bound on the error against a correctly rounded result, in units in the last place; 0 means bit-identical."""
    condition_first: bool = False
    """The first operand is a bool tensor, whatever the others are (`select`)."""
    reference: Callable[..., np.ndarray] | None = None
    """What NumPy computes, where that is not just `ufunc`: one of several results, or converted."""
    least_effort: Effort = Effort.CHEAP
    """How expensive it is, where it is no function with an error."""
    partials: tuple[Partial, ...] | None = None
    """By operand: the product of a tangent with the partial derivative (partials.py). None: it has no derivative here."""
    singular: bool = False
    """A partial derivative is infinite or NaN at a finite point: in reverse, a cotangent of zero masks the product."""
    on_bits: bool = False
    """What it gives depends on the digits that the type has: bfloat16 is not float32 rounded."""

    @property
    def effort(self) -> Effort:
        """How expensive a point is."""
        return Effort.FUNCTION if self.ulp > 0 else self.least_effort


# Classes of operations are named, not given: they are made when they are used.


def _op(name: str) -> Expansion:
    return lambda e, *operands: e.op(getattr(arith, name), operands)


def _int(name: str) -> Expansion:
    return lambda e, *operands: e.op(getattr(arith, name), operands, None, NO_OVERFLOW)


def _math(name: str, dialect: ModuleType = math) -> Expansion:
    def expansion(e: Emitter, *operands: SSAValue) -> SSAValue:
        return e.op(getattr(dialect, name), operands, None, {"fastmath": arith.FastMathFlagsAttr("none")})

    return expansion


def _special(row: functions.Function) -> Expansion:
    flags = {"fastmath": arith.FastMathFlagsAttr("none")}
    return lambda e, *operands: e.op(functions.OPERATIONS[row.name], operands, None, flags)


def _cmp(predicate: str) -> Expansion:
    return lambda e, a, b: e.cmp(predicate, a, b)


def _compare(f: str, i: str, u: str) -> dict[str, Expansion]:
    return {"f": _cmp(f), "i": _cmp(i), "u": _cmp(u), "b": _cmp(u)}


def _square(op: Expansion) -> Expansion:
    return lambda e, a: op(e, a, a)


def _reciprocal(e: Emitter, a: SSAValue) -> SSAValue:
    return e.op(arith.DivfOp, (e.const(1.0, a.type), a))


def _identity(e: Emitter, a: SSAValue) -> SSAValue:
    return a


def _isnan(e: Emitter, a: SSAValue) -> SSAValue:
    return e.cmp("uno", a, a)


def _select(e: Emitter, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return e.select(condition, a, b)


def _ldexp(a: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """The exponent of the operation is a whole number of the type of `a`; NumPy wants an integer."""
    return np.ldexp(a, exponent.astype(np.int32))


def _complex(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """Complex numbers of their parts: `real + imaginary * 1j` is another number for infinities."""
    pair = np.broadcast_arrays(real, imaginary)
    return np.stack(pair, -1).view(np.result_type(*pair, np.complex64))[..., 0]


_ADD_F, _MUL_F = _op("AddfOp"), _op("MulfOp")
_AND, _OR, _XOR = _op("AndIOp"), _op("OrIOp"), _op("XOrIOp")


def _clamp_int(maximum: Expansion, minimum: Expansion) -> Expansion:
    return lambda e, a, lo, hi: minimum(e, maximum(e, a, lo), hi)


def _numbers(f: Expansion | None, i: Expansion, u: Expansion | None = None) -> dict[str, Expansion]:
    table = {"i": i, "u": u or i}
    return table if f is None else {"f": f, **table}


_SINGULAR_INVERSES = {"arcsin", "arccos", "arccosh", "arctanh"}

_ROWS = (
    # arithmetic
    Elementwise(
        "add",
        2,
        "add",
        {**_numbers(_ADD_F, _int("AddiOp")), "b": _OR, "c": xc.add},
        commutative=True,
        partials=d.add,
    ),
    Elementwise(
        "subtract",
        2,
        "subtract",
        {**_numbers(_op("SubfOp"), _int("SubiOp")), "c": xc.subtract},
        partials=d.subtract,
    ),
    Elementwise(
        "multiply",
        2,
        "multiply",
        {**_numbers(_MUL_F, _int("MuliOp")), "b": _AND, "c": xc.multiply},
        commutative=True,
        partials=d.multiply,
    ),
    Elementwise(
        "divide",
        2,
        "divide",
        {"f": _op("DivfOp"), "c": xc.divide},
        least_effort=Effort.DIVISION,
        partials=d.divide,
        singular=True,
    ),
    Elementwise(
        "floor_divide",
        2,
        "floor_divide",
        {"f": x.floor_divide_float, "i": x.floor_divide_int, "u": x.floor_divide_uint},
        least_effort=Effort.FUNCTION,
        partials=d.steps_of_two,
    ),
    Elementwise(
        "remainder",
        2,
        "remainder",
        {"f": x.remainder_float, "i": x.remainder_int, "u": x.remainder_uint},
        least_effort=Effort.FUNCTION,
        partials=d.remainder,
        singular=True,
    ),
    Elementwise(
        "negative",
        1,
        "negative",
        {**_numbers(_op("NegfOp"), x.negative_int), "c": xc.negative},
        partials=d.negative,
    ),
    Elementwise(
        "absolute",
        1,
        "absolute",
        {"f": _math("AbsFOp"), "i": x.absolute_int, "u": _identity, "b": _identity, "c": xc.absolute},
        "real",
        partials=d.absolute,
    ),
    Elementwise(
        "square",
        1,
        "square",
        {**_numbers(_square(_MUL_F), _square(_int("MuliOp"))), "c": _square(xc.multiply)},
        partials=d.square,
    ),
    Elementwise(
        "reciprocal",
        1,
        "reciprocal",
        {"f": _reciprocal, "i": xi.reciprocal_int, "u": xi.reciprocal_uint, "c": xc.reciprocal},
        least_effort=Effort.DIVISION,
        partials=d.reciprocal,
        singular=True,
    ),
    Elementwise(
        "fmod",
        2,
        "fmod",
        {"f": x.in_single(xf.fmod), "i": xi.fmod_int, "u": x.remainder_uint},
        partials=d.fmod,
        singular=True,
    ),
    Elementwise("gcd", 2, "gcd", {"i": xi.gcd_int, "u": xi.gcd_uint}),
    Elementwise("lcm", 2, "lcm", {"i": xi.lcm_int, "u": xi.lcm_uint}),
    Elementwise(
        "sign",
        1,
        "sign",
        {"f": x.sign_float, "i": x.sign_int, "u": x.sign_uint, "c": xc.sign},
        partials=d.steps,
    ),
    Elementwise("copysign", 2, "copysign", {"f": _math("CopySignOp")}, partials=d.copysign),
    Elementwise("nextafter", 2, "nextafter", {"f": xf.nextafter}, on_bits=True),
    Elementwise("spacing", 1, "spacing", {"f": xf.spacing}, on_bits=True, partials=d.steps),
    Elementwise("ldexp", 2, "ldexp", {"f": xf.ldexp}, reference=_ldexp, partials=d.ldexp),
    Elementwise("frexp_mantissa", 1, "frexp", {"f": xf.frexp_mantissa}, reference=lambda a: np.frexp(a)[0]),
    Elementwise(
        "frexp_exponent",
        1,
        "frexp",
        {"f": xf.frexp_exponent},
        reference=lambda a: np.frexp(a)[1].astype(a.dtype),
    ),
    Elementwise("heaviside", 2, "heaviside", {"f": xf.heaviside}, partials=d.heaviside),
    # complex numbers and their parts
    Elementwise("complex", 2, "complex", {"f": xc.create}, "complex", reference=_complex),
    Elementwise("real", 1, "real", {"c": xc.real}, "real", reference=np.real),
    Elementwise("imag", 1, "imag", {"c": xc.imag}, "real", reference=np.imag),
    Elementwise("conjugate", 1, "conjugate", {"c": xc.conjugate}),
    # comparison
    Elementwise(
        "equal", 2, "equal", {**_compare("oeq", "eq", "eq"), "c": xc.equal}, "bool", commutative=True
    ),
    Elementwise(
        "not_equal",
        2,
        "not_equal",
        {**_compare("une", "ne", "ne"), "c": xc.not_equal},
        "bool",
        commutative=True,
    ),
    Elementwise("less", 2, "less", {**_compare("olt", "slt", "ult"), "c": xc.less}, "bool"),
    Elementwise("less_equal", 2, "less_equal", {**_compare("ole", "sle", "ule"), "c": xc.less_equal}, "bool"),
    Elementwise("greater", 2, "greater", {**_compare("ogt", "sgt", "ugt"), "c": xc.greater}, "bool"),
    Elementwise(
        "greater_equal", 2, "greater_equal", {**_compare("oge", "sge", "uge"), "c": xc.greater_equal}, "bool"
    ),
    Elementwise("isnan", 1, "isnan", {"f": _isnan, "c": xc.isnan}, "bool"),
    Elementwise("isinf", 1, "isinf", {"f": x.isinf_float, "c": xc.isinf}, "bool"),
    Elementwise("isfinite", 1, "isfinite", {"f": x.isfinite_float, "c": xc.isfinite}, "bool"),
    Elementwise("signbit", 1, "signbit", {"f": xf.signbit}, "bool"),
    # logic (the frontend casts to bool first) and bits
    Elementwise("logical_and", 2, "logical_and", {"b": _AND}, "bool", commutative=True),
    Elementwise("logical_or", 2, "logical_or", {"b": _OR}, "bool", commutative=True),
    Elementwise("logical_xor", 2, "logical_xor", {"b": _XOR}, "bool", commutative=True),
    Elementwise("logical_not", 1, "logical_not", {"b": lambda e, a: e.invert(a)}, "bool"),
    Elementwise("bitwise_and", 2, "bitwise_and", {"i": _AND, "u": _AND, "b": _AND}, commutative=True),
    Elementwise("bitwise_or", 2, "bitwise_or", {"i": _OR, "u": _OR, "b": _OR}, commutative=True),
    Elementwise("bitwise_xor", 2, "bitwise_xor", {"i": _XOR, "u": _XOR, "b": _XOR}, commutative=True),
    Elementwise("invert", 1, "invert", {"i": x.invert_int, "u": x.invert_int, "b": lambda e, a: e.invert(a)}),
    Elementwise("left_shift", 2, "left_shift", {"i": xi.left_shift, "u": xi.left_shift}),
    Elementwise("right_shift", 2, "right_shift", {"i": xi.right_shift_int, "u": xi.right_shift_uint}),
    Elementwise(
        "bitwise_count",
        1,
        "bitwise_count",
        {"i": xi.count_bits_int, "u": xi.count_bits_uint},
        reference=lambda a: np.bitwise_count(a).astype(a.dtype),
    ),
    # min, max, clamp, select: `maximum` and `minimum` propagate NaN, `fmax` and `fmin` ignore it
    Elementwise(
        "maximum",
        2,
        "maximum",
        {"f": _op("MaximumfOp"), "i": _op("MaxSIOp"), "u": _op("MaxUIOp"), "b": _OR, "c": xc.maximum},
        commutative=True,
        partials=d.maximum,
    ),
    Elementwise(
        "minimum",
        2,
        "minimum",
        {"f": _op("MinimumfOp"), "i": _op("MinSIOp"), "u": _op("MinUIOp"), "b": _AND, "c": xc.minimum},
        commutative=True,
        partials=d.minimum,
    ),
    Elementwise(
        "fmax",
        2,
        "fmax",
        {"f": x.fmax_float, "i": _op("MaxSIOp"), "u": _op("MaxUIOp"), "b": _OR, "c": xc.fmax},
        partials=d.fmax,
    ),
    Elementwise(
        "fmin",
        2,
        "fmin",
        {"f": x.fmin_float, "i": _op("MinSIOp"), "u": _op("MinUIOp"), "b": _AND, "c": xc.fmin},
        partials=d.fmin,
    ),
    Elementwise(
        "clamp",
        3,
        "clip",
        {
            "f": x.clamp_float,
            "i": _clamp_int(_op("MaxSIOp"), _op("MinSIOp")),
            "u": _clamp_int(_op("MaxUIOp"), _op("MinUIOp")),
            "c": _clamp_int(xc.maximum, xc.minimum),
        },
        partials=d.clamp,
    ),
    Elementwise("select", 3, "where", {k: _select for k in "fiubc"}, condition_first=True, partials=d.select),
    # random bits: of a counter (its lower and its upper half) and a key
    Elementwise("philox", 3, "philox", {"u": xr.philox}, reference=special.philox),
    # functions
    Elementwise(
        "sqrt",
        1,
        "sqrt",
        {"f": _math("SqrtOp"), "c": xc.sqrt},
        least_effort=Effort.DIVISION,
        partials=d.sqrt,
        singular=True,
    ),
    Elementwise("cbrt", 1, "cbrt", {"f": _math("CbrtOp")}, ulp=2.0, partials=d.cbrt, singular=True),
    Elementwise("exp", 1, "exp", {"f": _math("ExpOp"), "c": xc.exp}, ulp=1.0, partials=d.exp),
    Elementwise("exp2", 1, "exp2", {"f": _math("Exp2Op"), "c": xc.exp2}, ulp=2.0, partials=d.exp2),
    Elementwise("expm1", 1, "expm1", {"f": _math("ExpM1Op"), "c": xc.expm1}, ulp=2.0, partials=d.expm1),
    Elementwise("log", 1, "log", {"f": _math("LogOp"), "c": xc.log}, ulp=2.0, partials=d.log, singular=True),
    Elementwise(
        "log2", 1, "log2", {"f": _math("Log2Op"), "c": xc.log2}, ulp=2.0, partials=d.log2, singular=True
    ),
    Elementwise(
        "log10", 1, "log10", {"f": _math("Log10Op"), "c": xc.log10}, ulp=2.0, partials=d.log10, singular=True
    ),
    Elementwise(
        "log1p", 1, "log1p", {"f": _math("Log1pOp"), "c": xc.log1p}, ulp=2.0, partials=d.log1p, singular=True
    ),
    Elementwise(
        "power",
        2,
        "power",
        {"f": _math("PowFOp"), "i": xi.power_int, "u": xi.power_uint, "c": xc.power},
        ulp=2.0,
        partials=d.power,
        singular=True,
    ),
    Elementwise(
        "hypot", 2, "hypot", {"f": xf.hypot}, ulp=2.0, commutative=True, partials=d.hypot, singular=True
    ),
    Elementwise("logaddexp", 2, "logaddexp", {"f": xf.logaddexp}, ulp=4.0, partials=d.logaddexp),
    Elementwise("logaddexp2", 2, "logaddexp2", {"f": xf.logaddexp2}, ulp=4.0, partials=d.logaddexp2),
    Elementwise("radians", 1, "radians", {"f": xf.radians}, partials=d.radians),
    Elementwise("degrees", 1, "degrees", {"f": xf.degrees}, partials=d.degrees),
    Elementwise("sin", 1, "sin", {"f": _math("SinOp"), "c": xc.sin}, ulp=2.0, partials=d.sin),
    Elementwise("cos", 1, "cos", {"f": _math("CosOp"), "c": xc.cos}, ulp=2.0, partials=d.cos),
    Elementwise("tan", 1, "tan", {"f": _math("TanOp"), "c": xc.tan}, ulp=4.0, partials=d.tan),
    Elementwise("arctan2", 2, "arctan2", {"f": _math("Atan2Op")}, ulp=2.0, partials=d.arctan2, singular=True),
    *(
        Elementwise(
            name,
            1,
            name,
            {"f": _math(op), **xc.FUNCTIONS.get(name, {}), **INVERSES.get(name, {})},
            ulp=4.0,
            partials=getattr(d, name),
            singular=name in _SINGULAR_INVERSES,
        )
        for name, op in (
            ("arcsin", "AsinOp"),
            ("arccos", "AcosOp"),
            ("arctan", "AtanOp"),
            ("sinh", "SinhOp"),
            ("cosh", "CoshOp"),
            ("arcsinh", "AsinhOp"),
            ("arccosh", "AcoshOp"),
            ("arctanh", "AtanhOp"),
        )
    ),
    Elementwise("tanh", 1, "tanh", {"f": _math("TanhOp"), "c": xc.tanh}, ulp=2.0, partials=d.tanh),
    Elementwise("erf", 1, "erf", {"f": _math("ErfOp")}, ulp=2.0, reference=special.erf, partials=d.erf),
    Elementwise(
        "erfc", 1, "erfc", {"f": _math("ErfcOp", ext_math)}, ulp=4.0, reference=special.erfc, partials=d.erfc
    ),
    *(
        Elementwise(
            row.name,
            row.arity,
            row.name,
            {"f": _special(row)},
            ulp=row.ulp,
            reference=row.reference,
            partials=getattr(d, row.name, None),
        )
        for row in functions.FUNCTIONS
    ),
    Elementwise("floor", 1, "floor", {"f": _math("FloorOp")}, partials=d.steps),
    Elementwise("ceil", 1, "ceil", {"f": _math("CeilOp")}, partials=d.steps),
    Elementwise("rint", 1, "rint", {"f": _math("RoundEvenOp"), "c": xc.rint}, partials=d.steps),
    Elementwise("trunc", 1, "trunc", {"f": _math("TruncOp")}, partials=d.steps),
)


def result_element(row: Elementwise, element: Attribute) -> Attribute:
    """The element type of the result of `row` on operands of type `element`."""
    if row.result == "bool":
        return i1
    if row.result == "complex" and isinstance(element, AnyFloat):
        return ComplexType(element)
    if row.result == "real" and isinstance(element, ComplexType):
        return element.element_type
    return element


ELEMENTWISE: dict[str, Elementwise] = {row.name: row for row in _ROWS}
"""The table, by name."""
