"""Programs on columns on the GPU (part of nest-schedule-cuda): sums of columns and what is computed with them, one kernel.

    nest.for "i" %i = 0 to 256 { nest.for "j" %j = 0 to 64 { ... nest.accumulate "s" add %a, %s[%j] } }
    nest.for "i.1" %k = 0 to 256 { nest.for "j.1" %l = 0 to 64 { %b = nest.load %s[%l] ... %y[%k, %l] } }
  becomes
    nest.for "j.o" %o = 0 to 2 bind "block.x" {                    // 32 columns
      ...                                                          // their sums, as column_sums.py has them
      nest.barrier
      nest.for "row" %r = 0 to 16 bind "thread.y" {
        nest.for "column.1" %t = 0 to 32 bind "thread.x" {
          %s_own = ... %s[32 * %o + %t]
          nest.for "k.o" ... { ... %y[16 * %k_o + %r, 32 * %o + %t] }

All nests run through the same rows and columns (or through the columns alone), and none has an element of one column
from another. A block passes over its columns several times; from the second time on they are in a cache. That is for short
columns only, `ROWS_OF_THREAD` rows per thread: a launch takes about as long as a block takes to move so much. Longer ones
are better shared by blocks, and summed up by a second kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.machine import Gpu
from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.barriers import change_with_places
from ....analysis.nest.loop_structure import enclosing_function, may_fail, perfect_band
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.conflicts import same_iterations
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...nest.cleanup.eliminate_dead import eliminate_dead
from ...nest.loops.fuse import fuse
from ...nest.loops.rename import rename
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_read import cache_read
from ...nest.memory.set_memory import set_memory
from ...nest.rewrite.loops import fresh_names
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .column_sums import (
    COLUMNS_OF_BLOCK,
    FEWEST_LANES,
    FEWEST_ROWS,
    LANES,
    Columns,
    columns_of,
    read_in_all,
)
from .grid import is_scheduled, units, why_not_bind
from .kernels import is_elementwise

THREADS = 512
"""Threads of a block: few blocks have all the work."""

ROWS_OF_THREAD = 64
"""Maximum number of rows that a thread passes over."""


def schedule_column_programs(function: FuncOp, gpu: Gpu, steps: Steps) -> None:
    """Let sums of columns, and the nests after them that go on with these columns, be one kernel each time."""
    nests = [nest for nest in units(function.body.block) if isinstance(nest, ForOp)]
    for _, block in groupby(nests, key=lambda nest: nest.parent):
        rest = list(block)
        while rest:
            program = _program(rest, gpu)
            if program and _may_be_one(program, gpu):
                ColumnProgram(program, gpu, steps).run()
            rest = rest[max(1, len(program)) :]


# ---- what a program on columns is -------------------------------------------------------------------


def _program(nests: list[ForOp], gpu: Gpu) -> list[ForOp]:
    """The nests from the first one on that make a program on columns; none where they make no such program."""
    lead = nests[1] if _is_line(nests[0]) and len(nests) > 1 else nests[0]
    if not _is_sum(lead, gpu):
        return []
    found: list[ForOp] = []
    for nest in nests:
        if not _belongs(nest, lead, gpu):
            break
        found.append(nest)
    while found and _is_line(found[-1]) and _only_starts(found[-1]):
        found.pop()
    tables = [nest for nest in found if not _is_line(nest)]
    return found if len(tables) > 1 and _reads_result(tables[1], tables[0]) else []


def _reads_result(nest: ForOp, first: ForOp) -> bool:
    summed = {root_of(b) for op in first.walk() if isinstance(op, AccumulateOp) for b in op.memrefs}
    return any(root_of(op.memref) in summed for op in nest.walk() if isinstance(op, LoadOp))


def _is_sum(nest: ForOp, gpu: Gpu) -> bool:
    """Whether a nest sums columns that are short enough."""
    band = perfect_band(nest)
    if is_scheduled(nest) or len(band) != 2 or not any(isinstance(op, AccumulateOp) for op in nest.walk()):
        return False
    rows, column = map(extent_of, band)
    if rows is None or column is None or rows < FEWEST_ROWS:
        return False
    return rows <= most_rows(band, gpu) and bool(columns_of(nest, Dependences(nest)))


def most_rows(band: list[ForOp], gpu: Gpu) -> int:
    """Rows of columns that are one block's, at most."""
    return ROWS_OF_THREAD * Columns(band, THREADS, gpu, UNRECORDED, width=1).down


def _is_line(nest: ForOp) -> bool:
    """Whether a nest computes something of each column, without a loop over rows."""
    if not is_elementwise(nest) or len(perfect_band(nest)) != 1:
        return False
    return why_not_bind(nest, nest, Dependences(nest)) is None


def _only_starts(nest: ForOp) -> bool:
    """Whether a nest does nothing but set numbers, say those that a sum behind the program starts from."""
    return all(isinstance(op, StoreOp) for op in nest.body.block.ops)


def _belongs(nest: ForOp, lead: ForOp, gpu: Gpu) -> bool:
    """Whether a nest goes through the columns, and the rows if it has any, of a sum."""
    band, column = perfect_band(nest), perfect_band(lead)[-1]
    if is_scheduled(nest) or may_fail(nest) is not None or not same_iterations(band[-1], column):
        return False
    if len(band) == 1:
        return _is_line(nest)
    if len(band) != 2 or not same_iterations(nest, lead):
        return False
    return _is_sum(nest, gpu) or _is_table(band)


def _is_table(band: list[ForOp]) -> bool:
    """Whether a nest computes something of each element, adjacent elements by neighbouring columns."""
    if not is_elementwise(band[0]):
        return False
    dependences, patterns = Dependences(band[0]), access_patterns(band[-1])
    near = patterns[UNIT, False] + patterns[UNIT, True]
    far = sum(n for (pattern, _), n in patterns.items() if pattern in (SCATTERED, SEVERAL))
    return near > far and all(why_not_bind(loop, band[0], dependences) is None for loop in band)


def _may_be_one(program: list[ForOp], gpu: Gpu) -> bool:
    """Whether the steps are legal, and barriers have places, in a copy."""
    try:
        trial(lambda *copies: _try(list(copies), gpu), *program)
    except NestorError:
        return False
    return True


def _try(program: list[ForOp], gpu: Gpu) -> None:
    change_with_places(enclosing_function(program[0]), ColumnProgram(program, gpu, UNRECORDED).run)


# ---- its schedule -----------------------------------------------------------------------------------


def _shape_of_block(
    tables: list[list[ForOp]], columns: int, threads: int, parts: int, gpu: Gpu
) -> tuple[int, int]:
    """Neighbouring columns of a thread, and threads side by side: of few columns, blocks have fewer each.

    A warp then reads several rows, as long as a thread has two.
    """
    rows = min(extent_of(band[0]) or 1 for band in tables)
    width = min(Columns(band, threads, gpu, UNRECORDED).width for band in tables)
    across = min(LANES, COLUMNS_OF_BLOCK // width)
    while across * width > LANES and parts * -(-columns // (across * width)) < gpu.wave:
        if across > FEWEST_LANES and rows * across >= 4 * threads:
            across //= 2
        else:
            width //= 2
    return width, across


Around: TypeAlias = dict[ForOp, tuple[ForOp | None, ForOp | None]]
"""Of each sum, the loop that sets it before and the one that computes something of it."""


class ColumnProgram:
    """The steps for the nests of one program; raises a diagnostic where one is refused."""

    def __init__(self, program: list[ForOp], gpu: Gpu, steps: Steps, threads: int = THREADS, parts: int = 1):
        """`threads` are those of a block; `parts` copies of the program are in one kernel."""
        self.steps = steps
        self.bands = [perfect_band(nest) for nest in program]
        tables = [band for band in self.bands if len(band) == 2]
        columns = extent_of(tables[0][-1])
        assert columns is not None
        width, across = _shape_of_block(tables, columns, threads, parts, gpu)
        self.sums = {
            band[0]: Columns(band, threads, gpu, steps, width, across)
            for band in tables
            if any(isinstance(op, AccumulateOp) for op in band[-1].body.block.ops)
        }
        self.lead = next(iter(self.sums.values()))
        self.shares: list[Callable[[], None]] = []
        self.lines: list[ForOp] = []

    def run(self) -> None:
        """Open blocks of columns in every nest, make one loop of these, and deal out what is in it."""
        around: Around = {nest: (one.start(), one.end()) for nest, one in self.sums.items()}
        claimed = [loop for pair in around.values() for loop in pair]
        opened = [self._open(band, around) for band in self.bands if band[0] not in claimed]
        blocks = opened[0]
        for one in opened[1:]:
            self.steps.do(fuse, blocks, one)
        results = {nest: one.results() for nest, one in self.sums.items()}
        for buffer in _passed_on(blocks):
            if not any(buffer in found for found in results.values()):
                self.lead.keep_in_block(buffer, blocks, True)
        for nest, one in self.sums.items():
            for buffer in results[nest]:
                one.keep_in_block(buffer, blocks, around[nest][0] is not None or _is_set_in(blocks, buffer))
        self.steps.do(eliminate_dead, scope=enclosing_function(blocks))  # sums that only the block reads
        for share in self.shares:
            share()
        for one in self.sums.values():
            one.share_around()
        for line in self.lines:
            self.lead.deal_out(line)
        self.steps.do(bind, blocks, axis="block.x")
        for one in self.sums.values():
            for loop, axis in one.threads:
                self.steps.do(bind, loop, axis=axis)
            for buffer in one.shared:
                self.steps.do(set_memory, buffer, space="shared")

    def _open(self, band: list[ForOp], around: Around) -> ForOp:
        """The loop over groups of columns of a nest, whose threads are dealt out later."""
        if band[0] in around:
            return self._open_sum(band[0], *around[band[0]])
        return self._open_table(band) if len(band) == 2 else self._open_line(band[0])

    def _open_sum(self, nest: ForOp, start: ForOp | None, end: ForOp | None) -> ForOp:
        one = self.sums[nest]
        one.split_rows()
        blocks = one.open(one.rows, one.column, start, end)
        self.shares.append(lambda: one.share_sum(one.rows))
        return blocks

    def _open_line(self, line: ForOp) -> ForOp:
        blocks, inner = self.steps.do(split, line, factor=self.lead.across * self.lead.width, tail="mask")
        self.lines.append(inner)
        return blocks

    def _open_table(self, band: list[ForOp]) -> ForOp:
        row, column = band
        blocks, inner = self.steps.do(split, column, factor=self.lead.across * self.lead.width, tail="mask")
        rows, row = self.steps.do(split, row, factor=self.lead.down, tail="mask")
        self.steps.do(reorder, [blocks, row, rows, inner])
        self.shares.append(lambda: self._share_table(row, rows, inner))
        return blocks

    def _share_table(self, row: ForOp, rows: ForOp, column: ForOp) -> None:
        """A thread's columns, what all rows read of them in its registers; down the rows."""
        steps, width, vectors = self.steps, self.lead.width, []
        if width > 1:
            column, lanes = steps.do(split, column, factor=width, tail="perfect")
            vectors.append(lanes)
        steps.do(reorder, [row, column, rows, *vectors])
        for buffer in read_in_all([row, rows], column):
            _, copy = steps.do(cache_read, buffer, column, space="local", name=f"{buffer_name(buffer)}_own")
            vectors += [] if copy is None else [copy]
        for loop in vectors:
            steps.do(vectorize, loop, width=width)
        for loop, name, axis in [(row, "row", "thread.y"), (column, "column", "thread.x")]:
            steps.do(rename, loop, to=fresh_names(loop, name)[0])
            self.lead.threads.append((loop, axis))


def _passed_on(blocks: ForOp) -> list[SSAValue]:
    """What the lines among the nests of a block store and later ones of them read."""
    stored: dict[SSAValue, None] = {}
    found: dict[SSAValue, None] = {}
    for nest in [op for op in blocks.body.block.ops if isinstance(op, ForOp)]:
        found |= dict.fromkeys(
            op.memref for op in nest.walk() if isinstance(op, LoadOp) and op.memref in stored
        )
        if len(perfect_band(nest)) == 1:
            stored |= dict.fromkeys(op.memref for op in nest.walk() if isinstance(op, StoreOp))
    return list(found)


def _is_set_in(blocks: ForOp, buffer: SSAValue) -> bool:
    """Whether a block stores the elements of a buffer before it adds to them."""
    touches = [use.operation for use in buffer.uses]
    first = next(op for op in blocks.walk() if op in touches)
    return isinstance(first, StoreOp)
