"""nt-batch: a function applied to each slice of its operands becomes operations on whole stacks of slices.

    func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
      %0 = nt.multiply %x, %w : tensor<4xf32>
      %1 = nt.reduce add %0 over [0] : tensor<4xf32> -> tensor<f32>
      func.return %1 : tensor<f32>
    }
    ...
    %r = nt.batch @f(%x, %w : tensor<8x4xf32>, tensor<4xf32>) along [0, -1] -> (tensor<8xf32>)
  becomes
    %0 = nt.broadcast %w along [1] : tensor<4xf32> -> tensor<8x4xf32>
    %1 = nt.multiply %x, %0 : tensor<8x4xf32>
    %r = nt.reduce add %1 over [1] : tensor<8x4xf32> -> tensor<8xf32>

Innermost first: the function of a nt.batch may hold one. What depends on no slice is computed once, effects included
(an ordered call, a print of what is not sliced). There is one rule for each kind of operation (`tensors.py`, `scalars.py`,
`loops.py`, `control.py`, `calls.py`); what has none runs for one slice after the other (`each_slice.py`). Private functions
that nothing calls any more are removed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ...dialects.diagnostic import fail
from ...dialects.nt import BatchOp, JvpOp, VjpOp
from ...dialects.nt.derivative_ops import OfFunction
from ..tensor.unused_functions import drop_unused
from .expand import batch


@dataclass(frozen=True, eq=False)
class NtBatchPass(ModulePass):
    """Replace functions applied to each slice of their operands by operations on stacks."""

    name = "nt-batch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        used: set[str] = set()
        for function in [inner for inner in op.ops if isinstance(inner, FuncOp)]:
            _batch_in(op, function, used, ())
        drop_unused(op, used)


def _batch_in(module: ModuleOp, function: FuncOp, used: set[str], around: tuple[str, ...]) -> None:
    """Replace each nt.batch in a function, and first those in the functions that it applies or calls."""
    name = function.sym_name.data
    if name in around:
        raise fail(function, f"nt.batch: '{name}' needs itself: recursion is not batched")
    for op in [inner for inner in function.walk() if isinstance(inner, OfFunction | CallOp)]:
        callee = SymbolTable.lookup_symbol(module, op.callee)
        if not isinstance(callee, FuncOp) or not callee.body.blocks:
            continue  # a call of the runtime: it prints
        _batch_in(module, callee, used, (*around, name))
        if not isinstance(op, BatchOp):
            continue
        for inner in callee.walk():
            if isinstance(inner, VjpOp | JvpOp):
                raise fail(
                    op,
                    f"nt.batch: the function '{callee.sym_name.data}' holds {inner.name}",
                    hint="run nt-differentiate, which puts code in the place of both, innermost first",
                    notes=[(inner, "here")],
                )
        used.add(callee.sym_name.data)
        batch(op)
