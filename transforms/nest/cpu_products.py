"""Products of matrices on the CPU: which nests are products, and what they are of.

    nest.for "i" %i = 0 to %m {
      nest.for "j" %j = 0 to %n {
        nest.for "k" %k = 0 to %l {
          ... nest.accumulate "c" add %p, %c[%i, %j]            // of %a[%i, %k] and %b[%k, %j]

Any reduction by a named combiner over one loop counts where its operands are those of a product: one moves with the
rows, one with the columns. How they are tiled: cpu_product_tiles.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from .cpu_lanes import INVARIANT, UNIT, extent_of, pattern_of, varying_values
from .loops import loops_in

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


def product_in(band: list[ForOp]) -> Product | None:
    """The product that a perfect band of loops computes, None when it is something else."""
    accesses = _accesses(band)
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
    if not rows or not moving or any(_is_small(loop) for loop in (rows[-1], column, term)):
        return None
    panels = list(dict.fromkeys(load.memref for load in moving))
    batch = [loop for loop in others if loop is not rows[-1]]
    others = [
        load for load in loads if load not in moving and pattern_in(load, load.memref, rows[-1]) != INVARIANT
    ]
    row_panels = list(dict.fromkeys(load.memref for load in others))
    return Product(batch, rows[-1], column, term, sums, panels, row_panels, band[0])


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


def pattern_in(op: LoadOp | AccumulateOp, buffer: SSAValue, loop: ForOp) -> str:
    """How an access moves with the variable of `loop`."""
    return pattern_of(op.indices, buffer, loop, varying_values(loop))


def _is_small(loop: ForOp) -> bool:
    extent = extent_of(loop)
    return extent is not None and extent < FEWEST
