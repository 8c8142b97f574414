"""Sums of columns of narrow matrices on the CPU: the sums of a whole row stay in registers, and memory is read in order.

    nest.for "i" %i = 0 to 1563 {
      nest.for "j" %j = 0 to 100 {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %s[%j]
  becomes
    nest.for "j" %j = 0 to 100 vectorized(104) {
      ... %acc[%j] starts as %s[%j]
      nest.for "i" %i = 0 to 1563 {
        %a = nest.load %x[%i, %j]
        nest.accumulate "s" add %a, %acc[%j]

Blocks of rows, a few columns at a time, would leave and come back to each page several times: no prefetcher follows that.
"""

from __future__ import annotations

from ....analysis.nest.loop_structure import sole_inner_loop
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.mapping.vectorize import vectorize
from ..patterns.costs import machine_lanes, padded_width
from .vectors import Machine, give_registers


def keep_row(row: ForOp, column: ForOp, machine: Machine) -> bool:
    """Put the loop over columns, as one vector, around that over rows; False, and nothing changed, where it is too wide."""
    lanes, extent = machine_lanes(column, machine.cpu.vector_bits), column.constant_trip_count()
    if extent is None or _values_of(row, column) * -(-extent // lanes) > machine.cpu.registers // 2:
        return False
    if sole_inner_loop(row) is not column or why_not_reorder([column, row], new_bounds=False) is not None:
        return False
    column, _ = machine.steps.do(reorder, [column, row])
    give_registers(column, machine.steps)
    machine.steps.do(vectorize, column, width=padded_width(extent, lanes))
    return True


def _values_of(row: ForOp, column: ForOp) -> int:
    """How many values each column has that are the same for all rows: sums, and what is read of other buffers."""
    updates = [op for op in column.body.block.ops if isinstance(op, AccumulateOp)]
    loads = [op for op in column.body.block.ops if isinstance(op, LoadOp)]
    kept = [op for op in loads if column.iv in op.indices.operands and row.iv not in op.indices.operands]
    return sum(len(op.memrefs) for op in updates) + len(kept)
