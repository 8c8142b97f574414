"""What the expansions of `expand-math` are written with: fused arithmetic on scalars or vectors, alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    f64,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.ext.arith import NO_OVERFLOW, vector_form
from .constants import DOUBLE, SINGLE, Constants

_NO_FASTMATH = {"fastmath": arith.FastMathFlagsAttr("none")}
_LONG = 9
"""Coefficients from which on a polynomial is evaluated in two chains."""
_ANY = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
_CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "uge": 10, "une": 13, "uno": 14}
_CMPI = {"eq": 0, "ne": 1, "slt": 2, "sgt": 4, "uge": 9}


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
    sinh_high: float
    smallest_normal: float
    root_half_bits: int
    inverse_bits: int

    @property
    def width(self) -> int:
        return 32 if self.mantissa == 23 else 64

    @property
    def tiny(self) -> float:
        """For smaller x, 1 + x^2 rounds to 1."""
        return 2.0 ** -(self.mantissa // 2 + 2)


SINGLE_FORMAT = Format(
    SINGLE,
    23,
    127,
    -104.0,
    89.0,
    -151.0,
    129.0,
    -20.0,
    10.0,
    89.5,
    2.0**-126,
    0x3F3504F3,
    0x7EF311C7,
)
DOUBLE_FORMAT = Format(
    DOUBLE,
    52,
    1023,
    -746.0,
    710.0,
    -1076.0,
    1025.0,
    -40.0,
    20.0,
    710.5,
    2.0**-1022,
    0x3FE6A09E667F3BCD,
    0x7FDE6238502484BA,
)


class FormBuilder:
    """Inserts arithmetic before one operation; constants go to the head of the function, each once.

    `approximate` is what the flag `afn` of the operation grants: the forms may leave out what corrects their last bits.
    """

    def __init__(self, anchor: Operation, entry: Block, constants: dict[tuple[Any, Attribute], SSAValue]):
        self.anchor = anchor
        flags = anchor.properties.get("fastmath")
        self.approximate = (
            isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
        )
        self.location = anchor.location
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
            kind = vector_form(kind)
        op = kind.create(
            operands=operands,
            result_types=[result],
            properties=properties or {},
            location=self.location,
        )
        self._insert(op)
        return op.results[0]

    def _insert(self, op: Operation) -> None:
        block = self.anchor.parent_block()
        assert block is not None
        block.insert_op_before(op, self.anchor)

    def constant(self, value: float, type_: Any) -> SSAValue:
        key = (repr(value), type_)
        if key not in self.constants:
            op = arith.ConstantOp.create(
                properties={"value": _constant_attribute(value, type_)},
                result_types=[type_],
                location=self.location,
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

    def _unary(self, kind: type[Operation], a: SSAValue) -> SSAValue:
        return self.emit(kind, [a], a.type, _NO_FASTMATH)

    def abs(self, a: SSAValue) -> SSAValue:
        return self._unary(math.AbsFOp, a)

    def neg(self, a: SSAValue) -> SSAValue:
        return self._unary(arith.NegfOp, a)

    def sqrt(self, a: SSAValue) -> SSAValue:
        return self._unary(math.SqrtOp, a)

    def trunc(self, a: SSAValue) -> SSAValue:
        return self._unary(math.TruncOp, a)

    def nearest(self, a: SSAValue) -> SSAValue:
        return self._unary(math.RoundEvenOp, a)

    def copysign(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        return self.emit(math.CopySignOp, [a, sign], a.type, _NO_FASTMATH)

    def widen(self, a: SSAValue) -> SSAValue:
        """Single as double."""
        return self.emit(arith.ExtFOp, [a], self.retype(a.type, f64))

    def narrow(self, a: SSAValue) -> SSAValue:
        """Double rounded to single."""
        return self.emit(arith.TruncFOp, [a], self.retype(a.type, f32))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue | float) -> SSAValue:
        properties = {"predicate": IntegerAttr(_CMPF[predicate], 64), **_NO_FASTMATH}
        return self.emit(arith.CmpfOp, [a, self._operand(b, a)], self.retype(a.type, i1), properties)

    def compare_integers(self, predicate: str, a: SSAValue, b: SSAValue | int) -> SSAValue:
        properties = {"predicate": IntegerAttr(_CMPI[predicate], 64)}
        return self.emit(arith.CmpiOp, [a, self._operand(b, a)], self.retype(a.type, i1), properties)

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.integer(arith.AndIOp, a, b)

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.integer(arith.OrIOp, a, b)

    def not_(self, a: SSAValue) -> SSAValue:
        return self.integer(arith.XOrIOp, a, -1)

    def select(self, condition: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        like = a if isinstance(a, SSAValue) else b
        assert isinstance(like, SSAValue)
        return self.emit(
            arith.SelectOp, [condition, self._operand(a, like), self._operand(b, like)], like.type
        )

    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """Compare and select: a NaN stays."""
        return self.at_most(self.select(self.compare("olt", x, low), low, x), high)

    def at_most(self, x: SSAValue, high: float) -> SSAValue:
        return self.select(self.compare("ogt", x, high), high, x)

    def polynomial(self, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
        """By Horner's rule, fused; coefficients lowest power first.

        A long one is c + x (even(x^2) + x odd(x^2)): two chains side by side, as one step waits for the step before.
        """
        if len(coefficients) < _LONG:
            value = self.constant(coefficients[-1], x.type)
            for coefficient in reversed(coefficients[:-1]):
                value = self.fma(value, x, coefficient)
            return value
        square = self.mul(x, x)
        even = self.polynomial(square, coefficients[1::2])
        odd = self.polynomial(square, coefficients[2::2])
        return self.fma(self.fma(odd, x, even), x, coefficients[0])

    # --- unevaluated sums: a value and what its rounding lost --------------------------------------------

    def fast_two_sum(self, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
        """a + b where |a| >= |b| or a = 0."""
        total = self.add(a, b)
        return total, self.add(self.sub(a, total), b)

    def two_sum(self, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
        """a + b, whichever is larger."""
        total = self.add(a, b)
        part = self.sub(total, a)
        return total, self.add(self.sub(a, self.sub(total, part)), self.sub(b, part))

    def two_product(self, a: SSAValue, b: SSAValue | float) -> tuple[SSAValue, SSAValue]:
        product = self.mul(a, b)
        return product, self.fma(a, b, self.neg(product))

    # --- integer arithmetic on the bits ------------------------------------------------------------------

    def integer(self, kind: type[Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
        wraps = kind in (arith.AddiOp, arith.SubiOp, arith.ShLIOp, arith.MuliOp)
        return self.emit(kind, [a, self._operand(b, a)], a.type, NO_OVERFLOW if wraps else None)

    def bits(self, x: SSAValue) -> SSAValue:
        return self.emit(arith.BitcastOp, [x], self.retype(x.type, IntegerType(format_of(x).width)))

    def from_bits(self, bits: SSAValue, like: SSAValue) -> SSAValue:
        return self.emit(arith.BitcastOp, [bits], like.type)

    def sign_bit(self, x: SSAValue) -> SSAValue:
        """The bits of x without all but its sign."""
        return self.integer(arith.AndIOp, self.bits(x), -(2 ** (format_of(x).width - 1)))

    def flip_sign(self, x: SSAValue, sign: SSAValue) -> SSAValue:
        """x, negated where `sign`, an integer, has the sign bit; it has no other."""
        return self.from_bits(self.integer(arith.XOrIOp, self.bits(x), sign), x)

    def to_float(self, n: SSAValue, like: SSAValue) -> SSAValue:
        return self.emit(arith.SIToFPOp, [n], like.type)

    def power_of_two(self, n: SSAValue, like: SSAValue) -> SSAValue:
        """2^n for integers n that are normal exponents."""
        form = format_of(like)
        biased = self.integer(arith.AddiOp, n, form.bias)
        return self.from_bits(self.integer(arith.ShLIOp, biased, form.mantissa), like)

    def retype(self, type_: Attribute, element: Attribute) -> Attribute:
        return VectorType(element, type_.shape) if isinstance(type_, VectorType) else element  # type: ignore[type-var]

    # --- rare cases --------------------------------------------------------------------------------------

    def where_any(
        self, condition: SSAValue, compute: Callable[[], Sequence[SSAValue]], otherwise: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """What `compute` emits where the condition holds, `otherwise` elsewhere: lane by lane, and skipped as a
        whole where no lane needs it."""

        def chosen() -> list[SSAValue]:
            return [self.select(condition, a, b) for a, b in zip(compute(), otherwise, strict=True)]

        return self.branch(self.any_lane(condition), chosen, lambda: otherwise, [v.type for v in otherwise])

    def any_lane(self, condition: SSAValue) -> SSAValue:
        """Whether a condition holds in a lane."""
        if not isinstance(condition.type, VectorType):
            return condition
        return self.emit(vector.ReductionOp, [condition], i1, {"kind": _ANY, **_NO_FASTMATH})

    def branch(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
        types: Sequence[Attribute],
    ) -> list[SSAValue]:
        """What `then` emits where the scalar condition holds, else what `otherwise` does."""
        blocks = [Block([scf.YieldOp()]), Block([scf.YieldOp()])]
        regions = [Region(block) for block in blocks]
        op = scf.IfOp.create(
            operands=[condition], result_types=types, regions=regions, location=self.location
        )
        self._insert(op)
        outer = self.anchor
        for block, emitted in zip(blocks, (then, otherwise), strict=True):
            assert block.last_op is not None
            self.anchor = block.last_op
            block.last_op.operands = list(emitted())
        self.anchor = outer
        return list(op.results)


def _constant_attribute(value: float, type_: Any) -> Attribute:
    if isinstance(type_, VectorType):
        return DenseIntOrFPElementsAttr.from_list(type_, [value])
    return IntegerAttr(int(value), type_) if isinstance(type_, IntegerType) else FloatAttr(value, type_)


def format_of(x: SSAValue) -> Format:
    return SINGLE_FORMAT if is_single(x) else DOUBLE_FORMAT


def is_single(x: SSAValue) -> bool:
    element = x.type.element_type if isinstance(x.type, VectorType) else x.type
    return isinstance(element, Float32Type)
