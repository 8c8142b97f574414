"""nt-drop-native: where machine code of the user's has a decomposition beside it, the program takes that.

    %0 = nt.custom_call "prog.scaled"(%x) {language = "c", ...} : (tensor<4xf64>) -> tensor<4xf64>
    %1 = nt.multiply %x, %x : tensor<4xf64>
    %y = nt.composite "scaled"(%0, %1 : ...) attributes {nt.native} -> tensor<4xf64> { ^bb0(%a, %b): nt.yield %b }
  becomes
    %1 = nt.multiply %x, %x : tensor<4xf64>

Pipelines for GPUs begin with it; in others nt-decompose takes what the code computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_NATIVE
from ...dialects.nt import CompositeOp, CustomCallOp
from .nt_decompose import decompose


@dataclass(frozen=True, eq=False)
class NtDropNativePass(ModulePass):
    """Use the decompositions of operations that have machine code as well."""

    name = "nt-drop-native"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for composite in [o for o in op.walk() if isinstance(o, CompositeOp) and NT_NATIVE in o.attributes]:
            calls = {v.owner for v in composite.inputs if isinstance(v.owner, CustomCallOp)}
            decompose(composite)
            for call in calls:
                if not call.is_ordered and all(r.first_use is None for r in call.results):
                    assert call.parent is not None
                    call.parent.erase_op(call)
