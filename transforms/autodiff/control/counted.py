"""scf.for: forward mode carries tangents beside values; the reverse counts the other way.

    %h = scf.for %k = %c0 to %c20 step %c1 iter_args(%h0 = %x) -> (tensor<4xf64>) {
      %0 = nt.dot %h0, %w ... ; %1 = nt.tanh %0 ; scf.yield %1
    }
  becomes, where the cotangent %ch of %h is given,
    %h, %s = scf.for %k = ... iter_args(%h0 = %x, %s0 = %empty) {...}      // %s: the %h0 (and %1) of each iteration
    %cx, %cw = scf.for %j = %c0 to %c20 step %c1 iter_args(%ch0 = %ch, %cw0 = %zeros) {
      %h0 = nt.slice %s[19 - %j, 0] ...                                     // iteration 19 - j
      ...
      scf.yield %ch1, %cw1                                                   // added up in place
    }

Kept are values that a minimum cut chooses (`replay.py`), along a new first axis (`stacks.py`). A carried value that is
kept has a place more: what an iteration gives is what the next one starts from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ....dialects.affine import AffineList
from ....dialects.diagnostic import fail
from ....dialects.nt.ops import INDEX
from ..activity import used_from_outside, useful_values
from ..builder import Builder
from ..masks import Mask
from ..opened import opened
from .carried import active_carried, useful_carried
from .counting import Counting
from .outer_extents import Extent, OuterExtents
from .replay import Kept, Replay, captured, copy_arguments, copy_into, copy_of, mask_of, sweep
from .snapshots import Snapshots, snapshots_of
from .stacks import empty_stack, get, part, put
from .totals import Totals

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse

Cotangents = Sequence["SSAValue | None"]


# ---- forward mode ----------------------------------------------------------------------------------------


def for_forward(op: scf.ForOp, by: Forward) -> Cotangents:
    """The loop carries tangents beside values."""
    body = op.body.block
    arguments = list(body.args[1:])
    known = {v for v in captured(body) if by.of(v) is not None}
    started = {k for k, start in enumerate(op.iter_args) if by.of(start) is not None}
    asked = {k for k, r in enumerate(op.results) if r in by.useful}
    useful = useful_carried(body, arguments, asked)
    moving = sorted(active_carried(body, arguments, started, known) & useful)
    if not moving:
        return [None] * len(op.results)
    block = copy_of(body)
    block.args[0].name_hint = body.args[0].name_hint
    carry_tangents(op, block, block.args[1:], known, useful, moving, by)
    starts = [by.full(op.iter_args[k]) for k in moving]
    new = scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *starts], Region(block))
    return in_place_of(op, new, moving, by)


def carry_tangents(
    op: scf.ForOp | scf.WhileOp,
    block: Block,
    carried: Sequence[BlockArgument],
    known: Iterable[SSAValue],
    useful: Iterable[int],
    moving: Sequence[int],
    by: Forward,
) -> None:
    """Give a copy of a loop's body a tangent for each carried value of `moving`, as further arguments and yields."""
    own = list(carried)
    tangents = {k: block.insert_arg(own[k].type, len(block.args)) for k in moving}
    ops = opened(list(block.ops)[:-1], [*known, *(own[k] for k in moving)], [])
    end = block.last_op
    assert end is not None
    ends = list(end.operands)
    end.detach()
    end.erase()
    inside = by.inside(block, useful_values(ops, [ends[k] for k in useful]))
    for k, tangent in tangents.items():
        inside.set(own[k], tangent)
    inside.run(ops)
    ends = [inside.now(v) for v in ends]
    inside.builder.location = op.location
    inside.builder.add(scf.YieldOp(*ends, *(inside.full(ends[k]) for k in moving)))


def in_place_of(
    op: scf.ForOp | scf.WhileOp, new: scf.ForOp | scf.WhileOp, moving: Sequence[int], by: Forward
) -> Cotangents:
    """Put the loop that carries tangents of the values `moving` in the place of `op`; gives its tangents."""
    new.attributes.update(op.attributes)
    new.location = op.location
    by.builder.insert(new)
    count = len(op.results)
    by.replace(op, new)
    found: list[SSAValue | None] = [None] * count
    for place, k in enumerate(moving):
        found[k] = new.results[count + place]
    return found


# ---- reverse mode ----------------------------------------------------------------------------------------


def cotangent_type(value: SSAValue) -> Attribute:
    """The type of the cotangent of a value."""
    return TensorType(value.type, []) if isinstance(value.type, AnyFloat) else value.type


def require_tensors(op: scf.ForOp | scf.WhileOp) -> None:
    """What loops carry are tensors."""
    for result in op.results:
        if not isinstance(result.type, TensorType):
            raise fail(op, f"{op.name} carries {result.type}: loops on tensors carry tensors")


def for_reverse(op: scf.ForOp, cotangents: Cotangents, to: Reverse) -> None:
    """The loop keeps what its reverse needs, which runs from the last iteration to the first."""
    reverse_loop(op, cotangents, to)


def reverse_loop(op: scf.ForOp, cotangents: Cotangents, to: Reverse, silent: bool = False) -> None:
    """As above; `silent`: the loop is a replay, and its effects have happened."""
    require_tensors(op)
    assert op.parent is not None
    body, builder, location, first_values = op.body.block, to.builder, op.location, list(op.iter_args)
    arguments = list(body.args[1:])
    outer = [v for v in dict.fromkeys(used_from_outside(op)) if to.wants(v)]
    inside_uses = [v for v in captured(body) if to.wants(v)]
    started = {k for k, start in enumerate(op.iter_args) if start in outer}
    active = active_carried(body, arguments, started, inside_uses)
    given = {k for k, c in enumerate(cotangents) if c is not None}
    moving = sorted(useful_carried(body, arguments, given) & active)
    if not moving:
        return
    counting = Counting(op, Builder(op.parent, op, op.location))
    may_not_run = counting.length == 0 or not isinstance(counting.length, int)
    has_zeros = len(given) < len(moving) or may_not_run
    masked = max(to.masked, mask_of(op), Mask.SINGULAR if has_zeros else Mask.NONE)
    reverse = Block(arg_types=[INDEX, *(cotangent_type(arguments[k]) for k in moving)])
    replay = Replay(body, reverse, [k + 1 for k in active], to, silent)
    inner = replay.inner
    seeds: dict[SSAValue, BlockArgument] = {}
    for value in inside_uses:
        seeds[value] = reverse.insert_arg(cotangent_type(value), len(reverse.args))
        inner.add(value, seeds[value], masked=masked)
    for k, argument in zip(moving, reverse.args[1:], strict=False):
        inner.add(replay.ends[k], argument, masked=masked)
    replay.run()
    inner.builder.location = location
    own = replay.primal.args[1:]
    ends = [inner.builder.zeros(own[k]) if (c := inner.take(own[k])) is None else c for k in moving]
    totals = {v: inner.take(v) for v in inside_uses}
    for value, seed in seeds.items():
        total = totals[value]
        if total is seed and seed.uses.get_length() == 0:
            totals.pop(value)
            reverse.erase_arg(seed)
        else:
            assert total is not None
            ends.append(total)
    inner.builder.add(scf.YieldOp(*ends))
    bound = snapshots_of(op)
    place = counting.from_end(reverse.args[0])
    starts = [builder.zeros(first_values[k]) if (c := cotangents[k]) is None else c for k in moving]
    if bound is not None:
        snapshots = Snapshots(op, bound, replay, counting, to)
        starts += [*(builder.zeros(v) for v in totals), *(more := snapshots.starts())]
        carried = [reverse.insert_arg(v.type, len(reverse.args)) for v in more]
        _give(reverse, [*_ends(reverse), *snapshots.enter(reverse, carried, place)])
        behind = None
    else:
        reads = _keep(op, replay, counting, to)
        outer = OuterExtents(reverse, builder, dict(zip(reverse.args[1:], starts, strict=False)))
        behind = Totals(reverse, outer, reads)
        left = dict(zip(totals, _ends(reverse)[len(moving) :], strict=True))
        left = {v: behind.take_out(v, seeds[v], total) for v, total in left.items()}
        _give(reverse, [*_ends(reverse)[: len(moving)], *(t for v, t in left.items() if t is not seeds[v])])
        gone = [seeds[v] for v, total in left.items() if total is seeds[v]]
        totals = {v: total for v, total in left.items() if total is not seeds[v]}
        starts += [*(builder.zeros(v) for v in totals), *(more := behind.stacks(builder, counting.length))]
        carried = [reverse.insert_arg(v.type, len(reverse.args)) for v in more]
        _give(reverse, [*_ends(reverse), *behind.push(carried, place)])
        sweep(reverse)
        for seed in gone:
            reverse.erase_arg(seed)
    variable = replay.primal.args[0]
    if variable.uses.get_length():
        assert reverse.first_op is not None
        variable.replace_all_uses_with(
            Builder(reverse, reverse.first_op, location).index(counting.variable(place))
        )
    first, step = builder.index_constant(0), builder.index_constant(1)
    new = builder.add(scf.ForOp(first, _as_value(counting.length, builder), step, starts, Region(reverse)))
    reverse.args[0].name_hint = f"{body.args[0].name_hint}_back" if body.args[0].name_hint else None
    results = iter(new.results)
    for k in moving:
        to.add(first_values[k], next(results), masked=masked)
    for value in totals:
        to.add(value, next(results), masked=masked)
    if behind is not None:
        for value, gradient in behind.gradients(builder, list(results)):
            to.add(value, gradient, masked=masked)


def _ends(block: Block) -> list[SSAValue]:
    assert block.last_op is not None
    return list(block.last_op.operands)


def _give(block: Block, values: Sequence[SSAValue]) -> None:
    """Let a block give these values."""
    end = block.last_op
    assert end is not None
    new = scf.YieldOp(*values)
    new.location = end.location
    block.erase_op(end)
    block.add_op(new)


def _as_value(extent: Extent, builder: Builder) -> SSAValue:
    return builder.index_constant(extent) if isinstance(extent, int) else extent


def _keep(op: scf.ForOp, replay: Replay, counting: Counting, to: Reverse) -> dict[SSAValue, SSAValue]:
    """Let the loop keep what its reverse needs, and put what is computed again into the reverse.

    Gives what the reverse reads from stacks, and these.
    """
    assert op.parent is not None
    before = Builder(op.parent, op, op.location)
    starts: dict[SSAValue, SSAValue] = dict(zip(replay.primal.args[1:], op.iter_args, strict=True))
    kept = replay.choose(OuterExtents(replay.primal, before, starts))
    _share(op, replay, kept)
    if kept:
        _with_stacks(op, replay, kept, counting, before, to)
    replay.join(kept)
    first = replay.reverse.first_op
    assert first is not None
    at = Builder(replay.reverse, first, op.location)
    place = counting.from_end(replay.reverse.args[0])
    reads: dict[SSAValue, SSAValue] = {}
    for one in kept:
        stack = one.result if one.shares is None else one.shares.result
        assert stack is not None
        here = place if one.first is None else place.add(1)
        read = get(at, stack, here, one.value, one.extents)
        one.stand_in.replace_all_uses_with(read)
        if one.first is not None or one.shares is not None:
            stack = part(to.builder, stack, 0 if one.first is None else 1, counting.length, one.extents)
        reads[read] = stack
    return reads


def _share(op: scf.ForOp, replay: Replay, kept: Sequence[Kept]) -> None:
    """What an iteration starts from and what the one before it gives are one stack, where both are kept."""
    of = {one.value: one for one in kept}
    for argument, end, start in zip(replay.primal.args[1:], replay.ends, op.iter_args, strict=True):
        given = of.get(end)
        if argument in of and given is not None and isinstance(end.owner, Operation) and given.first is None:
            of[argument].shares, given.first = given, start


def _with_stacks(
    op: scf.ForOp, replay: Replay, kept: Sequence[Kept], counting: Counting, before: Builder, to: Reverse
) -> None:
    """Put the loop that keeps values in the place of the loop."""
    assert op.parent is not None
    kept = [one for one in kept if one.shares is None]
    stacks: list[SSAValue] = []
    for one in kept:
        length = counting.length if one.first is None else counting.longer(before)
        stack = empty_stack(before, one.value, length, one.extents)
        if one.first is not None:
            stack = put(before, stack, one.first, AffineList.of(0), one.extents)
        stacks.append(stack)
    block = copy_arguments(replay.primal)
    carried = [block.insert_arg(stack.type, len(block.args)) for stack in stacks]
    for argument, stack in zip(carried, stacks, strict=True):
        argument.name_hint = stack.name_hint
    mapping: dict[SSAValue, SSAValue] = dict(zip(replay.primal.args, block.args, strict=False))
    b = Builder(block, None, op.location)
    place = counting.place(block.args[0])
    # What an iteration starts from is kept first: it may be overwritten then.
    kept_now = {
        one: put(b, argument, mapping[one.value], place, one.extents)
        for one, argument in zip(kept, carried, strict=True)
        if one.value in mapping
    }
    ends = copy_into(replay.primal, block, mapping)
    for one, argument in zip(kept, carried, strict=True):
        stack = kept_now.get(one)
        here = place if one.first is None else place.add(1)
        ends.append(put(b, argument, mapping[one.value], here, one.extents) if stack is None else stack)
    b.add(scf.YieldOp(*ends))
    new = scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *stacks], Region(block))
    new.location = op.location
    new.attributes.update(op.attributes)
    op.parent.insert_op_before(new, op)
    for one, result, stack in zip(kept, new.results[len(op.results) :], stacks, strict=True):
        one.result = result
        result.name_hint = stack.name_hint
    to.replace(op, new)
