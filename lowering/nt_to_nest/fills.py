"""Islands that only copy a whole array over another: the value is computed where the copy would put it.

    %0 = nt.fusion "multiply" { nt.multiply %a, %x ... } : tensor<8xf64>
    %a1 = nt.loops ins(%0 : tensor<8xf64>) outs(%a : tensor<8xf64>) {
    ^bb0(%v: memref<8xf64>, %m: memref<8xf64>):
      nest.for "i" %i = 0 to 8 {
        %1 = nest.load %v[%i] : memref<8xf64>
        nest.store "a" %1, %m[%i] : memref<8xf64>
      }
    }
  becomes
    nest.for "i" %i = 0 to 8 {
      ...
      nest.store "multiply" %2, %a[%i] : memref<8xf64>
    }

`a *= x` and `a[:] = x + 1` are such: an island says that the caller sees what is written even if an error ends the call
later. Nothing that may end it stands between the value and its island.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ...analysis.tensor.effects import acts_between
from ...dialects.affine import AffineList
from ...dialects.nest import ForOp, LoadOp, StoreOp
from ...dialects.nt import LoopsOp
from .access import Index


def is_fill(op: Operation, extents_of: Callable[[SSAValue], Index]) -> bool:
    """Whether an island writes its one input over all of its one output, and does nothing else."""
    if not isinstance(op, LoopsOp) or len(op.inputs) != 1 or len(op.outputs) != 1:
        return False
    if op.inputs[0].type != op.outputs[0].type:
        return False
    block, counters = op.body.block, []
    for extent in extents_of(op.outputs[0]):
        loop = block.first_op
        if not isinstance(loop, ForOp) or loop.next_op is not None or loop.step_value != 1:
            return False
        if loop.lower.constants() != (0,) or loop.upper.canonical() != extent.canonical():
            return False
        block = loop.body.block
        counters.append(loop.iv)
    inner = list(block.ops)
    if (
        len(inner) != 2
        or not isinstance(load := inner[0], LoadOp)
        or not isinstance(store := inner[1], StoreOp)
    ):
        return False
    here = AffineList.of(*counters) if counters else AffineList(())
    return (
        [load.memref, store.memref] == list(op.body.block.args)
        and store.value is load.result
        and store.where is None
        and store.mask is None
        and load.indices.canonical() == store.indices.canonical() == here.canonical()
    )


def fill_of(value: SSAValue, extents_of: Callable[[SSAValue], Index]) -> LoopsOp | None:
    """The island that alone uses a value, and writes it over an array; with nothing between that may end the call."""
    uses = list(value.uses)
    owner = value.owner
    if len(uses) != 1 or not isinstance(owner, Operation):
        return None
    island = uses[0].operation
    if island.parent is not owner.parent or not is_fill(island, extents_of) or acts_between(owner, island):
        return None
    return island  # pyright: ignore
