"""nt-split-reductions: a reduction is done in two steps where the first then shares the loops of what it reduces.

    %m = nt.reduce maximum %x over [1] : tensor<8x9xf32> -> tensor<8xf32>
    %0 = nt.broadcast %m along [0] : tensor<8xf32> -> tensor<8x9xf32>
    %y = nt.subtract %x, %0 : tensor<8x9xf32>
    %s = nt.reduce add %y over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  becomes
    ...
    %1 = nt.reduce add %y over [1] : tensor<8x9xf32> -> tensor<8xf32>
    %s = nt.reduce add %1 over [0] : tensor<8xf32> -> tensor<f32>

All reductions of a fusion reduce the same dimensions: %y would be stored for the sum over both, and is not for the sum
over one. Done where a reduction of an array of the same extents, over some of the dimensions, is among what is reduced
depends on, element by element; reductions in a given order stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...analysis.tensor.extents import Extents
from ...dialects.nt import BroadcastOp, ReduceOp
from ...dialects.nt.ops import shape_of
from ...dialects.nt.work import Role, role_of
from .fusion_access import adds_units


@dataclass(frozen=True, eq=False)
class NtSplitReductionsPass(ModulePass):
    """Do reductions in two steps where the first shares loops with what it reduces."""

    name = "nt-split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if not isinstance(function, FuncOp) or not function.body.blocks:
                continue
            reductions = [o for o in function.walk() if isinstance(o, ReduceOp)]
            if len(reductions) < 2:
                continue
            extents = Extents()
            for reduction in reductions:
                first = _shared_dims(reduction, extents)
                if first is not None:
                    _split(reduction, first)


def _shared_dims(op: ReduceOp, extents: Extents) -> tuple[int, ...] | None:
    """The dimensions that a reduction among what `op` depends on reduces, if they are some but not all of those of `op`."""
    if len(op.reduced) < 2 or len(op.inputs) != 1 or op.order_name != "any" or op.combine is not None:
        return None
    shape = extents.of(op.inputs[0])
    seen: set[SSAValue] = set()
    rest = [op.inputs[0]]
    while rest:
        value = rest.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation) or owner.parent is not op.parent:
            continue
        seen.add(value)
        if isinstance(owner, BroadcastOp):
            found = _reduced_before(owner, shape, extents)
            if found is not None and set(found) < set(op.reduced):
                return found
        elif role_of(owner) is Role.COMPUTES and not isinstance(owner, ReduceOp):
            rest += [v for v in owner.operands if isinstance(v.type, TensorType)]
    return None


def _reduced_before(op: BroadcastOp, shape: tuple, extents: Extents) -> tuple[int, ...] | None:
    """The dimensions of arrays of extents `shape` that were reduced to make what `op` repeats along them."""
    missing = tuple(k for k, axis in enumerate(op.source_axes()) if axis is None)
    seen: set[SSAValue] = set()
    rest = [op.source]
    while rest:
        value = rest.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation):
            continue
        seen.add(value)
        if isinstance(owner, ReduceOp):
            if owner.reduced == missing and extents.of(owner.inputs[0]) == shape:
                return missing
        elif role_of(owner) is Role.COMPUTES or adds_units(owner):
            rest += [v for v in owner.operands if isinstance(v.type, TensorType) and shape_of(v)]
    return None


def _split(op: ReduceOp, first: tuple[int, ...]) -> None:
    combiner, block = op.combiner.data, op.parent
    assert block is not None
    inner = ReduceOp(combiner, [op.inputs[0]], first)
    left = [d for d in range(len(shape_of(op.inputs[0]))) if d not in first]
    outer = ReduceOp(combiner, [inner.results_[0]], [left.index(d) for d in op.reduced if d not in first])
    for made in (inner, outer):
        made.location = op.location
        block.insert_op_before(made, op)
    outer.results_[0].name_hint = op.results_[0].name_hint
    op.results_[0].replace_all_uses_with(outer.results_[0])
    block.erase_op(op)
