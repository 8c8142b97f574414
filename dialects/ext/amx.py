"""The `amx` dialect, which xDSL lacks: tiles of matrices in registers of the CPU, and products of them.

    %z = amx.tile_zero : !amx.tile<16x16xi32>
    %a = amx.tile_load %x[%i, %k] : memref<32x64xi8> into !amx.tile<16x64xi8>
    %d = amx.tile_muli %a, %b, %z : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    amx.tile_store %y[%i, %j], %d : memref<32x32xi32>, !amx.tile<16x16xi32>

A tile has up to 16 rows of up to 64 bytes; its rows are a row of the buffer apart. The right operand of a product
holds, in each of its rows, the terms of 4 bytes of every column: element [g][4 * c + v] is term 4 * g + v of column c
(of bytes; of 16-bit floats [g][2 * c + v], and 2 terms). Names, syntax and meaning are MLIR's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .amx_sizes import ROW_BYTES, ROWS, TOGETHER
from .elements import parse_element, print_element

INDEX = IndexType()

_BYTES: dict[Attribute, int] = {
    IntegerType(8): 1,
    Float16Type(): 2,
    BFloat16Type(): 2,
    i32: 4,
    Float32Type(): 4,
}


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A matrix in a register: `!amx.tile<16x64xi8>`."""

    name = "amx.tile"

    row_count: IntegerAttr
    column_count: IntegerAttr
    element_type: Attribute

    @staticmethod
    def of(rows: int, columns: int, element: Attribute) -> TileType:
        """The type of a tile of `rows` x `columns`."""
        return TileType(IntegerAttr(rows, i64), IntegerAttr(columns, i64), element)

    @property
    def rows(self) -> int:
        return self.row_count.value.data

    @property
    def columns(self) -> int:
        return self.column_count.value.data

    @property
    def row_bytes(self) -> int:
        return self.columns * _BYTES[self.element_type]

    def verify(self) -> None:
        if self.element_type not in _BYTES:
            raise VerifyException(f"a tile has no elements of type {self.element_type}")
        if not (0 < self.rows <= ROWS and 0 < self.row_bytes <= ROW_BYTES and self.row_bytes % TOGETHER == 0):
            raise VerifyException(
                f"a tile has 1 to {ROWS} rows of up to {ROW_BYTES} bytes, a multiple of {TOGETHER}; "
                f"here {self.rows} of {self.row_bytes}"
            )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows}x{self.columns}x")
            printer.print_attribute(self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            shape, element = parser.parse_ranked_shape()
            if len(shape) != 2:
                parser.raise_error("a tile has rows and columns", position)
        return [*(IntegerAttr(n, i64) for n in shape), element]


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros."""

    name = "amx.tile_zero"

    res = result_def(TileType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """The tile whose first element is `base[indices]`, its rows a row of the buffer apart."""

    name = "amx.tile_load"

    base = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    stride = var_operand_def(INDEX)
    res = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @staticmethod
    def of(base: SSAValue, indices: Sequence[SSAValue], type: TileType) -> TileLoadOp:
        """The operation that loads a tile of this type."""
        return TileLoadOp.build(operands=[base, indices, []], result_types=[type])

    def verify_(self) -> None:
        _verify_place(self, self.base, len(self.indices), len(self.stride), self.res)

    def print(self, printer: Printer) -> None:
        _print_place(printer, self)
        printer.print_string(" into ")
        printer.print_attribute(self.res.type)

    @classmethod
    def parse(cls, parser: Parser) -> TileLoadOp:
        base, indices, _, attributes = _parse_place(parser)
        parser.parse_keyword("into")
        tile = parser.parse_type()
        return cls.build(operands=[base, indices, []], result_types=[tile], attributes=attributes)


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Store a tile, its first element to `base[indices]`, its rows a row of the buffer apart."""

    name = "amx.tile_store"

    base = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    val = operand_def(TileType)
    stride = var_operand_def(INDEX)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @staticmethod
    def of(base: SSAValue, indices: Sequence[SSAValue], tile: SSAValue) -> TileStoreOp:
        """The operation that stores `tile`."""
        return TileStoreOp.build(operands=[base, indices, tile, []])

    def verify_(self) -> None:
        _verify_place(self, self.base, len(self.indices), len(self.stride), self.val)

    def print(self, printer: Printer) -> None:
        _print_place(printer, self, self.val)
        printer.print_string(", ")
        printer.print_attribute(self.val.type)

    @classmethod
    def parse(cls, parser: Parser) -> TileStoreOp:
        base, indices, value, attributes = _parse_place(parser, has_value=True)
        parser.parse_punctuation(",")
        tile = parser.parse_type()
        assert value is not None
        stored = parser.resolve_operand(value, tile)
        return cls.build(operands=[base, indices, stored, []], attributes=attributes)


def _print_place(printer: Printer, op: TileLoadOp | TileStoreOp, value: SSAValue | None = None) -> None:
    """Print ` %x[%i, %j] : memref<...>`, or ` %x[%i, %j], %value : memref<...>`."""
    printer.print_string(" ")
    print_element(printer, op.base, op.indices)
    if value is not None:
        printer.print_string(", ")
        printer.print_ssa_value(value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.base.type)


def _parse_place(
    parser: Parser, has_value: bool = False
) -> tuple[SSAValue, Sequence[SSAValue], UnresolvedOperand | None, dict[str, Attribute]]:
    """What `_print_place` prints: the buffer, the indices, the value if there is one, and the attributes."""
    position = parser.pos
    base, indices = parse_element(parser)
    value = None
    if has_value:
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    buffer = parser.resolve_operand(base, parser.parse_type())
    return buffer, parser.resolve_operands(indices, [INDEX] * len(indices), position), value, attributes


_UNSIGNED = ("isZextLhs", "isZextRhs")
"""The properties that say that an operand's bytes are unsigned."""


class _Product(IRDLOperation):
    """`lhs * rhs + acc`, all of them tiles."""

    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    acc = operand_def(TileType)
    res = result_def(TileType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        types = [value.type for value in (self.lhs, self.rhs, self.acc)]
        a, b, c = (type for type in types if isinstance(type, TileType))
        if self.res.type != c:
            raise VerifyException(f"{self.name}: the result has the type of what is added to")
        if (a.rows, a.row_bytes, b.row_bytes) != (c.rows, TOGETHER * b.rows, c.row_bytes):
            raise VerifyException(f"{self.name}: {a} times {b} is not {c}")

    def print(self, printer: Printer) -> None:
        for k, value in enumerate((self.lhs, self.rhs, self.acc)):
            printer.print_string(", " if k else " ")
            printer.print_ssa_value(value)
            if k < 2 and _UNSIGNED[k] in self.properties:
                printer.print_string(" zext")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.lhs, self.rhs, self.acc), lambda value: printer.print_attribute(value.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        names, properties = [], dict[str, Attribute]()
        for k in range(3):
            if k:
                parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
            if k < 2 and cls.name == TileMulIOp.name and parser.parse_optional_keyword("zext"):
                properties[_UNSIGNED[k]] = UnitAttr()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            operands=parser.resolve_operands(names, types, position),
            result_types=types[2:],
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class TileMulIOp(_Product):
    """A product of bytes, added up in 32 bits; `zext` says of an operand that its bytes have no sign."""

    name = "amx.tile_muli"

    is_zext_lhs = opt_prop_def(UnitAttr, prop_name="isZextLhs")
    is_zext_rhs = opt_prop_def(UnitAttr, prop_name="isZextRhs")


@irdl_op_definition
class TileMulFOp(_Product):
    """A product of 16-bit floats, added up in float32; denormal numbers count as zeros."""

    name = "amx.tile_mulf"


def _verify_place(op: IRDLOperation, base: SSAValue, indices: int, strides: int, tile: SSAValue) -> None:
    assert isinstance(base.type, MemRefType) and isinstance(tile.type, TileType)
    if strides > 1:
        raise VerifyException(f"{op.name}: there is at most one stride")
    if base.type.get_num_dims() != indices or indices < 2 - strides:
        raise VerifyException(f"{op.name}: one index for each axis of the buffer, which has two at least")
    if base.type.element_type != tile.type.element_type:
        raise VerifyException(f"{op.name}: the elements of the tile are those of the buffer")


AMX = Dialect("amx", [TileZeroOp, TileLoadOp, TileStoreOp, TileMulIOp, TileMulFOp], [TileType])
