"""nest-split: one loop into two, the inner of a constant number of iterations.

    nest.for "i" %i = 0 to %n {
      ... %x[%i] ...
    }

becomes with factor=16, tail=remainder

    nest.for "i.o" %o = 0 to %n floordiv 16 {
      nest.for "i.i" %v = 0 to 16 {
        ... %x[16 * %o + %v] ...
      }
    }
    nest.for "i.t" %t = 0 to %n mod 16 {
      ... %x[%t + 16 * (%n floordiv 16)] ...
    }

(where the upper bound is a min of several, all but one of them must be multiples of the factor), with tail=mask

    nest.for "i.o" %o = 0 to %n ceildiv 16 {
      nest.for "i.i" %v = 0 to 16 {
        ... statements where (16 * %o + %v < %n)
      }
    }

with tail=clamp (the inner loop ends early: it is no longer of a constant number of iterations)

    nest.for "i.o" %o = 0 to %n ceildiv 16 {
      nest.for "i.i" %v = 0 to min(16, %n - 16 * %o) {
        ... %x[16 * %o + %v] ...
      }
    }

and with tail=perfect as with remainder, but without the tail; refused unless the factor divides the extent.

Splitting keeps the order of iterations, so no dependence forbids it. Called `split` in Halide and TVM,
`divide_loop` in Exo, `splitWithTail` and `splitWithMask` in NNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Literal

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import (
    enclosing_function,
    statements,
    trip_count,
    trips_between,
)
from ....analysis.nest.sets.integer_sets import Row, System, difference, is_never_negative
from ....analysis.nest.values.extent_keys import facts_of, input_dims, value_key
from ....dialects.affine import AffineList, linear_terms
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp
from ....dialects.nest.common import INDEX, name_hint_of
from ..rewrite.loops import add_domain, fresh_names, rename_copies, replace_index
from ..rewrite.masks import why_not_masked

Tail = Literal["remainder", "mask", "clamp", "perfect"]


def why_not_split(loop: ForOp, factor: int, tail: Tail = "remainder") -> NestorError | None:
    """The diagnostic that refuses the split, None when it is legal."""
    if factor < 1:
        return fail(
            loop,
            f'cannot split the loop "{loop.label}" by {factor}: the factor must be positive',
            hint="a factor is the number of iterations of the new inner loop",
        )
    if (refusal := refuse_marked(loop, "split")) is not None:
        return refusal
    if len(loop.lower) != 1:
        from ....analysis.nest.sets.loop_bounds import largest

        if len(largest(loop.lower, loop)) != 1:
            return fail(
                loop, f'cannot split the loop "{loop.label}": its lower bound is a max of several expressions'
            )
    trips = _trips(loop)
    if tail == "perfect":
        return _why_not_perfect(loop, factor, trips)
    if tail == "remainder" and len(_not_divided(factor, trips, loop)) > 1:
        return _refuse_several(loop)
    if tail == "mask" and not _divides(factor, trips, loop):
        refusal = why_not_masked(loop)
        return None if refusal is None or _runs_whole_blocks(loop, factor, trips) else refusal
    return None


def why_no_rest(loop: ForOp, factor: int) -> NestorError | None:
    """As `why_not_split` with a remainder, which is refused of all loops that end at the smaller of several numbers: these
    are parts of others already, and to end early is better for them than a second loop."""
    if (refusal := why_not_split(loop, factor)) is not None:
        return refusal
    trips = _trips(loop)
    return _refuse_several(loop) if len(trips) != 1 and not _divides(factor, trips, loop) else None


def _refuse_several(loop: ForOp) -> NestorError:
    return fail(
        loop,
        f'cannot split the loop "{loop.label}" with a remainder: its upper bound is a min of several expressions',
        hint="use tail=mask or tail=clamp",
    )


def _trips(loop: ForOp) -> AffineList:
    """The numbers of iterations of which the least counts, of a loop with one lower bound that counts."""
    if len(loop.lower) == 1 and len(loop.upper) == 1:
        lower, upper = loop.lower, loop.upper
    else:
        from ....analysis.nest.sets.loop_bounds import largest, smallest

        lower, upper = largest(loop.lower, loop), smallest(loop.upper, loop)
    found = trips_between(lower, upper, loop.step_value)
    assert found is not None
    return found


def _why_not_perfect(loop: ForOp, factor: int, trips: AffineList) -> NestorError | None:
    if _divides(factor, trips, loop) or _runs_whole_blocks(loop, factor, trips):
        return None
    extent = loop.constant_trip_count()
    count = "an unknown number of" if extent is None else str(extent)
    return fail(
        loop,
        f'cannot split the loop "{loop.label}" perfectly by {factor}: it has {count} iterations',
        hint="use tail=remainder, tail=mask or tail=clamp",
    )


def _divides(factor: int, trips: AffineList, loop: ForOp) -> bool:
    """Whether `factor` divides all of these numbers, of which extents may be known to be multiples (`nestor.extents`)."""
    if trips.divided(AffineBinaryOpKind.Mod, factor).constants() == (0,) * len(trips):
        return True
    inputs = input_dims(enclosing_function(loop))
    multiples = [facts.multiple if (facts := facts_of(value_key(v), inputs)) else 1 for v in trips.operands]
    return max(multiples, default=1) > 1 and all(_is_multiple(e, factor, multiples) for e in trips.exprs)


def _not_divided(factor: int, trips: AffineList, loop: ForOp) -> list[AffineList]:
    """Those of the numbers that `factor` is not known to divide. With one of them the rest begins behind its whole blocks,
    and there is none where another number is less."""
    return [trips[k] for k in range(len(trips)) if not _divides(factor, trips[k], loop)]


def _is_multiple(expression: AffineExpr, factor: int, multiples: Sequence[int]) -> bool:
    """Whether `factor` divides a number that depends on multiples of these."""
    terms, constant = linear_terms(expression)
    if constant % factor:
        return False
    for atom, times in terms.items():
        needed = factor // gcd(factor, times)
        if isinstance(atom, AffineDimExpr) and multiples[atom.position] % needed == 0:
            continue
        if needed == 1 or _is_rest_of_multiples(atom, needed, multiples):
            continue
        return False
    return True


def _is_rest_of_multiples(atom: AffineExpr, factor: int, multiples: Sequence[int]) -> bool:
    """Whether it is what a division of a multiple of `factor` by another one leaves."""
    if not isinstance(atom, AffineBinaryOpExpr) or atom.kind is not AffineBinaryOpKind.Mod:
        return False
    return _is_multiple(atom.rhs, factor, ()) and _is_multiple(atom.lhs, factor, multiples)


def _runs_whole_blocks(loop: ForOp, factor: int, trips: AffineList) -> bool:
    """Whether `factor` divides the number of iterations wherever `loop` has any: where it stands, isl decides."""
    system = System(loop)
    system.require_reached(loop, "s")
    count, blocks, rest = ({system.fresh(): 1} for _ in range(3))
    system.require_zero(difference(count, {**rest, **{name: factor for name in blocks}}))
    system.require_not_negative(difference(count, {}, -1))
    system.require_not_negative(difference(rest, {}, -1))
    system.require_not_negative(difference({"": factor - 1}, rest))
    numbers = system.linear(trips, "s")
    for number in numbers:
        system.require_not_negative(difference(number, count))
    return not system.has_solution([[Row(difference(number, count), equal=True)] for number in numbers])


def split(loop: ForOp, factor: int, tail: Tail = "remainder") -> tuple[ForOp, ...]:
    """Split `loop`: `(outer, inner)`, and the remainder loop as a third when there is one.

    `loop` is consumed. Raises the diagnostic of `why_not_split` when the split is refused.
    """
    if (refusal := why_not_split(loop, factor, tail)) is not None:
        raise refusal
    if len(loop.lower) > 1 or len(loop.upper) > 1:
        from ..rewrite.loops import simplify_bounds

        simplify_bounds(loop)
    trips = trip_count(loop)
    assert trips is not None
    is_even = tail == "perfect" or _divides(factor, trips, loop)
    remainder = None
    if tail == "remainder" and not is_even:
        remainder = _make_remainder(loop, trips, factor)

    outer_name, inner_name = fresh_names(loop, f"{loop.label}.o", f"{loop.label}.i")
    rounding = AffineBinaryOpKind.CeilDiv if tail in ("mask", "clamp") else AffineBinaryOpKind.FloorDiv
    outer = ForOp(outer_name, 0, trips.divided(rounding, factor))
    lower, step = loop.lower, loop.step_value
    inner = ForOp(inner_name, 0, factor, body=loop.detach_region(loop.body))
    inner.attributes.update(loop.attributes)
    outer.location = inner.location = loop.location
    inner.iv.name_hint = name_hint_of(inner_name)
    outer.body.block.add_op(inner)
    _replace_by(loop, [outer] if remainder is None else [outer, remainder])

    position = AffineList.of(outer.iv).times(factor).plus(AffineList.of(inner.iv))
    replace_index(inner.iv, lower.plus(position.times(step)))
    if tail == "mask" and not is_even:
        _restrict(inner, trips, position)
    if tail == "clamp" and not is_even:
        done = AffineList.of(outer.iv).times(factor)
        left = [trips[k].minus(done) for k in range(len(trips))]
        inner.set_bounds(inner.lower, AffineList.of(factor, *left))
    return (outer, inner) if remainder is None else (outer, inner, remainder)


def _make_remainder(loop: ForOp, trips: AffineList, factor: int) -> ForOp:
    """The iterations that are left after whole blocks."""
    remainder = loop.clone()
    remainder.set_label(fresh_names(loop, f"{loop.label}.t")[0])
    remainder.step = IntegerAttr(1, INDEX)
    remainder.iv.name_hint = name_hint_of(remainder.label)
    for op in remainder.walk():
        if isinstance(op, AllocOp):
            from ..rewrite.buffers import fresh_buffer_name

            op.label = StringAttr(fresh_buffer_name(loop, op.label.data))
    (uneven,) = _not_divided(factor, trips, loop)
    done = uneven.divided(AffineBinaryOpKind.FloorDiv, factor).times(factor)
    position = AffineList.of(remainder.iv)
    if len(trips) == 1 and is_never_negative(trips, loop):
        remainder.set_bounds(AffineList.of(0), uneven.divided(AffineBinaryOpKind.Mod, factor))
        position = done.plus(position)
    else:
        # -1 mod 16 is 15: where the loop may be empty by more than one, the tail counts from its start.
        remainder.set_bounds(AffineList.of(0).concat(done), trips)
    replace_index(remainder.iv, loop.lower.plus(position.times(loop.step_value)))
    return remainder


def _replace_by(loop: ForOp, new: list[ForOp]) -> None:
    block = loop.parent
    assert block is not None
    for op in new:
        block.insert_op_before(op, loop)
    loop.detach()
    loop.erase()
    for op in new[1:]:
        rename_copies(op)


def _restrict(inner: ForOp, trips: AffineList, position: AffineList) -> None:
    """Statements run where `position` is one of the iterations; what the loops' bounds imply is not said again."""
    constraints = AffineList((), ())
    first = inner.body.block.first_op
    for k in range(len(trips)):
        constraint = trips[k].minus(position).add(-1)
        if len(trips) == 1 or first is None or not is_never_negative(constraint, first):
            constraints = constraints.concat(constraint)
    for statement in statements(inner):
        add_domain(statement, constraints)
