"""The `llvm` dialect: xDSL's, plus the operations Nestor needs that xDSL lacks.

Names, operands and custom syntax are MLIR's. `FCmpOp`, `SelectOp` and `MaskedStoreOp` replace xDSL's,
which take scalars (or floats) only.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I1,
    AnyFloatConstr,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    VarOperandDef,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from .widen import Widened, widen

FLOAT = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
INTEGER = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
BOOL = base(I1) | VectorType.constr(base(I1))
NO_FASTMATH = FastMathAttr(None)


# --- casts -----------------------------------------------------------------------------------------------


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    name = "llvm.uitofp"


# --- values ----------------------------------------------------------------------------------------------


@irdl_op_definition
class PoisonOp(IRDLOperation):
    name = "llvm.mlir.poison"
    res = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    name = "llvm.extractelement"
    vector = operand_def(VectorType)
    position = operand_def(SignlessIntegerConstraint)
    res = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ExtractElementOp:
        vector = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        position = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        position_type = parser.parse_type()
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, VectorType):
            parser.raise_error("expected a vector type")
        return cls.create(
            operands=[parser.resolve_operand(vector, type), parser.resolve_operand(position, position_type)],
            result_types=[type.element_type],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        printer.print_string("[")
        printer.print_ssa_value(self.position)
        printer.print_string(" : ")
        printer.print_attribute(self.position.type)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)


@irdl_op_definition
class FCmpOp(IRDLOperation):
    name = "llvm.fcmp"
    T: ClassVar = VarConstraint("T", FLOAT)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(BOOL)
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = FCmpPredicateFlag(parser.parse_str_literal()).to_int()
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        fastmath = attributes.pop("fastmathFlags", NO_FASTMATH)
        result = VectorType(IntegerType(1), type.shape) if isinstance(type, VectorType) else IntegerType(1)
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [type, type], parser.pos),
            result_types=[result],
            properties={"predicate": IntegerAttr(predicate, i64), "fastmathFlags": fastmath},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{FCmpPredicateFlag.from_int(self.predicate.value.data)}" ')
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        attributes: dict[str, Attribute] = dict(self.attributes)
        if self.fastmathFlags != NO_FASTMATH:
            attributes["fastmathFlags"] = self.fastmathFlags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class SelectOp(IRDLOperation):
    name = "llvm.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(BOOL)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"


# --- intrinsics ------------------------------------------------------------------------------------------


class FloatUnaryIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.X(%a) : (T) -> T`."""

    T: ClassVar = VarConstraint("T", FLOAT)
    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class FloatBinaryIntrinsic(IRDLOperation, ABC):
    """`llvm.intr.X(%a, %b) : (T, T) -> T`."""

    T: ClassVar = VarConstraint("T", FLOAT)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class IntegerBinaryIntrinsic(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


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
class CtpopOp(IntegerUnaryIntrinsic):
    name = "llvm.intr.ctpop"
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class FloatReduction(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class IntegerReduction(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


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


class GEPOp(Widened, llvm.GEPOp):
    """xDSL's, with a vector of indices allowed: the addresses of a gather or scatter."""

    widened = widen(
        llvm.GEPOp,
        operands={"ssa_indices": VarOperandDef(base(IntegerType) | VectorType.constr(base(IntegerType)))},
        results={"result": base(LLVMPointerType) | VectorType.constr(base(LLVMPointerType))},
    )


class ICmpOp(Widened, llvm.ICmpOp):
    """xDSL's, with pointers allowed."""

    widened = widen(
        llvm.ICmpOp,
        operands={"lhs": INTEGER | base(LLVMPointerType), "rhs": INTEGER | base(LLVMPointerType)},
    )


# --- loop annotations ------------------------------------------------------------------------------------


@irdl_attr_definition
class LoopAnnotationAttr(ParametrizedAttribute):
    """Which of LLVM's loop transforms are off: `#llvm.loop_annotation<vectorize = <disable = true>, ...>`."""

    name = "llvm.loop_annotation"
    no_vectorize: BoolAttr
    no_unroll: BoolAttr

    def print_parameters(self, printer: Printer) -> None:
        disabled = [key for key, flag in zip(("vectorize", "unroll"), self._flags(), strict=True) if flag]
        printer.print_string("<" + ", ".join(f"{key} = <disable = true>" for key in disabled) + ">")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_entry() -> str:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            with parser.in_angle_brackets():
                parser.parse_keyword("disable")
                parser.parse_punctuation("=")
                parser.parse_keyword("true")
            return key

        keys = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_entry)
        return [BoolAttr.from_bool("vectorize" in keys), BoolAttr.from_bool("unroll" in keys)]

    def _flags(self) -> tuple[bool, bool]:
        return bool(self.no_vectorize.value.data), bool(self.no_unroll.value.data)


# --- the dialect -----------------------------------------------------------------------------------------

_OWN: tuple[type[Operation], ...] = (
    FPToSIOp,
    FPToUIOp,
    UIToFPOp,
    PoisonOp,
    ExtractElementOp,
    FCmpOp,
    SelectOp,
    GEPOp,
    ICmpOp,
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
)
_OWN_NAMES = {op.name for op in _OWN}

LLVM = Dialect(
    "llvm",
    [*(op for op in llvm.LLVM.operations if op.name not in _OWN_NAMES), *_OWN],
    [*llvm.LLVM.attributes, LoopAnnotationAttr],
)
