"""The `gpu` dialect: xDSL's operations with upstream MLIR's readable syntax.

xDSL knows only the generic form. What is defined here prints and parses the custom form of `mlir-opt`:

    gpu.module @f_kernels attributes {nestor.index_bits = 32 : i64} {
      gpu.func @f(%x: memref<?xf32> {nestor.noalias}) kernel attributes {...} {
        %t = gpu.thread_id x
        gpu.barrier
        gpu.return
      }
    }
    gpu.launch_func @f_kernels::@f blocks in (%g, %c1, %c1) threads in (%b, %c1, %c1) args(%x : memref<?xf32>)

The classes add nothing but syntax and derive from xDSL's: `isinstance(op, xdsl.dialects.gpu.FuncOp)` holds
for both. xDSL's `gpu.func` declares no `arg_attrs`, so they stand among its discardable attributes.
"""

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..diagnostic import fail
from .extended import ExtendedDialect


class _DimensionSyntax:
    """`%i = gpu.thread_id x`."""

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dimension.data.value}")  # pyright: ignore[reportAttributeAccessIssue]
        printer.print_op_attributes(self.attributes)  # pyright: ignore[reportAttributeAccessIssue]

    @classmethod
    def parse(cls, parser: Parser):
        dimension = gpu.DimensionAttr(parser.parse_str_enum(gpu.DimensionEnum))
        attributes = parser.parse_optional_attr_dict()
        op = cls(dimension)  # pyright: ignore[reportCallIssue]
        op.attributes.update(attributes)  # pyright: ignore[reportAttributeAccessIssue]
        return op


class _BareSyntax:
    """An operation that is its name."""

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)  # pyright: ignore[reportAttributeAccessIssue]

    @classmethod
    def parse(cls, parser: Parser):
        return cls.create(attributes=parser.parse_optional_attr_dict())  # pyright: ignore


class ThreadIdOp(_DimensionSyntax, gpu.ThreadIdOp):
    """The index of this thread in its block."""


class BlockIdOp(_DimensionSyntax, gpu.BlockIdOp):
    """The index of this block in the grid."""


class BlockDimOp(_DimensionSyntax, gpu.BlockDimOp):
    """The number of threads in a block."""


class GridDimOp(_DimensionSyntax, gpu.GridDimOp):
    """The number of blocks in the grid."""


class GlobalIdOp(_DimensionSyntax, gpu.GlobalIdOp):
    """`block_id * block_dim + thread_id`."""


class BarrierOp(_BareSyntax, gpu.BarrierOp):
    """All threads of the block wait for each other, and see what each other wrote."""


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """A value of another lane of the warp: `%r, %valid = gpu.shuffle xor %v, %offset, %width : f32`."""

    name = "gpu.shuffle"

    value = operand_def(Attribute)
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(StringAttr)
    shuffle_result = result_def(Attribute)
    valid = result_def(i1)

    def verify_(self) -> None:
        if self.mode.data not in ("xor", "up", "down", "idx"):
            raise VerifyException(f"{self.name}: unknown mode '{self.mode.data}'; one of xor, up, down, idx")
        if self.value.type != self.shuffle_result.type:
            raise VerifyException(f"{self.name}: the result has the type of the value")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data} ")
        printer.print_list((self.value, self.offset, self.width), printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        mode = parser.parse_identifier(context_msg="a mode: xor, up, down or idx")
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        element = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(operands, [element, i32, i32], position),
            result_types=[element, i1],
            properties={"mode": StringAttr(mode)},
            attributes=attributes,
        )


class ReturnOp(gpu.ReturnOp):
    """The end of a kernel."""

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        if self.args:
            printer.print_string(" ")
            printer.print_list(self.args, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(self.args.types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        attributes = parser.parse_optional_attr_dict()
        operands: list[SSAValue] = []
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        if unresolved:
            position = parser.pos
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            operands = list(parser.resolve_operands(unresolved, types, position))
        return cls.create(operands=operands, attributes=attributes)


class ModuleOp(gpu.ModuleOp):
    """A module of kernels."""

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.attributes:
            printer.print_string(" attributes")
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_block_terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        return cls.create(
            properties={"sym_name": name},
            attributes=dict(attributes.data) if attributes else {},
            regions=[region],
        )


class FuncOp(gpu.FuncOp):
    """A kernel; `arg_attrs` holds a dictionary for each argument, as upstream does."""

    @property
    def arg_attrs(self) -> ArrayAttr | None:
        """The dictionaries of the arguments, if any has one."""
        found = self.attributes.get("arg_attrs")
        return found if isinstance(found, ArrayAttr) else None

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        arguments = self.body.block.args
        attributes = self.arg_attrs.data if self.arg_attrs else [DictionaryAttr({})] * len(arguments)
        with printer.in_parens():
            printer.print_list(
                zip(arguments, attributes, strict=True), lambda a: _print_argument(printer, *a)
            )
        if self.kernel is not None:
            printer.print_string(" kernel")
        rest = {k: v for k, v in self.attributes.items() if k not in ("sym_name", "arg_attrs")}
        if rest:
            printer.print_string(" attributes")
            printer.print_op_attributes(rest)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name = parser.parse_symbol_name()
        parsed = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: (parser.parse_argument(), _parse_attributes(parser))
        )
        kernel = parser.parse_optional_keyword("kernel") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [argument for argument, _ in parsed]
        region = parser.parse_region(arguments)
        properties: dict[str, Attribute] = {
            "function_type": FunctionType.from_lists([a.type for a in arguments], []),
        }
        if kernel:
            properties["kernel"] = UnitAttr()
        rest: dict[str, Attribute] = {"sym_name": name, **(attributes.data if attributes else {})}
        if any(dictionary.data for _, dictionary in parsed):
            rest["arg_attrs"] = ArrayAttr([dictionary for _, dictionary in parsed])
        return cls.create(properties=properties, attributes=rest, regions=[region])


def _print_argument(printer: Printer, argument: SSAValue, attributes: Attribute) -> None:
    assert isinstance(attributes, DictionaryAttr)
    printer.print_ssa_value(argument)
    printer.print_string(": ")
    printer.print_attribute(argument.type)
    printer.print_op_attributes(dict(attributes.data))


def _parse_attributes(parser: Parser) -> DictionaryAttr:
    return DictionaryAttr(parser.parse_optional_attr_dict())


class LaunchFuncOp(gpu.LaunchFuncOp):
    """Run a kernel on a grid of blocks."""

    def print(self, printer: Printer) -> None:
        if self.asyncDependencies or self.clusterSizeX or self.asyncObject or self.asyncToken:
            raise fail(self, "asynchronous and clustered launches are not part of Nestor's gpu level")
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for text, sizes in (
            (" blocks in ", (self.gridSizeX, self.gridSizeY, self.gridSizeZ)),
            (" threads in ", (self.blockSizeX, self.blockSizeY, self.blockSizeZ)),
        ):
            printer.print_string(text)
            with printer.in_parens():
                printer.print_list(sizes, printer.print_ssa_value)
        size_type = self.gridSizeX.type
        if isinstance(size_type, IntegerType):
            printer.print_string(" : ")
            printer.print_attribute(size_type)
        if self.dynamicSharedMemorySize is not None:
            printer.print_string(" dynamic_shared_memory_size ")
            printer.print_ssa_value(self.dynamicSharedMemorySize)
        if self.kernelOperands:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.kernelOperands, lambda v: _print_typed(printer, v))
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchFuncOp:
        kernel = parser.parse_attribute()
        assert isinstance(kernel, SymbolRefAttr)
        sizes = []
        position = parser.pos
        for word in ("blocks", "threads"):
            parser.parse_keyword(word)
            parser.parse_keyword("in")
            sizes += parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
        size_type = parser.parse_type() if parser.parse_optional_punctuation(":") else IndexType()
        resolved = parser.resolve_operands(sizes, [size_type] * len(sizes), position)
        shared = None
        if parser.parse_optional_keyword("dynamic_shared_memory_size"):
            shared = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        arguments = []
        if parser.parse_optional_keyword("args"):
            arguments = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_typed(parser)
            )
        op = cls(kernel, resolved[:3], resolved[3:], kernelOperands=arguments, dynamicSharedMemorySize=shared)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


def _print_typed(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _parse_typed(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


GPU = ExtendedDialect(
    gpu.GPU,
    [
        ThreadIdOp,
        BlockIdOp,
        BlockDimOp,
        GridDimOp,
        GlobalIdOp,
        BarrierOp,
        ShuffleOp,
        ReturnOp,
        ModuleOp,
        FuncOp,
        LaunchFuncOp,
    ],
)
