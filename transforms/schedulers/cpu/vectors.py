"""Vectors and threads of single loops (part of nest-schedule-cpu): what a plain elementwise nest needs of the schedule.

    nest.for "i" %i = 0 to 1000 { ... }
  becomes
    nest.for "i.o" %o = 0 to 15 parallel {
      nest.for "i.i" %v = 0 to 64 vectorized(64) { ... }
    }
    nest.for "i.rest" ... vectorized(...)

What else nests are made of is in dispatch.py, which a program of plain nests does not import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, SSAValue

from ....analysis.machine import Cpu, cpu
from ....analysis.nest.loop_structure import is_in_rounds, parent_loop, perfect_band
from ....analysis.nest.sets.access_patterns import SCATTERED, SEVERAL, access_patterns, pairs_read
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, StoreOp
from ....dialects.remarks import remark
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.split import split, why_no_rest, why_not_split
from ...nest.mapping.parallel import parallelize
from ...nest.mapping.vectorize import vectorize, why_not_lanes
from ...nest.rewrite.steps import UNRECORDED, Steps
from ..patterns.costs import arithmetic_in, has_transcendental, machine_lanes, padded_width, work_inside
from ..refusals import optional, unless_refused
from .streams import fetch_ahead, stream_results

WORK_PER_THREAD = 1 << 17
"""Element operations below which waking a thread costs more than it saves."""

WORK_IN_ROUNDS = 1 << 15
"""The same inside of a loop: threads that took part in its last round are awake, and have their part in their caches.
What one nest leaves there, a next nest that is not shared would have to fetch."""

GATHER_COST = 12
"""Element operations that must come with each access that is not contiguous for a vector to pay: LLVM is as good
at loops of scattered accesses, and finds out at run time which of them are contiguous after all."""

BLOCK_STEPS = 32
"""Vectors that are added up before the sum goes to the next accumulator."""


@dataclass(frozen=True, eq=False)
class Machine:
    """What a nest is scheduled for, and how the steps are done."""

    cpu: Cpu
    steps: Steps = UNRECORDED
    """Does the steps; a recorder writes them down as well."""
    in_rows: bool = False
    """Whether a loop around makes several passes over a row, and what is prefetched is the next row."""


DEFAULT = Machine(cpu())


def outermost_loops(op: Operation) -> Iterator[ForOp]:
    """The outermost loops below `op`."""
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.ops):
                if isinstance(child, ForOp):
                    yield child
                else:
                    yield from outermost_loops(child)


def remark_refusal(loop: ForOp, what: str, refusal: NestorError) -> None:
    reason = refusal.diagnostic
    notes = [(note.location, note.message) for note in reason.notes]
    remark(loop, f'the loop "{loop.label}" {what}: {reason.message}', hint=reason.hint, notes=notes)


def joined_neighbours(nest: ForOp, machine: Machine) -> list[ForOp]:
    """The band of a nest, its neighbours one loop wherever memory allows."""
    return unless_refused(
        lambda: flatten_neighbours(perfect_band(nest), machine.steps), lambda _: list(perfect_band(nest))
    )


# ---- threads ----------------------------------------------------------------------------------------


def share(loop: ForOp, steps: Steps) -> None:
    """Give a loop, or the outer part of a loop, that was found independent to the threads, if that can pay."""
    grain = max(1, (WORK_IN_ROUNDS if is_in_rounds(loop) else WORK_PER_THREAD) // work_inside(loop))
    extent = largest_extent(loop)
    if extent is not None and extent < 2 * grain:
        return
    optional(partial(steps.do, parallelize, loop, grain=grain))


# ---- vectors ----------------------------------------------------------------------------------------


def schedule_innermost(loop: ForOp, machine: Machine, is_parallel: bool, dependences: Dependences) -> None:
    refusal = why_not_lanes(loop, dependences) or why_not_worthwhile(loop, dependences)
    if refusal is None:
        vectorize_loop(loop, machine, is_parallel, dependences)
        return
    remark_refusal(loop, "stays scalar", refusal)
    if is_parallel:
        share(loop, machine.steps)


FEWEST_COMBINED = 5
"""Iterations below which a reduction by a region stays one after the other."""


def why_not_worthwhile(loop: ForOp, dependences: Dependences) -> NestorError | None:
    """Why vectors would not be faster (or cannot be made) although the order of iterations allows them."""
    patterns = access_patterns(loop)
    if patterns[SEVERAL, False] or patterns[SEVERAL, True]:
        return fail(loop, "an access moves along several axes of its buffer")
    gathers, scatters = patterns[SCATTERED, False], patterns[SCATTERED, True]
    if not scatters:  # loads of pairs are whole vectors and shuffles; stores to them LLVM puts together
        gathers -= pairs_read(loop)
    if arithmetic_in(loop) < GATHER_COST * (gathers + scatters):
        count = gathers + scatters
        accesses = "an access is" if count == 1 else f"{count} accesses are"
        return fail(loop, f"{accesses} not contiguous, and there is little to compute")
    reductions = _reductions(loop, dependences)
    for op in reductions:
        if op.combine is None:
            continue
        if op.identity is None:
            reason = "the custom combiner is not declared associative (it states no identity)"
            return fail(loop, reason, notes=[(op, "here")])
        if (loop.constant_trip_count() or FEWEST_COMBINED) < FEWEST_COMBINED:
            return fail(
                loop, "combining the lanes takes longer than the few iterations", notes=[(op, "here")]
            )
    refusal = why_no_rest(loop, 2)
    return refusal if refusal is None or reductions else why_not_split(loop, 2, "mask")


def _reductions(loop: ForOp, dependences: Dependences) -> list[AccumulateOp]:
    """The accumulates whose element is the same in all iterations."""
    reduced = {d.source for d in dependences.carried_by(loop) if d.kind == "reduction"}
    return [op for op in loop.body.walk() if isinstance(op, AccumulateOp) and op in reduced]


def vectorize_loop(loop: ForOp, machine: Machine, is_parallel: bool, dependences: Dependences) -> None:
    """Make vectors of a loop for which that is legal, and share what is around them."""
    steps, lanes = machine.steps, machine_lanes(loop, machine.cpu.vector_bits)
    width = lanes * (2 if has_transcendental(loop) else 4)
    extent = loop.constant_trip_count()
    if extent is not None and extent <= width:
        if extent > 1:
            if variables_of(loop) or list(outermost_loops(loop)):
                give_registers(loop, steps)
                dependences = Dependences(loop)
            if extent % lanes == 0:
                stream_results(loop, machine.cpu, steps)
            steps.do(vectorize, loop, width=padded_width(extent, lanes), dependences=dependences)
            _fetch_ahead(loop, machine)
        return
    if reductions := _reductions(loop, dependences):
        from .reductions import STREAMS

        _vectorize_reduction(loop, lanes if len(reductions) >= STREAMS else width, lanes, reductions, steps)
        return
    width = _without_rest(loop, extent, width, lanes)
    stream_results(loop, machine.cpu, steps)
    tail = "remainder" if why_no_rest(loop, width) is None else "mask"
    vectors, *pieces = steps.do(split, loop, factor=width, tail=tail)
    for piece in pieces:
        give_registers(piece, steps)
        _mark_vectorized(piece, _width_of(piece, width, lanes), steps)
    if is_parallel:
        share(vectors, steps)
    _fetch_ahead(pieces[0], machine)


LONG_BODY = 16
"""From this many operations on a loop is as fast with two vectors per step as with four."""


def _without_rest(loop: ForOp, extent: int | None, width: int, lanes: int) -> int:
    """Fewer vectors per step where these leave no rest: of a long body that is as much code again."""
    if extent is None or extent % width == 0 or work_inside(loop) < LONG_BODY:
        return width
    return next((n for n in range(width - lanes, lanes, -lanes) if extent % n == 0), width)


def _fetch_ahead(lanes: ForOp, machine: Machine) -> None:
    if not machine.in_rows:
        fetch_ahead(lanes, machine.cpu, machine.steps)


def _mark_vectorized(loop: ForOp, width: int, steps: Steps) -> None:
    """Mark a piece of a loop that was found to have independent iterations."""
    steps.do(vectorize, loop, width=width)


def _width_of(piece: ForOp, width: int, lanes: int) -> int:
    """A remainder of known length takes no more registers than it needs."""
    extent = piece.constant_trip_count()
    return width if extent is None or extent == width else padded_width(extent, lanes)


def _vectorize_reduction(
    loop: ForOp, width: int, lanes: int, reductions: list[AccumulateOp], steps: Steps
) -> None:
    """One accumulator per lane; the lanes are combined after the loop, or after each block of it."""
    from ...nest.reductions.rfactor import reductions_of, rfactor

    vectors, whole, *tail = steps.do(split, loop, factor=width)
    extent = largest_extent(vectors)
    is_long = any(_rounds(op) for op in reductions) and (extent is None or extent > BLOCK_STEPS)
    is_factored = len(reductions_of(whole)) == len(reductions) and _can_factor(whole)
    marked = [whole, *tail]
    if is_factored and is_long:
        blocks, _ = steps.do(split, vectors, factor=BLOCK_STEPS, tail="clamp")
        start, combine = steps.do(rfactor, whole, dependences=Dependences(blocks))
        marked += [start, combine]
        if _can_factor(combine):
            marked += steps.do(rfactor, combine, dependences=Dependences(blocks))
    elif is_factored:
        marked += steps.do(rfactor, whole, dependences=Dependences(vectors))
    for piece in marked:
        is_rest = piece in tail
        piece_width = _width_of(piece, width, lanes) if is_rest else width
        steps.do(vectorize, piece, width=piece_width, dependences=Dependences(piece))


def _can_factor(loop: ForOp) -> bool:
    from ...nest.reductions.rfactor import why_not_rfactor

    around = parent_loop(loop)
    return around is not None and why_not_rfactor(loop, Dependences(around)) is None


def _rounds(op: AccumulateOp) -> bool:
    """Whether the result depends on the order: errors add up."""
    return op.combiner.data in ("add", "mul") and isinstance(op.values[0].type, AnyFloat)


# ---- registers --------------------------------------------------------------------------------------


def variables_of(loop: ForOp) -> list[AllocOp]:
    """The buffers of one element that each iteration of `loop` makes for itself."""
    return [op for op in loop.body.block.ops if isinstance(op, AllocOp) and not op.memref.type.get_shape()]  # pyright: ignore[reportAttributeAccessIssue]


def _updated_by(op: Operation, piece: ForOp) -> Sequence[SSAValue]:
    """The buffers that `op` updates and a register may take the place of."""
    if isinstance(op, StoreOp):
        return [op.memref]
    is_known = piece.constant_trip_count() is not None and len(piece.lower) == 1
    return op.memrefs if isinstance(op, AccumulateOp) and is_known else []


def give_registers(piece: ForOp, steps: Steps) -> None:
    """What loops inside of `piece` update in each iteration, and its variables: an element per lane, in registers.

    What all lanes add to stays a reduction: in a register it would be read by one lane after the other.
    """
    if not variables_of(piece) and not list(outermost_loops(piece)):
        return
    from ...nest.memory.expand_buffer import expand_buffer
    from ...nest.memory.registerise import registerise, why_not_registerise
    from ...nest.memory.set_memory import set_memory

    own = [variable.memref for variable in variables_of(piece)]
    own += [buffer for op in _reductions(piece, Dependences(piece)) for buffer in op.memrefs]
    for inner in outermost_loops(piece):
        updated = [b for op in inner.body.block.ops for b in _updated_by(op, piece) if b not in own]
        for buffer in dict.fromkeys(updated):
            if why_not_registerise(buffer, inner) is None:
                for register in steps.do(registerise, buffer, inner):
                    steps.do(set_memory, register, space="global")
    for variable in variables_of(piece):
        steps.do(expand_buffer, variable, piece)
