"""Loops whose number of iterations only they know are counted first: tapes have as many places.

    scf.while () : () -> () {                          // the island runs, and counts
      %c = ... ; scf.condition(%c)                     nest.load/store %total[] : + 1 for each iteration
    } do {                                       ->    // it runs again: prints and checks have happened
      ...                                              %n = nest.load %count[] ; %k = nest.load %before[]
    }                                                  nest.for "while" %t = 0 to %n { ... }       // number %k + %t in all

A `nest.for` whose bounds are computed in the island keeps them, and stops after so many iterations. Loops inside of loops
that are counted are counted next: the island runs once more for each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import trip_count
from ....analysis.nest.sets.accesses import accesses_in
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nt.constants import from_numpy
from ....dialects.nt.ops import ConstantOp, LoopsOp, ToScalarOp
from ...nest.rewrite.loops import materialise, simplify_bounds
from ..builder import Builder
from ..reverse import Reverse
from .directions import one_bound
from .places import Count, Counts, Places
from .primal import erase_prints
from .tapes import empty_of


def count_first(
    op: LoopsOp, loops: Sequence[Operation], places: Places, counts: Counts, to: Reverse
) -> tuple[LoopsOp, Counts]:
    """Let an island count iterations of `loops` of its own (scf.while, nest.for), and put one that knows them behind it.

    Gives that one, and the loops in it that are counted. Raises UnknownCount where loops around are to be counted first.
    """
    where = {loop: places.of(places.copy_of(loop)) for loop in loops}
    at = {loop: places.of_island(place) for loop, (_, place) in where.items()}
    for loop in loops:
        if isinstance(loop, ForOp):
            _simplify(loop)
    assert op.parent is not None
    second = op.clone()
    copies = dict(zip(op.walk(), second.walk(), strict=True))
    values = _values(op, second, copies)
    before = Builder(op.parent, op, op.location)
    outs: list[SSAValue] = []
    body = op.body.block

    def out(tensor: SSAValue, name: str) -> SSAValue:
        tensor.name_hint = name
        outs.append(tensor)
        buffer = body.insert_arg(MemRefType(i64, tensor.type.get_shape()), len(body.args))  # pyright: ignore
        buffer.name_hint = name
        return buffer

    for loop in loops:
        extents, _ = where[loop]
        total = out(before.value(ConstantOp(from_numpy(np.array(0), i64))), "total")
        starts = out(empty_of(op, i64, extents), "before")
        numbers = out(empty_of(op, i64, extents), "count")
        _count(loop, total, starts, numbers, at[loop])
    first = LoopsOp(list(op.inputs), [*op.outputs, *outs], op.detach_region(op.body))
    first.location = op.location
    first.attributes.update(op.attributes)
    op.parent.insert_op_before(first, op)
    counted = iter(first.results[len(op.results) :])

    new = {copies[loop]: Count(values[c.before], c.total) for loop, c in counts.items()}
    ins: list[SSAValue] = []
    region = second.body.block
    for loop in loops:
        total, starts, numbers = next(counted), next(counted), next(counted)
        amount = before.value(arith.IndexCastOp(before.value(ToScalarOp(total)), IndexType()))
        buffers: list[SSAValue] = []
        for tensor in (starts, numbers):
            kind = MemRefType(i64, tensor.type.get_shape())  # pyright: ignore
            buffers.append(region.insert_arg(kind, len(op.inputs) + len(ins)))
            buffers[-1].name_hint = tensor.name_hint
            ins.append(tensor)
        place = at[loop].substitute_all(values)
        start, made = _known(copies[loop], buffers[0], buffers[1], place)
        new[made] = Count(start, amount)
    erase_prints(second)
    again = LoopsOp([*op.inputs, *ins], list(op.outputs), second.detach_region(second.body))
    second.erase()
    again.location = op.location
    again.attributes.update(op.attributes)
    op.parent.insert_op_before(again, op)
    to.replace(op, again)
    return again, new


def _values(op: Operation, copy: Operation, copies: dict[Operation, Operation]) -> dict[SSAValue, SSAValue]:
    """The values in the regions of `op`, and those of its copy."""
    found: dict[SSAValue, SSAValue] = {}
    for old, new in copies.items():
        if old is not op:
            found.update(zip(old.results, new.results, strict=True))
        for one, other in zip(old.regions, new.regions, strict=True):
            for a, b in zip(one.blocks, other.blocks, strict=True):
                found.update(zip(a.args, b.args, strict=True))
    return found


def _simplify(loop: ForOp) -> None:
    """Give a loop one lower and one upper bound."""
    simplify_bounds(loop)
    if len(loop.lower) != 1 or len(loop.upper) != 1:
        loop.set_bounds(
            one_bound(loop, loop.lower, arith.MaxSIOp), one_bound(loop, loop.upper, arith.MinSIOp)
        )


def _count(loop: Operation, total: SSAValue, starts: SSAValue, numbers: SSAValue, at: AffineList) -> None:
    """Count the iterations of a loop: how many there were before, how many this run has, and the total."""
    block = loop.parent
    assert block is not None
    none = AffineList.of()

    def put(op: Operation, before: Operation | None, into: Block = block) -> SSAValue:
        op.location = loop.location
        if before is None:
            into.add_op(op)
        else:
            into.insert_op_before(op, before)
        return op.results[0] if op.results else None  # pyright: ignore

    start = put(LoadOp(total, none), loop)
    put(StoreOp(start, starts, at), loop)
    if isinstance(loop, ForOp):
        trips = trip_count(loop)
        assert trips is not None
        zero = put(arith.ConstantOp(IntegerAttr(0, IndexType())), loop)
        amount = put(arith.MaxSIOp(materialise(trips, block, loop), zero), loop)
        number = put(arith.IndexCastOp(amount, i64), loop)
        put(StoreOp(number, numbers, at), loop)
        put(StoreOp(put(arith.AddiOp(start, number), loop), total, none), loop)
        return
    assert isinstance(loop, scf.WhileOp)
    body = loop.after_region.block
    end = body.last_op
    one = put(arith.ConstantOp(IntegerAttr(1, i64)), end, body)
    more = put(arith.AddiOp(put(LoadOp(total, none), end, body), one), end, body)
    put(StoreOp(more, total, none), end, body)
    behind = loop.next_op
    last = put(LoadOp(total, none), behind)
    put(StoreOp(put(arith.SubiOp(last, start), behind), numbers, at), behind)


def _known(loop: Operation, starts: SSAValue, numbers: SSAValue, at: AffineList) -> tuple[SSAValue, ForOp]:
    """Make a loop that is counted one that knows how often it runs; gives the iterations before it, too."""
    block = loop.parent
    assert block is not None

    def read(buffer: SSAValue) -> SSAValue:
        load = LoadOp(buffer, at)
        cast = arith.IndexCastOp(load.result, IndexType())
        for op in (load, cast):
            op.location = loop.location
            block.insert_op_before(op, loop)
        return cast.result

    start, number = read(starts), read(numbers)
    if isinstance(loop, ForOp):
        # Not more often than it was counted, should a sum in its bounds be rounded otherwise.
        last = loop.lower.plus(AffineList.of(number).times(loop.step_value))
        loop.set_bounds(loop.lower, loop.upper.concat(last))
        return start, loop
    assert isinstance(loop, scf.WhileOp)
    condition, body = loop.before_region.block, loop.after_region.block
    inner = Block(arg_types=[IndexType()])
    inner.args[0].name_hint = "t"
    if _leaves_something(loop):
        _copy_condition(condition, inner, None)
        _copy_condition(condition, block, loop.next_op)
    for op in list(body.ops):
        op.detach()
        if isinstance(op, scf.YieldOp):
            op.erase()
        else:
            inner.add_op(op)
    new = ForOp("while", 0, AffineList.of(number), inner)
    new.location = loop.location
    block.insert_op_before(new, loop)
    block.erase_op(loop)
    return start, new


def _leaves_something(loop: scf.WhileOp) -> bool:
    """Whether the condition of a loop writes to memory that is there afterwards."""
    block = loop.before_region.block
    own = {op.memref for op in block.walk() if isinstance(op, AllocOp)}
    return any(a.writes and a.buffer not in own for op in block.ops for a in accesses_in(op))


def _copy_condition(condition: Block, into: Block, before: Operation | None) -> None:
    mapping: dict[SSAValue, SSAValue] = {}
    for op in condition.ops:
        if isinstance(op, scf.ConditionOp):
            continue
        copy = op.clone(mapping)
        copy.location = op.location
        if before is None:
            into.add_op(copy)
        else:
            into.insert_op_before(copy, before)
