"""Long reductions on the CPU: nest-schedule-cpu's partial results of parts, and blocks of rows of sums of columns.

    nest.for "i" %i = 0 to 10000000 {
      nest.accumulate "s" add %x, %s[]
    }
  becomes
    nest.for "i.p" %p = 0 to 64 parallel {                       // nest-privatise: a part has a sum of its own
      nest.store "s" %zero, %s_parts[%p]
      nest.for "i" %i = 156250 * %p to 156250 * %p + 156250 { ... %s_parts[%p] ... }
    }
    nest.for "i.combine" %c = 0 to 64 { ... }                    // in order

How many parts there are depends on extents alone, so the bits of a result do not depend on the number of threads.
Where only the run time knows the extent, long loops get a version of their own (nest-specialise).

    nest.for "i" %i = 0 to %n {                                  // rows
      nest.for "j" %j = 0 to %m {                                // columns, adjacent elements
        nest.accumulate "s" add %x, %s[%j]                       // of %x[%i, %j]
  becomes
    nest.for "i.o" %o = 0 to %n ceildiv 8 {
      nest.for "j" %j = 0 to %m {                                // to become vectors, the sums in registers
        nest.for "i.i" %i = 0 to min(8, ...) {

so that memory is read a few rows at a time, and not in one narrow strip down all of them. A part has rows of its own, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block

from ....analysis.machine import LINE_BYTES
from ....analysis.nest.loop_structure import (
    enclosing_function,
    loops_in,
    perfect_band,
    sole_inner_loop,
    trip_count,
)
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ...nest.loops.cut import cut, why_not_cut
from ...nest.loops.normalise import normalise, why_not_normalise
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.sink import sink
from ...nest.loops.specialise import specialise, why_not_specialise
from ...nest.loops.split import split, why_no_rest, why_not_split
from ...nest.loops.unroll_and_jam import unroll_and_jam, why_not_unroll_and_jam
from ...nest.mapping.parallel import why_not_parallel
from ...nest.reductions.privatise import privatise, why_not_privatise
from ...nest.rewrite.private_accumulators import Group, groups_of
from ...nest.rewrite.steps import Steps
from ..patterns.costs import arithmetic_in, work_inside

MOST_PARTS = 64
"""Maximum number of parts of a reduction, and so of threads that take part in it."""

PARTS = 16
"""Parts of a reduction whose extent only the run time knows."""

WORK_PER_PART = 1 << 16
"""Element operations below which a part does not pay."""

SHARE_OF_TOTALS = 256
"""Minimum work of a part, in multiples of the work of initialising and combining its results."""

BLOCK = 4096
"""Iterations of a loop of unknown extent that are scheduled as one block, whose extent is known."""

STREAMS = 4
"""Parts that an iteration reads interleaved: a core fetches more from memory in several places than in one."""

FEWEST_ROWS, FEWEST_TERMS = 64, 1024
"""Rows and terms below which rows are reduced one after the other."""

COLUMNS = 256
"""Columns that a thread adds up, of some of the rows of a matrix: half a page of each row, or a whole one."""

ROWS = 8
"""Rows that are read at a time: as many streams as a core's prefetchers follow with ease."""


# ---- parts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parts:
    """A reduction in parts: the loop over them, and the nests beside it that are not scheduled yet."""

    outer: ForOp
    beside: list[ForOp]
    short: ForOp | None
    """The version for few iterations."""


def share_reduction(loop: ForOp, steps: Steps) -> Parts | None:
    """Give parts of a loop that carries nothing but reductions results of their own.

    None, and nothing changed, where that is illegal or does not pay.
    """
    dependences = Dependences(loop)
    if why_not_parallel(loop, dependences) is None:
        return None
    if dependences.first_ordered(loop, lambda _: True) is not None:
        return None  # privatise refuses: the first dependence is cheaper to find than all that are reductions
    parts = _parts_of(loop, groups_of(loop, dependences))
    if parts < 2 or why_not_privatise(loop, parts, dependences=dependences) is not None:
        return None
    extent, short, rest = largest_extent(loop), None, None
    is_innermost = loops_in(loop) == [loop]
    if extent is None:
        when = f"extent({loop.label}) >= {_fewest(loop)}"
        if why_not_specialise(loop, when) is not None or why_no_rest(loop, BLOCK) is not None:
            return None
        if not _may_run(loop, _fewest(loop)):
            return None  # what it adds up is nothing then: nobody could prove that it carries a reduction
        loop, short = steps.do(specialise, loop, when=when)
        if is_innermost:
            loop, _, *tail = steps.do(split, loop, factor=BLOCK)
            rest = tail[0] if tail else None
    elif is_innermost and (even := _even_part(extent, parts) * parts) != extent:
        if why_not_cut(loop, even) is not None:
            return None
        loop, rest = steps.do(cut, loop, at=even)
    outer, combine = steps.do(privatise, loop, parts=parts)
    if is_innermost and extent is not None:
        outer = _side_by_side(outer, loop, parts, steps)
    return Parts(outer, [combine, *([] if rest is None else [rest])], short)


def _may_run(loop: ForOp, times: int) -> bool:
    """Whether a loop of reductions may run so many times, and reach them."""
    trips = trip_count(loop)
    update = next((op for op in loop.walk() if isinstance(op, AccumulateOp)), None)
    if trips is None or len(trips) != 1 or update is None:
        return True
    system = System(enclosing_function(loop))
    system.require_reached(update, "s")
    (count,) = system.expressions(trips, "s")
    system.require(f"{count} >= {times}")
    return system.has_solution()


def _side_by_side(outer: ForOp, loop: ForOp, parts: int, steps: Steps) -> ForOp:
    """Let an iteration do several parts at once, where they only wait for memory: the loop over the parts then."""
    if parts < 2 * STREAMS or parts % STREAMS or not _waits_for_memory(loop):
        return outer
    if why_not_normalise(loop) is not None:
        return outer
    steps.do(normalise, loop)
    if why_not_unroll_and_jam(outer, STREAMS) is not None:
        return outer
    return steps.do(unroll_and_jam, outer, factor=STREAMS)


def jam_sums(loop: ForOp, dependences: Dependences, steps: Steps) -> ForOp | None:
    """Put reductions of long rows side by side; the loop over blocks of rows.

    None, and nothing changed, where that is illegal or of no use.
    """
    inner = [other for other in loops_in(loop) if other is not loop]
    rows = largest_extent(loop)
    if len(inner) != 1 or inner[0].parent_op() is not loop or rows is None or rows % STREAMS:
        return None
    terms = largest_extent(inner[0])
    is_small = rows < FEWEST_ROWS or terms is None or terms < FEWEST_TERMS
    if is_small or not _waits_for_memory(inner[0]) or why_not_parallel(loop, dependences) is not None:
        return None
    if why_not_unroll_and_jam(loop, STREAMS, dependences) is not None:
        return None
    return steps.do(unroll_and_jam, loop, factor=STREAMS, dependences=dependences)


def _waits_for_memory(loop: ForOp) -> bool:
    """Whether a loop reduces what it reads one element after the other, and computes next to nothing."""
    patterns = access_patterns(loop)
    loads = patterns[UNIT, False]
    if (
        not 1 <= loads <= 2
        or arithmetic_in(loop) > loads
        or patterns[SCATTERED, False]
        or patterns[SEVERAL, False]
    ):
        return False
    statements = [op for op in loop.body.block.ops if isinstance(op, (StoreOp, AccumulateOp))]
    return len(statements) == 1 and isinstance(statements[0], AccumulateOp)


def _even_part(extent: int, parts: int) -> int:
    """The iterations of a part, all parts having as many: whole cache lines, where that leaves few for the rest."""
    size = extent // parts
    return size if size < 16 * LINE_BYTES else size // LINE_BYTES * LINE_BYTES


def _parts_of(loop: ForOp, groups: list[Group]) -> int:
    """Into how many parts a reduction is worth being cut."""
    sizes = [_elements_of(group, loop) for group in groups]
    if not sizes or any(size is None for size in sizes):
        return 0
    work, extent = work_inside(loop), largest_extent(loop)
    slots = sum(size for size in sizes if size is not None)
    if extent is None:
        return PARTS if slots <= _fewest(loop) * work // (PARTS * SHARE_OF_TOTALS) else 0
    total = extent * work
    parts = min(MOST_PARTS, total // WORK_PER_PART, total // (SHARE_OF_TOTALS * slots), extent)
    return parts if parts < 2 * STREAMS else parts // STREAMS * STREAMS


def _fewest(loop: ForOp) -> int:
    """Iterations of a loop of unknown extent from which parts pay."""
    return max(PARTS * SHARE_OF_TOTALS // 2, 4 * WORK_PER_PART // work_inside(loop))


def _elements_of(group: Group, loop: ForOp) -> int | None:
    """How many elements a part has; None where that is not known, and not bounded by the loops in `loop` either."""
    total = 0
    for buffer in group.first.memrefs:
        assert isinstance(buffer.type, MemRefType)
        shape = buffer.type.get_shape()
        extents = [_elements_along(axis, shape[axis], group, loop) for axis in group.free]
        if any(extent is None for extent in extents):
            return None
        total += prod(extent for extent in extents if extent is not None)
    return total


def _elements_along(axis: int, extent: int, group: Group, loop: ForOp) -> int | None:
    if extent != DYNAMIC_INDEX:
        return extent
    for op in group.updates:
        value = op.indices[axis].single_value()
        inner = None if value is None or not isinstance(value.owner, Block) else value.owner.parent_op()
        if not isinstance(inner, ForOp) or inner not in loops_in(loop):
            return None
    return 1 << 10


# ---- sums of columns --------------------------------------------------------------------------------


def column_sums_in(band: list[ForOp]) -> tuple[ForOp, ForOp] | None:
    """The loop over rows and the one over columns where each iteration of a band updates the column's result.

    The columns are adjacent in memory, and all loops around them carry reductions.
    """
    if len(band) < 2 or list(loops_in(band[-1])) != [band[-1]]:
        return None
    row, column = band[-2], band[-1]
    if not any(isinstance(op, AccumulateOp) for op in column.body.block.ops):
        return None
    patterns = access_patterns(column)
    if any(patterns[pattern, writes] for pattern in (SCATTERED, SEVERAL) for writes in (False, True)):
        return None
    if not patterns[UNIT, True] or not patterns[UNIT, False]:
        return None
    dependences = Dependences(band[0])
    if why_not_parallel(column, dependences) is not None:
        return None
    for loop in band[:-1]:
        carried = dependences.first_carried(loop)
        if carried is None or dependences.first_ordered(loop, lambda _: True) is not None:
            return None
    return row, column


def in_turn(nests: Iterable[ForOp]) -> list[ForOp]:
    """Nests in the order in which they are scheduled: sums of columns before the nests that set them are taken apart."""
    return sorted(nests, key=lambda nest: column_sums_in(perfect_band(nest)) is None)


def has_many_rows(row: ForOp) -> bool:
    extent = largest_extent(row)
    return extent is None or extent >= 2 * ROWS


def block_rows(row: ForOp, column: ForOp, steps: Steps) -> tuple[ForOp, ForOp] | None:
    """Put the loop over columns around a few rows at a time: the loops over blocks of rows and over columns.

    None, and nothing changed, where that is illegal.
    """
    if why_not_split(row, ROWS, "clamp") is not None:
        return None
    if why_not_reorder([column, row], new_bounds=False) is not None:
        return None
    blocks, row = steps.do(split, row, factor=ROWS, tail="clamp")
    if sole_inner_loop(row) is not column:
        steps.do(sink, row)  # the row's number, which what is added depends on, stands between them now
    column, _ = steps.do(reorder, [column, row])
    return blocks, column
