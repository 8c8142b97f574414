"""nt-drop-native: where code of the user's has a decomposition beside it, and is for CPUs only, the program takes that.

    %0 = nt.custom_call "prog.scaled"(%x) {language = "c", ...} : (tensor<4xf64>) -> tensor<4xf64>
    %1 = nt.multiply %x, %x : tensor<4xf64>
    %y = nt.composite "scaled"(%0, %1 : ...) attributes {nt.native} -> tensor<4xf64> { ^bb0(%a, %b): nt.yield %b }
  becomes
    %1 = nt.multiply %x, %x : tensor<4xf64>

Pipelines for GPUs begin with it. Where the call has a kernel for them (`cuda`), it says so (`nt.native = "cuda"`), for
nt-decompose to take that; in other pipelines nt-decompose takes what code for the CPU computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_NATIVE
from ...dialects.custom_call_names import CUDA
from ...dialects.nt import CompositeOp
from .nt_decompose import choose, has_code


@dataclass(frozen=True, eq=False)
class NtDropNativePass(ModulePass):
    """Use the decompositions of operations that have machine code as well."""

    name = "nt-drop-native"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for composite in [o for o in op.walk() if isinstance(o, CompositeOp) and NT_NATIVE in o.attributes]:
            # Derivatives are those of the decomposition, and are taken later.
            composite.attributes[NT_NATIVE] = StringAttr(CUDA)
            if not has_code(composite):
                choose(composite)
