"""Elementwise nests on the GPU: nest-schedule-cuda's blocks of threads that move 16 bytes at a time.

    nest.for "i" %i = 0 to 10000000 {
      %a = nest.load %x[%i] : memref<10000000xf32>
      %b = arith.mulf %a, %a : f32
      nest.store "y" %b, %y[%i] : memref<10000000xf32>
  becomes
    nest.for "i.o.o" ... 0 to 2442 bind "block.x" {
      nest.for "i.o.i.i" ... 0 to 256 bind "thread.x" {       // neighbours read neighbours
        nest.for "i.o.i.o" ... 0 to 4 unrolled {              // 64 bytes of each thread in flight
          nest.for "i.i" ... 0 to 4 vectorized(4) {
            ... where (...)

and where rows are not one piece of memory (a bias, a row and a column, a view)

    nest.for "i.o" ... bind "block.y" {                       // two axes of the grid, and no division
      nest.for "j.o.o" ... bind "block.x" {
        nest.for "i.i.i" ... 0 to 8 bind "thread.y" {
          nest.for "j.o.i" ... 0 to 32 bind "thread.x" {
            nest.for "i.i.o" ... 0 to 4 unrolled {            // what is the same in all rows is loaded once for these
              nest.for "j.i" ... 0 to 4 vectorized(4) {

What decides, in this order:

* The innermost loop is the one along which most is contiguous, loops that memory lets be one are one (nest-flatten).
* Lanes: 16 bytes of the widest element that lies along that loop, so many of all operands (8 bytes of f16 beside f32). Fewer
  where rows do not begin at multiples of that, none where something is read across, backwards, shifted by an element, or
  gathered: threads side by side are then neighbours in all of it, lanes would not be. Fewer, too, where the array is small:
  a block for each of the 132 multiprocessors of an H100 comes first.
* Threads: 256 a block, along the innermost loop first; rows share a block where they are short.
* Vectors in flight: as many as make 64 bytes of what a thread reads, at most 4; in rows also where something is the same
  in all of them. Only where eight blocks for each multiprocessor are left, and one where doubles are divided
  or a function of them is computed; at most 2 where that is done to floats, twice or more, in rows of unknown length.

Tiles of less than a warp, as windows are, are one after the other: the threads are those of the loops around them.
Few rows that are read across (a table of triples, transposed) are all the same thread's: what it reads lies side by side.
Extents known at run time only count as large. nvFuser's pointwise scheduler decides by the same quantities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod

from xdsl.dialects.builtin import MemRefType, f64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.machine import ACCESS_BYTES, Gpu
from ....analysis.nest.buffers import element_bytes, strides_of
from ....analysis.nest.loop_structure import loops_in, perfect_band, sole_inner_loop
from ....analysis.nest.sets.access_patterns import (
    INVARIANT,
    SCATTERED,
    SEVERAL,
    UNIT,
    buffer_accesses,
    pattern_of,
    varying_values,
)
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import LANES, ForOp, LoadOp, StoreOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize, why_not_lanes
from ...nest.memory.cache_write import cache_write
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import mark_unrolled
from .grid import blocks_of, grid_axes, joined, make_perfect, row_width, tile_width
from .transposes import FEWEST

IN_FLIGHT = 64
"""Bytes that a thread reads before it computes: 32 to 64 KiB for a multiprocessor hide the latency of memory."""

MOST_UNROLLED = 4

_LONG = ("math.", "arith.divf")
"""Operations that are subroutines for doubles, and for some floats."""

MANY_THREADS = 128
"""Iterations of loops around small tiles that are threads of one block, at least, where there are so many."""

BLOCKS_LEFT = 8
"""Minimum number of blocks for threads to take more than one vector: this many of 256 threads run at the same time."""


# ---- what is moved ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Traffic:
    """What statements move along their innermost loop: how many lanes a vector may have, and bytes read an iteration."""

    lanes: int
    bytes_read: int
    shared_by_rows: bool
    """Whether something that moves along the innermost loop is the same in all iterations of the loop around it."""
    is_across: bool
    """Whether something is scattered along the innermost loop and contiguous along the one around it."""
    most_unrolled: int
    """Vectors in flight at most: a function of doubles takes long, and the registers of many at once; several of
    floats, where the places of rows take registers as well, half as many."""


def traffic_of(band: Sequence[ForOp]) -> Traffic:
    """What the statements in a band move for an element."""
    column = band[-1]
    varying = varying_values(column)
    around = varying_values(band[-2]) if len(band) > 1 else set()
    lanes, widest, shared, is_across = ACCESS_BYTES, 1, False, False
    read: dict[tuple[SSAValue, AffineList], int] = {}
    for op, buffer in buffer_accesses(column):
        pattern = pattern_of(op.indices, buffer, column, varying)
        if pattern == INVARIANT:
            continue
        assert isinstance(buffer.type, MemRefType)
        size = element_bytes(buffer.type.element_type)
        widest = max(widest, size)
        lanes = gcd(lanes, _aligned(op.indices, buffer, column)) if pattern == UNIT else 1
        if pattern == SCATTERED and len(band) > 1:
            is_across |= pattern_of(op.indices, buffer, band[-2], around) == UNIT
        if isinstance(op, LoadOp):
            read[buffer, op.indices] = size
            shared |= len(band) > 1 and not around.intersection(op.indices.operands)
    lanes = min(lanes, ACCESS_BYTES // widest)
    return Traffic(max(1, lanes), sum(read.values()), shared, is_across, _most_unrolled(band))


def _most_unrolled(band: Sequence[ForOp]) -> int:
    """How many vectors in flight leave registers for what is computed of each."""
    subroutines = [op.results[0].type for op in band[-1].body.walk() if op.name.startswith(_LONG)]
    if f64 in subroutines:
        return 1
    places = None in [extent_of(loop) for loop in band[1:]]
    return MOST_UNROLLED // 2 if places and len(subroutines) > 1 else MOST_UNROLLED


def _aligned(indices: AffineList, buffer: SSAValue, column: ForOp) -> int:
    """How many elements the first lane's place is a multiple of, as far as that is known; what is not, the host checks."""
    found = ACCESS_BYTES
    for axis, stride in enumerate(strides_of(buffer.type)):  # pyright: ignore[reportArgumentType]
        index = indices[axis]
        terms, constant = linear_terms(index.exprs[0])
        steps = [
            factor
            for atom, factor in terms.items()
            if not (isinstance(atom, AffineDimExpr) and index.operands[atom.position] is column.iv)
        ]
        multiple = gcd(constant, *steps)
        if stride is not None:
            found = gcd(found, multiple * stride)
    return found


# ---- schedules --------------------------------------------------------------------------------------


def bind_pointwise(band: list[ForOp], block: int, gpu: Gpu, steps: Steps) -> bool:
    """Bind a perfect band of independent loops around statements; False (and nothing changed) where it is none."""
    is_perfect = all(sole_inner_loop(one) is two for one, two in pairwise(band))
    if not is_perfect or len(loops_in(band[0])) != len(band):
        return False
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return False
    if any(why_not_split(loop, 2, "mask") is not None for loop in band[-2:]):
        return False
    band = _contiguous_innermost(band, steps)
    _store_once(band[-1], steps)
    if len(band) == 1:
        _bind_line(band[0], block, gpu, steps)
        return True
    outer = band[:-2]
    if any(extent_of(loop) is None for loop in outer[1:]):
        return False
    outer, row = _rows_of_small_tiles(outer, band[-2], band[-1], steps)
    return _bind_rows(outer, row, band[-1], block, gpu, steps)


def _rows_of_small_tiles(
    outer: list[ForOp], row: ForOp, column: ForOp, steps: Steps
) -> tuple[list[ForOp], ForOp]:
    """The loops around rows, and the rows. Where the two innermost loops have less than a warp of iterations (a
    window of 2 x 2), threads are those of the loops around them."""
    tile = [extent_of(row), extent_of(column)]
    if not outer or None in tile or prod(n for n in tile if n is not None) >= LANES:
        return outer, row
    order = [row, *outer, column]
    if why_not_reorder(order, new_bounds=False) is not None:
        return outer, row
    steps.do(reorder, order)
    last = len(outer) - 1
    while last > 0 and prod(extent_of(loop) or 1 for loop in outer[last:]) < MANY_THREADS:
        last -= 1
    return [row, *outer[:last]], joined(outer[last:], steps)[0]


def _store_once(column: ForOp, steps: Steps) -> None:
    """Let an element that several statements write (a border, and what is in it) be in a register until it is stored."""
    stores = [op for op in column.body.block.ops if isinstance(op, StoreOp)]
    for first in stores:
        again = [op for op in stores if op.memref is first.memref]
        if first is again[0] and len(again) > 1 and all(op.indices == first.indices for op in again):
            steps.attempt(cache_write, first.memref, column, space="local", name="element")


def _contiguous_innermost(band: list[ForOp], steps: Steps) -> list[ForOp]:
    """The band with the loop innermost along which the fewest accesses are not contiguous; stores count twice."""
    innermost = min(reversed(band), key=_apart)
    order = [*(loop for loop in band if loop is not innermost), innermost]
    if innermost is band[-1] or why_not_reorder(order, new_bounds=False) is not None:
        return band
    steps.do(reorder, order)
    return order


def _apart(loop: ForOp) -> int:
    varying = varying_values(loop)
    patterns = [(pattern_of(op.indices, buffer, loop, varying), op) for op, buffer in buffer_accesses(loop)]
    return sum(
        1 if isinstance(op, LoadOp) else 2 for pattern, op in patterns if pattern in (SCATTERED, SEVERAL)
    )


def _bind_line(loop: ForOp, block: int, gpu: Gpu, steps: Steps) -> None:
    """One loop: blocks of threads of vectors."""
    traffic = traffic_of([loop])
    lanes = _lanes(loop, traffic)
    width = row_width(_vectors(loop, lanes), block)
    while lanes > 1 and _is_below(blocks_of(loop, width * lanes), gpu.multiprocessors):
        lanes //= 2
        width = row_width(_vectors(loop, lanes), block)
    unrolled = 1
    while (
        2 * unrolled <= traffic.most_unrolled
        and 2 * unrolled * lanes * traffic.bytes_read <= IN_FLIGHT
        and not _is_below(blocks_of(loop, 2 * unrolled * lanes * width), BLOCKS_LEFT * gpu.multiprocessors)
    ):
        unrolled *= 2
    blocks, threads, vector = _columns(loop, width * unrolled, lanes, steps)
    if unrolled > 1:
        copies, threads = steps.do(split, threads, factor=width, tail="perfect")
        make_perfect(copies, steps)
        steps.do(reorder, [threads, copies])
        mark_unrolled(copies, steps)
    _bind_all([blocks], ["block.x"], [threads], steps)
    _vectorize(vector, lanes, steps)


def _bind_rows(outer: list[ForOp], row: ForOp, column: ForOp, block: int, gpu: Gpu, steps: Steps) -> bool:
    """Rows and columns: tiles of threads; False (and nothing changed) where the grid would be too large."""
    traffic = traffic_of([row, column])
    counts = [extent_of(loop) for loop in outer]
    around = None if None in counts else prod(n for n in counts if n is not None)

    extent = extent_of(row)
    few = extent if traffic.is_across and extent is not None and 1 < extent < FEWEST else None

    def shape(lanes: int) -> tuple[int, int]:
        width = tile_width(_vectors(column, lanes), block)
        return width, 1 if few is not None else row_width(extent, block // width)

    def blocks(lanes: int, unrolled: int) -> int | None:
        width, height = shape(lanes)
        parts = [around, blocks_of(row, height * unrolled), blocks_of(column, width * lanes)]
        return None if None in parts else prod(n for n in parts if n is not None)

    lanes = _lanes(column, traffic)
    while lanes > 1 and _is_below(blocks(lanes, 1), gpu.multiprocessors):
        lanes //= 2
    unrolled = 1
    while (
        2 * unrolled <= traffic.most_unrolled
        and (extent is None or unrolled * shape(lanes)[1] < extent)
        and (traffic.shared_by_rows or 2 * unrolled * lanes * traffic.bytes_read <= IN_FLIGHT)
        and not _is_below(blocks(lanes, 2 * unrolled), BLOCKS_LEFT * gpu.multiprocessors)
    ):
        unrolled *= 2
    unrolled = few or (1 if extent == 1 else unrolled)
    width, height = shape(lanes)
    counts = [
        *([around] if outer else []),
        blocks_of(row, height * unrolled),
        blocks_of(column, width * lanes),
    ]
    axes = grid_axes(counts)
    if axes is None or why_not_reorder([row, column], new_bounds=False) is not None:
        return False
    copies, rows = [], []
    if height * unrolled > 1:
        row, inner = steps.do(split, row, factor=height * unrolled, tail="mask")
        copies, rows = ([inner], []) if height == 1 else ([], [inner])
        if height > 1 and unrolled > 1:
            copies, rows = ([one] for one in steps.do(split, inner, factor=height, tail="perfect"))
    column_blocks, column, vector = _columns(column, width, lanes, steps)
    make_perfect(row, steps)
    order = [row, column_blocks, *rows, column, *copies]
    if perfect_band(row)[: len(order)] != order:
        steps.do(reorder, order)
    for loop in copies:
        mark_unrolled(loop, steps)
    _bind_all([*joined(outer, steps), row, column_blocks], axes, [*rows, column], steps)
    _vectorize(vector, lanes, steps)
    return True


def _lanes(loop: ForOp, traffic: Traffic) -> int:
    return traffic.lanes if why_not_lanes(loop, Dependences(loop), in_kernel=True) is None else 1


def _vectors(loop: ForOp, lanes: int) -> int | None:
    """How many vectors the iterations of a loop are."""
    return blocks_of(loop, lanes)


def _is_below(count: int | None, limit: int) -> bool:
    return count is not None and count < limit


def _columns(loop: ForOp, width: int, lanes: int, steps: Steps) -> tuple[ForOp, ForOp, ForOp]:
    """A loop as blocks of `width` threads with vectors of `lanes` elements: one for each, the last the threads' for 1 lane.

    Where whole vectors are certain, threads are masked and not elements.
    """
    if lanes > 1 and (extent_of(loop) or 1) % lanes == 0:
        vectors, lane = steps.do(split, loop, factor=lanes, tail="perfect")
        blocks, threads = steps.do(split, vectors, factor=width, tail="mask")
        return blocks, threads, lane
    blocks, threads = steps.do(split, loop, factor=width * lanes, tail="mask")
    if lanes == 1:
        return blocks, threads, threads
    threads, lane = steps.do(split, threads, factor=lanes, tail="perfect")
    return blocks, threads, lane


def _vectorize(loop: ForOp, lanes: int, steps: Steps) -> None:
    """Mark the lanes, where there are some."""
    if lanes > 1:
        steps.do(vectorize, loop, width=lanes)


def _bind_all(blocks: Sequence[ForOp], axes: Sequence[str], threads: Sequence[ForOp], steps: Steps) -> None:
    """Bind loops that are parts of loops found independent."""
    names = [*axes, *["thread.y", "thread.x"][-len(threads) :]]
    for loop, axis in zip([*blocks, *threads], names, strict=True):
        steps.do(bind, loop, axis=axis)
