"""Contractions: sums of products of two elements over any number of loops, which are products of matrices in disguise.

nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
  nest.for "u" ... nest.for "v" ... nest.for "c" ...
    nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %x[%b, %i + %u, %j + %v, %c] and %w[%u, %v, %c, %k]

is a product with rows (b, i, j), columns (k) and terms (u, v, c): a loop of the result along which only one factor moves is
a row or a column, one along which both move is of the batch, and one that the result has not is a term.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith

from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.values.trip_counts import extent_of, largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from .products import FEWEST
from .tiles import axes_of, pattern_in, sum_in


@dataclass(frozen=True, eq=False)
class Contraction:
    """The loops of a sum of products by what moves along them, and the two loads: `left` with rows, `right` with columns."""

    batch: list[ForOp]
    rows: list[ForOp]
    columns: list[ForOp]
    terms: list[ForOp]
    sums: AccumulateOp
    left: LoadOp
    right: LoadOp


def contraction_in(nest: ForOp) -> Contraction | None:
    """The contraction that a nest computes; None when it is something else, or has few rows, columns or terms.

    Columns are the loops of the factor that moves with the last axis of the result.
    """
    band = perfect_band(nest)
    accesses = sum_in(band) if len(band) >= 3 else None
    if accesses is None or any(loop.lower.constants() != (0,) for loop in band):
        return None
    loads, sums = accesses
    if len(loads) != 2 or sums.combiner.data != "add" or axes_of(sums.indices) is None:
        return None
    if not isinstance(sums.values[0].owner, arith.MulfOp | arith.MuliOp):
        return None
    last = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == UNIT]
    if len(last) != 1:
        return None
    right = [load for load in loads if _moves(load, last[0])]
    left = [load for load in loads if load not in right]
    if len(right) != 1 or len(left) != 1:
        return None
    found = Contraction([], [], [], [], sums, left[0], right[0])
    for loop in band:
        if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT:
            found.terms.append(loop)
        elif _moves(found.left, loop) == _moves(found.right, loop):
            if not _moves(found.left, loop) and extent_of(loop) != 1:
                return None
            found.batch.append(loop)
        else:
            (found.rows if _moves(found.left, loop) else found.columns).append(loop)
    groups = (found.rows, found.columns, found.terms)
    return None if any(_is_small(group) for group in groups) else found


def _moves(load: LoadOp, loop: ForOp) -> bool:
    return pattern_in(load, load.memref, loop) != INVARIANT


def _is_small(loops: list[ForOp]) -> bool:
    extents = [largest_extent(loop) for loop in loops]
    return None not in extents and prod(n for n in extents if n is not None) < FEWEST
