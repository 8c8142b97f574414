"""Attention on a GPU: its forward keeps one number of each row, and its reverse computes the scores again with that.

    %y = nt.composite "attention"(%q, %k, %v)        // x = f(q @ k.T), p = softmax(x), y = p @ v
  keeps l = max(x) + log(sum(exp(x - max(x)))) of each row, and has in reverse, of the cotangent %c,
    x  = f(q @ k.T)       p  = exp(x - l)                      cv = p.T @ c
    dp = c @ v.T          dx = p * (dp - sum(c * y))
  and what f and the product have in reverse for dx. No row of x is kept: %q, %k, %v and %c go through a barrier, so that x
  is not taken for that of the forward. Schedules compute it where it is used (transforms/schedulers/patterns/chains.py).

Roundings. x is that of the program, each step rounded as the program rounds it. Where the arrays have 16 bits, all of l, p,
dp, sum(c * y) and dx is computed in 32, of the exponentials and their sum as the forward has them, and of y as it was
rounded; p and dx are rounded to the arrays' type once, before the products and steps of f that take them. Products are
added up in 32 bits, and exponentials have an error of 2^-21 besides. The program's own weights are rounded two times
(exponentials, quotients), p once. In 32 and 64 bits all is computed in these.

T. Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnitAttr, bf16, f16, f32, f64
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import NT_APPROXIMATE, NT_RECOMPUTED
from ....dialects.nt.checkpoint_ops import OptimizationBarrierOp
from ....dialects.nt.composite_op import CompositeOp
from ....dialects.nt.ops import CastOp, DotOp, ReduceOp, TransposeOp, YieldOp, element_of, shape_of
from ..activity import active_values
from .closed_forms import has_closed_form

if TYPE_CHECKING:
    from ..builder import Builder
    from ..reverse import Reverse

FLOATS = (f16, bf16, f32, f64)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What is in the region of an attention."""

    scores: SSAValue
    softmax: CompositeOp
    product: DotOp
    """The one with the values."""
    values: SSAValue
    """The argument of the values."""


def mark(ops: Iterable[Operation]) -> None:
    """Let the reverse of attention compute the scores again."""
    for op in ops:
        if isinstance(op, CompositeOp) and op.label.data == "attention":
            op.attributes[NT_RECOMPUTED] = UnitAttr()


def keeps_statistics(op: CompositeOp) -> bool:
    """Whether the reverse computes the scores again: a row has more of them than features, or so many as a call knows."""
    if NT_RECOMPUTED not in op.attributes or not all(isinstance(v.type, TensorType) for v in op.inputs):
        return False
    if (parts := _parts_of(op)) is None or not has_closed_form(parts.softmax):
        return False
    if any(inner.regions for inner in _needed(parts.scores)[0]):
        return False
    keys, features = shape_of(parts.scores)[-1], shape_of(parts.values)[-1]
    return features != DYNAMIC_INDEX and (keys == DYNAMIC_INDEX or keys > features)


def _parts_of(op: CompositeOp) -> _Parts | None:
    """The parts of an attention as nn.attention writes it; None where it is something else."""
    if op.label.data != "attention" or len(op.results_) != 1:
        return None
    end = op.body.block.last_op
    assert isinstance(end, YieldOp)
    product = _before_casts(end.operands[0]).owner
    if not isinstance(product, DotOp):
        return None
    rank = len(shape_of(product.lhs))
    stack = tuple(range(rank - 2))
    is_rows_by_values = product.contract == ((rank - 1,), (rank - 2,)) and product.batch == (stack, stack)
    softmax, values = _before_casts(product.lhs).owner, _before_casts(product.rhs)
    if not is_rows_by_values or values not in op.body.block.args:
        return None
    if not isinstance(softmax, CompositeOp) or softmax.label.data != "softmax" or len(softmax.inputs) != 1:
        return None
    scores = softmax.inputs[0]
    if len(list(values.uses)) != 1 or _used_by(scores, values) or not _reductions_of(softmax):
        return None
    kinds = (element_of(scores), element_of(values), element_of(end.operands[0]))
    return _Parts(scores, softmax, product, values) if all(kind in FLOATS for kind in kinds) else None


def _before_casts(value: SSAValue) -> SSAValue:
    """What a value was before it was cast."""
    while isinstance(value.owner, CastOp):
        value = value.owner.source
    return value


def _used_by(value: SSAValue, other: SSAValue) -> bool:
    """Whether a value is computed with another one."""
    return other in _needed(value)[1]


def _needed(value: SSAValue) -> tuple[list[Operation], set[SSAValue]]:
    """The operations of its block that compute a value, in order, and all values that they read."""
    assert isinstance(value.owner, Operation)
    block, found, pending = value.owner.parent, set[Operation](), [value]
    read: set[SSAValue] = set()
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner.parent is not block or owner in found:
            continue
        found.add(owner)
        for inner in owner.walk():
            read.update(inner.operands)
        pending += [v for inner in owner.walk() for v in inner.operands]
    assert block is not None
    return [op for op in block.ops if op in found], read


def _reductions_of(softmax: CompositeOp) -> list[ReduceOp]:
    """The maximum and the sum of the last axis, which a softmax has; none where it has others."""
    found = [op for op in softmax.body.block.ops if isinstance(op, ReduceOp)]
    last = [len(shape_of(softmax.inputs[0])) - 1]
    names = [op.combiner.data for op in found]
    if names != ["maximum", "add"] or any(list(op.reduced) != last for op in found):
        return []
    return found


def reverse(op: CompositeOp, cotangent: SSAValue, to: Reverse) -> None:
    """The cotangents of its inputs."""
    parts = _parts_of(op)
    assert parts is not None
    b = to.builder
    given = dict(zip(op.body.block.args, op.inputs, strict=True))
    wide = f64 if f64 in (element_of(parts.scores), element_of(parts.values)) else f32
    norms = _norms(parts, given, wide, b)
    scores_ops, read = _needed(parts.scores)
    result = to.now(op.results_[0])
    along = _along(result, cotangent, wide, b)
    # ---- again ----
    used = [v for v in op.body.block.args if v in read and element_of(v) in FLOATS]
    barrier = b.add(OptimizationBarrierOp([*(given[v] for v in used), cotangent, norms, along]))
    *again, c, norms, along = barrier.results
    here = given | dict(zip(used, again, strict=True))
    starts = {here[v]: given[v] for v in used if to.wants(given[v])}
    copies = dict(here)
    made = [b.add(inner.clone(copies)) for inner in scores_ops]
    x = copies[parts.scores]
    values = b.cast(here[parts.values], element_of(parts.product.rhs))
    c = b.cast(c, element_of(values))
    rank = len(shape_of(x))
    stack = list(range(rank - 2))
    inside = type(to)(b, active_values(made, list(starts)), to.rules)
    dp = b.cast(b.value(DotOp(c, values, ([rank - 1], [rank - 1]), (stack, stack))), wide)
    p = b.elementwise("exp", b.elementwise("subtract", b.cast(x, wide), _spread(norms, x, b)))
    if wide == f32 and element_of(values) in (f16, bf16):
        assert isinstance(p.owner, Operation)
        p.owner.attributes[NT_APPROXIMATE] = UnitAttr()
    dx = b.elementwise("multiply", p, b.elementwise("subtract", dp, _spread(along, x, b)))
    weights = b.cast(p, element_of(values))
    inside.add(x, b.cast(dx, element_of(x)))
    inside.run(made)
    of_values = b.value(DotOp(weights, c, ([rank - 2], [rank - 2]), (stack, stack)))
    to.add(given[parts.values], b.cast(of_values, element_of(given[parts.values])))
    for value, original in starts.items():
        found = inside.take(value)
        to.add(original, None if found is None else _untransposed(found, b))


def _untransposed(value: SSAValue, b: Builder) -> SSAValue:
    """A product whose rows and columns change places is made with its factors the other way round."""
    casts: list[CastOp] = []
    turned = value
    while isinstance(turned.owner, CastOp):
        casts.append(turned.owner)
        turned = turned.owner.source
    turn = turned.owner
    if not isinstance(turn, TransposeOp):
        return value
    product = turn.source
    while isinstance(product.owner, CastOp):
        casts.append(product.owner)
        product = product.owner.source
    dot, rank = product.owner, len(shape_of(value))
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    if not isinstance(dot, DotOp) or list(turn.permutation) != swapped or len(dot.batch[0]) != rank - 2:
        return value
    (left, right), (of_left, of_right) = dot.contract, dot.batch
    made = b.value(DotOp(dot.rhs, dot.lhs, (right, left), (of_right, of_left)))
    for cast in reversed(casts):
        made = b.cast(made, element_of(cast.result))
    return made


def _norms(parts: _Parts, given: dict[SSAValue, SSAValue], wide, b: Builder) -> SSAValue:
    """Of each row the logarithm of the sum of its exponentials, by the operations that the forward has: they merge."""
    copies = dict(given)
    for inner in _needed(parts.scores)[0]:
        b.add(inner.clone(copies))
    copies[parts.softmax.body.block.args[0]] = copies[parts.scores]
    for inner in parts.softmax.body.block.ops:
        if not isinstance(inner, YieldOp):
            b.add(inner.clone(copies))
    largest, total = (b.cast(copies[one.results[0]], wide) for one in _reductions_of(parts.softmax))
    return b.elementwise("add", largest, b.elementwise("log", total))


def _along(result: SSAValue, cotangent: SSAValue, wide, b: Builder) -> SSAValue:
    """Of each row the sum of the cotangent times the result."""
    product = b.elementwise("multiply", b.cast(cotangent, wide), b.cast(result, wide))
    return b.sum(product, [len(shape_of(result)) - 1])


def _spread(rows: SSAValue, like: SSAValue, b: Builder) -> SSAValue:
    """A number for each row, repeated along it."""
    return b.broadcast(rows, range(len(shape_of(rows))), like)
