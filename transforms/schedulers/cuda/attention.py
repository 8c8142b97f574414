"""Attention on a GPU (part of nest-schedule-cuda): a block computes rows of scores and uses them in shared memory.

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

Whole rows are the better way where shared memory has room for the scores of `ROWS[0]` queries (`SCORES` bytes). Of longer
rows, and those whose length only the run time knows, a tile of keys is there at a time (online_attention.py). What
no way is legal for stays kernels of its own, with the scores between them in global memory. Of 16-bit floats both products
are those of tensor cores (matrix_attention.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, MemRefType
from xdsl.dialects.func import FuncOp

from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import enclosing_function, loops_in, perfect_band
from ....analysis.nest.sets.producers import top_in
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.remarks import remark
from ...nest.loops.fuse import fuse
from ...nest.loops.split import split
from ...nest.loops.unmask import unmask
from ...nest.mapping.bind import bind
from ...nest.mapping.insert_barriers import why_not_insert_barriers
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.set_memory import set_memory
from ...nest.memory.sink_alloc import sink_alloc
from ...nest.memory.transform_layout import transform_layout
from ..patterns.products import Product, sum_of_products_in
from ..patterns.steps import UNRECORDED, Steps
from .grid import bind_blocks
from .row_programs import Rows, Team
from .sum_tiles import LARGEST_ACCESS, Parts, SumTile, Tiling, neighbours_of, parts

WARPS = 4
"""Warps of a block."""

ROWS = (16, 8, 4)
"""Queries of a block, the best number first."""

SCORES = 36 << 10
"""Bytes of scores that a block has: what is left of 48 KiB of shared memory is for the tiles of operands."""

DEPTH = 16
"""Terms of a step of a product."""


@dataclass(frozen=True, eq=False)
class Attention:
    """Scores, the nests from the first that sets them to the last that uses them, and how many loops they share."""

    scores: AllocOp
    nests: list[ForOp]
    depth: int
    first: ForOp
    """The nest of the products of queries and keys."""
    last: ForOp
    """The nest of the products with the values."""
    weights: AllocOp
    """What the values are multiplied by: the scores' own buffer, or one of narrower elements."""


def schedule_attention(function: FuncOp, steps: Steps, narrow: bool) -> None:
    """Bind what is attention in a function, where all steps are legal: with weights narrower than scores, or without."""
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        if alloc.parent is None or (found := attention_with(alloc)) is None:
            continue
        if (found.weights is not alloc) != narrow:
            continue
        label, refusal = alloc.label.data, None
        for way in _ways(found):
            try:
                tried = way(_copied(found), UNRECORDED).run()
                if (error := why_not_insert_barriers(tried)) is not None:
                    raise error
            except NestorError as error:
                refusal = refusal or error.diagnostic.message
                continue
            chosen = way(found, steps)
            remark(chosen.run(), f"blocks of {chosen.describe(label)} stay in shared memory")
            break
        else:
            remark(found.first, f'the scores "{label}" go to global memory: {refusal}')


def _ways(found: Attention) -> Iterator[Callable[[Attention, Steps], Any]]:
    """The schedules to try, the best one first."""
    from .matrix_attention import MatrixAttention
    from .online_attention import OnlineAttention

    if found.weights is not found.scores:
        yield MatrixAttention
        return
    fitting = rows_that_fit(found)
    queries = found.scores.memref.type.get_shape()[-2]
    if fitting and fitting[0] == ROWS[0]:
        enough = [rows for rows in fitting if queries == DYNAMIC_INDEX or rows < 2 * queries]
        yield partial(WholeRows, rows=(enough or fitting[-1:])[0])
        fitting.pop(0)
    yield OnlineAttention
    for rows in fitting[:1]:
        yield partial(WholeRows, rows=rows)


def attention_with(scores: AllocOp) -> Attention | None:
    """The attention whose scores are in a buffer; None where that is something else, or its rows are too long."""
    type_, block = scores.memref.type, scores.parent
    assert isinstance(type_, MemRefType) and block is not None
    shape = type_.get_shape()
    if len(shape) < 2 or not isinstance(type_.element_type, AnyFloat):
        return None
    weights = _weights_of(scores)
    users = [use.operation for buffer in {scores, weights} for use in buffer.memref.uses]
    if not all(isinstance(op, LoadOp | StoreOp | AccumulateOp) for op in users):
        return None
    tops = {top_in(block, op) for op in users}
    ops = list(block.ops)
    places = [k for k, op in enumerate(ops) if op in tops]
    nests = [op for op in ops[places[0] : places[-1] + 1] if op.regions] if len(places) >= 3 else []
    if len(nests) < 4 or not all(isinstance(op, ForOp) for op in nests):
        return None
    loops = [op for op in nests if isinstance(op, ForOp)]
    products = [
        (nest, found) for nest in loops if (found := sum_of_products_in(perfect_band(nest))) is not None
    ]
    depth = len(shape) - 1
    if len(products) != 2 or products[0][1].result is not scores.memref or products[1][0] is not loops[-1]:
        return None
    if not all(_starts_with_axes(nest, scores, depth) for nest in loops):
        return None
    return Attention(scores, loops, depth, products[0][0], products[1][0], weights)


def _weights_of(scores: AllocOp) -> AllocOp:
    """The buffer that the last nest of the scores stores to, element by element as it reads them; their own if none is."""
    block = scores.parent
    users = [use.operation for use in scores.memref.uses]
    tops = {top_in(block, op) for op in users} if block is not None else set()
    last = next((op for op in reversed(list(block.ops)) if op in tops), None) if block is not None else None
    stores = [] if last is None else [op for op in last.walk() if isinstance(op, StoreOp)]
    for buffer in dict.fromkeys(op.memref.owner for op in stores):
        if not isinstance(buffer, AllocOp) or buffer.parent is not block or buffer is scores:
            continue
        if buffer.memref.type.get_shape() == scores.memref.type.get_shape():
            return buffer
    return scores


def rows_that_fit(found: Attention) -> list[int]:
    """How many whole rows of scores a block has room for, the best number first."""
    type_ = found.scores.memref.type
    assert isinstance(type_, MemRefType)
    length = type_.get_shape()[-1]
    if length == DYNAMIC_INDEX:
        return []
    row = (length + padding(found.scores)) * element_bytes(type_.element_type)
    return [rows for rows in ROWS if rows * row <= SCORES]


def _starts_with_axes(nest: ForOp, scores: AllocOp, depth: int) -> bool:
    """Whether the outer loops of a nest are over all but the last axis of the scores, in their order."""
    band = _outer(nest, depth)
    if len(band) < depth or any(loop.kind != "serial" for loop in loops_in(nest)):
        return False
    for op in nest.walk():
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp) or scores.memref not in op.operands:
            continue
        if not all(_is_along(op.indices[k], band[k]) for k in range(depth)):
            return False
    return True


def padding(buffer: AllocOp) -> int:
    """Elements by which rows are made longer: an odd number of 16 bytes, so that eight rows are in all banks.

    Then lanes that read 16 bytes of a row each, one below the other, do so without conflicts.
    """
    type_ = buffer.memref.type
    assert isinstance(type_, MemRefType)
    width = max(1, LARGEST_ACCESS // element_bytes(type_.element_type))
    length = type_.get_shape()[-1]
    return ((-(-length // width)) | 1) * width - length


def _is_along(index: AffineList, loop: ForOp) -> bool:
    """Whether an index is the variable of the loop; 0 is, where that is the only iteration."""
    return index == AffineList.of(loop.iv) or (loop.constant_trip_count() == 1 and index.constants() == (0,))


def _outer(nest: ForOp, depth: int) -> list[ForOp]:
    return perfect_band(nest)[:depth]


def _copied(found: Attention) -> Attention:
    """The same in a copy of the function."""
    function = enclosing_function(found.first)
    copy = function.clone()
    of = dict(zip(function.walk(), copy.walk(), strict=True))
    return Attention(
        of[found.scores],  # pyright: ignore[reportArgumentType]
        [of[nest] for nest in found.nests],  # pyright: ignore[reportArgumentType]
        found.depth,
        of[found.first],  # pyright: ignore[reportArgumentType]
        of[found.last],  # pyright: ignore[reportArgumentType]
        of[found.weights],  # pyright: ignore[reportArgumentType]
    )


class WholeRows:
    """The steps for blocks that have whole rows of scores; any of them may be refused."""

    def __init__(self, found: Attention, steps: Steps, rows: int):
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
            band = _outer(nest, found.depth)
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


__all__ = ["attention_with", "schedule_attention"]
