"""How often a loop runs, where that is a constant, the extents of static axes included."""

from __future__ import annotations

from ....dialects.nest import ForOp
from ..loop_structure import trip_count
from .extent_keys import bound_key


def extent_of(loop: ForOp) -> int | None:
    """The number of iterations, None where it is no constant."""
    count = loop.constant_trip_count()
    if count is not None or loop.lower.constants() != (0,) or loop.step_value != 1:
        return count
    key = bound_key(loop.upper)
    return max(0, key) if isinstance(key, int) else None


def largest_extent(loop: ForOp) -> int | None:
    """The largest number of iterations, where one of several upper bounds limits it to a constant: `min(%n, %i + 32)`."""
    exact = extent_of(loop)
    trips = trip_count(loop) if exact is None else None
    if trips is None:
        return exact
    constants = [trips[k].constants() for k in range(len(trips))]
    return min((max(0, c[0]) for c in constants if c is not None), default=None)
