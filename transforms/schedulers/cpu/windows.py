"""Pooling and convolutions of separate channels on the CPU: reductions over windows, in tiles of vectors of results.

    ... %p, the image with a border, is written
    nest.for "b" ... nest.for "i" ... nest.for "j" ... {
      ... %s is set
      nest.for "u" %u = 0 to 3 { nest.for "v" %v = 0 to 3 {
        nest.accumulate "s" maximum %e, %s[]                 // of %p[%b, 2 * %i + %u, 2 * %j + %v]
      }}
      ... %y[%b, %i, %j] is computed from %s
  becomes
    nest.for "b" ... parallel {
      ... the part of %p that is read here
      nest.for "i.o" ... nest.for "j.o" ... {
        ... a tile of %s is set, in registers
        nest.for "u" ... unrolled { nest.for "v" ... unrolled {
          nest.for "i.i" ... unrolled { nest.for "j.i" ... vectorized { ... }}}}
        ... a tile of %y

Lanes move along the contiguous axis of what is stored in the end, and so does the image (or by every second to fourth
element, interleaved_loads.py). The rows of a tile are an axis along which windows overlap, so that what is loaded for
one row serves the next one, or along which the image does not move at all (the outputs of a group of channels). What the
sums start from, and what is computed from them when they are complete, may be nests of their own: they are made one first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat

from ....analysis.machine import Cpu
from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.access_patterns import INVARIANT
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp
from ...nest.loops.distribute import distribute
from ...nest.loops.unmask import unmask
from ...nest.mapping.parallel import why_not_parallel
from ...nest.producers.compute_at import compute_at
from ...nest.rewrite.steps import Steps
from ..patterns.costs import bits_of, machine_lanes
from ..patterns.sum_neighbours import borders_of, in_blocks, in_tiles
from ..patterns.tiles import mark_lanes, mark_unrolled, pattern_in
from ..patterns.windows import Windows, nested, one_nest, slides
from .convolutions import Shape, tile_shape

PART_SHARE = 4
"""The part of the second-level cache for what an iteration reads of an image with a border, made right before."""

MOST_ROWS = 4
"""Maximum number of rows of a tile whose windows overlap: what is loaded is used for all of them."""

MOST_VECTORS = 4
"""Maximum number of vectors of a row of a tile."""

MOST_UNROLLED = 16
"""Maximum number of iterations to unroll of a loop over terms, with others in them."""

MOST_UPDATES = 200
"""Maximum number of unrolled updates of vectors in a tile."""

FEW = 4
"""Up to this many iterations are not shared evenly enough by threads."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """The innermost loop over tiles, the rows and lanes of what is done in one (set, reduce, read), and the terms."""

    innermost: ForOp
    parts: list[list[ForOp]]
    terms: list[ForOp]


# ---- tiles --------------------------------------------------------------------------------------------


def tile_windows(
    windows: Windows,
    cpu: Cpu,
    share: Callable[[ForOp, Steps], None] | None,
    rest: Callable[[ForOp], None],
    steps: Steps,
) -> bool:
    """Tile a reduction over windows; False where a step is refused: what was done until then is no worse to schedule.

    `share` gives a loop to threads, `rest` schedules a nest that is beside the tiles.
    """
    lanes = machine_lanes(windows.terms[-1], cpu.vector_bits)
    row, shape = _shape(windows, lanes, cpu.registers)
    width, borders = shape.vectors * lanes, borders_of(windows.sums, windows.moving)
    at = None if row is None else windows.results.index(row)
    lane = windows.results.index(windows.column)  # one_nest makes it the last one
    try:
        results = one_nest(windows, steps)
        if results is None:
            return False
        chosen = None if at is None else results[at - (at > lane)]
        made = _tile(results, chosen, Shape(shape.rows, width), windows, steps)
    except NestorError:
        return False
    tiles = made.innermost
    for alloc in borders:
        tiles = _make_part(alloc, tiles, windows.terms, cpu, steps)
    made = replace(made, innermost=tiles)
    _mark(made, Shape(shape.rows, width), lanes, steps)
    around = [*enclosing_loops(tiles), tiles]
    if share is not None:
        _share(around[:-1] or around, share, steps)
    for loop in enclosing_loops(tiles):
        for op in list(loop.body.block.ops):
            if isinstance(op, ForOp) and op is not tiles and not is_inside(tiles, op):
                rest(op)
    return True


def _shape(windows: Windows, lanes: int, registers: int) -> tuple[ForOp | None, Shape]:
    """The loop over the rows of a tile, None where rows share nothing, and rows and vectors of the tile."""
    columns, others = largest_extent(windows.column), [o for o in windows.results if o is not windows.column]
    for loop in reversed(others):
        if largest_extent(loop) != 1 and all(
            pattern_in(load, load.memref, loop) == INVARIANT for load in windows.moving
        ):
            return loop, tile_shape(largest_extent(loop), columns, lanes, registers)
    vectors = MOST_VECTORS if columns is None else min(MOST_VECTORS, -(-columns // lanes))
    vectors = power_above(vectors)
    for loop in reversed(others):
        extent = largest_extent(loop)
        if extent is None or not slides(loop, windows.terms, windows.moving):
            continue
        rows = [k for k in range(min(MOST_ROWS, registers // vectors - 2), 1, -1) if extent % k == 0]
        return (loop, Shape(rows[0], vectors)) if rows else (None, Shape(1, vectors))
    return None, Shape(1, vectors)


def _tile(results: list[ForOp], row: ForOp | None, shape: Shape, windows: Windows, steps: Steps) -> Tiles:
    """Tiles of `shape.rows` and `shape.vectors` lanes. Raises what refuses a step."""
    *outer, column = results
    tiles, column = in_tiles(column, shape.vectors, steps)
    if row is not None:
        place = outer.index(row)
        outer[place], row = in_tiles(row, shape.rows, steps)
    inner = [column] if row is None else [row, column]
    nested([*outer, tiles, *inner], steps)
    parts = [[column]]
    for loop in reversed(inner):
        first, others = steps.do(distribute, loop, after=1)
        second, third = steps.do(distribute, others, after=1)
        parts = (
            [[first], [second], [third]]
            if loop is column
            else [[one, *part] for one, part in zip((first, second, third), parts, strict=True)]
        )
    terms = sorted(windows.terms, key=lambda term: (largest_extent(term) or 0) <= MOST_UNROLLED)
    nested([*terms, *parts[1]], steps)
    return Tiles(tiles, parts, terms)


def _mark(tiles: Tiles, shape: Shape, lanes: int, steps: Steps) -> None:
    """Lanes and rows side by side, and as many terms as do not make the code long."""
    if not _computes(tiles):
        steps.attempt(unmask, tiles.innermost)
    for part in tiles.parts:
        mark_lanes(part[-1], shape.vectors, steps)
        for loop in part[:-1]:
            mark_unrolled(loop, steps)
    updates = shape.rows * shape.vectors // lanes
    for term in reversed(tiles.terms):
        updates *= largest_extent(term) or 1
        if updates > MOST_UPDATES:
            break
        mark_unrolled(term, steps)


def _computes(tiles: Tiles) -> bool:
    """Whether floats are added or multiplied: those behind a row may be denormal, which takes a hundred times as long."""
    body = tiles.parts[1][-1].body
    names = (arith.AddfOp, arith.MulfOp, arith.DivfOp)
    return any(
        isinstance(op, names)
        or (
            isinstance(op, AccumulateOp)
            and op.combiner.data in ("add", "mul")
            and isinstance(op.values[0].type, AnyFloat)
        )
        for op in body.walk()
    )


# ---- what is around tiles -------------------------------------------------------------------------------


def _make_part(alloc: AllocOp, tiles: ForOp, terms: Sequence[ForOp], cpu: Cpu, steps: Steps) -> ForOp:
    """Make a border around the part of an image that is read soon, where that fits into a private cache.

    Returns the innermost loop over tiles, which may be done in blocks now.
    """
    loads = [use.operation for use in alloc.memref.uses if isinstance(use.operation, LoadOp)]
    shape = alloc.memref.type.get_shape()
    size = prod(64 if n == DYNAMIC_INDEX else n for n in shape) * bits_of(alloc.memref.type.element_type) // 8
    room = cpu.l2_bytes // PART_SHARE
    for loop in [*enclosing_loops(tiles), tiles]:
        if any(loop.iv in load.indices.operands for load in loads):
            size //= max(1, largest_extent(loop) or 64)
        if size > room:
            continue
        if slides(loop, terms, loads):
            blocks, inner = in_blocks(loop, _block(largest_extent(loop), room // max(1, size)), steps)
            loop, tiles = blocks, inner if loop is tiles else tiles
        steps.attempt(compute_at, alloc, loop, storage="here")
        return tiles
    return tiles


def _block(extent: int | None, most: int) -> int:
    """Iterations of a block: a divisor of them all where one is large enough."""
    if extent is None:
        return min(most, 8)
    most = max(1, min(most, extent))
    return next((k for k in range(most, most // 2, -1) if extent % k == 0), most)


def _share(around: Sequence[ForOp], share: Callable[[ForOp, Steps], None], steps: Steps) -> None:
    """Give the outermost loop with enough iterations to the threads."""
    for loop in sorted(around, key=lambda loop: (largest_extent(loop) or FEW) < FEW):
        if why_not_parallel(loop) is None:
            return share(loop, steps)
