"""Chains of products on a GPU (part of nest-schedule-cuda): what one product has for factor is computed in the tiles of it.

    nest.for "b" ... { ... nest.accumulate "s" add %p, %s[%b, %i, %j] }          // rows i, columns j, few terms
    nest.for "b.1" ... { ... %s[%b, %i, %j] ... nest.store "w" %w, %w[%b, %i, %j] }
    nest.for "b.2" ... { ... nest.load %w[%b, %i, %l] ... nest.accumulate "y" add %q, %y[%b, %i, %f] }
  becomes
    nest.for "b" ... bind "block.y" { nest.for "i.o" ... bind "block.x" {
      %y_sums                                                                    // in registers
      nest.for "j.o" ... {                                                       // a tile of columns after the other
        %w = nest.alloc "w" : memref<1x64x36xf32, 3>
        ... the products, in registers (sum_tiles.py), and what is computed of them, to %w
        ... the tile's products are added to %y_sums
      ... %y_sums to %y

Readers that read along the same axis are one kernel, with sums of their own; for those that read along the other one the
factor is computed again (nest-recompute), with rows and columns changing places. No array of rows by columns is in
global memory. Rows, columns and matrices may be of any number, known or not; the number of features (terms of the first
product, columns of the second) has to be known, and is at most `MOST_TERMS`. The reverse of attention is two of these:
T. Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from .....analysis.machine import Gpu
from .....analysis.nest.buffers import buffer_name
from .....analysis.nest.loop_structure import enclosing_loops, is_inside, perfect_band
from .....analysis.nest.values.trip_counts import extent_of
from .....dialects.diagnostic import fail
from .....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....nest.loops.fuse import fuse
from ....nest.loops.reorder import reorder
from ....nest.loops.split import split, why_not_split
from ....nest.loops.unmask import unmask
from ....nest.memory.cache_write import cache_write
from ....nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ....nest.memory.set_memory import set_memory
from ....nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ....nest.memory.transform_layout import transform_layout
from ....nest.producers.recompute import recompute
from ....nest.rewrite.steps import Steps
from ...patterns.chains import MOST_TERMS, Chain, Reader
from ..grid import bind_blocks, fuse_nests, make_perfect
from ..sum_neighbours import neighbours_of
from ..sum_tiles import SumTile, Tiling, parts
from .online_attention import SumsOfKeys
from .whole_row_attention import padding

ROWS = "z4 y2 r8"
"""Rows of a block: a thread has eight of them."""

COLUMNS = "x16 v2"
"""Columns of a tile."""

DEPTH = 16
"""Terms of a step of a product."""

WIDTHS = ((32, "x16 v2"), (64, "x16 v4"), (MOST_TERMS, "r2 x16 v4"))
"""Columns of the sums of a reader, as many as there may be."""


class ChainTiling:
    """The steps for a chain; any of them may be refused."""

    rows, columns, depth = ROWS, COLUMNS, DEPTH

    def __init__(self, chain: Chain, gpu: Gpu, steps: Steps):
        self.chain = chain
        self.gpu = gpu
        self.steps = steps
        self.height = prod(part.size for part in parts(self.rows))
        self.width = prod(part.size for part in parts(self.columns))
        self.batch = len(chain.readers[0].product.batch)

    def describe(self) -> str:
        """What the blocks do, for a remark."""
        names = ", ".join(f'"{buffer_name(reader.product.result)}"' for reader in self.chain.readers)
        return f"blocks of {self.height} rows of {names} compute the factors that they use, {self.width} columns at a time"

    def run(self) -> ForOp:
        """Do them; the nest that all became."""
        steps, readers = self.steps, self.chain.readers
        for reader in readers:
            if (extent_of(reader.product.column) or MOST_TERMS + 1) > MOST_TERMS:
                raise fail(reader.product.outermost, "a row of the result takes too many registers")
        producers = self._own_producers()
        starts = [reader.start for reader in readers if reader.start is not None]
        if len(starts) < len(readers):
            raise fail(readers[0].product.outermost, "its sums are not set just before")
        for nest in (*producers, *starts, *(use for reader in readers for use in reader.uses)):
            make_perfect(nest, steps)
        if self.chain.turned:
            producers = [self._turned(nest) for nest in producers]
        inner, blocks = self._into_blocks(producers, readers)
        products = [inner[reader.product.outermost] for reader in readers]
        uses = self._uses_at_end(inner, readers)
        keys = self._along_columns([inner[nest] for nest in producers], products)
        rows = [inner[nest] for nest in producers]
        made = self._sunk_factors(rows, keys)
        ends = self._sums_of_block(readers, blocks[-1], uses)
        sets = [row for row in rows if not any(isinstance(op, LoadOp | AccumulateOp) for op in row.walk())]
        for loop in (*sets, *(inner[start] for start in starts)):
            steps.attempt(unmask, loop)
        others = [[inner[start], *end] for start, end in zip(starts, ends, strict=True)]
        tilings, sums = self._tile(rows, products, others, made)
        bind_blocks(blocks, steps)
        self._keep(tilings, sums, made)
        self._copy_ahead(keys, blocks[-1])
        return blocks[0]

    def _copy_ahead(self, keys: ForOp, block: ForOp) -> None:
        """Copy what the next tile of columns needs while one is computed."""

    # ---- nests ----

    def _own_producers(self) -> list[ForOp]:
        """The nests that compute the factors, for these readers alone."""
        chain = self.chain
        if chain.is_last:
            return chain.producers
        loops = [*chain.producers, *(reader.product.outermost for reader in chain.readers)]
        made = self.steps.do(recompute, loops, readers=len(chain.readers))
        return list(made[: len(chain.producers)])

    def _turned(self, nest: ForOp) -> ForOp:
        """Let a nest go down columns, row by row in each: its outermost loop then."""
        band = perfect_band(nest)
        row, column = band[self.batch : self.batch + 2]
        return self.steps.do(reorder, [*band[: self.batch], column, row, *band[self.batch + 2 :]])[0]

    def _into_blocks(
        self, producers: list[ForOp], readers: list[Reader]
    ) -> tuple[dict[ForOp, ForOp], list[ForOp]]:
        """The loops over rows of a block, by nests, and the loops over blocks, which are those of all nests then."""
        steps = self.steps
        nests = {*producers, *(nest for reader in readers for nest in reader.nests)}
        for reader in readers:
            own = reader.product
            steps.do(reorder, [*own.batch, own.row, own.column, own.term])
        block = producers[0].parent
        assert block is not None
        inner: dict[ForOp, ForOp] = {}
        blocks: list[ForOp] = []
        for nest in [op for op in block.ops if op in nests]:
            assert isinstance(nest, ForOp)
            band = perfect_band(nest)
            row = band[self.batch]
            outer, inner[nest] = self._split(row, self.height)
            own = [*band[: self.batch], outer]
            blocks = [steps.do(fuse, a, b) for a, b in zip(blocks, own, strict=True)] if blocks else own
        return inner, blocks

    def _split(self, loop: ForOp, factor: int) -> tuple[ForOp, ForOp]:
        tail = "perfect" if why_not_split(loop, factor, "perfect") is None else "mask"
        outer, inner = self.steps.do(split, loop, factor=factor, tail=tail)
        return outer, inner

    def _uses_at_end(self, inner: dict[ForOp, ForOp], readers: list[Reader]) -> ForOp | None:
        """What uses the sums of all readers, as one nest behind all of them; None where nothing does."""
        uses = [inner[use] for reader in readers for use in reader.uses]
        if not uses:
            return None
        first, *rest = uses
        for other in rest:
            first, *_ = fuse_nests(first, other, self.steps)
        return first

    def _along_columns(self, producers: list[ForOp], products: list[ForOp]) -> ForOp:
        """Let all be computed tile by tile of columns: the loop over the tiles."""
        tiles: list[ForOp] = []
        for row in producers:
            make_perfect(
                row, self.steps
            )  # where a variable is a value, to split its loop leaves an operation
            band = perfect_band(row)
            outer, inside = self._split(band[1], self.width)
            self.steps.do(reorder, [outer, row, inside, *band[2:]])
            tiles.append(outer)
        for row in products:
            band = perfect_band(row)
            outer, inside = self._split(band[-1], self.width)
            self.steps.do(reorder, [outer, *band[:-1], inside])
            tiles.append(outer)
        first, *rest = tiles
        for other in rest:
            first = self.steps.do(fuse, first, other)
        return first

    # ---- buffers ----

    def _sunk_factors(self, rows: list[ForOp], keys: ForOp) -> list[AllocOp]:
        """The products and the factors, as large as a tile of columns needs."""
        written = dict.fromkeys(
            buffer
            for row in rows
            for op in row.walk()
            for buffer in (
                op.memrefs if isinstance(op, AccumulateOp) else [op.memref] if isinstance(op, StoreOp) else []
            )
        )
        return [self._sunk(buffer, keys) for buffer in written]

    def _sunk(self, buffer: SSAValue, loop: ForOp) -> AllocOp:
        """A buffer in a loop, as large as one of its iterations needs."""
        alloc = self.steps.do(sink_alloc, buffer, loop)
        for axis in range(alloc.memref.type.get_num_dims()):
            if why_not_resize_buffer(alloc, axis) is None:
                alloc = self.steps.do(resize_buffer, alloc, dimension=axis)
        return alloc

    def _sums_of_block(self, readers: list[Reader], block: ForOp, uses: ForOp | None) -> list[list[ForOp]]:
        """Give each reader a buffer of its sums in a block: the nests that use or store these."""
        ends: list[list[ForOp]] = []
        for reader in readers:
            result, end = reader.product.result, []
            users = [use.operation for use in result.uses]
            is_own = isinstance(result.owner, AllocOp) and all(is_inside(op, block) for op in users)
            if is_own and why_not_sink_alloc(result.owner, block) is None:  # pyright: ignore[reportArgumentType]
                self._sunk(result, block)
            else:
                name = f"{buffer_name(result)}_sums"
                _, first, back = self.steps.do(
                    cache_write, result, block, init="load", name=name, tail="mask"
                )
                if first is not None or back is None:
                    raise fail(block, "sums would be loaded first")
                end = [back]
            ends.append(end)
        if uses is not None:
            ends[0].append(uses)
        return ends

    # ---- products ----

    def _tile(
        self, rows: list[ForOp], products: list[ForOp], others: list[list[ForOp]], factors: list[AllocOp]
    ) -> tuple[list[Tiling], list[AllocOp]]:
        """Tile all products: the ones that are done tile by tile, and the readers' sums."""
        scores = self._tile_scores(rows)
        sums: list[AllocOp] = []
        for row, nests in zip(products, others, strict=True):
            tiling = SumsOfKeys(self._tile_of_reader(row), nests, self.steps)
            tiling.run()
            assert tiling.sums is not None
            sums.append(tiling.sums)
        return scores, sums

    def _keep(self, tilings: list[Tiling], sums: list[AllocOp], factors: list[AllocOp]) -> None:
        """Put buffers where they belong, when all loops are bound."""
        for tiling in tilings:
            tiling.keep_sums()
        for buffer in sums:
            self.steps.do(set_memory, buffer, space="local")
        for buffer in factors:
            if buffer.parent is not None:
                self._to_shared(buffer)

    def _tile_scores(self, rows: list[ForOp]) -> list[Tiling]:
        """Tile the products that the factors are computed of; what computes these goes with the last one."""
        made: list[Tiling] = []
        done: set[ForOp] = set()
        for row in [row for row in rows if _sums_in(row) is not None]:
            tile = self._tile_of_scores(row)
            start, tile.uses = neighbours_of(tile)
            done.update([row, *tile.uses, *([] if start is None else [start])])
            tiling = self._tiling(tile, start)
            tiling.run()
            made.append(tiling)
        if any(row not in done for row in rows):
            raise fail(rows[0], "the factors are not computed element by element")
        return made

    def _tiling(self, tile: SumTile, start: ForOp | None) -> Tiling:
        return Tiling(tile, start, self.steps)

    def _tile_of_scores(self, row: ForOp) -> SumTile:
        return self._tile_of(row, self.rows, self.columns, self.depth)

    def _tile_of(self, row: ForOp, rows: str, columns: str, depth: int, results: int = 0) -> SumTile:
        """The sum in a nest over rows and columns of a block, and its tile."""
        sums, band = _sums_in(row), perfect_band(row)
        assert sums is not None
        tiled = [(band[0], parts(rows)), (band[1], parts(columns))]
        return SumTile(sums, [], tiled, [band[2]], depth, around=len(enclosing_loops(row)), results=results)

    def _tile_of_reader(self, row: ForOp) -> SumTile:
        """The sums that stay while tiles of columns come and go: four or eight neighbours of a row for each thread."""
        features = extent_of(perfect_band(row)[1])
        assert features is not None
        columns = next(text for size, text in WIDTHS if features <= size)
        return self._tile_of(row, self.rows, columns, self.depth)

    def _to_shared(self, buffer: AllocOp) -> None:
        rank = buffer.memref.type.get_num_dims()
        if (more := padding(buffer)) > 0:
            names = " ".join(f"d{k}" for k in range(rank))
            buffer = self.steps.do(
                transform_layout, buffer, layout=f"{names} -> {names}", pad=(*[0] * (rank - 1), more)
            )
        self.steps.do(set_memory, buffer, space="shared")


def _sums_in(row: ForOp) -> AccumulateOp | None:
    return next((op for op in row.walk() if isinstance(op, AccumulateOp)), None)
