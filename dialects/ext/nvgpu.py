"""The `nvgpu` dialect, which xDSL lacks: asynchronous copies to shared memory, fragments, products by tensor cores.

    %c = nvgpu.device_async_copy %x[%i, %k], %tile[%r, %s], 8 : memref<64x64xf16> to memref<64x40xf16, 3>
    %g = nvgpu.device_async_create_group %c
    nvgpu.device_async_wait %g {numGroups = 0 : i32}
    %a = nvgpu.ldmatrix %tile[%r, %k] {numTiles = 4 : i32, transpose = false} : memref<64x40xf16, 3> -> vector<4x2xf16>
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> ...

Names, syntax and meaning are MLIR's.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
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
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .elements import parse_element, print_element

INDEX = IndexType()


@irdl_attr_definition
class DeviceAsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """What asynchronous copies, and groups of them, are waited for by."""

    name = "nvgpu.device.async.token"


TOKEN = DeviceAsyncTokenType()


@irdl_op_definition
class DeviceAsyncCopyOp(IRDLOperation):
    """Begin to copy `dstElements` contiguous elements to shared memory; of `srcElements` (if said), the others zeros."""

    name = "nvgpu.device_async_copy"

    dst = operand_def(MemRefType)
    dst_indices = var_operand_def(INDEX)
    src = operand_def(MemRefType)
    src_indices = var_operand_def(INDEX)
    dst_elements = prop_def(IntegerAttr, prop_name="dstElements")
    src_elements = opt_operand_def(INDEX)
    bypass_l1 = opt_prop_def(UnitAttr, prop_name="bypassL1")
    token = result_def(DeviceAsyncTokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @staticmethod
    def of(
        src: SSAValue,
        src_indices: Sequence[SSAValue],
        dst: SSAValue,
        dst_indices: Sequence[SSAValue],
        count: int,
        read: SSAValue | None = None,
        bypass_l1: bool = False,
    ) -> DeviceAsyncCopyOp:
        """The operation that copies `count` elements, of which `read` are read."""
        properties: dict[str, Attribute] = {"dstElements": IntegerAttr(count, INDEX)}
        if bypass_l1:
            properties["bypassL1"] = UnitAttr()
        return DeviceAsyncCopyOp.build(
            operands=[dst, dst_indices, src, src_indices, read],
            properties=properties,
            result_types=[TOKEN],
        )

    @property
    def count(self) -> int:
        """How many elements are written."""
        return self.dst_elements.value.data

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_element(printer, self.src, self.src_indices)
        printer.print_string(", ")
        print_element(printer, self.dst, self.dst_indices)
        printer.print_string(f", {self.count}")
        if self.src_elements is not None:
            printer.print_string(", ")
            printer.print_ssa_value(self.src_elements)
        bypass = {"bypassL1": UnitAttr()} if self.bypass_l1 is not None else {}
        printer.print_op_attributes({**bypass, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" to ")
        printer.print_attribute(self.dst.type)

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCopyOp:
        position = parser.pos
        src, src_indices = parse_element(parser)
        parser.parse_punctuation(",")
        dst, dst_indices = parse_element(parser)
        parser.parse_punctuation(",")
        count = parser.parse_integer()
        read = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_keyword("to")
        dst_type = parser.parse_type()
        bypass = attributes.pop("bypassL1", None) is not None
        op = cls.of(
            parser.resolve_operand(src, src_type),
            parser.resolve_operands(src_indices, [INDEX] * len(src_indices), position),
            parser.resolve_operand(dst, dst_type),
            parser.resolve_operands(dst_indices, [INDEX] * len(dst_indices), position),
            count,
            None if read is None else parser.resolve_operand(read, INDEX),
            bypass,
        )
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class DeviceAsyncCreateGroupOp(IRDLOperation):
    """The copies that this thread has begun since the last group are one."""

    name = "nvgpu.device_async_create_group"

    copies = var_operand_def(DeviceAsyncTokenType)
    token = result_def(DeviceAsyncTokenType)

    def print(self, printer: Printer) -> None:
        if self.copies:
            printer.print_string(" ")
            printer.print_list(self.copies, printer.print_ssa_value)
        elif not self.attributes:
            printer.print_string(" {}")  # without it the result of the next operation would be read as a copy
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCreateGroupOp:
        position = parser.pos
        copies = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        operands = parser.resolve_operands(copies or [], [TOKEN] * len(copies or []), position)
        return cls.create(operands=operands, result_types=[TOKEN], attributes=attributes)


@irdl_op_definition
class DeviceAsyncWaitOp(IRDLOperation):
    """Wait for a group; with `numGroups`, until this thread has no more groups than that in flight."""

    name = "nvgpu.device_async_wait"

    group = operand_def(DeviceAsyncTokenType)
    num_groups = opt_prop_def(IntegerAttr, prop_name="numGroups")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.group)
        printer.print_op_attributes({**self.properties, **self.attributes})

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncWaitOp:
        group = parser.resolve_operand(parser.parse_unresolved_operand(), TOKEN)
        attributes = parser.parse_optional_attr_dict()
        count = attributes.pop("numGroups", None)
        properties = {} if count is None else {"numGroups": count}
        return cls.create(operands=[group], properties=properties, attributes=attributes)


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """A warp's fragment of `numTiles` matrices in shared memory, 8 rows of 16 bytes each; a lane says where one row is."""

    name = "nvgpu.ldmatrix"

    src = operand_def(MemRefType)
    indices = var_operand_def(INDEX)
    transpose = prop_def(BoolAttr)
    num_tiles = prop_def(IntegerAttr, prop_name="numTiles")
    fragment = result_def(VectorType)

    @staticmethod
    def of(
        src: SSAValue, indices: Sequence[SSAValue], tiles: int, transpose: bool, type: VectorType
    ) -> LdMatrixOp:
        """The operation that loads `tiles` matrices as a fragment of this type."""
        return LdMatrixOp.build(
            operands=[src, indices],
            properties={"transpose": BoolAttr.from_bool(transpose), "numTiles": IntegerAttr(tiles, i32)},
            result_types=[type],
        )

    @property
    def tiles(self) -> int:
        """How many matrices."""
        return self.num_tiles.value.data

    @property
    def is_transposed(self) -> bool:
        """Whether a lane gets elements of columns."""
        return bool(self.transpose.value.data)

    def verify_(self) -> None:
        if self.tiles not in (1, 2, 4):
            raise VerifyException(f"{self.name}: loads 1, 2 or 4 matrices, not {self.tiles}")
        assert isinstance(self.fragment.type, VectorType)
        if self.fragment.type.get_shape()[0] != self.tiles:
            raise VerifyException(f"{self.name}: the fragment has a row for each matrix")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_element(printer, self.src, self.indices)
        printer.print_op_attributes(
            {"numTiles": self.num_tiles, "transpose": self.transpose, **self.attributes}
        )
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.fragment.type)

    @classmethod
    def parse(cls, parser: Parser) -> LdMatrixOp:
        position = parser.pos
        src, indices = parse_element(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation("->")
        fragment = parser.parse_type()
        properties = {name: attributes.pop(name) for name in ("transpose", "numTiles") if name in attributes}
        operands = [
            parser.resolve_operand(src, src_type),
            *parser.resolve_operands(indices, [INDEX] * len(indices), position),
        ]
        return cls.create(
            operands=operands, properties=properties, attributes=attributes, result_types=[fragment]
        )


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """The product of two matrices plus a third one, all of them fragments: what a warp's tensor core does at a time."""

    name = "nvgpu.mma.sync"

    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(VectorType)
    mma_shape = prop_def(ArrayAttr[IntegerAttr], prop_name="mmaShape")
    tf32_enabled = opt_prop_def(UnitAttr, prop_name="tf32Enabled")
    sum = result_def(VectorType)

    @staticmethod
    def of(
        a: SSAValue, b: SSAValue, c: SSAValue, shape: tuple[int, int, int], tf32: bool = False
    ) -> MmaSyncOp:
        """`a * b + c` for matrices of `shape`: rows, columns, terms."""
        properties: dict[str, Attribute] = {"mmaShape": ArrayAttr([IntegerAttr(n, i64) for n in shape])}
        if tf32:
            properties["tf32Enabled"] = UnitAttr()
        return MmaSyncOp.build(operands=[a, b, c], properties=properties, result_types=[c.type])

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns, terms."""
        return tuple(n.value.data for n in self.mma_shape)

    def verify_(self) -> None:
        if len(self.mma_shape) != 3:
            raise VerifyException(f"{self.name}: mmaShape says rows, columns and terms")
        if self.c.type != self.sum.type:
            raise VerifyException(f"{self.name}: the result has the type of what is added to")

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list((self.a, self.b, self.c), printer.print_ssa_value)
        printer.print_string(f" {{mmaShape = [{', '.join(map(str, self.shape))}]")
        rest = {"tf32Enabled": UnitAttr()} if self.tf32_enabled is not None else {}
        for name, attribute in {**rest, **self.attributes}.items():
            printer.print_string(f", {name}")
            if not isinstance(attribute, UnitAttr):
                printer.print_string(" = ")
                printer.print_attribute(attribute)
        printer.print_string("} : ")
        printer.print_attribute(
            FunctionType.from_lists([self.a.type, self.b.type, self.c.type], [self.sum.type])
        )

    @classmethod
    def parse(cls, parser: Parser) -> MmaSyncOp:
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_type()
        if not isinstance(types, FunctionType) or len(types.outputs) != 1:
            parser.raise_error("expected the types of the fragments", position)
        properties = {
            name: attributes.pop(name) for name in ("mmaShape", "tf32Enabled") if name in attributes
        }
        return cls.create(
            operands=parser.resolve_operands(operands, list(types.inputs), position),
            properties=properties,
            attributes=attributes,
            result_types=list(types.outputs),
        )


NVGPU = Dialect(
    "nvgpu",
    [DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, LdMatrixOp, MmaSyncOp],
    [DeviceAsyncTokenType],
)
