"""Transposed copies on the CPU: nest-schedule-cpu's tiles that are read along one axis and written along another.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%j, %i] : memref<?x?xf32>
        nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
  becomes
    nest.for "j.o" ... parallel {                             // COLUMNS columns of %y: as many rows of %x
      nest.for "i.o" ... {                                    // ROWS rows of %y: a stretch of each of these rows of %x
        nest.for "j.i.o" ... {
          nest.for "i.i.o" ... {
            nest.for "i.i.i" ... unrolled {                   // a tile: its rows are read whole, and transposed in
              nest.for "j.i.i" ... vectorized(16) {           // registers (lowering/nest_to_scf/transposed_loads.py)
                ... nest.store "y" %a, %y[...] {nestor.nontemporal}

What else the statement reads may lie along the lanes or be the same for all of them. Machines prefetch along rows of
what is read, not along what is written, and have no room for the lines of many rows that are written a piece at a time:
hence the long stretches, and non-temporal stores of whole lines where the result does not fit.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import (
    INVARIANT,
    SCATTERED,
    UNIT,
    buffer_accesses,
    pattern_of,
    varying_values,
)
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.powers_of_two import power_below
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import ForOp, LoadOp, StoreOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.annotate import annotate, why_not_annotate
from ...nest.mapping.vectorize import vectorize, why_not_lanes
from ...nest.memory.stream import stream, why_not_stream
from ...nest.rewrite.steps import Steps
from ..patterns.costs import has_fewer, is_streamed, machine_lanes

ROWS = 512
"""Elements that are read side by side before the next row's."""

COLUMNS = 64
"""Rows that are read in turn before the next stretch of them: the share of a thread is some times as many."""

MOST = 16
"""Rows of a tile: what is read stays in registers."""

FEWEST = 4
"""Rows and columns below which a tile is no better than its elements one by one."""


def tile_transposed(band: list[ForOp], cpu: Cpu, steps: Steps) -> ForOp | None:
    """Tile a band that reads across what it writes.

    Returns the loop around the tiles that threads can share, None (and nothing changed) where this is not such a band.
    """
    row = _row_of_reads(band)
    if row is None:
        return None
    column = band[-1]
    outer = [loop for loop in band if loop not in (row, column)]
    if why_not_reorder([*outer, column, row], new_bounds=False) is not None:
        return None
    if why_not_lanes(column, Dependences(band[0])) is not None:
        return None
    lanes = machine_lanes(column, cpu.vector_bits)
    tile_rows = _size(row, min(lanes, MOST))
    line = 8 * cpu.line * lanes // cpu.vector_bits  # a whole line can be stored past the caches
    tile_columns = _size(column, max(lanes, line))
    parts = ((row, tile_rows, ROWS), (column, tile_columns, COLUMNS))
    if any(
        why_not_split(loop, factor, "clamp") is not None for loop, *factors in parts for factor in factors
    ):
        return None
    loops: list[list[ForOp]] = []
    for loop, size, block in parts:
        blocks, inner = steps.do(split, loop, factor=max(block, size), tail="clamp")
        tiles, inner = steps.do(split, inner, factor=size, tail="clamp")
        loops.append([blocks, tiles, inner])
    (row_blocks, row_tiles, row), (column_blocks, column_tiles, column) = loops
    order = [*outer, column_blocks, row_blocks, column_tiles, row_tiles, row, column]
    if why_not_reorder(order, new_bounds=False) is None:
        steps.do(reorder, order)
    for buffer in dict.fromkeys(
        root_of(op.memref) for op in _stores(column) if is_streamed(op, cpu, unknown=True)
    ):
        if why_not_stream(buffer, column) is None:
            steps.do(stream, buffer, column)
    steps.do(vectorize, column, width=tile_columns)
    if why_not_annotate(row, "unrolled") is None:
        steps.do(annotate, row, mark="unrolled")
    return order[0]


def _size(loop: ForOp, most: int) -> int:
    """Iterations of a tile: at most the largest power of two that the loop has."""
    extent = largest_extent(loop)
    return most if extent is None or extent >= most else power_below(extent)


def _row_of_reads(band: list[ForOp]) -> ForOp | None:
    """The loop along which lies what is scattered along the innermost one; None where that is not all there is to it."""
    if len(band) < 2 or len(list(loops_in(band[0]))) != len(band):
        return None
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return None
    column = band[-1]
    across: list[tuple[LoadOp, SSAValue]] = []
    varying = varying_values(column)
    for op, buffer in buffer_accesses(column):
        pattern = pattern_of(op.indices, buffer, column, varying)
        if isinstance(op, StoreOp) and pattern == UNIT:
            continue
        if not isinstance(op, LoadOp) or pattern not in (UNIT, INVARIANT, SCATTERED):
            return None
        if pattern == SCATTERED:
            across.append((op, buffer))
    rows = [
        loop
        for loop in band[:-1]
        if all(pattern_of(op.indices, buffer, loop, varying_values(loop)) == UNIT for op, buffer in across)
    ]
    if not across or len(rows) != 1 or any(has_fewer(loop, FEWEST) for loop in (rows[0], column)):
        return None
    return rows[0]


def _stores(loop: ForOp) -> list[StoreOp]:
    return [op for op in loop.body.block.ops if isinstance(op, StoreOp)]
