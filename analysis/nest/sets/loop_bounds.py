"""Bounds of loops: which of several expressions counts, and whether an index that is given is known before a loop."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from .integer_sets import is_never_negative


def largest(expressions: AffineList, scope: Operation) -> AffineList:
    """The expressions of a max without those that are never above another one where `scope` runs."""
    kept: list[AffineList] = []
    for k in range(len(expressions)):
        one = expressions[k]
        if any(is_never_negative(other.minus(one), scope) for other in kept):
            continue
        kept = [other for other in kept if not is_never_negative(one.minus(other), scope)]
        kept.append(one)
    return AffineList.of(*kept).canonical()


def smallest(expressions: AffineList, scope: Operation) -> AffineList:
    """The expressions of a min without those that are never below another one where `scope` runs."""
    return largest(expressions.times(-1), scope).times(-1)


def refuse_several(loop: ForOp, action: str, side: str) -> NestorError | None:
    """The refusal of a loop whose `side` (`lower` or `upper`) bound stays a max or min of several expressions."""
    bound = largest(loop.lower, loop) if side == "lower" else smallest(loop.upper, loop)
    if len(bound) == 1:
        return None
    combiner = "max" if side == "lower" else "min"
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": its {side} bound is a {combiner} of several expressions',
    )


def as_point(given: AffineList | SSAValue | int) -> AffineList:
    """A number of iterations given as an integer, a value, or an expression, as an expression."""
    return (given if isinstance(given, AffineList) else AffineList.of(given)).canonical()


def refuse_unknown(loop: ForOp, action: str, given: AffineList | SSAValue | int) -> NestorError | None:
    """The refusal of a point that is not one expression over indices that are known before `loop` starts."""
    point = as_point(given)
    if len(point) != 1:
        return fail(
            loop, f'cannot {action} the loop "{loop.label}": {len(point)} expressions given instead of one'
        )
    for value in point.operands:
        name = f' "{value.name_hint}"' if value.name_hint else ""
        if not isinstance(value.type, IndexType):
            reason = f"the value{name} is not an index but {value.type}"
        elif not is_known_before(value, loop):
            reason = f"the value{name} is not known before it starts"
        else:
            continue
        return fail(loop, f'cannot {action} the loop "{loop.label}": {reason}')
    return None


def is_known_before(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is computed before `op`, in its block or one around it."""
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    current: Operation | None = op
    while current is not None and current.parent is not home:
        current = current.parent_op()
    if current is None or home is None:
        return False
    return isinstance(owner, Block) or owner.is_before_in_block(current)
