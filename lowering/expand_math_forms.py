"""The expansions themselves: exp, log and their kin as fused arithmetic on scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f64,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.ext.arith import VECTOR_FORMS
from .math_constants import DOUBLE, ERF, SINGLE, Constants

_NO_FASTMATH = {"fastmath": arith.FastMathFlagsAttr("none")}
_NO_OVERFLOW = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_CMPF = {"olt": 4, "oeq": 1, "ogt": 2}


@dataclass(frozen=True, eq=False)
class Format:
    """The binary format of an element type, and the range in which exp neither overflows nor vanishes."""

    constants: Constants
    mantissa: int
    bias: int
    exp_low: float
    exp_high: float
    exp2_low: float
    exp2_high: float
    expm1_low: float
    tanh_high: float
    smallest_normal: float
    root_half_bits: int

    @property
    def width(self) -> int:
        return 32 if self.mantissa == 23 else 64


SINGLE_FORMAT = Format(SINGLE, 23, 127, -104.0, 89.0, -151.0, 129.0, -20.0, 10.0, 2.0**-126, 0x3F3504F3)
DOUBLE_FORMAT = Format(
    DOUBLE, 52, 1023, -746.0, 710.0, -1076.0, 1025.0, -40.0, 20.0, 2.0**-1022, 0x3FE6A09E667F3BCD
)


class FormBuilder:
    """Inserts arithmetic before one operation; constants go to the head of the function, each once."""

    def __init__(self, anchor: Operation, entry: Block, constants: dict[tuple[Any, Attribute], SSAValue]):
        self.anchor = anchor
        self.block = anchor.parent_block()
        self.entry = entry
        self.constants = constants

    def emit(
        self,
        kind: type[Operation],
        operands: list[SSAValue],
        result: Attribute,
        properties: dict[str, Any] | None = None,
    ) -> SSAValue:
        if any(isinstance(v.type, VectorType) for v in operands):
            kind = VECTOR_FORMS.get(kind, kind)
        op = kind.create(
            operands=operands,
            result_types=[result],
            properties=properties or {},
            location=self.anchor.location,
        )
        assert self.block is not None
        self.block.insert_op_before(op, self.anchor)
        return op.results[0]

    def constant(self, value: float, type_: Any) -> SSAValue:
        key = (repr(value), type_)
        if key not in self.constants:
            op = arith.ConstantOp.create(
                properties={"value": _constant_attribute(value, type_)},
                result_types=[type_],
                location=self.anchor.location,
            )
            first = self.entry.first_op
            assert first is not None
            self.entry.insert_op_before(op, first)
            self.constants[key] = op.results[0]
        return self.constants[key]

    # --- float arithmetic; Python numbers stand for constants --------------------------------------------

    def _operand(self, value: SSAValue | float, like: SSAValue) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.constant(value, like.type)

    def _float(self, kind: type[Operation], a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        like = a if isinstance(a, SSAValue) else b
        assert isinstance(like, SSAValue)
        return self.emit(kind, [self._operand(a, like), self._operand(b, like)], like.type, _NO_FASTMATH)

    def add(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._float(arith.AddfOp, a, b)

    def sub(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._float(arith.SubfOp, a, b)

    def mul(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._float(arith.MulfOp, a, b)

    def div(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self._float(arith.DivfOp, a, b)

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        return self.emit(math.FmaOp, [a, self._operand(b, a), self._operand(c, a)], a.type, _NO_FASTMATH)

    def abs(self, a: SSAValue) -> SSAValue:
        return self.emit(math.AbsFOp, [a], a.type, _NO_FASTMATH)

    def copysign(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        return self.emit(math.CopySignOp, [a, sign], a.type, _NO_FASTMATH)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue | float) -> SSAValue:
        result = VectorType(i1, a.type.shape) if isinstance(a.type, VectorType) else i1
        properties = {"predicate": IntegerAttr(_CMPF[predicate], 64), **_NO_FASTMATH}
        return self.emit(arith.CmpfOp, [a, self._operand(b, a)], result, properties)

    def select(self, condition: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        like = a if isinstance(a, SSAValue) else b
        assert isinstance(like, SSAValue)
        return self.emit(
            arith.SelectOp, [condition, self._operand(a, like), self._operand(b, like)], like.type
        )

    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """Compare and select: a NaN stays."""
        above_low = self.select(self.compare("olt", x, low), low, x)
        return self.select(self.compare("ogt", above_low, high), high, above_low)

    def polynomial(self, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
        """Horner's rule, fused; coefficients lowest power first."""
        value = self.constant(coefficients[-1], x.type)
        for coefficient in reversed(coefficients[:-1]):
            value = self.fma(value, x, coefficient)
        return value

    # --- integer arithmetic on the bits ------------------------------------------------------------------

    def integer(self, kind: type[Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
        wraps = kind in (arith.AddiOp, arith.SubiOp, arith.ShLIOp)
        return self.emit(kind, [a, self._operand(b, a)], a.type, _NO_OVERFLOW if wraps else None)

    def bits(self, x: SSAValue) -> SSAValue:
        return self.emit(arith.BitcastOp, [x], self.retype(x.type, IntegerType(format_of(x).width)))

    def from_bits(self, bits: SSAValue, like: SSAValue) -> SSAValue:
        return self.emit(arith.BitcastOp, [bits], like.type)

    def to_float(self, n: SSAValue, like: SSAValue) -> SSAValue:
        return self.emit(arith.SIToFPOp, [n], like.type)

    def power_of_two(self, n: SSAValue, like: SSAValue) -> SSAValue:
        """2^n for integers n that are normal exponents."""
        form = format_of(like)
        biased = self.integer(arith.AddiOp, n, form.bias)
        return self.from_bits(self.integer(arith.ShLIOp, biased, form.mantissa), like)

    def retype(self, type_: Attribute, element: Attribute) -> Attribute:
        return VectorType(element, type_.shape) if isinstance(type_, VectorType) else element  # type: ignore[type-var]


def _constant_attribute(value: float, type_: Any) -> Attribute:
    if isinstance(type_, VectorType):
        return DenseIntOrFPElementsAttr.from_list(type_, [value])
    return IntegerAttr(int(value), type_) if isinstance(type_, IntegerType) else FloatAttr(value, type_)


def format_of(x: SSAValue) -> Format:
    element = x.type.element_type if isinstance(x.type, VectorType) else x.type
    return SINGLE_FORMAT if isinstance(element, Float32Type) else DOUBLE_FORMAT


# --- exponentials ----------------------------------------------------------------------------------------


def _round(b: FormBuilder, x: SSAValue, scale: float) -> tuple[SSAValue, SSAValue]:
    """n = round(x * scale), as a float and as an integer: adding 1.5 * 2^mantissa leaves n in the low bits.

    No conversion instruction, so a NaN gives some integer rather than an undefined one.
    """
    form = format_of(x)
    magic = 1.5 * 2.0**form.mantissa
    shifted = b.fma(x, scale, magic)
    bits = b.bits(shifted)
    number = b.integer(arith.SubiOp, bits, b.bits(b.constant(magic, x.type)))
    return b.sub(shifted, magic), number


def _reduce(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x = n ln 2 + r: the remainder r and the integer n."""
    c = format_of(x).constants
    n, number = _round(b, x, c.log2e[0])
    r = b.fma(n, -c.ln2[0], x)
    return b.fma(n, -c.ln2[1], r), number


def _exp_minus_one(b: FormBuilder, r: SSAValue) -> SSAValue:
    """e^r - 1 for |r| <= ln(2) / 2."""
    square = b.mul(r, r)
    return b.fma(square, b.polynomial(r, format_of(r).constants.exp), r)


def _scale(b: FormBuilder, value: SSAValue, n: SSAValue) -> SSAValue:
    """value * 2^n where n may be twice the range of a normal exponent."""
    half = b.integer(arith.ShRSIOp, n, 1)
    rest = b.integer(arith.SubiOp, n, half)
    return b.mul(b.mul(value, b.power_of_two(half, value)), b.power_of_two(rest, value))


def exp(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    r, n = _reduce(b, b.clamp(x, form.exp_low, form.exp_high))
    return _scale(b, b.add(_exp_minus_one(b, r), 1.0), n)


def exp2(b: FormBuilder, x: SSAValue) -> SSAValue:
    form = format_of(x)
    bounded = b.clamp(x, form.exp2_low, form.exp2_high)
    whole, n = _round(b, bounded, 1.0)
    fraction = b.sub(bounded, whole)
    ln2_high, ln2_low = form.constants.ln2
    r = b.fma(fraction, ln2_high, b.mul(fraction, ln2_low))
    return _scale(b, b.add(_exp_minus_one(b, r), 1.0), n)


def expm1(b: FormBuilder, x: SSAValue) -> SSAValue:
    """2^n (e^r - 1) + (2^n - 1), at half scale until the end so that 2^n does not overflow first."""
    form = format_of(x)
    r, n = _reduce(b, b.clamp(x, form.expm1_low, form.exp_high))
    scale = b.power_of_two(b.integer(arith.SubiOp, n, 1), x)
    half = b.fma(scale, _exp_minus_one(b, r), b.sub(scale, 0.5))
    small = b.compare("olt", b.abs(x), 2.0 ** -(form.mantissa + 2))
    return b.select(small, x, b.mul(half, 2.0))


def tanh(b: FormBuilder, x: SSAValue) -> SSAValue:
    """t / (t + 2) with t = e^(2|x|) - 1."""
    form = format_of(x)
    magnitude = b.abs(x)
    bounded = b.select(b.compare("ogt", magnitude, form.tanh_high), form.tanh_high, magnitude)
    t = expm1(b, b.add(bounded, bounded))
    return b.copysign(b.div(t, b.add(t, 2.0)), x)


# --- logarithms ------------------------------------------------------------------------------------------


def _split_exponent(b: FormBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): f, and k as a float. Denormals are scaled first."""
    form = format_of(x)
    tiny = b.compare("olt", x, form.smallest_normal)
    lift = form.mantissa + 2
    bits = b.bits(b.select(tiny, b.mul(x, 2.0**lift), x))
    above = b.integer(arith.SubiOp, bits, form.root_half_bits)
    exponent = b.integer(arith.ShRSIOp, above, form.mantissa)
    mantissa = b.integer(arith.SubiOp, bits, b.integer(arith.ShLIOp, exponent, form.mantissa))
    k = b.to_float(exponent, x)
    return b.sub(b.from_bits(mantissa, x), 1.0), b.select(tiny, b.sub(k, float(lift)), k)


def _log_terms(b: FormBuilder, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """ln(1 + f) = f - (h - t): h = f^2 / 2 and t = s (h + R), s = f / (2 + f)."""
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    remainder = b.mul(z, b.polynomial(z, format_of(f).constants.log))
    half_square = b.mul(b.mul(f, f), 0.5)
    return half_square, b.mul(s, b.add(half_square, remainder))


def _specials(b: FormBuilder, x: SSAValue, value: SSAValue) -> SSAValue:
    """The logarithm of 0, of infinity, of negative numbers and NaN."""
    value = b.select(b.compare("oeq", x, float("inf")), float("inf"), value)
    value = b.select(b.compare("oeq", x, 0.0), float("-inf"), value)
    positive = b.compare("ogt", x, 0.0)
    zero = b.compare("oeq", x, 0.0)
    defined = b.integer(arith.OrIOp, positive, zero)
    return b.select(defined, value, float("nan"))


def _log_finite(b: FormBuilder, x: SSAValue) -> SSAValue:
    f, k = _split_exponent(b, x)
    half_square, t = _log_terms(b, f)
    high, low = format_of(x).constants.ln2
    # k ln2_high is exact: few bits each. Small terms are gathered first.
    small = b.sub(half_square, b.fma(k, low, t))
    return b.sub(b.mul(k, high), b.sub(small, f))


def log(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _specials(b, x, _log_finite(b, x))


def _log_in_base(
    b: FormBuilder, x: SSAValue, factor: tuple[float, float], step: tuple[float, float]
) -> SSAValue:
    """ln(1 + f) * factor + k * step, both constants in two parts."""
    f, k = _split_exponent(b, x)
    half_square, t = _log_terms(b, f)
    natural = b.sub(f, b.sub(half_square, t))
    lost = b.sub(b.sub(f, natural), b.sub(half_square, t))
    low = b.fma(natural, factor[1], b.mul(lost, factor[0]))
    low = b.fma(k, step[1], low) if step[1] else low
    high = b.mul(k, step[0])
    return _specials(b, x, b.add(b.fma(natural, factor[0], low), high))


def log2(b: FormBuilder, x: SSAValue) -> SSAValue:
    return _log_in_base(b, x, format_of(x).constants.log2e, (1.0, 0.0))


def log10(b: FormBuilder, x: SSAValue) -> SSAValue:
    c = format_of(x).constants
    return _log_in_base(b, x, c.log10e, c.log10_2)


def log1p(b: FormBuilder, x: SSAValue) -> SSAValue:
    """ln(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term is what the rounding lost."""
    u = b.add(x, 1.0)
    # x - (u - 1) is exact when done in this order, whichever of x and 1 is larger.
    large = b.compare("ogt", x, 1.0)
    lost = b.select(large, b.sub(1.0, b.sub(u, x)), b.sub(x, b.sub(u, 1.0)))
    value = b.add(_log_finite(b, u), b.div(lost, u))
    small = b.compare("olt", b.abs(x), 2.0 ** -(format_of(x).mantissa + 2))
    return b.select(small, x, _specials(b, u, value))


def erf_single(b: FormBuilder, x: SSAValue) -> SSAValue:
    """x times a polynomial in x^2, in double precision: one rounding to single, and no case but the ends."""
    wide = b.emit(arith.ExtFOp, [x], b.retype(x.type, f64))
    bounded = b.clamp(wide, -4.0, 4.0)
    t = b.fma(b.mul(bounded, bounded), 0.125, -1.0)
    return b.emit(arith.TruncFOp, [b.mul(bounded, b.polynomial(t, ERF))], x.type)


FORMS: dict[type[Operation], Callable[[FormBuilder, SSAValue], SSAValue]] = {
    math.ExpOp: exp,
    math.Exp2Op: exp2,
    math.ExpM1Op: expm1,
    math.LogOp: log,
    math.Log2Op: log2,
    math.Log10Op: log10,
    math.Log1pOp: log1p,
    math.TanhOp: tanh,
}
