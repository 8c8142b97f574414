"""nt.composite: a function of tensors kept whole, with what it stands for beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
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
from xdsl.traits import Pure, RecursiveMemoryEffect, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ..attributes import NT_JVP_RULE, NT_VJP_RULE
from .common import parse_group, print_group
from .derivative_ops import is_differentiable
from .region_ops import YieldOp


class RulesFit(SymbolUserOpInterface):
    """The functions that have the derivatives of a composite are in the module, and fit its operands and results."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CompositeOp)
        inputs, results = [v.type for v in op.inputs], [r.type for r in op.results_]
        ours = [t for t in inputs if is_differentiable(t)]
        theirs = [t for t in results if is_differentiable(t)]
        for name, taken, given in (
            (NT_VJP_RULE, [*inputs, *theirs], ours),
            (NT_JVP_RULE, [*inputs, *ours], [*results, *theirs]),
        ):
            rule = op.attributes.get(name)
            if rule is None:
                continue
            function = SymbolTable.lookup_symbol(op, rule) if isinstance(rule, SymbolRefAttr) else None
            if not isinstance(function, FuncOp) or not function.body.blocks:
                raise VerifyException(
                    f"{op.name}: {name} = {rule} is not a function of the module with a body"
                )
            kind = function.function_type
            if [*kind.inputs] != taken or [*kind.outputs] != given:
                raise VerifyException(
                    f"{op.name}: {name} = {rule} is of ({', '.join(map(str, kind.inputs))}) -> "
                    f"({', '.join(map(str, kind.outputs))}), and is to be of ({', '.join(map(str, taken))}) -> "
                    f"({', '.join(map(str, given))})"
                )


@irdl_op_definition
class CompositeOp(IRDLOperation):
    """A named function of tensors, whole until `nt-decompose` puts its region in its place.

        %r = nt.composite "softmax"(%x : tensor<4x5xf32>) {axis = -1 : i64} -> tensor<4x5xf32> {
        ^bb0(%a: tensor<4x5xf32>):
          ...
          nt.yield %v : tensor<4x5xf32>
        }

    The region says what it computes, by pure operations: tensors come in as its arguments, numbers and extents from
    outside are used directly. The dictionary has what the caller fixed; a pass that knows the name may do better.

    Derivatives that the user gives are functions of the module: `nt.vjp_rule = @f.vjp`, of the operands and a cotangent for
    each result of floats, gives a cotangent for each operand of floats; `nt.jvp_rule = @f.jvp`, of the operands and a
    tangent for each operand of floats, gives the results and a tangent for each result of floats.
    """

    name = "nt.composite"

    label = prop_def(StringAttr)
    parameters = prop_def(DictionaryAttr)
    inputs = var_operand_def(TensorType)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(Pure(), RecursiveMemoryEffect(), RulesFit())

    def __init__(
        self,
        label: str,
        inputs: Sequence[SSAValue],
        body: Region,
        result_types: Sequence[Attribute],
        parameters: DictionaryAttr | None = None,
    ):
        super().__init__(
            operands=[inputs],
            properties={"label": StringAttr(label), "parameters": parameters or DictionaryAttr({})},
            regions=[body],
            result_types=[list(result_types)],
        )

    def verify_(self) -> None:
        block = self.body.block
        if [a.type for a in block.args] != [v.type for v in self.inputs]:
            raise VerifyException(f"{self.name}: the region takes its operands, one argument each")
        last = block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException(f"{self.name}: the region ends with a nt.yield of the results' types")
        for op in block.ops:
            if op is not last and not op.has_trait(Pure):
                raise VerifyException(f"{self.name}: '{op.name}' has effects and cannot be part of it")
            for operand in op.operands:
                if isinstance(operand.type, TensorType) and operand.owner not in (block, *block.ops):
                    raise VerifyException(
                        f"{self.name}: '{op.name}' uses a tensor from outside that is not an operand"
                    )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}"')
        print_group(printer, self.inputs)
        if self.parameters.data:
            printer.print_string(" ")
            printer.print_attr_dict(self.parameters.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" -> ")
        printer.print_list((r.type for r in self.results_), printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal("the name of the function")
        inputs = parse_group(parser)
        parameters = DictionaryAttr(parser.parse_optional_attr_dict())
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(label, inputs, body, results, parameters)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op
