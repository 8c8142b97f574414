"""Strips of a parallel loop (part of nest-schedule-cpu): a matrix that is read down its columns is read along its rows.

    nest.for "j" %j = 0 to 1024 {                    // independent
      nest.for "i" %i = 0 to 1024 {                  // carries a sum
        %t = nest.load %t[%i, %j]                    // a new line of the cache in each iteration
        nest.for "k" %k = 0 to 128 {
          nest.accumulate "s" add ..., %s[%j, %k]
  becomes
    nest.for "j.o" %o = 0 to 64 parallel {
      nest.for "i" %i = 0 to 1024 {
        nest.for "j.i" %v = 0 to 16 {                // the elements of one line
          %t = nest.load %t[%i, 16 * %o + %v]
          nest.for "k" ...

The terms of each sum stay in their order, so the bits do not change.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType

from ....analysis.machine import LINE_BYTES
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import ForOp, LoadOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import pattern_in


def strip_of(band: list[ForOp]) -> int | None:
    """How many iterations of the outer loop of a band share a line of what the second loop reads; None where none do.

    There must be loops inside of the band: without, there are better orders.
    """
    if len(band) != 2 or not any(loop not in band for loop in loops_in(band[0])):
        return None
    outer, inner = band
    for op in inner.body.block.ops:
        if not isinstance(op, LoadOp) or pattern_in(op, op.memref, outer) != UNIT:
            continue
        if pattern_in(op, op.memref, inner) in (SCATTERED, SEVERAL):
            assert isinstance(op.memref.type, MemRefType)
            strip = LINE_BYTES // element_bytes(op.memref.type.element_type)
            extent = largest_extent(outer)
            return strip if extent is None or extent >= 2 * strip else None
    return None


def make_strips(band: list[ForOp], strip: int, steps: Steps) -> tuple[ForOp, ForOp] | None:
    """Put a strip of the outer loop inside of the second: the loops over strips and of a strip.

    None, and nothing changed, where that is illegal.
    """
    outer, inner = band
    if why_not_split(outer, strip, "clamp") is not None:
        return None
    if why_not_reorder([inner, outer], new_bounds=False) is not None:
        return None
    strips, lane = steps.do(split, outer, factor=strip, tail="clamp")
    _, lane = steps.do(reorder, [inner, lane])
    return strips, lane
