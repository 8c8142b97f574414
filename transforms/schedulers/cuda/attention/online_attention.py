"""Attention with rows of any length on a GPU (part of nest-schedule-cuda): a tile of keys is forgotten when it is used.

    nest.for "b" ... { ... nest.accumulate "t" add %p, %t[%b, %h, %i, %j] }      // products of queries and keys
    nest.for "b.1" ... { ... %t[%b, %h, %i, %j] ... }                            // a softmax of each row
    nest.for "b.2" ... { ... nest.load %t[%b, %h, %i, %j] ... }                  // products with the values
  becomes
    nest.for "b" ... bind "block.z" { nest.for "h" ... bind "block.y" { nest.for "i.o" ... bind "block.x" {
      %running_maximum, %running_sum, %y_sums                                    // in registers
      nest.for "j.o" ... {                                                       // a tile of keys after the other
        %t = nest.alloc "t" : memref<1x1x64x68xf32, 3>
        ... the products, in registers (sum_tiles.py); they are stored to %t
        ... a warp has rows of its own: their maximum so far, exponentials to %t, their sum so far
        ... %y_sums of the same rows are scaled by what the maximum has changed, and the tile's products are added
      ... %y_sums divided by %running_sum, to %y

The running maximum and sum come of nest-online-softmax, and the loop over tiles of keys then goes inside of those over
blocks. A warp has the same rows of the scores, of the sums and of what scales them, so that only the tiles of operands
and the scores, which all columns' lanes read, are in shared memory. Any number of queries and keys will do, known or not;
the number of features has to be known. After T. Dao et al., "FlashAttention" (2022).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from .....analysis.machine import Gpu
from .....analysis.nest.buffers import buffer_name, element_bytes
from .....analysis.nest.loop_structure import enclosing_loops, loops_in, perfect_band
from .....analysis.nest.values.trip_counts import extent_of
from .....dialects.diagnostic import fail
from .....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....nest.loops.fuse import fuse
from ....nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ....nest.loops.reorder import reorder
from ....nest.loops.split import split, why_not_split
from ....nest.loops.unmask import unmask
from ....nest.mapping.annotate import annotate
from ....nest.mapping.bind import bind
from ....nest.memory.cache_write import cache_write
from ....nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ....nest.memory.set_memory import set_memory
from ....nest.memory.sink_alloc import sink_alloc
from ....nest.memory.transform_layout import transform_layout
from ....nest.reductions.online_softmax import online_softmax
from ....nest.reductions.online_softmax_plan import OnlineSoftmax, online_plan
from ....nest.rewrite.steps import Steps
from ...patterns.attention import Attention
from ...patterns.products import sum_of_products_in
from ..grid import bind_blocks, fuse_nests, perfect_loops
from ..sum_neighbours import neighbours_of
from ..sum_tiles import SumTile, Tiling, parts
from .whole_row_attention import RowsOfBlock, padding

WARPS = 8
"""Warps of a block."""

FEWEST = 2 * WARPS
"""Minimum number of rows of a block, where registers have room for the sums: with fewer, what is read is used once."""

MOST_SUMS = 32
"""Maximum number of sums that a thread keeps in registers."""

KEYS = 2 * LANES
"""Keys of a tile."""

DEPTH = 16
"""Terms of a step of a product."""


class OnlineAttention:
    """The steps; any of them may be refused."""

    keys = KEYS
    """Keys of a tile."""

    def __init__(self, found: Attention, gpu: Gpu, steps: Steps):
        self.found = found
        self.gpu = gpu
        self.steps = steps
        self.depth = found.depth
        self.has_kept = False
        """Whether rows store what they compute of their maximum and sum."""
        last = sum_of_products_in(perfect_band(found.last))
        assert last is not None
        features = extent_of(last.column)
        if features is None:
            raise fail(found.last, "the number of columns of the values is known at run time only")
        self.columns = -(-features // LANES)
        self.rows = self._rows(features)

    def _rows(self, features: int) -> int:
        """Rows of a block: what registers have room for, and no more than leave blocks enough."""
        found = self.found
        type_ = found.scores.memref.type
        assert isinstance(type_, MemRefType)
        words = max(1, element_bytes(type_.element_type) // 4)
        rows = WARPS * 8 // words
        while rows > WARPS and rows // WARPS * self.columns * words > MOST_SUMS:
            rows //= 2
        if rows // WARPS * self.columns * words > 2 * MOST_SUMS:
            raise fail(found.last, f"a row of {features} sums takes too many registers")
        *outer, queries, _ = type_.get_shape()
        count = 1
        for extent in outer:
            count = count * extent if extent != DYNAMIC_INDEX else self.gpu.wave
        while rows > FEWEST and queries != DYNAMIC_INDEX:
            if queries > rows // 2 and count * -(-queries // rows) >= self.gpu.wave:
                break
            rows //= 2
        return rows

    def run(self) -> ForOp:
        """Do them; the nest that all became."""
        found, steps = self.found, self.steps
        rows = self._softmax()
        at = found.nests.index(rows)
        before, after = found.nests[:at], found.nests[at + 1 : -1]
        start, zeros, keys, row, scaled, product, end, *kept = steps.do(
            online_softmax, rows, found.last, factor=KEYS, kept=self.has_kept
        )
        running = [op.memref for op in start.walk() if isinstance(op, StoreOp)]
        (sums,) = [op.memref for op in zeros.walk() if isinstance(op, StoreOp)]
        (scale,) = [op.memref for op in scaled.walk() if isinstance(op, LoadOp) and op.memref is not sums]
        around, (row, scaled, product) = self._split_rows([row, scaled, product])
        of_tile = self._fused(around)
        steps.do(reorder, [*of_tile, keys])
        around, others = self._split_rows([start, zeros, *before, *kept, *after, end])
        around.insert(2 + len(before), of_tile)
        blocks = self._fused(around)
        start, zeros, *before = others[: 2 + len(before)]
        kept, others = others[2 + len(before) :][: len(kept)], others[2 + len(before) + len(kept) :]
        *after, end = others
        keys = self._along_keys(before, keys)
        scores = self._sunk(found.scores.memref, keys)
        own = [self._sunk(buffer, blocks[-1]) for buffer in (*running, scale)]
        self._sunk(sums, blocks[-1])
        end = self._stored_once(after, end)
        for loop in (start, zeros, *before):
            steps.attempt(unmask, loop)
        scores_tiling = self._tile_scores(before)
        for loop in (row, product):
            steps.attempt(unmask, loop)
        tiling = SumsOfKeys(self._tile_of(product, self.columns), [zeros, scaled, end], steps)
        tiling.run()
        warps = [deal_out_rows(nest, WARPS, steps)[0] for nest in (start, *kept)]
        of_rows = RowsOfWarps(row, WARPS, steps)
        of_rows.run()
        for warp in warps:
            steps.do(bind, warp, axis="thread.x")
        own = [self._by_warp(buffer) for buffer in own]
        own.append(tiling.sums)
        bind_blocks(blocks, steps)
        of_rows.keep()
        scores_tiling.keep_sums()
        for buffer in own:
            steps.do(set_memory, buffer, space="local")
        self._to_shared(scores)
        return blocks[0]

    def describe(self, label: str) -> str:
        """What the blocks have, for a remark."""
        return f'{self.rows} rows of the scores "{label}", {self.keys} keys at a time,'

    def _softmax(self) -> ForOp:
        """The nest of the softmax."""
        refusal = None
        for nest in self.found.nests:
            if nest in (self.found.first, self.found.last):
                continue
            for kept in (False, True):
                plan = online_plan(nest, self.found.last, self.keys, kept)
                if isinstance(plan, OnlineSoftmax):
                    self.has_kept = kept
                    return nest
                refusal = refusal or plan
        assert refusal is not None
        raise refusal

    def _split_rows(self, nests: list[ForOp]) -> tuple[list[list[ForOp]], list[ForOp]]:
        """The loops of nests over blocks of rows, and over the rows of a block."""
        blocks, rows = [], []
        for nest in nests:
            band = perfect_band(nest)
            row = band[self.depth - 1]
            tail = "perfect" if why_not_split(row, self.rows, "perfect") is None else "mask"
            outer, inner = self.steps.do(split, row, factor=self.rows, tail=tail)
            blocks.append([*band[: self.depth - 1], outer])
            rows.append(inner)
        return blocks, rows

    def _fused(self, nests: list[list[ForOp]]) -> list[ForOp]:
        """Loops of nests that follow each other as one."""
        first, *rest = nests
        for other in rest:
            first = [self.steps.do(fuse, a, b) for a, b in zip(first, other, strict=True)]
        return first

    def _along_keys(self, nests: list[ForOp], keys: ForOp) -> ForOp:
        """Let what computes the scores do so tile by tile of keys: the loop over the tiles."""
        outer: list[ForOp] = []
        for row in nests:
            band = perfect_band(row)
            tiles, inner = self.steps.do(split, band[1], factor=self.keys, tail="mask")
            self.steps.do(reorder, [tiles, row, inner, *band[2:]])
            outer.append(tiles)
        first, *rest = [*outer, keys]
        for other in rest:
            first = self.steps.do(fuse, first, other)
        return first

    def _sunk(self, buffer: SSAValue, loop: ForOp) -> AllocOp:
        """A buffer in a loop, as large as one of its iterations needs."""
        alloc = self.steps.do(sink_alloc, buffer, loop)
        for axis in range(alloc.memref.type.get_num_dims()):
            if why_not_resize_buffer(alloc, axis) is None:
                alloc = self.steps.do(resize_buffer, alloc, dimension=axis)
        return alloc

    def _stored_once(self, after: list[ForOp], end: ForOp) -> ForOp:
        """The nest that ends the sums, and sets the elements that they are added to, where another nest did so before."""
        if len(after) != 1:
            return end
        first, *_, last = fuse_nests(after[0], end, self.steps)
        (result,) = dict.fromkeys(op.memrefs[0] for op in first.walk() if isinstance(op, AccumulateOp))
        self.steps.do(cache_write, result, last, space="local", name=buffer_name(result))
        return first

    def _to_shared(self, scores: AllocOp) -> None:
        if (more := padding(scores)) > 0:
            names = " ".join(f"d{k}" for k in range(self.depth + 1))
            pad = (*(0 for _ in range(self.depth)), more)
            scores = self.steps.do(transform_layout, scores, layout=f"{names} -> {names}", pad=pad)
        self.steps.do(set_memory, scores, space="shared")

    def _by_warp(self, buffer: AllocOp) -> AllocOp:
        """A buffer of a number for each row with an axis for the warp that has the row."""
        names = [f"d{k}" for k in range(self.depth)]
        layout = f"{' '.join(names)} -> {names[-1]}%{WARPS} {names[-1]}/{WARPS}"
        return self.steps.do(transform_layout, buffer, layout=layout)

    # ---- the products ----

    def _tile_of(self, row: ForOp, columns: int) -> SumTile:
        """The sum in a nest over rows and columns of a block, and its tile."""
        sums, moving, term = self._sum_of(row)
        own = (f"r{self.rows // WARPS} x{WARPS}", f"r{columns} l{LANES}")
        tiled = [(loop, parts(text)) for loop, text in zip(moving, own, strict=True)]
        return SumTile(sums, [], tiled, [term], DEPTH, around=len(enclosing_loops(row)))

    def _sum_of(self, row: ForOp) -> tuple[AccumulateOp, list[ForOp], ForOp]:
        """The sum in a nest over rows, the loops over its rows and columns, and the one over its terms."""
        band = perfect_band(row)
        sums = next(op for op in band[-1].body.block.ops if isinstance(op, AccumulateOp))
        moving = [loop for loop in band if loop.iv in sums.indices.operands]
        terms = [loop for loop in band if loop not in moving]
        if len(moving) != 2 or moving[0] is not row or len(terms) != 1:
            raise fail(row, "it is not a sum over one axis, of rows and columns")
        return sums, moving, terms[0]

    def _start_of(self, tile: SumTile, nests: list[ForOp]) -> ForOp | None:
        """The nest that sets the scores, and in the tile those that use them: all of the nests that compute them."""
        start, tile.uses = neighbours_of(tile)
        if len(nests) != 1 + len(tile.uses) + (start is not None):
            raise fail(tile.nest, "the scores are not computed element by element")
        return start

    def _tile_scores(self, nests: list[ForOp]) -> Tiling:
        """The scores of a tile of keys."""
        row = next(nest for nest in nests if adds(nest))
        tile = self._tile_of(row, KEYS // LANES)
        tiling = Tiling(tile, self._start_of(tile, nests), self.steps)
        tiling.run()
        return tiling


class SumsOfKeys(Tiling):
    """Sums that stay in registers while tiles of keys come and go, and the nests that set, scale and use them."""

    def __init__(self, tile: SumTile, others: list[ForOp], steps: Steps):
        super().__init__(tile, None, steps)
        self.others = others

    def run(self) -> None:
        """Do it."""
        tile, steps = self.tile, self.steps
        blocks, tiles, terms = self._into_tiles(tile.nest, [], [loop for loop, _ in tile.tiled])
        insides = [(tiles, terms[-1:])]
        for nest in self.others:
            own, inner, _ = self._into_tiles(nest, [], perfect_loops(nest, len(tile.tiled), steps))
            blocks += own
            insides.append((inner, []))
        copies = self._stage(terms[0])
        self.sums = self._widened()
        results = self._stage_results(enclosing_loops(tile.nest)[tile.around - 2], insides[-1][0])
        of_product, of_zeros, *rest = insides
        for tiles, _ in (of_zeros, of_product, *rest):
            self.by_loop.update(tiles)
            steps.attempt(unmask, tiles[0])
        for tiles, own in insides:
            self._share(tiles, own, is_sum=bool(own))
        for buffer, copy in (*copies, *results):
            self._share_copy(buffer, copy)
        self.sums = steps.do(
            transform_layout, self.sums, layout=self._layout(self.sums.memref.type.get_num_dims())
        )
        for loop in blocks:
            if loop.constant_trip_count() == 1 and why_not_remove_unit_loop(loop) is None:
                steps.do(remove_unit_loop, loop)

    def _widened(self) -> AllocOp:
        """The sums, as many as the threads have."""
        alloc = self.tile.result.owner
        assert isinstance(alloc, AllocOp)
        shape, last = alloc.memref.type.get_shape(), prod(part.size for part in self.tile.tiled[1][1])
        if shape[-1] == last:
            return alloc
        return self.steps.do(resize_buffer, alloc, dimension=len(shape) - 1, size=last)


class RowsOfWarps(RowsOfBlock):
    """The steps for rows that warps have for themselves: in each tile of keys the same ones."""

    def _share_rows(self) -> list[ForOp]:
        warp, self.row = deal_out_rows(self.row, self.team.rows, self.steps)
        self.warps.append(warp)
        return []


def deal_out_rows(row: ForOp, warps: int, steps: Steps) -> tuple[ForOp, ForOp]:
    """Let each warp have one of so many neighbouring rows: the loops over warps, and over the rows of a warp."""
    rounds, warp = steps.do(
        split, row, factor=warps, tail="mask" if len(perfect_band(row)) == len(loops_in(row)) else "clamp"
    )
    steps.do(reorder, [warp, rounds])
    steps.do(annotate, rounds, mark="unrolled")
    return warp, rounds


def adds(nest: ForOp) -> bool:
    """Whether a nest sums up."""
    return any(isinstance(op, AccumulateOp) for op in nest.walk())
