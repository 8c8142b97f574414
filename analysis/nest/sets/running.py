"""Running results (scans) that may be computed in chunks: each chunk goes on from what those before it give together.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %s[%j]
        %b = nest.load %s[%j]                    // the result so far
        nest.store "y" %b, %y[%i, %j]            // along axis 0, by the loop i

The updates of some iterations from the neutral value on give a total; what is before a chunk is the totals of the chunks
before it, by the combiner; the chunk begins with that in place of the neutral value ("reduce then scan", Blelloch 1990).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..loop_structure import enclosing_loops


@dataclass(frozen=True, eq=False)
class Running:
    """A store of what a reduction over `loop` has so far: `axis` of the store's buffer goes along the loop."""

    update: AccumulateOp
    loop: ForOp
    store: StoreOp
    axis: int


def reads_so_far(update: AccumulateOp) -> list[LoadOp]:
    """What reads the buffers of a reduction in an iteration of it, behind the update."""
    loads = [use.operation for buffer in update.memrefs for use in buffer.uses]
    return [
        op
        for op in dict.fromkeys(loads)
        if isinstance(op, LoadOp) and op.parent is update.parent and update.is_before_in_block(op)
    ]


def running_results(update: AccumulateOp) -> list[Running]:
    """The stores of the results so far of a reduction over one loop, where its order does not matter."""
    loops = enclosing_loops(update)
    kept = set(update.indices.operands)
    reduced = [loop for loop in loops if loop.iv not in kept]
    reads = reads_so_far(update)
    if len(reduced) != 1 or update.order_name != "any" or not reads:
        return []
    if not all(isinstance(b.owner, AllocOp) and not enclosing_loops(b.owner) for b in update.memrefs):
        return []
    if any(op.indices != update.indices for op in reads):
        return []
    (loop,) = reduced
    found = []
    for store in _stores_of(reads):
        axes = [k for k, index in enumerate(store.indices) if loop.iv in index.operands]
        if len(axes) == 1 and type(store.indices[axes[0]].exprs[0]) is AffineDimExpr:
            found.append(Running(update, loop, store, axes[0]))
    return found


def _stores_of(reads: list[LoadOp]) -> list[StoreOp]:
    """The stores in the same block of what is computed of loads."""
    values: set[SSAValue] = {op.result for op in reads}
    found: list[StoreOp] = []
    op: Operation | None = reads[0]
    while op is not None:
        if any(value in values for value in op.operands):
            values.update(op.results)
            if isinstance(op, StoreOp):
                found.append(op)
        op = op.next_op
    return found
