"""Intrinsics of the `llvm` dialect that xDSL lacks: `llvm.intr.*`, names and custom syntax MLIR's.

Most share one syntax, which `CallIntrinsic` parses and prints: an `assembly_format` on each of thirty classes is
compiled again in every process, and was 2% of the first call of a program.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    I1,
    AnyFloatConstr,
    BoolAttr,
    FunctionType,
    IntegerAttr,
    SignlessIntegerConstraint,
    VectorType,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

FLOAT = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
INTEGER = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
NO_FASTMATH = FastMathAttr(None)


# --- scalars and vectors ---------------------------------------------------------------------------------


class CallIntrinsic(IRDLOperation, ABC):
    """Base of operations written `llvm.intr.X(%a, %b) {...} : (A, B) -> R`; default properties are not printed."""

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_operand)
        defaults = {name: row.default_value for name, row in self.get_irdl_definition().properties.items()}
        own = {name: value for name, value in self.properties.items() if value != defaults.get(name)}
        printer.print_op_attributes(self.attributes | own)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        properties = {
            name: attributes.pop(name) for name in cls.get_irdl_definition().properties if name in attributes
        }
        parser.parse_punctuation(":")
        position = parser.pos
        signature = parser.parse_attribute()
        if not isinstance(signature, FunctionType):
            parser.raise_error("expected the types of operands and result, `(T) -> T`", position)
        operands = parser.resolve_operands(names, signature.inputs.data, position)
        return cls.build(
            operands=operands,
            result_types=list(signature.outputs.data),
            properties=properties,
            attributes=attributes,
        )


class FloatUnaryIntrinsic(CallIntrinsic, ABC):
    """`llvm.intr.X(%a) : (T) -> T`."""

    T: ClassVar = VarConstraint("T", FLOAT)
    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


class FloatBinaryIntrinsic(CallIntrinsic, ABC):
    """`llvm.intr.X(%a, %b) : (T, T) -> T`."""

    T: ClassVar = VarConstraint("T", FLOAT)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


class IntegerBinaryIntrinsic(CallIntrinsic, ABC):
    T: ClassVar = VarConstraint("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())


class IntegerUnaryIntrinsic(IRDLOperation, ABC):
    """MLIR has no custom syntax for these when they carry a poison flag: printed in generic form."""

    T: ClassVar = VarConstraint("T", INTEGER)
    arg = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class MaximumOp(FloatBinaryIntrinsic):
    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(FloatBinaryIntrinsic):
    name = "llvm.intr.minimum"


@irdl_op_definition
class RoundOp(FloatUnaryIntrinsic):
    name = "llvm.intr.round"


@irdl_op_definition
class RoundEvenOp(FloatUnaryIntrinsic):
    name = "llvm.intr.roundeven"


@irdl_op_definition
class FTruncOp(FloatUnaryIntrinsic):
    name = "llvm.intr.trunc"


@irdl_op_definition
class SMaxOp(IntegerBinaryIntrinsic):
    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(IntegerBinaryIntrinsic):
    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(IntegerBinaryIntrinsic):
    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(IntegerBinaryIntrinsic):
    name = "llvm.intr.umin"


@irdl_op_definition
class AbsOp(IntegerUnaryIntrinsic):
    name = "llvm.intr.abs"
    is_int_min_poison = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))


@irdl_op_definition
class CtlzOp(IntegerUnaryIntrinsic):
    name = "llvm.intr.ctlz"
    is_zero_poison = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))


@irdl_op_definition
class CttzOp(IntegerUnaryIntrinsic):
    name = "llvm.intr.cttz"
    is_zero_poison = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))


@irdl_op_definition
class CtpopOp(CallIntrinsic):
    name = "llvm.intr.ctpop"
    T: ClassVar = VarConstraint("T", INTEGER)
    arg = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())


# --- reductions ------------------------------------------------------------------------------------------


class FloatReduction(CallIntrinsic, ABC):
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


class IntegerReduction(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class ReduceFMaximumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class ReduceFMinimumOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fminimum"


@irdl_op_definition
class ReduceFMaxOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmax"


@irdl_op_definition
class ReduceFMinOp(FloatReduction):
    name = "llvm.intr.vector.reduce.fmin"


@irdl_op_definition
class ReduceAddOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.add"


@irdl_op_definition
class ReduceMulOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.mul"


@irdl_op_definition
class ReduceAndOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.and"


@irdl_op_definition
class ReduceOrOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.or"


@irdl_op_definition
class ReduceXorOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.xor"


@irdl_op_definition
class ReduceSMaxOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.smax"


@irdl_op_definition
class ReduceSMinOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.smin"


@irdl_op_definition
class ReduceUMaxOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.umax"


@irdl_op_definition
class ReduceUMinOp(IntegerReduction):
    name = "llvm.intr.vector.reduce.umin"


# --- masked memory ---------------------------------------------------------------------------------------


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    name = "llvm.intr.masked.load"
    data = operand_def(LLVMPointerType)
    mask = operand_def(VectorType[I1])
    pass_thru = opt_operand_def(VectorType)
    res = result_def(VectorType)
    alignment = prop_def(IntegerAttr)
    nontemporal = opt_prop_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    name = "llvm.intr.masked.store"
    value = operand_def(VectorType)
    data = operand_def(LLVMPointerType)
    mask = operand_def(VectorType[I1])
    alignment = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)"
    )


@irdl_op_definition
class MaskedGatherOp(IRDLOperation):
    name = "llvm.intr.masked.gather"
    ptrs = operand_def(VectorType[LLVMPointerType])
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(VectorType)
    res = result_def(VectorType)
    alignment = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MaskedScatterOp(IRDLOperation):
    name = "llvm.intr.masked.scatter"
    value = operand_def(VectorType)
    ptrs = operand_def(VectorType[LLVMPointerType])
    mask = operand_def(VectorType[I1])
    alignment = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$value `,` $ptrs `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($ptrs)"
    )


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Fetch the line of an address: rw 0 (read) or 1, hint 0 (no locality) to 3, cache 1 (data) or 0."""

    name = "llvm.intr.prefetch"
    addr = operand_def(LLVMPointerType)
    rw = prop_def(IntegerAttr)
    hint = prop_def(IntegerAttr)
    cache = prop_def(IntegerAttr)


INTRINSICS = Dialect(
    "llvm",
    [
        MaximumOp,
        MinimumOp,
        RoundOp,
        RoundEvenOp,
        FTruncOp,
        SMaxOp,
        SMinOp,
        UMaxOp,
        UMinOp,
        AbsOp,
        CtlzOp,
        CttzOp,
        CtpopOp,
        ReduceFMaximumOp,
        ReduceFMinimumOp,
        ReduceFMaxOp,
        ReduceFMinOp,
        ReduceAddOp,
        ReduceMulOp,
        ReduceAndOp,
        ReduceOrOp,
        ReduceXorOp,
        ReduceSMaxOp,
        ReduceSMinOp,
        ReduceUMaxOp,
        ReduceUMinOp,
        MaskedLoadOp,
        MaskedStoreOp,
        MaskedGatherOp,
        MaskedScatterOp,
        PrefetchOp,
    ],
)
"""A part of the dialect: `llvm.py` has the whole."""
