"""Buffers made inside a function, and checked Python indices into buffers: numbers of the program, elements of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_bound, print_bound
from .common import INDEX, name_hint_of, parse_memref, verify_affine


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer: `%t = nest.alloc "t"(%n) : memref<?x4xf32>`; contents are undefined until written.

    Lives until the end of the block it is in; its memory space (global, shared, local) is in the type.
    """

    name = "nest.alloc"

    sizes = var_operand_def(INDEX)
    label = prop_def(StringAttr)
    memref = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, label: str, memref_type: MemRefType, sizes: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[sizes], properties={"label": StringAttr(label)}, result_types=[memref_type]
        )
        self.memref.name_hint = name_hint_of(label)

    def verify_(self) -> None:
        memref_type = self.memref.type
        assert isinstance(memref_type, MemRefType)
        unknown = sum(extent == DYNAMIC_INDEX for extent in memref_type.get_shape())
        if unknown != len(self.sizes):
            raise VerifyException(f"{self.name}: {len(self.sizes)} sizes given for {unknown} unknown extents")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}"')
        if self.sizes:
            with printer.in_parens():
                printer.print_list(self.sizes, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal("the buffer's name")
        sizes = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(label, parse_memref(parser), sizes or ())
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class IndexOp(IRDLOperation):
    """A checked Python index: `%k = nest.index %i - 1 of %n axis 0 of "a"`.

    The value of the expression when it is in [0, n); n plus it when it is in [-n, 0); otherwise the kernel
    stops with an IndexError that names the array, the axis, the index and the extent.
    `nest-prove-bounds` replaces the ones that cannot fail by plain affine indices, and marks those that are never
    negative: `%k = nest.index %i - %w of %n axis 0 of "a" from_start`.
    """

    name = "nest.index"

    map_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)
    array = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    from_start = opt_prop_def(UnitAttr)
    result = result_def(INDEX)

    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self, index: AffineList | SSAValue, extent: AffineList | SSAValue | int, array: str, axis: int
    ):
        both = AffineList.of(index, extent)
        super().__init__(
            operands=[both.operands],
            properties={"map": both.map_attr, "array": StringAttr(array), "axis": IntegerAttr(axis, i64)},
            result_types=[INDEX],
        )

    @property
    def index(self) -> AffineList:
        """The index as written in Python, possibly negative."""
        return AffineList.from_op(self.map, self.map_operands)[0]

    @property
    def extent(self) -> AffineList:
        """The extent of the axis it indexes."""
        return AffineList.from_op(self.map, self.map_operands)[1]

    def set_index(self, index: AffineList, extent: AffineList) -> None:
        """Replace the index and the extent."""
        both = index.concat(extent)
        self.operands = list(both.operands)
        self.properties["map"] = both.map_attr

    def verify_(self) -> None:
        verify_affine(self, "the index", self.map, self.map_operands)
        if len(self.map.data.results) != 2:
            raise VerifyException(f"{self.name}: the map gives the index and the extent, here {self.map}")

    def print(self, printer: Printer) -> None:
        both = AffineList.from_op(self.map, self.map_operands)
        printer.print_string(" ")
        print_bound(printer, AffineList(both.exprs[:1], both.operands), "")
        printer.print_string(" of ")
        print_bound(printer, AffineList(both.exprs[1:], both.operands), "")
        printer.print_string(f' axis {self.axis.value.data} of "{self.array.data}"')
        if self.from_start is not None:
            printer.print_string(" from_start")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parse_bound(parser, "max")
        parser.parse_keyword("of")
        extent = parse_bound(parser, "min")
        parser.parse_keyword("axis")
        axis = parser.parse_integer()
        parser.parse_keyword("of")
        op = cls(index, extent, parser.parse_str_literal("the array's name"), axis)
        if parser.parse_optional_keyword("from_start"):
            op.properties["from_start"] = UnitAttr()
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


@irdl_op_definition
class LookupOp(IRDLOperation):
    """An element of an array of indices as an index, checked where it is used: `%k = nest.lookup %v of %n axis 0 of "x"`.

    The value is %v when it is in [0, %n); %n plus it when it is in [-%n, 0). Any other makes the function fail with an
    IndexError, once the nest that needs the value has ended: until then it is 0. So it has no effect that iterations
    would have to keep in order, and computing it where nobody needs it is not an error. It stands only where nobody sees
    what a nest that failed has written (`nest-sink-checks`); of several that fail, any one is reported.
    """

    name = "nest.lookup"

    value = operand_def(i64)
    extent = operand_def(i64)
    array = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    result = result_def(INDEX)

    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, extent: SSAValue, array: str, axis: int):
        super().__init__(
            operands=[value, extent],
            properties={"array": StringAttr(array), "axis": IntegerAttr(axis, i64)},
            result_types=[INDEX],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(" of ")
        printer.print_operand(self.extent)
        printer.print_string(f' axis {self.axis.value.data} of "{self.array.data}"')
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.resolve_operand(parser.parse_unresolved_operand(), i64)
        parser.parse_keyword("of")
        extent = parser.resolve_operand(parser.parse_unresolved_operand(), i64)
        parser.parse_keyword("axis")
        axis = parser.parse_integer()
        parser.parse_keyword("of")
        op = cls(value, extent, parser.parse_str_literal("the array's name"), axis)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op
