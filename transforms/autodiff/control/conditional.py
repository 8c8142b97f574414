"""scf.while: it counts its iterations, and the reverse replays it as an scf.for of that many.

  %h = scf.while (%h0 = %x) ... { scf.condition(%c) %h0 } do { ... scf.yield %h1 }
becomes
  %h, %n = scf.while (%h0 = %x, %n0 = %zero) ... do { ... scf.yield %h1, %n1 }       // effects happen here
  %r, %s = scf.for %k = %c0 to %n step %c1 iter_args(%h0 = %x, %s0 = ...) {...}       // keeps what the reverse needs
  %cx = scf.for ...                                                                   // the reverse of that
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.diagnostic import fail
from ....dialects.nt.constants import from_numpy
from ....dialects.nt.ops import INDEX, ConstantOp, ToScalarOp
from ..builder import Builder
from .carried import active_carried, useful_carried
from .counted import carry_tangents, in_place_of, require_tensors, reverse_loop
from .replay import captured, copy_arguments, copy_into, copy_of, has_effect

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse

Cotangents = Sequence["SSAValue | None"]


def while_forward(op: scf.WhileOp, by: Forward) -> Cotangents:
    """The loop carries tangents beside values."""
    _require_passed_on(op)
    body = op.after_region.block
    arguments = list(body.args)
    known = {v for v in captured(body) if by.of(v) is not None}
    started = {k for k, start in enumerate(op.arguments) if by.of(start) is not None}
    asked = {k for k, r in enumerate(op.results) if r in by.useful}
    useful = useful_carried(body, arguments, asked)
    moving = sorted(active_carried(body, arguments, started, known) & useful)
    if not moving:
        return [None] * len(op.results)
    before, block = copy_of(op.before_region.block), copy_of(body)
    passed = [before.insert_arg(block.args[k].type, len(before.args)) for k in moving]
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    carry_tangents(op, block, block.args, known, useful, moving, by)
    _pass_on(before, condition, passed)
    starts = [*op.arguments, *(by.full(op.arguments[k]) for k in moving)]
    new = scf.WhileOp(starts, [v.type for v in starts], Region(before), Region(block))
    return in_place_of(op, new, moving, by)


def while_reverse(op: scf.WhileOp, cotangents: Cotangents, to: Reverse) -> None:
    """Count, replay, and reverse the replay."""
    _require_passed_on(op)
    require_tensors(op)
    body = op.after_region.block
    for inner in body.ops:
        if has_effect(inner):
            raise fail(
                inner,
                "a call that happens once cannot be replayed: a while loop around it is not differentiated",
                hint="give the function around it a derivative of its own with nt.custom_vjp",
            )
    replayed = Block(arg_types=[INDEX, *(a.type for a in body.args)])
    replayed.args[0].name_hint = "k"
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, replayed.args[1:], strict=True))
    for old, new in mapping.items():
        new.name_hint = old.name_hint
    ends = copy_into(body, replayed, mapping)
    replayed.add_op(scf.YieldOp(*ends))
    starts = list(op.arguments)
    count = _counted(op, to)
    b = to.builder
    length = b.value(arith.IndexCastOp(b.value(ToScalarOp(count)), INDEX))
    loop = scf.ForOp(b.index_constant(0), length, b.index_constant(1), starts, Region(replayed))
    loop.attributes.update(op.attributes)
    b.add(loop)
    reverse_loop(loop, cotangents, to, silent=True)


def _counted(op: scf.WhileOp, to: Reverse) -> SSAValue:
    """Put a loop that counts in the place of the loop; gives the count, a tensor of rank 0."""
    assert op.parent is not None
    first = Builder(op.parent, op, op.location)
    zero = first.value(ConstantOp(from_numpy(np.array(0), i64)))
    blocks = []
    for region in (op.before_region, op.after_region):
        block = copy_arguments(region.block)
        mapping: dict[SSAValue, SSAValue] = dict(zip(region.block.args, block.args, strict=True))
        for inner in region.block.ops:
            block.add_op(inner.clone(mapping))
        blocks.append((block, block.insert_arg(zero.type, len(block.args))))
    (before, passed), (after, number) = blocks
    condition, end = before.last_op, after.last_op
    assert isinstance(condition, scf.ConditionOp) and end is not None
    _pass_on(before, condition, [passed])
    b = Builder(after, end, op.location)
    more = b.elementwise("add", number, b.value(ConstantOp(from_numpy(np.array(1), i64))))
    b.add(scf.YieldOp(*end.operands, more))
    after.erase_op(end)
    starts = [*op.arguments, zero]
    new = scf.WhileOp(starts, [v.type for v in starts], Region(before), Region(after))
    new.attributes.update(op.attributes)
    new.location = op.location
    first.insert(new)
    to.replace(op, new)
    new.results[-1].name_hint = "count"
    return new.results[-1]


def _pass_on(before: Block, condition: scf.ConditionOp, more: Sequence[SSAValue]) -> None:
    """Let the condition of a loop pass on more values."""
    new = scf.ConditionOp(condition.operands[0], *condition.operands[1:], *more)
    new.location = condition.location
    before.erase_op(condition)
    before.add_op(new)


def _require_passed_on(op: scf.WhileOp) -> None:
    before = op.before_region.block
    condition: Operation | None = before.last_op
    assert condition is not None
    if list(condition.operands[1:]) != list(before.args):
        raise fail(condition, "the condition of a loop on tensors passes on its block's arguments, in order")
