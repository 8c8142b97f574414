"""The `memref` dialect: xDSL's, plus the operations that xDSL lacks, with MLIR's names and syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.dialects.memref import MemRef
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .extended import ExtendedDialect


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Fetch the line of an element: `memref.prefetch %x[%i], read, locality<3>, data : memref<?xf32>`."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    isWrite = prop_def(BoolAttr)
    localityHint = prop_def(IntegerAttr)
    isDataCache = prop_def(BoolAttr)

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        *,
        is_write: bool = False,
        locality: int = 3,
        is_data: bool = True,
    ):
        super().__init__(
            operands=[memref, indices],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(is_data),
            },
        )

    def verify_(self) -> None:
        memref = self.memref.type
        assert isinstance(memref, MemRefType)
        if len(self.indices) != memref.get_num_dims():
            raise VerifyException(
                f"{self.name}: {len(self.indices)} indices for a buffer of rank {memref.get_num_dims()}"
            )
        if not 0 <= self.localityHint.value.data <= 3:
            raise VerifyException(f"{self.name}: the locality is a number from 0 to 3")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_operand)
        access = "write" if self.isWrite.value.data else "read"
        cache = "data" if self.isDataCache.value.data else "instr"
        printer.print_string(f", {access}, locality<{self.localityHint.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        memref = parser.parse_unresolved_operand()
        names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        is_write = _parse_one_of(parser, "read", "write") == "write"
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer()
        parser.parse_punctuation(",")
        is_data = _parse_one_of(parser, "data", "instr") == "data"
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        buffer = parser.resolve_operand(memref, parser.parse_type())
        indices = [parser.resolve_operand(name, IndexType()) for name in names]
        op = cls(buffer, indices, is_write=is_write, locality=locality, is_data=is_data)
        op.attributes.update(attributes)
        return op


def _parse_one_of(parser: Parser, *words: str) -> str:
    for word in words:
        if parser.parse_optional_keyword(word) is not None:
            return word
    parser.raise_error(f"expected {' or '.join(words)}")


MEMREF = ExtendedDialect(MemRef, [PrefetchOp])
