"""Products of matrices by the matrix unit of a CPU (part of nest-schedule-cpu): bytes, summed up in 32 bits.

    nest.for "i" %i = 0 to 100 {                                  (and a nest before it that sets %c,
      nest.for "j" %j = 0 to 200 {                                 nests after it that use %c)
        nest.for "k" %k = 0 to 300 {
          ... nest.accumulate "c" add %p, %c[%i, %j]            // of %a[%i, %k] and %b[%k, %j], made wider
  becomes
    ... %a and %b are copied to tiles, with zeros where they end: in parallel
    nest.for "i.o.o" ... parallel {                             // a block of rows
      nest.for "j.o" ... {
        nest.for "i.o.i" ... {                                  // 32 x 32 sums
          ... they are set
          nest.for "k.o" ... attributes {nestor.amx} {          // 64 terms: see analysis/nest/kernels/amx_tiles.py
          ... what uses these elements of %c
          ... they are stored

Here the lanes are those of the instruction: nest-stage-factors makes the operands as long as its tiles are, so that the
sums need no domains, and the terms of a column that it wants side by side lie so in the copy. Extents are to be known:
a product of others is left to product_tiles.py, and so is one that a step refuses; a remark says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp

from ....analysis.machine import LINE_BYTES
from ....analysis.nest.kernels.amx_tiles import AMX, Form, amx_form_of
from ....analysis.nest.kernels.vnni_tiles import VNNI
from ....analysis.nest.loop_structure import enclosing_function, loops_in, parent_loop, perfect_band
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp, LoadOp
from ....dialects.remarks import remark
from ...nest.cleanup.eliminate_dead import eliminate_dead
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split, why_not_split
from ...nest.loops.unmask import unmask
from ...nest.mapping.annotate import annotate
from ...nest.mapping.parallel import why_not_parallel
from ...nest.memory.cache_write import cache_write
from ...nest.memory.expand_buffer import expand_buffer
from ...nest.memory.set_memory import set_memory
from ...nest.memory.stage_factors import stage_factors
from ...nest.memory.transform_layout import transform_layout
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.product_casts import Cast, inline_casts, widened_operands
from ..patterns.products import Product, product_in
from ..patterns.tiles import mark_lanes, mark_unrolled, pattern_in
from .product_tiles import axis_loop, neighbours_of


@dataclass(frozen=True)
class Tiling:
    """How products of bytes are cut for what multiplies them."""

    mark: str
    rows: int
    """Rows of a tile of sums."""
    row_tiles: int
    """Tiles of sums along the rows: registers hold as many beside those of the operands."""
    column_tiles: int
    terms: int
    """Terms of an iteration."""
    fewest_terms: int
    """Terms below which most of an instruction is zeros."""
    called: str

    def split(self, loop: ForOp, *, is_rows: bool) -> tuple[int, int]:
        """Of the rows or the columns, those of a tile and those in registers."""
        extent = largest_extent(loop) or COLUMNS
        if not is_rows:
            return COLUMNS, COLUMNS if extent <= COLUMNS else self.column_tiles * COLUMNS
        if self.row_tiles > 1:
            return self.rows, self.rows if extent <= self.rows else self.row_tiles * self.rows
        even = -(-extent // -(-extent // self.rows))  # as many in each tile
        return even, even


COLUMNS = 16
"""Columns of the sums of an instruction."""

MATRIX_UNIT = Tiling(AMX, 16, 2, 2, 64, 16, "the matrix unit")
VECTORS = Tiling(VNNI, 12, 1, 2, 16, 4, "the instructions for bytes")

BLOCK_BYTES = 512 << 10
"""The rows of a block: they stay in the second-level cache while the columns pass. Processors with a matrix unit have
2 MiB; what streams by has the rest."""


_EACH_SHAPE = "dynamic=False compiles a program for each shape"

Share = Callable[[ForOp, Steps], None]


def widen_in_products(function: FuncOp, steps: Steps, tiling: Tiling = MATRIX_UNIT) -> None:
    """Let the products of a function that are for the matrix unit read narrow elements, where these were made wider."""
    nests = [nest for nest in function.walk() if isinstance(nest, ForOp) and parent_loop(nest) is None]
    for nest in nests:
        product = product_in(perfect_band(nest)) if nest.parent is not None else None
        if product is None or not isinstance(product.sums.values[0].owner, arith.MuliOp):
            continue
        if all(map(largest_extent, (product.row, product.column, product.term))):
            inline_casts(product, nests, _is_narrow, steps)
        elif widened_operands(product, nests, _is_narrow) is not None:
            text = f'the product in the nest "{nest.label}" cannot use {tiling.called}'
            remark(nest, f"{text}: its extents are known at run time only", hint=_EACH_SHAPE)


def tile_for_matrix_unit(
    nest: ForOp, share: Share | None, steps: Steps, tiling: Tiling = MATRIX_UNIT
) -> bool:
    """Tile a product for the matrix unit, with the nests around it; False, and nothing changed, where it is none for it."""
    product = product_in(perfect_band(nest))
    if product is None or not _is_narrow_product(product):
        return False
    reason: NestorError | None = None
    for with_uses in (True, False) if neighbours_of(product).uses else (False,):
        try:
            trial(_run(share, with_uses, tiling), nest)
        except NestorError as refusal:
            reason = reason or refusal
            continue
        MatrixUnitTiling(nest, share, with_uses, steps, tiling).run()
        return True
    assert reason is not None
    text = f'the product in the nest "{nest.label}" cannot use {tiling.called}: {reason.diagnostic.message}'
    remark(nest, text, hint=reason.diagnostic.hint)
    return False


def _is_narrow_product(product: Product) -> bool:
    """Whether it multiplies elements of two matrices that it makes wider itself."""
    factors = product.sums.values[0].owner
    if not isinstance(factors, arith.MuliOp) or len(product.row_panels) != 1 or len(product.panels) != 1:
        return False
    casts = [value.owner for value in factors.operands[:2]]
    return all(
        isinstance(cast, arith.ExtSIOp | arith.ExtUIOp)
        and isinstance(cast.input.owner, LoadOp)
        and _is_narrow(cast)
        for cast in casts
    )


def _is_narrow(cast: Cast) -> bool:
    return amx_form_of(cast.input.type) is not None


def _run(share: Share | None, with_uses: bool, tiling: Tiling) -> Callable[[ForOp], None]:
    return lambda nest: MatrixUnitTiling(nest, share, with_uses, UNRECORDED, tiling).run()


@dataclass(frozen=True, eq=False)
class _Tiles:
    """The loops of a nest over the result: over tiles of rows and columns, and inside of one."""

    row_tiles: ForOp
    column_tiles: ForOp
    row: ForOp
    column: ForOp


class MatrixUnitTiling:
    """The steps; any of them may be refused."""

    def __init__(
        self, nest: ForOp, share: Share | None, with_uses: bool, steps: Steps, tiling: Tiling = MATRIX_UNIT
    ):
        self.share, self.steps, self.tiling = share, steps, tiling
        product = product_in(perfect_band(nest))
        assert product is not None
        around = neighbours_of(product)
        self.product, self.start = product, around.start
        self.uses = list(around.uses) if with_uses else []
        self.result = product.result
        self.form = self._form()
        self.tile_rows, self.rows = tiling.split(product.row, is_rows=True)
        self.tile_columns, self.columns = tiling.split(product.column, is_rows=False)

    def _form(self) -> Form:
        load = next(op for op in self.product.outermost.walk() if isinstance(op, LoadOp))
        form = amx_form_of(load.result.type)
        if form is None:
            raise fail(load, f"{self.tiling.called} does not multiply {load.result.type}")
        extents = [
            largest_extent(loop) for loop in (self.product.row, self.product.column, self.product.term)
        ]
        if None in extents:
            raise fail(self.product.outermost, "its extents are known at run time only", hint=_EACH_SHAPE)
        if (extents[2] or 0) < self.tiling.fewest_terms:
            raise fail(self.product.outermost, "it has few terms")
        return form

    def run(self) -> None:
        """Do it."""
        product, steps = self.product, self.steps
        # The loops of the nests around are told by the product's own: before these are split.
        others = [
            [axis_loop(nest, product, of) for of in (product.row, product.column)]
            for nest in (self.start, *self.uses)
            if nest is not None
        ]
        row_tiles, row = self._split(product.row, self.rows)
        column_tiles, column = self._split(product.column, self.columns)
        blocks, term = self._split(product.term, self.tiling.terms)
        steps.do(reorder, [*product.batch, row_tiles, column_tiles, blocks, row, column, term])
        copies = self._stage(row_tiles, row)
        tiles = _Tiles(row_tiles, column_tiles, row, column)
        tiles, beside = self._fuse_around(tiles, others)
        _, filled, back = steps.do(
            cache_write,
            self.result,
            tiles.column_tiles,
            init="identity" if self.start is None else "load",
            name="sums",
            tail="mask",
        )
        if filled is not None and self.start is not None:
            raise fail(filled, "a tile would be loaded first")
        own = [inside.row for inside in beside]
        nests = [*own[:1], row, *own[1:]] if self.start is not None else [row, *own]
        for nest in nests:  # what is set first: no element that is not set is added to
            steps.attempt(unmask, nest)
        self._order_tile(row, column, term)
        for nest in (filled, *own, back):
            if nest is not None:
                mark_lanes(loops_in(nest)[-1], self.columns, steps)
        outer = self._block(tiles)
        for copy in copies:
            self._share_copy(*copy)
        steps.do(annotate, blocks, mark=self.tiling.mark)
        self._forget_sums()
        outermost = product.batch[0] if product.batch else outer
        if self.share is not None and why_not_parallel(outermost) is None:
            self.share(outermost, steps)

    def _split(self, loop: ForOp, factor: int) -> tuple[ForOp, ForOp]:
        tail = "perfect" if why_not_split(loop, factor, "perfect") is None else "mask"
        outer, inner = self.steps.do(split, loop, factor=factor, tail=tail)
        return outer, inner

    # ---- the operands ----

    def _stage(self, row_tiles: ForOp, row: ForOp) -> list[tuple[AllocOp, ForOp, bool]]:
        """Copies of the operands, as long as tiles are: each, the loop that makes it, and whether it is that of the rows."""
        steps, batch = self.steps, self.product.batch
        at = batch[-1] if batch else steps.do(add_unit_loop, row_tiles, name="product")
        left, left_copy, right, right_copy = steps.do(stage_factors, at, narrow=True)
        if not batch:
            steps.do(remove_unit_loop, at)
        found: list[tuple[AllocOp, ForOp, bool]] = []
        for alloc, copy in ((left, left_copy), (right, right_copy)):
            loads = [use.operation for use in alloc.memref.uses if isinstance(use.operation, LoadOp)]
            of_rows = any(row.iv in load.indices.operands for load in loads)
            found.append((alloc, copy, of_rows))
        return found

    def _share_copy(self, alloc: AllocOp, copy: ForOp, of_rows: bool) -> None:
        """The order of the elements of a copy, and what makes it: vectors along what is contiguous, and threads."""
        steps, together = self.steps, self.form.together
        blocks, term, tiles, element = perfect_band(copy)
        load = next(op for op in copy.walk() if isinstance(op, LoadOp) and len(op.indices))
        along = pattern_in(load, load.memref, term) == UNIT
        if of_rows and along:
            steps.do(reorder, [tiles, element, blocks, term])
            outer, lanes = tiles, term
        elif of_rows:
            some, element = steps.do(split, element, factor=self.tile_rows, tail="perfect")
            steps.do(reorder, [tiles, blocks, some, element, term])
            mark_unrolled(element, steps)
            outer, lanes = tiles, term
        elif along:
            groups, own = steps.do(split, term, factor=together, tail="perfect")
            steps.do(reorder, [tiles, element, blocks, groups, own])
            mark_unrolled(groups, steps)
            outer, lanes = tiles, own
        else:
            groups, own = steps.do(split, term, factor=together, tail="perfect")
            steps.do(reorder, [blocks, groups, tiles, element, own])
            mark_unrolled(own, steps)
            outer, lanes = blocks, element
        layout = "d2 d0 d3 d1" if of_rows else f"d2 d0 d1/{together} {together}*d3+d1%{together}"
        steps.do(transform_layout, alloc, layout=f"d0 d1 d2 d3 -> {layout}")
        for op in list(lanes.walk()):
            if isinstance(op, AllocOp):
                steps.do(expand_buffer, steps.do(set_memory, op, space="global"), lanes)
        mark_lanes(lanes, lanes.constant_trip_count() or LINE_BYTES, steps)
        if self.share is not None and not self.product.batch and why_not_parallel(outer) is None:
            self.share(outer, steps)

    # ---- the nests around ----

    def _fuse_around(self, tiles: _Tiles, others: Sequence[Sequence[ForOp]]) -> tuple[_Tiles, list[_Tiles]]:
        """Let each tile do what the nests around do to its elements; the loops over tiles, and those nests' own."""
        steps = self.steps
        nests = [nest for nest in (self.start, *self.uses) if nest is not None]
        beside: list[_Tiles] = []
        row_tiles, column_tiles = tiles.row_tiles, tiles.column_tiles
        for nest, (own_row, own_column) in zip(nests, others, strict=True):
            own_row_tiles, own_row = self._split(own_row, self.rows)
            own_column_tiles, own_column = self._split(own_column, self.columns)
            steps.do(reorder, [own_row_tiles, own_column_tiles, own_row, own_column])
            is_first = nest is self.start
            pair = (own_row_tiles, row_tiles) if is_first else (row_tiles, own_row_tiles)
            row_tiles = steps.do(fuse, *pair)
            pair = (own_column_tiles, column_tiles) if is_first else (column_tiles, own_column_tiles)
            column_tiles = steps.do(fuse, *pair)
            beside.append(_Tiles(row_tiles, column_tiles, own_row, own_column))
        return _Tiles(row_tiles, column_tiles, tiles.row, tiles.column), beside

    def _order_tile(self, row: ForOp, column: ForOp, term: ForOp) -> None:
        """The loops over tiles in registers, and in them those of an instruction."""
        steps, inner = self.steps, list[ForOp]()
        tiles: list[ForOp] = []
        sizes = (row, self.rows, self.tile_rows), (column, self.columns, self.tile_columns)
        for loop, size, tile in sizes:
            if size > tile:
                outer, loop = steps.do(split, loop, factor=tile, tail="perfect")
                tiles.append(outer)
            inner.append(loop)
        groups, together = steps.do(split, term, factor=self.form.together, tail="perfect")
        steps.do(reorder, [*tiles, *inner, groups, together])

    def _block(self, tiles: _Tiles) -> ForOp:
        """Blocks of rows, in which the columns pass once; the outermost loop."""
        steps, count = self.steps, tiles.row_tiles.constant_trip_count() or 1
        columns = tiles.column_tiles.constant_trip_count() or 1
        if count < min(columns, 4):
            steps.do(reorder, [tiles.column_tiles, tiles.row_tiles])
            return tiles.column_tiles
        terms = largest_extent(self.product.term) or self.tiling.terms
        most = max(1, BLOCK_BYTES // (self.rows * terms * self.form.bits // 8))
        blocks = -(-count // most)
        blocks += blocks % 2  # an even number: two threads do the same
        outer, inner = steps.do(split, tiles.row_tiles, factor=-(-count // blocks), tail="clamp")
        steps.do(reorder, [outer, tiles.column_tiles, inner])
        return outer

    def _forget_sums(self) -> None:
        """Where all that uses the sums does so in the tile, they are not stored."""
        result = self.result
        if isinstance(result.owner, AllocOp) and not any(
            isinstance(use.operation, LoadOp) for use in result.uses
        ):
            self.steps.do(eliminate_dead, scope=enclosing_function(result.owner))
