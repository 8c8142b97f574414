"""Functions of the results of short rows on the CPU: computed as vectors, behind the loop over the rows.

  nest.for "i" %i = 0 to 1000 {
    %s = nest.alloc "s" : memref<f32>
    nest.for "j" %j = 0 to 10 { ... nest.accumulate "s" add %x, %s[] }
    %v = nest.load %s[]
    %l = math.log %v                                       one at a time: as long as the row itself
    nest.store "y" %l, %y[%i]
  }
becomes (nest-distribute)
  %s = nest.alloc "s" : memref<1000xf32>
  nest.for "i" %i = 0 to 1000 { nest.for "j" ... { ... %s[%i] } }
  nest.for "i.1" %i = 0 to 1000 { ... nest.store "y" %l, %y[%i] }
"""

from __future__ import annotations

from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import ForOp, StoreOp
from ...nest.loops.distribute import distribute, pieces_of, why_not_distribute
from ...nest.rewrite.steps import Steps
from .vectors import outermost_loops

LONGEST = 512
"""Maximum number of iterations of the loops in a row: of longer ones a function of the results takes next to nothing."""

FEWEST_ROWS = 16
"""Minimum number of rows: as many as a vector has lanes."""


def functions_of_rows(loop: ForOp, steps: Steps) -> tuple[ForOp, ForOp] | None:
    """Cut off what is computed of the results of rows; None, and nothing changed, where that is illegal or of no use."""
    rows, length, pieces = largest_extent(loop), _iterations_in(loop), pieces_of(loop)
    if not length or length > LONGEST or (rows is not None and rows < FEWEST_ROWS):
        return None
    count = max((k + 1 for k, piece in enumerate(pieces) if isinstance(piece, ForOp)), default=0)
    if not count:
        return None
    tail = pieces[count:]
    if (
        not tail
        or not all(isinstance(piece, StoreOp) for piece in tail)
        or not _has_function(loop, pieces[count - 1])
    ):
        return None
    if why_not_distribute(loop, count) is not None:
        return None
    first, second = steps.do(distribute, loop, after=count)
    return first, second


def _iterations_in(loop: ForOp) -> int | None:
    """How many iterations the innermost loops in a loop have for each of its own; None where that is not known."""
    total = 0
    for one in outermost_loops(loop):
        extent, inside = largest_extent(one), _iterations_in(one)
        if extent is None or inside is None:
            return None
        total += extent * max(inside, 1)
    return total


def _has_function(loop: ForOp, last: object) -> bool:
    """Whether something slow is computed behind the last loop of a row."""
    ops = list(loop.body.block.ops)
    behind = ops[ops.index(last) + 1 :]  # pyright: ignore
    return any(op.name.startswith(("math.", "special.")) and op.name not in _FAST for op in behind)


_FAST = (
    "math.absf",
    "math.absi",
    "math.copysign",
    "math.fma",
    "math.sqrt",
    "math.floor",
    "math.ceil",
    "math.trunc",
)
"""Single instructions."""
