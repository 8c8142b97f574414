"""Long scans on the CPU: nest-schedule-cpu computes them in blocks that threads share.

    nest.for "i" %i = 0 to 10000000 {
      nest.accumulate "s" add %x, %s[]
      ... %s[] ...
  becomes (nest-block-scan)
    nest.for "i.sums.o" ... parallel { ... the result of each block ... }
    nest.for "i.carry" ... { ... what is before each block ... }
    nest.for "i.o" ... parallel { ... the running results of each block ... }

The length of a block does not depend on the number of threads, so neither do the bits of a result.

An argument beyond the caches is read twice so. Two threads do it in two waves, with the same blocks and bits:

    parallel: | the first fifth, block by block    | the sums of the next two fifths
    serial:   | what is before each block
    parallel: | running results of the two fifths  | the last two fifths, block by block

where "block by block" is the sum of a block and, out of the caches, its running results: memory is read 1.4 times, and
each wave waits once. Why two waves, and two threads: docs/decisions/0023-memory-streams.md.

    nest.for "j" %j = 0 to 1024 {
      nest.accumulate "s" add %x, %s[]                             // of %x[%j], adjacent elements
      ... %s[] ...
  becomes
    nest.for "j.o" %o = 0 to 64 {
      nest.for "j.i" %v = 0 to 16 attributes {nestor.scan} {       // lanes of a vector: lowering/nest_to_scf/scans.py

Elements of 32 and 64 bits: shuffles of smaller ones cost more than the additions they save.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IntegerType

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.kernels.running_results import running_update
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, access_patterns
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.attributes import SCAN
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp
from ...nest.loops.split import split, why_no_rest
from ...nest.mapping.annotate import annotate, why_not_annotate
from ...nest.mapping.parallel import parallelize
from ...nest.memory.prefetch import prefetch, why_not_prefetch
from ...nest.reductions.block_scan import block_scan, why_not_block_scan
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import machine_lanes
from .streams import big_arrays, fetch_ahead, stream_results
from .vectors import Machine

BLOCK = 2080
"""Iterations of a block: enough for vectors of its sum, and blocks that stand side by side do not meet in the same lines
of a cache."""

FEWEST_BLOCKS = 8
"""Blocks below which one iteration after the other is as good."""


def is_long_scan(loop: ForOp) -> bool:
    """Whether a loop has running results enough for threads."""
    extent = largest_extent(loop)
    if extent is not None and extent < FEWEST_BLOCKS * BLOCK:
        return False
    return loops_in(loop) == [loop] and running_update(loop) is not None


def block_long_scan(loop: ForOp, steps: Steps) -> tuple[list[ForOp], list[ForOp]] | None:
    """Put a long scan into blocks: the loops over blocks, whose iterations are independent, and those left over.

    None, and nothing changed, where that is illegal or does not pay.
    """
    if not is_long_scan(loop) or why_not_block_scan(loop, BLOCK) is not None:
        return None
    sums, _, blocks, *rest = steps.do(block_scan, loop, factor=BLOCK)
    return [sums, blocks], rest


def scan_in_waves(loop: ForOp, machine: Machine) -> tuple[list[ForOp], list[ForOp]] | None:
    """Let two threads read a long argument 1.4 times instead of twice: the loops that do each block alone, and the others.

    None, and nothing changed, where it is illegal, where there are not two threads, or where the caches hold the argument.
    """
    extent, update = largest_extent(loop), running_update(loop)
    if machine.cpu.threads != 2 or extent is None or update is None or not is_long_scan(loop):
        return None
    if extent * element_bytes(update.values[0].type) <= machine.cpu.non_temporal_bytes:
        return None
    try:
        trial(lambda copy: _in_waves(copy, extent, UNRECORDED), loop)
    except NestorError:
        return None
    return _in_waves(loop, extent, machine.steps)


def _in_waves(loop: ForOp, extent: int, steps: Steps) -> tuple[list[ForOp], list[ForOp]]:
    from ...nest.loops.beside import beside
    from ...nest.loops.cut import cut

    fifth = extent // BLOCK // 5
    first, others = steps.do(cut, loop, at=fifth * BLOCK)
    middle, last = steps.do(cut, others, at=2 * fifth * BLOCK)
    own, *_ = _block_by_block(first, steps)
    sums, _, results = steps.do(block_scan, middle, factor=BLOCK)
    rest, *end = _block_by_block(last, steps)
    for pair in ((own, sums), (results, rest)):
        steps.do(parallelize, steps.do(beside, *pair), grain=1)
    return [own, rest], [sums, results, *end]


def _block_by_block(loop: ForOp, steps: Steps) -> tuple[ForOp, ...]:
    """One block after the other, with the bits of blocks that are computed side by side; then what is left over."""
    from ...nest.loops.fuse import fuse

    sums, carry, blocks, *rest = steps.do(block_scan, loop, factor=BLOCK)
    return steps.do(fuse, steps.do(fuse, sums, carry), blocks), *rest


def fetch_blocks(blocks: ForOp, cpu: Cpu, steps: Steps) -> None:
    """Let the running results of a block, which its sum brought into the caches, fetch the next block and its results."""
    for lanes in loops_in(blocks):
        if SCAN not in lanes.attributes:
            continue
        for buffer in big_arrays(lanes, cpu):
            if why_not_prefetch(buffer, blocks, 1, at=lanes.label) is None:
                steps.do(prefetch, buffer, blocks, distance=1, at=lanes.label)


def has_lanes(loop: ForOp, vector_bits: int) -> bool:
    """Whether the running result of an innermost loop is worth vectors."""
    update = running_update(loop)
    if update is None or loops_in(loop) != [loop]:
        return False
    element, extent = update.values[0].type, largest_extent(loop)
    bits = element.bitwidth if isinstance(element, IntegerType | AnyFloat) else 0
    lanes = machine_lanes(loop, vector_bits)
    if bits not in (32, 64) or lanes < 4 or (extent is not None and extent < 2 * lanes):
        return False
    patterns = access_patterns(loop)
    return not any(patterns[pattern, writes] for pattern in (SCATTERED, SEVERAL) for writes in (False, True))


def scan_in_lanes(loop: ForOp, machine: Machine) -> bool:
    """Compute the running result of an innermost loop in vectors; False where that is illegal or does not pay."""
    if not has_lanes(loop, machine.cpu.vector_bits):
        return False
    lanes, steps = machine_lanes(loop, machine.cpu.vector_bits), machine.steps
    if why_no_rest(loop, lanes) is not None:
        return False
    _, members, *_ = steps.do(split, loop, factor=lanes)
    if why_not_annotate(members, SCAN) is None:
        steps.do(annotate, members, mark=SCAN)
        stream_results(members, machine.cpu, steps)
        if not machine.in_rows:
            fetch_ahead(members, machine.cpu, steps)
    return True
