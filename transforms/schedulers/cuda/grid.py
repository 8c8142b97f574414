"""Which loops of a nest blocks and threads of a GPU can share (part of nest-schedule-cuda).

nest.for "i" %i = 0 to %n {              independent_band(i) == [i, j]: the iterations of both may run in
  %a = nest.load %s[%i]                  any order, their extents are known before the launch, and what
  nest.for "j" %j = 0 to %m {            is between them can be done again by every thread
    nest.for "k" %k = 0 to %p {          (k is a reduction: it stays a loop of the thread)
      nest.accumulate "y" add %b, %y[%i, %j]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.loop_structure import is_inside, loops_in, may_fail, perfect_band
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside, may_overlap
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from ...nest.loops.distribute import distribute, pieces_of
from ...nest.loops.flatten import flatten
from ...nest.loops.fuse import fuse
from ...nest.loops.sink import sink, why_not_sink
from ...nest.mapping.bind import bind
from ...nest.mapping.parallel import why_not_independent
from ...nest.rewrite.steps import Steps

GRID_LIMIT = 65535
"""Maximum number of blocks along y and z of a grid; along x it is 2^31 - 1."""

FEW = 64
"""Up to this many iterations one thread finishes in about the time of a launch."""

Note = tuple[Operation, str]


@dataclass(frozen=True)
class Refusal:
    """Why something was not done, for a remark: the reason, the way out, the operations at fault."""

    reason: str
    hint: str | None = None
    notes: tuple[Note, ...] = ()

    @staticmethod
    def of(error: NestorError, notes: Sequence[Note] = ()) -> Refusal:
        """A primitive's refusal."""
        return Refusal(error.diagnostic.message, error.diagnostic.hint, tuple(notes))


# ---- where nests stand ------------------------------------------------------------------------------


def units(block: Block) -> Iterator[ForOp | IfOp]:
    """The loops of a function that the host reaches, and the branches that only the device can take.

    Loops stand at the top level of the function, or in branches and loops of the host; where these depend on an
    element of a buffer, the host reads it back if that is worth a launch (`is_decided_by_host`).
    """
    for op in list(block.ops):
        if isinstance(op, ForOp):
            yield op
        elif isinstance(op, (IfOp, scf.IfOp, scf.ForOp, scf.WhileOp)) and is_decided_by_host(op):
            for region in op.regions:
                for inner in region.blocks:
                    yield from units(inner)
        elif isinstance(op, IfOp):
            yield op


def in_turn(nests: Iterable[ForOp | IfOp]) -> list[ForOp | IfOp]:
    """Nests in the order in which they are scheduled: sums before the nests that set what they sum up in are taken apart."""
    return sorted(nests, key=lambda nest: not any(isinstance(op, AccumulateOp) for op in nest.walk()))


def is_decided_by_host(op: Operation) -> bool:
    """Whether the host runs a branch or a loop: it knows the condition, or reads it back for long nests."""
    condition = op.operands
    if isinstance(op, scf.WhileOp):
        last = op.before_region.block.last_op
        assert last is not None
        condition = [*op.operands, *last.operands[:1]]
    if is_known_to_host(condition):
        return True
    counts = [iterations(inner) for inner in op.walk() if isinstance(inner, ForOp)]
    return isinstance(op, (IfOp, scf.WhileOp)) and any(n is None or n > FEW for n in counts)


def is_scheduled(nest: Operation) -> bool:
    """Whether a loop of the nest is bound already."""
    return any(loop.kind in BIND_AXES for loop in loops_in(nest))


def is_known_to_host(values: Sequence[SSAValue]) -> bool:
    """Whether the host can compute the values: elements of buffers are on the device."""
    pending, seen = list(values), set()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner in seen:
            continue
        if isinstance(owner, LoadOp) or owner.regions:
            return False
        seen.add(owner)
        pending += [] if isinstance(owner, memref.DimOp) else owner.operands
    return True


# ---- independent loops ------------------------------------------------------------------------------


def why_not_launched(loop: ForOp, nest: ForOp) -> Refusal | None:
    """Why the launch cannot be told how many iterations `loop` in `nest` has; None when it can."""
    if loop.kind != "serial":
        return Refusal(f'the loop "{loop.label}" is {loop.kind} already')
    if len(loop.lower) != 1:
        return Refusal(f'the lower bound of the loop "{loop.label}" is a max of several expressions')
    bounds = [*loop.lower_operands, *loop.upper_operands]
    if not all(is_defined_outside(v, nest) for v in bounds) or not is_known_to_host(bounds):
        return Refusal(f'the extent of the loop "{loop.label}" is not known before the launch')
    return None


def why_not_bind(loop: ForOp, nest: ForOp, dependences: Dependences) -> Refusal | None:
    """Why the iterations of `loop` in `nest` cannot be distributed over blocks and threads; None when they can."""
    if (refusal := why_not_launched(loop, nest)) is not None:
        return refusal
    if (error := why_not_independent(loop, "bind", dependences)) is None:
        return None
    if (failing := may_fail(loop)) is not None:
        return Refusal.of(error, [(failing, "this check can fail")])
    return Refusal.of(error, dependences.carried_by(loop)[0].notes)


def independent_band(nest: ForOp, dependences: Dependences) -> list[ForOp]:
    """`nest`, known to be independent, and the loops in it that are independent and nested directly."""
    band = [nest]
    while True:
        inner = _next_in_band(band[-1])
        if inner is None or why_not_bind(inner, nest, dependences) is not None:
            return band
        band.append(inner)


def _next_in_band(loop: ForOp) -> ForOp | None:
    """The last operation of the body, a loop, when all before it can be repeated by each of its iterations."""
    last = loop.body.block.last_op
    if not isinstance(last, ForOp):
        return None
    before = [op for op in loop.body.block.ops if op is not last]
    if not all(isinstance(op, LoadOp) or is_repeatable(op) for op in before):
        return None
    reads = [access for op in before for access in accesses_of(op)]
    writes = [access for op in last.walk() for access in accesses_of(op) if access.writes]
    if any(may_overlap(read, write) for read in reads for write in writes):
        return None
    return last


def is_repeatable(op: Operation) -> bool:
    """Whether `op` computes scalars only, from scalars."""
    return is_side_effect_free(op) and not op.regions and not isinstance(op, (AllocOp, LoadOp))


def stays_on_host(op: Operation) -> bool:
    """Whether `op` beside the nests of a host loop is the host's: scalars, temporaries, statements on scalars."""
    if isinstance(op, (AllocOp, StoreOp, AccumulateOp)):
        return is_known_to_host(op.operands)
    return is_repeatable(op)


# ---- extents ----------------------------------------------------------------------------------------


def why_not_guarded(loop: ForOp) -> Refusal | None:
    """Why iterations past the end of `loop` cannot be masked: they would read elements to decide what to do.

    Statements have domains, and loads that feed only them are guarded; branches, bounds and sizes have none.
    """
    for op in loop.walk():
        if op is loop or not isinstance(op, (IfOp, ForOp, AllocOp)):
            continue
        if (load := _load_behind(op.operands, loop)) is not None:
            notes: list[Note] = [(op, "this depends on an element"), (load, "which is read here")]
            reason = f'iterations past the end of the loop "{loop.label}" would read outside a buffer'
            return Refusal(reason, notes=tuple(notes))
    return None


def _load_behind(values: Sequence[SSAValue], scope: Operation) -> Operation | None:
    pending = [v.owner for v in values]
    while pending:
        owner = pending.pop()
        if isinstance(owner, Block) or not is_inside(owner, scope):
            continue
        if isinstance(owner, LoadOp):
            return owner
        pending += [v.owner for v in owner.operands]
    return None


def tile_width(extent: int | None, block: int) -> int:
    """Threads along the innermost loop of a tile: the widest that idles at most a quarter of them, or 32.

    >>> [tile_width(n, 256) for n in (1000, 300, 100, 3, None)]
    [256, 128, 128, 4, 32]
    """
    width = row_width(extent, block)
    while width > 32 and width % 2 == 0 and (extent is None or 4 * extent < 3 * -(-extent // width) * width):
        width //= 2
    return width


def row_width(extent: int | None, block: int) -> int:
    """Threads along a loop when they are all of a block: no more than twice as many as it has iterations.

    >>> [row_width(n, 256) for n in (1000, 100, 3, None)]
    [256, 128, 4, 256]
    """
    width = block
    while width % 2 == 0 and extent is not None and extent <= width // 2:
        width //= 2
    return width


def blocks_of(loop: ForOp, factor: int = 1) -> int | None:
    """How many blocks of `factor` iterations the loop has, None when that is not a constant."""
    extent = extent_of(loop)
    return None if extent is None else -(-extent // factor)


def grid_axes(counts: Sequence[int | None]) -> list[str] | None:
    """The block axis for each of at most three loops (outermost first) with that many iterations.

    Only x takes more than 65535 blocks: it goes to the innermost loop, so that neighbouring blocks touch
    neighbouring memory, unless an outer loop may have more iterations than that. None: more than one is too long.

    >>> grid_axes([40, 4]), grid_axes([None, 4]), grid_axes([100_000, None, 100_000])
    (['block.y', 'block.x'], ['block.x', 'block.y'], None)
    """
    long = [k for k, count in enumerate(counts) if count is not None and count > GRID_LIMIT]
    unknown = [k for k, count in enumerate(counts) if count is None]
    if len(long) > 1:
        return None
    first = (long or unknown or [len(counts) - 1])[0]
    others = iter(("block.y", "block.z"))
    axes = {first: "block.x"}
    for k in reversed(range(len(counts))):
        if k != first:
            axes[k] = next(others)
    return [axes[k] for k in range(len(counts))]


def bind_blocks(loops: list[ForOp], steps: Steps) -> None:
    """Bind loops to the axes of a grid. Raises where it has not as many, or a second one would be long."""
    axes = grid_axes([blocks_of(loop) for loop in loops]) if len(loops) <= 3 else None
    if axes is None:
        raise fail(loops[0], "a grid has three axes, and only one of them is long")
    for loop, axis in zip(loops, axes, strict=True):
        steps.do(bind, loop, axis=axis)


def apart(loop: ForOp, steps: Steps) -> list[ForOp]:
    """A loop for each piece of a loop's body, in their order."""
    nests: list[ForOp] = []
    while len(pieces_of(loop)) > 1:
        nest, loop = steps.do(distribute, loop, after=1)
        nests.append(nest)
    return [*nests, loop]


def make_perfect(outermost: ForOp, steps: Steps) -> None:
    """Nest loops perfectly that only loads and computations keep apart (nest-sink).

    Each thread does these anyway. Splitting a loop may leave some, where its variable is a value of the program.
    """
    loop = outermost
    while isinstance(inner := loop.body.block.last_op, ForOp):
        if inner is not loop.body.block.first_op:
            if why_not_sink(loop) is not None:
                return
            steps.do(sink, loop)
        loop = inner


def perfect_loops(outermost: ForOp, count: int, steps: Steps) -> list[ForOp]:
    """The `count` loops of a nest, perfectly nested. Raises a diagnostic where it has others, or operations between them."""
    make_perfect(outermost, steps)
    band = perfect_band(outermost)
    if len(band) != count:
        raise fail(outermost, f"it is not {count} loops with nothing between them")
    return band


def fuse_nests(first: ForOp, other: ForOp, steps: Steps) -> list[ForOp]:
    """Make two nests over the same iterations one, loop by loop: its loops. Raises the diagnostic of a step."""
    make_perfect(first, steps)
    band = perfect_band(first)
    pairs = zip(band, perfect_loops(other, len(band), steps), strict=True)
    return [steps.do(fuse, one, two) for one, two in pairs]


def joined(loops: Sequence[ForOp], steps: Steps) -> list[ForOp]:
    """Loops around each other as one: which iteration of each it is, a block computes once."""
    joined = list(loops[:1])
    for loop in loops[1:]:
        joined = [steps.do(flatten, joined[0], loop)]
    return joined


# ---- reductions to one element ----------------------------------------------------------------------


def is_whole_reduction(nest: ForOp, dependences: Dependences) -> bool:
    """Whether all that orders the iterations of `nest` are reductions, in its innermost body, to one element each."""
    return may_fail(nest) is None and all(
        d.kind == "reduction" and d.source is d.sink and _is_reduction_to_one(d.source, nest)
        for d in dependences.carried_by(nest)
    )


def _is_reduction_to_one(op: Operation, nest: ForOp) -> bool:
    assert isinstance(op, AccumulateOp)
    if op.parent_op() is not perfect_band(nest)[-1] or (op.combiner.data == "custom" and op.identity is None):
        return False
    return all(is_defined_outside(value, nest) for value in (*op.indices.operands, *op.memrefs))


def iterations(nest: ForOp) -> int | None:
    """How often the innermost statements of `nest` run together, None when that is not a constant."""
    inner = [iterations(op) for op in nest.body.block.ops if isinstance(op, ForOp)]
    extent = extent_of(nest)
    if extent is None or None in inner:
        return None
    return extent * max(1, sum(n for n in inner if n is not None))
