"""Sums relative to another result, of big arrays on the CPU: nest-schedule-cpu reads once what both are of.

    nest.for "i" ... { nest.for "k" ... { nest.accumulate "sum" add %x, %s[%k] } }          // %x[%i, %k]
    ... the means
    nest.for "i.1" ... { nest.for "k.1" ... { nest.accumulate "add" add %e, %q[%k] } }      // of %x[%i, %k] less the mean
  becomes
    nest.for "i.p" %p = 0 to 196 {                   // nest-block-relative: as many rows as a core's cache has room for
      nest.for "i" ... { ... %s_parts[%p, %k] ... }  // from memory
      nest.for "i.1" ... { ... %q_parts[%p, %k] ... }  // from the cache
    }

as in batch norm in training. How many parts there are depends on extents alone, as do the bits of a result. Where a sum is
one of exponentials, these take longer than to read memory twice; what is stored beside it would be computed twice.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import FuncOp

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.values.relative_pairs import is_extreme, relative_pairs, stores_beside
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ...nest.loops.flatten import flatten_neighbours
from ...nest.reductions.block_relative import block_relative, why_not_block_relative
from ...nest.rewrite.steps import Steps
from ..patterns.costs import nearest_divisor
from .streams import is_big

PART_SHARE = 8
"""The part of the second-level cache for a part of the array: it is there when it is looked at again."""

FEWEST_TERMS = 64
"""Minimum number of terms of a part for each element of the sums: many times the work of initialising and combining it."""


def do_relative_sums_in_parts(function: FuncOp, cpu: Cpu, steps: Steps) -> None:
    """Do reductions of big arrays, and the sums relative to them, a part at a time."""
    blocks = [function.body.block, *(op.body.block for op in function.walk() if isinstance(op, ForOp))]
    for pair in [pair for block in blocks for pair in relative_pairs(block)]:
        if not _reads_big(pair[0], cpu) or is_extreme(pair[0]) or stores_beside(pair[1]):
            continue
        (bases, *_), band = (flatten_neighbours(perfect_band(nest), steps) for nest in pair)
        parts = _parts_of(band, cpu)
        if parts is not None and why_not_block_relative(bases, band[0], parts) is None:
            steps.do(block_relative, bases, band[0], parts=parts)


def _reads_big(nest: ForOp, cpu: Cpu) -> bool:
    return any(isinstance(op, LoadOp) and is_big(root_of(op.memref), cpu) for op in nest.walk())


def _parts_of(band: list[ForOp], cpu: Cpu) -> int | None:
    """The number of parts whose size is nearest to what is wanted; None where there is none that pays.

    Even parts, or rows of which the last part may have fewer: stretches of one row would be as many loops of unknown
    length."""
    extents = [largest_extent(loop) or 0 for loop in band]
    update = band[-1].body.block.last_op
    assert isinstance(update, AccumulateOp)
    work = prod(extents)
    loads = [op for op in band[-1].body.block.ops if isinstance(op, LoadOp)]
    size = work * max((element_bytes(op.result.type) for op in loads), default=0)
    if size <= cpu.l2_bytes:
        return None
    within = update.indices.operands
    elements = prod(n for n, loop in zip(extents, band, strict=True) if loop.iv in within)
    wanted = size // (cpu.l2_bytes // PART_SHARE)
    least, most = max(2, wanted // 4), min(4 * wanted, extents[0], work // (elements * FEWEST_TERMS))
    if least > most:
        return None
    even = nearest_divisor(extents[0], wanted, least, most)
    if even is not None or len(band) == 1:
        return even
    return -(-extents[0] // -(-extents[0] // min(wanted, most)))
