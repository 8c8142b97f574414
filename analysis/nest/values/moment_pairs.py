"""Sums, and the squares of differences that follow them: what schedules look at for nest-block-moments.

    nest.for "i" ... { ... nest.accumulate "s" add %x, %s[] }
    ... the mean
    nest.for "i.1" ... { ... nest.accumulate "q" add %e, %q[] }        // %e is the square of a difference

A pair is one by what it looks like; whether it is one `why_not_block_moments` says.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Block

from ....dialects.nest import AccumulateOp, ForOp
from ..loop_structure import perfect_band


def moment_pairs(block: Block) -> Iterator[tuple[ForOp, ForOp]]:
    """Sums and the squares of differences that follow them, by what they look like; none in two pairs."""
    before: ForOp | None = None
    for nest in block.ops:
        if not isinstance(nest, ForOp) or (update := _update_of(nest)) is None:
            continue
        if before is not None and squared_difference(update) is not None:
            yield before, nest
            before = None
        else:
            before = nest


def squared_difference(update: AccumulateOp) -> arith.SubfOp | None:
    """The difference whose square an update adds up, if that is what it does."""
    square = update.values[0].owner
    if not isinstance(square, arith.MulfOp) or square.lhs is not square.rhs:
        return None
    difference = square.lhs.owner
    return difference if isinstance(difference, arith.SubfOp) else None


def _update_of(nest: ForOp) -> AccumulateOp | None:
    """The reduction that a nest ends with."""
    last = perfect_band(nest)[-1].body.block.last_op
    return last if isinstance(last, AccumulateOp) else None
