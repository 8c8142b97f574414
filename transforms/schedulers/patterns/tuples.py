"""Reductions of tuples are done base by base (nest-lift), on the CPU those of many terms a part at a time.

    nest.for "i" %i = 0 to 1000000 {
      nest.accumulate custom (%x, %one), (%m, %s)[] { ... the maximum, and a sum of exponentials relative to it }
    }
  becomes
    nest.for "i.p" %p = 0 to 32 {                              // nest-privatise: parts that fit into a core's cache
      nest.for "i" %i = 31250 * %p to 31250 * %p + 31250 { ... nest.accumulate "m" maximum ... }     // from memory
      nest.for "i.relative" ... { ... nest.accumulate "s" add ... }                                  // from the cache
    }
    nest.for "i.combine" %c = 0 to 32 { nest.accumulate custom ... }

What is left are named reductions, which all other strategies know. How many parts there are depends on extents alone.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import FuncOp

from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import enclosing_loops, loops_in
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ...nest.reductions.lift import lift, why_not_lift
from ...nest.reductions.privatise import privatise, why_not_privatise
from ...nest.rewrite.steps import Steps
from .costs import nearest_divisor

PART_SHARE = 8
"""The part of the second-level cache for the terms of a part: they are there when they are looked at again."""


def has_tuples(function: FuncOp) -> bool:
    """Whether a function has reductions by combiners of their own."""
    return any(isinstance(op, AccumulateOp) and op.combine is not None for op in function.walk())


def lift_tuples(function: FuncOp, steps: Steps, cache_bytes: int | None = None) -> None:
    """Do reductions of tuples base by base, where that is legal; in parts where the terms are more than a core's cache."""
    for update in [op for op in function.walk() if isinstance(op, AccumulateOp) and op.combine is not None]:
        loop = next((one for one in reversed(enclosing_loops(update)) if why_not_lift(one) is None), None)
        if loop is None:
            continue
        parts = None if cache_bytes is None else _parts_of(loop, cache_bytes)
        if parts is not None and why_not_privatise(loop, parts) is None:
            steps.do(privatise, loop, parts=parts)
            if why_not_lift(loop) is not None:
                continue
        steps.do(lift, loop)


def _parts_of(loop: ForOp, cache_bytes: int) -> int | None:
    """The number of even parts whose terms the cache has room for; None where it has for all, or that is not known."""
    extents = [largest_extent(one) for one in loops_in(loop)]
    if not extents[0] or None in extents:
        return None
    loads = [op for op in loop.walk() if isinstance(op, LoadOp)]
    size = prod(e for e in extents if e) * sum(element_bytes(op.result.type) for op in loads)
    if size <= cache_bytes:
        return None
    wanted = size // (cache_bytes // PART_SHARE)
    least, most = max(2, wanted // 2), min(4 * wanted, extents[0])
    return nearest_divisor(extents[0], wanted, least, most) or min(wanted, extents[0])
