"""Attention with whole rows of scores in shared memory (part of nest-schedule-cuda).

  nest.for "b" ... { ... nest.accumulate "t" add %p, %t[%b, %h, %i, %j] }      // products of queries and keys
  nest.for "b.1" ... { ... %t[%b, %h, %i, %j] ... }                            // a softmax of each row
  nest.for "b.2" ... { ... nest.load %t[%b, %h, %i, %j] ... }                  // products with the values
becomes
  nest.for "b" ... bind "block.z" { nest.for "h" ... bind "block.y" {
    nest.for "i.o" ... bind "block.x" {
      %t = nest.alloc "t" : memref<1x1x16x512xf32, 3>                          // whole rows, in shared memory
      nest.for "j.o" ... {                                                     // a tile of keys after the other
        ... the products, in registers (sum_tiles.py); they are stored to %t
      ... warps compute the softmax of a row each (cuda/row_programs.py)
      nest.for "j.step" ... { ... the products with the values, in registers
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

from .....analysis.machine import ACCESS_BYTES, STATIC_SHARED_BYTES, Gpu
from .....analysis.nest.buffers import element_bytes
from .....analysis.nest.loop_structure import loops_in, perfect_band
from .....dialects.nest import LANES, AllocOp, ForOp
from ....nest.loops.fuse import fuse
from ....nest.loops.split import split
from ....nest.loops.unmask import unmask
from ....nest.mapping.bind import bind
from ....nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ....nest.memory.set_memory import set_memory
from ....nest.memory.sink_alloc import sink_alloc
from ....nest.memory.transform_layout import transform_layout
from ....nest.rewrite.steps import Steps
from ...patterns.attention import Attention, outer_loops
from ...patterns.products import Product, sum_of_products_in
from ..grid import bind_blocks
from ..row_programs import Rows, Team
from ..sum_tiles import Parts, SumTile, Tiling, neighbours_of, parts

WARPS = 4
"""Warps of a block."""

ROWS = (16, 8, 4)
"""Queries of a block, the best number first."""

SCORES = STATIC_SHARED_BYTES * 3 // 4
"""Bytes of scores that a block has: what is left of shared memory is for the tiles of operands."""

DEPTH = 16
"""Terms of a step of a product."""


def rows_that_fit(found: Attention) -> list[int]:
    """How many whole rows of scores a block has room for, the best number first."""
    type_ = found.scores.memref.type
    assert isinstance(type_, MemRefType)
    length = type_.get_shape()[-1]
    if length == DYNAMIC_INDEX:
        return []
    row = (length + padding(found.scores)) * element_bytes(type_.element_type)
    return [rows for rows in ROWS if rows * row <= SCORES]


def padding(buffer: AllocOp) -> int:
    """Elements by which rows are made longer: an odd number of 16 bytes, so that eight rows are in all banks.

    Then lanes that read 16 bytes of a row each, one below the other, do so without conflicts.
    """
    type_ = buffer.memref.type
    assert isinstance(type_, MemRefType)
    width = max(1, ACCESS_BYTES // element_bytes(type_.element_type))
    length = type_.get_shape()[-1]
    return ((-(-length // width)) | 1) * width - length


class WholeRows:
    """The steps for blocks that have whole rows of scores; any of them may be refused."""

    def __init__(self, found: Attention, gpu: Gpu, steps: Steps, rows: int):
        self.found = found
        self.steps = steps
        self.count = rows
        self.rows = parts(f"x{WARPS} r{rows // WARPS}")

    def describe(self, label: str) -> str:
        """What the blocks have, for a remark."""
        return f'{self.count} rows of the scores "{label}"'

    def run(self) -> ForOp:
        """Do them; the nest that all became."""
        found, steps = self.found, self.steps
        first, last = (sum_of_products_in(perfect_band(nest)) for nest in (found.first, found.last))
        assert first is not None and last is not None
        products = {found.first: first, found.last: last}
        blocks: list[ForOp] = []
        inner: dict[ForOp, ForOp] = {}
        for nest in found.nests:
            band = outer_loops(nest, found.depth)
            tail = "mask" if len(perfect_band(nest)) == len(loops_in(nest)) else "clamp"
            outer, inner[nest] = steps.do(split, band[-1], factor=self.count, tail=tail)
            own = [*band[:-1], outer]
            blocks = [steps.do(fuse, a, b) for a, b in zip(blocks, own, strict=True)] if blocks else own
        scores = steps.do(sink_alloc, found.scores, blocks[-1])
        for axis in range(found.depth):
            if why_not_resize_buffer(scores, axis) is None:
                scores = steps.do(resize_buffer, scores, dimension=axis)
        for loop in inner.values():
            steps.attempt(unmask, loop)
        tilings = [self._tile(product, inner[nest], len(blocks)) for nest, product in products.items()]
        rows = [
            RowsOfBlock(loop, WARPS, steps)
            for nest, loop in inner.items()
            if nest not in products and loop.parent is blocks[-1].body.block and not _is_tiled(loop)
        ]
        for row in rows:
            row.run()
        bind_blocks(blocks, steps)
        for row in rows:
            row.keep()
        for tiling in tilings:
            tiling.keep_sums()
        if (more := padding(scores)) > 0:
            names = " ".join(f"d{k}" for k in range(found.depth + 1))
            pad = (*(0 for _ in range(found.depth)), more)
            scores = steps.do(transform_layout, scores, layout=f"{names} -> {names}", pad=pad)
        steps.do(set_memory, scores, space="shared")
        return blocks[0]

    def _tile(self, product: Product, row: ForOp, around: int) -> Tiling:
        """Tile one product of a block."""
        columns = product.column.constant_trip_count()
        count = 4 if columns is None or columns > 2 * LANES else -(-columns // LANES)
        size: Parts = parts(f"r{count} l{LANES}")
        tile = SumTile(
            product.sums, [], [(row, self.rows), (product.column, size)], [product.term], DEPTH, around=around
        )
        start, _ = neighbours_of(tile)
        tiling = Tiling(tile, start, self.steps)
        tiling.run()
        return tiling


class RowsOfBlock(Rows):
    """The steps for rows that a block has in shared memory: each of its warps computes one after the other."""

    def __init__(self, row: ForOp, warps: int, steps: Steps):
        super().__init__([row], Team(1, warps, False), steps)

    def _share_rows(self) -> list[ForOp]:
        super()._share_rows()
        return []

    def _bind(self, blocks: list[ForOp]) -> None:
        for loops, axis in ((self.warps, "thread.x"), (self.lanes, "lane")):
            for loop in loops:
                self.steps.do(bind, loop, axis=axis)
        self.local += [op for op in self.row.body.block.ops if isinstance(op, AllocOp)]

    def keep(self) -> None:
        """What a warp has for itself goes to registers, when all loops are bound."""
        for alloc in self.local:
            self.steps.do(set_memory, alloc, space="local")


def _is_tiled(loop: ForOp) -> bool:
    return any(inner.kind != "serial" for inner in loops_in(loop))
