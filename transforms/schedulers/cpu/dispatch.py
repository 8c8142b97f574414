"""Nests of the CPU that are more than a plain loop (part of nest-schedule-cpu): orders, tiles, reductions, scans, products.

    nest.for "i" %i = 0 to 1000 {                        nest.for "j" %j = 0 to 500 parallel {
      nest.for "j" %j = 0 to 500 {          becomes        nest.for "i" %i = 0 to 1000 vectorized ... {
        ... %x[%j, %i] ...                                   ... %x[%j, %i] ...

Each strategy that is more than a few lines has a module of its own, `cpu_*.py`; this one knows their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from ....analysis.nest.buffers import buffer_name, buffers_in
from ....analysis.nest.loop_structure import enclosing_function, loops_in, perfect_band, sole_inner_loop
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.parallel import why_not_parallel
from ...nest.mapping.vectorize import why_not_lanes
from ...nest.memory.expand_buffer import expand_buffer
from ...nest.rewrite.steps import Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import extent_of, machine_lanes
from .recurrences import is_recurrence, jam_rows
from .reductions import block_rows, column_sums_in, has_many_rows, jam_sums, share_reduction
from .row_programs import fetch_rows, rows_of, search_in_parts
from .scans import block_long_scan, fetch_blocks, has_lanes, is_long_scan, scan_in_lanes, scan_in_waves
from .transposes import tile_transposed
from .vectors import (
    Machine,
    outermost_loops,
    remark_refusal,
    schedule_innermost,
    share,
    variables_of,
    vectorize_loop,
    why_not_worthwhile,
)

if TYPE_CHECKING:
    from ..patterns.convolutions import Convolution

FEW = 4
"""Up to this many iterations are too few to share among threads when an inner loop can be shared instead."""

TILE = 32
"""Iterations of both loops of a tile: this many cache lines of each buffer stay in the first-level cache."""


def schedule_sums_of_products(function: FuncOp, machine: Machine) -> None:
    """Convolutions, products, and the matrices that they make and use. A program without any does not import how."""
    from ..patterns.convolutions import convolution_in
    from ..patterns.windows import windows_in
    from .batch_slices import do_slices, join_axes, slices_in
    from .matrix_stacks import join_stacks
    from .pairs import pairs_in, tile_pairs
    from .windows import tile_windows

    _remove_unit_loops(function, machine.steps)
    if machine.cpu.amx:
        from .matrix_tiles import widen_in_products

        widen_in_products(function, machine.steps)
    for nest in list(outermost_loops(function)):
        if nest.parent is None:
            continue
        if (sum_ := convolution_in(nest)) is not None:
            _tile_convolution(sum_, machine)
        elif (windows := windows_in(nest)) is not None:
            tile_windows(windows, machine.cpu, *_sharing(machine), machine.steps)
    for pairs in list(pairs_in(function)):
        tile_pairs(pairs, machine.cpu, share if machine.cpu.threads != 1 else None, machine.steps)
    join_axes(function, machine.steps)
    for sliced in slices_in(function, machine.cpu):
        schedule_nest(
            do_slices(sliced, machine.cpu, machine.steps), machine, for_threads=machine.cpu.threads != 1
        )
    join_stacks(function, machine.steps)
    schedule_products(function, machine)


def _remove_unit_loops(function: FuncOp, steps: Steps) -> None:
    """Loops of one iteration around sums hide what these are: a row times a matrix is not a product of matrices."""
    for nest in list(outermost_loops(function)):
        if not any(isinstance(op, AccumulateOp) for op in nest.walk()):
            continue
        loops = loops_in(nest)
        units = [loop for loop in loops if extent_of(loop) == 1 and loop.kind == "serial"]
        for loop in units if len(units) < len(loops) else units[1:]:
            if why_not_remove_unit_loop(loop) is None:
                steps.do(remove_unit_loop, loop)


def _tile_convolution(sum_: Convolution, machine: Machine) -> None:
    from .convolutions import tile_convolution

    def before(nest: ForOp) -> None:
        schedule_nest(nest, machine, for_threads=machine.cpu.threads != 1)

    sharing = _sharing(machine)
    tile_convolution(sum_, machine.cpu, *sharing, before, machine.steps)


def _sharing(machine: Machine) -> tuple[Callable[[ForOp, Steps], None] | None, Callable[[ForOp], None]]:
    """What gives a loop to threads, and what schedules a nest beside tiles."""

    def rest(beside: ForOp) -> None:
        schedule_nest(beside, machine, for_threads=False)

    return share if machine.cpu.threads != 1 else None, rest


def schedule_nest(nest: ForOp, machine: Machine, for_threads: bool, in_parts: bool = True) -> None:
    """Schedule a nest; `for_threads`: no loop around it is parallel yet; `in_parts`: reductions may be shared."""
    steps = machine.steps
    band = flatten_neighbours(perfect_band(nest), steps)
    if _schedule_column_sums(band, machine, for_threads, in_parts):
        return
    band = _best_order(band, steps)
    if _tile_product(band, machine, for_threads):
        return
    loop, dependences = band[0], Dependences(band[0])
    refusal = why_not_parallel(loop, dependences) if for_threads else None
    is_parallel = for_threads and refusal is None
    if refusal is not None and in_parts and _schedule_parts(loop, machine):
        return
    if _is_better_outside(loop, dependences):
        vectorize_loop(loop, machine, is_parallel, dependences)
        return
    if (tiles := tile_transposed(band, machine.cpu, steps)) is not None:
        if for_threads and why_not_parallel(tiles) is None:
            share(tiles, steps)
        return
    if (tiles := _tiled(band, steps)) is not None:
        if is_parallel:
            share(tiles, steps)
        return
    inner = list(outermost_loops(loop))
    if for_threads and (scans := scan_in_waves(loop, machine)) is not None:
        alone, rest = scans
        for part in alone:
            schedule_nest(part, replace(machine, in_rows=True), False)
            fetch_blocks(part, machine.cpu, steps)
        for part in rest:
            schedule_nest(part, machine, False)
        return
    if for_threads and (scans := block_long_scan(loop, steps)) is not None:
        blocks, rest = scans
        for part in blocks:
            schedule_nest(part, machine, for_threads)
        for part in rest:
            schedule_nest(part, machine, False)
        return
    if not inner:
        if not is_parallel and scan_in_lanes(loop, machine):
            return
        schedule_innermost(loop, machine, is_parallel, dependences)
        return
    in_lanes = any(has_lanes(child, machine.cpu.vector_bits) for child in inner)
    if not in_lanes and (rows := jam_rows(loop, dependences, steps)) is not None:
        if is_parallel:
            share(rows, steps)
        return
    if is_parallel and not _is_better_shared_inside(loop, dependences):
        if (sums := jam_sums(loop, dependences, steps)) is not None:
            loop, inner = sums, list(outermost_loops(sums))
        share(loop, steps)
        for_threads = False
    search_in_parts(loop, machine)
    rows = rows_of(loop, machine.cpu)
    for child in list(outermost_loops(loop)):
        schedule_nest(child, replace(machine, in_rows=bool(rows) or machine.in_rows), for_threads)
    fetch_rows(loop, rows, steps)
    if refusal is not None and not any(loop.kind == "parallel" for loop in loops_in(loop)):
        remark_refusal(loop, "runs on one thread", refusal)


def _schedule_column_sums(band: list[ForOp], machine: Machine, for_threads: bool, in_parts: bool) -> bool:
    """Read the rows of sums of columns a few at a time, and share them among threads; False where that is of no use."""
    found = column_sums_in(band)
    if found is None:
        return False
    if for_threads:
        return in_parts and _schedule_parts(band[0], machine)
    row, column = found
    extent = extent_of(column)
    if not has_many_rows(row) or (
        extent is not None and extent <= 4 * machine_lanes(column, machine.cpu.vector_bits)
    ):
        return False
    if not _is_better_outside(column, Dependences(column)) and why_not_lanes(column) is not None:
        return False
    blocked = block_rows(row, column, machine.steps)
    if blocked is None:
        return False
    vectorize_loop(blocked[1], machine, False, Dependences(blocked[1]))
    return True


def _schedule_parts(loop: ForOp, machine: Machine) -> bool:
    """Share a reduction among threads, each part with a result of its own; False where that is of no use."""
    parts = share_reduction(loop, machine.steps)
    if parts is None:
        return False
    share(parts.outer, machine.steps)
    for child in list(outermost_loops(parts.outer)):
        schedule_nest(child, machine, for_threads=False)
    for nest in parts.beside:
        schedule_nest(nest, machine, for_threads=False)
    if parts.short is not None:
        schedule_nest(parts.short, machine, for_threads=True, in_parts=False)
    return True


def schedule_products(function: FuncOp, machine: Machine) -> None:
    """Tile the products of a function, with the nests around them."""
    for nest in list(outermost_loops(function)):
        if nest.parent is not None:
            _tile_product(perfect_band(nest), machine, for_threads=machine.cpu.threads != 1)


def _tile_product(band: list[ForOp], machine: Machine, for_threads: bool) -> bool:
    """Tile a band that is a product of matrices; whether it was one."""
    if not any(isinstance(op, AccumulateOp) for op in band[-1].body.block.ops):
        return False
    from ..patterns.products import product_in
    from .product_tiles import ProductTiling
    from .skinny_products import tile_skinny

    if machine.cpu.amx and _for_matrix_unit(band, machine, for_threads):
        return True
    if tile_skinny(band, machine, share if for_threads else None):
        return True
    product = product_in(band)
    if product is None:
        return False
    tiling = ProductTiling(
        product,
        machine,
        share if for_threads else None,
        lambda nest: schedule_nest(nest, machine, for_threads=False),
        machine.steps,
    )
    if not tiling.is_legal():
        return False
    tiling.run()
    return True


def _for_matrix_unit(band: list[ForOp], machine: Machine, for_threads: bool) -> bool:
    """Let the matrix unit compute a product; whether it can."""
    from .matrix_tiles import tile_for_matrix_unit

    return tile_for_matrix_unit(band[0], share if for_threads else None, machine.steps)


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
    extent, inner = extent_of(loop), sole_inner_loop(loop)
    if extent is not None and extent < FEW and any(is_long_scan(other) for other in outermost_loops(loop)):
        return True
    if extent is None or extent >= FEW or inner is None:
        return False
    inner_extent = extent_of(inner)
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
    if why_not_split(loop, 2) is not None:
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
