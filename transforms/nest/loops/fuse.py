"""nest-fuse: two loops that follow each other, one of which runs through the iterations of the other, into one.

    nest.for "i" %i = 0 to %n {
      nest.store "a" %x, %a[%i]
    }
    %s = nest.alloc "s" : memref<f32>
    nest.for "j" %j = 0 to %n {
      ... nest.load %a[%j] ...
    }

becomes

    %s = nest.alloc "s" : memref<f32>
    nest.for "i" %i = 0 to %n {
      nest.store "a" %x, %a[%i]
      ... nest.load %a[%i] ...
    }

The loop with fewer iterations gives its statements a domain:

    nest.for "i" %i = 0 to %n { ... }               nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 1 to %n - 1 {       becomes       ...
      nest.store "b" %x, %b[%j]                       nest.store "b" %x, %b[%i] where (1 <= %i, %i < %n - 1)
    }                                               }

What is between the loops, nests among it, moves before them, when it computes, allocates, or touches nothing that the
first loop touches. Refused when a dependence would be turned around: an iteration of the second loop touches an element
that a later iteration of the first one touches (one of them writing it; updates of a reduction in any order commute,
but its result is not to be read before it is complete), when neither loop provably runs through the iterations of the
other. Where a domain does not do (a call, a load that a branch depends on, another step) the body becomes a branch.
`compute_with` in Halide, `fuseLoops` in NNC, `fuse` in Exo; TVM reaches it by `reverse_compute_at`.
(`fuse` of Halide and TVM, which makes one loop of two nested ones, is `nest-flatten` here.)
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpKind
from xdsl.traits import is_side_effect_free

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import loops_in, may_fail, statements
from ....analysis.nest.sets.accesses import FRESH, VIEWS, Access, accesses_in
from ....analysis.nest.sets.accesses import buffer_name as described
from ....analysis.nest.sets.conflicts import (
    Comparison,
    Relation,
    acts_within,
    can_meet,
    ordered_pairs,
    same_iterations,
    turned_around,
    verb_of,
)
from ....analysis.nest.sets.dependence import Dependences, analyse, equal_in_one_iteration
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, ForOp, LoadOp, StoreOp
from ..rewrite.loops import add_domain
from ..rewrite.masks import put_in_branch, unmaskable, without_domain

_FARTHEST_SHIFT = 8
"""How far a hint looks for a shift of the second loop that makes fusing legal."""


def why_not_fuse(first: ForOp, second: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to fuse, None when it is legal."""
    for loop in (first, second):
        if (refusal := refuse_marked(loop, "fuse")) is not None:
            return refusal
    if first is second or first.parent is not second.parent or not first.is_before_in_block(second):
        return _refusal(
            first, second, f'"{second.label}" does not follow "{first.label}" in the same body', second
        )
    for loop in (first, second):
        if (op := may_fail(loop)) is not None:
            reason = "an error must be that of the first iteration in program order"
            return _refusal(first, second, reason, op, "this check can fail")
    dependences = dependences or analyse(first)
    for op in _between(first, second):
        if (refusal := _why_not_move(first, second, op, dependences)) is not None:
            return refusal
    if not same_iterations(first, second):
        ranges = _ranges(first, second)
        if ranges is None:
            return _different(first, second)
        if (refusal := _why_not_branch(first, second, *ranges)) is not None:
            return refusal
    return _why_not_order(first, second, dependences)


def _ranges(first: ForOp, second: ForOp) -> tuple[ForOp, ForOp] | None:
    """The loop whose range holds for both, and the other one; None where neither is known to be such a loop."""
    for larger, smaller in ((first, second), (second, first)):
        is_stated = _keeps_step(smaller, larger) or len(smaller.lower) == 1
        if is_stated and acts_within(smaller, larger):
            return larger, smaller
    return None


def _keeps_step(smaller: ForOp, larger: ForOp) -> bool:
    """Whether all values of the larger loop between the bounds of the smaller one are iterations of that."""
    return smaller.step_value in (1, larger.step_value)


def _needs_branch(smaller: ForOp, larger: ForOp) -> bool:
    """Whether domains of statements are not enough for the smaller loop to do in the larger one what it does."""
    return not _keeps_step(smaller, larger) or without_domain(smaller) is not None or any(unmaskable(smaller))


def _why_not_branch(first: ForOp, second: ForOp, larger: ForOp, smaller: ForOp) -> NestorError | None:
    """Refuses a branch around loops that are bound: all threads of a block run through them."""
    if not _needs_branch(smaller, larger):
        return None
    for inner in loops_in(smaller)[1:]:
        if inner.kind in BIND_AXES:
            reason = f'they have different iterations, and a branch would be around "{inner.label}"'
            return _refusal(first, second, reason, inner, f"it is bound to {inner.kind}")
    return None


def _refusal(
    first: ForOp, second: ForOp, reason: str, at: Operation, note: str = "here", hint: str | None = None
) -> NestorError:
    message = f'cannot fuse the loops "{first.label}" and "{second.label}": {reason}'
    return fail(first, message, hint=hint, notes=[(at, note)])


def _between(first: ForOp, second: ForOp) -> Iterator[Operation]:
    op = first.next_op
    while op is not None and op is not second:
        yield op
        op = op.next_op


def _why_not_move(first: ForOp, second: ForOp, op: Operation, dependences: Dependences) -> NestorError | None:
    """Why an operation between the loops cannot move before the first one."""
    if is_side_effect_free(op) or isinstance(op, (*FRESH, *VIEWS)):
        return None
    is_nest = isinstance(op, ForOp) and may_fail(op) is None
    if not is_nest and not isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
        return _refusal(
            first, second, f'there is an operation between them that cannot move before "{first.label}"', op
        )
    touched = accesses_in(op)
    for source, sink, _ in ordered_pairs(dependences.accesses_in(first), touched):
        reason = f'there is an access between them that cannot move before "{first.label}"'
        return _refusal(
            first, second, reason, sink.op, f"it touches {described(source.buffer)}, as that loop does"
        )
    return None


def _different(first: ForOp, second: ForOp) -> NestorError:
    shift = _shift_to_match(first, second)
    hint = f'shift the loop "{second.label}" by {shift} first' if shift is not None else None
    return _refusal(
        first,
        second,
        "neither is known to run through the iterations of the other",
        second,
        "the other loop is here",
        hint or "cut or peel the loops to one range first",
    )


def _shift_to_match(first: ForOp, second: ForOp) -> int | None:
    """The constant that the bounds of the second loop are behind those of the first."""
    if len(first.lower) != 1 or len(second.lower) != 1 or first.step_value != second.step_value:
        return None
    gap = first.lower.minus(second.lower).constants()
    if gap is None or len(first.upper) != len(second.upper):
        return None
    return gap[0] if second.upper.add(gap[0]) == first.upper.canonical() else None


def _why_not_order(first: ForOp, second: ForOp, dependences: Dependences) -> NestorError | None:
    pairs = ordered_pairs(dependences.accesses_in(first), dependences.accesses_in(second))
    turned = [(source, sink, kind) for source, sink, kind in pairs if _turned(first, second, source, sink)]
    if not turned:
        return None
    source, sink, kind = turned[0]
    name = described(source.buffer or sink.buffer)
    return fail(
        first,
        f'cannot fuse the loops "{first.label}" and "{second.label}": {turned_around(kind)}',
        hint=_shift_hint(first, second, [(a, b) for a, b, _ in turned]),
        notes=[
            (source.op, f'a later iteration of "{first.label}" {verb_of(source)} {name}'),
            (sink.op, f'an earlier one of "{second.label}" {verb_of(sink)} the same element'),
        ],
    )


def _turned(first: ForOp, second: ForOp, source: Access, sink: Access, by: int = 0) -> bool:
    """Whether `source` in some iteration of `first` touches what `sink` touches in one of `second`, run `by`
    later, that would come before it.
    """
    if by == 0 and _meet_in_one_iteration(first, second, source, sink):
        return False
    delayed = AffineList.of(second.iv).add(by)
    later: Relation = [[Comparison(delayed, "t", "<", AffineList.of(first.iv), "s")]]
    return can_meet((first, second), source, sink, later)


def _meet_in_one_iteration(first: ForOp, second: ForOp, source: Access, sink: Access) -> bool:
    """A cheap proof that the two touch one element in the same iteration of their loops only."""
    if source.buffer is not sink.buffer or source.indices is None or sink.indices is None:
        return False
    return equal_in_one_iteration(source.indices, sink.indices.substitute(second.iv, first.iv), [first])


def _shift_hint(first: ForOp, second: ForOp, turned: list[tuple[Access, Access]]) -> str | None:
    for count in range(1, _FARTHEST_SHIFT + 1):
        by = count * first.step_value
        if not any(_turned(first, second, source, sink, by) for source, sink in turned):
            return (
                f'it is legal with the loop "{second.label}" shifted by {by}: shift it, and cut off the '
                "iterations that only one of the loops has"
            )
    return None


def fuse(first: ForOp, second: ForOp, dependences: Dependences | None = None) -> ForOp:
    """Make one loop, called like the first, of two; `second` is consumed.

    Raises the diagnostic of `why_not_fuse`.
    """
    if (refusal := why_not_fuse(first, second, dependences)) is not None:
        raise refusal
    block = first.parent
    assert block is not None
    ranges = None if same_iterations(first, second) else _ranges(first, second)
    for op in list(_between(first, second)):
        op.detach()
        block.insert_op_before(op, first)
    if ranges is not None:
        larger, smaller = ranges
        _guard(smaller, larger)
        first.set_bounds(larger.lower, larger.upper)
        first.step = larger.step
    second.iv.replace_all_uses_with(first.iv)
    for op in list(second.body.block.ops):
        op.detach()
        first.body.block.add_op(op)
    for name, attribute in second.attributes.items():
        first.attributes.setdefault(name, attribute)
    second.detach()
    second.erase()
    return first


def _guard(smaller: ForOp, larger: ForOp) -> None:
    """Let `smaller` do in the iterations of `larger` what it does in its own ones."""
    constraints = _constraints(smaller, larger)
    if not _keeps_step(smaller, larger):
        behind = AffineList.of(smaller.iv).minus(smaller.lower)
        multiple = behind.divided(AffineBinaryOpKind.Mod, smaller.step_value).times(-1)
        constraints = constraints.concat(multiple)
    if not len(constraints):
        return
    if _needs_branch(smaller, larger):
        put_in_branch(smaller, constraints)
        return
    for statement in statements(smaller):
        add_domain(statement, constraints)


def _constraints(smaller: ForOp, larger: ForOp) -> AffineList:
    """What the bounds of `smaller` say of its variable, and those of `larger` do not: expressions that are >= 0."""
    own, other = AffineList.of(smaller.iv), AffineList.of(larger.iv)
    first = larger.body.block.first_op
    needed = AffineList((), ())
    for k in range(len(smaller.lower) + len(smaller.upper)):
        rest = k - len(smaller.lower)
        inside = other.minus(smaller.lower[k]) if rest < 0 else smaller.upper[rest].minus(other).add(-1)
        if first is None or not is_never_negative(inside, first):
            needed = needed.concat(inside.substitute(larger.iv, own))
    return needed
