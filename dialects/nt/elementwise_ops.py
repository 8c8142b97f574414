"""The elementwise operations: one class a row of the table in `elementwise.py`, generated from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .elementwise import ELEMENTWISE, Elementwise, result_element
from .traits import Canonicalized
from .types import kind_of, with_element
from .work import Effort, Role, Working


class ElementwiseOp(Working):
    """Base of all elementwise operations: `%z = nt.add %x, %y : tensor<4xf32>`.

    Operands have one shape and element type (of `select`, the first is a bool tensor of that shape); nothing is
    broadcast or promoted here. The type printed is the operands' type (`nt.less` of f32 prints f32, gives i1).
    """

    ROW: ClassVar[Elementwise]
    ROLE: ClassVar[Role] = Role.COMPUTES

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(self, *inputs: SSAValue):
        assert isinstance(inputs[-1].type, TensorType)
        super().__init__(operands=[inputs], result_types=[result_type(self.row, inputs[-1].type)])

    @property
    def row(self) -> Elementwise:
        """The table row of this operation."""
        return self.ROW

    @property
    def effort(self) -> Effort:
        return self.ROW.effort

    @property
    def points(self) -> SSAValue:
        return self.inputs[0]

    def verify_(self) -> None:
        row, inputs = self.row, self.operands
        if len(inputs) != row.arity:
            raise VerifyException(f"{self.name}: takes {row.arity} operands, not {len(inputs)}")
        common = inputs[-1].type
        assert isinstance(common, TensorType)
        expected = operand_types(row, common)
        for k, (value, wanted) in enumerate(zip(inputs, expected, strict=True)):
            if value.type != wanted:
                raise VerifyException(
                    f"{self.name}: operand {k} is {value.type}, expected {wanted}; "
                    "shapes and element types must agree (insert nt.broadcast or nt.cast)"
                )
        self._verify_element(row, common)
        found, wanted = self.results[0].type, result_type(row, common)
        if found != wanted:
            raise VerifyException(f"{self.name}: gives {wanted}, not {found}")

    def _verify_element(self, row: Elementwise, common: TensorType) -> None:
        try:
            kind = kind_of(common.element_type)
            kind_of(result_element(row, common.element_type))
        except TypeError as error:
            raise VerifyException(f"{self.name}: {error}") from None
        if kind not in row.expansions:
            raise VerifyException(f"{self.name}: does not apply to {common.element_type}; insert nt.cast")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.inputs[-1].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        common = parser.parse_type()
        row = cls.ROW
        if not isinstance(common, TensorType):
            parser.raise_error(f"expected a tensor type, not {common}", position)
        if len(names) != row.arity:
            parser.raise_error(f"{cls.name} takes {row.arity} operands, not {len(names)}", position)
        types = operand_types(row, common)
        op = cls(*[parser.resolve_operand(n, t) for n, t in zip(names, types, strict=True)])
        op.attributes.update(attributes)
        return op


def operand_types(row: Elementwise, common: TensorType) -> Sequence[Attribute]:
    """Types of the operands of `row` when the (other) operands have type `common`."""
    if not row.condition_first:
        return (common,) * row.arity
    return (with_element(common, i1), *(common,) * (row.arity - 1))


def result_type(row: Elementwise, common: TensorType) -> TensorType:
    """Type of the result of `row` on operands of type `common`."""
    return with_element(common, result_element(row, common.element_type))


def _define(row: Elementwise) -> type[ElementwiseOp]:
    members: dict[str, Any] = {
        "name": f"nt.{row.name}",
        "__doc__": f"`np.{row.ufunc}`, elementwise; see the table in dialects/nt/elementwise.py.",
        "__module__": __name__,
        "__annotations__": {"name": ClassVar[str]},
    }
    class_name = "".join(part.capitalize() for part in row.name.split("_")) + "Op"
    op_type = irdl_op_definition(type(class_name, (ElementwiseOp,), members))
    op_type.ROW = row
    return op_type


ELEMENTWISE_OPS: dict[str, type[ElementwiseOp]] = {name: _define(row) for name, row in ELEMENTWISE.items()}
"""The operation class by the row's name: `ELEMENTWISE_OPS["add"](x, y)`."""
