"""Nests of the CPU that are more than a plain loop (part of nest-schedule-cpu): orders, tiles, reductions, scans, products.

    nest.for "i" %i = 0 to 1000 {                        nest.for "j" %j = 0 to 500 parallel {
      nest.for "j" %j = 0 to 500 {          becomes        nest.for "i" %i = 0 to 1000 vectorized ... {
        ... %x[%j, %i] ...                                   ... %x[%j, %i] ...

Each strategy that is more than a few lines has a module of its own, `cpu_*.py`; this one knows their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from ....analysis.nest.buffers import buffer_name, buffers_in
from ....analysis.nest.loop_structure import (
    enclosing_function,
    loops_in,
    sole_inner_loop,
    trip_count,
)
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_no_rest, why_not_split
from ...nest.mapping.parallel import why_not_parallel
from ...nest.mapping.vectorize import why_not_lanes
from ...nest.memory.expand_buffer import expand_buffer
from ...nest.rewrite.steps import Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import machine_lanes
from ..refusals import optional, unless_refused
from ..strategies import Strategy, first_of
from .kept_rows import keep_row
from .recurrences import is_recurrence, jam_rows
from .reductions import COLUMNS, block_rows, column_sums_in, has_many_rows, jam_sums, share_reduction
from .row_functions import functions_of_rows
from .row_programs import fetch_rows, rows_of
from .scans import block_long_scan, fetch_blocks, has_lanes, is_long_scan, scan_in_lanes, scan_in_waves
from .strips import make_strips, strip_of
from .transposes import tile_transposed
from .vectors import (
    Machine,
    joined_neighbours,
    outermost_loops,
    remark_refusal,
    schedule_innermost,
    share,
    variables_of,
    vectorize_loop,
    why_not_worthwhile,
)

if TYPE_CHECKING:
    pass

FEW = 4
"""Up to this many iterations are too few to share among threads when an inner loop can be shared instead."""

TILE = 32
"""Iterations of both loops of a tile: this many cache lines of each buffer stay in the first-level cache."""


@dataclass(eq=False)
class Nest:
    """A nest that is scheduled: what the rows of strategies ask about it, each once."""

    band: list[ForOp]
    machine: Machine
    for_threads: bool
    """No loop around it is parallel yet."""
    in_parts: bool
    """Reductions may be shared."""

    @property
    def loop(self) -> ForOp:
        return self.band[0]

    @cached_property
    def dependences(self) -> Dependences:
        return Dependences(self.loop)

    @cached_property
    def refusal(self) -> NestorError | None:
        """Why threads cannot share it; None where they are not to."""
        return why_not_parallel(self.loop, self.dependences) if self.for_threads else None

    @property
    def is_parallel(self) -> bool:
        return self.for_threads and self.refusal is None

    @cached_property
    def inner(self) -> list[ForOp]:
        return list(outermost_loops(self.loop))


def schedule_nest(nest: ForOp, machine: Machine, for_threads: bool, in_parts: bool = True) -> None:
    """Schedule a nest; `for_threads`: no loop around it is parallel yet; `in_parts`: reductions may be shared."""
    label, band = nest.label, joined_neighbours(nest, machine)
    if first_of(AS_WRITTEN, label, Nest(band, machine, for_threads, in_parts)) is None:
        band = unless_refused(partial(_best_order, band, machine.steps), lambda _: band)
        first_of(NESTS, label, Nest(band, machine, for_threads, in_parts))


def _in_parts(nest: Nest) -> bool:
    return _schedule_parts(nest.loop, nest.machine)


def _lanes_outside(nest: Nest) -> bool:
    vectorize_loop(nest.loop, nest.machine, nest.is_parallel, nest.dependences)
    return True


def _transposed(nest: Nest) -> bool:
    tiles = tile_transposed(nest.band, nest.machine.cpu, nest.machine.steps)
    if tiles is None:
        return False
    if nest.for_threads and why_not_parallel(tiles) is None:
        share(tiles, nest.machine.steps)
    return True


def _in_square_tiles(nest: Nest) -> bool:
    tiles = _tiled(nest.band, nest.machine.steps)
    if tiles is not None and nest.is_parallel:
        share(tiles, nest.machine.steps)
    return tiles is not None


def _in_waves(nest: Nest) -> bool:
    machine = nest.machine
    if (scans := scan_in_waves(nest.loop, machine)) is None:
        return False
    alone, rest = scans
    for part in alone:
        schedule_nest(part, replace(machine, in_rows=True), False)
        fetch_blocks(part, machine.cpu, machine.steps)
    for part in rest:
        schedule_nest(part, machine, False)
    return True


def _in_blocks(nest: Nest) -> bool:
    if (scans := block_long_scan(nest.loop, nest.machine.steps)) is None:
        return False
    blocks, rest = scans
    for part in blocks:
        schedule_nest(part, nest.machine, nest.for_threads)
    for part in rest:
        schedule_nest(part, nest.machine, False)
    return True


def _innermost(nest: Nest) -> bool:
    schedule_innermost(nest.loop, nest.machine, nest.is_parallel, nest.dependences)
    return True


def _side_by_side(nest: Nest) -> bool:
    steps = nest.machine.steps
    if any(has_lanes(child, nest.machine.cpu.vector_bits) for child in nest.inner):
        return False
    rows = jam_rows(nest.loop, nest.dependences, steps)
    if rows is not None and nest.is_parallel:
        share(rows, steps)
    return rows is not None


def _in_strips(nest: Nest) -> bool:
    machine, strip = nest.machine, strip_of(nest.band)
    assert strip is not None
    made = make_strips(nest.band, strip, machine.steps)
    if made is None:
        return False
    strips, lane = made
    if nest.is_parallel:
        share(strips, machine.steps)
    for child in list(outermost_loops(lane)):
        schedule_nest(child, machine, for_threads=nest.for_threads and not nest.is_parallel)
    return True


def _functions_apart(nest: Nest) -> bool:
    """Schedule rows, and what is computed of their results, one after the other."""
    parts = functions_of_rows(nest.loop, nest.machine.steps)
    if parts is None:
        return False
    for part in parts:
        schedule_nest(part, nest.machine, nest.for_threads, nest.in_parts)
    return True


def _loop_by_loop(nest: Nest) -> bool:
    loop, machine, steps, for_threads = nest.loop, nest.machine, nest.machine.steps, nest.for_threads
    if nest.is_parallel and not _is_better_shared_inside(loop, nest.dependences):
        if (sums := jam_sums(loop, nest.dependences, steps)) is not None:
            loop = sums
        share(loop, steps)
        for_threads = False
    rows = rows_of(loop, machine.cpu)
    for child in list(outermost_loops(loop)):
        if child.parent is not None:  # a product before it may have taken it
            schedule_nest(child, replace(machine, in_rows=bool(rows) or machine.in_rows), for_threads)
    optional(lambda: fetch_rows(loop, rows, steps))
    if nest.refusal is not None and not any(loop.kind == "parallel" for loop in loops_in(loop)):
        remark_refusal(loop, "runs on one thread", nest.refusal)
    return True


def _schedule_column_sums(nest: Nest) -> bool:
    """Read the rows of sums of columns a few at a time, and share them among threads; False where that is of no use."""
    machine = nest.machine
    found = column_sums_in(nest.band)
    assert found is not None
    row, column = found
    if nest.for_threads:
        if nest.in_parts:
            return _schedule_parts(nest.loop, machine)
        return _share_columns(nest.band, machine)
    extent = largest_extent(column)
    if not has_many_rows(row) or (
        extent is not None and extent <= 4 * machine_lanes(column, machine.cpu.vector_bits)
    ):
        return False
    if not _is_better_outside(column, Dependences(column)) and why_not_lanes(column) is not None:
        return False
    if keep_row(row, column, machine):
        return True
    blocked = None if why_not_split(column, 2, "mask") is not None else block_rows(row, column, machine.steps)
    if blocked is None:
        return False
    vectorize_loop(blocked[1], machine, False, Dependences(blocked[1]))
    return True


def _share_columns(band: list[ForOp], machine: Machine) -> bool:
    """Give strips of columns to threads, with the rows inside, a few at a time; False where that is illegal, or for little.

    For sums of which a run may have too few rows to share these."""
    row, column = band[0], band[-1]
    extent = largest_extent(column)
    if len(band) != 2 or (extent is not None and extent < 2 * COLUMNS):
        return False
    trips = trip_count(column)
    is_plain = trips is not None and len(trips) == 1 and is_never_negative(trips, column)
    tail = "remainder" if is_plain else "clamp"
    if why_not_split(column, COLUMNS, tail) is not None:
        return False
    if why_not_reorder([column, row], new_bounds=False) is not None:
        return False
    steps = machine.steps
    column, row = steps.do(reorder, [column, row])
    strips, column, *rest = steps.do(split, column, factor=COLUMNS, tail=tail)
    row, _ = steps.do(reorder, [row, column])
    share(strips, steps)
    schedule_nest(row, machine, for_threads=False)
    for columns in rest:
        schedule_nest(columns, machine, for_threads=True, in_parts=False)
    return True


def _schedule_parts(loop: ForOp, machine: Machine) -> bool:
    """Share a reduction among threads, each part with a result of its own; False where that is of no use."""
    parts = share_reduction(loop, machine.steps)
    if parts is None:
        return False
    share(parts.outer, machine.steps)
    for child in list(outermost_loops(parts.outer)):
        if child.parent is not None:
            schedule_nest(child, machine, for_threads=False)
    for nest in parts.beside:
        schedule_nest(nest, machine, for_threads=False)
    if parts.short is not None:
        schedule_nest(parts.short, machine, for_threads=True, in_parts=False)
    return True


def sums_in_innermost(nest: Nest) -> bool:
    return any(isinstance(op, AccumulateOp) for op in nest.band[-1].body.block.ops)


def _for_matrix_unit(nest: Nest) -> bool:
    from .matrix_tiles import tile_for_matrix_unit

    return tile_for_matrix_unit(nest.loop, share if nest.for_threads else None, nest.machine.steps)


def _in_vectors_of_bytes(nest: Nest) -> bool:
    from .matrix_tiles import VECTORS, tile_for_matrix_unit

    threads = share if nest.for_threads else None
    return tile_for_matrix_unit(nest.loop, threads, nest.machine.steps, VECTORS)


def _skinny(nest: Nest) -> bool:
    from .skinny_products import tile_skinny

    return tile_skinny(nest.band, nest.machine, share if nest.for_threads else None)


def _in_tiles_of_sums(nest: Nest) -> bool:
    from ..patterns.products import product_in
    from .product_tiles import ProductTiling

    product = product_in(nest.band)
    if product is None:
        return False
    machine = nest.machine
    tiling = ProductTiling(
        product,
        machine,
        share if nest.for_threads else None,
        lambda beside: schedule_nest(beside, machine, for_threads=False),
        machine.steps,
    )
    if not tiling.is_legal():
        return False
    tiling.run()
    return True


# ---- the rows ---------------------------------------------------------------------------------------

PRODUCTS = (
    Strategy(
        "matrix unit",
        "products of bytes, on a processor with a unit for them",
        _for_matrix_unit,
        lambda nest: nest.machine.cpu.amx,
    ),
    Strategy(
        "bytes in vectors",
        "products of bytes, on a processor with instructions for them",
        _in_vectors_of_bytes,
        lambda nest: nest.machine.cpu.vnni and not nest.machine.cpu.amx,
    ),
    Strategy("few rows or columns", "products of which reading a matrix takes most of the time", _skinny),
    Strategy("tiles of a product", "products of matrices", _in_tiles_of_sums),
)
"""Sums of products, for which no other strategy is better."""

AS_WRITTEN = (
    Strategy(
        "column sums",
        "sums of columns with many rows",
        _schedule_column_sums,
        lambda nest: column_sums_in(nest.band) is not None,
    ),
)
"""Tried before loops are put in the order in which memory is."""

NESTS = (
    Strategy(
        "product",
        "sums of products",
        lambda nest: first_of(PRODUCTS, nest.loop.label, nest) is not None,
        sums_in_innermost,
    ),
    Strategy(
        "parts of a reduction",
        "reductions that threads cannot share otherwise",
        _in_parts,
        lambda nest: nest.refusal is not None and nest.in_parts,
    ),
    Strategy(
        "vectors of the outer loop",
        "nests that are contiguous along it, and not inside",
        _lanes_outside,
        lambda nest: _is_better_outside(nest.loop, nest.dependences),
    ),
    Strategy("transposed tiles", "nests that read across what they write", _transposed),
    Strategy("square tiles", "nests of two loops, with contiguous accesses along both", _in_square_tiles),
    Strategy(
        "running results in waves",
        "running results larger than the caches, by two threads",
        _in_waves,
        lambda nest: nest.for_threads,
    ),
    Strategy("blocks of a running result", "long running results", _in_blocks, lambda nest: nest.for_threads),
    Strategy(
        "running result in lanes",
        "running results without an inner loop",
        lambda nest: scan_in_lanes(nest.loop, nest.machine),
        lambda nest: not nest.inner and not nest.is_parallel,
    ),
    Strategy("vectors", "loops without an inner loop", _innermost, lambda nest: not nest.inner),
    Strategy("rows side by side", "independent rows of sums whose order is given", _side_by_side),
    Strategy(
        "strips of a parallel loop",
        "nests that read a matrix down its columns",
        _in_strips,
        lambda nest: strip_of(nest.band) is not None,
    ),
    Strategy(
        "functions of short rows",
        "logarithms and the like of the results of rows",
        _functions_apart,
        lambda nest: nest.is_parallel,
    ),
    Strategy("loop by loop", "all others: a loop for threads, the loops in it each by itself", _loop_by_loop),
)
"""What is done with a nest: the first that takes it."""


# ---- order ------------------------------------------------------------------------------------------


def _best_order(band: list[ForOp], steps: Steps) -> list[ForOp]:
    """Reorder a perfect band: contiguous accesses innermost, an independent loop outermost."""
    if len(band) < 2:
        return band
    dependences = Dependences(band[0])
    innermost = min(reversed(band), key=_scattered)
    order = [*(loop for loop in band if loop is not innermost), innermost]
    if why_not_parallel(order[0], dependences) is not None:
        free = [loop for loop in order if why_not_parallel(loop, dependences) is None]
        order = [*free[:1], *(loop for loop in order if loop not in free[:1])]
    if order == band or why_not_reorder(order, dependences, new_bounds=False) is not None:
        return band
    return steps.do(reorder, order, dependences=dependences)


def _tiled(band: list[ForOp], steps: Steps) -> ForOp | None:
    """Tiles of the two innermost loops where some accesses are contiguous along one, some along the other.

    Returns the loop over the rows of tiles, None (and nothing changed) when tiles would not help.
    """
    if len(band) != 2 or list(outermost_loops(band[1])):
        return None
    if not all(_scattered(loop) and _contiguous(loop) for loop in band):
        return None
    row, column = band
    if why_not_worthwhile(column, Dependences(row)) is None:
        return None
    if why_not_reorder([column, row], new_bounds=False) is not None:
        return None
    if any(why_not_split(loop, TILE, "clamp") is not None for loop in band):
        return None
    rows, row = steps.do(split, row, factor=TILE, tail="clamp")
    columns, column = steps.do(split, column, factor=TILE, tail="clamp")
    if why_not_reorder([rows, columns, row, column], new_bounds=False) is None:
        steps.do(reorder, [rows, columns, row, column])
    return rows


def _scattered(loop: ForOp) -> int:
    """How many accesses are not contiguous as the loop's variable grows; stores count twice."""
    patterns = access_patterns(loop)
    return sum(
        count * (2 if writes else 1) for (pattern, writes), count in patterns.items() if pattern in _APART
    )


_APART = (SCATTERED, SEVERAL)


def _contiguous(loop: ForOp) -> int:
    patterns = access_patterns(loop)
    return patterns[UNIT, False] + patterns[UNIT, True]


# ---- threads ----------------------------------------------------------------------------------------


def _is_better_shared_inside(loop: ForOp, dependences: Dependences) -> bool:
    """Whether `loop` has too few iterations for threads and the loop in it can be shared, too."""
    extent, inner = largest_extent(loop), sole_inner_loop(loop)
    if extent is not None and extent < FEW and any(is_long_scan(other) for other in outermost_loops(loop)):
        return True
    if extent is None or extent >= FEW or inner is None:
        return False
    inner_extent = largest_extent(inner)
    return (inner_extent is None or inner_extent > extent) and why_not_parallel(inner, dependences) is None


# ---- vectors ----------------------------------------------------------------------------------------


def _is_better_outside(loop: ForOp, dependences: Dependences) -> bool:
    """Whether `loop` makes better vectors than the loops in it: it is contiguous, and they are not or are recurrences."""
    inner = [other for other in loops_in(loop) if not list(outermost_loops(other))]
    if (
        inner == [loop]
        or _scattered(loop)
        or not any(_scattered(other) or is_recurrence(other) for other in inner)
    ):
        return False
    if why_no_rest(loop, 2) is not None:
        return False
    variables = variables_of(loop)
    if not variables:
        return why_not_lanes(loop, dependences) is None
    function = enclosing_function(loop)
    assert isinstance(function, FuncOp)
    names = [buffer_name(buffer) for buffer in buffers_in(function)]
    if any(names.count(buffer_name(variable.memref)) > 1 for variable in variables):
        return False  # a recorded schedule could not say which one is meant
    try:
        trial(_check_lanes_of_variables, loop)
    except NestorError:
        return False
    return True


def _check_lanes_of_variables(loop: ForOp) -> None:
    """Raise why `loop` cannot become vectors even when its variables have an element per lane."""
    for variable in variables_of(loop):
        expand_buffer(variable, loop)
    if (refusal := why_not_lanes(loop)) is not None:
        raise refusal
