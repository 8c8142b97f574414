"""What the nt operations share: shapes, sizes of unknown extents, pieces of syntax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    Operand,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_affine_exprs, print_expr
from .types import kind_of

INDEX = IndexType()
ORDERS = ("any", "fixed-tree", "sequential")


NO_SIZES = AffineList(())
"""The sizes of a result without unknown extents."""


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Extents of a tensor value or type; `DYNAMIC_INDEX` where unknown."""
    tensor = value.type if isinstance(value, SSAValue) else value
    assert isinstance(tensor, TensorType)
    return tuple(tensor.get_shape())


def element_of(value: SSAValue | Attribute) -> Attribute:
    """Element type of a tensor value or type."""
    tensor = value.type if isinstance(value, SSAValue) else value
    assert isinstance(tensor, TensorType)
    return tensor.element_type


def verify_element(op: IRDLOperation, tensor: Attribute) -> None:
    try:
        kind_of(element_of(tensor))
    except TypeError as error:
        raise VerifyException(f"{op.name}: {error}") from None


def verify_same_element(op: IRDLOperation, source: SSAValue, result: SSAValue) -> None:
    if element_of(source) != element_of(result):
        raise VerifyException(
            f"{op.name}: the element type changes from {element_of(source)} to {element_of(result)}; use nt.cast"
        )


class SizedOp(IRDLOperation):
    """Shared by operations whose result has unknown extents: `sizes` gives them, in order."""

    @property
    def sizes(self) -> AffineList:
        """One expression for each `?` of the result type."""
        return AffineList.from_op(self.size_map, self.size_operands)  # pyright: ignore

    def _verify_sizes(self, result: SSAValue) -> None:
        unknown = sum(extent == DYNAMIC_INDEX for extent in shape_of(result))
        if len(self.sizes) != unknown:
            raise VerifyException(
                f"{self.name}: {len(self.sizes)} sizes for the {unknown} unknown extents of {result.type}"
            )

    def _print_sizes(self, printer: Printer) -> None:
        if not len(self.sizes):
            return
        printer.print_string(" sizes")
        with printer.in_parens():
            printer.print_list(self.sizes.exprs, lambda e: print_expr(printer, e, self.sizes.operands))

    @staticmethod
    def _parse_sizes(parser: Parser) -> AffineList:
        if parser.parse_optional_keyword("sizes") is None:
            return NO_SIZES
        return parse_affine_exprs(
            parser, lambda expr: parser.parse_comma_separated_list(parser.Delimiter.PAREN, expr)
        )


class AlongOp(SizedOp):
    """Shared by views that name dimensions: `nt.broadcast %x along [0] sizes(%n) : tensor<?xf32> -> tensor<?x4xf32>`.

    The word before the dimensions is the name of the property that holds them.
    """

    KEYWORD: ClassVar[str]

    if TYPE_CHECKING:
        source: Operand
        result: OpResult

    def __init__(
        self, source: SSAValue, dims: Sequence[int], result: TensorType, sizes: AffineList = NO_SIZES
    ):
        super().__init__(
            operands=[source, sizes.operands],
            properties={self.KEYWORD: int_array(dims), "size_map": sizes.map_attr},
            result_types=[result],
        )

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple(self.properties[self.KEYWORD].get_values())  # pyright: ignore

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f" {self.KEYWORD} {list(self.dims)}")
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword(cls.KEYWORD)
        dims = parse_int_list(parser)
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), dims, result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


def print_group(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`(%a, %b : type, type)`."""
    printer.print_string("(")
    printer.print_list(values, printer.print_operand)
    if values:
        printer.print_string(" : ")
        printer.print_list((v.type for v in values), printer.print_attribute)
    printer.print_string(")")


def parse_group(parser: Parser, who: str = "") -> list[SSAValue]:
    """`(%a, %b : type, type)`; `who` has the operands, in errors."""
    parser.parse_punctuation("(")
    if parser.parse_optional_punctuation(")"):
        return []
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    if len(names) != len(types):
        parser.raise_error(f"{who} {len(names)} operands but {len(types)} types".lstrip())
    return [parser.resolve_operand(n, t) for n, t in zip(names, types, strict=True)]


def print_types(printer: Printer, source: SSAValue, result: SSAValue) -> None:
    printer.print_string(" : ")
    printer.print_attribute(source.type)
    printer.print_string(" -> ")
    printer.print_attribute(result.type)


def parse_types(parser: Parser) -> tuple[Attribute, Attribute]:
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_punctuation("->")
    return source, parser.parse_type()


def parse_int_list(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_negative=True)
    )


def int_array(values: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(values))
