"""Sums over several loops (convolutions): one operand moves with the lanes of the result, the other one with its rows.

nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
  nest.for "u" ... nest.for "v" ... nest.for "c" ...
    nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %p[%b, %i + %u, %j + %v, %c] and %w[%u, %v, %c, %k]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from .costs import FEWEST_LANES, UNKNOWN_EXTENT
from .tiles import axes_of, pattern_in, sum_in

FEWEST_TERMS = 8
"""Terms of a sum below which a tile is not worth its edges."""


@dataclass(frozen=True, eq=False)
class Convolution:
    """A sum over several loops: `outer` are the loops of the result beside the rows and columns of a tile."""

    outer: list[ForOp]
    row: ForOp
    column: ForOp
    terms: list[ForOp]
    sums: AccumulateOp
    images: list[LoadOp]
    panels: list[LoadOp]
    axes: list[int]
    """The axes of the result along which the outer loops, the rows and the columns run."""

    @property
    def result(self) -> SSAValue:
        return self.sums.memrefs[0]


def convolution_in(nest: ForOp) -> Convolution | None:
    """The sum over several loops that a nest computes, None when it is something else."""
    band = perfect_band(nest)
    accesses = sum_in(band) if len(band) >= 4 else None
    if accesses is None or any(loop.lower.constants() != (0,) for loop in band):
        return None
    loads, sums = accesses
    terms = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT]
    columns = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == UNIT]
    if not terms or len(columns) != 1 or axes_of(sums.indices) is None:
        return None
    column = columns[0]
    panels = [load for load in loads if pattern_in(load, load.memref, column) != INVARIANT]
    images = [load for load in loads if load not in panels]
    rows = [
        loop
        for loop in band
        if loop is not column
        and loop not in terms
        and all(pattern_in(load, load.memref, loop) == INVARIANT for load in panels)
        and any(pattern_in(load, load.memref, loop) != INVARIANT for load in images)
    ]
    if not rows or not panels or any(axes_of(load.indices) is None for load in panels):
        return None
    lanes, count = largest_extent(column), [largest_extent(loop) for loop in terms]
    if lanes is not None and lanes < FEWEST_LANES:
        return None
    if all(n is not None for n in count) and prod(n for n in count if n is not None) < FEWEST_TERMS:
        return None
    outer = [loop for loop in band if loop not in (*terms, rows[-1], column)]
    if len(terms) == 1 and (len(outer) < 2 or _vary(panels, outer)):
        return None
    terms.sort(key=lambda loop: largest_extent(loop) or UNKNOWN_EXTENT)
    own = axes_of(sums.indices)
    assert own is not None
    axes = [own.index(loop.iv) for loop in (*outer, rows[-1], column)]
    return Convolution(outer, rows[-1], column, terms, sums, images, panels, axes)


def _vary(loads: list[LoadOp], loops: list[ForOp]) -> bool:
    return any(pattern_in(load, load.memref, loop) != INVARIANT for load in loads for loop in loops)
