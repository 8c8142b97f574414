"""Sums over several loops on the CPU (convolutions): nest-schedule-cpu's tiles of sums, block by block of the result.

    ... %p, the image with a border, is written
    ... %t is filled with zeros
    nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
      nest.for "u" ... nest.for "v" ... nest.for "c" ...
        nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %p[%b, %i + %u, %j + %v, %c] and %w[%u, %v, %c, %k]
    ... %y is computed from %t
  becomes
    ... %w is copied, the lanes of a tile side by side
    nest.for "b" ... parallel {
      nest.for "i.o" ... {                                    // a block of rows: what follows is in the cache
        ... the rows of %p that the block reads
        ... zeros in the rows of %t
        nest.for "i.i" ... nest.for "j.o" ... nest.for "k.o" ... {   // "k.o" outside where weights are many
          nest.for "u" ... nest.for "v" ... nest.for "c" ... {
            nest.for "j.i" ... unrolled {                       // a tile of sums, in registers
              nest.for "k.i" ... vectorized {
        ... the rows of %y

Lanes move along the contiguous axis of the result, with the operand that is copied (the weights); the rows of a tile
are another axis of the result, along which only the other operand moves: each of its elements is in all lanes. So
neither strides nor gaps of the window matter, nor whether channels come first or last. Any reduction by a named
combiner over several loops is tiled so when its operands move in this way; over one loop where the same weights serve
two more axes (windows of one element), else it is a product of matrices (patterns/products.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import (
    enclosing_loops,
    is_inside,
    loops_in,
    parent_loop,
    perfect_band,
    sole_inner_loop,
)
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.frozen_buffers import is_computed_once
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp, LoadOp
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import why_not_split
from ...nest.mapping.parallel import why_not_parallel
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.prefetch import prefetch
from ...nest.memory.resize_buffer import resize_buffer
from ...nest.memory.transform_layout import transform_layout, why_not_transform_layout
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.convolutions import Convolution
from ..patterns.costs import machine_lanes, padded_width
from ..patterns.sum_neighbours import even_shares, in_blocks, in_tiles, initial_nest
from ..patterns.tiles import mark_lanes, mark_unrolled, pattern_in
from .bf16_terms import Pairs, in_pairs, is_in_pairs, paired_layout
from .convolution_blocks import in_cache

MOST_ROWS = 14
"""Maximum number of rows of a tile: each has an address of its own, for which there are 16 registers."""

PANEL_AHEAD, IMAGE_AHEAD = 16, 2
"""Terms ahead of which the panel and the image are fetched, by measurement: longer than the second-level cache takes. All
threads read the panel, and what several cores read does not stay in the cache of each: it takes longer."""

MANY_WEIGHTS = 1 << 20
"""Bytes of weights whose copy takes long enough for threads to wait for each other: the axes of the window are few."""

CACHE_SHARE = 2
"""The part of the second-level cache for a panel of weights: it stays there while the rows of a block pass."""


@dataclass(frozen=True)
class Shape:
    """Rows of a tile and machine vectors of a row."""

    rows: int
    vectors: int


@dataclass(frozen=True, eq=False)
class Tiles:
    """The loops over the tiles of a block, and those over the rows and columns of what is in a tile, the sums last."""

    rows: int
    width: int
    row: ForOp
    column: ForOp
    inner: list[tuple[ForOp, ForOp]]


# ---- the tile ---------------------------------------------------------------------------------------


def tile_shape(rows: int | None, columns: int | None, lanes: int, registers: int) -> Shape:
    """The tile that takes the fewest cycles for a result of this many rows and columns.

    A term is `rows + vectors` loads and `rows * vectors` multiply-adds, two of each a cycle; with fewer than ten
    sums each addition waits for the one before. One register is left for what is in all lanes. Among equals the one
    with the fewest loads, of which those of whole vectors come from farther away.

    >>> tile_shape(56, 64, 16, 32), tile_shape(7, 64, 16, 32), tile_shape(None, None, 8, 16)
    (Shape(rows=14, vectors=2), Shape(rows=7, vectors=2), Shape(rows=6, vectors=2))
    """
    best, least = Shape(1, 1), None
    for vectors in (1, 2, 4):  # LLVM takes a sum of three registers to pieces
        most = min(MOST_ROWS, (registers - 1 - vectors) // vectors)
        for height in range(1, most + 1):
            tiles = (-(-rows // height) if rows else 16 / height) * (
                -(-columns // (vectors * lanes)) if columns else 16 / vectors
            )
            cost = tiles * max(height * vectors / 2, (height + vectors) / 2, 5)
            loads = tiles * (height + 4 * vectors)
            if least is None or (cost, loads) < least:
                best, least = Shape(height, vectors), (cost, loads)
    return best


def tile_convolution(
    sum_: Convolution,
    cpu: Cpu,
    share: Callable[[ForOp, Steps], None] | None,
    rest: Callable[[ForOp], None],
    before: Callable[[ForOp], None],
    steps: Steps,
) -> bool:
    """Tile a convolution; False, and nothing changed, where a step is refused.

    `share` gives a loop to threads, `rest` schedules a nest that stands
    beside the tiles, `before` one that is before all of them: the copy of the weights, which threads share.
    """
    lanes = machine_lanes(sum_.column, cpu.vector_bits)
    shape = tile_shape(largest_extent(sum_.row), largest_extent(sum_.column), lanes, cpu.registers)
    width = shape.vectors * lanes
    if not _is_legal(sum_, shape.rows, width):
        return False
    is_paired, is_kept = _pairs_last(sum_, cpu), _is_panel_kept(sum_, width, cpu)
    tiles = _tile(sum_, shape.rows, width, steps)
    place = in_cache(sum_, tiles, cpu, steps)
    if place is None:
        place = tiles.column
        _keep_sums(sum_, tiles, width, steps)
    elif isinstance(alloc := sum_.result.owner, AllocOp):
        _fill_vectors(alloc, width, steps)
    pairs = in_pairs(sum_.terms[-1], steps) if is_paired else None
    if pairs is not None:
        sum_.terms[-1] = pairs.outer
    outermost = enclosing_loops(sum_.sums)[0]
    if share is not None and why_not_parallel(outermost) is None:
        both = [loop for pair in tiles.inner for loop in pair]
        inner = [place, tiles.row, tiles.column, *sum_.terms, *both]
        outermost = even_shares(outermost, inner, steps)
        share(outermost, steps)
    unit = steps.do(add_unit_loop, outermost)
    for buffer in dict.fromkeys(load.memref for load in sum_.panels):
        _pack(sum_, tiles, pairs, buffer, unit, width, before, share, steps)
    if why_not_remove_unit_loop(unit) is None:
        steps.do(remove_unit_loop, unit)
    last = [pairs.rest[1:]] if pairs is not None and pairs.rest else []
    for row, column in [*last, *tiles.inner]:
        mark_lanes(column, width, steps)
        mark_unrolled(row, steps)
    if pairs is not None:
        pairs.mark(steps)
    _fetch(sum_, row, steps)
    if place is not tiles.column:
        _mark_reader(place, lanes, steps)
    if is_kept:
        _stay_with_panel(place, steps)
    for loop in enclosing_loops(place):
        for op in list(loop.body.block.ops):
            if isinstance(op, ForOp) and not is_inside(sum_.sums, op):
                rest(op)
    if place is tiles.column and why_not_remove_unit_loop(place) is None:
        steps.do(remove_unit_loop, place)
    return True


def _pairs_last(sum_: Convolution, cpu: Cpu) -> bool:
    """Whether two terms are a step for the processor: that axis, side by side in the image, becomes the last one."""
    if not is_in_pairs(sum_.sums, cpu) or len(sum_.images) != 1:
        return False
    (image,) = sum_.images
    near = [loop for loop in sum_.terms if pattern_in(image, image.memref, loop) == UNIT]
    if len(near) == 1:
        sum_.terms[:] = [*(loop for loop in sum_.terms if loop is not near[0]), *near]
    return len(near) == 1


def _is_legal(sum_: Convolution, rows: int, width: int) -> bool:
    """Whether the first steps are: splits, and an order that any order of a sum allows."""
    if any(
        why_not_split(loop, k, "mask") is not None for loop, k in ((sum_.row, rows), (sum_.column, width))
    ):
        return False
    order = [*sum_.outer, *sum_.terms, sum_.row, sum_.column]
    return why_not_reorder(order, new_bounds=False) is None


def _tile(sum_: Convolution, rows: int, width: int, steps: Steps) -> Tiles:
    """Tiles of the sum, and in each of them the first values of its sums where these are stored right before."""
    band = [*sum_.outer, sum_.row, sum_.column, *sum_.terms]
    first, size = initial_nest(sum_.sums, [*sum_.outer, sum_.row, sum_.column]), len(sum_.outer) + 2

    def both(*loops: ForOp) -> None:
        _tile_both(list(loops[:size]), list(loops[size:]), rows, width, UNRECORDED)

    if first is not None:
        try:
            trial(both, *first, *band)
        except NestorError:
            first = None
    if first is not None:
        around, *tiles, first_tile, tile = _tile_both(first, band, rows, width, steps)
        sum_.outer[:] = around
        return Tiles(rows, width, *tiles, [first_tile, tile])  # pyright: ignore
    *_, row_tiles, column_tiles, row, column = _tile_one(band, size, rows, width, steps)
    return Tiles(rows, width, row_tiles, column_tiles, [(row, column)])


def _tile_one(band: list[ForOp], size: int, rows: int, width: int, steps: Steps) -> tuple[ForOp, ...]:
    """Tiles of the last two of `size` loops over elements, with the loops over terms in them."""
    if perfect_band(enclosing_loops(band[-1].body.block.first_op)[0]) != band:  # pyright: ignore
        steps.do(reorder, band)
    outer, (row, column), terms = band[: size - 2], band[size - 2 : size], band[size:]
    row_tiles, row = in_tiles(row, rows, steps)
    column_tiles, column = in_tiles(column, width, steps)
    steps.do(reorder, [*outer, row_tiles, column_tiles, *terms, row, column])
    return (*outer, row_tiles, column_tiles, row, column)


def _tile_both(first: list[ForOp], band: list[ForOp], rows: int, width: int, steps: Steps):
    """The same tiles of two nests, which are then fused: the outer loops, the tiles, and what is in these of each."""
    size = len(first)
    *firsts, first_row, first_column = _tile_one(first, size, rows, width, steps)
    *seconds, row, column = _tile_one(band, size, rows, width, steps)
    loops = [steps.do(fuse, one, other) for one, other in zip(firsts, seconds, strict=True)]
    return loops[:-2], *loops[-2:], (first_row, first_column), (row, column)


def _keep_sums(sum_: Convolution, tiles: Tiles, width: int, steps: Steps) -> None:
    """A tile of sums stays in registers; it starts from what is stored first, or from the identity, to be added."""
    for init in ("load", "identity") if len(tiles.inner) > 1 else ("identity",):
        if (
            made := steps.attempt(cache_write, sum_.result, tiles.column, init=init, name="sums")
        ) is not None:
            sums, *copies = made
            break
    else:
        return
    _fill_vectors(sums, width, steps)
    for copy in copies:
        if copy is not None:
            *rows, lane = loops_in(copy)
            mark_lanes(lane, width, steps)
            for loop in rows:
                mark_unrolled(loop, steps)


def _fill_vectors(sums: AllocOp, width: int, steps: Steps) -> None:
    """Let rows of a buffer of sums be whole vectors: with elements for all lanes, it stays in registers under a mask too."""
    *_, columns = sums.memref.type.get_shape()
    if 0 <= columns < width:
        steps.attempt(resize_buffer, sums, dimension=len(sums.memref.type.get_shape()) - 1, size=width)


def _pack(
    sum_: Convolution,
    tiles: Tiles,
    pairs: Pairs | None,
    buffer: SSAValue,
    around: ForOp,
    width: int,
    before: Callable[[ForOp], None],
    share: Callable[[ForOp, Steps], None] | None,
    steps: Steps,
) -> None:
    """Copy an operand that moves with the lanes, the lanes of a tile side by side, in the order of the terms; one that each
    call copies in its own order."""
    load = next((op for op in around.walk() if isinstance(op, LoadOp) and op.memref is buffer), None)
    if load is None or why_not_cache_read(buffer, around) is not None:
        return
    places = {loop.iv: k for k, loop in enumerate(sum_.terms)}
    columns = {loop.iv for loop in (tiles.column, tiles.inner[-1][1])}
    rank = len(load.indices)

    def place(axis: int) -> int:
        operands = load.indices[axis].operands
        if not set(operands).isdisjoint(columns):
            return len(places)
        return max((places.get(value, -1) for value in operands), default=-1)

    axes = tuple(sorted(range(rank), key=place))
    if not is_computed_once(
        buffer
    ):  # as it lies in memory: long stretches are read, which takes half the time
        axes = tuple(sorted(range(rank), key=lambda axis: place(axis) == len(places)))
    panel, copy = steps.do(cache_read, buffer, around, axes=axes, name="panel")
    if copy is None:
        return
    shape, lane = panel.memref.type.get_shape(), loops_in(copy)[-1]
    names = [f"d{k}" for k in range(len(shape))]
    layout = f"{' '.join(names)} -> {names[-1]}/{width} {' '.join(names[:-1])} {names[-1]}%{width}"
    copies, own = [(copy, lane)], None
    if pairs is not None and (term := pairs.axis_in(panel, around)) is not None:
        layout = paired_layout(names, len(names) - 1, term, width)
        loop = loops_in(copy)[term]
        own = in_pairs(loop, steps)
        if own is not None:
            copies = [(own.outer if loop is copy else copy, lane)]
            copies += [(own.rest[0], own.rest[-1])] if own.rest else []
    for k, (nest, lane) in enumerate(copies):
        if why_not_split(lane, width, "clamp") is None:
            copies[k] = (nest, in_blocks(lane, width, steps)[1])
    if (own is not None or shape[-1] != width) and why_not_transform_layout(panel, layout) is None:
        panel = steps.do(transform_layout, panel, layout=layout)
    is_large = prod(shape) * element_bytes(panel.memref.type.element_type) >= MANY_WEIGHTS
    for nest, lane in copies:
        if _pattern_in(lane, buffer) != UNIT:
            before(nest)
            continue
        if own is not None and is_inside(own.pair, lane):
            mark_unrolled(own.pair, steps)
        mark_lanes(lane, width, steps)
        if share is not None and lane is not nest and why_not_parallel(nest) is None:
            share(even_shares(nest, loops_in(nest)[-2:], steps) if is_large else nest, steps)


def _fetch(sum_: Convolution, row: ForOp, steps: Steps) -> None:
    """Fetch ahead the lines of a tile that other terms do not share: the panel's, and an image's that lie along rows."""
    inner = sum_.terms[-1]
    loads = [op for op in row.walk() if isinstance(op, LoadOp)]
    for load in loads:
        is_image = row.iv in load.indices.operands
        if is_image and pattern_in(load, load.memref, row) != UNIT:
            continue
        distance, buffer = IMAGE_AHEAD if is_image else PANEL_AHEAD, root_of(load.memref)
        steps.attempt(prefetch, buffer, inner, distance=distance, whole=True)


def _is_panel_kept(sum_: Convolution, width: int, cpu: Cpu) -> bool:
    """Whether the weights of a tile have room in the cache, and those of all columns have not."""
    extents = [largest_extent(loop) for loop in (*sum_.terms, sum_.column)]
    if None in extents:
        return False
    *terms, columns = [n for n in extents if n is not None]
    panel = prod(terms) * element_bytes(sum_.panels[0].result.type)
    return panel * width <= cpu.l2_bytes // CACHE_SHARE < panel * columns


def _stay_with_panel(place: ForOp, steps: Steps) -> None:
    """Do all rows of a block with the columns of a tile, whose weights stay in the cache, then those of the next.

    Else all weights come from farther away for each row: 18 bytes a cycle for images of 7 x 7 pixels.
    """
    band = [place]
    while len(band) < 3 and (around := parent_loop(band[0])) is not None:
        if around.kind != "serial" or sole_inner_loop(around) is not band[0]:
            break
        band.insert(0, around)
    order = [place, *band[:-1]]
    if len(band) > 1 and why_not_reorder(order, new_bounds=False) is None:
        steps.do(reorder, order)


def _mark_reader(place: ForOp, lanes: int, steps: Steps) -> None:
    """The tile of what reads the result is as the last nest in `place`: its sums are in registers."""
    last = place.body.block.last_op
    if isinstance(last, ForOp):
        other, lane = loops_in(last)
        mark_lanes(lane, padded_width(largest_extent(lane) or lanes, lanes), steps)
        mark_unrolled(other, steps)


def _pattern_in(loop: ForOp, buffer: SSAValue) -> str:
    """How the load of a buffer in a loop that copies it moves."""
    loads = [op for op in loop.walk() if isinstance(op, LoadOp) and op.memref is buffer]
    return pattern_in(loads[0], buffer, loop) if loads else INVARIANT
