"""nt-decompose: composites are replaced by what they stand for.

    %r = nt.composite "softmax"(%x : tensor<4x5xf32>) {axis = -1 : i64} -> tensor<4x5xf32> {
    ^bb0(%a: tensor<4x5xf32>):
      %m = nt.reduce maximum %a over [1] : tensor<4x5xf32> -> tensor<4xf32>
      ...
      nt.yield %v : tensor<4x5xf32>
    }
  becomes
    %m = nt.reduce maximum %x over [1] : tensor<4x5xf32> -> tensor<4xf32>
    ...

Composites in regions of others included. With `only`, those of the names given, wherever they are. Functions that had
their derivatives (`nt.vjp_rule`, `nt.jvp_rule`) go with them. One with machine code of the user's (`nt.native`) becomes
what that computes, the first half of its operands.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_NATIVE
from ...dialects.nt import CheckpointOp, CompositeOp
from .unused_functions import drop_unused


@dataclass(frozen=True, eq=False)
class NtDecomposePass(ModulePass):
    """Replace composites (softmax, attention, ...) by the operations they stand for."""

    name = "nt-decompose"

    only: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules: set[str] = set()
        for composite in [o for o in op.walk() if isinstance(o, CompositeOp)]:
            if not self.only or composite.label.data in self.only:
                rules |= {
                    v.string_value() for v in composite.attributes.values() if isinstance(v, SymbolRefAttr)
                }
                _take_native(composite) if NT_NATIVE in composite.attributes else decompose(composite)
        if rules:
            drop_unused(op, rules)


def _take_native(op: CompositeOp) -> None:
    for result, value in zip(op.results_, op.inputs, strict=False):
        result.replace_all_uses_with(value)
    assert op.parent is not None
    op.parent.erase_op(op)


def decompose(op: CompositeOp | CheckpointOp) -> list[SSAValue]:
    """Put the region of `op` in its place; gives the values that are its results now."""
    block, parent = op.body.block, op.parent
    assert parent is not None
    for argument, value in zip(block.args, op.inputs, strict=True):
        argument.replace_all_uses_with(value)
    end = block.last_op
    assert isinstance(end, Operation)
    values = list(end.operands)
    for result, value in zip(op.results_, values, strict=True):
        if value.name_hint is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    end.detach()
    end.erase()
    for inner in list(block.ops):
        inner.detach()
        parent.insert_op_before(inner, op)
    op.detach()
    op.erase()
    return values
