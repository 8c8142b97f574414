"""nest-absorb: statements beside a loop that runs once move into it.

    nest.store "sum" %zero, %sum[] : memref<f32>
    nest.for "i" %i = 0 to %n {
      nest.store "y" %a, %y[%i]
    }
    nest.for "block" %b = 0 to 1 {
      nest.for "j" %j = 0 to 256 { ... nest.accumulate "sum" add %p, %sum[] }
    }
    %s = nest.load %sum[] : memref<f32>
    %mean = arith.mulf %s, %c : f32
    nest.store "mean" %mean, %out[] : memref<f32>

becomes with loop=block

    nest.for "i" %i = 0 to %n {
      nest.store "y" %a, %y[%i]
    }
    nest.for "block" %b = 0 to 1 {
      nest.store "sum" %zero, %sum[] : memref<f32>
      nest.for "j" %j = 0 to 256 { ... nest.accumulate "sum" add %p, %sum[] }
      %s = nest.load %sum[] : memref<f32>
      %mean = arith.mulf %s, %c : f32
      nest.store "mean" %mean, %out[] : memref<f32>
    }

so that one kernel does what were three. Those before the loop come that write what it touches, and that nothing in between
touches; those right behind it, up to the next loop, come that write what it touches or something made of that. What is
loaded and computed for others, too, is so once more outside. Refused where the loop may not run once, where it is marked,
and where no statement can move. No name in Halide, TVM, Exo and NNC, whose schedules speak of loops only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import is_check
from ....analysis.nest.sets.accesses import Access, accesses_in, accesses_of
from ....analysis.nest.sets.conflicts import ordered_pairs
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp

STATEMENTS = (StoreOp, AccumulateOp)


def why_not_absorb(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to move statements into `loop`, None when some can."""
    if (refusal := refuse_marked(loop, "absorb into")) is not None:
        return refusal
    if loop.constant_trip_count() != 1:
        return fail(loop, f'cannot absorb into the loop "{loop.label}": it may not run just once')
    if not _before(loop) and not _Behind(loop).moving:
        reason = "no statement beside it writes what it touches and can move"
        return fail(loop, f'cannot absorb into the loop "{loop.label}": {reason}')
    return None


def absorb(loop: ForOp) -> ForOp:
    """Move statements beside `loop` into it; the loop. Raises the diagnostic of `why_not_absorb`."""
    if (refusal := why_not_absorb(loop)) is not None:
        raise refusal
    body = loop.body.block
    for op in _before(loop):
        op.detach()
        assert body.first_op is not None
        body.insert_op_before(op, body.first_op)
    _Behind(loop).move()
    return loop


def _is_ordered(earlier: Sequence[Access], later: Sequence[Access]) -> bool:
    """Whether accesses stay before others, which touch the same and write it."""
    return any(True for _ in ordered_pairs(earlier, later))


def _roots(accesses: Sequence[Access]) -> set[SSAValue | None]:
    return {access.root for access in accesses}


# ---- before the loop --------------------------------------------------------------------------------


def _before(loop: ForOp) -> list[Operation]:
    """The statements before `loop` that can move into it, the last one first."""
    touched, found, passed = _roots(accesses_in(loop)), [], []
    op = loop.prev_op
    while op is not None and not any(map(is_check, op.walk())):
        own = accesses_in(op)
        is_wanted = isinstance(op, STATEMENTS) and not _roots(own).isdisjoint(touched)
        if is_wanted and not _is_ordered(own, passed):
            found.append(op)
        else:
            passed += own
        op = op.prev_op
    return found


# ---- after the loop --------------------------------------------------------------------------------


class _Behind:
    """What is right behind a loop, up to the next one, and the statements among it that can move into the loop."""

    def __init__(self, loop: ForOp):
        self.loop = loop
        self.run = list(_run(loop))
        self.moving = self._statements()
        while (obstacle := self._obstacle()) is not None:
            del self.moving[self.moving.index(obstacle) :]

    def _statements(self) -> list[Operation]:
        """Those that write what the loop touches, or what is made of it."""
        touched, found = _roots(accesses_in(self.loop)), []
        for op in self.run:
            if not isinstance(op, STATEMENTS):
                continue
            used = [op, *self._made_for(op)]
            if not _roots([access for one in used for access in accesses_of(one)]).isdisjoint(touched):
                found.append(op)
                touched |= _roots(accesses_of(op))
        return found

    def _made_for(self, op: Operation) -> list[Operation]:
        """The loads and computations of the run that a statement needs, in order."""
        needed, pending = set(), list(op.operands)
        while pending:
            owner = pending.pop().owner
            if isinstance(owner, Operation) and owner in self.run and owner not in needed:
                needed.add(owner)
                pending += owner.operands
        return [one for one in self.run if one in needed and not isinstance(one, AllocOp)]

    def _staying(self) -> list[Operation]:
        """What stays after the loop: other statements, and what is loaded and computed for them."""
        staying: list[Operation] = []
        for op in reversed(self.run):
            users = [use.operation for result in op.results for use in result.uses]
            is_used = any(user not in self.run or user in staying for user in users)
            if is_used or (isinstance(op, STATEMENTS) and op not in self.moving):
                staying.append(op)
        return staying[::-1]

    def _obstacle(self) -> Operation | None:
        """The first of the statements that cannot go before one that stays."""
        staying = self._staying()
        for op in self.moving:
            moved = [access for one in (*self._made_for(op), op) for access in accesses_of(one)]
            before = [one for one in staying if one.is_before_in_block(op)]
            if any(_is_ordered(accesses_of(one), moved) for one in before):
                return op
        return None

    def move(self) -> None:
        body, block = self.loop.body.block, self.loop.parent
        assert block is not None
        for op in self.run:
            if isinstance(op, AllocOp):
                op.detach()
                block.insert_op_before(op, self.loop)
        copies: dict[SSAValue, SSAValue] = {}
        for op in self.moving:
            for made in self._made_for(op):
                if made.results[0] not in copies:
                    copy = made.clone(copies)
                    for one, other in zip(made.results, copy.results, strict=True):
                        other.name_hint = one.name_hint
                    body.add_op(copy)
            op.detach()
            body.add_op(op)
            op.operands = [copies.get(value, value) for value in op.operands]
        for op in reversed(self.run):
            if not isinstance(op, (*STATEMENTS, AllocOp)) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()


def _run(loop: ForOp) -> Iterator[Operation]:
    op = loop.next_op
    while op is not None and not op.regions and not op.has_trait(IsTerminator):
        is_plain = isinstance(op, (LoadOp, *STATEMENTS)) or (isinstance(op, AllocOp) and not op.operands)
        if not is_plain and (isinstance(op, AllocOp) or not is_side_effect_free(op)):
            return
        yield op
        op = op.next_op
