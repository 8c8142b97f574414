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
      nest.for "j.o" ... {                                                       // a tile of 32 keys after the other
        ... the next tile of keys, and of values, is on its way                  // nest-pipeline, cp.async
        ... the scores of 32 queries by a warp: mma.sync, in registers; they are stored to %t    // shared memory
        ... a lane has a row of %t: its maximum so far, the exponentials, in registers, their sum so far
        ... the exponentials go to %w_tile, the operand of the next products     // shared memory
        ... %y_sums are scaled by what the maximum has changed, and the tile's products are added: mma.sync
      ... %y_sums divided by the sum, made narrower, to %y

A warp has 32 rows, so that each of its lanes has one: no shuffles, and what a program does to a score (it rounds each
step to 16 bits) is done once. Scores go from the registers that a tensor core leaves them in to those of the row's lane
through shared memory, and come back as 16 bits; why: docs/decisions/0017-attention-by-tensor-cores.md. The running maximum
and sum are those of nest-online-softmax; sums and what scales them are in shared memory, for the lanes of a tensor core's
tile are not those of its rows. After T. Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

from math import prod

from ....analysis.machine import Gpu
from ....analysis.nest.buffers import declared_space, element_bytes
from ....analysis.nest.kernels.matrix_tiles import COLUMNS, Form, form_of
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, perfect_band
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.attributes import ASYNC
from ....dialects.diagnostic import fail
from ....dialects.nest import LANES, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.rename import rename_freely
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.loops.unmask import unmask
from ...nest.mapping.annotate import annotate
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_read import cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.hoist_alloc import hoist_alloc
from ...nest.memory.pipeline import pipeline, why_not_pipeline
from ...nest.memory.set_memory import set_memory
from ...nest.memory.transform_layout import transform_layout
from ...nest.reductions.online_softmax import online_softmax
from ...nest.rewrite.buffers import SHARED_BYTES
from ...nest.rewrite.steps import Steps
from ..patterns.attention import Attention
from ..patterns.products import Product, sum_of_products_in
from .grid import bind_blocks
from .matrix_tiles import LANE, WARP_ROW, MatrixTiling, rotation
from .online_attention import OnlineAttention, SumsOfKeys, adds
from .sum_neighbours import neighbours_of
from .sum_tiles import SumTile, parts
from .tile_copies import mark_vector

WARPS = 2
"""Warps of a block."""

ROWS = LANES
"""Rows of a warp: one for each lane."""

KEYS = 32
"""Keys of a tile: a lane has as many scores in registers, and as many exponentials."""

DEPTH = 32
"""Terms of a step of the scores, where the features of a head are not copied as a whole."""

MOST_FEATURES = 128
"""Maximum number of features of a head: a lane has as many sums, and 255 registers for all."""

STAGES = 2
"""Tiles of keys, and of values, that are in shared memory: one is used while the other is copied."""

SCORES_IN_ONE_ACCESS = 4
"""Scores of a row that its lane reads together."""


class MatrixAttention(OnlineAttention):
    """The steps; any of them may be refused."""

    keys = KEYS

    def __init__(self, found: Attention, gpu: Gpu, steps: Steps):
        first, last = (sum_of_products_in(perfect_band(nest)) for nest in (found.first, found.last))
        assert first is not None and last is not None
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
        return WARPS * ROWS

    def run(self) -> ForOp:
        """Do them; the nest that all became."""
        found, steps = self.found, self.steps
        rows = self._softmax()
        at = found.nests.index(rows)
        before, after = found.nests[:at], found.nests[at + 1 : -1]
        start, zeros, keys, row, scaled, product, end = steps.do(
            online_softmax, rows, found.last, factor=KEYS
        )
        maximum, total = [op.memref for op in start.walk() if isinstance(op, StoreOp)]
        (sums,) = [op.memref for op in zeros.walk() if isinstance(op, StoreOp)]
        (scale,) = [op.memref for op in scaled.walk() if isinstance(op, LoadOp) and op.memref is not sums]
        around, (row, scaled, product) = self._split_rows([row, scaled, product])
        of_tile = self._fused(around)
        steps.do(reorder, [*of_tile, keys])
        around, others = self._split_rows([start, zeros, *before, *after, end, *self.uses])
        around.insert(2 + len(before), of_tile)
        blocks = self._fused(around)
        start, zeros, *before = others[: 2 + len(before)]
        after, end, uses = (
            others[2 + len(before) : -1 - len(self.uses)],
            others[-1 - len(self.uses)],
            others[len(others) - len(self.uses) :],
        )
        keys = self._along_keys(before, keys)
        scores, weights = (self._sunk(alloc.memref, keys) for alloc in (found.scores, found.weights))
        maximum, total, scale = (self._sunk(buffer, blocks[-1]) for buffer in (maximum, total, scale))
        self._sunk(sums, blocks[-1])
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
        tile = self._matrix_tile(product, self.columns * LANES, KEYS)
        tiling = FragmentsOfKeys(tile, [zeros, scaled, end], weights, steps)
        tiling.run()
        self._by_lane(start)
        self._in_registers(self._by_lane(row), scores, total)
        own = [self._of_lanes(buffer) for buffer in (maximum, weights)]
        own += [] if element is None else [element]
        bind_blocks(blocks, steps)
        scores_tiling.keep_sums()
        tiling.keep_sums()
        for buffer in own:
            steps.do(set_memory, buffer, space="local")
        for buffer in (total, scale):
            steps.do(set_memory, buffer, space="shared")
        self._to_shared(scores)
        self._copy_ahead(keys, blocks[-1])
        return blocks[0]

    # ---- the result ----

    def _used_at_once(self, nests: list[ForOp]) -> tuple[ForOp, AllocOp]:
        """The nests that set elements, add the quotients to them and use them as one, and the one element that it keeps."""
        first, *rest = nests
        (result,) = dict.fromkeys(op.memref for op in first.walk() if isinstance(op, StoreOp))
        innermost = perfect_band(first)[-1]
        for other in rest:
            pairs = zip(perfect_band(first), perfect_band(other), strict=True)
            first, *_, innermost = [self.steps.do(fuse, one, two) for one, two in pairs]
        return first, self._sunk(result, innermost)

    # ---- rows ----

    def _by_lane(self, row: ForOp) -> ForOp:
        """Let each lane have a row: the loop over lanes."""
        warp, lane = self.steps.do(split, row, factor=LANES, tail="perfect")
        bind_lanes(warp, lane, self.steps)
        return lane

    def _in_registers(self, lane: ForOp, scores: AllocOp, total: AllocOp) -> None:
        """A lane reads its row of scores once and keeps it, and adds up in a register."""
        steps = self.steps
        passes = [op for op in lane.body.block.ops if isinstance(op, ForOp)]
        _, copy = steps.do(cache_read, scores, lane, space="local")
        steps.do(cache_write, total, lane, space="local", name=f"{total.label.data}_lane")
        for loop in map(self._whole, (copy, *passes)):
            pieces, vector = steps.do(split, loop, factor=SCORES_IN_ONE_ACCESS, tail="perfect")
            steps.do(annotate, pieces, mark="unrolled")
            mark_vector(vector, True, steps)

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
        """A buffer of rows with axes for the warp and the lane that have the row."""
        names = [f"d{k}" for k in range(buffer.memref.type.get_num_dims())]
        row, rest = names[self.depth - 1], names[self.depth :]
        layout = " ".join([f"{row}/{LANES}", f"{row}%{LANES}", *rest])
        return self.steps.do(transform_layout, buffer, layout=f"{' '.join(names)} -> {layout}")

    # ---- the products ----

    def _matrix_tile(self, row: ForOp, columns: int, depth: int) -> SumTile:
        """The sum in a nest over rows and columns of a block, and its tile."""
        sums, moving, term = self._sum_of(row)
        own = (f"y{WARPS} r2 r2 l8", f"r{columns // COLUMNS} l4 v2")
        tiled = [(loop, parts(text)) for loop, text in zip(moving, own, strict=True)]
        return SumTile(sums, [], tiled, [term], depth, around=len(enclosing_loops(row)))

    def _tile_scores(self, nests: list[ForOp]) -> MatrixTiling:
        """The scores of a tile of keys."""
        row = next(nest for nest in nests if adds(nest))
        tile = self._matrix_tile(row, KEYS, self.terms)
        start = self._start_of(tile, nests)
        tiling = (FragmentsOfScores if self.is_whole else MatrixTiling)(tile, start, self.steps)
        tiling.run()
        return tiling

    # ---- copies ----

    def _copy_ahead(self, keys: ForOp, block: ForOp) -> None:
        """The next tile of keys, and of values, is copied while one is used, where shared memory has room for both."""
        steps = self.steps
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
        if shared > SHARED_BYTES:
            raise fail(keys, f"the tiles take {shared} bytes, a block has {SHARED_BYTES} of shared memory")
        made = [op for op in keys.body.block.ops if isinstance(op, AllocOp)]
        shared += (STAGES - 1) * sum(bytes_of(op) for op in made if op.memref in ahead)
        if not ahead or shared > SHARED_BYTES:
            return
        for alloc in made:
            if alloc.memref not in ahead:
                steps.do(hoist_alloc, alloc, keys)
        if (keys.constant_trip_count() or STAGES) < STAGES or why_not_pipeline(keys, STAGES) is not None:
            return
        for loop in steps.do(pipeline, keys, stages=STAGES):
            if loop.constant_trip_count() == 1 and why_not_remove_unit_loop(loop) is None:
                steps.do(remove_unit_loop, loop)


class FragmentsOfScores(MatrixTiling):
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


class FragmentsOfKeys(SumsOfKeys, MatrixTiling):
    """Sums that stay in registers while tiles of keys come and go; a lane copies its row of weights from its registers."""

    def __init__(self, tile: SumTile, others: list[ForOp], weights: AllocOp, steps: Steps):
        super().__init__(tile, others, steps)
        self.weights = weights

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        load = next(op for op in copy.walk() if isinstance(op, LoadOp) and len(op.indices))
        if load.memref is not self.weights.memref:
            super()._share_copy(buffer, copy)
            return
        steps, size = self.steps, form_in(buffer).contiguous
        term, row = loops_in(copy)
        rotated = rotation([term, row], row, term.constant_trip_count() or KEYS, size)
        warp, lane = steps.do(split, row, factor=LANES, tail="perfect")
        turn, vector = steps.do(split, term, factor=size, tail="perfect")
        steps.do(reorder, [warp, lane, turn, vector])
        steps.do(transform_layout, buffer, layout=rotated)
        bind_lanes(warp, lane, steps)
        steps.do(annotate, turn, mark="unrolled")
        steps.do(vectorize, vector, width=size)


def bind_lanes(warp: ForOp, lane: ForOp, steps: Steps) -> None:
    """Bind a loop over warps and the one over lanes, as cuda/matrix_tiles.py calls and binds them."""
    for loop, (name, axis) in ((warp, WARP_ROW), (lane, LANE)):
        rename_freely(steps, loop, name)
        steps.do(bind, loop, axis=axis)


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
