"""Tiles of sums that tensor cores compute (part of cuda/tensor_cores.py): the steps of sum_tiles.py, for warps.

    nest.for "k.o" ... {
      nest.for "k.i" ... { nest.accumulate "t" add %p, %sums[...] }     // of %a[%i, %k] and %b[%k, %j]
  becomes
    nest.for "k.o" ... {
      ... tiles of %a and %b are copied to shared memory, with zeros where these end
      nest.for "warp_row" ... bind "thread.y" {
        nest.for "warp_column" ... bind "thread.x" {
          nest.for "lane" ... bind "lane" {
            nest.for "k_step" ... {
              nest.for "m" ... attributes {nestor.matrix} {             // see analysis/nest/kernels/matrix_tiles.py

A row of a tile in shared memory is what an instruction wants together: terms, or, of elements of 16 bits, what is
adjacent in memory. A thread copies 16 bytes of it where they are adjacent in memory and begin at a multiple of 16
bytes (8 or 4 where rows begin at multiples of these only), and continues. Else lanes that are neighbours copy elements
that are: a whole row, or, where the row lies across memory, 8 elements of each of 4 rows. Rows are rotated by their
number in steps of 16 bytes, so that neither ldmatrix, which reads 16 bytes of 8 rows at a time, nor what copies to them
finds two in one bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from xdsl.dialects.builtin import MemRefType

from ....analysis.machine import ACCESS_BYTES
from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.kernels.async_copies import copy_in
from ....analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS, Form, form_of
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import UNIT
from ....dialects.attributes import ASYNC, MATRIX
from ....dialects.diagnostic import fail
from ....dialects.nest import LANES, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.flatten import flatten
from ...nest.loops.rename import rename_freely
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.mapping.annotate import annotate, why_not_annotate
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_write import cache_write, why_not_cache_write
from ...nest.memory.stage_factors import stage_factors
from ...nest.memory.transform_layout import transform_layout
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import pattern_in
from .sum_tiles import SumTile, Tiling
from .tile_copies import begins_at, mark_vector

WARP_ROW, WARP_COLUMN, LANE = ("warp_row", "thread.y"), ("warp_column", "thread.x"), ("lane", "lane")
"""What loops over warps, by rows and by columns, and over lanes are called and bound to."""

LANE_ROW, LANE_COLUMN = ("lane_row", "lane.y"), ("lane_column", "lane.x")
"""The same for lanes by the rows and columns of the sums that they have."""

NEIGHBOURS = 8
"""How many adjacent elements lanes copy of a row, where rows of the tile lie across those in memory."""


MOST_UNROLLED = 16
"""Maximum number of unrolled copies of a thread, all of them in flight at a time."""


class MatrixTiling(Tiling):
    """The steps. Parts of the tile's rows: warps "y", tiles of a warp "r", and of one of these 2 "r" and 8 "l" (lanes).

    Parts of its columns: warps "x", tiles of a warp "r", and of one of these 4 "l" and 2 "v".
    """

    most_unrolled = MOST_UNROLLED
    has_lane_axes = False
    """Whether loops over the sums are over lane.y and lane.x: what uses them finds a row in four lanes then."""

    def __init__(self, tile: SumTile, start: ForOp | None, steps: Steps):
        super().__init__(tile, start, steps)
        self.matrix: ForOp | None = None
        *of_rows, (_, columns) = tile.tiled
        rows = [part for _, own in of_rows for part in own]
        self.warps = tuple(prod(p.size for p in own if p.axis in "xy") for own in (rows, columns))
        """Warps along rows, and along columns."""
        self.of_warp = tuple(
            prod(p.size for p in own) // n for own, n in zip((rows, columns), self.warps, strict=True)
        )
        """Rows and columns of a warp."""

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        left, left_copy, right, right_copy = self.steps.do(stage_factors, step, space="shared", narrow=True)
        return [(left, left_copy), (right, right_copy)]

    def keep_sums(self) -> None:
        super().keep_sums()
        self.steps.do(annotate, self.matrix, mark=MATRIX)

    # ---- the sums ----

    def _share(self, tiles: Sequence[ForOp], terms: Sequence[ForOp], is_sum: bool) -> None:
        """The loops over warps and lanes, over the tiles of a warp, and over a lane's corner of such a tile."""
        steps = self.steps
        rows, columns = self._rows_and_columns(tiles)
        (*outer, r, of_row), (*others, of_column, c) = rows, columns
        warp_row, m = self._warp_and_tiles(outer, 0)
        warp_column, n = self._warp_and_tiles(others, 1)
        inner = [*m, r, *n, c]
        names = {r: "r", c: "c" if terms else "column.v"} | dict.fromkeys(m, "m") | dict.fromkeys(n, "n")
        order = [*warp_row, *warp_column, of_row, of_column]
        if terms:
            form = self._form(terms[0])
            step, term = steps.do(split, terms[0], factor=form.terms, tail="perfect")
            h, e = steps.do(split, term, factor=form.contiguous, tail="perfect")
            order += [step]
            inner += [h, e]
            names |= {step: "k_step", h: "h", e: "e"}
            self.matrix = inner[0]
        self._reorder([*order, *inner])
        for loop, name in names.items():
            rename_freely(steps, loop, name)
        for loop in order[-1:] if terms else inner[:-1]:  # registers are indexed by constants
            steps.do(annotate, loop, mark="unrolled")
        if not terms:
            mark_vector(c, True, steps)
        if not self.has_lane_axes:
            return self._bind(warp_row, warp_column, steps.do(flatten, of_row, of_column))
        self._bind(warp_row, warp_column)
        for loop, (name, axis) in ((of_row, LANE_ROW), (of_column, LANE_COLUMN)):
            bind_as(loop, name, axis, steps)

    def _warp_and_tiles(self, loops: list[ForOp], k: int) -> tuple[list[ForOp], list[ForOp]]:
        """The loop over warps along rows (columns), and that over the tiles of a warp, where there are several."""
        count = len(loops) if self.of_warp[k] == (ROWS, COLUMNS)[k] else len(loops) - 1
        return loops[:count], loops[count:]

    def _rows_and_columns(self, tiles: Sequence[ForOp]) -> list[list[ForOp]]:
        """The parts of the loop over rows, and those of the loop over columns."""
        return self._pieces(tiles)

    def _pieces(self, tiles: Sequence[ForOp]) -> list[list[ForOp]]:
        """The parts of each of the tiled loops."""
        found: dict[int, list[ForOp]] = {}
        wanted = [own for _, own in self.tile.tiled]
        for loop, own in zip(tiles, self._parts_of(tiles), strict=True):
            rest, pieces = loop, []
            for part in reversed(own[1:]):
                rest, inner = self.steps.do(split, rest, factor=part.size, tail="perfect")
                pieces.insert(0, inner)
            found[next(k for k, other in enumerate(wanted) if other is own)] = [rest, *pieces]
        return [found[k] for k in range(len(wanted))]

    def _bind(
        self, warp_row: Sequence[ForOp], warp_column: Sequence[ForOp], lane: ForOp | None = None
    ) -> None:
        lanes = [] if lane is None else [lane]
        bound = ((warp_row, WARP_ROW), (warp_column, WARP_COLUMN), (lanes, LANE))
        for loops, (name, axis) in bound:
            for loop in loops:
                bind_as(loop, name, axis, self.steps)

    def _form(self, around: ForOp) -> Form:
        """The instruction that multiplies what the loop loads."""
        load = next(op for op in around.walk() if isinstance(op, LoadOp))
        form = form_of(load.result.type)
        if form is None:
            raise fail(load, f"tensor cores do not multiply {load.result.type}")
        return form

    def _layout(self, rank: int) -> str:
        """Whose sums they are, tiles of the warp, and the lane's corner of a tile."""
        axes = self.order_of_axes if rank > len(self.tile.tiled) else range(rank)
        axis_of = dict(zip(self.order, axes, strict=True))
        i, j = self._row_and_column([axis_of[k] for k in range(len(axis_of))])
        rows, columns = self.of_warp
        warps = [
            f"{a}/{size} " for a, size, n in ((i, rows, self.warps[0]), (j, columns, self.warps[1])) if n > 1
        ]
        old = " ".join(f"d{k}" for k in range(rank))
        lane = f"{i}%8 {j}%8/2" if self.has_lane_axes else f"4*({i}%8)+{j}%8/2"
        return f"{old} -> {''.join(warps)}{lane} {i}%{rows}/16 {j}%{columns}/8 {i}%16/8 {j}%2"

    def _row_and_column(self, axes: Sequence[int]) -> tuple[str, str]:
        """The row and the column of the tile by the axes of the sums along which its loops run."""
        return f"d{axes[0]}", f"d{axes[1]}"

    # ---- results ----

    def _stage_results(self, block: ForOp, tiles: Sequence[ForOp]) -> list[tuple[AllocOp, ForOp]]:
        """Results of 16 bits go to shared memory first, where their rows begin at multiples of 16 bytes: a lane has two."""
        stores = [op for op in tiles[-1].body.block.ops if isinstance(op, StoreOp)]
        stores = [op for op in stores if not isinstance(op.memref.owner, AllocOp)]
        if len(stores) != 1 or not self._is_stored_by_pieces(stores[0], tiles):
            return []
        result = stores[0].memref
        if why_not_cache_write(result, block, space="shared") is not None:
            return []
        name = f"{buffer_name(result)}_tile"
        buffer, _, back = self.steps.do(cache_write, result, block, space="shared", name=name, tail="mask")
        if back is None or len(loops_in(back)) != 2:
            raise fail(block, "a tile of results has two axes")
        return [(buffer, back)]

    def _is_stored_by_pieces(self, store: StoreOp, tiles: Sequence[ForOp]) -> bool:
        """Whether 16 bytes of results of 16 bits can be stored together, and there is room for the tile of them."""
        assert isinstance(store.memref.type, MemRefType)
        size = element_bytes(store.memref.type.element_type)
        if size != 2 or isinstance(store.memref.owner, AllocOp):
            return False
        if size * prod(loop.constant_trip_count() or 1 for loop in tiles) > self.tile.results:
            return False
        return any(begins_at(store, loop, ACCESS_BYTES // size) for loop in tiles)

    # ---- copies ----

    def _may_be_ahead(self, buffer: AllocOp, copy: ForOp) -> bool:
        """Whether the copies are of 4 bytes or more, which can be in flight."""
        found = copy_in(loops_in(copy)[-1])
        return found is not None and (found.may_copy_elements or self._width(buffer, copy) > 1)

    def _width(self, buffer: AllocOp, copy: ForOp) -> int:
        """How many elements are copied at a time: 16 bytes of them, 8 or 4, as rows in memory begin at multiples of that."""
        _, column, load = self._loops_of_copy(buffer, copy)
        form = form_in(buffer)
        if pattern_in(load, load.memref, column) != UNIT:
            return 1
        widths = (form.contiguous // n for n in (1, 2, 4))
        return next((width for width in widths if begins_at(load, column, width)), 1)

    def _loops_of_copy(self, buffer: AllocOp, copy: ForOp) -> tuple[ForOp, ForOp, LoadOp]:
        """The loop over rows of the tile, the one along them, and what is copied."""
        term, other = loops_in(copy)
        load = next(op for op in copy.walk() if isinstance(op, LoadOp) and len(op.indices))
        is_along = form_in(buffer).bits == 16 and pattern_in(load, load.memref, other) == UNIT
        return (term, other, load) if is_along else (other, term, load)

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        steps, size = self.steps, form_in(buffer).contiguous
        row, column, load = self._loops_of_copy(buffer, copy)
        length = column.constant_trip_count() or size
        rotated = rotation(loops_in(copy), row, length, size)
        inner: list[ForOp] = []
        turns: list[ForOp] = []
        of_warp, pieces, width, of_piece = 1, length, self._width(buffer, copy), 1
        parts: list[ForOp] = []
        if width > 1:
            column, vector = steps.do(split, column, factor=size, tail="perfect")
            if width < size:  # 16 bytes are rotated together
                part, vector = steps.do(split, vector, factor=width, tail="perfect")
                parts, of_piece = [part], size // width
            pieces, inner = length // size, [vector]
        if not inner and pattern_in(load, load.memref, column) != UNIT:
            row, neighbours = steps.do(split, row, factor=NEIGHBOURS, tail="perfect")
            turn, column = steps.do(split, column, factor=LANES // NEIGHBOURS, tail="perfect")
            lanes, turns = [column, neighbours], [turn]
        else:
            of_row = gcd(pieces, LANES // of_piece)
            if pieces > of_row:
                turn, column = steps.do(split, column, factor=of_row, tail="perfect")
                turns = [turn]
            of_warp, lanes = LANES // (of_row * of_piece), [column, *parts]
        warps: list[list[ForOp]] = [[], []]
        if of_warp > 1:
            row, own = steps.do(split, row, factor=of_warp, tail="perfect")
            lanes.insert(0, own)
        for k in (1, 0):
            if self.warps[k] > 1:
                row, warp = steps.do(split, row, factor=self.warps[k], tail="perfect")
                warps[k] = [warp]
        rounds: list[ForOp] = []
        if (row.constant_trip_count() or 1) > self.most_unrolled:
            more, row = steps.do(split, row, factor=self.most_unrolled, tail="perfect")
            rounds = [more]
        turns.append(row)
        steps.do(reorder, [*warps[0], *warps[1], *lanes, *rounds, *turns, *inner])
        steps.do(transform_layout, buffer, layout=rotated)
        lane = lanes[0]
        for loop in lanes[1:]:
            lane = steps.do(flatten, lane, loop)
        self._bind(warps[0], warps[1], lane)
        for loop in (*rounds, *turns):
            rename_freely(steps, loop, "turn")
        count = 1
        for loop in reversed(turns):
            count *= loop.constant_trip_count() or 1
            if count <= self.most_unrolled:
                steps.do(annotate, loop, mark="unrolled")
        for loop in inner:
            steps.do(vectorize, loop, width=width)
        last = [*turns, *inner][-1]
        if why_not_annotate(last, ASYNC) is None:
            steps.do(annotate, last, mark=ASYNC)


def bind_as(loop: ForOp, name: str, axis: str, steps: Steps) -> None:
    """Bind a loop, and call it so."""
    rename_freely(steps, loop, name)
    steps.do(bind, loop, axis=axis)


def rotation(loops: Sequence[ForOp], row: ForOp, length: int, size: int) -> str:
    """Rows of a tile in pieces of 16 bytes, groups of which are rotated by the number of the row.

    A row of 10 pieces, say, begins in one of four places among the banks: groups of two, and the four rows after the
    first four are rotated by one. Groups are of a power of two, so that an index is made of shifts and masks.
    """
    i, j = ("d0", "d1") if row is loops[0] else ("d1", "d0")
    group = gcd(length // size, 8)
    first = "" if group * size == length else f"{group * size}*({j}/{size}/{group})+"
    return f"d0 d1 -> {i} {first}{size}*(({j}/{size}+{i}/{8 // group})%{group})+{j}%{size}"


def form_in(buffer: AllocOp) -> Form:
    """The instruction that multiplies what is in a buffer."""
    assert isinstance(buffer.memref.type, MemRefType)
    form = form_of(buffer.memref.type.element_type)
    assert form is not None
    return form
