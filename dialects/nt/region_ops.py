"""The nt operations with regions that are not reductions: fusions and islands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .common import (
    element_of,
    parse_group,
    print_group,
    shape_of,
)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region of nt.reduce or nt.fusion: `nt.yield %v : tensor<4xf32>`."""

    name = "nt.yield"

    values = var_operand_def(AnyAttr())

    traits = traits_def(Pure(), IsTerminator())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


@irdl_op_definition
class FusionOp(IRDLOperation):
    """Pure nt operations that become one loop nest: `%r = nt.fusion "iou" { ...; nt.yield %v : T } : T`.

    The region uses values from outside directly; everything inside it is pure.
    """

    name = "nt.fusion"

    label = prop_def(StringAttr)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(Pure(), RecursiveMemoryEffect())

    def __init__(self, label: str, body: Region, result_types: Sequence[Attribute]):
        super().__init__(
            properties={"label": StringAttr(label)}, regions=[body], result_types=[list(result_types)]
        )

    def verify_(self) -> None:
        last = self.body.block.last_op
        if self.body.block.args:
            raise VerifyException(
                f"{self.name}: the region takes no arguments; it uses outer values directly"
            )
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException(f"{self.name}: the region ends with a nt.yield of the results' types")
        for op in self.body.block.ops:
            if op is not last and not op.has_trait(Pure):
                raise VerifyException(f"{self.name}: '{op.name}' has effects and cannot be fused")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}"')
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_list((r.type for r in self.results_), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal("the fusion's label")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        parser.parse_punctuation(":")
        op = cls(label, body, parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


@irdl_op_definition
class LoopsOp(IRDLOperation):
    """An island of loops that mutate, in destination-passing style.

        %a1 = nt.loops ins(%b : tensor<?xf64>) outs(%a : tensor<?x?xf64>) {
        ^bb0(%bm: memref<?xf64>, %am: memref<?x?xf64>):
          nest.for "i" %i = 1 to %n { ... }
        }

    The region's arguments are the operands in memory, ins then outs; its body is nest operations. The results are
    the final contents of `outs`. Scalars and index values from outside are used directly.
    """

    name = "nt.loops"

    inputs = var_operand_def(TensorType)
    outputs = var_operand_def(TensorType)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], body: Region):
        super().__init__(operands=[inputs, outputs], regions=[body], result_types=[[v.type for v in outputs]])

    def verify_(self) -> None:
        operands = [*self.inputs, *self.outputs]
        args = self.body.block.args
        if len(args) != len(operands):
            raise VerifyException(
                f"{self.name}: the region takes {len(args)} buffers for {len(operands)} operands"
            )
        for value, arg in zip(operands, args, strict=True):
            if not isinstance(arg.type, MemRefType) or tuple(arg.type.get_shape()) != shape_of(value):
                raise VerifyException(
                    f"{self.name}: {value.type} enters the region as {arg.type}, of another shape"
                )
            if arg.type.element_type != _storage(value):
                raise VerifyException(
                    f"{self.name}: {value.type} enters the region as {arg.type}, of another element type"
                )
        if [r.type for r in self.results_] != [v.type for v in self.outputs]:
            raise VerifyException(f"{self.name}: one result of the same type for each of outs")

    def print(self, printer: Printer) -> None:
        for keyword, group in (("ins", self.inputs), ("outs", self.outputs)):
            printer.print_string(f" {keyword}")
            print_group(printer, group)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("ins")
        inputs = parse_group(parser, "ins has")
        parser.parse_keyword("outs")
        outputs = parse_group(parser, "outs has")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(inputs, outputs, body)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _storage(value: SSAValue) -> Attribute:
    from .types import storage_type

    return storage_type(element_of(value))
