"""nt-drop-barriers: `nt.optimization_barrier` goes: what follows may know that its results are its operands.

    %w1, %c1 = nt.optimization_barrier %w, %c : tensor<4xf32>, tensor<8xf32>
    %y = nt.fusion "y" { %0 = nt.exp %w1 ... }
  becomes
    %y = nt.fusion "y" { %0 = nt.exp %w ... }

Fusions are made by then, and nothing merges them any more: what was computed a second time is computed where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.nt import OptimizationBarrierOp


@dataclass(frozen=True, eq=False)
class NtDropBarriersPass(ModulePass):
    """Use the operands of nt.optimization_barrier in the place of its results."""

    name = "nt-drop-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for barrier in [o for o in op.walk() if isinstance(o, OptimizationBarrierOp)]:
            for result, value in zip(barrier.results_, barrier.inputs, strict=True):
                result.replace_all_uses_with(value)
            assert barrier.parent is not None
            barrier.parent.erase_op(barrier)
