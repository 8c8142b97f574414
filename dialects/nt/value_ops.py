"""The nt operations on constants, scalars and extents."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from .common import (
    INDEX,
    element_of,
    shape_of,
    verify_element,
)
from .traits import Canonicalized
from .types import scalar_type
from .work import Role, Working


@irdl_op_definition
class ConstantOp(Working):
    """A tensor known at compile time: `nt.constant dense<1.0e-05> : tensor<f32>`."""

    name = "nt.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike(), Canonicalized())

    @property
    def role(self) -> Role | None:
        """A source, but for a constant of several values, which is in memory."""
        return Role.SOURCE if self.splat is not None or not len(self.value) else None

    def __init__(self, value: DenseIntOrFPElementsAttr):
        super().__init__(properties={"value": value}, result_types=[value.type])

    @property
    def splat(self) -> complex | None:
        """The one value of every element (0 or 1 for bool), or None when they differ or there is none."""
        if not len(self.value) or not self.value.is_splat():
            return None
        value = self.value.get_values()[0]
        if isinstance(value, tuple):
            return complex(*value)
        return value & 1 if self.value.get_element_type() == i1 else value  # pyright: ignore

    def verify_(self) -> None:
        verify_element(self, self.result.type)
        if self.value.type != self.result.type:
            raise VerifyException(
                f"{self.name}: the value is {self.value.type}, the result {self.result.type}"
            )
        if DYNAMIC_INDEX in shape_of(self.result):
            raise VerifyException(f"{self.name}: a constant has static extents; broadcast it instead")

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(value.type, TensorType):
            parser.raise_error("expected dense<...> : tensor<...>", position)
        op = cls(value)
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class FromScalarOp(Working):
    """A Python scalar as a rank-0 tensor: `nt.from_scalar %s : f64 -> tensor<f64>`."""

    name = "nt.from_scalar"

    scalar = operand_def(AnyAttr())
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())
    ROLE: ClassVar[Role] = Role.SOURCE
    assembly_format = "$scalar attr-dict `:` type($scalar) `->` type($result)"

    def __init__(self, scalar: SSAValue, result: TensorType):
        super().__init__(operands=[scalar], result_types=[result])

    def verify_(self) -> None:
        verify_element(self, self.result.type)
        if shape_of(self.result) or scalar_type(element_of(self.result)) != self.scalar.type:
            raise VerifyException(f"{self.name}: {self.scalar.type} does not become {self.result.type}")


@irdl_op_definition
class ToScalarOp(IRDLOperation):
    """The element of a rank-0 tensor as a scalar: `nt.to_scalar %t : tensor<i64> -> i64`."""

    name = "nt.to_scalar"

    tensor = operand_def(TensorType)
    result = result_def(AnyAttr())

    traits = traits_def(Pure(), Canonicalized())
    assembly_format = "$tensor attr-dict `:` type($tensor) `->` type($result)"

    def __init__(self, tensor: SSAValue):
        super().__init__(operands=[tensor], result_types=[scalar_type(element_of(tensor))])

    def verify_(self) -> None:
        if shape_of(self.tensor) or scalar_type(element_of(self.tensor)) != self.result.type:
            raise VerifyException(f"{self.name}: {self.tensor.type} does not become {self.result.type}")


@irdl_op_definition
class DimOp(IRDLOperation):
    """An extent: `%n = nt.dim %x[0] : tensor<?x4xf32>`."""

    name = "nt.dim"

    tensor = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(INDEX)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(self, tensor: SSAValue, axis: int):
        super().__init__(operands=[tensor], properties={"axis": IntegerAttr(axis, i64)}, result_types=[INDEX])

    def verify_(self) -> None:
        rank = len(shape_of(self.tensor))
        if not 0 <= self.axis.value.data < rank:
            raise VerifyException(f"{self.name}: axis {self.axis.value.data} of a tensor of rank {rank}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tensor)
        printer.print_string(f"[{self.axis.value.data}]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tensor.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tensor = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            axis = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(tensor, parser.parse_type()), axis)
        op.attributes.update(attributes)
        return op
