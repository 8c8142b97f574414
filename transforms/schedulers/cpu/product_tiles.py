"""Tiles of products of matrices on the CPU: sizes, blocks that are shared among threads, packed panels of both operands.

    nest.for "i" %i = 0 to %m {                                   (and a nest before it that sets %c,
      nest.for "j" %j = 0 to %n {                                  nests after it that use %c)
        nest.for "k" %k = 0 to %l {
          ... nest.accumulate "c" add %p, %c[%i, %j]            // of %a[%i, %k] and %b[%k, %j]
  becomes
    nest.for "product" = 0 to 1 {
      ... %b is copied to panels                                  // in parallel; side by side what a tile reads at a time
      nest.for "i.o" %io = 0 to ... parallel {                    // a block of rows
        ... their elements of %c are set
        nest.for "k.o" ... {                                      // a block of the sum
          ... the block of %a is copied to panels
          nest.for "j.o" ... {
            nest.for "i.i.o" ... {                                // a tile of sums, in registers
              nest.for "k.i" ... {
                nest.for "i.i.i" ... unrolled {
                  nest.for "j.i" ... vectorized {
        ... what uses these rows of %c

Where all of the sum is one block, a tile is set, summed up and used in registers before the next one. After Goto and van
de Geijn, "Anatomy of high-performance matrix multiplication" (2008). Where there are few rows the columns are shared: then
%a is copied as a whole, and a block of columns of %b by the thread that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import enclosing_function, loops_in, next_nest, perfect_band
from ....analysis.nest.sets.access_patterns import UNIT, growth_of, varying_values
from ....analysis.nest.sets.frozen_buffers import is_computed_once
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.attributes import AS_WRITTEN
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.cleanup.eliminate_dead import eliminate_dead
from ...nest.loops.fuse import fuse, why_not_fuse
from ...nest.loops.normalise import add_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.annotate import annotate
from ...nest.mapping.parallel import why_not_parallel
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.cache_write import cache_write, why_not_cache_write
from ...nest.memory.prefetch import prefetch, why_not_prefetch
from ...nest.memory.staging import conversion_of
from ...nest.memory.transform_layout import transform_layout, why_not_transform_layout
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import UNKNOWN_EXTENT, machine_lanes, padded_width
from ..patterns.products import Product, elementwise_accesses
from ..patterns.sum_neighbours import SHARES
from ..patterns.tiles import compute_where_read, mark_lanes, mark_unrolled, pattern_in
from .bf16_terms import FACTOR_BYTES, TOGETHER, Pairs, in_pairs, is_in_pairs, paired_layout
from .vectors import Machine, remark_refusal

DEPTH_BYTES, DEPTH_SHARE = 4096, 256
"""Terms of the sum in a block, times the bytes of one, at most: so many, or as many as a part of the second-level cache.
A panel of columns stays there while the tiles of a block use it. Cut into blocks, a sum is read and written for each."""

BLOCK_SHARE = 2
"""The part of the second-level cache for a block of packed rows: it stays there while the panels of columns pass."""

FEW_ROWS = 8
"""Tiles of rows below which threads share the columns."""

COLUMN_PANELS = 4
"""Panels of columns that are packed at a time: as many as there are, so that the reads go along the rows."""

WORTH_PACKING = 192
"""Columns that use an element of the rows: below, copying it costs more than reading it where it is."""

PANEL_COST, FAR_PANEL_COST = 0.16, 0.6
"""What reading the panels of columns again for each block adds to a block of one tile: from the last cache, and where the
panels take more than `NEAR_SHARE` says, so that they come from memory. Both measured with products of squares."""
NEAR_SHARE = 4
"""The part of the last-level cache for the panels of columns."""

TILE_COST = 2.0
"""What reading the panels of columns again for each tile adds to a tile of one row, from the second-level cache."""

ROWS_AHEAD = 8
"""A copy prefetches what it packs this many rows ahead: each is on another page, where hardware prefetchers do not look."""

TRANSPOSED = 16
"""Adjacent elements that are read at a time where a panel is transposed: a line of floats."""

AHEAD = 24
"""A tile prefetches its panel of columns this many steps of the sum ahead."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """Of a tile, its rows and its columns; of a block, its terms (None: all of them) and its tiles."""

    rows: int
    width: int
    depth: int | None
    block: int
    by_columns: bool


def sizes_for(product: Product, machine: Machine) -> Sizes:
    """The sizes for a product on a machine."""
    cpu, pairs = machine.cpu, is_in_pairs(product.sums, machine.cpu)
    row, column, term = (largest_extent(loop) for loop in (product.row, product.column, product.term))
    lanes = machine_lanes(product.term, cpu.vector_bits)
    width = 2 * lanes if column is None else min(2 * lanes, padded_width(column, lanes))
    width = max(lanes, width) if pairs else width
    most = (cpu.registers - 4) // 2  # two vectors per row; the others are for the operands
    size = FACTOR_BYTES if pairs else max(1, cpu.vector_bits // lanes // 8)
    depth, most_terms = None, max(DEPTH_BYTES, cpu.l2_bytes // DEPTH_SHARE) // size
    if term is None:
        depth = most_terms
    elif term > most_terms:
        depth = -(-term // -(-term // most_terms))
        depth += depth % TOGETHER if pairs else 0
    if row is not None and row <= FEW_ROWS * most:
        tiles = -(-row // most)
        panels = COLUMN_PANELS if column is None else min(COLUMN_PANELS, -(-column // width))
        return Sizes(-(-row // tiles), width, depth, panels, True)
    bytes_of_tile = (depth or term or most_terms) * size * most
    most_tiles = max(2, cpu.l2_bytes // BLOCK_SHARE // bytes_of_tile)
    if row is None:
        few_tiles = max(2, most_tiles // 2)  # there may be few blocks, which threads share
        return Sizes(most, width, depth, few_tiles, False)
    sizes = ((r, b) for r in range(most, most - 3, -1) for b in range(most_tiles, 0, -1))
    panels = (column or UNKNOWN_EXTENT) * (term or most_terms) * size
    panel_cost = PANEL_COST if panels <= (cpu.l3_kib << 10) // NEAR_SHARE else FAR_PANEL_COST
    rows, block = min(sizes, key=lambda size: _cost(row, *size, panel_cost))
    return Sizes(rows, width, depth, block, False)


def _cost(extent: int, rows: int, block: int, panel_cost: float) -> float:
    """Roughly, the time of a number of rows in such tiles and blocks, per row.

    The rows, the last tile filled up; that at the end, while one thread does the last block, others have none; and that
    the panels of columns are read once per block, and once per tile.
    """
    filled = -(-extent // rows) * rows
    alone = [(threads - 1) / threads * rows * block for threads in SHARES]
    return (filled + sum(alone) / len(alone)) / extent + panel_cost / block + TILE_COST / rows


# ---- the nests around -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nest that sets the elements of a product, before it, and nests that use them, after it."""

    start: ForOp | None
    uses: Sequence[ForOp]


def neighbours_of(product: Product) -> Neighbours:
    """The nests in the same block over the same elements; none where the product is one of a stack."""
    nest = product.outermost
    if product.batch:
        return Neighbours(None, ())
    start = next_nest(nest, lambda op: op.prev_op)
    if start is not None and not (_is_elementwise(start, product) and _only_sets(start, product)):
        start = None
    uses: list[ForOp] = []
    last = nest
    while (use := next_nest(last, lambda op: op.next_op)) is not None and _is_elementwise(use, product):
        uses.append(use)
        last = use
    return Neighbours(start, uses)


def _is_elementwise(nest: ForOp, product: Product) -> bool:
    """Whether a nest runs once over the elements of the product, and reads or writes them."""
    return len(perfect_band(nest)) == 2 and bool(elementwise_accesses(nest, product.result))


def _only_sets(nest: ForOp, product: Product) -> bool:
    return all(not isinstance(op, StoreOp) or op.memref is product.result for op in nest.walk())


def axis_loop(nest: ForOp, product: Product, of: ForOp) -> ForOp:
    """The loop of an elementwise nest that runs along the axis along which `of` moves in the result."""
    axis = next(k for k in range(len(product.sums.indices)) if of.iv in product.sums.indices[k].operands)
    access = next(
        op for op in nest.walk() if isinstance(op, LoadOp | StoreOp) and op.memref is product.result
    )
    variable = access.indices[axis].single_value()
    return next(loop for loop in loops_in(nest) if loop.iv is variable)


# ---- tiling -----------------------------------------------------------------------------------------


class ProductTiling:
    """Tiles one product, with the nests around it. `share` gives a loop to threads, `inside` schedules a nest."""

    def __init__(
        self,
        product: Product,
        machine: Machine,
        share: Callable[[ForOp, Steps], None] | None,
        inside: Callable[[ForOp], None],
        steps: Steps,
    ):
        self.product = product
        self.result = product.result
        self.sizes = sizes_for(product, machine)
        self.is_in_pairs = is_in_pairs(product.sums, machine.cpu)
        self.pairs: Pairs | None = None
        self.columns = largest_extent(product.column)
        self.share = share
        self.inside = inside
        self.steps = steps

    def is_legal(self) -> bool:
        """Whether the first steps are: splits, and an order that any order of a sum allows. A panel of every second
        row or column would not have the elements of a tile side by side."""
        product, sizes = self.product, self.sizes
        if _skips(product.column, product.panels) or _skips(product.row, product.row_panels):
            return False
        splits = ((product.row, sizes.rows), (product.column, sizes.width))
        if any(why_not_split(loop, factor, "mask") is not None for loop, factor in splits):
            return False
        if why_not_split(product.term, DEPTH_BYTES, "clamp") is not None:
            return False
        order = [*product.batch, product.term, product.column, product.row]
        return why_not_reorder(order, new_bounds=False) is None

    def run(self) -> None:
        """Tile it; the steps were found legal."""
        product, sizes, steps = self.product, self.sizes, self.steps
        around = neighbours_of(product)
        outer = product.column if sizes.by_columns else product.row
        others = [
            axis_loop(nest, product, outer) for nest in (around.start, *around.uses) if nest is not None
        ]
        tile = sizes.width if sizes.by_columns else sizes.rows
        shares, row, column, term = self._split_shares(outer, tile * sizes.block)
        blocks: list[ForOp] = []
        if sizes.depth is not None:
            block, term = steps.do(split, term, factor=sizes.depth, tail="clamp")
            blocks.append(block)
        row_tiles, row = steps.do(split, row, factor=sizes.rows, tail="mask")
        column_tiles, column = steps.do(split, column, factor=sizes.width, tail="mask")
        steps.do(reorder, [*product.batch, shares, *blocks, column_tiles, row_tiles, term, row, column])
        shares, inside = self._fuse_around(shares, around, others, tile * sizes.block)
        is_shared = self.share is not None and why_not_parallel(shares) is None
        tiles = self._fuse_into_tiles(inside, around.start, column_tiles, row_tiles) if not blocks else None
        if tiles is None:
            self._keep_sums(row_tiles)
        else:
            row_tiles, inside = tiles, []
        # The threads take the matrices of a batch, so the copies for each of them are not shared again.
        copies_shared = is_shared and not product.batch
        if self.is_in_pairs and (pairs := in_pairs(term, steps)) is not None:
            self.pairs, term = pairs, pairs.outer
        panels = self._pack((blocks or [shares])[-1], shares, row_tiles, row, column, copies_shared)
        self._mark_tile(row, column)
        if blocks and why_not_prefetch(self.result, row_tiles, 1, whole=True) is None:
            self.steps.do(prefetch, self.result, row_tiles, distance=1, whole=True)
        for panel in panels:
            if why_not_prefetch(panel, term, AHEAD, whole=True) is None:
                self.steps.do(prefetch, panel, term, distance=AHEAD, whole=True)
        for nest in inside:
            self.inside(nest)
        self._forget_sums()
        if self.share is None:
            return
        outermost = product.batch[0] if product.batch else shares
        if is_shared if outermost is shares else why_not_parallel(outermost) is None:
            try:
                self.share(outermost, steps)
            except NestorError as refusal:  # copies that were made since: their indices are not told apart
                remark_refusal(outermost, "is not shared by threads", refusal)

    def _mark_tile(self, row: ForOp, column: ForOp) -> None:
        mark_lanes(column, self.sizes.width, self.steps)
        mark_unrolled(row, self.steps)
        if self.pairs is None:
            return
        self.pairs.mark(self.steps)
        if self.pairs.rest:
            _, row, column = self.pairs.rest
            mark_lanes(column, self.sizes.width, self.steps)
            mark_unrolled(row, self.steps)

    def _split_shares(self, outer: ForOp, size: int) -> tuple[ForOp, ForOp, ForOp, ForOp]:
        product = self.product
        shares, inner = self.steps.do(split, outer, factor=size, tail="clamp")
        if self.sizes.by_columns:
            return shares, product.row, inner, product.term
        return shares, inner, product.column, product.term

    def _fuse_around(
        self, shares: ForOp, around: Neighbours, others: Sequence[ForOp], size: int
    ) -> tuple[ForOp, list[ForOp]]:
        """Let each share do what the nests around do to its elements; the new loop, and the nests in it."""
        inside: list[ForOp] = []
        nests = [nest for nest in (around.start, *around.uses) if nest is not None]
        for nest, loop in zip(nests, others, strict=True):
            if why_not_split(loop, size, "clamp") is not None:
                return shares, inside
            band = perfect_band(nest)
            order = [loop, *(other for other in band if other is not loop)]
            if loop is not band[0]:
                if why_not_reorder(order, new_bounds=False) is not None:
                    return shares, inside
                self.steps.do(reorder, order)
            outer, inner = self.steps.do(split, loop, factor=size, tail="clamp")
            first, second = (outer, shares) if nest is around.start else (shares, outer)
            if why_not_fuse(first, second) is not None:
                continue
            shares = self.steps.do(fuse, first, second)
            inside.append(inner)
        return shares, inside

    def _fuse_into_tiles(
        self, nests: Sequence[ForOp], start: ForOp | None, column_tiles: ForOp, row_tiles: ForOp
    ) -> ForOp | None:
        """Where a tile has all of the sum: set it, sum it up and use it in registers. The loop over tiles.

        None, and nothing changed, where that is not legal.
        """
        if start is None or not nests:
            return None
        try:
            trial(
                lambda columns, rows, *loops: self._into_tiles(loops, columns, rows, UNRECORDED),
                column_tiles,
                row_tiles,
                *nests,
            )
        except NestorError:
            return None
        return self._into_tiles(nests, column_tiles, row_tiles, self.steps)

    def _into_tiles(
        self, nests: Sequence[ForOp], column_tiles: ForOp, row_tiles: ForOp, steps: Steps
    ) -> ForOp:
        """Fuse nests over a share into the tiles, the first before the sums; raises where that is refused.

        nest.for "j.o" ... {
          nest.for "i.i.o" ... {
            ... %sums is set
            nest.for "k" ... { ... nest.accumulate "c" add %p, %sums[...] }
            ... %sums is used
            ... %c is set to %sums
        """
        sizes, by_columns = self.sizes, self.sizes.by_columns
        bodies: list[tuple[ForOp, ForOp]] = []
        for k, nest in enumerate(nests):
            outer, other = perfect_band(nest)
            own_row, own_column = (other, outer) if by_columns else (outer, other)
            own_row_tiles, own_row = steps.do(split, own_row, factor=sizes.rows, tail="clamp")
            own_column_tiles, own_column = steps.do(split, own_column, factor=sizes.width, tail="clamp")
            steps.do(reorder, [own_column_tiles, own_row_tiles, own_row, own_column])
            pairs = (own_column_tiles, column_tiles), (own_row_tiles, row_tiles)
            column_tiles, row_tiles = (
                steps.do(fuse, *(pair if k == 0 else reversed(pair))) for pair in pairs
            )
            bodies.append((own_row, own_column))
        result = next(op.memrefs[0] for op in row_tiles.walk() if isinstance(op, AccumulateOp))
        _, filled, back = steps.do(cache_write, result, row_tiles, init="load", name="sums")
        if filled is not None:
            raise fail(row_tiles, "a tile would be loaded first")
        if back is not None:
            bodies.append((back, loops_in(back)[-1]))
        for own_row, own_column in bodies:
            mark_lanes(own_column, sizes.width, steps)
            mark_unrolled(own_row, steps)
        return row_tiles

    def _keep_sums(self, tile: ForOp) -> None:
        """A tile of sums starts from the identity, stays in registers, and is added to the result at its end."""
        if why_not_cache_write(self.product.result, tile, "identity") is not None:
            return
        _, start, back = self.steps.do(cache_write, self.product.result, tile, init="identity", name="sums")
        for copy in (start, back):
            if copy is not None:
                *rows, lane = loops_in(copy)
                mark_lanes(lane, self.sizes.width, self.steps)
                for loop in rows:
                    mark_unrolled(loop, self.steps)

    def _forget_sums(self) -> None:
        """Where all that uses the sums does so in registers, they are not stored."""
        result = self.result
        if isinstance(result.owner, AllocOp) and all(
            isinstance(use.operation, StoreOp | AccumulateOp) for use in result.uses
        ):
            self.steps.do(eliminate_dead, scope=enclosing_function(result.owner))

    # ---- panels ----

    def _pack(
        self, block: ForOp, shares: ForOp, tile: ForOp, row: ForOp, column: ForOp, is_shared: bool
    ) -> list[SSAValue]:
        """Pack both operands, one for all shares and the other for each block; the panels of columns."""
        product, sizes = self.product, self.sizes
        columns = (product.panels, column, sizes.width)
        rows = (product.row_panels, row, sizes.rows)
        whole, part = (rows, columns) if sizes.by_columns else (columns, rows)
        found: list[SSAValue] = []
        is_worth = self._is_worth(whole, column, tile)
        # What is computed once in all calls is packed as a whole, outside of the loops over blocks.
        once = [buffer for buffer in part[0] if not product.batch and is_computed_once(buffer)]
        unit = self.steps.do(add_unit_loop, shares, name="product") if is_worth or once else shares
        if is_worth:
            for buffer in whole[0]:
                panel = self._pack_one(buffer, unit, whole[1], whole[2], tile, is_shared)
                found += [panel] if panel is not None and whole is columns else []
        if once or self._is_worth(part, column, tile):
            for buffer in part[0]:
                at, shared = (unit, is_shared) if buffer in once else (block, False)
                panel = self._pack_one(buffer, at, part[1], part[2], tile, shared)
                found += [panel] if panel is not None and part is columns else []
        return found

    def _is_worth(self, operands: tuple[Sequence[SSAValue], ForOp, int], column: ForOp, tile: ForOp) -> bool:
        """Whether operands are worth copying: many columns use an element, or it is to be converted once."""
        buffers, loop, _ = operands
        many = (
            loop is column or self.columns is None or self.columns >= WORTH_PACKING or self.pairs is not None
        )
        return many or any(_is_converted(buffer, tile) for buffer in buffers)

    def _pack_one(
        self,
        buffer: SSAValue,
        at: ForOp,
        lane: ForOp,
        width: int,
        tile: ForOp,
        is_shared: bool,
    ) -> SSAValue | None:
        """Copy what `at` reads of a buffer to panels: `width` elements along `lane` side by side."""
        steps = self.steps
        if why_not_cache_read(buffer, at) is not None:
            return None
        converted = self.pairs is None and _is_converted(buffer, tile)
        panel, copy = steps.do(cache_read, buffer, at, name="panel", converted=converted)
        if not self.product.batch:
            compute_where_read(buffer, steps)
        reads = [op for op in tile.walk() if isinstance(op, LoadOp) and op.memref is panel.memref]
        axes = {
            axis for op in reads for axis in range(len(op.indices)) if lane.iv in op.indices[axis].operands
        }
        if copy is None or len(axes) != 1:
            return panel.memref
        (axis,) = axes
        band = loops_in(copy)
        names = [f"d{k}" for k in range(len(band))]
        rest = [name for k, name in enumerate(names) if k != axis]
        layout = (
            f"{' '.join(names)} -> {' '.join([f'{names[axis]}/{width}', *rest, f'{names[axis]}%{width}'])}"
        )
        term = None if self.pairs is None else self.pairs.axis_in(panel, tile)
        if term is not None:
            layout = paired_layout(names, axis, term, width)
        if why_not_transform_layout(panel, layout) is not None:
            return panel.memref
        if not _stays_perfect(band, band[axis]) or why_not_split(band[axis], width, "clamp") is not None:
            return panel.memref
        panels, inner = steps.do(split, band[axis], factor=width, tail="clamp")
        others = [loop for k, loop in enumerate(band) if k != axis]
        load = next(op for op in inner.walk() if isinstance(op, LoadOp))
        buffer = load.memref
        pairs = None
        if term is not None:
            panels, pairs = self._copy_pairs(panels, others, band[term], inner, width)
        elif pattern_in(load, load.memref, inner) == UNIT:
            panels, together = steps.do(split, panels, factor=COLUMN_PANELS, tail="clamp")
            steps.do(reorder, [panels, *others, together, inner])
            mark_unrolled(together, self.steps)
            mark_lanes(inner, width, self.steps)
            if others and why_not_prefetch(buffer, others[-1], ROWS_AHEAD, whole=True) is None:
                steps.do(prefetch, buffer, others[-1], distance=ROWS_AHEAD, whole=True)
        elif (
            width % 4 == 0
            and others
            and pattern_in(load, load.memref, others[-1]) == UNIT
            and _stays_perfect(band, others[-1])
        ):
            *before, along = others
            along, across = steps.do(split, along, factor=TRANSPOSED, tail="clamp")
            steps.do(reorder, [panels, *before, along, across, inner])
            mark_lanes(inner, width, self.steps)
            mark_unrolled(across, self.steps)
        else:
            steps.do(reorder, [panels, *others, inner])
            mark_unrolled(inner, self.steps)
            if others and inner.kind == "unrolled":
                steps.do(annotate, others[-1], mark=AS_WRITTEN)
        panel = steps.do(transform_layout, panel, layout=layout)
        if pairs is not None:
            mark_unrolled(pairs.pair, steps)
        if is_shared and self.share is not None:
            self.share(panels, steps)
        return panel.memref

    def _copy_pairs(
        self, panels: ForOp, others: Sequence[ForOp], term: ForOp, inner: ForOp, width: int
    ) -> tuple[ForOp, Pairs | None]:
        """Make a panel whose terms lie in pairs: a vector of each term, or one pair after the other. Its loops."""
        steps = self.steps
        load = next(op for op in inner.walk() if isinstance(op, LoadOp))
        rest = [loop for loop in others if loop is not term]
        if pattern_in(load, load.memref, inner) != UNIT:
            steps.do(reorder, [panels, *rest, term, inner])
            pairs = in_pairs(term, steps)
            for loop in [inner, *(pairs.rest[1:] if pairs is not None else ())]:
                mark_unrolled(loop, steps)
            return panels, pairs
        panels, together = steps.do(split, panels, factor=COLUMN_PANELS, tail="clamp")
        steps.do(reorder, [panels, *rest, term, together, inner])
        pairs = in_pairs(term, steps)
        tiles = [(together, inner)]
        if pairs is not None and pairs.rest:
            tiles.append((pairs.rest[1], pairs.rest[2]))
        for some, lane in tiles:
            mark_unrolled(some, steps)
            mark_lanes(lane, width, steps)
        along = term if pairs is None else pairs.outer
        if why_not_prefetch(load.memref, along, ROWS_AHEAD, whole=True) is None:
            steps.do(prefetch, load.memref, along, distance=ROWS_AHEAD, whole=True)
        return panels, pairs


def _stays_perfect(band: Sequence[ForOp], loop: ForOp) -> bool:
    """Whether a nest stays perfect where `loop` is split: its index is computed in front of inner loops for other uses."""
    return loop is band[-1] or all(
        isinstance(use.operation, ForOp | LoadOp | StoreOp | AccumulateOp) for use in loop.iv.uses
    )


def _is_converted(buffer: SSAValue, tile: ForOp) -> bool:
    """Whether a tile converts what it reads of a buffer, and does nothing else with it."""
    reads = [op for op in tile.walk() if isinstance(op, LoadOp) and op.memref is buffer]
    return conversion_of(reads) is not None


def _skips(loop: ForOp, panels: Sequence[SSAValue]) -> bool:
    """Whether neighbouring iterations of a loop read elements of a panel that are not neighbours along an axis."""
    varying = varying_values(loop)
    loads = [op for op in loop.walk() if isinstance(op, LoadOp) and op.memref in panels]
    steps = {growth_of(load.indices[k], loop.iv, varying) for load in loads for k in range(len(load.indices))}
    return not steps <= {0, 1, None}
