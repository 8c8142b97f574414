"""Products of matrices on the CPU: nest-schedule-cpu's tiles of sums in registers, and panels of one operand.

    nest.for "i" %i = 0 to %m {
      nest.for "j" %j = 0 to %n {
        nest.for "k" %k = 0 to %l {
          ... nest.accumulate "c" add %p, %c[%i, %j]            // of %a[%i, %k] and %b[%k, %j]
  becomes
    nest.for "k.o" ... {                                          // a block of the sum
      nest.for "j.o" ... parallel {                               // a panel of %b: vectors of several registers wide
        ... the panel of %b is copied, neighbouring lanes side by side
        nest.for "i.o" ... {                                      // a tile of sums, in registers
          nest.for "k.i" ... {
            nest.for "i.i" ... unrolled {
              nest.for "j.i" ... vectorized {

after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), as in
examples/schedules/matmul.mlir but without panels of %a. Any reduction by a named combiner over one loop is tiled so where
its operands are those of a product: one moves with the rows, one with the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from .cpu_lanes import INVARIANT, UNIT, extent_of, machine_lanes, padded_width, pattern_of, varying_values
from .loops import loops_in
from .nest_annotate import annotate, why_not_annotate
from .nest_cache_read import cache_read, why_not_cache_read
from .nest_cache_write import cache_write, why_not_cache_write
from .nest_parallel import why_not_parallel
from .nest_reorder import reorder, why_not_reorder
from .nest_split import split, why_not_split
from .nest_transform_layout import transform_layout, why_not_transform_layout
from .nest_vectorize import vectorize, why_not_vectorize
from .steps import Steps

ROWS = 6
"""Rows of a tile: with four registers a row, 24 of 32 hold sums."""

DEPTH = 256
"""Terms of the sum in a block: a panel of so many rows stays in the second-level cache."""

FEWEST = 8
"""Rows, columns and terms below which a tile is not worth its edges."""


@dataclass(frozen=True, eq=False)
class Product:
    """A product found in a band: its loops, and the buffers that move with the columns."""

    batch: list[ForOp]
    row: ForOp
    column: ForOp
    term: ForOp
    sums: AccumulateOp
    panels: list[SSAValue]


def product_in(band: list[ForOp]) -> Product | None:
    """The product that a perfect band of loops computes, None when it is something else."""
    accesses = _accesses(band)
    if accesses is None:
        return None
    loads, sums = accesses
    reduced = [loop for loop in band if _pattern(sums, sums.memrefs[0], loop) == INVARIANT]
    columns = [loop for loop in band if _pattern(sums, sums.memrefs[0], loop) == UNIT]
    if len(reduced) != 1 or len(columns) != 1:
        return None
    column, term = columns[0], reduced[0]
    moving = [load for load in loads if _pattern(load, load.memref, column) != INVARIANT]
    others = [loop for loop in band if loop not in (column, term)]
    rows = [
        loop
        for loop in others
        if all(_pattern(load, load.memref, loop) == INVARIANT for load in moving)
        and any(_pattern(load, load.memref, loop) != INVARIANT for load in loads)
    ]
    if not rows or not moving or any(_is_small(loop) for loop in (rows[-1], column, term)):
        return None
    panels = list(dict.fromkeys(load.memref for load in moving))
    batch = [loop for loop in others if loop is not rows[-1]]
    return Product(batch, rows[-1], column, term, sums, panels)


def _accesses(band: list[ForOp]) -> tuple[list[LoadOp], AccumulateOp] | None:
    """The loads and the one accumulation of a band whose body is straight-line code."""
    if len(band) < 3 or any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return None
    if len(list(loops_in(band[0]))) != len(band):
        return None
    loads: list[LoadOp] = []
    sums: list[AccumulateOp] = []
    for op in band[-1].body.block.ops:
        if isinstance(op, LoadOp):
            loads.append(op)
        elif isinstance(op, AccumulateOp):
            sums.append(op)
        elif isinstance(op, StoreOp | AllocOp) or op.regions:
            return None
    if len(sums) != 1 or sums[0].combiner.data == "custom" or sums[0].order_name != "any":
        return None
    return loads, sums[0]


def _pattern(op: LoadOp | AccumulateOp, buffer: SSAValue, loop: ForOp) -> str:
    return pattern_of(op.indices, buffer, loop, varying_values(loop))


def _is_small(loop: ForOp) -> bool:
    extent = extent_of(loop)
    return extent is not None and extent < FEWEST


def tile_product(
    product: Product, vector_bits: int, share: Callable[[ForOp, Steps], None] | None, steps: Steps
) -> bool:
    """Tile a product; False, and nothing changed, where a step is refused. `share` gives a loop to threads."""
    row, column, term = product.row, product.column, product.term
    if not _is_legal(product):
        return False
    lanes = machine_lanes(term, vector_bits)
    width = lanes * (4 if vector_bits >= 512 else 2)
    extent = extent_of(column)
    if extent is not None and extent < width:
        width = padded_width(extent, lanes)
    blocks, term = steps.do(split, term, factor=DEPTH, tail="clamp")
    row_tiles, row = steps.do(split, row, factor=ROWS if vector_bits >= 512 else 4, tail="mask")
    column_tiles, column = steps.do(split, column, factor=width, tail="mask")
    order = [*product.batch, blocks, column_tiles, row_tiles, term, row, column]
    steps.do(reorder, order)
    _keep_sums(product.sums, row_tiles, width, steps)
    for buffer in product.panels:
        _copy_panel(buffer, column_tiles, column, width, steps)
    _mark(column, width, steps)
    _unroll(row, steps)
    outer = product.batch[0] if product.batch else column_tiles
    if share is not None and why_not_parallel(outer) is None:
        share(outer, steps)
    return True


def _is_legal(product: Product) -> bool:
    """Whether the first steps are: splits, and an order that any order of a sum allows."""
    band = [*product.batch, product.row, product.column, product.term]
    splits = ((product.term, DEPTH, "clamp"), (product.row, ROWS, "mask"), (product.column, 64, "mask"))
    if any(why_not_split(loop, factor, tail) is not None for loop, factor, tail in splits):  # pyright: ignore
        return False
    order = [*product.batch, product.term, product.column, product.row]
    return why_not_reorder(order, new_bounds=False) is None and len(band) == len(order)


def _keep_sums(sums: AccumulateOp, tile: ForOp, width: int, steps: Steps) -> None:
    """A tile of sums starts from the identity, stays in registers, and is added to the result at its end."""
    buffer = sums.memrefs[0]
    init = "identity"
    if why_not_cache_write(buffer, tile, init) is not None:
        return
    _, start, back = steps.do(cache_write, buffer, tile, init=init, name="sums")
    for copy in (start, back):
        if copy is not None:
            *rows, lane = _nest_of(copy)
            _mark(lane, width, steps)
            for loop in rows:
                _unroll(loop, steps)


def _copy_panel(buffer: SSAValue, tiles: ForOp, column: ForOp, width: int, steps: Steps) -> None:
    """Copy what the tiles of one column read, neighbouring lanes side by side."""
    if why_not_cache_read(buffer, tiles) is not None:
        return
    panel, copy = steps.do(cache_read, buffer, tiles, name="panel")
    if copy is None:
        return
    reads = [op for op in column.walk() if isinstance(op, LoadOp) and op.memref is panel.memref]
    if all(_pattern(op, op.memref, column) == UNIT for op in reads):
        _mark(_nest_of(copy)[-1], width, steps)
        return
    names = [f"d{k}" for k in range(len(panel.memref.type.get_shape()))]
    layout = f"{' '.join(names)} -> {' '.join([*names[:-2], names[-1], names[-2]])}"
    if len(names) > 1 and why_not_transform_layout(panel, layout) is None:
        steps.do(transform_layout, panel, layout=layout)


def _nest_of(loop: ForOp) -> list[ForOp]:
    return list(loops_in(loop))


def _mark(lane: ForOp, width: int, steps: Steps) -> None:
    """Make vectors of a loop of at most `width` iterations, where that is legal."""
    if why_not_vectorize(lane, width) is None:
        steps.do(vectorize, lane, width=width)


def _unroll(loop: ForOp, steps: Steps) -> None:
    """Put the rows of a tile side by side, where that is legal."""
    if why_not_annotate(loop, "unrolled") is None:
        steps.do(annotate, loop, mark="unrolled")
