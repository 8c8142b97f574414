"""Reductions, and the sums relative to their results that follow them: what schedules look at for nest-block-relative.

    nest.for "i" ... { ... nest.accumulate "s" add %x, %s[] }
    ... the mean
    nest.for "i.1" ... { ... nest.accumulate "q" add %e, %q[] }        // %e is the square of a difference

A pair is one by what it looks like; whether it is one `why_not_block_relative` says.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block

from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ..loop_structure import perfect_band
from .relative_terms import differences_in


def relative_pairs(block: Block, *, of_any_loops: bool = False) -> Iterator[tuple[ForOp, ForOp]]:
    """Reductions and the sums of functions of differences that follow them; none in two pairs.

    The loops around them are perfect ones, unless `of_any_loops`."""
    before: ForOp | None = None
    for nest in block.ops:
        if not isinstance(nest, ForOp) or (update := update_of(nest, of_any_loops=of_any_loops)) is None:
            continue
        is_relative = (
            update.combiner.data == "add" and next(differences_in(update.values[0]), None) is not None
        )
        if before is not None and is_relative:
            yield before, nest
            before = None
        else:
            before = nest


def is_extreme(nest: ForOp) -> bool:
    """Whether a nest of a pair reduces to a maximum or a minimum."""
    update = update_of(nest)
    return update is not None and update.combiner.data != "add"


def stores_beside(nest: ForOp) -> bool:
    """Whether a nest stores something beside what it sums up: of parts, that is computed once more."""
    return any(isinstance(op, StoreOp) for op in nest.walk())


def update_of(nest: ForOp, *, of_any_loops: bool = False) -> AccumulateOp | None:
    """The only reduction of a nest."""
    ops = nest.walk() if of_any_loops else perfect_band(nest)[-1].body.block.ops
    updates = [op for op in ops if isinstance(op, AccumulateOp)]
    return updates[0] if len(updates) == 1 else None
