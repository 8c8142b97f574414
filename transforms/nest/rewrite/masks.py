"""Iterations that a loop has more than the program: its statements are masked, and nothing else in it may be noticed.

nest.for "i.i" %v = 0 to 16 {                    // past the end of %x for the last %o
  %a = nest.load %x[16 * %o + %v]                // read where the statement runs
  nest.store "y" %a, %y[16 * %o + %v] where (16 * %o + %v < %n)
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.nest.loop_structure import is_check
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside
from ....analysis.nest.sets.domains import DIVISIONS, is_computation
from ....dialects.affine import AffineList, comparison
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp
from .loops import materialise


def why_not_masked(loop: ForOp, *, from_none: bool = False) -> NestorError | None:
    """Refuses to run more iterations than there are, with the statements masked, where that is more than statements.

    `from_none`: also where the program has none. Else there is one before the new ones, and they do again what that does."""
    if (op := _may_fail_anew(loop, from_none)) is not None:
        return fail(
            loop,
            f'cannot split the loop "{loop.label}" with a mask: iterations outside of its bounds would check indices that '
            "the program does not use",
            hint="use tail=remainder",
            notes=[(op, "this check can fail")],
        )
    if (op := without_domain(loop)) is not None:
        return fail(
            loop,
            f"cannot split the loop \"{loop.label}\" with a mask: '{op.name}' in it would run outside of its bounds as "
            "well, and has no domain",
            hint="use tail=remainder or tail=clamp",
            notes=[(op, "this is not a statement with a domain")],
        )
    for op in unmaskable(loop):
        if not from_none and type(op) in DIVISIONS and _is_same_in_all(op, loop):
            continue
        return fail(
            loop,
            f'cannot split the loop "{loop.label}" with a mask: iterations outside of its bounds would read elements '
            "that the program does not, and no domain keeps them from it",
            hint="use tail=remainder or tail=clamp",
            notes=[(op, why_unmaskable(op))],
        )
    return None


def _may_fail_anew(loop: ForOp, from_none: bool) -> Operation | None:
    """A check below `loop` that could fail in an iteration outside of its bounds only."""
    checks = (op for op in loop.walk() if is_check(op))
    return next((op for op in checks if from_none or not _is_same_in_all(op, loop)), None)


def _is_same_in_all(op: Operation, loop: ForOp) -> bool:
    """Whether every iteration does what the first one of its block, which is one of the program, has done."""
    return op.parent is loop.body.block and all(is_defined_outside(value, loop) for value in op.operands)


def without_domain(loop: ForOp) -> Operation | None:
    """A call, a window or another operation below `loop` that is not known to do nothing where no statement does."""
    for op in loop.body.walk():
        if isinstance(op, memref.SubviewOp | memref.ReinterpretCastOp) or any(
            access.buffer is None for access in accesses_of(op)
        ):
            return op
        if isinstance(op, AllocOp) and not all(is_defined_outside(size, loop) for size in op.sizes):
            return op
    return None


def unmaskable(loop: ForOp) -> Iterator[Operation]:
    """The loads and divisions below `loop` that run whatever the domains of statements are.

    Something else than a statement makes use of them, or nothing does.
    """
    for op in loop.body.walk():
        if (isinstance(op, LoadOp) or type(op) in DIVISIONS) and not _serves_statements(op):
            yield op


def why_unmaskable(op: Operation) -> str:
    """Why no domain keeps `op` from running, for a note."""
    if any(result.uses for result in op.results):
        return "a branch or a bound depends on this value"
    return "nothing uses this value"


def _serves_statements(op: Operation) -> bool:
    """Whether statements alone make use of `op`, at once or through other loads and operations."""
    pending, seen = [op], {op}
    while pending:
        users = {use.operation for result in pending.pop().results for use in result.uses}
        if not users:
            return False
        for user in users - seen:
            if isinstance(user, (StoreOp, AccumulateOp)) or isinstance(user.parent_op(), AccumulateOp):
                continue
            if not (isinstance(user, LoadOp) or is_computation(user)):
                return False
            seen.add(user)
            pending.append(user)
    return True


def put_in_branch(loop: ForOp, constraints: AffineList) -> None:
    """Put the body of `loop` into a branch that is taken where all the constraints are >= 0."""
    body = loop.body.block
    inside = list(body.ops)
    for op in inside:
        op.detach()
    taken = Block()
    taken.add_ops(inside)
    holds: SSAValue | None = None
    added: list[Operation] = []
    for k in range(len(constraints)):
        left, relation, right = comparison(constraints[k].exprs[0])
        one, other = (
            materialise(AffineList((side,), constraints[k].operands), body, None) for side in (left, right)
        )
        added.append(compare := arith.CmpiOp(one, other, "slt" if relation == "<" else "sge"))
        if holds is not None:
            added.append(arith.AndIOp(holds, compare.result))
        holds = added[-1].results[0]
        body.add_ops([op for op in added if op.parent is None])
    assert holds is not None
    branch = IfOp(holds, Region(taken))
    body.add_op(branch)
    for op in body.ops:
        op.location = loop.location
