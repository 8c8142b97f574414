"""Sweeps on a GPU (part of nest-schedule-cuda): the elements of a diagonal, which do not depend on each other, are a launch.

    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = 1 to %m {
        ... %a[%i, %j] from %a[%i - 1, %j] and %a[%i, %j - 1] ...
  becomes
    nest.for "j" %d = 2 to %n + %m - 1 {                             // of the host
      nest.for "i.o" %o = 0 to (%n - 1) ceildiv 256 bind "block.x" {
        nest.for "i.i" %t = 0 to 256 bind "thread.x" {
          ... %a[%i, %d - %i] ... where it is an element of the sweep

What is reduced meanwhile (`best = max(best, a[i, j])`, nest-raise-updates) has an element for each row, and these are
combined when the sweep is done (nest-rfactor).

The inner loop is skewed by the outer one, and is the outer one then: what follows from what lies on earlier diagonals. Where
an element needs one before it in its row and one behind it in the row above (a sweep over nine points), the slope is 2. The
primitives prove each step; the number of launches is that of the diagonals. After L. Lamport, "The parallel execution of DO
loops" (1974).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp
from ....dialects.remarks import remark
from ...nest.loops.reorder import reorder
from ...nest.loops.skew import skew
from ...nest.loops.widen import widen
from ...nest.mapping.parallel import why_not_independent
from ...nest.reductions.rfactor import reductions_of, rfactor
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import FEW, is_known_to_host

SLOPES = ((2, 1), (4, 2), (1,), (2,))
"""By how many iterations of the innermost loop later the next one of each loop around it begins, the outermost first: for
sweeps over neighbours to the left and above (1), over all neighbours (2), and for both again and again."""


def share_diagonals(nest: ForOp, steps: Steps) -> list[ForOp]:
    """Let the host run the diagonals of a sweep: the nests that are to be bound, that with the loops along diagonals, which
    are independent, and those around it that begin and combine what is reduced meanwhile; none where there are none."""
    band = perfect_band(nest)
    for slopes in SLOPES:
        loops = band[: len(slopes) + 1]
        if len(loops) > len(slopes) and _is_worth_it(loops) and _are_independent(loops, slopes):
            nests = _skew(slopes, loops, steps)
            names = ", ".join(loop.label for loop in loops)
            remark(loops[-1], f'the sweep "{names}" is done by diagonals, a launch each')
            return nests
    return []


def _is_worth_it(loops: Sequence[ForOp]) -> bool:
    """Whether diagonals may be long, and the host knows how many there are."""
    bounds = [value for loop in loops for value in (*loop.lower_operands, *loop.upper_operands)]
    if any(loop.kind != "serial" for loop in loops) or not is_known_to_host(bounds):
        return False
    return all((extent_of(loop) or FEW + 1) > FEW for loop in loops[-2:])


def _are_independent(loops: Sequence[ForOp], slopes: Sequence[int]) -> bool:
    """Whether the elements of a diagonal do not depend on each other: tried on a copy of the function."""

    def prove(*loops: ForOp) -> None:
        _skew(slopes, loops, UNRECORDED)
        dependences = Dependences(loops[0])
        for loop in loops[:-1]:
            if (refusal := why_not_independent(loop, "bind", dependences)) is not None:
                raise refusal

    try:
        trial(prove, *loops)
    except NestorError:
        return False
    return True


def _skew(slopes: Sequence[int], loops: Sequence[ForOp], steps: Steps) -> list[ForOp]:
    *along, across = loops
    for loop, slope in zip(along, slopes, strict=True):
        steps.do(skew, loop, across, by=slope)
    steps.do(reorder, [across, *along])
    for loop in along:
        steps.do(widen, loop, across)
    if len(along) > 1 or not reductions_of(along[0]):
        return [along[0]]
    start, combine = steps.do(rfactor, along[0])
    return [start, along[0], combine]
