"""Products of matrices on the CPU: which nests are products, and what they are of.

    nest.for "i" %i = 0 to %m {
      nest.for "j" %j = 0 to %n {
        nest.for "k" %k = 0 to %l {
          ... nest.accumulate "c" add %p, %c[%i, %j]            // of %a[%i, %k] and %b[%k, %j]

Any reduction by a named combiner over one loop counts where its operands are those of a product: one moves with the
rows, one with the columns. How they are tiled: product_tiles.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from .tiles import pattern_in, sum_in

FEWEST = 8
"""Rows, columns and terms below which a tile is not worth its edges."""


@dataclass(frozen=True, eq=False)
class Product:
    """A product found in a band: its loops, and the buffers that move with the columns and with the rows."""

    batch: list[ForOp]
    row: ForOp
    column: ForOp
    term: ForOp
    sums: AccumulateOp
    panels: list[SSAValue]
    row_panels: list[SSAValue]
    outermost: ForOp

    @property
    def result(self) -> SSAValue:
        return self.sums.memrefs[0]


def elementwise_accesses(nest: ForOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    """The accesses to a buffer of a serial nest of straight-line code that runs once over its elements; none where it
    is something else."""
    band = perfect_band(nest)
    if len(loops_in(nest)) != len(band) or any(loop.kind != "serial" for loop in band):
        return []
    body = list(band[-1].body.block.ops)
    if any(op.regions or isinstance(op, AccumulateOp) for op in body):
        return []
    accesses = [op for op in body if isinstance(op, LoadOp | StoreOp) and op.memref is buffer]
    variables = {loop.iv for loop in band}
    for op in accesses:
        indices = [op.indices[k].single_value() for k in range(len(op.indices))]
        if len(indices) != len(band) or set(indices) != variables:
            return []
    return accesses


def product_in(band: list[ForOp]) -> Product | None:
    """The product that a perfect band of loops computes; None when it is something else, or few rows, columns or terms."""
    product = sum_of_products_in(band)
    if product is None or any(_is_small(loop) for loop in (product.row, product.column, product.term)):
        return None
    return product


def sum_of_products_in(band: list[ForOp]) -> Product | None:
    """The product that a perfect band of loops computes, of any extents; None when it is something else."""
    accesses = sum_in(band) if len(band) >= 3 else None
    if accesses is None:
        return None
    loads, sums = accesses
    reduced = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT]
    columns = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == UNIT]
    if len(reduced) != 1 or len(columns) != 1:
        return None
    column, term = columns[0], reduced[0]
    moving = [load for load in loads if pattern_in(load, load.memref, column) != INVARIANT]
    others = [loop for loop in band if loop not in (column, term)]
    rows = [
        loop
        for loop in others
        if all(pattern_in(load, load.memref, loop) == INVARIANT for load in moving)
        and any(pattern_in(load, load.memref, loop) != INVARIANT for load in loads)
    ]
    if not rows or not moving:
        return None
    panels = list(dict.fromkeys(load.memref for load in moving))
    batch = [loop for loop in others if loop is not rows[-1]]
    others = [
        load for load in loads if load not in moving and pattern_in(load, load.memref, rows[-1]) != INVARIANT
    ]
    row_panels = list(dict.fromkeys(load.memref for load in others))
    return Product(batch, rows[-1], column, term, sums, panels, row_panels, band[0])


def _is_small(loop: ForOp) -> bool:
    extent = largest_extent(loop)
    return extent is not None and extent < FEWEST
