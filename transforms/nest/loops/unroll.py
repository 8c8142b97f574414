"""nest-unroll: copies of the body instead of iterations, all of them or `factor` at a time.

    nest.for "i" %i = 0 to 2 {
      nest.for "j" %j = 0 to %m {
        ... %x[%i, %j] ...
      }
    }

becomes

    nest.for "j" %j = 0 to %m {
      ... %x[0, %j] ...
    }
    nest.for "j.1" %j = 0 to %m {
      ... %x[1, %j] ...
    }

and a loop of %n iterations with factor=2

    nest.for "i.o" %o = 0 to %n floordiv 2 {
      ... %x[2 * %o] ...
      ... %x[2 * %o + 1] ...
    }
    nest.for "i.t" %t = 0 to %n mod 2 {
      ... %x[2 * (%n floordiv 2) + %t] ...
    }

The order of iterations stays, so no dependence forbids it. This copies the text; the mark `unrolled` leaves the loop
as it is and asks a later level for the copies: it is set by annotating the loop. More than 64 copies need
`force`. `unroll` in Halide and TVM is the mark; NNC's `fullUnroll` and Exo's `unroll_loop` copy, as this does.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import statements, trip_count
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ..rewrite.loops import erase_with_inputs, rename_copies, replace_index
from .split import split

MAX_COPIES = 64
"""Maximum number of copies of a body without `force`."""


def why_not_unroll(loop: ForOp, factor: int | None = None, *, force: bool = False) -> NestorError | None:
    """The diagnostic that refuses to unroll, None when it is legal."""
    if loop.kind != "unrolled" and (refusal := refuse_marked(loop, "unroll")) is not None:
        return refusal
    copies = constant_trips(loop) if factor is None else factor
    if copies is None:
        return fail(
            loop,
            f'cannot unroll the loop "{loop.label}": the number of its iterations is not known',
            hint="give a factor",
        )
    if (
        not force
        and (refusal := refuse_copies(loop, copies, "unroll", "give a smaller factor, or say force"))
        is not None
    ):
        return refusal
    return None if factor is None else why_not_block(loop, factor, "unroll")


def refuse_copies(loop: ForOp, copies: int, action: str, hint: str) -> NestorError | None:
    """The refusal to make so many copies of a body."""
    if copies <= MAX_COPIES:
        return None
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": {copies} copies of its body are more than {MAX_COPIES}',
        hint=hint,
    )


def why_not_block(loop: ForOp, factor: int, action: str) -> NestorError | None:
    """Why the iterations of a loop cannot be taken `factor` at a time, with a remainder loop."""
    what = f'cannot {action} the loop "{loop.label}" by {factor}'
    if factor < 1:
        return fail(loop, f"{what}: the factor must be positive")
    if len(loop.lower) != 1:
        return fail(loop, f"{what}: its lower bound is a max of several expressions")
    if len(loop.upper) != 1:
        return fail(loop, f"{what}: its upper bound is a min of several expressions")
    return None


def constant_trips(loop: ForOp) -> int | None:
    """The number of iterations when it is one number, though the bounds may be none (`4 * %o` to `4 * %o + 4`)."""
    if (count := loop.constant_trip_count()) is not None:
        return count
    trips = trip_count(loop)
    counts = None if trips is None else trips.constants()
    return None if counts is None else max(0, min(counts))


def unroll(loop: ForOp, factor: int | None = None, *, force: bool = False) -> ForOp | None:
    """Unroll `loop` entirely (None is left of it), or by a factor: the loop over blocks, called `i.o`.

    `loop` is consumed; a remainder is called `i.t`. Raises the diagnostic of `why_not_unroll`.
    """
    if (refusal := why_not_unroll(loop, factor, force=force)) is not None:
        raise refusal
    if factor is None:
        return _copy_body(loop)
    loop.set_kind("serial")
    outer, inner, *_ = split(loop, factor)
    _copy_body(inner)
    return outer


def _copy_body(loop: ForOp) -> None:
    """Replace `loop` by a copy of its body for each iteration."""
    count, step = constant_trips(loop), loop.step_value
    numbers = loop.lower.constants()
    start = loop.lower if numbers is None else AffineList.of(max(numbers))
    block, following = loop.parent, loop.next_op
    assert count is not None and block is not None
    if count == 0:
        loop.detach()
        loop.erase()
        return
    template = loop.clone()
    _dissolve(loop, start)
    for k in range(1, count):
        copy = template.clone()
        if following is None:
            block.add_op(copy)
        else:
            block.insert_op_before(copy, following)
        rename_copies(copy)
        _dissolve(copy, start.add(k * step))
    template.erase()


def _dissolve(loop: ForOp, position: AffineList) -> None:
    """Replace a loop by its body with the loop variable at `position`."""
    block = loop.parent
    assert block is not None
    replace_index(loop.iv, position)
    for statement in list(statements(loop)):
        settle_domain(statement)
    for op in list(loop.body.block.ops):
        op.detach()
        block.insert_op_before(op, loop)
    loop.detach()
    loop.erase()


def settle_domain(statement: StoreOp | AccumulateOp) -> None:
    """Leave out what holds by itself in the domain of a statement; the statement itself when it never runs."""
    where = statement.where
    if where is None:
        return
    constraints = [where[k] for k in range(len(where))]
    numbers = [constraint.constants() for constraint in constraints]
    if any(number is not None and number[0] < 0 for number in numbers):
        erase_with_inputs(statement)
        return
    left = [constraint for constraint, number in zip(constraints, numbers, strict=True) if number is None]
    statement.set_access(statement.indices, AffineList.of(*left).canonical() if left else None)
