"""Attention of 16-bit floats on a GPU by tensor cores (part of nest-schedule-cuda): one kernel, a tile of keys at a time.

    nest.for "b" ... { ... nest.accumulate "t" add %p, %t[%b, %h, %i, %j] }      // products of queries and keys, in f32
    nest.for "b.1" ... { ... %t[%b, %h, %i, %j] ... nest.store "e" %e, %w[%b, %h, %i, %j]     // a softmax, in f16
    nest.for "b.2" ... { ... nest.load %w[%b, %h, %i, %j] ... }                  // products with the values, in f32
    nest.for "b.3" ... { ... }                                                   // which are made narrower
  becomes
    nest.for "b" ... bind "block.z" { nest.for "h" ... bind "block.y" { nest.for "i.o" ... bind "block.x" {
      %q_shared = nest.alloc : memref<64x64xf16, 3>                              // the queries of the block, once
      %running_maximum, %y_sums                                                  // in registers
      ... the first tile of keys, and of values, is on its way
      nest.for "j.o" ... {                                                       // a tile of 64 keys after the other
        ... the next tile of keys, and of values, is on its way                  // nest-pipeline, cp.async
        ... the scores of 16 or 32 queries by a warp: mma.sync, in registers
        nest.for "warp_row" ... bind "thread.y" { nest.for "lane_row" ... bind "lane.y" {
          nest.for ... unrolled {                                                // the rows that four lanes have
            nest.for "lane_column" ... bind "lane.x" { ... }                     // their maximum so far: two shuffles
            ... what scales the sums
            nest.for "lane_column" ... bind "lane.x" { ... }                     // exponentials, in registers, and their sum
        ... %y_sums are scaled by what the maximum has changed, and the tile's products are added: mma.sync, with the
            exponentials as they are in registers
      ... %y_sums divided by the sum, made narrower, to %y

What lanes have of the sums of a tensor core is what the next product takes from them as its rows, and of the numbers of a
row each of its four lanes has a copy: nothing but queries, keys and values is in shared memory. What a program does to
a score (it rounds each step to 16 bits) is done to two neighbours at a time. The running maximum and sum are those of
nest-online-softmax. After T. Dao, "FlashAttention-2" (2023); docs/decisions/0017-attention-by-tensor-cores.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX

from .....analysis.machine import STATIC_SHARED_BYTES, Gpu
from .....analysis.nest.buffers import declared_space, element_bytes
from .....analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS, Form, form_of
from .....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, perfect_band
from .....analysis.nest.values.trip_counts import extent_of
from .....dialects.attributes import ASYNC
from .....dialects.diagnostic import fail
from .....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ....nest.loops.reorder import reorder
from ....nest.loops.split import split
from ....nest.loops.unmask import unmask
from ....nest.mapping.annotate import annotate
from ....nest.mapping.vectorize import vectorize
from ....nest.memory.cache_read import cache_read
from ....nest.memory.cache_write import cache_write
from ....nest.memory.hoist_alloc import hoist_alloc
from ....nest.memory.pipeline import pipeline, why_not_pipeline
from ....nest.memory.set_memory import set_memory
from ....nest.memory.stage_factors import stage_factors
from ....nest.memory.transform_layout import transform_layout
from ....nest.reductions.online_softmax import online_softmax
from ....nest.reductions.rfactor import rfactor
from ....nest.reductions.skip_masked import skip_masked, why_not_skip_masked
from ....nest.rewrite.steps import Steps
from ...patterns.attention import Attention
from ...patterns.products import Product, sum_of_products_in
from ..grid import bind_blocks, fuse_nests
from ..matrix_tiles import LANE_COLUMN, LANE_ROW, WARP_ROW, MatrixTiling, bind_as
from ..sum_neighbours import neighbours_of
from ..sum_tiles import SumTile, parts
from ..tile_copies import mark_vector
from .online_attention import OnlineAttention, SumsOfKeys, adds

WARPS = 4
"""Warps of a block."""

WIDEST = 64
"""Maximum number of features of a head where a warp has two tiles of rows: keys and values are loaded for both."""

KEYS = 64
"""Keys of a tile: a lane has half as many scores."""

DEPTH = 32
"""Terms of a step of the scores, where the features of a head are not copied as a whole."""

LANES_OF_ROW = 4
"""Lanes that have a row."""

MOST_FEATURES = 128
"""Maximum number of features of a head: a lane has half as many sums, beside its scores."""

STAGES = 2
"""Tiles of keys, and of values, that are in shared memory: one is used while the other is copied."""


class MatrixAttention(OnlineAttention):
    """The steps; any of them may be refused."""

    keys = KEYS

    def __init__(self, found: Attention, gpu: Gpu, steps: Steps):
        first, last = (sum_of_products_in(perfect_band(nest)) for nest in (found.first, found.last))
        assert first is not None and last is not None
        self.features = extent_of(last.column)
        self.uses = uses_of(last)
        """The nests after the products that use them, element by element."""
        terms = extent_of(first.term)
        instruction = form_in(found.weights).terms
        self.is_whole = terms is not None and terms <= MOST_FEATURES and terms % instruction == 0
        """Whether the features of queries and keys are copied as a whole."""
        self.terms = terms if self.is_whole and terms is not None else DEPTH
        super().__init__(found, gpu, steps)

    def _rows(self, features: int) -> int:
        """Rows of a block."""
        if features > MOST_FEATURES:
            raise fail(self.found.last, f"a row of {features} sums takes too many registers")
        *outer, queries, _ = self.found.scores.memref.type.get_shape()
        known = [self.gpu.wave if extent == DYNAMIC_INDEX else extent for extent in (*outer, queries)]
        blocks = prod(known[:-1]) * -(-known[-1] // (2 * WARPS * ROWS))
        is_wide = features <= WIDEST and known[-1] > WARPS * ROWS and blocks >= self.gpu.wave
        return (2 if is_wide else 1) * WARPS * ROWS

    def run(self) -> ForOp:
        """Do them; the nest that all became."""
        found, steps = self.found, self.steps
        rows = self._softmax()
        at = found.nests.index(rows)
        before, after = found.nests[:at], found.nests[at + 1 : -1]
        start, zeros, keys, row, scaled, product, end, *kept = steps.do(
            online_softmax, rows, found.last, factor=KEYS, kept=self.has_kept
        )
        maximum, total = [op.memref for op in start.walk() if isinstance(op, StoreOp)]
        (sums,) = [op.memref for op in zeros.walk() if isinstance(op, StoreOp)]
        (scale,) = [op.memref for op in scaled.walk() if isinstance(op, LoadOp) and op.memref is not sums]
        around, (row, scaled, product) = self._split_rows([row, scaled, product])
        of_tile = self._fused(around)
        steps.do(reorder, [*of_tile, keys])
        around, others = self._split_rows([start, zeros, *before, *kept, *after, end, *self.uses])
        around.insert(2 + len(before), of_tile)
        blocks = self._fused(around)
        start, zeros, *before = others[: 2 + len(before)]
        kept, others = others[2 + len(before) :][: len(kept)], others[2 + len(before) + len(kept) :]
        after, end, uses = (
            others[: -1 - len(self.uses)],
            others[-1 - len(self.uses)],
            others[len(others) - len(self.uses) :],
        )
        keys = self._along_keys(before, keys)
        scores, weights = (self._sunk(alloc.memref, keys) for alloc in (found.scores, found.weights))
        maximum, total, scale = (self._sunk(buffer, blocks[-1]) for buffer in (maximum, total, scale))
        self._sunk(sums, blocks[-1])
        skipped = self._skip_masked(keys)
        element = None
        if uses:
            end, element = self._used_at_once([*after, end, *uses])
        else:
            end = self._stored_once(after, end)
        for loop in (start, zeros, *before):
            steps.attempt(unmask, loop)
        scores_tiling = self._tile_scores(before)
        for loop in (row, product):
            steps.attempt(unmask, loop)
        features = self.columns * LANES
        copied = (self.rows + 2 * STAGES * KEYS) * features * element_bytes(weights.memref.type.element_type)
        tile = self._matrix_tile(product, features, KEYS, max(0, room_of_block(self.gpu) - copied))
        tiling = FragmentsOfKeys(tile, [zeros, scaled, *(one[2] for one in skipped), end], weights, steps)
        tiling.run()
        for nest in (start, *kept):
            self._by_lanes(nest)
        self._by_lanes(row, partial(self._share_keys, maximum, total))
        none = [self._share_rest(first, rest) for first, rest, _ in skipped]
        own = [self._of_lanes(buffer) for buffer in (maximum, total, scale, scores, weights)]
        own += [] if element is None else [element]
        bind_blocks(blocks, steps)
        scores_tiling.keep_sums()
        tiling.keep_sums()
        for buffer in own:
            steps.do(set_memory, buffer, space="local")
        for buffer in none:
            steps.do(set_memory, buffer, space="shared")
        copy_ahead(keys, blocks[-1], room_of_block(self.gpu), steps)
        return blocks[0]

    # ---- tiles of keys that a mask leaves nothing of ----

    def _skip_masked(self, keys: ForOp) -> list[tuple[ForOp, ForOp, ForOp]]:
        """Leave them out, where lanes can share out the zeros that are left of them."""
        if self.features != self.columns * LANES:
            return []
        found: list[tuple[ForOp, ForOp, ForOp]] = []
        for side in ("above", "below"):
            if why_not_skip_masked(keys, side) is None:
                found.append(self.steps.do(skip_masked, keys, side=side))
        return found

    def _share_rest(self, zeros: ForOp, rest: ForOp) -> AllocOp:
        """Warps and lanes have columns, four lanes share out their terms: where the sums go."""
        steps = self.steps
        (none,) = [op.memref.owner for op in zeros.walk() if isinstance(op, StoreOp)]
        assert isinstance(none, AllocOp)
        for loop in (zeros, rest):
            terms = perfect_band(loop)[1:]
            warp, column = steps.do(split, loop, factor=ROWS // 2 * self.columns, tail="perfect")
            lane, own = steps.do(split, column, factor=self.columns, tail="perfect")
            if not terms:
                steps.do(annotate, own, mark="unrolled")
            else:
                self._share_terms(none, lane, terms, own)
            bind_as(warp, *WARP_ROW, steps)
            bind_as(lane, *LANE_ROW, steps)
        return none

    def _share_terms(self, none: AllocOp, lane: ForOp, terms: list[ForOp], own: ForOp) -> None:
        steps = self.steps
        blocks, term = terms
        turn, among = steps.do(split, term, factor=LANES_OF_ROW, tail="perfect")
        steps.do(reorder, [among, blocks, turn, own])
        name = f"{none.label.data}_column"
        sums, _, _ = steps.do(cache_write, none, lane, space="local", name=name)
        steps.do(cache_write, sums, among, init="identity", space="local", name=f"{name}_lane")
        for loop in [
            op for op in lane.body.walk() if isinstance(op, ForOp) and op not in (among, blocks, turn, own)
        ]:
            steps.do(annotate, loop, mark="unrolled")
        steps.do(annotate, turn, mark="unrolled")
        mark_vector(own, True, steps)
        bind_as(among, *LANE_COLUMN, steps)

    # ---- the result ----

    def _used_at_once(self, nests: list[ForOp]) -> tuple[ForOp, AllocOp]:
        """The nests that set elements, add the quotients to them and use them as one, and the one element that it keeps."""
        first, *rest = nests
        (result,) = dict.fromkeys(op.memref for op in first.walk() if isinstance(op, StoreOp))
        innermost = perfect_band(first)[-1]
        for other in rest:
            first, *_, innermost = fuse_nests(first, other, self.steps)
        return first, self._sunk(result, innermost)

    # ---- rows ----

    def _by_lanes(self, row: ForOp, update: Callable[[ForOp], None] | None = None) -> None:
        """Let four lanes have a row, once `update` was called with the loop over the two rows that they have."""
        steps = self.steps
        warp, lane, own = rows_of_lanes(row, self.rows // WARPS, steps)
        steps.do(reorder, [warp, lane, *own])
        for loop in own:
            steps.do(annotate, loop, mark="unrolled")
        if update is not None:
            update(own[-1])
        bind_as(warp, *WARP_ROW, steps)
        bind_as(lane, *LANE_ROW, steps)

    def _share_keys(self, maximum: AllocOp, total: AllocOp, own: ForOp) -> None:
        """A row's keys are shared out over its four lanes as their sums are; these combine what they have, by shuffles."""
        steps = self.steps
        for loop in [op for op in own.body.block.ops if isinstance(op, ForOp)]:
            tile, key = steps.do(split, self._whole(loop), factor=COLUMNS, tail="perfect")
            lane, pair = steps.do(split, key, factor=2, tail="perfect")
            steps.do(reorder, [lane, tile, pair])
            updates = [op for op in pair.body.block.ops if isinstance(op, AccumulateOp)]
            is_maximum = any(maximum.memref in op.memrefs for op in updates)
            for buffer in (maximum, total):
                if any(buffer.memref in op.memrefs for op in updates):
                    name = f"{buffer.label.data}_lane"
                    steps.do(cache_write, buffer, lane, init="identity", space="local", name=name)
            self._in_pairs(tile, pair, is_maximum)
            bind_as(lane, *LANE_COLUMN, steps)

    def _in_pairs(self, tile: ForOp, pair: ForOp, is_maximum: bool) -> None:
        """Two neighbouring keys at a time: both in a register, where they have 16 bits."""
        steps = self.steps
        loops = [pair]
        if is_maximum:  # one of each of the two
            loops += steps.do(rfactor, pair)
        steps.do(annotate, tile, mark="unrolled")
        for loop in loops:
            steps.do(vectorize, loop, width=2)

    def _whole(self, loop: ForOp) -> ForOp:
        """The loop over the keys of a tile with a constant number of iterations, some of which may do nothing.

        Registers are indexed by constants then.
        """
        if loop.constant_trip_count() is not None:
            return loop
        tiles, inner = self.steps.do(split, loop, factor=KEYS, tail="mask")
        self.steps.do(remove_unit_loop, tiles)
        return inner

    def _of_lanes(self, buffer: AllocOp) -> AllocOp:
        """A buffer of rows, or of rows and keys, with axes for the warp and the lanes that have the row (and the key)."""
        names = [f"d{k}" for k in range(buffer.memref.type.get_num_dims())]
        row, key = names[self.depth - 1], names[self.depth :]
        keys = [(f"{k}%8/2", f"{k}/8", f"{k}%2") for k in key]
        lanes, tiles, pairs = zip(*keys, strict=True) if keys else ((), (), ())
        warp = self.rows // WARPS
        own = [f"{row}%{warp}/{ROWS}"] if warp > ROWS else []
        layout = [f"{row}/{warp}", f"{row}%8", *lanes, *own, *tiles, f"{row}%{ROWS}/8", *pairs]
        return self.steps.do(transform_layout, buffer, layout=f"{' '.join(names)} -> {' '.join(layout)}")

    # ---- the products ----

    def _matrix_tile(self, row: ForOp, columns: int, depth: int, results: int = 0) -> SumTile:
        """The sum in a nest over rows and columns of a block, and its tile, with so many bytes for results."""
        sums, moving, term = self._sum_of(row)
        own = (f"y{WARPS} r{self.rows // WARPS // ROWS} r2 l8", f"r{columns // COLUMNS} l4 v2")
        tiled = [(loop, parts(text)) for loop, text in zip(moving, own, strict=True)]
        around = len(enclosing_loops(row))
        return SumTile(sums, [], tiled, [term], depth, around=around, results=results)

    def _tile_scores(self, nests: list[ForOp]) -> MatrixTiling:
        """The scores of a tile of keys."""
        row = next(nest for nest in nests if adds(nest))
        tile = self._matrix_tile(row, KEYS, self.terms)
        start = self._start_of(tile, nests)
        tiling = (FragmentsOfScores if self.is_whole else FragmentsInRegisters)(tile, start, self.steps)
        tiling.run()
        return tiling


class FragmentsInRegisters(MatrixTiling):
    """Sums whose rows are in four lanes each, which share out what is done with a row."""

    has_lane_axes = True


class FragmentsOfScores(FragmentsInRegisters):
    """Scores of a tile of keys, of queries that the block copies once, and of keys that it copies for each tile."""

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        block, keys = enclosing_loops(step)[self.tile.around - 2 : self.tile.around]
        row, column = loops_in(step)[1:3]
        copies: list[tuple[AllocOp, ForOp]] = []
        for load in [op for op in step.walk() if isinstance(op, LoadOp)]:
            along, at = (row, block) if row.iv in load.indices.operands else (column, keys)
            options = {"space": "shared", "tail": "zero", "along": along.label}
            copies.append(self.steps.do(cache_read, load.memref, at, **options))
        return copies


class FragmentsOfKeys(SumsOfKeys, FragmentsInRegisters):
    """Sums that stay in registers while tiles of keys come and go; so do the weights, which are fragments of the product."""

    def __init__(self, tile: SumTile, others: list[ForOp], weights: AllocOp, steps: Steps):
        super().__init__(tile, others, steps)
        self.weights = weights
        self.fragments: AllocOp | None = None

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        left, left_copy, right, right_copy = self.steps.do(stage_factors, step, narrow=True)
        copies = [(left, left_copy), (right, right_copy)]
        for buffer, copy in copies:
            if not self._is_of_weights(copy):
                self.steps.do(set_memory, buffer, space="shared")
        return copies

    def _is_of_weights(self, copy: ForOp) -> bool:
        return any(isinstance(op, LoadOp) and op.memref is self.weights.memref for op in copy.walk())

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        if not self._is_of_weights(copy):
            return super()._share_copy(buffer, copy)
        steps = self.steps
        term, row = loops_in(copy)
        rows = self.of_warp[0]
        warp, lane_row, own = rows_of_lanes(row, rows, steps)
        tile, term = steps.do(split, term, factor=COLUMNS, tail="perfect")
        lane, pair = steps.do(split, term, factor=2, tail="perfect")
        steps.do(reorder, [warp, lane_row, lane, *own, tile, pair])
        part = f"d1%{rows}/{ROWS} " if rows > ROWS else ""
        layout = f"d0 d1 -> d1/{rows} d1%8 d0%8/2 {part}d0/8 d1%{ROWS}/8 d0%2"
        self.fragments = steps.do(transform_layout, buffer, layout=layout)
        for loop, (name, axis) in ((warp, WARP_ROW), (lane_row, LANE_ROW), (lane, LANE_COLUMN)):
            bind_as(loop, name, axis, steps)
        for loop in (*own, tile):
            steps.do(annotate, loop, mark="unrolled")
        steps.do(vectorize, pair, width=2)

    def keep_sums(self) -> None:
        super().keep_sums()
        self.steps.do(set_memory, self.fragments, space="local")


def rows_of_lanes(row: ForOp, rows: int, steps: Steps) -> tuple[ForOp, ForOp, list[ForOp]]:
    """The loops over warps of so many rows, over the rows of a warp's lanes, and over the rows that a lane has."""
    warp, row = steps.do(split, row, factor=rows, tail="perfect")
    own: list[ForOp] = []
    if rows > ROWS:
        tile, row = steps.do(split, row, factor=ROWS, tail="perfect")
        own = [tile]
    half, lane = steps.do(split, row, factor=ROWS // 2, tail="perfect")
    return warp, lane, [*own, half]


def uses_of(product: Product) -> list[ForOp]:
    """The nests after a product that use each of its elements by itself, where no others use them."""
    tiled = [(product.row, ()), (product.column, ())]
    tile = SumTile(product.sums, list(product.batch), tiled, [product.term], 1)
    start, uses = neighbours_of(tile)
    nests = [product.outermost, *uses, *([] if start is None else [start])]
    users = [use.operation for use in product.result.uses]
    is_own = isinstance(product.result.owner, AllocOp)
    return uses if is_own and all(any(is_inside(op, nest) for nest in nests) for op in users) else []


def form_in(buffer: AllocOp) -> Form:
    """The instruction that multiplies a buffer's elements. Raises where they have not 16 bits."""
    element = buffer.memref.type.element_type
    form = form_of(element)
    if form is None or form.bits != 16:
        raise fail(buffer, f"tensor cores do not multiply weights of {element} here, but f16 and bf16")
    return form


def bytes_of(alloc: AllocOp) -> int:
    """Bytes of shared memory that a buffer takes."""
    type_ = alloc.memref.type
    if declared_space(type_) != "shared":
        return 0
    return prod(type_.get_shape()) * element_bytes(type_.element_type)


def copy_ahead(keys: ForOp, block: ForOp, room: int, steps: Steps) -> None:
    """What the next iteration copies is copied while one is computed, where shared memory has room for both."""
    for loop in [op for op in keys.body.block.ops if isinstance(op, ForOp)]:
        while loop.constant_trip_count() == 1 and loop.kind == "serial":
            inner = next((op for op in loop.body.block.ops if isinstance(op, ForOp)), None)
            steps.do(remove_unit_loop, loop)
            if inner is None:
                break
            loop = inner
    stores = [op for op in keys.walk() if isinstance(op, StoreOp)]
    ahead = {op.memref for op in stores if any(ASYNC in loop.attributes for loop in enclosing_loops(op))}
    shared = sum(bytes_of(op) for op in block.walk() if isinstance(op, AllocOp))
    if shared > max(room, STATIC_SHARED_BYTES):
        raise fail(keys, f"the tiles take {shared} bytes, a block has {room} of shared memory")
    made = [op for op in keys.body.block.ops if isinstance(op, AllocOp)]
    shared += (STAGES - 1) * sum(bytes_of(op) for op in made if op.memref in ahead)
    if not ahead or shared > room:
        return
    for alloc in made:
        if alloc.memref not in ahead:
            steps.do(hoist_alloc, alloc, keys)
    if (keys.constant_trip_count() or STAGES) < STAGES or why_not_pipeline(keys, STAGES) is not None:
        return
    for loop in steps.do(pipeline, keys, stages=STAGES):
        if loop.constant_trip_count() == 1 and why_not_remove_unit_loop(loop) is None:
            steps.do(remove_unit_loop, loop)


def room_of_block(gpu: Gpu) -> int:
    """Bytes of shared memory for a block, two of which share a multiprocessor."""
    limits = gpu.limits
    return min(limits.shared_of_block, limits.shared // 2 - limits.reserved)
