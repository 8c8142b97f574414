"""Sums over all pairs of rows on the CPU: nest-schedule-cpu makes the matrix of a product in tiles that stay in the cache.

    nest.for "i" %i = 0 to %n { nest.for "j" %j = 0 to %m { nest.store "t" %zero, %t[%i, %j] } }
    nest.for "i.1" %i = 0 to %n {
      nest.for "j.1" %j = 0 to %m {
        nest.for "k" %k = 0 to %l {
          ... nest.accumulate "t" add %p, %t[%i, %j]            // of %a[%i, %k] and %b[%j, %k]
    nest.for "i.2" %i = 0 to %n {
      nest.for "j.2" %j = 0 to %m {
        ... nest.accumulate "s" add %e, %s[]                    // of %t[%i, %j]: its exponential, say
  becomes
    nest.for "j.o.p" %p = 0 to 64 parallel {                    // parts of the sum, in a fixed order
      nest.for "j.o" ... {                                      // a panel of %b, neighbouring columns side by side
        nest.for "i.o" ... {
          %t = nest.alloc "t" : memref<24x64xf32>
          ... the tile starts, gets its sums (in registers, six rows at a time; the next six are fetched)
          ... and is used: every lane adds up what it sees
      }
    }

What the product is made of and what becomes of it are any operations, as long as the matrix serves nothing else: it is
never in memory as a whole. Both operands may be one buffer (the distances of points to each other). Each lane adds up
the rows of a tile, then the tiles, then lanes and parts are added up, so that errors grow with the longest of these
sums and results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import buffer_name, buffers_in
from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.producers import top_in
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.fuse import fuse, why_not_fuse
from ...nest.loops.normalise import normalise, remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.annotate import annotate
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.cache_write import cache_write, why_not_cache_write
from ...nest.memory.prefetch import prefetch
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ...nest.producers.reverse_compute_at import reverse_compute_at, why_not_reverse_compute_at
from ...nest.reductions.privatise import privatise, why_not_privatise
from ...nest.reductions.rfactor import rfactor, why_not_rfactor
from ...nest.rewrite.steps import Steps
from ..patterns.costs import machine_lanes, padded_width
from ..patterns.products import product_in
from ..patterns.tiles import mark_lanes

ROWS = 6
"""Rows of sums in registers: a row takes an eighth of all, three quarters are sums."""

TILES = 4
"""Tiles of this many rows from one use of the matrix to the next: a few kilobytes of it are in the cache."""

WIDE = 32
"""Minimum number of columns from which on a tile's multiply-adds take longer than its loads and as many prefetches."""

DEEPEST = 2048
"""Terms of a sum beyond which a panel of all of them is too much for the second-level cache."""

PARTS = 64
"""Maximum number of parts of the sum: every thread gets several, whatever their number."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """What makes and what uses a matrix: the nests in program order, and the sum that all of it goes into."""

    matrix: AllocOp
    start: list[ForOp]
    product: list[ForOp]
    panels: list[SSAValue]
    users: list[ForOp]


def pairs_in(function: FuncOp) -> Iterator[Pairs]:
    """Every matrix of a function that is a product and serves one sum only."""
    names = [buffer_name(buffer) for buffer in buffers_in(function)]
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        # by its name a recorded schedule says which buffer is meant
        if names.count(buffer_name(alloc.memref)) == 1 and (found := _pairs(alloc)) is not None:
            yield found


def _pairs(matrix: AllocOp) -> Pairs | None:
    if len(matrix.memref.type.get_shape()) != 2:
        return None
    nests = _nests_using(matrix)
    if nests is None or len(nests) < 3:
        return None
    start, made, *users = nests
    product = product_in(perfect_band(made))
    if product is None or product.batch or product.sums.memrefs[0] is not matrix.memref:
        return None
    band = [product.row, product.column, product.term]
    terms = largest_extent(product.term)
    if (terms is not None and terms > DEEPEST) or not _is_element(product.sums, band[:2]):
        return None
    if not _starts(start) or not all(_maps(nest, matrix) for nest in users[:-1]):
        return None
    return (
        Pairs(matrix, loops_in(start), band, product.panels, users) if _sums_up(users[-1], matrix) else None
    )


def _nests_using(matrix: AllocOp) -> list[ForOp] | None:
    """The nests beside the allocation that access the matrix, in order; None where something else does."""
    block = matrix.parent
    assert block is not None
    found: dict[Operation, None] = {}
    for use in matrix.memref.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | AccumulateOp):
            return None
        found[top_in(block, use.operation)] = None
    nests = [op for op in block.ops if op in found]
    serial = [op for op in nests if isinstance(op, ForOp) and all(o.kind == "serial" for o in loops_in(op))]
    return serial if len(serial) == len(nests) else None


def _is_element(op: LoadOp | StoreOp | AccumulateOp, loops: list[ForOp]) -> bool:
    """Whether the access is to element [i, j] for the variables of these loops."""
    return [op.indices[k] for k in range(2)] == [AffineList.of(loop.iv) for loop in loops]


def _starts(nest: ForOp) -> bool:
    """Whether a nest fills the matrix with one value, and does nothing else."""
    band = perfect_band(nest)
    ops = list(band[-1].body.block.ops)
    return len(band) == 2 and len(ops) == 1 and isinstance(ops[0], StoreOp) and _is_element(ops[0], band)


def _maps(nest: ForOp, matrix: AllocOp) -> bool:
    """Whether a nest replaces each element by what is computed from it."""
    loops = loops_in(nest)
    return (
        len(loops) == 2
        and bool(_own(nest, matrix))
        and all(_is_element(op, loops) for op in _own(nest, matrix))
        and not any(isinstance(op, AccumulateOp) for op in nest.walk())
        and all(op.memref is matrix.memref for op in nest.walk() if isinstance(op, StoreOp))
    )


def _own(nest: ForOp, matrix: AllocOp) -> list[LoadOp | StoreOp]:
    return [op for op in nest.walk() if isinstance(op, LoadOp | StoreOp) and op.memref is matrix.memref]


def _sums_up(nest: ForOp, matrix: AllocOp) -> bool:
    """Whether a nest does nothing but add up, in any order, what it computes from the elements."""
    loops = loops_in(nest)
    statements = [op for op in nest.walk() if isinstance(op, StoreOp | AccumulateOp | AllocOp)]
    return (
        len(loops) == 2
        and all(_is_element(op, loops) for op in _own(nest, matrix))
        and bool(statements)
        and all(isinstance(op, AccumulateOp) and _goes_to_one(op, nest) for op in statements)
    )


def _goes_to_one(op: AccumulateOp, nest: ForOp) -> bool:
    values = (*op.indices.operands, *op.memrefs)
    return op.order_name == "any" and all(is_defined_outside(value, nest) for value in values)


# ---- the schedule -----------------------------------------------------------------------------------


def tile_pairs(
    pairs: Pairs,
    cpu: Cpu,
    share: Callable[[ForOp, Steps], None] | None,
    steps: Steps,
) -> bool:
    """Tile what makes and uses a matrix; False, and nothing changed, where the first steps are refused.

    `share` gives a loop to threads.
    """
    row, column, term = pairs.product
    lanes = machine_lanes(term, cpu.vector_bits)
    width = lanes * (cpu.registers // 8)
    extent = largest_extent(column)
    if extent is not None and extent < width:
        width = padded_width(extent, lanes)
    if not _is_legal(pairs, width):
        return False
    matrix = pairs.matrix
    first_row, first_column = pairs.start
    first_panels, first_tiles, first_row, first_column = _tiled(first_row, first_column, width, steps)
    steps.do(reorder, [first_panels, first_tiles, first_row, first_column])
    panels, tiles, row, column = _tiled(row, column, width, steps)
    steps.do(reorder, [panels, tiles, row, column, term])
    if why_not_fuse(first_panels, panels) is not None:
        return True
    panels = steps.do(fuse, first_panels, panels)
    tiles = steps.do(fuse, first_tiles, tiles)
    for user in pairs.users:
        if why_not_reverse_compute_at(user, tiles) is not None:
            return True
        steps.do(reverse_compute_at, user, tiles)
    for buffer in pairs.panels:
        _copy_panel(buffer, panels, column, width, steps)
    _sum_in_registers(matrix, term, row, column, width, steps)
    if why_not_sink_alloc(matrix, tiles) is None:
        matrix = steps.do(sink_alloc, matrix, tiles)
        for axis in range(2):
            if why_not_resize_buffer(matrix, axis) is None:
                matrix = steps.do(resize_buffer, matrix, dimension=axis)
    mark_lanes(first_column, width, steps)
    for user in pairs.users[:-1]:
        lane = steps.do(normalise, loops_in(user)[-1])
        mark_lanes(lane, width, steps)
    _sum_in_lanes(pairs.users[-1], width, steps)
    _give_parts(panels, share, steps)
    return True


def _is_legal(pairs: Pairs, width: int) -> bool:
    """Whether the first steps are: splits, and columns outside of rows."""
    row, column, term = pairs.product
    first_row, first_column = pairs.start
    return (
        all(why_not_split(loop, ROWS * TILES, "clamp") is None for loop in (row, first_row))
        and all(why_not_split(loop, width, "clamp") is None for loop in (column, first_column))
        and why_not_reorder([column, row, term], new_bounds=False) is None
        and why_not_reorder([first_column, first_row], new_bounds=False) is None
    )


def _tiled(row: ForOp, column: ForOp, width: int, steps: Steps) -> tuple[ForOp, ForOp, ForOp, ForOp]:
    """Split rows and columns: the loops over panels and tiles, and those in a tile."""
    panels, column = steps.do(split, column, factor=width, tail="clamp")
    tiles, row = steps.do(split, row, factor=ROWS * TILES, tail="clamp")
    return panels, tiles, row, column


def _copy_panel(buffer: SSAValue, panels: ForOp, column: ForOp, width: int, steps: Steps) -> None:
    """Copy what a panel's tiles read along the columns, neighbouring columns side by side."""
    reads = [op for op in panels.walk() if isinstance(op, LoadOp) and op.memref is buffer]
    moving = [op for op in reads if column.iv in op.indices.operands]
    along = column.label if len(moving) < len(reads) else None
    rank = len(moving[0].indices)
    axes = sorted(range(rank), key=lambda k: column.iv in moving[0].indices[k].operands)
    options = {"axes": tuple(axes) if axes != list(range(rank)) else (), "along": along}
    if why_not_cache_read(buffer, panels, **options) is not None:
        return
    _, copy = steps.do(cache_read, buffer, panels, name="panel", **options)
    if copy is not None:
        mark_lanes(loops_in(copy)[-1], width, steps)


def _sum_in_registers(
    matrix: AllocOp, term: ForOp, row: ForOp, column: ForOp, width: int, steps: Steps
) -> None:
    """The sums of a few rows stay in registers while the terms go by, and are added to the tile.

    Meanwhile the next rows are fetched.
    """
    rows = [op.memref for op in row.walk() if isinstance(op, LoadOp) and row.iv in op.indices.operands]
    few, row = steps.do(split, row, factor=ROWS, tail="mask")
    steps.do(reorder, [few, term, row, column])
    if why_not_cache_write(matrix, few, "identity") is None:
        _, start, back = steps.do(cache_write, matrix, few, init="identity", name="sums")
        for copy in (start, back):
            if copy is not None:
                outer, lane = loops_in(copy)
                mark_lanes(lane, width, steps)
                steps.do(annotate, outer, mark="unrolled")
    mark_lanes(column, width, steps)
    steps.do(annotate, row, mark="unrolled")
    _fetch_next(dict.fromkeys(rows), few, term, width, steps)


def _fetch_next(rows: Iterable[SSAValue], few: ForOp, term: ForOp, width: int, steps: Steps) -> None:
    """Fetch the next rows: all threads read all of them, and what several cores read does not stay in the cache of each.

    They come term by term where tiles are wide enough to hide a prefetch per row, else all at once, a prefetch per line.
    """
    options = {"at": term.label} if width >= WIDE else {"whole": True}
    for buffer in rows:
        steps.attempt(prefetch, buffer, few, distance=1, **options)


def _sum_in_lanes(nest: ForOp, width: int, steps: Steps) -> None:
    """Each lane adds up the rows of a tile, then the tiles; the lanes are added up at the end of the panel."""
    lane = loops_in(nest)[-1]
    steps.do(normalise, lane)
    if lane.constant_trip_count() is None:
        once, inside = steps.do(split, lane, factor=width, tail="mask")
        if why_not_remove_unit_loop(once) is not None:
            return
        steps.do(remove_unit_loop, once)
        lane = inside
    marked = [lane]
    for _ in range(2):
        if why_not_rfactor(lane) is not None:
            break
        start, lane = steps.do(rfactor, lane)
        marked += [start, lane]
    for loop in marked:
        mark_lanes(loop, width, steps)


def _give_parts(panels: ForOp, share: Callable[[ForOp, Steps], None] | None, steps: Steps) -> None:
    """Parts of the panels have sums of their own, and threads share the parts."""
    count = largest_extent(panels)
    parts = PARTS if count is None else min(PARTS, count)
    if parts < 2 or why_not_privatise(panels, parts) is not None:
        return
    outer, _ = steps.do(privatise, panels, parts=parts)
    if share is not None:
        share(outer, steps)
