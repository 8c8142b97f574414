"""Scans on the GPU (part of nest-schedule-cuda): the threads of a block have a stretch of a row each.

    nest.for "i" %i = 0 to 100 {
      nest.for "j" %j = 0 to 1000 {
        nest.accumulate "s" add %a, %s[]                           // of %x[%i, %j]
        ... %s[] ... nest.store "y" %b, %y[%i, %j]
  becomes
    nest.for "i" %i = 0 to 100 bind "block.x" {
      %x_row = nest.alloc : memref<1000xf32, 3>                    // the row comes and goes by neighbouring threads
      %y_row = nest.alloc : memref<1000xf32, 3>
      nest.for "part.1" ... bind "thread.x" { ... }                // nest-block-scan: the result of each stretch,
      nest.barrier
      nest.for "j.carry" ... { ... }                               // what is before each, by one thread,
      nest.barrier
      nest.for "part.2" ... bind "thread.x" { ... }                // and the running results in it
      ...

Stretches have an odd number of elements, so that threads find theirs in different banks of shared memory. A long running
result that is not a row is one of blocks of `CHUNK` elements (nest-block-scan), and these are such rows. What is before
each block is a running result of the blocks' own: a row for one block of threads, or, of very many, long again. So are
few long rows put into blocks: each step of all rows is a kernel.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.kernels.running_results import running_update
from ....analysis.nest.loop_structure import enclosing_function, loops_in, perfect_band
from ....analysis.nest.sets.access_patterns import UNIT, buffer_accesses, pattern_of, varying_values
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop
from ...nest.loops.rename import rename
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split
from ...nest.mapping.bind import bind
from ...nest.mapping.insert_barriers import why_not_insert_barriers
from ...nest.mapping.vectorize import extent_is_at_most
from ...nest.memory.cache_read import cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.set_memory import set_memory
from ...nest.reductions.block_scan import block_scan, why_not_block_scan
from ...nest.rewrite.buffers import SHARED_BYTES
from ...nest.rewrite.loops import fresh_names
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import apart, grid_axes, make_perfect
from .long_rows import FEW
from .reductions import take_in

THREADS = 128
"""Threads of a block; one of them adds up what is before the stretch of each."""

SHORTEST = 64
"""Elements of a row below which one thread computes it."""

CHUNK = 2048
"""Elements of a long scan that a block computes."""

LONGEST_STRETCH = 64
"""Maximum number of elements of a stretch where one block of threads computes what is before all blocks."""

MOST_BLOCKS = 256
"""Blocks of a column where there are columns enough: a thread takes what is before each from block to block."""

MANY_COLUMNS = 1 << 14
"""Columns that are threads enough."""

FEWEST_ROWS = 16
"""Minimum number of rows of a block."""

FEWEST_CHUNKS = 4
"""Minimum number of chunks of a row that several blocks share."""


def bind_scans(band: list[ForOp], steps: Steps) -> bool:
    """Let blocks compute rows of running results; False, and nothing changed, where a band has none."""
    row = band[-1]
    scans = [op for op in row.body.block.ops if isinstance(op, ForOp)]
    if len(scans) != 1 or loops_in(scans[0]) != scans or len(band) > 3:
        return False
    if running_update(scans[0], or_before=True) is None:
        return False
    extent = extent_of(scans[0])
    if extent is None or extent < SHORTEST:
        return False
    for is_staged in (True, False):
        try:
            trial(lambda *copies, staged=is_staged: _try(list(copies), staged), *band)
        except NestorError:
            continue
        _bind(band, is_staged, steps)
        return True
    return False


def share_long_scan(nest: ForOp, steps: Steps, is_carry: bool = False) -> list[ForOp]:
    """Put a long scan into blocks: the nests that result, except for what needs an order and is short; or none.

    What is before blocks of an unknown number of blocks is not put into blocks again: it is short for all arrays.
    """
    if loops_in(nest) != [nest] or running_update(nest, or_before=True) is None:
        return []
    chunk = SHORTEST if _is_shorter(nest, 2 * CHUNK) else CHUNK
    if _is_shorter(nest, 2 * chunk) or why_not_block_scan(nest, chunk) is not None:
        return []
    sums, carry, *others = steps.do(block_scan, nest, factor=chunk)
    if is_carry and extent_of(carry) is None:
        take_in(steps.do(add_unit_loop, carry), steps)
        return [sums, *others]
    return [sums, *_share_carry(carry, steps), *others]


def _share_carry(carry: ForOp, steps: Steps) -> list[ForOp]:
    """What is before each block, by the threads of one block, or in blocks again; few by one thread. What is to be bound.

    What it starts from is set there, too.
    """
    extent = extent_of(carry)
    if (extent is None or extent > THREADS * LONGEST_STRETCH) and (
        nests := share_long_scan(carry, steps, is_carry=True)
    ):
        return nests
    unit = steps.do(add_unit_loop, carry)
    take_in(unit, steps)
    return [unit] if extent is not None and extent >= SHORTEST else []


def share_long_row_scans(band: list[ForOp], steps: Steps) -> list[ForOp]:
    """Let blocks compute parts of the running results of few long rows: the nests that are left to be bound, or none."""
    row = band[-1]
    scans = [op for op in row.body.block.ops if isinstance(op, ForOp)]
    if len(band) != 1 or len(scans) != 1 or running_update(scans[0]) is None or loops_in(scans[0]) != scans:
        return []
    rows, extent = extent_of(row), extent_of(scans[0])
    if rows is None or extent is None or rows > FEW or extent < FEWEST_CHUNKS * CHUNK:
        return []
    try:
        trial(lambda copy: _in_chunks(copy, UNRECORDED), row)
    except NestorError:
        return []
    return _in_chunks(row, steps)


def share_column_scans(nest: ForOp, steps: Steps) -> list[list[ForOp]]:
    """Let threads compute parts of the running results down few columns: the bands to be bound, or none.

    Neighbouring threads have neighbouring columns, of which they go down a part each.
    """
    band = perfect_band(nest)
    extents = [extent_of(loop) for loop in band]
    if not 2 <= len(band) <= 3 or None in extents:
        return []
    rows, *others = (n for n in extents if n is not None)
    columns = prod(others)
    if columns >= MANY_COLUMNS or rows < 2 * SHORTEST:
        return []
    factor = -(-rows // min(max(MOST_BLOCKS, THREADS * SHORTEST // columns), rows // FEWEST_ROWS))
    try:
        trial(lambda *copies: _in_parts(list(copies), factor, UNRECORDED), *band)
    except NestorError:
        return []
    return _in_parts(band, factor, steps)


def _in_parts(band: list[ForOp], factor: int, steps: Steps) -> list[list[ForOp]]:
    scan, *columns = band
    steps.do(reorder, [*columns, scan])
    if running_update(scan, or_before=True) is None:
        raise NestorError("it is no running result")
    nests = _in_chunks(columns[-1], steps, factor)
    if len(columns) > 1:
        nests = apart(columns[0], steps)
    bands: list[list[ForOp]] = []
    for nest in nests:
        make_perfect(nest, steps)
        own, inside = perfect_band(nest)[: len(columns)], perfect_band(nest)[len(columns) : len(columns) + 1]
        if inside and why_not_reorder(order := [*inside, *own]) is None and not _is_scan(inside[0]):
            steps.do(reorder, order)
            own = order
        bands.append(own)
    return bands


def _is_scan(loop: ForOp) -> bool:
    return running_update(loop, or_before=True) is not None


def _in_chunks(row: ForOp, steps: Steps, factor: int = CHUNK) -> list[ForOp]:
    (scan,) = (op for op in row.body.block.ops if isinstance(op, ForOp))
    steps.do(block_scan, scan, factor=factor)
    return apart(row, steps)


def _is_shorter(nest: ForOp, iterations: int) -> bool:
    """Whether there are fewer iterations; what blocks leave over of an unknown number is."""
    extent = extent_of(nest)
    return extent_is_at_most(nest, iterations - 1) if extent is None else extent < iterations


def _try(band: list[ForOp], is_staged: bool) -> None:
    function = enclosing_function(band[0])
    _bind(band, is_staged, UNRECORDED)
    if (refusal := why_not_insert_barriers(function)) is not None:
        raise refusal


def _bind(band: list[ForOp], is_staged: bool, steps: Steps) -> None:
    row = band[-1]
    (scan,) = (op for op in row.body.block.ops if isinstance(op, ForOp))
    extent = extent_of(scan)
    assert extent is not None
    copies = _stage(row, scan, steps) if is_staged else []
    stretch = -(-extent // THREADS) | 1
    sums, _, parts, *_ = steps.do(block_scan, scan, factor=stretch)
    threads = [sums, parts, *(_deal_out(loop, steps) for loop in copies)]
    axes = grid_axes([extent_of(loop) for loop in band])
    if axes is None:
        raise NestorError("the grid would have more than 65535 blocks along two axes")
    for loop, axis in zip(band, axes, strict=True):
        steps.do(bind, loop, axis=axis)
    for loop in threads:
        steps.do(rename, loop, to=fresh_names(loop, "part")[0])
        steps.do(bind, loop, axis="thread.x")
    for op in list(row.body.block.ops):
        if isinstance(op, AllocOp):
            steps.do(set_memory, op, space="shared")


def _stage(row: ForOp, scan: ForOp, steps: Steps) -> list[ForOp]:
    """Copies in shared memory of the rows that the scan reads and writes: the loops that fill them and bring them back."""
    varying, size, found = varying_values(scan), 0, []
    buffers = dict.fromkeys(
        buffer
        for op, buffer in buffer_accesses(scan)
        if is_defined_outside(buffer, row) and pattern_of(op.indices, buffer, scan, varying) == UNIT
    )
    for buffer in buffers:
        writes = any(isinstance(op, StoreOp) for op, other in buffer_accesses(scan) if other is buffer)
        if not _moves_with(buffer, row):
            continue
        stage = cache_write if writes else cache_read
        alloc, *copies = steps.do(stage, buffer, row, space="shared", name=f"{buffer_name(buffer)}_row")
        size += _bytes(alloc)
        found += [loop for loop in copies if loop is not None]
    if size > SHARED_BYTES * 3 // 4:
        raise NestorError("the rows are too long for shared memory")
    return found


def _moves_with(buffer: SSAValue, row: ForOp) -> bool:
    """Whether each row has elements of its own; others are read by all, from caches."""
    return any(
        row.iv in op.indices[k].operands
        for op, other in buffer_accesses(row)
        if other is buffer and isinstance(op, LoadOp | StoreOp)
        for k in range(len(op.indices))
    )


def _bytes(alloc: AllocOp) -> int:
    buffer = alloc.memref.type
    assert isinstance(buffer, MemRefType)
    if DYNAMIC_INDEX in buffer.get_shape():
        raise NestorError("the rows are of unknown length")
    return prod(buffer.get_shape()) * element_bytes(buffer.element_type)


def _deal_out(loop: ForOp, steps: Steps) -> ForOp:
    """The elements of a copy, neighbours by neighbouring threads."""
    rounds, threads = steps.do(split, loop, factor=THREADS, tail="mask")
    steps.do(reorder, [threads, rounds])
    if rounds.constant_trip_count() == 1:
        steps.do(remove_unit_loop, rounds)
    return threads


__all__ = ["bind_scans", "share_column_scans", "share_long_row_scans", "share_long_scan"]
