"""Scans (running results): `nt.scan`."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .common import element_of, shape_of, verify_element
from .elementwise import ELEMENTWISE, Elementwise
from .types import kind_of
from .work import Role, Working


@irdl_op_definition
class ScanOp(Working):
    """Running results along an axis: `nt.scan add %x along 0 : tensor<?x4xf32>`.

    The first element is that of the source; each one after it is the combiner's result on the one before it and that
    of the source, in order. The combiner is an elementwise operation on two operands of the element type.
    """

    name = "nt.scan"

    source = operand_def(TensorType)
    combiner = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    ROLE: ClassVar[Role] = Role.APART

    def __init__(self, combiner: str, source: SSAValue, axis: int):
        super().__init__(
            operands=[source],
            properties={"combiner": StringAttr(combiner), "axis": IntegerAttr(axis, i64)},
            result_types=[source.type],
        )

    @property
    def along(self) -> int:
        """The axis along which it runs."""
        return self.axis.value.data

    @property
    def row(self) -> Elementwise:
        """The combiner's row in the table of elementwise operations."""
        return ELEMENTWISE[self.combiner.data]

    def verify_(self) -> None:
        verify_element(self, self.source.type)
        if self.source.type != self.result.type:
            raise VerifyException(
                f"{self.name}: the type changes from {self.source.type} to {self.result.type}"
            )
        rank = len(shape_of(self.source))
        if not 0 <= self.along < rank:
            raise VerifyException(f"{self.name}: axis {self.along} of a tensor of rank {rank}")
        row = ELEMENTWISE.get(self.combiner.data)
        if row is None or row.arity != 2:
            raise VerifyException(f"{self.name}: '{self.combiner.data}' is not an operation on two operands")
        element = element_of(self.source)
        kind = kind_of(element)
        if kind not in row.expansions or (row.result == "bool" and kind != "b"):
            raise VerifyException(f"{self.name}: '{self.combiner.data}' does not make {element} of {element}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.combiner.data} ")
        printer.print_operand(self.source)
        printer.print_string(f" along {self.along}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        combiner = parser.parse_identifier(context_msg="the combiner's name")
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("along")
        axis = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(combiner, parser.resolve_operand(source, parser.parse_type()), axis)
        op.attributes.update(attributes)
        return op
