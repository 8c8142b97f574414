"""gpu-inline-parts: the host sides of outlined functions move into the functions that call them.

    func.func @f(%x: memref<64xf32>, %w: memref<64xf32>, %u: memref<64xf32>, %y: memref<64xf32>) {
      %b = memref.alloc() : memref<64xf32>
      func.call @f.part(%x, %w, %b) {nestor.outlined}
      func.call @f.part(%b, %u, %y) {nestor.outlined}
    }
    func.func private @f.part(%x: memref<64xf32>, %w: memref<64xf32>, %b: memref<64xf32>) attributes {nestor.outlined} {
      %a = memref.alloc() : memref<64xf32>
      gpu.launch_func @f.part_kernels::@f_a ... args(%x : memref<64xf32>, %w : memref<64xf32>, %a : memref<64xf32>)
      gpu.launch_func @f.part_kernels::@f_b ... args(%a : memref<64xf32>, %b : memref<64xf32>)
    }
  becomes
    func.func @f(%x: memref<64xf32>, %w: memref<64xf32>, %u: memref<64xf32>, %y: memref<64xf32>) {
      %b = memref.alloc() : memref<64xf32>
      %a = memref.alloc() : memref<64xf32>
      gpu.launch_func @f.part_kernels::@f_a ... args(%x : memref<64xf32>, %w : memref<64xf32>, %a : memref<64xf32>)
      gpu.launch_func @f.part_kernels::@f_b ... args(%a : memref<64xf32>, %b : memref<64xf32>)
      %a.1 = memref.alloc() : memref<64xf32>
      gpu.launch_func @f.part_kernels::@f_a ... args(%b : memref<64xf32>, %u : memref<64xf32>, %a.1 : memref<64xf32>)
      gpu.launch_func @f.part_kernels::@f_b ... args(%a.1 : memref<64xf32>, %y : memref<64xf32>)
    }

The kernels of `nest-outline-repeated`'s functions were scheduled and lowered once, and are launched for each call: a further
layer of a network costs its launches. gpu-plan-memory sees the temporaries of all calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import OUTLINED
from ...dialects.diagnostic import fail


@dataclass(frozen=True)
class GpuInlinePartsPass(ModulePass):
    """Replace the calls of outlined functions by what these functions do; see the module's docstring."""

    name = "gpu-inline-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [one for one in op.body.block.ops if isinstance(one, func.FuncOp)]
        parts = {one.sym_name.data: one for one in functions if OUTLINED in one.attributes}
        for part in parts.values():
            if len(part.body.blocks) != 1:
                raise fail(
                    part, "an outlined function has one block", hint="nest-outline-repeated makes such"
                )
            if any(_calls_of_parts(part, parts)):
                raise fail(
                    part, "an outlined function calls no other one", hint="nest-outline-repeated makes such"
                )
        for function in functions:
            if function.sym_name.data not in parts:
                _inline_calls(function, parts)
        for part in parts.values():
            part.detach()
            part.erase()


def _calls_of_parts(function: func.FuncOp, parts: dict[str, func.FuncOp]) -> list[func.CallOp]:
    """The calls that are marked, and all others of the same functions, which are gone afterwards."""
    calls = [op for op in function.walk() if isinstance(op, func.CallOp)]
    return [op for op in calls if OUTLINED in op.attributes or op.callee.string_value() in parts]


def _inline_calls(function: func.FuncOp, parts: dict[str, func.FuncOp]) -> None:
    """Replace the calls in one function, in place."""
    for call in _calls_of_parts(function, parts):
        name = call.callee.string_value()
        if name not in parts:
            raise fail(call, f"calls @{name}, which is no outlined function of this module")
        body, around = parts[name].body.block, call.parent
        assert around is not None
        mapper: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
        for op in body.ops:
            if not isinstance(op, func.ReturnOp):
                around.insert_op_before(op.clone(mapper), call)
        call.detach()
        call.erase()
