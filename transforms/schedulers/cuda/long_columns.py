"""Long columns on the GPU (part of nest-schedule-cuda): columns are read once for a mean and the squares around it.

    nest.for "i" %i = 0 to 4099 { nest.for "j" ... { ... nest.accumulate "s" add %a, %s[%j] } }
    ... the means
    nest.for "i.1" %i = 0 to 4099 { nest.for "j.1" ... { ... nest.accumulate "q" add %e, %q[%j] } }
  becomes
    nest.for "i.p" %p = 0 to 65 bind "block.y" {                   // nest-block-relative: parts of 64 rows
      nest.for "j.o" %o = 0 to 2 bind "block.x" {                  // 128 columns
        ...                                                        // their sums, from memory
        ...                                                        // means, and squares around these, from the cache
      }
    }
    nest.for "i.combine" ...                                       // sums and squares of all rows from those of the parts:
    nest.for "i.1.combine" ...                                     // a program on short columns, column_programs.py

What a block has to do is a program on columns too (column_programs.py), of `ROWS` rows per thread: the part is in the
block's cache when it is looked at again. Short columns are one kernel together with what is computed of their means, and
are left to that. A maximum and the exponentials of the differences from it are done so, too: what a softmax stores is
computed where it is divided. How many parts there are depends on extents alone, as do the bits of a result.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from ....analysis.machine import Gpu
from ....analysis.nest.kernels.barriers import change_with_places
from ....analysis.nest.loop_structure import enclosing_function, next_nest, perfect_band
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.relative_pairs import relative_pairs
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.fuse import fuse
from ...nest.mapping.bind import bind
from ...nest.reductions.block_relative import block_relative
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .column_programs import ROWS_OF_THREAD, ColumnProgram, most_rows
from .column_sums import Columns, columns_of
from .grid import units

THREADS = 256
"""Threads of a block."""

ROWS = 16
"""Rows of a part that a thread passes over: 64 KiB of a block, of which a level-one cache has room for two or three."""

FEWEST = 4
"""The same where there are few blocks: the minimum."""

BLOCKS = 4
"""Blocks for each multiprocessor."""


def schedule_long_columns(function: FuncOp, gpu: Gpu, steps: Steps) -> None:
    """Let blocks reduce parts of long columns, and sum up what is relative to that, in one kernel."""
    blocks: dict[Block, None] = dict.fromkeys(
        nest.parent for nest in units(function.body.block) if nest.parent
    )
    for pair in [pair for block in blocks for pair in relative_pairs(block)]:
        sums, squares = (flatten_neighbours(perfect_band(nest), steps) for nest in pair)
        parts = _parts_of(sums, gpu)
        if parts is None:
            continue
        try:
            trial(partial(_try, parts, gpu), sums[0], squares[0])
        except NestorError:
            continue
        _schedule(sums[0], squares[0], parts, gpu, steps)


def _parts_of(band: list[ForOp], gpu: Gpu) -> int | None:
    """The number of parts; None where these are no columns, or ones that a block has as they are."""
    if len(band) != 2 or columns_of(band[0], Dependences(band[0])) is None:
        return None
    rows, columns = map(extent_of, band)
    if rows is None or columns is None or rows <= most_rows(band, gpu):
        return None
    one = Columns(band, THREADS, gpu, UNRECORDED)
    blocks = -(-columns // (one.across * one.width))
    of_thread = min(ROWS, max(FEWEST, rows * blocks // (one.down * BLOCKS * gpu.wave)))
    most = ROWS_OF_THREAD * one.down
    return min(most, -(-rows // (one.down * of_thread)))


def _try(parts: int, gpu: Gpu, sums: ForOp, squares: ForOp) -> None:
    change_with_places(enclosing_function(sums), lambda: _schedule(sums, squares, parts, gpu, UNRECORDED))


def _schedule(sums: ForOp, squares: ForOp, parts: int, gpu: Gpu, steps: Steps) -> None:
    part, *_, rest = steps.do(block_relative, sums, squares, parts=parts)
    following = None if rest is None else next_nest(rest, lambda op: op.next_op)
    if rest is not None and following is not None:  # what goes on with what is stored
        for one, other in zip(perfect_band(rest), perfect_band(following), strict=True):
            steps.do(fuse, one, other)
    program = [op for op in part.body.block.ops if isinstance(op, ForOp)]
    ColumnProgram(program, gpu, steps, THREADS, parts).run()
    steps.do(bind, part, axis="block.y")
