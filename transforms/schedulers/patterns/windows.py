"""Reductions over windows (pooling, convolutions of separate channels): what is one, and one nest of what belongs to it.

... %s is set
nest.for "i" ... nest.for "j" ... nest.for "u" ... nest.for "v" ...
  nest.accumulate "s" maximum %e, %s[%i, %j]             // of %p[2 * %i + %u, 2 * %j + %v]
... %y[%i, %j] is computed from %s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside, parent_loop, perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT, growth_of, varying_values
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....lowering.nest_to_scf.interleaved_loads import MOST as MOST_APART
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.memory.cache_write import cache_write
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.sink_alloc import sink_alloc
from ...nest.producers.reverse_compute_inline import reverse_compute_inline
from ...nest.rewrite.steps import Steps
from .costs import FEWEST_LANES
from .sum_neighbours import initial_nest, reading_band
from .tiles import axes_of, pattern_in, sum_in


@dataclass(frozen=True, eq=False)
class Windows:
    """A reduction over windows: the loops over results, those over terms, and what reads the results next."""

    results: list[ForOp]
    terms: list[ForOp]
    units: list[ForOp]
    """Loops of one iteration, of either kind."""
    sums: AccumulateOp
    loads: list[LoadOp]
    column: ForOp
    result: SSAValue
    """The buffer that holds the results when the nest has run."""
    reader: list[ForOp] | None
    """The loops of the only nest that reads it, where there is one."""

    @property
    def moving(self) -> list[LoadOp]:
        """The loads that differ by lane."""
        return [load for load in self.loads if pattern_in(load, load.memref, self.column) != INVARIANT]


def windows_in(nest: ForOp, is_staged: bool = False) -> Windows | None:
    """The reduction over windows that a nest computes, None when it is something else.

    Where what it reads `is_staged` in tiles, lanes may be anywhere.
    """
    found = _reduction_in(nest)
    if found is None:
        return None
    all_results, all_terms, loads, sums, write = found
    results, terms = _several(all_results), _several(all_terms)
    if not results or not terms or not _are_windows(results, terms, loads):
        return None
    result, reader = write.memrefs[0] if isinstance(write, AccumulateOp) else write.memref, None
    columns = [loop for loop in results if pattern_in(write, result, loop) == UNIT]
    if (order := _order_of_reader(nest, result, write.indices, results)) is not None:
        reader, results = order
        stores = [op for op in reader[-1].body.block.ops if isinstance(op, StoreOp)]
        columns = [
            loop
            for loop, other in zip(results, reader, strict=True)
            if stores and all(pattern_in(op, op.memref, other) == UNIT for op in stores)
        ]
    if len(columns) != 1 or not (is_staged or all(_has_lanes(load, columns[0]) for load in loads)):
        return None
    lanes = largest_extent(columns[0])
    units = [loop for loop in (*all_results, *all_terms) if largest_extent(loop) == 1]
    windows = Windows(results, terms, units, sums, loads, columns[0], result, reader)
    return windows if windows.moving and (lanes is None or lanes >= FEWEST_LANES) else None


def _several(loops: Sequence[ForOp]) -> list[ForOp]:
    return [loop for loop in loops if largest_extent(loop) != 1]


def _reduction_in(
    nest: ForOp,
) -> tuple[list[ForOp], list[ForOp], list[LoadOp], AccumulateOp, AccumulateOp | StoreOp] | None:
    """The loops over results and over terms, the loads, the only reduction of a nest, and what writes its results."""
    found = [op for op in nest.walk() if isinstance(op, AccumulateOp)]
    if len(found) != 1:
        return None
    sums = found[0]
    loops = enclosing_loops(sums)
    if any(loop.kind != "serial" or loop.lower.constants() != (0,) or loop.step_value != 1 for loop in loops):
        return None
    if is_private(sums, nest):
        around = parent_loop(sums.memrefs[0].owner)  # pyright: ignore
        assert around is not None
        results, terms = loops[: loops.index(around) + 1], loops[loops.index(around) + 1 :]
        stores = [op for op in around.body.block.ops if isinstance(op, StoreOp)]
        written = [op for op in stores if op.memref is not sums.memrefs[0]]
        others = [op for op in around.body.block.ops if op.regions and op not in terms]
        if perfect_band(nest) != results or others or len(written) != 1 or len(stores) != 2:
            return None
        write = written[0]
    else:
        terms = [loop for loop in loops if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT]
        results = [loop for loop in loops if loop not in terms]
        if perfect_band(nest) != loops:
            return None
        write = sums
    own = axes_of(write.indices)
    if not terms or own is None or any(loop.iv not in own for loop in _several(results)):
        return None
    accesses = sum_in(perfect_band(terms[0]) if is_private(sums, nest) else loops)
    if accesses is None or any(largest_extent(loop) is None for loop in terms):
        return None
    return results, terms, accesses[0], sums, write


def _are_windows(results: Sequence[ForOp], terms: Sequence[ForOp], loads: Sequence[LoadOp]) -> bool:
    """Whether some index moves with a result and with a term."""
    own, summed = {loop.iv for loop in results}, {loop.iv for loop in terms}
    return any(
        not own.isdisjoint(used) and not summed.isdisjoint(used)
        for load in loads
        for used in (load.indices[axis].operands for axis in range(len(load.indices)))
    )


def _order_of_reader(
    nest: ForOp, result: SSAValue, indices: AffineList, results: Sequence[ForOp]
) -> tuple[list[ForOp], list[ForOp]] | None:
    """The loops of the only nest that reads the results, and those over results that go with them, one for each."""
    reader = reading_band(nest, result)
    if reader is None:
        return None
    reads = [op for op in reader[-1].walk() if isinstance(op, LoadOp) and op.memref is result]
    own, axes = axes_of(indices), axes_of(reads[0].indices)
    if own is None or axes is None or any(read.indices != reads[0].indices for read in reads):
        return None
    found = {axes[own.index(loop.iv)]: loop for loop in results}
    order = [found[loop.iv] for loop in reader if loop.iv in found]
    return (reader, order) if len(order) == len(reader) == len(results) else None


def _has_lanes(load: LoadOp, column: ForOp) -> bool:
    """Whether the lanes of a load are one element, neighbours, or a few elements apart in a row."""
    if pattern_in(load, load.memref, column) in (INVARIANT, UNIT):
        return True
    assert isinstance(load.memref.type, MemRefType)
    indices, varying, last = load.indices, varying_values(column), len(load.indices) - 1
    moving = [k for k in range(len(indices)) if any(value in varying for value in indices[k].operands)]
    growth = growth_of(indices[last], column.iv, varying) if moving == [last] else None
    strides = load.memref.type.get_strides()
    return growth is not None and 1 < growth <= MOST_APART and strides is not None and strides[-1] == 1


def one_nest(windows: Windows, steps: Steps) -> list[ForOp] | None:
    """One nest that sets each result, reduces it in a buffer of its own, and reads it: its loops over results.

    The loop over lanes is the innermost. None where no nest sets the results.
    """
    sums, results = windows.sums, windows.results
    lane, buffer = results.index(windows.column), windows.result
    is_variable = is_private(sums, results[0])
    for loop in windows.units:
        steps.attempt(remove_unit_loop, loop)
    first = [] if is_variable else initial_nest(sums, results)
    if first is None:
        return None
    if is_variable and windows.reader and isinstance(buffer.owner, AllocOp):
        steps.do(reverse_compute_inline, buffer.owner)
    parts = [part for part in (first, results, [] if is_variable else windows.reader) if part]
    for part in parts:
        order = [*(loop for loop in part if loop is not part[lane]), part[lane]]
        summed = windows.terms if part is results and not is_variable else []
        part[:] = nested([*order, *summed], steps)[: len(order)]
    joined = parts[0]
    for part in parts[1:]:
        joined = [steps.do(fuse, one, other) for one, other in zip(joined, part, strict=True)]
    if not is_variable and windows.reader and isinstance(buffer.owner, AllocOp):
        alloc = steps.do(sink_alloc, buffer.owner, joined[-1])
        for axis in range(len(alloc.memref.type.get_shape())):
            if why_not_resize_buffer(alloc, axis) is None:
                alloc = steps.do(resize_buffer, alloc, dimension=axis)
    elif not is_variable:
        steps.do(cache_write, buffer, joined[-1], init="load", name="sums")
    return joined


def is_private(sums: AccumulateOp, nest: ForOp) -> bool:
    """Whether a nest makes the buffer that it reduces into."""
    home = sums.memrefs[0].owner
    return isinstance(home, AllocOp) and is_inside(home, nest)


def nested(order: list[ForOp], steps: Steps) -> list[ForOp]:
    """Nest loops in this order, unless they are."""
    if any(inner.parent_op() is not outer for outer, inner in pairwise(order)):
        steps.do(reorder, order)
    return order


def slides(loop: ForOp, terms: Sequence[ForOp], loads: Sequence[LoadOp]) -> bool:
    """Whether an index moves with the loop and with a term: windows that overlap, perhaps."""
    summed = {term.iv for term in terms}
    return any(
        loop.iv in used and not summed.isdisjoint(used)
        for load in loads
        for used in (load.indices[axis].operands for axis in range(len(load.indices)))
    )
