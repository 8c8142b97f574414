"""The nt operations that make tensors from nothing but extents: empty, iota."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import AffineMapAttr, TensorType, i64
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from .common import INDEX, NO_SIZES, SizedOp, element_of, shape_of, verify_element
from .work import Role, Working


class _SourceOp(SizedOp):
    """Shared: `nt.name sizes(%n) : tensor<?xi64>`."""

    def __init__(self, result: TensorType, sizes: AffineList = NO_SIZES):
        super().__init__(
            operands=[sizes.operands], properties={"size_map": sizes.map_attr}, result_types=[result]
        )

    def print(self, printer: Printer) -> None:
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.parse_type(), sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


_CARRYING = ("nt.loops", "nt.dim", "scf.for", "scf.while", "scf.yield")
"""What may be given elements without a value: islands write them, control flow carries them to islands."""


@irdl_op_definition
class EmptyOp(_SourceOp):
    """A tensor that islands are going to write: `nt.empty sizes(%n) : tensor<?x4xf32>`.

    It may only be what an `nt.loops` or a loop starts from, or what a side of a branch gives that nothing reads: its
    elements have no value.
    """

    name = "nt.empty"

    size_operands = var_operand_def(INDEX)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_element(self, self.result.type)
        self._verify_sizes(self.result)
        for use in self.result.uses:
            if use.operation.name not in _CARRYING:
                raise VerifyException(f"{self.name}: {use.operation.name} reads elements that have no value")


@irdl_op_definition
class IotaOp(_SourceOp, Working):
    """The integers from 0: element i of `nt.iota sizes(%n) : tensor<?xi64>` is i."""

    name = "nt.iota"

    size_operands = var_operand_def(INDEX)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    ROLE: ClassVar[Role] = Role.SOURCE

    def verify_(self) -> None:
        self._verify_sizes(self.result)
        if len(shape_of(self.result)) != 1 or element_of(self.result) != i64:
            raise VerifyException(f"{self.name}: the result is a vector of i64, not {self.result.type}")
