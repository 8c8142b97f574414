"""Products of matrices by tensor cores (part of nest-schedule-cuda): 16-bit floats and bytes, summed up in 32 bits.

    nest.for "i" %i = 0 to 512 {                                  (and a nest before it that sets %t,
      nest.for "j" %j = 0 to 512 {                                 one after it that uses %t)
        nest.for "k" %k = 0 to 512 {
          ... nest.accumulate "t" add %p, %t[%i, %j]              // of %a[%i, %k] and %b[%k, %j]
  becomes
    nest.for "i.o" ... bind "block.y" {                           // a block: 128 x 128 sums, 8 warps
      nest.for "j.o" ... bind "block.x" {
        %sums = nest.alloc "sums" : memref<2x4x32x4x4x2x2xf32, 5> // warps, lanes; tiles of a warp, a lane's corner of one
        ... they are set
        nest.for "k.o" ... {                                      // 32 terms
          ... tiles of %a and %b are copied to shared memory
          nest.for "warp_row" ... bind "thread.y" {
            nest.for "warp_column" ... bind "thread.x" {
              nest.for "lane" ... bind "lane" {
                nest.for "k_step" ... {
                  nest.for "m" ... attributes {nestor.matrix} {   // ldmatrix and mma.sync: see lowering/matrix_tiles.py
        ... what uses %t is done to %sums

The rows of the tiles in shared memory are rotated by their number, so that neither what copies to them nor ldmatrix, which
reads 16 bytes of 8 rows at a time, finds two of them in one bank. Products of other types, and of matrices that are no
multiple of a tile, are left to the schedules of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, MemRefType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...dialects.diagnostic import NestorError
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...dialects.remarks import remark
from ...lowering.async_copies import ASYNC
from ...lowering.matrix_tiles import COLUMNS, MATRIX, ROWS, form_of
from .cpu_lanes import UNIT
from .cpu_product_tiles import Neighbours, neighbours_of
from .cpu_products import Product, product_in
from .cpu_tiles import pattern_in
from .cuda_bands import extent_of, units
from .loops import loops_in, perfect_band
from .nest_annotate import annotate
from .nest_bind import bind
from .nest_cache_read import cache_read
from .nest_cache_write import cache_write
from .nest_compute_inline import compute_inline, why_not_compute_inline
from .nest_flatten import flatten
from .nest_fuse import fuse
from .nest_fuse_epilogue import fuse_epilogue, why_not_fuse_epilogue
from .nest_pipeline import pipeline
from .nest_rename import rename_freely
from .nest_reorder import reorder
from .nest_set_memory import set_memory
from .nest_split import split
from .nest_transform_layout import transform_layout
from .nest_vectorize import vectorize
from .steps import UNRECORDED, Steps
from .trials import trial

AXES = ("thread.y", "thread.x", "lane")
"""What loops over warps, by rows and by columns, and over lanes are bound to."""


@dataclass(frozen=True)
class Tiles:
    """Rows, columns and terms that a block works on at a time, and its warps along rows and columns."""

    rows: int
    columns: int
    terms: int
    warp_rows: int
    warp_columns: int

    @property
    def warps(self) -> int:
        return self.warp_rows * self.warp_columns

    @property
    def rows_of_warp(self) -> int:
        return self.rows // self.warp_rows

    @property
    def columns_of_warp(self) -> int:
        return self.columns // self.warp_columns


SIZES = ((128, 128, 2, 4), (64, 64, 2, 2), (32, 32, 1, 1))
"""Rows, columns, and warps along them. The largest first: an element of a tile is used as often as the tile is long."""

STEPS = 2
"""Instructions along the sum in a tile: rows of 64 bytes."""

STAGES = 3
"""Tiles of the sum that are in shared memory at a time, one in use and the others on their way."""

FEWEST_BLOCKS = 132
"""Blocks that keep a large GPU busy: with fewer of them tiles become smaller."""


def schedule_tensor_cores(function: FuncOp, steps: Steps = UNRECORDED) -> None:
    """Tile the products of a function that tensor cores can compute, each with the nests around it."""
    _inline_casts(function, steps)
    for product, tiles in list(_products(function)):
        around = neighbours_of(product)
        nests = [nest for nest in (around.start, product.outermost, *around.uses) if nest is not None]
        try:
            trial(partial(_tile_copy, tiles), *nests)
        except NestorError as refusal:
            text = f'the product in the nest "{product.outermost.label}" is not one for tensor cores: '
            remark(product.outermost, text + refusal.diagnostic.message)
            continue
        _Tiling(product, around, tiles, steps).run()


def _inline_casts(function: FuncOp, steps: Steps) -> None:
    """Let products read what tensor cores multiply, where it was made wider for them: they widen it themselves."""
    nests = [nest for nest in units(function.body.block) if isinstance(nest, ForOp)]
    found = [product for nest in nests if (product := product_in(perfect_band(nest))) is not None]
    for product in found:
        operands = (*product.row_panels, *product.panels)
        widened = [alloc for buffer in operands if (alloc := _widened(buffer, nests)) is not None]
        if not product.batch and len(widened) == len(operands) == 2:
            for alloc in widened:
                if why_not_compute_inline(alloc) is None:
                    steps.do(compute_inline, alloc)


def _widened(buffer: SSAValue, nests: Sequence[ForOp]) -> AllocOp | None:
    """The allocation of a buffer that a nest fills with elements of a matrix made wider, and nothing else writes."""
    alloc = buffer.owner
    if not isinstance(alloc, AllocOp):
        return None
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    if len(stores) != 1 or stores[0].where is not None or stores[0].mask is not None:
        return None
    value = stores[0].value.owner
    if not isinstance(value, arith.ExtFOp | arith.ExtSIOp) or not isinstance(value.input.owner, LoadOp):
        return None
    if form_of(value.input.type) is None or value.result.type not in (Float32Type(), i32):
        return None
    return alloc if any(perfect_band(nest)[-1] is stores[0].parent_op() for nest in nests) else None


def _products(function: FuncOp) -> Iterator[tuple[Product, Tiles]]:
    for nest in units(function.body.block):
        product = product_in(perfect_band(nest)) if isinstance(nest, ForOp) else None
        if product is None or product.batch or not _is_for_tensor_cores(product):
            continue
        if (tiles := _tiles_for(product)) is not None:
            yield product, tiles


def _is_for_tensor_cores(product: Product) -> bool:
    """Whether two matrices of one type are multiplied that tensor cores know, each with rows in memory."""
    operands = [*product.row_panels, *product.panels]
    if len(product.row_panels) != 1 or len(product.panels) != 1:
        return False
    elements = {buffer.type.element_type for buffer in operands if isinstance(buffer.type, MemRefType)}
    form = form_of(elements.pop()) if len(elements) == 1 else None
    if form is None:
        return False
    loads = [op for op in product.outermost.walk() if isinstance(op, LoadOp)]
    across = (product.row, product.column) if form.bits == 16 else ()
    return len(loads) == 2 and all(
        any(_moves_along_rows(load, loop) for loop in (product.term, *across)) for load in loads
    )


def _moves_along_rows(load: LoadOp, loop: ForOp) -> bool:
    """Whether an access is to neighbours in memory, of a matrix, in the iterations of a loop."""
    rank = len(load.indices)
    return rank == 2 and pattern_in(load, load.memref, loop) == UNIT and loop.iv in load.indices[1].operands


def _tiles_for(product: Product) -> Tiles | None:
    """The largest tiles that fill the matrices, and fill a GPU."""
    row, column, term = (extent_of(loop) for loop in (product.row, product.column, product.term))
    element = product.panels[0].type
    assert isinstance(element, MemRefType)
    form = form_of(element.element_type)
    if row is None or column is None or term is None or form is None:
        return None
    sizes = (Tiles(r, c, STEPS * form.terms, *warps) for r, c, *warps in SIZES)
    fitting = [t for t in sizes if row % t.rows == 0 and column % t.columns == 0 and term % t.terms == 0]
    busy = [t for t in fitting if row // t.rows * (column // t.columns) >= FEWEST_BLOCKS]
    return (busy or fitting[-1:] or [None])[0]


def _tile_copy(tiles: Tiles, *nests: ForOp) -> None:
    """Tile a copy of the nests: one of them is the product."""
    product = next(found for nest in nests if (found := product_in(perfect_band(nest))) is not None)
    _Tiling(product, neighbours_of(product), tiles, UNRECORDED).run()


class _Tiling:
    """Tiles one product."""

    def __init__(self, product: Product, around: Neighbours, tiles: Tiles, steps: Steps):
        self.product, self.around, self.tiles, self.steps = product, around, tiles, steps
        element = product.panels[0].type
        assert isinstance(element, MemRefType)
        form = form_of(element.element_type)
        assert form is not None
        self.form = form

    def run(self) -> None:
        """Raises what a primitive refuses."""
        steps = self.steps
        bands = [
            self._blocks(nest) for nest in (self.around.start, self.product.outermost) if nest is not None
        ]
        *_, (rows, columns, terms, row, column, term) = bands
        assert terms is not None and term is not None
        if self.around.start is not None:
            rows = steps.do(fuse, bands[0][0], rows)
            columns = steps.do(fuse, bands[0][1], columns)
        sums, back = self._keep_sums(columns)
        operands = (*self.product.row_panels, *self.product.panels)
        lengths = [self._length(buffer, row, column, term) for buffer in operands]
        buffers: list[AllocOp] = []
        copies: list[Sequence[ForOp]] = []
        for buffer, length in zip(operands, lengths, strict=True):
            tile, copy = steps.do(cache_read, buffer, terms, space="shared", name=f"{_name(buffer)}_tile")
            buffers.append(tile)
            copies.append(self._split_copy(copy, length))
        threads = [self._warps(row, column, term)]
        if self.around.start is not None:
            threads.append(self._warps(bands[0][3], bands[0][4], None))
        if back is not None:
            row, column = loops_in(back)
            threads.append(self._warps(row, column, None))
        m = threads[0][-1]
        sums = steps.do(transform_layout, sums, layout=self._layout_of_sums())
        for tile, length in zip(buffers, lengths, strict=True):
            steps.do(transform_layout, tile, layout=self._rotation(length))
        for loops in copies:
            self._bind_copy(*loops)
        for warp_row, warp_column, of_row, of_column, _ in threads:
            self._bind(warp_row, warp_column, steps.do(flatten, of_row, of_column))
        steps.do(bind, rows, axis="block.y")
        steps.do(bind, columns, axis="block.x")
        steps.do(set_memory, sums, space="local")
        steps.do(annotate, m, mark=MATRIX)
        count = terms.constant_trip_count()
        if count is not None and count >= 2:
            steps.do(pipeline, terms, stages=min(STAGES, count))

    def _blocks(self, nest: ForOp) -> tuple[ForOp, ForOp, ForOp | None, ForOp, ForOp, ForOp | None]:
        """The loops of a nest over blocks, rows, columns and terms, and those inside of a block."""
        steps, tiles = self.steps, self.tiles
        row, column, *term = perfect_band(nest)
        if nest is self.product.outermost:
            row, column, term = self.product.row, self.product.column, [self.product.term]
        rows, row = steps.do(split, row, factor=tiles.rows, tail="mask")
        columns, column = steps.do(split, column, factor=tiles.columns, tail="mask")
        if not term:
            steps.do(reorder, [rows, columns, row, column])
            return rows, columns, None, row, column, None
        terms, inner = steps.do(split, term[0], factor=tiles.terms, tail="mask")
        steps.do(reorder, [rows, columns, terms, row, column, inner])
        return rows, columns, terms, row, column, inner

    def _keep_sums(self, columns: ForOp) -> tuple[AllocOp, ForOp | None]:
        """The sums of a block stay in it: what uses them is done to them, or they are stored at its end."""
        steps, uses = self.steps, self.around.uses
        if len(uses) == 1 and why_not_fuse_epilogue(uses[0], columns) is None:
            return steps.do(fuse_epilogue, uses[0], columns)
        result = next(op.memrefs[0] for op in columns.walk() if isinstance(op, AccumulateOp))
        init = "load" if self.around.start is not None else "identity"
        sums, _, back = steps.do(cache_write, result, columns, init=init, name="sums")
        return sums, back

    def _length(self, buffer: SSAValue, row: ForOp, column: ForOp, term: ForOp) -> int:
        """The length of the rows of an operand's tile: of as many rows, columns or terms as are contiguous in memory."""
        load = next(op for op in term.walk() if isinstance(op, LoadOp) and op.memref is buffer)
        values = load.indices[len(load.indices) - 1].operands
        sizes = {row: self.tiles.rows, column: self.tiles.columns, term: self.tiles.terms}
        return next(size for loop, size in sizes.items() if loop.iv in values)

    # ---- what threads do ----

    def _warps(
        self, row: ForOp, column: ForOp, term: ForOp | None
    ) -> tuple[ForOp, ForOp, ForOp, ForOp, ForOp]:
        """The loops over the sums of a block, as those over warps, lanes, tiles of a warp, and a lane's corner of a tile.

        Those over warps and lanes (by rows and columns), and the one over a warp's tiles of rows.
        """
        steps, tiles = self.steps, self.tiles
        warp_row, row = steps.do(split, row, factor=tiles.rows_of_warp, tail="perfect")
        m, row = steps.do(split, row, factor=ROWS, tail="perfect")
        r, of_row = steps.do(split, row, factor=ROWS // 2, tail="perfect")
        warp_column, column = steps.do(split, column, factor=tiles.columns_of_warp, tail="perfect")
        n, column = steps.do(split, column, factor=COLUMNS, tail="perfect")
        of_column, c = steps.do(split, column, factor=2, tail="perfect")
        order = [warp_row, warp_column, of_row, of_column, m, n, r, c]
        names = {m: "m", n: "n", r: "r", c: "c"}
        if term is not None:
            step, term = steps.do(split, term, factor=self.form.terms, tail="perfect")
            h, e = steps.do(split, term, factor=self.form.contiguous, tail="perfect")
            order[4:] = [step, m, n, r, c, h, e]
            names |= {step: "k_step", h: "h", e: "e"}
        steps.do(reorder, order)
        for loop, name in names.items():
            rename_freely(self.steps, loop, name)
        for loop in (m, n, r, c) if term is None else order[4:5]:  # registers are indexed by constants
            steps.do(annotate, loop, mark="unrolled")
        return warp_row, warp_column, of_row, of_column, m

    def _split_copy(self, copy: ForOp, length: int) -> Sequence[ForOp]:
        """The loops that copy a tile with rows of this length: over warps, lanes, turns, and the elements of 16 bytes."""
        steps, tiles = self.steps, self.tiles
        row, column = loops_in(copy)
        column, element = steps.do(split, column, factor=self.form.contiguous, tail="perfect")
        of_warp = max(1, 32 * self.form.contiguous // length)
        turn, row = steps.do(split, row, factor=of_warp * tiles.warps, tail="perfect")
        warp_row, row = steps.do(split, row, factor=of_warp * tiles.warp_columns, tail="perfect")
        warp_column, row = steps.do(split, row, factor=of_warp, tail="perfect")
        steps.do(reorder, [warp_row, warp_column, row, column, turn, element])
        return warp_row, warp_column, row, column, turn, element

    def _bind_copy(
        self, warp_row: ForOp, warp_column: ForOp, row: ForOp, column: ForOp, turn: ForOp, element: ForOp
    ) -> None:
        """A thread copies 16 bytes at a time, and goes on while they are under way."""
        steps = self.steps
        self._bind(warp_row, warp_column, steps.do(flatten, row, column))
        rename_freely(self.steps, turn, "turn")
        steps.do(annotate, turn, mark="unrolled")
        steps.do(vectorize, element, width=self.form.contiguous)
        steps.do(annotate, element, mark=ASYNC)

    def _bind(self, warp_row: ForOp, warp_column: ForOp, lane: ForOp) -> None:
        for loop, axis, name in zip((warp_row, warp_column, lane), AXES, _NAMES, strict=True):
            rename_freely(self.steps, loop, name)
            self.steps.do(bind, loop, axis=axis)

    # ---- layouts ----

    def _layout_of_sums(self) -> str:
        """Whose sums they are, tiles of the warp, and the lane's corner of a tile."""
        rows, columns = self.tiles.rows_of_warp, self.tiles.columns_of_warp
        owner = f"i/{rows} j/{columns} 4*(i%8)+j%8/2"
        return f"i j -> {owner} i%{rows}/{ROWS} j%{columns}/{COLUMNS} i%{ROWS}/8 j%2"

    def _rotation(self, length: int) -> str:
        """Rows of a tile, each rotated by its number (short ones: two by two) in steps of 16 bytes."""
        size = self.form.contiguous
        pieces = length // size
        return f"i j -> i {size}*((j/{size}+i/{max(1, 8 // pieces)})%{pieces})+j%{size}"


_NAMES = ("warp_row", "warp_column", "lane")


def _name(buffer: SSAValue) -> str:
    return buffer.name_hint or "operand"
