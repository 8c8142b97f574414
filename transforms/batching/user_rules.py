"""Derivatives that the user gave, of stacks: a composite of a stack has functions that apply the rules to each slice.

    nt.composite "f"(%x : tensor<4xf32>) attributes {nt.vjp_rule = @f.vjp}      // %x stacked: tensor<8x4xf32>
  has
    func.func private @f.vjp.stacked(%x: tensor<8x4xf32>, %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = nt.batch @f.vjp(%x, %c : tensor<8x4xf32>, tensor<8x4xf32>) along [0, 0] -> (tensor<8x4xf32>)
      func.return %0 : tensor<8x4xf32>
    }

An operand that all slices share has the sum of their cotangents.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from ...dialects.attributes import NT_JVP_RULE, NT_VJP_RULE
from ...dialects.nt import BatchOp, CastOp, CompositeOp, ReduceOp
from ...dialects.nt.batch_op import WHOLE
from ...dialects.nt.derivative_ops import is_differentiable
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import with_element
from .batcher import Batcher


def rules_of(op: CompositeOp) -> dict[str, str]:
    """The functions that the user gave, by attribute."""
    return {
        name: rule.string_value()
        for name in (NT_VJP_RULE, NT_JVP_RULE)
        if isinstance(rule := op.attributes.get(name), SymbolRefAttr)
    }


def stacked_rules(b: Batcher, op: CompositeOp) -> dict[str, Attribute]:
    """The attributes of a composite of stacks; adds their functions to the module."""
    stacked = [b.is_stacked(v) for v in op.inputs]
    inputs = [b.stack_type(v.type) if s else v.type for v, s in zip(op.inputs, stacked, strict=True)]
    floats = [k for k, v in enumerate(op.inputs) if is_differentiable(v.type)]
    results = [b.stack_type(r.type) for r in op.results_ if is_differentiable(r.type)]
    made: dict[str, Attribute] = {}
    for name, rule in rules_of(op).items():
        if name == NT_VJP_RULE:
            whole = [not stacked[k] for k in floats]
            made[name] = _function(op, rule, [*inputs, *results], [*stacked, *[True] * len(results)], whole)
        else:
            sliced = [*stacked, *[stacked[k] for k in floats]]
            count = len(op.results_) + len(results)
            made[name] = _function(op, rule, [*inputs, *[inputs[k] for k in floats]], sliced, [False] * count)
    return made


def _function(
    op: Operation, rule: str, types: Sequence[Attribute], sliced: Sequence[bool], summed: Sequence[bool]
) -> SymbolRefAttr:
    """A function that applies `rule` to each slice, and adds up some of its results."""
    module = op
    while not isinstance(module, ModuleOp):
        module = module.parent_op()
        assert module is not None
    callee = SymbolTable.lookup_symbol(module, rule)
    assert isinstance(callee, func.FuncOp)
    block = Block(arg_types=types)
    outputs = list(callee.function_type.outputs)
    batch = BatchOp(rule, block.args, [0 if s else WHOLE for s in sliced], outputs)
    block.add_op(batch)
    values = [_sum(block, value) if add else value for value, add in zip(batch.results_, summed, strict=True)]
    block.add_op(func.ReturnOp(*values))
    name, k = f"{rule}.stacked", 0
    while SymbolTable.lookup_symbol(module, name) is not None:
        k += 1
        name = f"{rule}.stacked.{k}"
    function = func.FuncOp(
        name, (list(types), [v.type for v in values]), Region(block), visibility=StringAttr("private")
    )
    function.location = callee.location
    module.body.block.add_op(function)
    return SymbolRefAttr(name)


def _sum(block: Block, value: SSAValue) -> SSAValue:
    """The sum along the first axis; halves are summed in float32."""
    element = element_of(value)
    narrow = element in (f16, bf16)
    ops: list[Operation] = []
    if narrow:
        ops.append(CastOp(value, with_element(value.type, f32)))  # pyright: ignore
        value = ops[-1].results[0]
    ops.append(ReduceOp("add", [value], [0]))
    if narrow:
        total = ops[-1].results[0]
        ops.append(CastOp(total, with_element(total.type, element)))  # pyright: ignore
    block.add_ops(ops)
    return ops[-1].results[0]
