"""nt.checkpoint: what a derivative keeps of a function; nt.optimization_barrier: what keeps it from being merged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
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
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..checkpoint_policies import POLICIES
from .common import parse_group, print_group
from .region_ops import YieldOp


@irdl_op_definition
class CheckpointOp(IRDLOperation):
    """Operations whose values reverse mode keeps or computes again as a policy says.

        %y = nt.checkpoint "save-nothing"(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> {
        ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>):
          ...
          nt.yield %v : tensor<8x4xf32>
        }

    The policy is one of POLICIES. `nt-differentiate` puts the region in its place in the end.
    """

    name = "nt.checkpoint"

    policy = prop_def(StringAttr)
    inputs = var_operand_def(AnyAttr())
    body = region_def("single_block")
    results_ = var_result_def(AnyAttr())

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, policy: str, inputs: Sequence[SSAValue], body: Region, types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs],
            properties={"policy": StringAttr(policy)},
            regions=[body],
            result_types=[list(types)],
        )

    def verify_(self) -> None:
        if self.policy.data not in POLICIES:
            raise VerifyException(f'{self.name}: "{self.policy.data}" is none of {", ".join(POLICIES)}')
        block = self.body.block
        if [a.type for a in block.args] != [v.type for v in self.inputs]:
            raise VerifyException(f"{self.name}: the region takes its operands, one argument each")
        last = block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException(f"{self.name}: the region ends with a nt.yield of the results' types")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.policy.data}"')
        print_group(printer, self.inputs)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" -> (")
        printer.print_list((r.type for r in self.results_), printer.print_attribute)
        printer.print_string(") ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        policy = parser.parse_str_literal("what reverse mode keeps")
        inputs = parse_group(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(policy, inputs, body, types)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


@irdl_op_definition
class OptimizationBarrierOp(IRDLOperation):
    """The same values, which no pass takes for those that they are: `%1:2 = nt.optimization_barrier %x, %c : T, U`.

    What is computed of its results is computed after all of its operands, and never merged with what is computed of these.
    `nt-drop-barriers` removes it. As `stablehlo.optimization_barrier`.
    """

    name = "nt.optimization_barrier"

    inputs = var_operand_def(AnyAttr())
    results_ = var_result_def(AnyAttr())

    traits = traits_def(Pure())

    def __init__(self, inputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs], result_types=[[v.type for v in inputs]])

    def verify_(self) -> None:
        if [v.type for v in self.inputs] != [r.type for r in self.results_]:
            raise VerifyException(f"{self.name}: the results have the types of the operands")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((v.type for v in self.inputs), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(parser.resolve_operands(operands, types, position))
        op.attributes.update(attributes)
        return op
