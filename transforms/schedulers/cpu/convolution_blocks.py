"""Blocks of convolutions on the CPU (cpu/convolutions.py): what is computed from a block of the result, and what for it.

  ... %p, the image with a border, is written
  ... tiles of %t, the result
  ... %y is computed from %t
becomes
  nest.for "i.o" ... {                                    // a block of rows: what follows is in the cache
    ... the rows of %p that the block reads
    ... tiles of the rows of %t
    ... the rows of %y
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.sink import sink
from ...nest.loops.split import why_not_split
from ...nest.producers.compute_at import compute_at
from ...nest.rewrite.steps import Steps
from ..patterns.costs import arithmetic_in, bits_of, has_transcendental
from ..patterns.sum_neighbours import borders_of, in_blocks, in_tiles, reading_band, reading_nest
from ..patterns.tiles import axes_of, pattern_in

if TYPE_CHECKING:
    from ..patterns.convolutions import Convolution
    from .convolutions import Tiles

BLOCK_SIXTEENTHS = 5
"""What a block of the result and the part of the image that it is computed from may take of the second-level cache:
beside them are the weights, of which a tile reads all."""

FEWEST_BLOCKS = 8
"""Minimum number of blocks for threads to share them evenly enough."""

MOST_WORK = 8
"""Maximum number of operations on an element of the result that are done in its tile."""


def in_cache(sum_: Convolution, tiles: Tiles, cpu: Cpu, steps: Steps) -> ForOp | None:
    """Loops over blocks of the result, with all that happens to a block inside of them.

    Returns the loop over the tiles of what reads the result, where each of these is computed from one of the sums.
    """
    if not sum_.outer:
        return None
    borders = borders_of(sum_.sums, sum_.images)
    rows = _block_rows(sum_, borders, cpu)
    around, place = _into_consumer(sum_, tiles, rows, steps) or (None, None)
    if around is None:
        around, _ = in_blocks(sum_.outer[-1], rows, steps)
    for alloc in borders:
        steps.attempt(compute_at, alloc, around, storage="here")
    return place


def _block_rows(sum_: Convolution, borders: Sequence[AllocOp], cpu: Cpu) -> int:
    """How many iterations of the last outer loop a block has: a divisor of them all where one is large enough."""
    loop = sum_.outer[-1]
    extent = largest_extent(loop)
    buffers = [sum_.result, *(alloc.memref for alloc in borders)]
    room = BLOCK_SIXTEENTHS * cpu.l2_bytes // 16
    most = max(1, room // max(1, sum(_row_bytes(sum_, buffer) for buffer in buffers)))
    if len(sum_.outer) == 1:  # its blocks are what threads share
        most = min(most, 4 if extent is None else max(1, extent // FEWEST_BLOCKS))
    if extent is None:
        return most
    return next((k for k in range(most, most // 2, -1) if extent % k == 0), min(most, max(1, extent)))


def _row_bytes(sum_: Convolution, buffer: SSAValue) -> int:
    """Bytes of a buffer that one iteration of the last outer loop works on, roughly."""
    assert isinstance(buffer.type, MemRefType)
    shape = [n if n != DYNAMIC_INDEX else 64 for n in buffer.type.get_shape()]
    count = prod(largest_extent(loop) or 64 for loop in sum_.outer)
    return prod(shape) * bits_of(buffer.type.element_type) // 8 // max(1, count)


def _into_consumer(
    sum_: Convolution, tiles: Tiles, rows: int, steps: Steps
) -> tuple[ForOp, ForOp | None] | None:
    """Compute the result where the only nest that reads it needs it.

    Returns the loop over the blocks of that nest, and the one over its tiles where it has some; None, and nothing
    moved, where there is no such nest.
    """
    alloc = sum_.result.owner
    if not isinstance(alloc, AllocOp):
        return None
    nest = enclosing_loops(sum_.sums)[0]
    _sink_loads(reading_nest(nest, alloc.memref), steps)
    band = reading_band(nest, alloc.memref)
    if band is None:
        return None
    reads = [op for op in band[-1].walk() if isinstance(op, LoadOp) and op.memref is alloc.memref]
    axes = axes_of(reads[0].indices)
    if axes is None or any(read.indices != reads[0].indices for read in reads):
        return None
    found = [next((loop for loop in band if loop.iv is axes[axis]), None) for axis in sum_.axes]
    loops = [loop for loop in found if loop is not None]
    order = [*loops, *(loop for loop in band if loop not in loops)]
    if len(loops) < len(found) or why_not_reorder(order, new_bounds=False) is not None:
        return None
    outer = loops[:-2]
    if why_not_split(outer[-1], rows, "clamp") is not None:
        return None
    if order != band:
        steps.do(reorder, order)
    blocks, _ = in_blocks(outer[-1], rows, steps)
    place = _tiles_of_reader(loops[-2:], tiles, steps) if len(loops) == len(band) else None
    at = place
    if place is None or steps.attempt(compute_at, alloc, place, storage="here") is None:
        at, place = blocks, None
        if steps.attempt(compute_at, alloc, blocks, storage="here") is None:
            return None
    kept = (at,) if place is not None else (at, tiles.column)  # sums stay in registers inside of the latter
    for loop in [*enclosing_loops(sum_.sums), *_first_loops(sum_)]:
        if loop not in kept and is_inside(loop, at) and why_not_remove_unit_loop(loop) is None:
            steps.do(remove_unit_loop, loop)
    return blocks, place


def _sink_loads(reader: ForOp | None, steps: Steps) -> None:
    """Load what is the same for a channel (a bias, a scale) for each element: the loops can be tiled then."""
    loop = reader
    while loop is not None and loop.kind == "serial":
        inner = loop.body.block.last_op
        if not isinstance(inner, ForOp):
            return
        before = [op for op in loop.body.block.ops if op is not inner]
        if before and not (all(isinstance(op, LoadOp) for op in before) and steps.attempt(sink, loop)):
            return
        loop = inner


def _first_loops(sum_: Convolution) -> list[ForOp]:
    """The loops around what stores the first values."""
    stores = [use.operation for use in sum_.result.uses if isinstance(use.operation, StoreOp)]
    around = enclosing_loops(sum_.sums)
    return [loop for store in stores for loop in enclosing_loops(store) if loop not in around]


def _tiles_of_reader(loops: list[ForOp], tiles: Tiles, steps: Steps) -> ForOp | None:
    """Tiles of what reads the result, of the size of those of the sum; what is written side by side makes the lanes.

    None, and nothing changed, where there is much to compute: each element of a tile has its own instructions.
    """
    if has_transcendental(loops[-1]) or arithmetic_in(loops[-1]) > MOST_WORK:
        return None
    row_tiles, row = in_tiles(loops[0], tiles.rows, steps)
    column_tiles, column = in_tiles(loops[1], tiles.width, steps)
    order = [row_tiles, column_tiles, row, column]
    stores = [op for op in column.body.walk() if isinstance(op, StoreOp)]
    if any(pattern_in(op, op.memref, row) == UNIT for op in stores):
        order = [row_tiles, column_tiles, column, row]
    steps.do(reorder, order)
    return column_tiles
