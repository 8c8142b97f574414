"""Transposes on the GPU: nest-schedule-cuda's tiles that are read along one axis and written along another.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%j, %i] : memref<?x?xf32>
        nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
  becomes
    nest.for "i.o" ... bind "block.y" {
      nest.for "j.o" ... bind "block.x" {                     // a tile: 32 rows of %x, 32 elements of each
        %x_tile = nest.alloc "x_tile" : memref<32x33xf32, 3>  // a column more, so that columns lie in different banks
        nest.for ... 0 to 4 {
          nest.for ... 0 to 8 bind "thread.y" {
            nest.for ... 0 to 32 bind "thread.x" {            // neighbours read neighbours of %x
              ... nest.store %e, %x_tile[8 * %k + %r, %c] where (...)
        nest.for "i.i.o" ... 0 to 4 {
          nest.for "i.i.i" ... 0 to 8 bind "thread.y" {
            nest.for "j.i" ... 0 to 32 bind "thread.x" {      // neighbours write neighbours of %y
              %a = nest.load %x_tile[%c, 8 * %k + %r]
              ... nest.store "y" %a, %y[...] where (...)

It is a band whose stores are contiguous along the innermost loop, where some reads are scattered, and contiguous along
another loop. What else the statement reads is read from where it is. Loops around the two become one (nest-flatten),
whose iterations are blocks. Tiles are 32 x 32, and 64 x 64 for elements of one or two bytes, of which a thread moves 4 bytes
where rows begin at multiples of that (a row of a tile is then 65 elements, so that 4 bytes of columns lie in different
banks). The shared memory of a block holds as many of the buffers as fit into 48 KiB; the others are read across, a remark
says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.machine import BANK_BYTES
from ....analysis.nest.buffers import buffer_name, buffers_in, flat_views_in
from ....analysis.nest.loop_structure import enclosing_function, loops_in, perfect_band, sole_inner_loop
from ....analysis.nest.sets.access_patterns import (
    INVARIANT,
    SCATTERED,
    SEVERAL,
    UNIT,
    buffer_accesses,
    growth_of,
    pattern_of,
    varying_values,
)
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.affine import linear_terms
from ....dialects.nest import LANES, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.remarks import remark
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.rename import rename
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize, why_not_lanes
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.resize_buffer import resize_buffer
from ...nest.rewrite.buffers import SHARED_BYTES
from ...nest.rewrite.loops import fresh_names
from ...nest.rewrite.steps import Steps
from ..patterns.costs import bits_of, has_fewer
from .grid import blocks_of, grid_axes, joined, make_perfect
from .tile_copies import begins_at

FEWEST = 8
"""Iterations of either loop below which a tile would be mostly empty."""

BANK_BITS = 8 * BANK_BYTES


@dataclass(frozen=True, eq=False)
class Transposed:
    """A band that reads buffers along `row` and writes along `column`; `outer` are the other loops.

    `buffers` maps what is read across to the axis along which it is contiguous.
    """

    outer: list[ForOp]
    row: ForOp
    column: ForOp
    buffers: dict[SSAValue, int]
    straight: set[SSAValue]
    """Those that are read along `column` as well, from where they are."""

    @property
    def lanes(self) -> int:
        """Neighbours that a thread moves together: 32 bits of them, where rows are known to begin at multiples of that."""
        width = BANK_BITS // max(map(_bits, self.buffers))
        varying = varying_values(self.column)
        for op, buffer in buffer_accesses(self.column):
            if pattern_of(op.indices, buffer, self.column, varying) == INVARIANT:
                continue
            along = self.row if buffer in self.buffers and buffer not in self.straight else self.column
            if not isinstance(op, LoadOp | StoreOp) or not begins_at(op, along, width):
                return 1
        return width

    @property
    def size(self) -> int:
        """Rows and columns of a tile: also of two bytes, a warp reads or writes at least 64 at the same time."""
        return LANES if max(map(_bits, self.buffers)) >= BANK_BITS else 2 * LANES


def transposed_in(band: list[ForOp]) -> Transposed | None:
    """What is read across in a perfect band of independent loops; None where nothing is, or a tile would be mostly empty."""
    if len(band) < 2 or len(loops_in(band[0])) != len(band):
        return None
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return None
    column = band[-1]
    across: list[LoadOp] = []
    straight: set[SSAValue] = set()
    varying = varying_values(column)
    for op, buffer in buffer_accesses(column):
        pattern = pattern_of(op.indices, buffer, column, varying)
        if isinstance(op, StoreOp) and pattern == UNIT:
            continue
        if not isinstance(op, LoadOp) or pattern == SEVERAL:
            return None
        if pattern == SCATTERED:
            across.append(op)
        else:
            straight.add(buffer)
    for row in reversed(band[:-1]):
        buffers = _read_along(row, column, across)
        if buffers and not any(has_fewer(loop, FEWEST) for loop in (row, column)):
            outer = [loop for loop in band[:-1] if loop is not row]
            return Transposed(outer, row, column, buffers, straight.intersection(buffers))
    return None


def _read_along(row: ForOp, column: ForOp, loads: list[LoadOp]) -> dict[SSAValue, int]:
    """Buffers of which a tile is a square: `row` moves along the axis given, which is contiguous, `column` along another."""
    found: dict[SSAValue, int] = {}
    places: dict[SSAValue, object] = {}
    for op in loads:
        axis, other = _square(op, row, column)
        if axis is None or axis == other or places.setdefault(op.memref, op.indices) != op.indices:
            places[op.memref] = None  # another place of it is read as well, or not a square
            found.pop(op.memref, None)
        else:
            found[op.memref] = axis
    return found


def _square(op: LoadOp, row: ForOp, column: ForOp) -> tuple[int | None, int | None]:
    """The axes along which two loops move a load by one element, the first a contiguous one; None where they do not."""
    axes: list[int | None] = []
    for loop in (row, column):
        varying = varying_values(loop)
        steps = [growth_of(op.indices[k], loop.iv, varying) for k in range(len(op.indices))]
        moving = [k for k, step in enumerate(steps) if step != 0]
        axes.append(moving[0] if len(moving) == 1 and abs(steps[moving[0]] or 0) == 1 else None)
    is_contiguous = pattern_of(op.indices, op.memref, row, varying_values(row)) == UNIT
    return (axes[0], axes[1]) if is_contiguous and None not in axes else (None, None)


def _bits(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return bits_of(buffer.type.element_type)


# ---- tiles ------------------------------------------------------------------------------------------


def bind_transposed(band: list[ForOp], block: int, steps: Steps) -> bool:
    """Tile a band that reads across what it writes, through shared memory; False (and nothing changed) where it is none."""
    found = transposed_in(band)
    if (
        found is None
        or block % found.size
        or any(sole_inner_loop(one) is not two for one, two in pairwise(band))
    ):
        return False
    outer, row, column, size = found.outer, found.row, found.column, found.size
    if why_not_reorder([*outer, row, column], new_bounds=False) is not None:
        return False
    if any(why_not_split(loop, size, "mask") is not None for loop in (row, column)):
        return False
    counts = [*_blocks_around(outer), blocks_of(row, size), blocks_of(column, size)]
    axes = grid_axes(counts)
    if axes is None or any(extent_of(loop) is None for loop in outer[1:]):
        return False
    lanes = found.lanes if why_not_lanes(column, Dependences(column), in_kernel=True) is None else 1
    row_blocks, row = steps.do(split, row, factor=size, tail="mask")
    column_blocks, column = steps.do(split, column, factor=size, tail="mask")
    make_perfect(outer[0] if outer else row_blocks, steps)
    order = [*outer, row_blocks, column_blocks, row, column]
    if perfect_band(order[0])[: len(order)] != order:
        steps.do(reorder, order)
    blocks = [*joined(outer, steps), row_blocks, column_blocks]
    for tile, copy in _staged(found, column_blocks, row, steps):
        apart = 1 if lanes > 1 else max(1, BANK_BITS // _bits(tile.memref))
        steps.do(resize_buffer, tile, dimension=1, size=size + apart)
        loops = [whole_loop(loop, size, steps) for loop in perfect_band(copy)]
        for loop, name in zip(loops, fresh_names(loops[0], "row", "column"), strict=True):
            steps.do(rename, loop, to=name)
        _bind_threads(loops, block // (size // lanes), lanes, steps)
    _bind_threads([row, column], block // (size // lanes), lanes, steps)
    for loop, axis in zip(blocks, axes, strict=True):
        steps.do(bind, loop, axis=axis)
    return True


def _blocks_around(outer: Sequence[ForOp]) -> list[int | None]:
    """How many iterations the loops around a tile have together, if there are any."""
    counts = [extent_of(loop) for loop in outer]
    known = [n for n in counts if n is not None]
    return [prod(known) if len(known) == len(counts) else None] if outer else []


def _staged(found: Transposed, block: ForOp, row: ForOp, steps: Steps) -> list[tuple[AllocOp, ForOp]]:
    """Copies in shared memory of what a block reads across: the buffers, and the loops that fill them."""
    tiles: list[tuple[AllocOp, ForOp]] = []
    room = SHARED_BYTES
    function = enclosing_function(block)
    assert isinstance(function, FuncOp)
    names = [buffer_name(one) for one in (*buffers_in(function), *flat_views_in(function))]
    for buffer, contiguous in found.buffers.items():
        name = buffer_name(buffer)
        size = found.size * (found.size + BANK_BITS // 8) * _bits(buffer) // 8
        if size > room:
            remark(
                block,
                f'"{name}" is read across: the tiles of other buffers fill the shared memory of a block',
            )
            continue
        assert isinstance(buffer.type, MemRefType)
        rank = buffer.type.get_num_dims()
        axes = (*(axis for axis in range(rank) if axis != contiguous), contiguous)
        options: dict[str, Any] = {"space": "shared", "axes": axes if axes != tuple(range(rank)) else ()}
        if _begins_before(buffer, block):
            options["tail"] = "zero"
        if buffer in found.straight:
            options |= {"along": row.label, "axis": contiguous}
        if names.count(name) > 1:
            remark(
                block,
                f'"{name}" is read across: two views are called that, and a schedule names the one it means',
            )
            continue
        asked = {key: value for key, value in options.items() if key != "tail"}
        if (refusal := why_not_cache_read(buffer, block, **asked)) is not None:
            reason = refusal.diagnostic
            notes = [(note.location, note.message) for note in reason.notes]
            remark(block, f'"{name}" is read across: {reason.message}', hint=reason.hint, notes=notes)
            continue
        room -= size
        tiles.append(
            steps.do(cache_read, buffer, block, name=f"{name.removesuffix('_flat')}_tile", **options)
        )
    return tiles


def _begins_before(buffer: SSAValue, block: ForOp) -> bool:
    """Whether a tile may begin before the buffer does, which a border is in front of."""
    loads = [op for op in block.walk() if isinstance(op, LoadOp) and op.memref is buffer]
    indices = [op.indices[k].exprs[0] for op in loads for k in range(len(op.indices))]
    return any(linear_terms(index)[1] < 0 for index in indices)


def whole_loop(loop: ForOp, size: int, steps: Steps) -> ForOp:
    """A loop that ends at the edge of a buffer as one of `size` iterations, with its statements masked."""
    if loop.constant_trip_count() == size or why_not_split(loop, size, "mask") is not None:
        return loop
    unit, whole = steps.do(split, loop, factor=size, tail="mask")
    if why_not_remove_unit_loop(unit) is None:
        steps.do(remove_unit_loop, unit)
    return whole


def _bind_threads(loops: Sequence[ForOp], height: int, lanes: int, steps: Steps) -> None:
    """The threads of a block over a tile, `height` rows of it at the same time, `lanes` neighbours each."""
    row, column = loops
    if row.constant_trip_count() != height:
        _, row = steps.do(split, row, factor=height, tail="perfect")
    vectors: list[ForOp] = []
    if lanes > 1:
        column, vector = steps.do(split, column, factor=lanes, tail="perfect")
        vectors.append(vector)
    steps.do(bind, row, axis="thread.y")
    steps.do(bind, column, axis="thread.x")
    for loop in vectors:
        steps.do(vectorize, loop, width=lanes)
