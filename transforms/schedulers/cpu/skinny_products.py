"""Products with few rows, few columns or few terms on the CPU: memory is the limit, so nothing big is copied.

Few rows, the other matrix read along its rows: it streams by, once, a few of its rows at a time.

    nest.for "j.o" ... parallel {                                  a strip of columns
      nest.for "k.o" ... {                                         a few rows of %b
        nest.for "j.i.o" ... {                                     a tile of sums, in registers
          nest.for "k.i" ... {
            nest.for "i" ... unrolled {
              nest.for "j.i.i" ... vectorized {
                ... nest.accumulate "c" add %p, %sums[%i, %j]    // of %a[%i, %k] and %b[%k, %j]

Few columns (or rows), the other matrix read along the terms: lanes are terms, the few columns and some rows stand side by
side. The small matrix is turned where its terms do not lie side by side.

    nest.for "i.o" ... parallel {
      nest.for "k.o" ... {
        nest.for "k.i" ... vectorized { eight sums, a lane each, of %a[2 * %i + ..., %k] and %b_turned[0 ... 3, %k]

Few columns and few terms (a batch of small matrices, points times a matrix): tiles of some rows, nothing is copied.

    nest.for "i.o" ... parallel {
      nest.for "k" ... unrolled {
        nest.for "i.i" ... unrolled {
          nest.for "j" ... vectorized(4) {
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....analysis.machine import Cpu
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, next_nest, perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...nest.loops.fuse import fuse, why_not_fuse
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.sink import sink, why_not_sink
from ...nest.loops.split import split, why_no_rest, why_not_split
from ...nest.loops.unroll_and_jam import unroll_and_jam, why_not_unroll_and_jam
from ...nest.mapping.parallel import why_not_parallel
from ...nest.memory.cache_read import cache_read, why_not_cache_read
from ...nest.memory.cache_write import Init, cache_write, why_not_cache_write
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.rewrite.steps import Steps
from ..patterns.costs import machine_lanes, padded_width
from ..patterns.products import FEWEST, Product, sum_of_products_in
from ..patterns.tiles import compute_where_read, mark_lanes, mark_unrolled, pattern_in, sum_in
from .vectors import Machine, outermost_loops, schedule_innermost

Share = Callable[[ForOp, Steps], None]

WIDE = 64
"""Minimum number of columns for streaming a matrix."""

LONG = 512
"""Minimum number of columns for streaming a matrix past a vector: with fewer, threads share the terms."""

STREAMED = 8
"""Rows of the other matrix that are read at a time: as many streams as a core's prefetchers follow with ease."""

STRIP_SHARE = 3
"""The part of the first-level cache for the sums of a strip of columns: they stay there while the rows stream by."""

SHARES = 2
"""Minimum number of strips per parallel loop."""

FEWEST_TERMS = 64
"""Minimum number of terms for lanes to be terms: each sum of lanes costs as much as a few vectors of them."""

SIDE_BY_SIDE = 8
"""Sums that have a vector of lanes each."""

ROWS = 6
"""Rows of a tile of a few columns."""

UNROLLED = 8
"""Maximum number of rows or terms to unroll."""


def tile_skinny(band: list[ForOp], machine: Machine, share: Share | None) -> bool:
    """Schedule a band that is a product with few rows, columns or terms; whether it was one."""
    if (vector := _vector_times_matrix(band)) is not None:
        term, column, sums = vector
        return _stream(sums, [], None, column, term, machine, share)
    product = sum_of_products_in(band)
    if product is None or len(product.row_panels) != 1 or len(product.panels) != 1:
        return False
    extents = [largest_extent(loop) for loop in (product.row, product.column, product.term)]
    if any(extent is not None and extent < 2 for extent in extents):
        return False
    row, column, term = extents
    most = _most_rows(machine.cpu)
    streams = _moves(product.panels[0], product, product.column) == UNIT
    if streams and _is_wide(column, WIDE) and _is_wide(term, FEWEST) and not _is_wide(row, most + 1):
        return _stream(product.sums, product.batch, product.row, product.column, product.term, machine, share)
    few = product.row if (row or FEWEST) < (column or FEWEST) else product.column
    count = largest_extent(few)
    if count is None or count >= FEWEST:
        return False
    if _is_wide(term, FEWEST_TERMS) and _sum_in_lanes(product, few, count, machine, share):
        return True
    return few is product.column and term is not None and _tile_small(product, count, machine, share)


def _most_rows(cpu: Cpu) -> int:
    """Rows of a matrix by which another one streams: as many sums as registers hold, two vectors of columns wide."""
    return (cpu.registers - 4) // 2


def _is_wide(extent: int | None, least: int) -> bool:
    """Whether an extent is so many at least, or not known."""
    return extent is None or extent >= least


def sink_vector(nest: ForOp, steps: Steps) -> None:
    """Load the element of a vector that multiplies a row of a matrix for each element of the row: the loops can be split and
    reordered then. Nothing changes where `nest` is no vector times a matrix of long rows.
    """
    inner = nest.body.block.last_op
    loads = [op for op in nest.body.block.ops if isinstance(op, LoadOp)]
    if not isinstance(inner, ForOp) or len(loads) != 1 or nest.kind != "serial" or nest.step_value != 1:
        return
    if _vector_times_matrix([nest, inner], loads) is not None and why_not_sink(nest) is None:
        steps.do(sink, nest)


def _vector_times_matrix(
    band: list[ForOp], outside: Sequence[LoadOp] = ()
) -> tuple[ForOp, ForOp, AccumulateOp] | None:
    """The loop over terms, the one over columns and the sum of a row vector times a matrix of long rows. `outside`: what is
    loaded before the inner one of the loops.
    """
    found = sum_in(band[1:] if outside else band) if len(band) == 2 else None
    if found is None:
        return None
    loads, sums = [*outside, *found[0]], found[1]
    if len(loads) != 2 or loads[0].memref is loads[1].memref:
        return None
    for term, column in (band, band[::-1]):
        patterns = [
            (pattern_in(load, load.memref, column), pattern_in(load, load.memref, term)) for load in loads
        ]
        moves = sorted(across for across, _ in patterns), {along for _, along in patterns}
        if moves[0] != sorted((UNIT, INVARIANT)) or INVARIANT in moves[1]:
            continue
        if (
            pattern_in(sums, sums.memrefs[0], column) != UNIT
            or pattern_in(sums, sums.memrefs[0], term) != INVARIANT
        ):
            continue
        if _is_wide(largest_extent(column), LONG) and _is_wide(largest_extent(term), FEWEST):
            return term, column, sums
    return None


def _moves(buffer: SSAValue, product: Product, loop: ForOp) -> str:
    """How the one access to an operand moves with a loop of the product."""
    load = next(op for op in product.term.walk() if isinstance(op, LoadOp) and op.memref is buffer)
    return pattern_in(load, buffer, loop)


def _share(outermost: ForOp, is_parallel: bool, share: Share | None, steps: Steps) -> None:
    if share is not None and is_parallel:
        share(outermost, steps)


def _keep_sums(result: SSAValue, tile: ForOp, width: int, steps: Steps, init: Init = "identity") -> None:
    """A tile of sums stays in registers; it starts from the identity and is added to the result, or it is the result."""
    if why_not_cache_write(result, tile, init) is not None:
        return
    sums, start, back = steps.do(cache_write, result, tile, init=init, name="sums")
    lanes = sums.memref.type.get_num_dims() - 1
    if sums.memref.type.get_shape()[lanes] < width and why_not_resize_buffer(sums, lanes, width) is None:
        steps.do(resize_buffer, sums, dimension=lanes, size=width)
    for copy in (start, back):
        if copy is not None:
            *rows, lane = loops_in(copy)
            mark_lanes(lane, width, steps)
            for loop in rows:
                mark_unrolled(loop, steps)


# ---- few rows -----------------------------------------------------------------------------------------


def _stream(
    sums: AccumulateOp,
    batch: list[ForOp],
    row: ForOp | None,
    column: ForOp,
    term: ForOp,
    machine: Machine,
    share: Share | None,
) -> bool:
    """Let a matrix stream by, a strip of columns at a time; False, and nothing changed, where that is illegal."""
    steps, columns, result = machine.steps, largest_extent(column), sums.memrefs[0]
    accesses = (op for op in enclosing_loops(sums)[-1].body.block.ops if isinstance(op, LoadOp))
    streamed = [op.memref for op in accesses if column.iv in op.indices.operands]
    lanes = machine_lanes(term, machine.cpu.vector_bits)
    few = [] if row is None else [row]
    rows = 1 if row is None else largest_extent(row) or _most_rows(machine.cpu)
    width = lanes * (4 if rows < 4 else 2)
    strip = max(
        1, machine.cpu.l1_bytes // STRIP_SHARE * 8 // (rows * machine.cpu.vector_bits // lanes) // width
    )
    if columns is not None:
        strip = min(strip, max(1, -(-columns // (SHARES * width))))
    if why_not_split(column, width, "mask") is not None:
        return False
    if any(why_not_split(*pair, "clamp") is not None for pair in ((column, strip * width), (term, STREAMED))):
        return False
    if why_not_reorder([*batch, column, term, *few], new_bounds=False) is not None:
        return False
    for buffer in streamed:
        compute_where_read(buffer, steps)
    strips, column = steps.do(split, column, factor=strip * width, tail="clamp")
    blocks, term = steps.do(split, term, factor=STREAMED, tail="clamp")
    tiles, lane = steps.do(split, column, factor=width, tail="mask")
    steps.do(reorder, [*batch, strips, blocks, tiles, term, *few, lane])
    outermost = [*batch, strips][0]
    is_parallel = why_not_parallel(outermost) is None
    _keep_sums(result, tiles, width, steps)
    mark_lanes(lane, width, steps)
    for loop in few:
        mark_unrolled(loop, steps)
    _share(outermost, is_parallel, share, steps)
    return True


# ---- many terms ---------------------------------------------------------------------------------------


def _sum_in_lanes(product: Product, few: ForOp, count: int, machine: Machine, share: Share | None) -> bool:
    """Make lanes of the terms, a few sums side by side; False, and nothing changed, where that is illegal or slow."""
    steps = machine.steps
    many, big, small = product.row, product.row_panels[0], product.panels[0]
    if few is product.row:
        many, big, small = product.column, small, big
    if _moves(big, product, product.term) != UNIT or many in product.batch:
        return False
    order = [*product.batch, many, few, product.term]
    if why_not_reorder(order, new_bounds=False) is not None:
        return False
    turned = _moves(small, product, product.term) != UNIT
    if turned and _moves(small, product, product.term) == INVARIANT:
        return False
    compute_where_read(big, steps)
    steps.do(reorder, order)
    outermost = order[0]
    is_parallel = why_not_parallel(outermost) is None
    if turned and not _turn(small, many, product, steps):
        return True
    rows = _jam(few, count, steps)
    if len(rows) == 1 and why_not_remove_unit_loop(rows[0]) is None:
        steps.do(remove_unit_loop, rows[0])
    pieces = _jam(many, max(1, SIDE_BY_SIDE // count), steps)
    for piece in pieces:
        for loop in perfect_band(piece)[1:]:
            if not list(outermost_loops(loop)):
                schedule_innermost(loop, machine, False, Dependences(loop))
    if outermost is many:
        outermost = pieces[0]
    _share(outermost, is_parallel, share, steps)
    return True


def _turn(buffer: SSAValue, at: ForOp, product: Product, steps: Steps) -> bool:
    """Copy a small matrix so that its terms lie side by side; whether that was legal."""
    unit = steps.do(add_unit_loop, at, name="product")
    load = next(op for op in product.term.walk() if isinstance(op, LoadOp) and op.memref is buffer)
    axes = range(len(load.indices))
    last = [axis for axis in axes if product.term.iv in load.indices[axis].operands]
    order = tuple([axis for axis in axes if axis not in last] + last)
    if why_not_cache_read(buffer, unit, axes=order) is not None:
        steps.do(remove_unit_loop, unit)
        return False
    steps.do(cache_read, buffer, unit, name="turned", axes=order)
    return True


def _jam(loop: ForOp, factor: int, steps: Steps) -> list[ForOp]:
    """The loop over blocks of iterations side by side, and the loop over those that are left."""
    if factor == 1 or why_not_unroll_and_jam(loop, factor) is not None:
        return [loop]
    blocks = steps.do(unroll_and_jam, loop, factor=factor)
    rest = blocks.next_op
    return [blocks, rest] if isinstance(rest, ForOp) else [blocks]


# ---- small matrices -----------------------------------------------------------------------------------


def _tile_small(product: Product, columns: int, machine: Machine, share: Share | None) -> bool:
    """Tiles of a few rows and all columns; False, and nothing changed, where that is illegal."""
    steps, factor = machine.steps, _rows_of_tile(largest_extent(product.row))
    order = [*product.batch, product.term, product.row, product.column]
    if why_no_rest(product.row, factor) is not None or why_not_reorder(order, new_bounds=False) is not None:
        return False
    width = padded_width(columns, machine_lanes(product.term, machine.cpu.vector_bits))
    start = _start_of(product)
    steps.do(reorder, [*product.batch, product.row, product.column, product.term])
    tiles, _, *rest = steps.do(split, product.row, factor=factor)
    loops, count = [*product.batch, tiles, *rest], 0
    if start:
        blocks, _, *left = steps.do(split, start[-2], factor=factor)
        loops, count = _fused([*start[:-2], blocks, *left], loops, steps)
    is_parallel = why_not_parallel(loops[0]) is None
    for k, piece in enumerate(loops):
        if k >= len(product.batch):
            _small_tile(product, piece, k < count, width, steps)
    _share(loops[0], is_parallel, share, steps)
    return True


def _rows_of_tile(rows: int | None) -> int:
    """All rows where there are few, else a number of them that leaves none where there is one."""
    if rows is not None and rows <= UNROLLED:
        return rows
    return ROWS if rows is None else next((n for n in range(UNROLLED, 3, -1) if rows % n == 0), ROWS)


def _start_of(product: Product) -> list[ForOp]:
    """The loops of a nest that sets all elements of the result in the product's order; none where it stands elsewhere."""
    start = next_nest(product.outermost, lambda op: op.prev_op)
    band = [] if start is None else perfect_band(start)
    own = [*product.batch, product.row, product.column]
    if len(band) != len(own) or any(
        largest_extent(a) != largest_extent(b) for a, b in zip(band, own, strict=True)
    ):
        return []
    stores = [op for op in band[-1].body.block.ops if isinstance(op, StoreOp)]
    if len(stores) != 1 or stores[0].memref is not product.result or len(loops_in(band[0])) != len(band):
        return []
    at = [stores[0].indices[k].single_value() for k in range(len(stores[0].indices))]
    return band if at == [loop.iv for loop in band] else []


def _fused(first: list[ForOp], second: list[ForOp], steps: Steps) -> tuple[list[ForOp], int]:
    """Fuse loops in pairs while that is legal: the loops then, and how many of them are fused."""
    loops = list(second)
    for k, (one, other) in enumerate(zip(first, second, strict=True)):
        if why_not_fuse(one, other) is not None:
            return loops, k
        loops[k] = steps.do(fuse, one, other)
    return loops, len(loops)


def _small_tile(product: Product, tile: ForOp, is_set: bool, width: int, steps: Steps) -> None:
    """Let the sums of a tile, which it sets itself or adds to, be in registers, its rows and terms side by side."""
    sums = next(op for op in tile.walk() if isinstance(op, AccumulateOp))
    *rows, column, term = [
        loop for loop in enclosing_loops(sums) if is_inside(loop, tile) and loop is not tile
    ]
    steps.do(reorder, [term, *rows, column])
    if is_set:
        for loop in [loop for loop in loops_in(tile) if loop not in (tile, term, column, *rows)]:
            mark_unrolled(loop, steps) if list(outermost_loops(loop)) else mark_lanes(loop, width, steps)
    _keep_sums(product.result, tile, width, steps, "load" if is_set else "identity")
    mark_lanes(column, width, steps)
    for loop in rows:
        mark_unrolled(loop, steps)
    if (largest_extent(term) or UNROLLED + 1) <= UNROLLED:
        mark_unrolled(term, steps)
