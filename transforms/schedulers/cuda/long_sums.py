"""Few results of long reductions on the GPU (part of nest-schedule-cuda): threads have parts of each.

    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 100000 {
        nest.for "k" %k = 0 to 4 {
          nest.accumulate "s" add %a, %s[%i, %k]                     // of %x[%i, %j, %k]
  becomes
    nest.for "i" ... { nest.for "j.p" %p = 0 to 1024 {               // one kernel
      ... %s_parts[%p, %k], of every 1024th %j
    nest.for "i.1" ... { nest.for "j.combine" ... { ... } }          // another one

What rows, columns and single results (long_rows.py, column_sums.py, reductions.py) do not take: a middle axis is summed
up, or one that neighbouring threads do not go along. How many parts there are depends on extents alone, as do the bits of
a result.
"""

from __future__ import annotations

from math import prod

from ....analysis.machine import Gpu
from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp
from ...nest.loops.distribute import pieces_of
from ...nest.loops.reorder import reorder
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import apart

THREADS = 256
"""Threads for each multiprocessor, which hide the latency of memory."""

LONG = 512
"""Minimum number of terms of a reduction in parts."""

FEWEST_PARTS = 4
"""Minimum number of parts that are worth another kernel."""

LEAST = 32
"""Minimum number of terms of a part."""


def share_long_sums(band: list[ForOp], gpu: Gpu, steps: Steps) -> list[ForOp]:
    """Let threads have parts of few long reductions: the nests that are left to be bound, or none."""
    if len(band) > 3 or any(loop.kind != "serial" for loop in band):
        return []
    long = [op for op in pieces_of(band[-1]) if isinstance(op, ForOp) and _is_long_sum(op)]
    parts = [_parts_of(loop, band, gpu) for loop in long]
    if not long or min(parts) < FEWEST_PARTS:
        return []
    try:
        trial(lambda *copies: _share(list(copies), parts, UNRECORDED), *band)
    except NestorError:
        return []
    return _share(band, parts, steps)


def _parts_of(loop: ForOp, band: list[ForOp], gpu: Gpu) -> int:
    """In how many parts a reduction is: as many as there are threads for, none of them short."""
    extents = [extent_of(one) for one in (*band, *loops_in(loop)[1:])]
    if None in extents:
        return 1
    wanted = THREADS * gpu.wave // max(1, prod(n for n in extents if n is not None))
    return min(wanted, (extent_of(loop) or 0) // LEAST)


def _is_long_sum(loop: ForOp) -> bool:
    """Whether iterations of a loop meet in reductions, and there are many."""
    extent = extent_of(loop)
    if extent is None or extent < LONG or not any(isinstance(op, AccumulateOp) for op in loop.walk()):
        return False
    first = Dependences(loop).first_carried(loop)
    return first is not None and first.kind == "reduction"


def _share(band: list[ForOp], parts: list[int], steps: Steps) -> list[ForOp]:
    long = [op for op in pieces_of(band[-1]) if isinstance(op, ForOp) and _is_long_sum(op)]
    combines = [
        steps.do(privatise, loop, parts=count, share="cyclic")[1]
        for loop, count in zip(long, parts, strict=True)
    ]
    nests = [band[0]]
    for one in reversed(band):
        nests = apart(one, steps)
    for combine in combines:
        _, *inner = perfect_band(combine)
        if inner:  # the results are independent: their parts are added up by a thread each
            steps.do(reorder, [*inner, combine])
    return nests
