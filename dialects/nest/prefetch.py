"""Hints to the machine that an element will be read soon."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..affine import AffineList, parse_indices, print_indices
from .access import AccessOp
from .common import INDEX, parse_memref


@irdl_op_definition
class PrefetchOp(AccessOp):
    """Fetch the line of an element that is read later: `nest.prefetch %x[%i + 8] : memref<?xf32>`.

    It reads nothing and has no effect on a value; the element may lie outside of the buffer. It states no effects,
    so that what does not know it leaves it where it is.
    """

    name = "nest.prefetch"

    memref = operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)

    def __init__(self, memref: SSAValue, indices: AffineList):
        super().__init__(operands=[memref, indices.operands], properties={"map": indices.map_attr})

    def set_indices(self, indices: AffineList) -> None:
        """Replace the indices."""
        self.operands = [self.memref, *indices.operands]
        self.properties["map"] = indices.map_attr

    def verify_(self) -> None:
        self._verify_access(self.memref)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.memref)
        print_indices(printer, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        memref = parser.parse_unresolved_operand()
        indices = parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(memref, parse_memref(parser)), indices)
        op.attributes.update(attributes)
        return op
