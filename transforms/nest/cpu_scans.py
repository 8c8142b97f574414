"""Long running results on the CPU: nest-schedule-cpu computes them in blocks that threads share.

    nest.for "i" %i = 0 to 10000000 {
      nest.accumulate "s" add %x, %s[]
      ... %s[] ...
  becomes (nest-block-scan)
    nest.for "i.sums.o" ... parallel { ... the result of each block ... }
    nest.for "i.carry" ... { ... what stands before each block ... }
    nest.for "i.o" ... parallel { ... the running results of each block ... }

Blocks are as long whatever the number of threads, so the bits of a result do not depend on it.
"""

from __future__ import annotations

from ...dialects.nest import ForOp
from .cpu_lanes import extent_of
from .loops import loops_in
from .nest_block_scan import block_scan, running_update, why_not_block_scan
from .steps import Steps

BLOCK = 2080
"""Iterations of a block: enough for vectors of its sum, and blocks that stand side by side do not meet in the same lines
of a cache."""

FEWEST_BLOCKS = 8
"""Blocks below which one iteration after the other is as good."""


def is_long_scan(loop: ForOp) -> bool:
    """Whether a loop has running results enough for threads."""
    extent = extent_of(loop)
    if extent is not None and extent < FEWEST_BLOCKS * BLOCK:
        return False
    return loops_in(loop) == [loop] and running_update(loop) is not None


def block_long_scan(loop: ForOp, steps: Steps) -> tuple[ForOp, ForOp] | None:
    """Put a long running result into blocks: the loops over blocks whose iterations are independent.

    None, and nothing changed, where that is illegal or does not pay.
    """
    if not is_long_scan(loop) or why_not_block_scan(loop, BLOCK) is not None:
        return None
    sums, _, blocks, *_ = steps.do(block_scan, loop, factor=BLOCK)
    return sums, blocks
