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
from itertools import pairwise
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, MemRefType
from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside, parent_loop, perfect_band
from ....analysis.nest.values.powers_of_two import power_above
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....lowering.nest_to_scf.interleaved_loads import MOST as MOST_APART
from ...nest.loops.distribute import distribute
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.unmask import unmask
from ...nest.mapping.parallel import why_not_parallel
from ...nest.memory.cache_write import cache_write
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.sink_alloc import sink_alloc
from ...nest.producers.compute_at import compute_at
from ...nest.producers.reverse_compute_inline import reverse_compute_inline
from ..patterns.access_patterns import (
    INVARIANT,
    UNIT,
    bits_of,
    extent_of,
    growth_of,
    machine_lanes,
    varying_values,
)
from ..patterns.steps import Steps
from ..patterns.sum_neighbours import borders_of, in_blocks, in_tiles, initial_nest, reading_band
from ..patterns.tiles import axes_of, mark_lanes, mark_unrolled, pattern_in, sum_in
from .convolutions import Shape, tile_shape

PART_BYTES = 256 << 10
"""What an iteration reads of an image with a border is made right before where it is no more: a part of a private cache."""

MOST_ROWS = 4
"""Rows of a tile whose windows overlap: the most that is loaded once for several of them."""

MOST_VECTORS = 4
"""Vectors of a row of a tile."""

MOST_UNROLLED = 16
"""Iterations of a loop over terms that stand side by side, with others in them."""

MOST_UPDATES = 200
"""Updates of vectors in a tile that stand side by side."""

FEWEST_LANES = 4
"""Results side by side below which most lanes would be idle."""

FEW = 4
"""Iterations that threads do not share evenly enough."""


@dataclass(frozen=True, eq=False)
class Windows:
    """A reduction over windows: the loops over results, those over terms, and what reads the results next."""

    results: list[ForOp]
    terms: list[ForOp]
    units: list[ForOp]
    """Loops of one iteration, of either kind."""
    sums: AccumulateOp
    loads: list[LoadOp]
    column: ForOp
    result: SSAValue
    """The buffer that holds the results when the nest has run."""
    reader: list[ForOp] | None
    """The loops of the only nest that reads it, where there is one."""

    @property
    def moving(self) -> list[LoadOp]:
        """The loads that differ by lane."""
        return [load for load in self.loads if pattern_in(load, load.memref, self.column) != INVARIANT]


@dataclass(frozen=True, eq=False)
class Tiles:
    """The innermost loop over tiles, the rows and lanes of what is done in one (set, reduce, read), and the terms."""

    innermost: ForOp
    parts: list[list[ForOp]]
    terms: list[ForOp]


# ---- what is a reduction over windows -----------------------------------------------------------------


def windows_in(nest: ForOp, is_staged: bool = False) -> Windows | None:
    """The reduction over windows that a nest computes, None when it is something else.

    Where what it reads `is_staged` in tiles, lanes may be anywhere.
    """
    found = _reduction_in(nest)
    if found is None:
        return None
    all_results, all_terms, loads, sums, write = found
    results, terms = _several(all_results), _several(all_terms)
    if not results or not terms or not _are_windows(results, terms, loads):
        return None
    result, reader = write.memrefs[0] if isinstance(write, AccumulateOp) else write.memref, None
    columns = [loop for loop in results if pattern_in(write, result, loop) == UNIT]
    if (order := _order_of_reader(nest, result, write.indices, results)) is not None:
        reader, results = order
        stores = [op for op in reader[-1].body.block.ops if isinstance(op, StoreOp)]
        columns = [
            loop
            for loop, other in zip(results, reader, strict=True)
            if stores and all(pattern_in(op, op.memref, other) == UNIT for op in stores)
        ]
    if len(columns) != 1 or not (is_staged or all(_has_lanes(load, columns[0]) for load in loads)):
        return None
    lanes = extent_of(columns[0])
    units = [loop for loop in (*all_results, *all_terms) if extent_of(loop) == 1]
    windows = Windows(results, terms, units, sums, loads, columns[0], result, reader)
    return windows if windows.moving and (lanes is None or lanes >= FEWEST_LANES) else None


def _several(loops: Sequence[ForOp]) -> list[ForOp]:
    return [loop for loop in loops if extent_of(loop) != 1]


def _reduction_in(
    nest: ForOp,
) -> tuple[list[ForOp], list[ForOp], list[LoadOp], AccumulateOp, AccumulateOp | StoreOp] | None:
    """The loops over results and over terms, the loads, the only reduction of a nest, and what writes its results."""
    found = [op for op in nest.walk() if isinstance(op, AccumulateOp)]
    if len(found) != 1:
        return None
    sums = found[0]
    loops = enclosing_loops(sums)
    if any(loop.kind != "serial" or loop.lower.constants() != (0,) or loop.step_value != 1 for loop in loops):
        return None
    if is_private(sums, nest):
        around = parent_loop(sums.memrefs[0].owner)  # pyright: ignore
        assert around is not None
        results, terms = loops[: loops.index(around) + 1], loops[loops.index(around) + 1 :]
        stores = [op for op in around.body.block.ops if isinstance(op, StoreOp)]
        written = [op for op in stores if op.memref is not sums.memrefs[0]]
        others = [op for op in around.body.block.ops if op.regions and op not in terms]
        if perfect_band(nest) != results or others or len(written) != 1 or len(stores) != 2:
            return None
        write = written[0]
    else:
        terms = [loop for loop in loops if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT]
        results = [loop for loop in loops if loop not in terms]
        if perfect_band(nest) != loops:
            return None
        write = sums
    own = axes_of(write.indices)
    if not terms or own is None or any(loop.iv not in own for loop in _several(results)):
        return None
    accesses = sum_in(perfect_band(terms[0]) if is_private(sums, nest) else loops)
    if accesses is None or any(extent_of(loop) is None for loop in terms):
        return None
    return results, terms, accesses[0], sums, write


def _are_windows(results: Sequence[ForOp], terms: Sequence[ForOp], loads: Sequence[LoadOp]) -> bool:
    """Whether some index moves with a result and with a term."""
    own, summed = {loop.iv for loop in results}, {loop.iv for loop in terms}
    return any(
        not own.isdisjoint(used) and not summed.isdisjoint(used)
        for load in loads
        for used in (load.indices[axis].operands for axis in range(len(load.indices)))
    )


def _order_of_reader(
    nest: ForOp, result: SSAValue, indices: AffineList, results: Sequence[ForOp]
) -> tuple[list[ForOp], list[ForOp]] | None:
    """The loops of the only nest that reads the results, and those over results that go with them, one for each."""
    reader = reading_band(nest, result)
    if reader is None:
        return None
    reads = [op for op in reader[-1].walk() if isinstance(op, LoadOp) and op.memref is result]
    own, axes = axes_of(indices), axes_of(reads[0].indices)
    if own is None or axes is None or any(read.indices != reads[0].indices for read in reads):
        return None
    found = {axes[own.index(loop.iv)]: loop for loop in results}
    order = [found[loop.iv] for loop in reader if loop.iv in found]
    return (reader, order) if len(order) == len(reader) == len(results) else None


def _has_lanes(load: LoadOp, column: ForOp) -> bool:
    """Whether the lanes of a load are one element, neighbours, or a few elements apart in a row."""
    if pattern_in(load, load.memref, column) in (INVARIANT, UNIT):
        return True
    assert isinstance(load.memref.type, MemRefType)
    indices, varying, last = load.indices, varying_values(column), len(load.indices) - 1
    moving = [k for k in range(len(indices)) if any(value in varying for value in indices[k].operands)]
    growth = growth_of(indices[last], column.iv, varying) if moving == [last] else None
    strides = load.memref.type.get_strides()
    return growth is not None and 1 < growth <= MOST_APART and strides is not None and strides[-1] == 1


# ---- one nest -----------------------------------------------------------------------------------------


def one_nest(windows: Windows, steps: Steps) -> list[ForOp] | None:
    """One nest that sets each result, reduces it in a buffer of its own, and reads it: its loops over results.

    The loop over lanes is the innermost. None where no nest sets the results.
    """
    sums, results = windows.sums, windows.results
    lane, buffer = results.index(windows.column), windows.result
    is_variable = is_private(sums, results[0])
    for loop in windows.units:
        steps.attempt(remove_unit_loop, loop)
    first = [] if is_variable else initial_nest(sums, results)
    if first is None:
        return None
    if is_variable and windows.reader and isinstance(buffer.owner, AllocOp):
        steps.do(reverse_compute_inline, buffer.owner)
    parts = [part for part in (first, results, [] if is_variable else windows.reader) if part]
    for part in parts:
        order = [*(loop for loop in part if loop is not part[lane]), part[lane]]
        summed = windows.terms if part is results and not is_variable else []
        part[:] = _nested([*order, *summed], steps)[: len(order)]
    joined = parts[0]
    for part in parts[1:]:
        joined = [steps.do(fuse, one, other) for one, other in zip(joined, part, strict=True)]
    if not is_variable and windows.reader and isinstance(buffer.owner, AllocOp):
        alloc = steps.do(sink_alloc, buffer.owner, joined[-1])
        for axis in range(len(alloc.memref.type.get_shape())):
            if why_not_resize_buffer(alloc, axis) is None:
                alloc = steps.do(resize_buffer, alloc, dimension=axis)
    elif not is_variable:
        steps.do(cache_write, buffer, joined[-1], init="load", name="sums")
    return joined


def is_private(sums: AccumulateOp, nest: ForOp) -> bool:
    """Whether a nest makes the buffer that it reduces into."""
    home = sums.memrefs[0].owner
    return isinstance(home, AllocOp) and is_inside(home, nest)


def _nested(order: list[ForOp], steps: Steps) -> list[ForOp]:
    """Nest loops in this order, unless they are."""
    if any(inner.parent_op() is not outer for outer, inner in pairwise(order)):
        steps.do(reorder, order)
    return order


# ---- tiles --------------------------------------------------------------------------------------------


def tile_windows(
    windows: Windows,
    vector_bits: int,
    share: Callable[[ForOp, Steps], None] | None,
    rest: Callable[[ForOp], None],
    steps: Steps,
) -> bool:
    """Tile a reduction over windows; False where a step is refused: what was done until then is no worse to schedule.

    `share` gives a loop to threads, `rest` schedules a nest that stands beside the tiles.
    """
    lanes, registers = machine_lanes(windows.terms[-1], vector_bits), 32 if vector_bits >= 512 else 16
    row, shape = _shape(windows, lanes, registers)
    width, borders = shape.vectors * lanes, borders_of(windows.sums, windows.moving)
    at = None if row is None else windows.results.index(row)
    try:
        results = one_nest(windows, steps)
        if results is None:
            return False
        lane = windows.results.index(windows.column)
        chosen = None if at is None else results[at - (at > lane)]
        made = _tile(results, chosen, Shape(shape.rows, width), windows, steps)
    except NestorError:
        return False
    tiles = made.innermost
    for alloc in borders:
        tiles = _make_part(alloc, tiles, windows.terms, steps)
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
    columns, others = extent_of(windows.column), [o for o in windows.results if o is not windows.column]
    for loop in reversed(others):
        if extent_of(loop) != 1 and all(
            pattern_in(load, load.memref, loop) == INVARIANT for load in windows.moving
        ):
            return loop, tile_shape(extent_of(loop), columns, lanes, registers)
    vectors = MOST_VECTORS if columns is None else min(MOST_VECTORS, -(-columns // lanes))
    vectors = power_above(vectors)
    for loop in reversed(others):
        extent = extent_of(loop)
        if extent is None or not slides(loop, windows.terms, windows.moving):
            continue
        rows = [k for k in range(min(MOST_ROWS, registers // vectors - 2), 1, -1) if extent % k == 0]
        return (loop, Shape(rows[0], vectors)) if rows else (None, Shape(1, vectors))
    return None, Shape(1, vectors)


def slides(loop: ForOp, terms: Sequence[ForOp], loads: Sequence[LoadOp]) -> bool:
    """Whether an index moves with the loop and with a term: windows that overlap, perhaps."""
    summed = {term.iv for term in terms}
    return any(
        loop.iv in used and not summed.isdisjoint(used)
        for load in loads
        for used in (load.indices[axis].operands for axis in range(len(load.indices)))
    )


def _tile(results: list[ForOp], row: ForOp | None, shape: Shape, windows: Windows, steps: Steps) -> Tiles:
    """Tiles of `shape.rows` and `shape.vectors` lanes. Raises what refuses a step."""
    *outer, column = results
    tiles, column = in_tiles(column, shape.vectors, steps)
    if row is not None:
        place = outer.index(row)
        outer[place], row = in_tiles(row, shape.rows, steps)
    inner = [column] if row is None else [row, column]
    _nested([*outer, tiles, *inner], steps)
    parts = [[column]]
    for loop in reversed(inner):
        first, others = steps.do(distribute, loop, after=1)
        second, third = steps.do(distribute, others, after=1)
        parts = (
            [[first], [second], [third]]
            if loop is column
            else [[one, *part] for one, part in zip((first, second, third), parts, strict=True)]
        )
    terms = sorted(windows.terms, key=lambda term: (extent_of(term) or 0) <= MOST_UNROLLED)
    _nested([*terms, *parts[1]], steps)
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
        updates *= extent_of(term) or 1
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


def _make_part(alloc: AllocOp, tiles: ForOp, terms: Sequence[ForOp], steps: Steps) -> ForOp:
    """Make a border around the part of an image that is read soon, where that fits into a private cache.

    Returns the innermost loop over tiles, which may be done in blocks now.
    """
    loads = [use.operation for use in alloc.memref.uses if isinstance(use.operation, LoadOp)]
    shape = alloc.memref.type.get_shape()
    size = prod(64 if n == DYNAMIC_INDEX else n for n in shape) * bits_of(alloc.memref.type.element_type) // 8
    for loop in [*enclosing_loops(tiles), tiles]:
        if any(loop.iv in load.indices.operands for load in loads):
            size //= max(1, extent_of(loop) or 64)
        if size > PART_BYTES:
            continue
        if slides(loop, terms, loads):
            blocks, inner = in_blocks(loop, _block(extent_of(loop), PART_BYTES // max(1, size)), steps)
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
    for loop in sorted(around, key=lambda loop: (extent_of(loop) or FEW) < FEW):
        if why_not_parallel(loop) is None:
            return share(loop, steps)
