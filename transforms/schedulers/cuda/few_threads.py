"""Kernels of much work with few threads (part of nest-schedule-cuda): a remark says which, and why that is slow.

A kernel's work is the iterations of its longest statement, its threads those of the loops that are bound. With fewer than
`FEWEST` threads, `MUCH` iterations take longer than a hundred launches. Kernels with extents that are not known are not
judged.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ....analysis.nest.kernels.barriers import kernels_in
from ....analysis.nest.loop_structure import enclosing_loops, loops_in, statements
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import BIND_AXES, ForOp
from ....dialects.remarks import remark

MUCH = 1 << 18
"""Iterations that take one thread longer than a hundred launches."""

FEWEST = 4096
"""Threads that keep enough accesses in flight: 32 blocks of 128."""


def remark_few_threads(function: FuncOp) -> None:
    """Say which kernels have few threads for what they do."""
    for nest in kernels_in(function):
        work, threads = work_of(nest), threads_of(nest)
        if work is not None and threads is not None and work >= MUCH and threads < FEWEST:
            text = f'the kernel of "{nest.label}" does {work} iterations with {threads} threads'
            remark(nest, text, hint="a schedule of your own may split its loops (docs/schedules.md)")


def work_of(nest: ForOp) -> int | None:
    """The iterations of the statement of a nest that runs most often, of those for which that is known."""
    found = [count for op in statements(nest) if (count := _runs_of(op, nest)) is not None]
    return max(found, default=None)


def _runs_of(op: Operation, nest: ForOp) -> int | None:
    count = 1
    for loop in enclosing_loops(op):
        if loop is nest or nest.is_ancestor(loop):
            extent = _most_iterations(loop)
            if extent is None:
                return None
            count *= extent
    return count


def _most_iterations(loop: ForOp) -> int | None:
    """The largest number of iterations: of every eighth one from a thread's own on, an eighth of them."""
    extent = largest_extent(loop)
    if extent is not None or not is_never_negative(loop.lower[0], loop):
        return extent
    ends = [loop.upper[k].constants() for k in range(len(loop.upper))]
    known = [end[0] for end in ends if end is not None]
    return max(0, -(-min(known) // loop.step_value)) if known else None


def threads_of(nest: ForOp) -> int | None:
    """The threads of all blocks that run a nest; None where that is not known."""
    longest: dict[str, int] = {}
    for loop in loops_in(nest):
        if loop.kind in BIND_AXES:
            extent = largest_extent(loop)
            if extent is None:
                return None
            longest[loop.kind] = max(longest.get(loop.kind, 1), extent)
    count = 1
    for extent in longest.values():
        count *= extent
    return count
