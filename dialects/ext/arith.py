"""The `arith` dialect: xDSL's, with the operations that xDSL restricts to scalars widened to vectors.

xDSL types the results of comparisons as `i1`, the condition of `select` as `i1`, and the integer and
index casts as scalar only. Each class here is a subclass of xDSL's, so that `isinstance` tests and
canonicalization patterns hold, with the constraints MLIR has:

    %m = arith.cmpf olt, %a, %b : vector<8xf32>                    // vector<8xi1>
    %r = arith.select %m, %a, %b : vector<8xi1>, vector<8xf32>
    %i = arith.fptosi %r : vector<8xf32> to vector<8xi32>

A pass that makes vectors creates `vector_form(type(op))`: ours where there is one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr, IndexType, IntegerType, VectorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    OpDef,
    base,
    irdl_op_definition,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .extended import ExtendedDialect
from .widen import Widened, widen

NO_OVERFLOW: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
"""The properties of integer arithmetic that may wrap: no promise about overflow."""


def _or_vector(constraint: AttrConstraint) -> AttrConstraint:
    return constraint | VectorType.constr(constraint)


_BOOL = _or_vector(base(IntegerType))
_INT = _or_vector(base(IntegerType))
_INT_OR_INDEX = _or_vector(base(IntegerType) | base(IndexType))
_FLOAT = _or_vector(AnyFloatConstr)


def _shape(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, VectorType) else ()


def _element(type: Attribute) -> Any:
    return type.element_type if isinstance(type, VectorType) else type


def bool_like(type: Attribute) -> Attribute:
    """The type of a comparison of two values of `type`: `i1`, or a vector of it."""
    return VectorType(i1, type.shape) if isinstance(type, VectorType) else i1


class _Vectorized(Widened):
    """Scalars keep xDSL's own class, also when they are parsed, so that dispatch by `type(op)` needs no
    second entry for them.
    """

    @classmethod
    def create(cls, *, operands: Sequence[SSAValue] = (), **kwargs: Any) -> Any:
        if any(isinstance(value.type, VectorType) for value in operands):
            return super().create(operands=operands, **kwargs)  # type: ignore[misc]
        return getattr(arith, cls.__name__).create(operands=operands, **kwargs)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        parsed = super().parse(parser)  # type: ignore[misc]
        operands = tuple(parsed.operands)
        result = parsed.results[0].type
        parsed.drop_all_references()
        return cls.create(
            operands=operands,
            result_types=[bool_like(operands[0].type) if issubclass(cls, _Comparison) else result],
            properties=parsed.properties,
            attributes=parsed.attributes,
        )


class _Comparison(_Vectorized):
    def verify_types(self: Any) -> None:
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"compares two types: {self.lhs.type} and {self.rhs.type}")
        if self.result.type != bool_like(self.lhs.type):
            raise VerifyException(f"result must be {bool_like(self.lhs.type)}, got {self.result.type}")


class CmpiOp(_Comparison, arith.CmpiOp):
    traits = traits_def(Pure())  # xDSL's pattern for equal operands gives an i1, not a vector of them

    widened = widen(arith.CmpiOp, results={"result": _BOOL})


class CmpfOp(_Comparison, arith.CmpfOp):
    widened = widen(arith.CmpfOp, results={"result": _BOOL})


class SelectOp(_Vectorized, arith.SelectOp):
    widened = widen(arith.SelectOp, operands={"cond": _BOOL})

    def verify_types(self) -> None:
        if self.cond.type not in (i1, bool_like(self.lhs.type)):
            raise VerifyException(f"condition must be i1 or {bool_like(self.lhs.type)}, got {self.cond.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        condition = types[0] if len(types) == 2 else i1
        if len(operands) != 3:
            parser.raise_error("arith.select takes three operands")
        values = parser.resolve_operands(operands, [condition, types[-1], types[-1]], parser.pos)
        return cls.create(operands=values, result_types=[types[-1]], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.lhs.type)


class _Cast(_Vectorized):
    """Element-wise casts: same shape on both sides. `growth`: the sign of the change of width; 0: any."""

    growth: ClassVar[int] = 0

    def verify_types(self) -> None:
        source, result = self.operands[0].type, self.results[0].type  # type: ignore[attr-defined]
        if _shape(source) != _shape(result) or isinstance(source, VectorType) != isinstance(
            result, VectorType
        ):
            raise VerifyException(f"operand and result must have one shape: {source} and {result}")
        if not self.growth:
            return
        difference = _element(result).width.data - _element(source).width.data
        if difference * self.growth <= 0:
            wanted = "larger" if self.growth > 0 else "smaller"
            raise VerifyException(f"destination bit-width must be {wanted} than the input bit-width")


def _cast_definition(parent: type, source: AttrConstraint, result: AttrConstraint) -> OpDef:
    return widen(parent, operands={"input": source}, results={"result": result})


class ExtSIOp(_Cast, arith.ExtSIOp):
    widened = _cast_definition(arith.ExtSIOp, _INT, _INT)
    growth = 1


class ExtUIOp(_Cast, arith.ExtUIOp):
    widened = _cast_definition(arith.ExtUIOp, _INT, _INT)
    growth = 1


class TruncIOp(_Cast, arith.TruncIOp):
    widened = _cast_definition(arith.TruncIOp, _INT, _INT)
    growth = -1


class SIToFPOp(_Cast, arith.SIToFPOp):
    widened = _cast_definition(arith.SIToFPOp, _INT, _FLOAT)


class UIToFPOp(_Cast, arith.UIToFPOp):
    widened = _cast_definition(arith.UIToFPOp, _INT, _FLOAT)


class FPToSIOp(_Cast, arith.FPToSIOp):
    widened = _cast_definition(arith.FPToSIOp, _FLOAT, _INT)


class FPToUIOp(_Cast, arith.FPToUIOp):
    widened = _cast_definition(arith.FPToUIOp, _FLOAT, _INT)


class IndexCastOp(_Cast, arith.IndexCastOp):
    widened = _cast_definition(arith.IndexCastOp, _INT_OR_INDEX, _INT_OR_INDEX)

    def verify_types(self) -> None:
        super().verify_types()
        index = [isinstance(_element(v.type), IndexType) for v in (self.input, self.result)]
        if index[0] == index[1]:
            raise VerifyException("exactly one of operand and result must be of index type")


@irdl_op_definition
class RemfOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of truncating division, exact (C's fmod), which xDSL lacks: `arith.remf %a, %b : f32`."""

    name = "arith.remf"

    traits = traits_def(Pure())


ARITH = ExtendedDialect(
    arith.Arith,
    [
        CmpiOp,
        CmpfOp,
        SelectOp,
        ExtSIOp,
        ExtUIOp,
        TruncIOp,
        SIToFPOp,
        UIToFPOp,
        FPToSIOp,
        FPToUIOp,
        IndexCastOp,
        RemfOp,
    ],
)


@functools.cache
def vector_form(kind: type) -> type:
    """The class of an operation on vectors: ours, which has its name, where xDSL's is of scalars only."""
    ours = getattr(sys.modules[__name__], kind.__name__, kind)
    return ours if issubclass(ours, kind) else kind
