"""Reductions to one element on the GPU (part of nest-schedule-cuda): one block, or many blocks and then one.

    nest.for "i" %i = 0 to 10000000 {
      nest.accumulate "s" add %a, %s[]                             // of %x[%i]
    }
  becomes
    nest.for "i.p" %p = 0 to 1024 bind "block.x" {                 // nest-privatise, cyclic: blocks go round
      nest.for "warp" %w = 0 to 8 bind "thread.x" {
        nest.for "lane" %l = 0 to 32 bind "lane" {
          nest.for "i.o" %o = %p to 2442 step 1024 {
            nest.for "i" %i = 0 to 4 unrolled {                    // four accesses of 16 bytes in flight
              nest.for "i.i" %v = 0 to 4 vectorized(4) { ... accumulate %s_lane[] }
          ...                                                      // shuffles, one barrier, %s_parts[%p]
    }
    nest.for "block" %b = 0 to 1 bind "block.x" { ... }            // the partial results, by one block

That block also sets what the total starts from, and does what is done with it (nest-absorb): two kernels. How many blocks
there are depends on extents alone, so that a result does not depend on the device. Up to `ONE_BLOCK` elements are reduced
by one block. Loops that memory does not flatten give each block outer iterations, in turn; where the inner ones are too
short for the threads, or the outer ones too few for the blocks, they are flattened by division.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import MemRefType

from ....analysis.machine import ACCESS_BYTES, Gpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, access_patterns, buffer_accesses
from ....analysis.nest.sets.accesses import accesses_of
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.powers_of_two import power_below
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp
from ...nest.loops.absorb import absorb, why_not_absorb
from ...nest.loops.flatten import flatten, why_not_flatten
from ...nest.loops.normalise import add_unit_loop, remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.split import split
from ...nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from .grid import is_whole_reduction, iterations, make_perfect, why_not_guarded, why_not_launched
from .row_programs import Rows, Team

FEWEST = 8
"""Elements below which one thread does as well."""

ONE_BLOCK = 1 << 14
"""Elements that one block reduces in about the time of a launch."""

BLOCKS = 8
"""Blocks of a reduction for each multiprocessor: enough to fill a GPU, and partial results for one block."""

FEWEST_BLOCKS = 32
"""Iterations of the outermost loop below which there would be few blocks."""

ROUNDS = 4
"""Accesses of a thread that are in flight at a time."""


def bind_whole_reduction(nest: ForOp, block: int, dependences: Dependences, gpu: Gpu, steps: Steps) -> bool:
    """Let blocks reduce a nest to one element; False, and nothing changed, when it is no such reduction."""
    if any(isinstance(op, AccumulateOp) for op in nest.walk()):
        make_perfect(nest, steps)
    if not is_whole_reduction(nest, dependences) or why_not_guarded(nest) is not None:
        return False
    if why_not_launched(nest, nest) is not None:
        return False
    total = iterations(nest)
    if total is not None and total < FEWEST:
        return True
    is_small = total is not None and total <= ONE_BLOCK
    share = _in_one_block if is_small else partial(_in_blocks, BLOCKS * gpu.wave)
    try:
        trial(lambda copy: share(copy, block, UNRECORDED), nest)
    except NestorError:
        return False
    share(nest, block, steps)
    return True


def _long_inside(nest: ForOp, threads: int, fewest: int, steps: Steps) -> ForOp:
    """Loops whose innermost one has iterations for the threads, and the outermost one for `fewest` blocks; the outermost."""
    band = perfect_band(nest)
    while len(band) > 1 and (_is_shorter(band[-1], threads) or _is_shorter(band[0], fewest)):
        if why_not_flatten(*band[-2:]) is not None:
            break
        band[-2:] = [steps.do(flatten, *band[-2:])]
    return band[0]


def _is_shorter(loop: ForOp, count: int) -> bool:
    extent = extent_of(loop)
    return extent is not None and extent < count


def _in_one_block(nest: ForOp, block: int, steps: Steps) -> None:
    nest = _long_inside(nest, block, 1, steps)
    total, inner = iterations(nest) or ONE_BLOCK, perfect_band(nest)[-1]
    width, extent = _width(nest), extent_of(inner)
    while width > 1 and (extent is None or extent % width):
        width //= 2
    warps = power_below(min(2 * block, max(LANES, total // (width * ROUNDS))) // LANES)
    warps = _warps_of(inner, warps, width)
    unit = steps.do(add_unit_loop, nest, name="block")
    take_in(unit, steps)
    Rows([unit], Team(warps, 1, False, width), steps).run()


def take_in(unit: ForOp, steps: Steps) -> None:
    """Let the block that has the total also set what it starts from, and do what is done with it."""
    if why_not_absorb(unit) is not None:
        return
    steps.do(absorb, unit)
    written = dict.fromkeys(access.root for op in unit.walk() for access in accesses_of(op) if access.writes)
    for buffer in written:
        if (
            buffer is not None
            and isinstance(buffer.owner, AllocOp)
            and why_not_sink_alloc(buffer, unit) is None
        ):
            steps.do(sink_alloc, buffer.owner, unit)


def _in_blocks(most: int, nest: ForOp, block: int, steps: Steps) -> None:
    """Partial results by blocks, which go round, and their total by one block."""
    nest = _long_inside(nest, block, FEWEST_BLOCKS, steps)
    warps, width, extent = max(1, block // LANES), _width(nest), extent_of(nest)
    outer = nest
    if len(perfect_band(nest)) == 1:
        chunk = warps * LANES * width * ROUNDS
        outer, _ = steps.do(split, nest, factor=chunk, tail="mask")
        extent = extent_of(outer)
    else:
        warps = _warps_of(perfect_band(nest)[-1], warps, width)
    blocks = most if extent is None else max(1, min(most, extent))
    parts, combine = steps.do(privatise, outer, parts=blocks, share="cyclic")
    if outer is not nest and why_not_remove_unit_loop(outer) is None:
        steps.do(remove_unit_loop, outer)
    Rows([parts], Team(warps, 1, False, width), steps).run()
    _in_one_block(combine, block, steps)


def _warps_of(inner: ForOp, warps: int, width: int) -> int:
    """How many of the warps have elements of the innermost loop."""
    extent = extent_of(inner)
    while extent is not None and warps > 1 and LANES * warps * width >= 2 * extent:
        warps //= 2
    return warps


def _width(nest: ForOp) -> int:
    """The elements of an access of 16 bytes; 1 where the innermost loop does not go from one to its neighbour."""
    band = perfect_band(nest)
    patterns = access_patterns(band[-1])
    extent = extent_of(band[-1])
    if any(patterns[pattern, False] for pattern in (SCATTERED, SEVERAL)):
        return 1
    if len(band) > 1 and (extent is None or extent < LANES):
        return 1
    largest = 1
    for op, buffer in buffer_accesses(band[-1]):
        assert isinstance(buffer.type, MemRefType)
        if any(band[-1].iv in op.indices[k].operands for k in range(len(op.indices))):
            largest = max(largest, element_bytes(buffer.type.element_type))
    width = max(1, ACCESS_BYTES // largest)
    while len(band) > 1 and extent is not None and extent % width:
        width //= 2
    return width


__all__ = ["bind_whole_reduction", "take_in"]
