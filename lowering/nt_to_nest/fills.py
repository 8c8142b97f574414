"""Islands that only copy an array over another, or into a window of it: the value is computed where the copy would put it.

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
later. Nothing that may end it stands between the value and its island. `b[1:-1] = np.exp(a[2:])` fills a window: its store
is at `%m[%i + 1]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...analysis.tensor.effects import acts_between
from ...dialects.affine import AffineList
from ...dialects.nest import ForOp, LoadOp, StoreOp
from ...dialects.nt import LoopsOp
from .access import Index


@dataclass(frozen=True)
class Window:
    """Where an island puts the elements of its input: that at `counters` goes to `indices` of the output."""

    counters: tuple[SSAValue | None, ...]
    """The loop of each axis of the input, None for an axis of extent 1."""
    indices: AffineList

    def at(self, index: Index) -> Index:
        """Where the element at `index` goes."""
        place = self.indices
        for counter, one in zip(self.counters, index, strict=True):
            if counter is not None:
                place = place.substitute(counter, one)
        return tuple(place)

    def is_whole(self, extents: Index) -> bool:
        """Whether each element goes to its own index, of an output of these extents."""
        if len(extents) != len(self.counters) or any(counter is None for counter in self.counters):
            return False
        return tuple(self.indices) == tuple([AffineList.of(counter) for counter in self.counters])  # pyright: ignore


def window_of(op: Operation, extents_of: Callable[[SSAValue], Index]) -> Window | None:
    """Where an island writes the elements of its one input into its one output, if it does nothing else."""
    if not isinstance(op, LoopsOp) or len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    if op.inputs[0].type.element_type != op.outputs[0].type.element_type:  # pyright: ignore
        return None
    block, counters = op.body.block, list[SSAValue | None]()
    for extent in extents_of(op.inputs[0]):
        loop = block.first_op
        if extent.constants() == (1,) and not _runs_over(loop, extent):
            counters.append(None)
            continue
        if not _runs_over(loop, extent):
            return None
        assert isinstance(loop, ForOp)
        block = loop.body.block
        counters.append(loop.iv)
    load, store = block.first_op, block.last_op
    if not isinstance(load, LoadOp) or not isinstance(store, StoreOp) or load.next_op is not store:
        return None
    here = (
        AffineList.of(*[0 if counter is None else counter for counter in counters])
        if counters
        else AffineList(())
    )
    copies = (
        [load.memref, store.memref] == list(op.body.block.args)
        and store.value is load.result
        and store.where is None
        and store.mask is None
        and load.indices.canonical() == here.canonical()
    )
    return Window(tuple(counters), store.indices.canonical()) if copies else None


def _runs_over(loop: Operation | None, extent: AffineList) -> bool:
    """Whether a loop is alone in its block and runs over an extent, one by one."""
    return (
        isinstance(loop, ForOp)
        and loop.next_op is None
        and loop.step_value == 1
        and loop.lower.constants() == (0,)
        and loop.upper.canonical() == extent.canonical()
    )


def is_fill(op: Operation, extents_of: Callable[[SSAValue], Index]) -> bool:
    """Whether an island writes its one input over all of its one output, and does nothing else."""
    window = window_of(op, extents_of)
    if window is None:
        return False
    source, target = op.operands
    return source.type == target.type and window.is_whole(extents_of(target))


def user_that_fills(
    value: SSAValue, extents_of: Callable[[SSAValue], Index]
) -> tuple[LoopsOp, Window] | None:
    """The island that alone uses a value, and writes it into an array; with nothing between that may end the call."""
    uses = list(value.uses)
    owner = value.owner
    if len(uses) != 1 or not isinstance(owner, Operation):
        return None
    island = uses[0].operation
    if island.parent is not owner.parent or (window := window_of(island, extents_of)) is None:
        return None
    return None if acts_between(owner, island) else (island, window)  # pyright: ignore
