"""The `llvm` dialect: xDSL's, plus the operations Nestor needs that xDSL lacks.

Names, operands and custom syntax are MLIR's. `FCmpOp`, `SelectOp` and the intrinsic `MaskedStoreOp` replace
xDSL's, which take scalars (or floats) only. Intrinsics are in `llvm_intrinsics.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I1,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
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
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .extended import ExtendedDialect
from .llvm_intrinsics import FLOAT, INTEGER, INTRINSICS, NO_FASTMATH
from .widen import Widened, widen

BOOL = base(I1) | VectorType.constr(base(I1))


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
class FreezeOp(IRDLOperation):
    """Some value, always the same, where the operand is poison; else the operand."""

    name = "llvm.freeze"
    T: ClassVar = VarConstraint("T", AnyAttr())
    val = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$val attr-dict `:` type($val)"


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


# --- atomics ---------------------------------------------------------------------------------------------

ATOMIC_UPDATES = ("xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin")
"""Names of `bin_op`, by its number: those on integers."""


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """`%old = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr, i64`: update memory in one step; what was there before."""

    name = "llvm.atomicrmw"
    T: ClassVar = VarConstraint("T", base(IntegerType))
    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    res = result_def(T)
    bin_op = prop_def(IntegerAttr)
    ordering = prop_def(IntegerAttr)

    @classmethod
    def of(cls, name: str, pointer: SSAValue, value: SSAValue, ordering: str = "monotonic") -> AtomicRMWOp:
        return cls.create(
            operands=[pointer, value],
            result_types=[value.type],
            properties={
                "bin_op": IntegerAttr(ATOMIC_UPDATES.index(name), i64),
                "ordering": IntegerAttr(_ORDERINGS[ordering], i64),
            },
        )

    @property
    def words(self) -> tuple[str, str]:
        """The update and the ordering as LLVM IR has them."""
        return (
            ATOMIC_UPDATES[self.bin_op.value.data].lstrip("_"),
            llvm.ATOMIC_ORDERING_KEYWORDS[self.ordering.value.data],
        )

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        name = parser.expect(lambda: _optional_word(parser, ATOMIC_UPDATES), "expected an atomic update")
        pointer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        ordering = parser.expect(lambda: _optional_word(parser, _ORDERINGS), "expected an atomic ordering")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        value_type = parser.parse_type()
        op = cls.of(
            name,
            parser.resolve_operand(pointer, pointer_type),
            parser.resolve_operand(value, value_type),
            ordering,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {ATOMIC_UPDATES[self.bin_op.value.data]} ")
        printer.print_ssa_value(self.ptr)
        printer.print_string(", ")
        printer.print_ssa_value(self.val)
        printer.print_string(f" {self.words[1]}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)

    def verify_(self) -> None:
        if not 0 <= self.bin_op.value.data < len(ATOMIC_UPDATES):
            raise VerifyException(f"{self.name}: bin_op is none of {', '.join(ATOMIC_UPDATES)}")
        if self.ordering.value.data not in _STRONG:
            raise VerifyException(f"{self.name}: the ordering has to be monotonic or stronger")


_ORDERINGS = {word: number for number, word in llvm.ATOMIC_ORDERING_KEYWORDS.items()}
_STRONG = frozenset(_ORDERINGS[word] for word in ("monotonic", "acquire", "release", "acq_rel", "seq_cst"))


def _optional_word(parser: Parser, words: Iterable[str]) -> str | None:
    return next((word for word in words if parser.parse_optional_keyword(word) is not None), None)


# --- types -----------------------------------------------------------------------------------------------


@irdl_attr_definition
class X86AMXType(ParametrizedAttribute, TypeAttribute):
    """A register of x86 that holds a tile of a matrix."""

    name = "llvm.x86_amx"


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

LLVM = ExtendedDialect(
    llvm.LLVM,
    [
        FPToSIOp,
        FPToUIOp,
        UIToFPOp,
        PoisonOp,
        FreezeOp,
        ExtractElementOp,
        FCmpOp,
        SelectOp,
        GEPOp,
        ICmpOp,
        AtomicRMWOp,
    ],
    [LoopAnnotationAttr, X86AMXType],
    INTRINSICS,
)
