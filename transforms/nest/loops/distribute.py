"""nest-distribute: one loop into several that run one after the other, each with a part of the body.

    nest.for "i" %i = 0 to %n {
      %v = nest.load %x[%i]
      nest.store "y" %v, %y[%i]
      nest.accumulate "s" add %v, %s[]
    }

becomes with after=y

    nest.for "i" %i = 0 to %n {
      %v = nest.load %x[%i]
      nest.store "y" %v, %y[%i]
    }
    nest.for "i.1" %i = 0 to %n {
      %v = nest.load %x[%i]
      nest.accumulate "s" add %v, %s[]
    }

The pieces of the body are its statements, loops and branches. `after` is the label of one (of a loop its name) or
a count of pieces; without it the loop is cut wherever that is legal. Refused when a dependence would be turned
around: the part after the cut touches an element in an iteration, and the part before it in a later one
(reductions in any order commute). Computations on which both parts depend are done in both, loads among them when
they give the same value in the second loop; a value that cannot be computed again has to be stored first.
`fission` in Exo, `distributeLoop` in NNC, loop distribution in LLVM; not a primitive of Halide or TVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import may_fail
from ....analysis.nest.sets.accesses import FRESH, VIEWS, Access, accesses_of, is_private
from ....analysis.nest.sets.accesses import buffer_name as described
from ....analysis.nest.sets.conflicts import (
    Comparison,
    Relation,
    can_meet,
    ordered_pairs,
    turned_around,
    verb_of,
)
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..memory.expand_buffer import expand_buffer, why_not_expand_buffer
from ..rewrite.loops import fresh_names


def pieces_of(loop: ForOp) -> list[Operation]:
    """What the body of `loop` consists of: its operations that do more than compute a value or allocate."""
    return [op for op in loop.body.block.ops if not _is_computation(op)]


def _is_computation(op: Operation) -> bool:
    return isinstance(op, (LoadOp, *FRESH, *VIEWS)) or is_side_effect_free(op)


def why_not_distribute(
    loop: ForOp, after: str | int | None = None, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to distribute, None when it is legal: at one point at least where none is given."""
    if (refusal := refuse_marked(loop, "distribute")) is not None:
        return refusal
    if (op := may_fail(loop)) is not None:
        reason = "an error must be that of the first iteration in program order"
        return _refusal(loop, reason, notes=[(op, "this check can fail")])
    points = _points(loop, after)
    if isinstance(points, NestorError):
        return points
    dependences = dependences or analyse(loop)
    refusals = [_why_not_cut(loop, point, dependences) for point in points]
    return None if None in refusals else refusals[0]


def _expanded(cut: _Cut) -> list[AllocOp]:
    """The buffers of an iteration that both parts use."""
    return [op for op in cut.needed if isinstance(op, AllocOp) and op in cut.first]


def _refusal(
    loop: ForOp, reason: str, hint: str | None = None, notes: Sequence[tuple[Operation, str]] = ()
) -> NestorError:
    return fail(loop, f'cannot distribute the loop "{loop.label}": {reason}', hint=hint, notes=notes)


def _points(loop: ForOp, after: str | int | None) -> list[Operation] | NestorError:
    """The pieces after which the loop may be cut."""
    pieces = pieces_of(loop)
    if len(pieces) < 2:
        return _refusal(loop, "its body is one piece")
    if after is None:
        return pieces[:-1]
    if isinstance(after, int):
        if 1 <= after < len(pieces):
            return [pieces[after - 1]]
        return _refusal(loop, f"it cannot be cut after {after} pieces: its body has {len(pieces)}")
    chosen = [piece for piece in pieces if _label(piece) == after]
    if not chosen:
        labels = ", ".join(filter(None, map(_label, pieces))) or "none has a label"
        return _refusal(loop, f'nothing directly in its body is called "{after}"', f"pieces: {labels}")
    if len(chosen) > 1:
        notes = [(piece, "one is here") for piece in chosen]
        hint = "give the number of pieces instead"
        return _refusal(loop, f'{len(chosen)} pieces of its body are called "{after}"', hint, notes)
    if chosen[0] is pieces[-1]:
        return _refusal(loop, f'nothing comes after "{after}"', notes=[(chosen[0], "here")])
    return chosen


def _label(piece: Operation) -> str:
    if isinstance(piece, ForOp):
        return piece.label
    return piece.statement if isinstance(piece, (StoreOp, AccumulateOp)) else ""


# ---- where a body can be cut ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cut:
    """A body cut in two: what the first part keeps, and the computations before the cut that the second needs."""

    first: list[Operation]
    needed: list[Operation]
    second: list[Operation]

    @staticmethod
    def after(loop: ForOp, piece: Operation) -> _Cut:
        ops = list(loop.body.block.ops)
        head, second = ops[: ops.index(piece) + 1], ops[ops.index(piece) + 1 :]
        needed = _needed_by(second, head)
        kept = _needed_by([op for op in head if op not in needed], head)
        moved = set(needed) - set(kept)
        return _Cut([op for op in head if op not in moved], needed, second)


def _needed_by(users: Iterable[Operation], candidates: Sequence[Operation]) -> list[Operation]:
    """The operations of `candidates` (in their order) whose results `users` need, and not `users` themselves."""
    before, wanted = set(candidates), set[Operation]()
    work = list(users)
    while work:
        for value in [value for op in work.pop().walk() for value in op.operands]:
            owner = value.owner
            if isinstance(owner, Operation) and owner in before and owner not in wanted:
                wanted.add(owner)
                work.append(owner)
    return [op for op in candidates if op in wanted]


def _why_not_cut(loop: ForOp, piece: Operation, dependences: Dependences) -> NestorError | None:
    cut = _Cut.after(loop, piece)
    for op in cut.needed:
        if (refusal := _why_not_again(loop, cut, op, dependences)) is not None:
            return refusal
    firsts, seconds = (_shared(loop, part, dependences) for part in (cut.first, cut.second))
    for source, sink, kind in ordered_pairs(seconds, firsts):
        if can_meet([loop], source, sink, [[_strictly_before(loop)]]):
            name = described(source.buffer or sink.buffer)
            notes = [
                (source.op, f"{verb_of(source)} {name} in an earlier iteration"),
                (sink.op, f"{verb_of(sink)} the same element in a later one, and would run before it"),
            ]
            return _refusal(loop, turned_around(kind), notes=notes)
    return None


def _why_not_again(loop: ForOp, cut: _Cut, op: Operation, dependences: Dependences) -> NestorError | None:
    """Why `op`, which is before the cut, cannot be done in the second loop."""
    if isinstance(op, FRESH):
        if op not in cut.first:
            return None
        reason, notes = "both parts use a buffer that each iteration makes for itself", []
        if isinstance(op, AllocOp):
            refusal = why_not_expand_buffer(op, loop, dependences)
            if refusal is None:
                return None
            notes = [(op, refusal.diagnostic.message)]
        notes += [(op, "the buffer is made here"), (cut.second[0], "the second part starts here")]
        return _refusal(
            loop, reason, "move the allocation out of the loop, with an axis for its iterations", notes
        )
    if not _is_computation(op):
        notes = [(op, "the value is made here"), (cut.second[0], "the second part starts here")]
        return _refusal(loop, "the second part uses a value that cannot be computed again", notes=notes)
    if not isinstance(op, LoadOp):
        return None
    [load] = accesses_of(op)
    accesses = [access for part in cut.first for access in dependences.accesses_in(part)]
    for write, _, _ in ordered_pairs(accesses, [load]):
        # of a buffer of its own, an iteration finds what it wrote itself
        relation = "<=" if _is_later(write.op, op) else "<"
        if is_private(write, loop):
            relation = relation.removeprefix("<")
        if not relation:
            continue
        cases: Relation = [[Comparison(AffineList.of(loop.iv), "s", relation, AffineList.of(loop.iv), "t")]]
        if can_meet([loop], load, write, cases):
            return _refusal(
                loop,
                "the second part uses a value that cannot be loaded again after the first",
                "store the value in a buffer with an axis for the iterations of the loop",
                [(op, "the value is loaded here"), (write.op, "this overwrites the element")],
            )
    return None


def _strictly_before(loop: ForOp) -> Comparison:
    return Comparison(AffineList.of(loop.iv), "s", "<", AffineList.of(loop.iv), "t")


def _is_later(inner: Operation, op: Operation) -> bool:
    """Whether `inner`, at or below an operation of the block of `op`, comes after `op`."""
    while inner.parent is not op.parent:
        parent = inner.parent_op()
        assert parent is not None
        inner = parent
    return op.is_before_in_block(inner)


def _shared(loop: ForOp, part: Sequence[Operation], dependences: Dependences) -> list[Access]:
    """The accesses of `part` to buffers that outlive an iteration."""
    return [a for op in part for a in dependences.accesses_in(op) if not is_private(a, loop)]


# ---- cutting ----------------------------------------------------------------------------------------


def distribute(
    loop: ForOp, after: str | int | None = None, dependences: Dependences | None = None
) -> tuple[ForOp, ...]:
    """Cut `loop` after a piece of its body, or wherever it is legal; the loops in program order.

    Two loops where a point is given; `loop` itself is the first. Raises the diagnostic of `why_not_distribute`.
    """
    if (refusal := why_not_distribute(loop, after, dependences)) is not None:
        raise refusal
    points = _points(loop, after)
    assert isinstance(points, list)
    legal = [point for point in points if _why_not_cut(loop, point, analyse(loop)) is None]
    cheap = [point for point in legal if not _expanded(_Cut.after(loop, point))]
    parts: list[ForOp] = []
    for point in reversed(cheap or legal):
        if _why_not_cut(loop, point, analyse(loop)) is None:
            for buffer in _expanded(_Cut.after(loop, point)):
                expand_buffer(buffer, loop)
            parts.append(_cut(loop, _Cut.after(loop, point)))
    parts.reverse()
    for part in parts:
        part.set_label(fresh_names(loop, loop.label)[0])
    return (loop, *parts)


def _cut(loop: ForOp, cut: _Cut) -> ForOp:
    rest = ForOp(loop.label, loop.lower, loop.upper, step=loop.step_value)
    rest.location = loop.location
    rest.attributes.update(loop.attributes)
    rest.iv.name_hint = loop.iv.name_hint
    assert loop.parent is not None
    loop.parent.insert_op_after(rest, loop)
    renamed: dict[SSAValue, SSAValue] = {loop.iv: rest.iv}
    stays = set(cut.first)
    for op in [*cut.needed, *cut.second]:
        if op in stays:
            rest.body.block.add_op(op.clone(renamed))
            continue
        op.detach()
        rest.body.block.add_op(op)
        for inner in op.walk():
            if any(value in renamed for value in inner.operands):
                inner.operands = [renamed.get(value, value) for value in inner.operands]
    return rest
