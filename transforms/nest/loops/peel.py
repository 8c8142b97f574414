"""nest-peel: the first or the last iterations of a loop become a loop of their own.

    nest.for "i" %i = 0 to %n {
      ... %x[%i] ...
    }

becomes with count=2

    nest.for "i.head" %a = 0 to min(%n, 2) {
      ... %x[%a] ...
    }
    nest.for "i" %i = 2 to %n {
      ... %x[%i] ...
    }

and with count=2 where=tail

    nest.for "i" %i = 0 to %n - 2 {
      ... %x[%i] ...
    }
    nest.for "i.tail" %a = max(0, %n - 2) to %n {
      ... %x[%a] ...
    }

Where there are fewer iterations than `count`, the peel takes them all. Peeling keeps the order of iterations,
so no dependence forbids it. Refused where the bound from which iterations are counted is a max or min of several
expressions. `sliceHead` and `sliceTail` in NNC, `cut_loop` in Exo, `loop_partition` in TVM and `partition` in Halide.
"""

from __future__ import annotations

from typing import Literal

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import trip_count
from ....analysis.nest.sets.loop_bounds import largest, refuse_several, smallest
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.loops import fresh_names, simplify_bounds
from .cut import copy_after, copy_before

Where = Literal["head", "tail"]


def why_not_peel(loop: ForOp, count: int = 1, where: Where = "head") -> NestorError | None:
    """The diagnostic that refuses to peel, None when it is legal."""
    if count < 1:
        return fail(loop, f'cannot peel the loop "{loop.label}" by {count}: the count must be positive')
    if where not in ("head", "tail"):
        return fail(loop, f'cannot peel the loop "{loop.label}": "{where}" is neither "head" nor "tail"')
    if (refusal := refuse_marked(loop, "peel")) is not None:
        return refusal
    if where == "head":
        return refuse_several(loop, "peel", "lower")
    refusal = refuse_several(loop, "peel", "upper")
    if refusal is None and loop.step_value != 1:
        # the last iterations are then counted from the first one
        refusal = refuse_several(loop, "peel", "lower")
    return refusal


def peel(loop: ForOp, count: int = 1, where: Where = "head") -> tuple[ForOp, ForOp]:
    """Peel the first or last `count` iterations off `loop`: the loop of them, and the rest (which is `loop`)."""
    if (refusal := why_not_peel(loop, count, where)) is not None:
        raise refusal
    simplify_bounds(loop)
    lower, upper = loop.lower, loop.upper
    name = fresh_names(loop, f"{loop.label}.{where}")[0]
    taken = count * loop.step_value
    if where == "head":
        peeled = copy_before(loop, name)
        peeled.set_bounds(lower, smallest(upper.concat(lower.add(taken)), loop))
        loop.set_bounds(lower.add(taken), upper)
        return peeled, loop
    start = upper.add(-taken)
    if loop.step_value != 1:
        trips = trip_count(loop)
        assert trips is not None
        start = lower.plus(trips.add(-count).times(loop.step_value))
    peeled = copy_after(loop, name)
    peeled.set_bounds(largest(lower.concat(start), loop), upper)
    loop.set_bounds(lower, upper.add(-taken))
    return peeled, loop
