"""Sums of columns on the GPU (part of nest-schedule-cuda): neighbouring threads take neighbouring columns.

    nest.for "i" %i = 0 to 10000 {                                 // rows
      nest.for "j" %j = 0 to 1000 {                                // columns, adjacent elements
        nest.accumulate "s" add %a, %s[%j]                         // of %x[%i, %j]
  becomes
    nest.for "i.p" %p = 0 to 64 bind "block.y" {                   // parts of the rows, results of their own
      nest.for "j.o" ... bind "block.x" {                          // 128 columns
        %parts = nest.alloc : memref<8x128xf32, 3>
        nest.for "row" %y = 0 to 8 bind "thread.y" {
          nest.for "column" %t = 0 to 32 bind "thread.x" {
            %s_own = nest.alloc : memref<4xf32>
            nest.for "i" ... { nest.for ... vectorized(4) { ... accumulate %s_own[%v] } }
            ...                                                    // to %parts[%y, 4 * %t + %v]
        }
        nest.barrier
        ...                                                        // the sum of eight rows, to %s_parts[%p, ...]
      }
    }
    nest.for "i.combine" ...                                       // the same for the 64 partial results

Where there are blocks enough without parts of the rows, there are none. How many parts there are depends on extents alone.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ....analysis.machine import ACCESS_BYTES, Gpu
from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.kernels.barriers import kernels_in, places
from ....analysis.nest.loop_structure import enclosing_function, may_fail, next_nest, perfect_band
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, UNIT, access_patterns, buffer_accesses
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.conflicts import same_iterations
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.attributes import UNROLL
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop
from ...nest.loops.rename import rename
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.loops.unmask import unmask
from ...nest.mapping.annotate import annotate
from ...nest.mapping.bind import bind
from ...nest.mapping.parallel import why_not_independent
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_read import cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.set_memory import set_memory
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.loops import fresh_names
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import make_perfect, why_not_bind, why_not_launched

ACROSS = LANES
"""Maximum number of threads of a block along the columns."""

FEWEST_LANES = 8
"""Minimum number of those where there are columns enough: they read 128 consecutive bytes of a row."""

COLUMNS_OF_BLOCK = 128
"""Maximum number of columns of a block."""

BYTES_OF_SUMS = 64
"""Maximum size of the sums that a thread keeps in registers, in bytes."""

BLOCKS = 4
"""Blocks for each multiprocessor, which fill a GPU."""

FEWEST_ROWS = 4
"""Rows below which one thread sums a column."""

ROWS_OF_PART = 64
"""Minimum number of rows of a part."""

MOST_DOWN = 64
"""Maximum number of rows that a block sums at a time: one thread adds up as many results of others."""

MOST_PARTS = 256
"""Maximum number of parts of the rows."""


def bind_columns(nest: ForOp, block: int, dependences: Dependences, gpu: Gpu, steps: Steps) -> bool:
    """Let blocks sum columns; False, and nothing changed, where a nest is no such sum."""
    band = columns_of(nest, dependences)
    if band is None:
        return False
    rows = extent_of(band[0])
    if rows is not None and rows < FEWEST_ROWS:
        return False
    across = _across(Columns(band, block, gpu, UNRECORDED), extent_of(band[-1]))
    try:
        trial(lambda *copies: _try(list(copies), block, gpu, across), *band)
    except NestorError:
        return False
    Columns(band, block, gpu, steps, across=across).run()
    return True


def _across(sums: Columns, columns: int | None) -> int:
    """The threads side by side: fewer where blocks of fewer columns fill a GPU, so that rows need no parts."""
    if columns is None:
        return sums.across
    enough = columns // (BLOCKS * sums.gpu.wave * sums.width)
    fewer = [n for n in (sums.across // 2, sums.across // 4) if FEWEST_LANES <= n <= enough]
    return sums.across if enough >= sums.across else max(fewer, default=sums.across)


def _try(band: list[ForOp], block: int, gpu: Gpu, across: int) -> None:
    """Do it to a copy; raises what a step refuses, or that there is no place for a barrier."""
    function = enclosing_function(band[0])
    Columns(band, block, gpu, UNRECORDED, across=across).run()
    for kernel in kernels_in(function):
        places(kernel)


def columns_of(nest: ForOp, dependences: Dependences) -> list[ForOp] | None:
    """The loops over rows and the one over columns; None where a nest is not the sum of columns."""
    band = perfect_band(nest)
    column = band[-1]
    if len(band) < 2 or may_fail(nest) is not None or any(loop.step_value != 1 for loop in band):
        return None
    if extent_of(column) == 1:
        return None
    if why_not_launched(nest, nest) is not None or why_not_bind(column, nest, dependences) is not None:
        return None
    for loop in band[:-1]:
        for dependence in dependences.carried_by(loop):
            if dependence.kind != "reduction" or not _is_sum(dependence.source, column):
                return None
            if not _is_sum(dependence.sink, column):
                return None
    patterns = access_patterns(column)
    near = patterns[UNIT, False] + patterns[UNIT, True]
    far = sum(n for (pattern, _), n in patterns.items() if pattern in (SCATTERED, SEVERAL))
    return band if near > far else None


def _is_sum(op, column: ForOp) -> bool:
    if not isinstance(op, AccumulateOp) or op.parent_op() is not column or op.order_name != "any":
        return False
    if op.where is not None or op.mask is not None or (op.combiner.data == "custom" and op.identity is None):
        return False
    moving = [k for k in range(len(op.indices)) if column.iv in op.indices[k].operands]
    return len(moving) == 1 and op.indices[moving[0]].single_value() is column.iv


class Columns:
    """The steps for one nest; raises a diagnostic where one is refused."""

    def __init__(
        self,
        band: list[ForOp],
        block: int,
        gpu: Gpu,
        steps: Steps,
        width: int = ACCESS_BYTES,
        across: int = ACROSS,
    ):
        """`width` bounds the neighbouring columns that a thread has, `across` the threads side by side."""
        self.rows = band[:-1]
        self.column = band[-1]
        self.row: ForOp | None = None
        """The loop over the rows that a block sums at a time."""
        self.inner = self.column
        """The loop over the columns of a block, once there are blocks."""
        self.around: list[ForOp] = []
        """The loops of a block before and after its sum."""
        self.gpu = gpu
        self.steps = steps
        self.threads: list[tuple[ForOp, str]] = []
        self.shared: list[AllocOp] = []
        count = extent_of(self.column)
        self.width = min(_width(band), width)
        groups = None if count is None else max(1, -(-count // self.width))
        self.across = min(across, COLUMNS_OF_BLOCK // self.width)
        while groups is not None and self.across >= 2 * groups:
            self.across //= 2
        self.down = max(1, min(MOST_DOWN, block // self.across))
        rows = extent_of(self.rows[-1])
        while rows is not None and self.down > 1 and self.down >= 2 * rows:
            self.down //= 2

    def run(self, start: ForOp | None = None, is_total: bool = False) -> None:
        """Bind the nest; `start` is the loop that sets the results, where the caller has found it.

        The rows of a total, which are results of parts, are not cut into parts again.
        """
        start, end = start or self.start(), self.end()
        self.split_rows()
        parts = 1 if is_total else self._parts()
        if parts < 2:
            return self._bind_sum(self.rows, self.column, start, None, end)
        share, combine = self.steps.do(privatise, self.rows[0], parts=parts, share="cyclic")
        start_of_part = self._fused([loop for loop in _loops_of(share) if loop is not self.rows[0]])
        self._bind_sum(self.rows, self.column, start_of_part, share)
        self._fused(_loops_of(combine))
        Columns(perfect_band(combine), self.across * self.down, self.gpu, self.steps).run(
            start, is_total=True
        )

    def start(self) -> ForOp | None:
        """The loop right before the nest that sets all results, and does nothing else."""
        nest = self.rows[0]
        targets = {b for op in nest.walk() if isinstance(op, AccumulateOp) for b in op.memrefs}
        before = nest.prev_op
        while before is not None and not isinstance(before, ForOp):
            before = before.prev_op
        if before is None or before.kind != "serial":
            return None
        ops = list(before.body.block.ops)
        stores = [op for op in ops if isinstance(op, StoreOp)]
        is_start = len(stores) == len(ops) and {op.memref for op in stores} == targets
        return before if is_start and same_iterations(before, self.column) else None

    def end(self) -> ForOp | None:
        """The loop right after the nest that computes something of each result."""
        nest = self.rows[0]
        targets = {b for op in nest.walk() if isinstance(op, AccumulateOp) for b in op.memrefs}
        after = next_nest(nest, lambda op: op.next_op)
        if after is None or after.kind != "serial" or not same_iterations(after, self.column):
            return None
        is_plain = not any(isinstance(op, ForOp | IfOp | AllocOp | AccumulateOp) for op in after.body.walk())
        reads = {op.memref for op in after.body.block.ops if isinstance(op, LoadOp)}
        is_end = is_plain and may_fail(after) is None and not reads.isdisjoint(targets)
        return after if is_end and why_not_independent(after, "bind", Dependences(after)) is None else None

    def _parts(self) -> int:
        """Into how many parts the rows are worth being cut, for there to be blocks enough."""
        rows, columns = extent_of(self.rows[0]), extent_of(self.column)
        wanted = BLOCKS * self.gpu.wave
        blocks = 1 if columns is None else -(-columns // (self.across * self.width))
        if rows is None:
            return 1 if columns is None or blocks >= wanted else MOST_PARTS
        least = max(1, ROWS_OF_PART // self.down) if len(self.rows) == 1 else 1
        return min(MOST_PARTS, rows // least, -(-wanted // blocks))

    def _bind_sum(
        self,
        rows: list[ForOp],
        column: ForOp,
        start: ForOp | None,
        share: ForOp | None,
        end: ForOp | None = None,
    ) -> None:
        """Blocks for groups of columns, and for the parts of the rows that `share` counts, if there are several.

        `start` is the loop that sets the results before, `end` one that computes something of them, where these are
        to be in the kernel.
        """
        blocks = self.open(rows, column, start, end)
        for buffer in self.results():
            self.keep_in_block(buffer, blocks, start is not None)
        self.share_sum(rows)
        self.share_around()
        bound = [(blocks, "block.x"), *self.threads]
        for loop, axis in bound if share is None else [(share, "block.y"), *bound]:
            self.steps.do(bind, loop, axis=axis)
        for buffer in self.shared:
            self.steps.do(set_memory, buffer, space="shared")

    def split_rows(self) -> None:
        """Let a block take `down` rows at a time."""
        if self.down > 1:
            self.rows[-1], self.row = self.steps.do(split, self.rows[-1], factor=self.down, tail="mask")
            make_perfect(self.rows[0], self.steps)

    def open(self, rows: list[ForOp], column: ForOp, start: ForOp | None, end: ForOp | None) -> ForOp:
        """Make the loop over groups of columns, a block's each; `start` and `end` as in `_bind_sum`."""
        steps, size = self.steps, self.across * self.width
        row = [] if self.row is None else [self.row]
        blocks, self.inner = steps.do(split, column, factor=size, tail="mask")
        steps.do(reorder, [blocks, *row, *rows, self.inner])
        if start is not None:
            first, _ = steps.do(split, start, factor=size, tail="mask")
            steps.do(fuse, first, blocks)
            blocks = first
        if end is not None:
            last, _ = steps.do(split, end, factor=size, tail="mask")
            steps.do(fuse, blocks, last)
        self.around = [loop for loop in _loops_of(blocks) if loop is not (self.row or rows[0])]
        return blocks

    def results(self) -> list[SSAValue]:
        """The buffers of the sums."""
        sums = [op.memrefs[0] for op in self.inner.body.block.ops if isinstance(op, AccumulateOp)]
        return list(dict.fromkeys(sums))

    def keep_in_block(self, buffer: SSAValue, blocks: ForOp, is_set: bool) -> None:
        """Let a block have its sums in shared memory, and store them when they are complete.

        `is_set` says that the block sets them; else it starts from nothing, and adds to what is there.
        """
        init, name = "load" if is_set else "identity", f"{buffer.name_hint or 's'}_block"
        _, *copies = self.steps.do(cache_write, buffer, blocks, init=init, space="shared", name=name)
        self.around += [loop for loop in copies if loop is not None]

    def share_sum(self, rows: list[ForOp]) -> None:
        """The threads of a block: `down` rows at a time, `across` times `width` columns."""
        steps, column = self.steps, self.inner
        for loop in self._beside():
            steps.attempt(unmask, loop)
        if self.row is None:
            return
        threads, combine = steps.do(privatise, self.row, parts=self.down)
        steps.do(remove_unit_loop, self.row)
        sums = _sums_in(column)
        self._own_sums(threads, rows, column)
        totals = self._fused(_loops_of(combine))
        steps.do(reorder, [totals, combine])
        self.around.append(totals)
        steps.do(annotate, combine, mark="unrolled")
        self.threads.append((self._named(threads, "row"), "thread.y"))
        self.shared += sums

    def share_around(self) -> None:
        """The threads of the loops before and after the sum, once all sums of the block have theirs.

        Till then it is plain to see that these loops set all elements of the sums.
        """
        for loop in self._beside():
            self.deal_out(loop)

    def _beside(self) -> list[ForOp]:
        return [loop for loop in self.around if loop.parent is not None]

    def _own_sums(self, threads: ForOp, rows: list[ForOp], column: ForOp) -> None:
        """A thread's sums: in its registers, while it goes down the rows."""
        steps, vectors = self.steps, []
        starts = [loop for loop in _loops_of(threads) if loop is not rows[0]]
        start = self._fused(starts)
        if self.width > 1:
            start, vector = steps.do(split, start, factor=self.width, tail="perfect")
            column, lanes = steps.do(split, column, factor=self.width, tail="perfect")
            vectors = [vector, lanes]
        steps.do(reorder, [column, *rows, *vectors[1:]])
        steps.do(fuse, start, column)
        for buffer in read_in_all(rows, start):
            _, copy = steps.do(cache_read, buffer, start, space="local", name=f"{buffer_name(buffer)}_own")
            vectors += [] if copy is None else [copy]
        for buffer in _sums_in(start):
            _, *copies = steps.do(cache_write, buffer, start, space="local", name=f"{_stem(buffer)}_own")
            vectors += [loop for loop in copies if loop is not None]
        for loop in vectors:
            if loop.constant_trip_count() is not None and loop.parent is not None:
                steps.do(vectorize, loop, width=self.width)
        self.threads.append((self._named(start, "column"), "thread.x"))

    def deal_out(self, loop: ForOp) -> None:
        """The columns of a block, one for each thread."""
        steps = self.steps
        if loop.constant_trip_count() == self.across:
            self.threads.append((self._named(loop, "column"), "thread.x"))
            return
        groups, columns = steps.do(split, loop, factor=self.across, tail="mask")
        inside = [op for op in columns.body.block.ops if isinstance(op, ForOp)]
        steps.do(reorder, [columns, groups])
        if not inside and groups.constant_trip_count() is not None:
            steps.do(annotate, groups, mark=UNROLL)
        self.threads.append((self._named(columns, "column"), "thread.x"))

    def _fused(self, loops: list[ForOp]) -> ForOp:
        first, *rest = loops
        for loop in rest:
            self.steps.do(fuse, first, loop)
        return first

    def _named(self, loop: ForOp, name: str) -> ForOp:
        return self.steps.do(rename, loop, to=fresh_names(loop, name)[0])


def _loops_of(loop: ForOp) -> list[ForOp]:
    return [op for op in loop.body.block.ops if isinstance(op, ForOp)]


def _sums_in(loop: ForOp) -> list[AllocOp]:
    """The buffers made for this kernel that a loop accumulates into."""
    found = dict.fromkeys(b for op in loop.walk() if isinstance(op, AccumulateOp) for b in op.memrefs)
    return [buffer.owner for buffer in found if isinstance(buffer.owner, AllocOp)]


def read_in_all(rows: list[ForOp], column: ForOp) -> list[SSAValue]:
    """The buffers of which the rows have one element a column in common, from outside."""
    passed = {loop.iv for loop in rows}
    found = dict.fromkeys(
        op.memref
        for op in column.walk()
        if isinstance(op, LoadOp)
        and column.iv in op.indices.operands
        and passed.isdisjoint(op.indices.operands)
    )
    return [buffer for buffer in found if is_defined_outside(buffer, column)]


def _stem(alloc: AllocOp) -> str:
    return alloc.label.data.partition("_block")[0]


def _width(band: list[ForOp]) -> int:
    """Neighbouring columns of a thread: 16 bytes of the largest elements of rows, where the columns are made of so many."""
    column, rows = band[-1], {loop.iv for loop in band[:-1]}
    extent, largest, sums = extent_of(column), 1, 1
    if extent is None:
        return 1
    for op, buffer in buffer_accesses(column):
        assert isinstance(buffer.type, MemRefType)
        size = element_bytes(buffer.type.element_type)
        if column.iv not in op.indices.operands:
            continue
        sums = max(sums, size)
        if not rows.isdisjoint(op.indices.operands):
            largest = max(largest, size)
    width = max(1, min(ACCESS_BYTES // largest, BYTES_OF_SUMS // sums))
    while width > 1 and (extent % width or extent < FEWEST_LANES * width):
        width //= 2
    return width
