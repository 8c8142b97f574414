"""scf.if: the condition decides again.

    %y = scf.if %c -> (tensor<3xf64>) { %0 = nt.multiply %x, %w ; scf.yield %0 } else { %1 = nt.sin %x ; scf.yield %1 }
  has the cotangents (%cy that of %y)
    %cx, %cw = scf.if %c -> (tensor<3xf64>, tensor<3xf64>) {
      %2 = nt.multiply %cy, %w ; %3 = nt.multiply %cy, %x ; scf.yield %2, %3
    } else {
      %4 = nt.cos %x ; %5 = nt.multiply %cy, %4 ; scf.yield %5, %zeros
    }

What a side computes at some expense and its reverse needs is a result of the forward branch too, if it is none already; the
other side gives an `nt.empty` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.nt.ops import EmptyOp
from ..activity import used_from_outside, useful_values
from ..builder import Builder
from ..masks import Mask
from ..opened import opened
from .outer_extents import OuterExtents
from .replay import Kept, Replay, captured, copy_into, copy_of, discard, mask_of
from .stacks import unknown_of

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse

Cotangents = Sequence["SSAValue | None"]


def _sides(op: scf.IfOp) -> list[Block]:
    return [region.block for region in (op.true_region, op.false_region) if region.blocks]


def if_forward(op: scf.IfOp, by: Forward) -> Cotangents:
    """The branch gives tangents beside its results."""
    blocks, insides = [], []
    asked = [k for k, r in enumerate(op.results) if r in by.useful]
    for side in _sides(op):
        block = copy_of(side)
        end = _end(block)
        ops = opened(list(block.ops)[:-1], [v for v in captured(side) if by.of(v) is not None], [])
        end.detach()
        inside = by.inside(block, useful_values(ops, [end.operands[k] for k in asked]))
        inside.run(ops)
        blocks.append((block, [inside.now(v) for v in end.operands]))
        insides.append(inside)
        end.erase()
    with_tangents = [
        k
        for k in asked
        if any(i.of(ends[k]) is not None for i, (_, ends) in zip(insides, blocks, strict=True))
    ]
    if not with_tangents:
        for block, _ in blocks:
            discard(block)
        return [None] * len(op.results)
    for inside, (block, ends) in zip(insides, blocks, strict=True):
        tangents = [inside.full(ends[k]) for k in with_tangents]
        block.add_op(scf.YieldOp(*ends, *tangents))
    types = [r.type for r in op.results]
    new = _branch(op, [*types, *(types[k] for k in with_tangents)], [block for block, _ in blocks])
    by.builder.insert(new)
    count = len(types)
    by.replace(op, new)
    found: list[SSAValue | None] = [None] * count
    for place, k in enumerate(with_tangents):
        found[k] = new.results[count + place]
    return found


def if_reverse(op: scf.IfOp, cotangents: Cotangents, to: Reverse) -> None:
    assert op.parent is not None
    given = [k for k, c in enumerate(cotangents) if c is not None]
    masked = max(to.masked, mask_of(op))
    replays = []
    for side in _sides(op):
        replay = Replay(side, Block(), (), to)
        for k in given:
            replay.inner.add(replay.ends[k], cotangents[k], masked=masked)
        replay.run()
        replays.append(replay)
    wanted = [v for v in dict.fromkeys(used_from_outside(op)) if to.wants(v)]
    found = [{v: replay.inner.take(v) for v in wanted} for replay in replays]
    wanted = [v for v in wanted if any(side[v] is not None for side in found)]
    if not wanted:
        for replay in replays:
            discard(replay.reverse)
            discard(replay.primal)
        return
    for replay, side in zip(replays, found, strict=True):
        b = replay.inner.builder
        b.location = op.location
        gradients = [b.zeros(v) if (own := side[v]) is None else own for v in wanted]
        b.add(scf.YieldOp(*gradients))
    branch = _keep(op, replays, to)
    gradient_types = [v.type for v in _end(replays[0].reverse).operands]
    new = to.builder.add(_branch(branch, gradient_types, [r.reverse for r in replays]))
    for k, value in enumerate(wanted):
        one_sided = any(side[value] is None for side in found)
        to.add(value, new.results[k], masked=Mask.ALL if one_sided else masked)


def _keep(op: scf.IfOp, replays: Sequence[Replay], to: Reverse) -> scf.IfOp:
    """Let the forward branch give what the reverse of its sides needs, and put both halves together; gives that branch."""
    assert op.parent is not None
    before = Builder(op.parent, op, op.location)
    chosen = [replay.choose(OuterExtents(replay.primal, before, {})) for replay in replays]
    given = [{v: k for k, v in enumerate(replay.ends)} for replay in replays]
    kept = [[one for one in own if one.value not in of] for own, of in zip(chosen, given, strict=True)]
    slots, branch = _slots(kept), op
    if slots:
        sides = []
        for replay, own in zip(replays, kept, strict=True):
            block = Block()
            mapping: dict[SSAValue, SSAValue] = {}
            ends = copy_into(replay.primal, block, mapping)
            b = Builder(block, None, op.location)
            for slot in slots:
                mine = next((one for one in own if one in slot), None)
                if mine is None:
                    other = slot[0]
                    ends.append(b.value(EmptyOp(other.value.type, unknown_of(other.extents))))  # pyright: ignore
                else:
                    ends.append(mapping[mine.value])
            b.add(scf.YieldOp(*ends))
            sides.append(block)
        types = [*(r.type for r in op.results), *(slot[0].value.type for slot in slots)]
        new = _branch(op, types, sides)
        op.parent.insert_op_before(new, op)
        branch = new
        count = len(op.results)
        for slot, result in zip(slots, new.results[count:], strict=True):
            result.name_hint = slot[0].value.name_hint
        to.replace(op, new)
        for slot, result in zip(slots, list(new.results)[count:], strict=True):
            for one in slot:
                one.result = result
    for replay, own, of in zip(replays, chosen, given, strict=True):
        replay.join(own)
        for one in own:
            result = branch.results[of[one.value]] if one.value in of else one.result
            assert result is not None
            one.stand_in.replace_all_uses_with(result)
    return branch


def _end(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def _slots(kept: Sequence[Sequence[Kept]]) -> list[list[Kept]]:
    """What results are for: one value of a side, or one of each of the same type."""
    slots: list[list[Kept]] = [[one] for one in kept[0]]
    for side in kept[1:]:
        free = list(slots)
        for one in side:
            match = next(
                (s for s in free if s[0].value.type == one.value.type and s[0].extents == one.extents), None
            )
            if match is None:
                slots.append([one])
            else:
                free.remove(match)
                match.append(one)
    return slots


def _branch(op: scf.IfOp, types: Sequence[Attribute], sides: Sequence[Block]) -> scf.IfOp:
    new = scf.IfOp(op.cond, list(types), Region(sides[0]), Region(sides[1]) if len(sides) > 1 else None)
    new.location = op.location
    new.attributes.update(op.attributes)
    return new
