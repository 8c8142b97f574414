"""nest-block-moments: a sum, and the squares of what is left of its terms less a mean, part by part of the terms.

    nest.for "i" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    ... %mean from %s
    nest.for "i.1" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[] : memref<f32>
    }

with sums=i, squares=i.1, parts=8 becomes

    nest.for "i.p" %p = 0 to 8 {
      nest.store "s" %zero, %s_parts[%p]
      nest.for "i" %i = 125 * %p to 125 * %p + 125 { ... nest.accumulate "s" add %a, %s_parts[%p] }
      ... 0 to %q_parts[%p] and %rest[%p], %s_parts[%p] / 125 to %centre[%p]
      nest.for "i.1" %i = 125 * %p to 125 * %p + 125 {
        ... %d = %a - %centre[%p]
        nest.accumulate "rest" add %d, %rest[%p]
        nest.accumulate "q" add (%d * %d), %q_parts[%p]
      }
    }
    ... what sets %s, where this is a loop of its own
    nest.for "i.combine" %c = 0 to 8 { ... nest.accumulate "s" add %s_parts[%c], %s[] }
    ... %mean from %s
    nest.for "i.1.combine" %c = 0 to 8 {
      ... %g = %s_parts[%c] / 125 - %mean
      nest.accumulate "q" add (%q_parts[%c] + %g * (2 * %rest[%c] + 125 * %g)), %q[]
    }

so that the terms of a part, which the caches keep, are looked at twice, and memory is read once. For any number c the sum
of (x - mean)^2 is that of (x - c)^2, plus 2 (c - mean) times that of x - c, plus n (c - mean)^2, exactly. Here c is the mean
of the part, up to rounding, so that nothing cancels, and the sum of x - c takes back what the rounding of c did. What is
subtracted need not be a mean. Sums may have an element for each iteration of inner loops (of columns, say). As each part is
on its own, "i.p" can be parallel. The last part may have fewer terms: its number is then chosen in the loop.

Refused unless the second nest adds up squares of differences of what the first one adds up, both in any order, to elements
alike, in the same iterations, of which each part has some; and where what they read is written in between. T. Chan,
G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979). A rewrite of this
kind has no name in TVM, Halide, Exo and NNC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.accesses import accesses_of, may_alias, root_of
from ....analysis.nest.sets.conflicts import same_iterations
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.same_values import is_same_value
from ....analysis.nest.values.moment_pairs import squared_difference
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..loops.fuse import fuse
from ..rewrite.buffers import fresh_buffer_name
from .privatise import privatise, why_not_privatise


@dataclass(frozen=True, eq=False)
class _Moments:
    """The two sums, the difference that is squared, and how many terms of a part an element has."""

    sums: AccumulateOp
    squares: AccumulateOp
    difference: arith.SubfOp
    band: list[ForOp]
    """The loops around the squares."""
    count: int
    parts: int
    last: int
    """How many terms of the last part an element has."""
    start: ForOp | None
    """The loop that sets the first sums, and does nothing else; None where there is none."""


class _NoMoments(Exception):
    def __init__(self, reason: str, at: Operation):
        super().__init__(reason)
        self.at = at


# ---- legality ---------------------------------------------------------------------------------------


def why_not_block_moments(sums: ForOp, squares: ForOp, parts: int) -> NestorError | None:
    """The diagnostic that refuses to sum up parts of the two nests, None when it is legal."""
    plan = moments_plan(sums, squares, parts)
    return plan if isinstance(plan, NestorError) else None


def moments_plan(sums: ForOp, squares: ForOp, parts: int) -> _Moments | NestorError:
    """What the two nests are, or the diagnostic that refuses to sum up parts of them."""
    for loop in (sums, squares):
        if (refusal := why_not_privatise(loop, parts)) is not None:
            return refusal
    try:
        plan = _match(sums, squares, parts)
        _check_reads(sums, squares, plan)
    except _NoMoments as reason:
        message = f'cannot sum up parts of "{sums.label}" with squares of "{squares.label}": {reason}'
        return fail(sums, message, notes=[(reason.at, "here")])
    return plan


def _match(sums: ForOp, squares: ForOp, parts: int) -> _Moments:
    if sums.parent is not squares.parent or not sums.is_before_in_block(squares):
        raise _NoMoments("the squares do not follow in the same body", squares)
    first, band = perfect_band(sums), perfect_band(squares)
    extents = [loop.constant_trip_count() or 0 for loop in band]
    are_same = len(first) == len(band) and all(map(same_iterations, first, band))
    if 0 in extents or not are_same:
        raise _NoMoments(
            "they are not known to run through the same iterations, a constant number of them", squares
        )
    size = -(-extents[0] // parts)
    last = extents[0] - (parts - 1) * size
    if last <= 0:
        raise _NoMoments(f"of {parts} parts of {extents[0]} iterations not each has one", sums)
    one, two = _sole_sum(first), _sole_sum(band)
    difference = squared_difference(two)
    if difference is None:
        raise _NoMoments("what is added up second is not the square of a difference", two)
    variables = {a.iv: b.iv for a, b in zip(first, band, strict=True)}
    if not is_same_value(one.values[0], difference.lhs, variables, first[-1], band[-1]):
        raise _NoMoments("the differences are not of the terms that are added up first", difference)
    if one.indices.substitute_all(variables) != two.indices.canonical() or _shape(one) != _shape(two):
        raise _NoMoments("the two sums go to elements that are not known to correspond", two)
    free = _free_variables(two, band)
    _check_subtrahend(difference, free, band)
    each = prod(n for n, loop in zip(extents[1:], band[1:], strict=True) if loop.iv not in free)
    return _Moments(one, two, difference, band, size * each, parts, last * each, _start_of(one, first[0]))


def _start_of(update: AccumulateOp, nest: ForOp) -> ForOp | None:
    """The loop that sets the elements of a sum, where it can be moved down to the nest and does nothing else."""
    root = root_of(update.memrefs[0])
    before = nest.prev_op
    while before is not None and not isinstance(before, ForOp):
        if any(access.root is root or access.root is None for access in accesses_of(before)):
            return None
        before = before.prev_op
    if not isinstance(before, ForOp):
        return None
    inner = perfect_band(before)[-1].body.block
    return (
        before
        if all(isinstance(op, StoreOp) and op.memref is update.memrefs[0] for op in inner.ops)
        else None
    )


def _shape(update: AccumulateOp) -> tuple[int, ...]:
    type_ = update.memrefs[0].type
    assert isinstance(type_, MemRefType)
    return type_.get_shape()


def _sole_sum(band: list[ForOp]) -> AccumulateOp:
    """The sum of floating-point numbers, in any order, that is all that the nest does."""
    ops = list(band[-1].body.block.ops)
    update = ops[-1] if ops else band[-1]
    is_sum = (
        isinstance(update, AccumulateOp)
        and update.combiner.data == "add"
        and update.order_name == "any"
        and update.where is None
        and update.mask is None
        and isinstance(update.values[0].type, Float32Type | Float64Type)
    )
    others = [op for op in ops[:-1] if not isinstance(op, LoadOp) and not is_computation(op)]
    if not is_sum or others:
        raise _NoMoments(
            "a nest is not one sum of f32 or f64 numbers, in any order", others[0] if others else update
        )
    assert isinstance(update, AccumulateOp)
    return update


def _free_variables(update: AccumulateOp, band: list[ForOp]) -> set[SSAValue]:
    """The variables of the band that are indices of the sum: each of a loop over all of an axis."""
    loops = {loop.iv: loop for loop in band[1:]}
    free: set[SSAValue] = set()
    for axis, extent in enumerate(_shape(update)):
        index = update.indices[axis].canonical()
        value = index.single_value()
        if not any(loop.iv in index.operands for loop in band):
            continue
        loop = loops.pop(value, None) if value is not None else None
        if loop is None or loop.lower.constants() != (0,) or loop.constant_trip_count() != extent:
            raise _NoMoments(
                "an index of the sum is not that of an inner loop over all of its elements", update
            )
        free.add(loop.iv)
    return free


def _check_subtrahend(difference: arith.SubfOp, free: set[SSAValue], band: list[ForOp]) -> None:
    """What is subtracted is the same for all terms of an element."""
    for op in _computed(difference.rhs, band):
        indices = op.indices.operands if isinstance(op, LoadOp) else op.operands
        if any(loop.iv in indices and loop.iv not in free for loop in band):
            raise _NoMoments("what is subtracted is not the same for all terms of a sum", op)


def _computed(value: SSAValue, band: list[ForOp]) -> list[Operation]:
    """The operations of the nest that compute a value, in their order."""
    found: list[Operation] = []
    work = [value]
    while work:
        owner = work.pop().owner
        if isinstance(owner, Operation) and owner.parent_op() is band[-1] and owner not in found:
            found.append(owner)
            work += owner.operands
    return [op for op in band[-1].body.block.ops if op in found]


def _check_reads(sums: ForOp, squares: ForOp, plan: _Moments) -> None:
    """The parts of the second nest may run where the first one does: it reads what is not written from there on."""
    reads = [root_of(op.memref) for op in _computed(plan.difference.lhs, plan.band) if isinstance(op, LoadOp)]
    op: Operation | None = sums
    while op is not None and op is not squares.next_op:
        for inner in op.walk():
            for access in accesses_of(inner):
                root = access.root
                if access.writes and (root is None or any(may_alias(root, read) for read in reads)):
                    raise _NoMoments("what they read may be written from the first nest on", inner)
        op = op.next_op


# ---- rewriting --------------------------------------------------------------------------------------


def block_moments(sums: ForOp, squares: ForOp, parts: int) -> tuple[ForOp, ForOp, ForOp]:
    """Sum up `parts` parts of both nests: the loop over the parts, and those that take the two sums together.

    `sums` and `squares` stay, inside the loop over the parts. Raises the diagnostic of `why_not_block_moments`.
    """
    plan = moments_plan(sums, squares, parts)
    if isinstance(plan, NestorError):
        raise plan
    block = sums.parent
    assert block is not None
    axes = {plan.squares.indices[axis].single_value(): axis for axis in range(len(plan.squares.indices))}
    outer, combine = privatise(sums, parts)
    before = set(block.ops)
    inner, total = privatise(squares, parts)
    made = [op for op in block.ops if op not in before and op is not total]
    for op in made:
        if op is inner or isinstance(op, AllocOp | arith.ConstantOp):
            op.detach()
            block.insert_op_before(op, combine)
    rest, centre = (_like(plan.squares.memrefs[0], name, inner) for name in ("rest", "centre"))
    _take_together(plan, total, rest, axes)
    _start(plan, inner, rest, centre)
    _centre_part(plan, rest, centre)
    fuse(outer, inner)
    if plan.start is not None:
        plan.start.detach()
        block.insert_op_before(plan.start, combine)
    return outer, combine, total


def _like(buffer: SSAValue, name: str, before: Operation) -> SSAValue:
    """A new buffer of the type of `buffer`."""
    assert isinstance(buffer.type, MemRefType) and before.parent is not None
    alloc = AllocOp(fresh_buffer_name(before, name), buffer.type)
    alloc.location = before.location
    before.parent.insert_op_before(alloc, before)
    return alloc.memref


def _start(plan: _Moments, inner: ForOp, rest: SSAValue, centre: SSAValue) -> None:
    """Beside the squares of a part its rest starts, and its centre is set."""
    slots = plan.squares.memrefs[0]
    start = next(op for op in inner.walk() if isinstance(op, StoreOp) and op.memref is slots)
    total = LoadOp(plan.sums.memrefs[0], start.indices)
    count = _count(plan, inner.iv, start.value)
    mean = arith.DivfOp(total.result, count[-1].results[0])
    _insert(
        start,
        StoreOp(start.value, rest, start.indices, label="rest"),
        total,
        *count,
        mean,
        StoreOp(mean.result, centre, start.indices, label="centre"),
    )


def _centre_part(plan: _Moments, rest: SSAValue, centre: SSAValue) -> None:
    """The terms of a part less its centre, and the sum of that."""
    update, difference = plan.squares, plan.difference
    old = _computed(difference.rhs, plan.band)
    load = LoadOp(centre, update.indices)
    _insert(difference, load)
    difference.operands[1] = load.result
    _insert(update, AccumulateOp("add", [difference.result], [rest], update.indices, label="rest"))
    for op in reversed(old):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _take_together(plan: _Moments, total: ForOp, rest: SSAValue, axes: Mapping[SSAValue | None, int]) -> None:
    """Add what a part's squares are around the number that is subtracted."""
    update = next(op for op in total.walk() if isinstance(op, AccumulateOp))
    squares = update.values[0].owner
    assert isinstance(squares, LoadOp)
    axes_now = {value: update.indices[axis].single_value() for value, axis in axes.items()}
    renamed = {old: new for old, new in axes_now.items() if old is not None and new is not None}
    copies = dict(renamed)
    for op in _computed(plan.difference.rhs, plan.band):
        if isinstance(op, LoadOp):
            copy: Operation = LoadOp(op.memref, op.indices.substitute_all(renamed))
        else:
            copy = op.clone(value_mapper=dict(copies))
        copies |= dict(zip(op.results, copy.results, strict=True))
        _insert(update, copy)
    value = plan.difference.rhs
    terms, left = LoadOp(plan.sums.memrefs[0], squares.indices), LoadOp(rest, squares.indices)
    *made, count = _count(plan, total.iv, value)
    centre = arith.DivfOp(terms.result, count.results[0])
    gap = arith.SubfOp(centre.result, copies.get(value, value))
    twice = arith.AddfOp(left.result, left.result)
    moved = arith.MulfOp(count.results[0], gap.result)
    both = arith.AddfOp(twice.result, moved.result)
    more = arith.MulfOp(gap.result, both.result)
    value = arith.AddfOp(squares.result, more.result)
    _insert(update, terms, left, *made, count, centre, gap, twice, moved, both, more, value)
    update.operands[0] = value.result


def _count(plan: _Moments, part: SSAValue, like: SSAValue) -> list[Operation]:
    """How many terms of part `part` an element has, as a number like `like`: the result of the last operation."""
    assert isinstance(like.type, Float32Type | Float64Type)
    count = arith.ConstantOp(FloatAttr(float(plan.count), like.type))
    if plan.last == plan.count:
        return [count]
    fewer = arith.ConstantOp(FloatAttr(float(plan.last), like.type))
    last = arith.ConstantOp(IntegerAttr(plan.parts - 1, IndexType()))
    is_last = arith.CmpiOp(part, last.result, "eq")
    return [count, fewer, last, is_last, arith.SelectOp(is_last.result, fewer.result, count.result)]


def _insert(before: Operation, *ops: Operation) -> None:
    """Operations in front of another one, from its place in the source."""
    assert before.parent is not None
    for op in ops:
        op.location = before.location
        before.parent.insert_op_before(op, before)
