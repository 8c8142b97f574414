"""nt.snapshots = c on a loop: its reverse keeps c of the states that iterations start from, and runs parts of it again.

nt.snapshot_bytes = n: as many of them as fit into n bytes.

Iteration i needs its state. The nearest snapshot before it is where the loop goes on from, and leaves more snapshots on
the way in the slots that are free; how far apart is the binomial schedule, by which n iterations run again as few times
in all as c snapshots allow. What they need of a step is computed again from its state. All is decided at run time: n
need not be known.

    %r, %p, %s, %top = scf.for ...                        // the states at positions %p are in the stack %s
    %cx = scf.for %j = 0 to %n ... {
      scf.for %q = %p[top - 1] to %n - 1 - %j {...}       // from the last snapshot to iteration n - 1 - j
      ...                                                  // the reverse of that iteration
    }

Source: Griewank and Walther, Algorithm 799: Revolve (ACM Transactions on Mathematical Software 26, 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ....dialects.affine import AffineList
from ....dialects.attributes import NT_SNAPSHOT_BYTES, NT_SNAPSHOTS
from ....dialects.diagnostic import fail
from ....dialects.nt.constants import from_numpy
from ....dialects.nt.ops import INDEX, ConstantOp, FromScalarOp, LoopsOp, ToScalarOp, element_of
from ....dialects.nt.types import width_of
from ..builder import Builder
from .carried import useful_carried
from .counting import Counting
from .outer_extents import Extent, OuterExtents
from .replay import Kept, Replay, copy_of, discard, has_effect, silence, sweep
from .stacks import empty_stack, get, put

if TYPE_CHECKING:
    from ..reverse import Reverse


@dataclass(frozen=True)
class Bound:
    """What the snapshots of a loop may take: so many of them, or so many bytes."""

    count: int | None = None
    bytes: int | None = None


def snapshots_of(op: Operation) -> Bound | None:
    """What bounds the snapshots of a loop; None where it keeps what each iteration needs. Raises for less than 1."""
    for name in (NT_SNAPSHOTS, NT_SNAPSHOT_BYTES):
        asked = op.attributes.get(name)
        if asked is None:
            continue
        if not isinstance(asked, IntegerAttr) or asked.value.data < 1:
            what = "one snapshot" if name == NT_SNAPSHOTS else "one byte"
            raise fail(op, f"{name} is {asked}: a loop keeps {what} or more")
        number = asked.value.data
        return Bound(number) if name == NT_SNAPSHOTS else Bound(bytes=number)
    return None


def ask_for_snapshots(module: Operation, bound: Bound) -> None:
    """Let the outermost loops on tensors, and islands outside of them, keep snapshots within a bound; not what has one."""
    name, number = (
        (NT_SNAPSHOTS, bound.count) if bound.count is not None else (NT_SNAPSHOT_BYTES, bound.bytes)
    )
    assert number is not None
    for op in module.walk():
        if not isinstance(op, scf.ForOp | scf.WhileOp | LoopsOp) or snapshots_of(op) is not None:
            continue
        around = op.parent_op()
        while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
            around = around.parent_op()
        if around is None:
            op.attributes[name] = IntegerAttr(number, i64)


class _Numbers:
    """Arithmetic on tensors of rank 0 of int64."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def of(self, number: int) -> SSAValue:
        return self.builder.value(ConstantOp(from_numpy(np.array(number), i64)))

    def do(self, name: str, one: SSAValue, other: SSAValue | int) -> SSAValue:
        return self.builder.elementwise(name, one, self.of(other) if isinstance(other, int) else other)

    def choose(self, condition: SSAValue, one: SSAValue, other: SSAValue | int) -> SSAValue:
        other = self.of(other) if isinstance(other, int) else other
        return self.builder.elementwise("select", condition, one, other)

    def from_index(self, value: SSAValue) -> SSAValue:
        number = self.builder.value(arith.IndexCastOp(value, i64))
        return self.builder.value(FromScalarOp(number, TensorType(i64, [])))

    def to_index(self, value: SSAValue) -> SSAValue:
        return self.builder.value(arith.IndexCastOp(self.builder.value(ToScalarOp(value)), INDEX))


def next_position(builder: Builder, position: SSAValue, end: SSAValue, free: SSAValue) -> SSAValue:
    """Where the next snapshot goes, if there is one at `position` and iterations up to `end` are to be reversed.

    `free` counts that snapshot and the slots after it; -1 where there is to be none. With r the least number for which
    C(free + r, free) is at least the number of iterations, a distance up to C(free + r - 1, free) costs least, as long
    as the rest, with one slot less, needs no more than r repetitions.
    """
    n = _Numbers(builder)
    length = n.do("subtract", end, position)
    many = builder.elementwise("logical_and", n.do("greater", length, 1), n.do("greater", free, 1))
    zero, one = n.of(0), n.of(1)
    rank0 = zero.type
    before, after = Block(arg_types=[rank0, rank0]), Block(arg_types=[rank0, rank0])
    b = Builder(before, None, builder.location)
    short = b.elementwise("logical_and", b.elementwise("less", before.args[1], length), many)
    b.add(scf.ConditionOp(b.value(ToScalarOp(short)), *before.args))
    b = Builder(after, None, builder.location)
    m = _Numbers(b)
    repetitions = m.do("add", after.args[0], 1)
    range_ = m.do(
        "floor_divide", m.do("multiply", after.args[1], m.do("add", repetitions, free)), repetitions
    )
    b.add(scf.YieldOp(repetitions, range_))
    loop = builder.add(scf.WhileOp([zero, one], [rank0, rank0], Region(before), Region(after)))
    repetitions, range_ = loop.results
    whole = n.do("maximum", n.do("add", free, repetitions), 1)
    fewer = n.do("floor_divide", n.do("multiply", range_, repetitions), whole)  # C(free + r - 1, free)
    less = n.do("maximum", n.do("subtract", whole, 1), 1)
    rest = n.do("floor_divide", n.do("multiply", fewer, free), less)  # C(free + r - 2, free - 1)
    distance = n.do("minimum", fewer, n.do("subtract", length, rest))
    return n.choose(many, n.do("add", position, distance), -1)


class _Snapshots:
    """The snapshots of a loop as values: how many there are, where they are, and the states."""

    def __init__(self, values: Sequence[SSAValue]):
        self.top, self.positions, self.stacks = values[0], values[1], list(values[2:])

    @property
    def values(self) -> list[SSAValue]:
        return [self.top, self.positions, *self.stacks]


class Snapshots:
    """The reverse of a loop by snapshots: `forward` replaces the loop, `enter` and `leave` are of the reversed one."""

    def __init__(self, op: scf.ForOp, bound: Bound, replay: Replay, counting: Counting, to: Reverse):
        assert op.parent is not None
        self._op, self._counting, self._to = op, counting, to
        self._body = copy_of(op.body.block)  # the loop makes way for another one
        for inner in self._body.ops:
            if has_effect(inner):
                raise fail(
                    inner,
                    f"a call that happens once cannot run again: the loop around it has {NT_SNAPSHOTS}",
                    hint="keep what each iteration needs: leave the attribute out",
                )
        before = Builder(op.parent, op, op.location)
        outer = OuterExtents(
            replay.primal, before, dict(zip(replay.primal.args[1:], op.iter_args, strict=True))
        )
        arguments = list(replay.primal.args[1:])
        kept = [Kept(v, _stand_in(v), outer.of(v) or []) for v in arguments]
        replay.alone(outer)
        replay.join(kept)
        self._used = {k: one for k, one in enumerate(kept) if one.stand_in.uses.get_length()}
        needed = useful_carried(self._body, list(self._body.args[1:]), set(self._used))
        self._state = {k: kept[k].extents for k in sorted(needed)}
        n = _Numbers(before)
        self._end = n.from_index(_index(counting.length, before))
        self._count = count = self._slots(bound, arguments, before)
        stacks = [empty_stack(before, arguments[k], count, e) for k, e in self._state.items()]
        positions = empty_stack(before, n.of(0), count, [])
        self._found = self._forward(before, _Snapshots([n.of(0), positions, *stacks]))

    def _slots(self, bound: Bound, arguments: Sequence[SSAValue], before: Builder) -> Extent:
        """How many states are kept at most."""
        if bound.count is not None:
            return bound.count
        assert bound.bytes is not None
        known, n = 0, _Numbers(before)
        total: SSAValue | None = None
        for k, extents in self._state.items():
            size = max(width_of(element_of(arguments[k])) // 8, 1) * prod(
                e for e in extents if isinstance(e, int)
            )
            unknown = [e for e in extents if not isinstance(e, int)]
            if not unknown:
                known += size
                continue
            part = n.of(size)
            for extent in unknown:
                part = n.do("multiply", part, n.from_index(extent))
            total = part if total is None else n.do("add", total, part)
        if total is None and known > bound.bytes:
            raise fail(
                self._op,
                f"the state of an iteration has {known} bytes, and snapshots may take {bound.bytes}",
                hint="allow what two states take, or more",
            )
        if total is None and isinstance(self._counting.length, int):
            return max(1, min(bound.bytes // max(known, 1), self._counting.length))
        size = n.of(max(known, 1)) if total is None else n.do("maximum", n.do("add", total, known), 1)
        fit = n.do("floor_divide", n.of(bound.bytes), size)
        return n.to_index(n.do("maximum", n.do("minimum", fit, self._end), 1))

    def _free(self, b: Builder, top: SSAValue) -> SSAValue:
        """How many snapshots there may still be, the last one among them."""
        n = _Numbers(b)
        count = n.of(self._count) if isinstance(self._count, int) else n.from_index(self._count)
        return n.do("add", n.do("subtract", count, top), 1)

    def _forward(self, before: Builder, start: _Snapshots) -> _Snapshots:
        op = self._op
        n = _Numbers(before)
        first, last = before.index_constant(0), _index(self._counting.length, before)
        loop = self._advance(before, first, last, list(op.iter_args), start, n.of(0), self._end, None)
        self._to.replace(op, loop)
        return _Snapshots(loop.results[len(op.iter_args) : -1])

    def _advance(
        self,
        b: Builder,
        first: SSAValue,
        last: SSAValue,
        state: Sequence[SSAValue],
        start: _Snapshots,
        next_: SSAValue,
        end: SSAValue,
        only: Sequence[int] | None,
    ) -> scf.ForOp:
        """The loop over iterations `first` to `last`, which leaves snapshots; with `only` these carried values, silently."""
        source = self._body
        carried = list(source.args[1:])
        chosen = range(len(carried)) if only is None else only
        starts = [*state, *start.values, next_]
        block = Block(arg_types=[INDEX, *(v.type for v in starts)])
        block.args[0].name_hint = source.args[0].name_hint
        inside = Builder(block, None, self._op.location)
        here: dict[int, SSAValue] = dict(zip(chosen, block.args[1:], strict=False))
        rest = block.args[1 + len(here) :]
        snapshots, next_ = self._maybe_take(inside, block.args[0], here, _Snapshots(rest[:-1]), rest[-1], end)
        mapping: dict[SSAValue, SSAValue] = {carried[k]: v for k, v in here.items()}
        place = AffineList.of(block.args[0])
        mapping[source.args[0]] = inside.index(self._counting.variable(place).canonical())
        for argument in carried:
            mapping.setdefault(argument, _stand_in(argument))
        for inner in list(source.ops)[:-1]:
            block.add_op(inner.clone(mapping))
        if only is not None:
            silence(block)
        assert source.last_op is not None
        ends = [mapping.get(source.last_op.operands[k], source.last_op.operands[k]) for k in chosen]
        inside.add(scf.YieldOp(*ends, *snapshots.values, next_))
        if only is not None:
            sweep(block)
        loop = scf.ForOp(first, last, b.index_constant(1), starts, Region(block))
        b.add(loop)
        return loop

    def _maybe_take(
        self,
        b: Builder,
        number: SSAValue,
        here: dict[int, SSAValue],
        now: _Snapshots,
        next_: SSAValue,
        end: SSAValue,
    ) -> tuple[_Snapshots, SSAValue]:
        """Take a snapshot before iteration `number`, if it is the next place for one."""
        n = _Numbers(b)
        position = n.from_index(number)
        hit = b.value(ToScalarOp(n.do("equal", position, next_)))
        then, other = Block(), Block()
        t = Builder(then, None, b.location)
        m = _Numbers(t)
        slot = AffineList.of(m.to_index(now.top))
        positions = put(t, now.positions, position, slot, [])
        stacks = [
            put(t, stack, here[k], slot, extents)
            for stack, (k, extents) in zip(now.stacks, self._state.items(), strict=True)
        ]
        top = m.do("add", now.top, 1)
        free = self._free(t, top)
        t.add(scf.YieldOp(top, positions, *stacks, next_position(t, position, end, free)))
        values = [*now.values, next_]
        Builder(other, None, b.location).add(scf.YieldOp(*values))
        branch = b.add(scf.IfOp(hit, [v.type for v in values], Region(then), Region(other)))
        return _Snapshots(branch.results[:-1]), branch.results[-1]

    def starts(self) -> list[SSAValue]:
        """What the reversed loop carries beside cotangents, before it."""
        return self._found.values

    def enter(self, reverse: Block, carried: Sequence[BlockArgument], place: AffineList) -> list[SSAValue]:
        """At the start of an iteration of the reversed loop, go to iteration `place`; gives what to carry on."""
        first = reverse.first_op
        assert first is not None
        b = Builder(reverse, first, self._op.location)
        n = _Numbers(b)
        now = _Snapshots(carried)
        target = b.index(place)
        goal = n.from_index(target)
        end = n.do("add", goal, 1)
        slot = n.to_index(n.do("subtract", now.top, 1))
        position = get(b, now.positions, AffineList.of(slot), n.of(0), [])
        arguments = self._body.args[1:]
        state = [
            get(b, stack, AffineList.of(slot), arguments[k], extents)
            for stack, (k, extents) in zip(now.stacks, self._state.items(), strict=True)
        ]
        free = self._free(b, now.top)
        next_ = next_position(b, position, end, free)
        loop = self._advance(b, n.to_index(position), target, state, now, next_, end, list(self._state))
        for k, result in zip(self._state, loop.results, strict=False):
            if k in self._used:
                self._used[k].stand_in.replace_all_uses_with(result)
        left = _Snapshots(loop.results[len(state) : -1])
        slot = n.to_index(n.do("subtract", left.top, 1))
        last = get(b, left.positions, AffineList.of(slot), n.of(0), [])
        is_done = b.elementwise("equal", last, goal)
        left.top = n.choose(is_done, n.do("subtract", left.top, 1), left.top)
        discard(self._body)
        return left.values


def _index(extent: Extent, builder: Builder) -> SSAValue:
    return builder.index_constant(extent) if isinstance(extent, int) else extent


def _stand_in(value: SSAValue) -> SSAValue:
    return Block(arg_types=[value.type]).args[0]
