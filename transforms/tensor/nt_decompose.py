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
their derivatives (`nt.vjp_rule`, `nt.jvp_rule`) go with them. One with code of the user's (`nt.native`) becomes
what that computes, the first half of its operands, where it is code for the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_NATIVE
from ...dialects.custom_call_names import CUDA, LANGUAGE
from ...dialects.nt import CheckpointOp, CompositeOp, CustomCallOp
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
                is_native = NT_NATIVE in composite.attributes
                choose(composite) if is_native else decompose(composite)
        if rules:
            drop_unused(op, rules)


def has_code(op: CompositeOp) -> bool:
    """Whether the call beside a decomposition has code for the target: for the CPU, or a kernel for GPUs if it is one."""
    key = LANGUAGE if op.attributes[NT_NATIVE] == UnitAttr() else CUDA
    return any(key in call.arguments.data for call in _calls(op))


def _calls(op: CompositeOp) -> set[CustomCallOp]:
    return {v.owner for v in _natives(op) if isinstance(v.owner, CustomCallOp)}


def _natives(op: CompositeOp) -> Sequence[SSAValue]:
    return op.inputs[: len(op.inputs) - len(op.results_)]


def choose(op: CompositeOp) -> None:
    """Put what code computes in the place of `op`, where there is some for the target; else its decomposition."""
    calls, natives = _calls(op), _natives(op)
    if not has_code(op):
        decompose(op)
        for call in calls:
            if not call.is_ordered and all(r.first_use is None for r in call.results):
                assert call.parent is not None
                call.parent.erase_op(call)
        return
    for result, value in zip(op.results_, natives, strict=True):
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
