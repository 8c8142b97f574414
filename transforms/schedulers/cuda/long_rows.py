"""Few long rows on the GPU (part of nest-schedule-cuda): several blocks have parts of a row each.

    nest.for "i" %i = 0 to 4 {                                     softmax
      nest.for "j" %j = 0 to 1000001 { ... accumulate %maximum[] }
      nest.for "j.1" %j = 0 to 1000001 { ... store %result[%i, %j] ... accumulate %sum[] }
      nest.for "j.2" %j = 0 to 1000001 { ... load %result[%i, %j] ... store %result[%i, %j] }
    }
  becomes
    nest.for "i.1" ... { nest.for "j.p" %p = 0 to 245 { ... %maximum_parts[%i, %p] ... %sum_parts[%i, %p] } }
    nest.for "i.2" ... { ... the maximum and the sum of the row from those of its parts }
    nest.for "i" ... { nest.for "j.1.rest" ... }

Each is a kernel. A block for each row would leave most of a GPU idle, where there are fewer rows than it has processors:
what launches cost is little against that. A part is a few accesses of each thread of a block (nest-privatise, cyclic: a
block goes round where there are more than `BLOCKS` parts of all rows). A reduction and the sum relative to it are one
kernel (nest-block-relative: a mean and the squares around it, a maximum and the exponentials of the differences from it):
it keeps its part in registers, where there are parts of one size; of others, only exponentials are combined, and the part
is read twice, the second time from a cache. Other passes are kernels of their own. How many parts there are depends on
extents alone, as do the bits of a result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from ....analysis.machine import Gpu
from ....analysis.nest.kernels.barriers import change_with_places
from ....analysis.nest.loop_structure import enclosing_function
from ....analysis.nest.values.relative_pairs import is_extreme, relative_pairs
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, AllocOp, ForOp, StoreOp
from ...nest.cleanup.eliminate_dead import eliminate_dead
from ...nest.loops.distribute import distribute, pieces_of
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.memory.cache_write import cache_write
from ...nest.reductions.block_relative import block_relative, why_not_block_relative
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import make_perfect
from .row_program_parts import Pass, bands_in, is_row_program, length_of
from .row_programs import Rows, Team, width_of

FEW = 32
"""Up to this many rows, or half a wave, a block per row does not reach the bandwidth of memory."""

LONG = 1 << 16
"""Minimum length of a row that takes one block longer than several launches; shorter ones may be in its registers."""

BLOCKS = 8
"""Blocks of all rows for each multiprocessor: enough to fill a GPU."""

ROUNDS = 4
"""Accesses of a thread that are in flight at a time."""


def share_long_rows(band: list[ForOp], block: int, gpu: Gpu, steps: Steps) -> list[ForOp]:
    """Let blocks compute parts of few long rows: the nests that are left to be bound; none where these are no such rows."""
    row = band[-1]
    if len(band) != 1 or row.kind != "serial" or not is_row_program(row):
        return []
    rows, length = extent_of(row), length_of(bands_in(row))
    if not rows or length is None or rows > max(FEW, gpu.wave // 2) or length < LONG:
        return []
    most = max(1, BLOCKS * gpu.wave // rows)
    for way in (True, False, None):
        try:
            trial(partial(_try, most, block, way), row)
        except NestorError:
            continue
        return _share(most, block, way, row, steps)
    return []


@dataclass(eq=False)
class Pairs:
    """Passes that are combined."""

    parts: dict[ForOp, ForOp] = field(default_factory=dict)
    """The loop over the parts of two passes, by that of the first one."""
    seconds: set[ForOp] = field(default_factory=set)
    """The loops of the second ones."""
    fused: dict[ForOp, ForOp] = field(default_factory=dict)
    """The loop that a later pass is in, with what is computed for it."""


Way: TypeAlias = bool | None
"""Whether the part of passes that are combined stays in registers; None where each is by itself."""


def _try(most: int, block: int, way: Way, row: ForOp) -> None:
    change_with_places(enclosing_function(row), lambda: _share(most, block, way, row, UNRECORDED))


def _share(most: int, block: int, way: Way, row: ForOp, steps: Steps) -> list[ForOp]:
    """Do it, in `most` parts a row at most, with two passes in one kernel where there is a `way`; raises where none are."""
    width, warps = width_of(bands_in(row)), max(1, block // LANES)
    chunk = warps * LANES * width * ROUNDS
    passes = [Pass(flatten_neighbours(band, steps)) for band in bands_in(row)]
    pairs = Pairs() if way is None else _pairs_in_parts(row, most, chunk, width, way, steps)
    taken = pairs.parts.keys() | pairs.seconds | pairs.fused.keys()
    shared = {
        one.band[0]: _in_parts(one, most, chunk, steps)
        for one in passes
        if one.updates and one.band[0] not in taken
    }
    of = {one.band[0]: one.band[0] for one in passes} | shared | pairs.parts | pairs.fused
    nests = _apart(row, [of[one.band[0]] for one in passes if one.band[0] not in pairs.seconds], steps)
    for part in [*shared.values(), *pairs.parts.values()]:
        nest = part.parent_op()
        assert isinstance(nest, ForOp)
        is_kept = part not in shared.values() and bool(way)
        _own_variables(nest, part, steps)
        Rows([nest, part], Team(warps, 1, is_kept, width), steps).run()
    return [nest for nest in nests if nest.kind == "serial"]


def _own_variables(nest: ForOp, part: ForOp, steps: Steps) -> None:
    """Let a part have in registers what no other nest has of it: the mean that its squares are around."""
    made = [op for op in nest.body.block.ops if isinstance(op, AllocOp)]
    for alloc in made:
        steps.do(cache_write, alloc, part, space="local", name=f"{alloc.label.data}_own")
    if made:
        steps.do(eliminate_dead, scope=enclosing_function(nest))
        make_perfect(nest, steps)


def _pairs_in_parts(row: ForOp, most: int, chunk: int, width: int, is_kept: bool, steps: Steps) -> Pairs:
    """Reductions with the sums relative to them; what these store goes to the pass that goes on with it."""
    found = Pairs()
    loops = [op for op in row.body.block.ops if isinstance(op, ForOp)]
    for bases, sums in list(relative_pairs(row.body.block)):
        extent = extent_of(bases) or 0
        parts = _equal_parts(extent, most, chunk, width)
        if not is_kept:
            parts = min(max(1, extent // chunk), most)
        if parts is None or not (is_kept or is_extreme(bases)):
            continue
        if why_not_block_relative(bases, sums, parts) is not None:
            continue
        found.parts[bases], _, _, rest = steps.do(block_relative, bases, sums, parts=parts)
        found.seconds.add(sums)
        following = loops.index(sums) + 1
        if rest is not None and following < len(loops):
            found.fused[loops[following]] = steps.do(fuse, rest, loops[following])
    if not found.parts:
        raise NestorError("there are no reductions with sums relative to them")
    return found


def _equal_parts(extent: int, most: int, chunk: int, width: int) -> int | None:
    """The number of parts of one size, of whole vectors; None where the row has none that are about as long as wanted."""
    wanted = min(max(1, extent // chunk), most)
    counts = [n for n in range(max(2, wanted // 2), 2 * wanted + 1) if extent and extent % (n * width) == 0]
    return min(counts, key=lambda n: abs(n - wanted)) if counts else None


def _in_parts(one: Pass, most: int, chunk: int, steps: Steps) -> ForOp:
    """The loop over the parts of a pass."""
    if len(one.band) > 2:
        raise NestorError("a pass consists of more than two loops")
    inner, count = one.band[-1], extent_of(one.band[-1]) or 0
    around = extent_of(one.band[0]) or 0
    if len(one.band) == 2 and around >= -(-count // chunk):
        shared, _ = steps.do(privatise, one.band[0], parts=min(around, most), share="cyclic")
        if why_not_remove_unit_loop(one.band[0]) is None:
            steps.do(remove_unit_loop, one.band[0])
        return shared
    outer, inner = steps.do(split, inner, factor=chunk, tail="mask")
    if len(one.band) == 2:
        steps.do(reorder, [outer, one.band[0], inner])
    parts = min(outer.constant_trip_count() or 1, most)
    shared, _ = steps.do(privatise, outer, parts=parts, share="cyclic")
    if why_not_remove_unit_loop(outer) is None:
        steps.do(remove_unit_loop, outer)
    return shared


def _apart(row: ForOp, long: list[ForOp], steps: Steps) -> list[ForOp]:
    """Nests of the long loops in a row, each alone, and of what is between them."""
    nests: list[ForOp] = []
    for loop in long:
        before = pieces_of(row).index(loop)
        starts = before and all(isinstance(op, StoreOp) for op in pieces_of(row)[:before])
        start: ForOp | None = None
        if before:
            start, row = steps.do(distribute, row, after=before)
        alone, rest = (row, None) if len(pieces_of(row)) == 1 else steps.do(distribute, row, after=1)
        make_perfect(alone, steps)
        if start is not None and starts and rest is not None:  # what a total starts from: where it is taken
            start, rest = None, steps.do(fuse, start, rest)
        nests += [nest for nest in (start, alone) if nest is not None]
        if rest is None:
            return nests
        row = rest
    return [*nests, row]
