"""nest-block-exponentials: a maximum, and the sum of exponentials of the differences from it, part by part of the terms.

    nest.for "i" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      nest.accumulate "m" maximum %a, %m[] : memref<f32>
    }
    %maximum = nest.load %m[] : memref<f32>
    nest.for "i.1" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      %d = arith.subf %a, %maximum : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %y[%i] : memref<1000xf32>
      nest.accumulate "s" add %e, %s[] : memref<f32>
    }

with maxima=i, sums=i.1, parts=8 becomes

    nest.for "i.p" %p = 0 to 8 {
      nest.store "m" %lowest, %m_parts[%p]
      nest.for "i" %i = 125 * %p to 125 * %p + 125 { ... nest.accumulate "m" maximum %a, %m_parts[%p] }
      nest.store "s" %zero, %s_parts[%p]
      ... %shift from %m_parts[%p], or 0 where that is no finite number
      nest.for "i.1" %i = 125 * %p to 125 * %p + 125 { ... nest.accumulate "s" add exp(%a - %shift), %s_parts[%p] }
    }
    nest.for "i.combine" %c = 0 to 8 { ... nest.accumulate "m" maximum %m_parts[%c], %m[] }
    %maximum = nest.load %m[] : memref<f32>
    nest.for "i.1.combine" %c = 0 to 8 {
      ... %scale is exp(%m_parts[%c] - %maximum)
      nest.accumulate "s" add (%s_parts[%c] * %scale), %s[]
    }
    nest.for "i.1.rest" %i = 0 to 1000 { ... nest.store "e" exp(%a - %maximum), %y[%i] }

so that the terms of a part, which registers or caches keep, are looked at twice, and memory is read once. What the second
loop stores is computed again, from the maximum of all: each stored number is the one of the program. The sum differs from
the program's by rounding alone, as where it is reordered: no term is above exp(0) = 1, and no scale is. NaN and infinities
give what they gave: a part of nothing but -inf has the sum 0 and the scale exp(-inf - %maximum), which is 0, or NaN where
all terms are -inf; a part with +inf is shifted by 0, so that its sum is +inf, and its scale is exp(0 - %maximum). Scales
have the type of the sum. What is subtracted is the maximum, or 0 in its place where that is not finite (logsumexp).

Refused unless the loops are such a pair, in any order, of as many iterations as are known; unless what the second one reads
is not written from the first one on, nor the maximum or the sum by what it stores. M. Milakov and
N. Gimelshein, "Online normalizer calculation for softmax" (2018). A rewrite of this kind has no name in TVM, Halide, Exo
and NNC.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, FloatAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.sets.accesses import accesses_of, may_alias, root_of
from ....analysis.nest.sets.conflicts import same_iterations
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.same_values import is_same_value
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..loops.fuse import fuse
from ..rewrite.loops import fresh_names
from .privatise import privatise, why_not_privatise

OLT = 4
"""arith's number for "ordered and less"."""


@dataclass(frozen=True, eq=False)
class _Exponentials:
    """The reduction of each loop, and the difference whose exponential is summed up."""

    maximum: AccumulateOp
    sums: AccumulateOp
    difference: arith.SubfOp


class _NoExponentials(Exception):
    def __init__(self, reason: str, at: Operation):
        super().__init__(reason)
        self.at = at


# ---- legality ---------------------------------------------------------------------------------------


def why_not_block_exponentials(maxima: ForOp, sums: ForOp, parts: int) -> NestorError | None:
    """The diagnostic that refuses to take parts of the two loops, None when it is legal."""
    plan = exponentials_plan(maxima, sums, parts)
    return plan if isinstance(plan, NestorError) else None


def exponentials_plan(maxima: ForOp, sums: ForOp, parts: int) -> _Exponentials | NestorError:
    """What the two loops are, or the diagnostic that refuses to take parts of them."""
    for loop in (maxima, sums):
        if (refusal := why_not_privatise(loop, parts)) is not None:
            return refusal
    try:
        plan = _match(maxima, sums, parts)
        _check_order(maxima, sums, plan)
    except _NoExponentials as reason:
        message = (
            f'cannot take parts of the maximum "{maxima.label}" with exponentials "{sums.label}": {reason}'
        )
        return fail(maxima, message, notes=[(reason.at, "here")])
    return plan


def _match(maxima: ForOp, sums: ForOp, parts: int) -> _Exponentials:
    if maxima.parent is not sums.parent or not maxima.is_before_in_block(sums):
        raise _NoExponentials("the exponentials do not follow in the same body", sums)
    extent = maxima.constant_trip_count() or 0
    if not extent or not same_iterations(maxima, sums):
        raise _NoExponentials("their numbers of iterations are not known to be one constant", sums)
    if extent <= (parts - 1) * -(-extent // parts):
        raise _NoExponentials(f"of {parts} parts of {extent} iterations not each has one", maxima)
    maximum, total = _sole_update(maxima, "maximum"), _sole_update(sums, "add")
    if any(isinstance(op, StoreOp) for op in maxima.body.block.ops):
        raise _NoExponentials("the loop of the maximum stores something", maxima)
    if not isinstance(total.values[0].type, Float32Type | Float64Type):
        raise _NoExponentials("the sum is not one of f32 or f64 numbers", total)
    value = total.values[0].owner
    while isinstance(value, arith.ExtFOp):
        value = value.input.owner
    difference = value.operand.owner if isinstance(value, math.ExpOp) else None
    if not isinstance(difference, arith.SubfOp) or difference.parent_op() is not sums:
        raise _NoExponentials("what is added up is not the exponential of a difference", total)
    if not is_same_value(maximum.values[0], difference.lhs, {maxima.iv: sums.iv}, maxima, sums):
        raise _NoExponentials(
            "the differences are not of the elements that the maximum is taken over", difference
        )
    if not _is_maximum(difference.rhs, maximum, maxima, sums):
        raise _NoExponentials("what is subtracted is not the maximum", difference)
    return _Exponentials(maximum, total, difference)


def _sole_update(loop: ForOp, combiner: str) -> AccumulateOp:
    """The reduction of the loop to one element, by this combiner, in any order; else the loop computes and stores."""
    update: AccumulateOp | None = None
    for op in loop.body.block.ops:
        if isinstance(op, AccumulateOp) and update is None:
            update = op
        elif isinstance(op, AccumulateOp) or (
            not isinstance(op, LoadOp | StoreOp)
            and op is not loop.body.block.last_op
            and not is_computation(op)
        ):
            raise _NoExponentials("a loop does more than one reduction", op)
    if update is None or update.combiner.data != combiner or update.order_name != "any":
        raise _NoExponentials(f'a loop has no reduction by "{combiner}", in any order', update or loop)
    if update.where is not None or update.mask is not None or len(update.memrefs) != 1:
        raise _NoExponentials("a reduction has a domain", update)
    if loop.iv in update.indices.operands:
        raise _NoExponentials("a reduction is not to one element", update)
    return update


def _is_maximum(value: SSAValue, maximum: AccumulateOp, maxima: ForOp, sums: ForOp) -> bool:
    """Whether a value is the maximum when the first loop has ended, or 0 in its place where it is not finite."""
    owner = value.owner
    if isinstance(owner, LoadOp):
        is_it = (
            owner.memref is maximum.memrefs[0] and owner.indices.canonical() == maximum.indices.canonical()
        )
        is_after = owner.parent is maxima.parent and maxima.is_before_in_block(owner)
        return is_it and (is_after or owner.parent_op() is sums)
    if not isinstance(owner, arith.SelectOp) or not _is_maximum(owner.lhs, maximum, maxima, sums):
        return False
    other, test = owner.rhs.owner, owner.cond.owner
    if not isinstance(other, arith.ConstantOp) or not isinstance(test, arith.CmpfOp):
        return False
    size, bound = test.lhs.owner, test.rhs.owner
    return (
        _number(other) == 0.0
        and test.predicate.value.data == OLT
        and isinstance(size, math.AbsFOp)
        and size.operand is owner.lhs
        and isinstance(bound, arith.ConstantOp)
        and _number(bound) == inf
    )


def _number(op: arith.ConstantOp) -> float | None:
    return op.value.value.data if isinstance(op.value, FloatAttr) else None


def _check_order(maxima: ForOp, sums: ForOp, plan: _Exponentials) -> None:
    """The sums of parts may be taken where the maxima are: nothing that they read is written from there on."""
    reads = [root_of(op.memref) for op in sums.body.block.ops if isinstance(op, LoadOp)]
    reads = [root for root in reads if root is not root_of(plan.maximum.memrefs[0])]
    target = root_of(plan.maximum.memrefs[0])
    op: Operation | None = maxima
    while op is not None and op is not sums.next_op:
        for inner in op.walk():
            for access in accesses_of(inner):
                root = access.root
                if access.writes and (root is None or any(may_alias(root, read) for read in reads)):
                    raise _NoExponentials(
                        "what the exponentials are computed from may be written from the first loop on", inner
                    )
                if access.writes and op is not maxima and root is not None and may_alias(root, target):
                    raise _NoExponentials("the maximum is written after its loop", inner)
        op = op.next_op


# ---- rewriting --------------------------------------------------------------------------------------


def block_exponentials(maxima: ForOp, sums: ForOp, parts: int) -> tuple[ForOp, ForOp, ForOp, ForOp | None]:
    """Take `parts` parts of both loops: the loop over the parts, those that take them together, and what is stored.

    `maxima` and `sums` stay, inside the loop over the parts; the last loop is None where the second one stores nothing.
    Raises the diagnostic of `why_not_block_exponentials`.
    """
    plan = exponentials_plan(maxima, sums, parts)
    if isinstance(plan, NestorError):
        raise plan
    block = maxima.parent
    assert block is not None
    subtracted = plan.difference.rhs
    rest = _stored_apart(sums, plan)
    outer, combine = privatise(maxima, parts)
    before = set(block.ops)
    inner, total = privatise(sums, parts)
    made = [op for op in block.ops if op not in before and op is not total]
    _take_together(plan, total, subtracted)
    _shift_part(plan, sums)
    for op in made:
        if op is inner or isinstance(op, AllocOp | arith.ConstantOp):
            op.detach()
            block.insert_op_before(op, combine)
    fuse(outer, inner)
    return outer, combine, total, rest


def _stored_apart(sums: ForOp, plan: _Exponentials) -> ForOp | None:
    """Move what the second loop stores to a loop of its own behind it, with what it is computed from."""
    stores = [op for op in sums.body.block.ops if isinstance(op, StoreOp)]
    if not stores:
        return None
    rest = sums.clone()
    assert isinstance(rest, ForOp) and sums.parent is not None
    (name,) = fresh_names(sums, f"{sums.label}.rest")
    rest.set_label(name)
    for op, copy in zip(sums.walk(), rest.walk(), strict=True):
        copy.location = op.location  # pyright: ignore
    sums.parent.insert_op_after(rest, sums)
    for op in stores:
        _erase(op)
    update = next(op for op in rest.body.block.ops if isinstance(op, AccumulateOp))
    _erase(update)
    for loop in (sums, rest):
        for op in reversed(list(loop.body.block.ops)):
            if (isinstance(op, LoadOp) or is_computation(op)) and not any(r.uses for r in op.results):
                _erase(op)
    return rest


def _shift_part(plan: _Exponentials, sums: ForOp) -> None:
    """Subtract the maximum of the part, or 0 where it is not finite, instead of that of all."""
    difference = plan.difference
    assert isinstance(difference.rhs.type, AnyFloat)
    old, element = difference.rhs.owner, difference.rhs.type
    found = LoadOp(plan.maximum.memrefs[0], _at_part(plan, sums))
    size = math.AbsFOp(found.result)
    infinite = arith.ConstantOp(FloatAttr(inf, element))
    zero = arith.ConstantOp(FloatAttr(0.0, element))
    is_finite = arith.CmpfOp(size.result, infinite.result, "olt")
    shift = arith.SelectOp(is_finite.result, found.result, zero.result)
    shift.result.name_hint = "shift"
    _insert(sums, found, size, infinite, zero, is_finite, shift)
    difference.operands[1] = shift.result
    if isinstance(old, Operation) and old.parent_op() is sums and not any(r.uses for r in old.results):
        _erase(old)


def _at_part(plan: _Exponentials, sums: ForOp) -> AffineList:
    """The place of the part's maximum: that of its sum has the same part in front."""
    part = sums.parent_op()
    assert isinstance(part, ForOp)
    return AffineList.of(part.iv)


def _take_together(plan: _Exponentials, total: ForOp, subtracted: SSAValue) -> None:
    """Add the sums of the parts, each times the exponential of what its maximum is less than that of all."""
    update = next(op for op in total.walk() if isinstance(op, AccumulateOp))
    load = update.values[0].owner
    assert isinstance(load, LoadOp)
    owner = subtracted.owner
    made: list[Operation] = []
    if (
        isinstance(owner, LoadOp) and owner.parent is not total.parent
    ):  # of the loop that now is inside of a part
        made.append(copy := owner.clone())
        subtracted = copy.results[0]
    wide = update.values[0].type
    assert isinstance(wide, AnyFloat) and isinstance(subtracted.type, AnyFloat)
    found = LoadOp(plan.maximum.memrefs[0], load.indices)
    infinite = arith.ConstantOp(FloatAttr(inf, subtracted.type))
    zero = arith.ConstantOp(FloatAttr(0.0, subtracted.type))
    is_infinite = arith.CmpfOp(found.result, infinite.result, "oeq")
    base = arith.SelectOp(is_infinite.result, zero.result, found.result)
    made += [found, infinite, zero, is_infinite, base]
    terms: list[SSAValue] = [base.result, subtracted]
    if wide != subtracted.type:
        widened = [arith.ExtFOp(term, wide) for term in terms]
        made += widened
        terms = [op.result for op in widened]
    less = arith.SubfOp(terms[0], terms[1])
    scale = math.ExpOp(less.result)
    scale.result.name_hint = "scale"
    scaled = arith.MulfOp(load.result, scale.result)
    _insert(update, *made, less, scale, scaled)
    update.operands[0] = scaled.result


def _insert(before: Operation, *ops: Operation) -> None:
    """Operations in front of another one, from its place in the source."""
    assert before.parent is not None
    for op in ops:
        op.location = before.location
        before.parent.insert_op_before(op, before)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
