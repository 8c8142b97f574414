"""Buffers of one element that only hand a number on: before an island is differentiated, and in its adjoint.

    %v = nest.load %s[]                                  nest.for "k" {
    %t = nest.alloc "t"                                    nest.accumulate add %e, %s[]
    nest.store %v, %t[]                                  }
    nest.for "k" {
      nest.accumulate add %e, %t[]                ->
    }
    %w = nest.load %t[]
    nest.store %w, %s[]

A variable that a loop in a loop changes is such a copy: without it the update is seen, of which nothing has to be kept.
A cotangent that is complete before loops read it is a value, not a buffer; what is added in these loops can be gathered.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import is_inside
from ....analysis.nest.sets.accesses import accesses_in, may_alias
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ....dialects.nt.expand import Emitter


def join_copies(function: Operation) -> None:
    """Let cells that are filled from another one and are copied back be that one."""
    while any(_join(op) for op in _cells(function)):
        pass


def values_of_cells(function: Operation) -> None:
    """Replace cells that are written in the block that makes them, and read behind that, by values."""
    for op in _cells(function):
        _forward(op)


def _cells(function: Operation) -> list[AllocOp]:
    """The buffers of one element that a function makes, and does nothing with but load, store and accumulate."""
    return [
        op
        for op in function.walk()
        if isinstance(op, AllocOp)
        and isinstance(op.memref.type, MemRefType)
        and not op.memref.type.get_shape()
        and all(isinstance(use.operation, LoadOp | StoreOp | AccumulateOp) for use in op.memref.uses)
    ]


def _join(cell: AllocOp) -> bool:
    """Whether a cell was the copy of another one, which stands in its place now."""
    users = _in_block_order(cell)
    if len(users) < 2:
        return False
    fill, last = users[0], users[-1]
    if not _is_plain_store(fill) or not isinstance(last, LoadOp) or len(list(last.result.uses)) != 1:
        return False
    source = fill.value.owner  # pyright: ignore[reportAttributeAccessIssue]
    back = next(iter(last.result.uses)).operation
    if not isinstance(source, LoadOp) or source.parent is not cell.parent or source.memref is cell.memref:
        return False
    other = source.memref
    if not isinstance(other.type, MemRefType) or other.type != cell.memref.type:
        return False
    if not _is_plain_store(back) or back.parent is not cell.parent or back.memref is not other:  # pyright: ignore
        return False
    op = source.next_op
    while op is not None and op is not back:
        if any(a.root is None or may_alias(a.root, other) for a in accesses_in(op)):
            return False
        op = op.next_op
    if op is None:
        return False
    block = cell.parent
    assert block is not None
    block.erase_op(back)
    block.erase_op(last)
    block.erase_op(fill)
    if not source.result.uses:
        block.erase_op(source)
    cell.memref.replace_all_uses_with(other)
    block.erase_op(cell)
    return True


def _is_plain_store(op: Operation) -> bool:
    return isinstance(op, StoreOp) and op.where is None and op.mask is None


def _in_block_order(cell: AllocOp) -> list[Operation]:
    """The operations of the cell's block that use it, or hold what does."""
    users = {use.operation for use in cell.memref.uses}
    block = cell.parent
    assert block is not None
    return [op for op in block.ops if op in users or (op.regions and any(is_inside(u, op) for u in users))]


def _forward(cell: AllocOp) -> None:
    users = _in_block_order(cell)
    for op in users:
        if op.regions and any(a.writes and a.buffer is cell.memref for a in accesses_in(op)):
            return
        if isinstance(op, StoreOp) and not _is_plain_store(op):
            return
        if isinstance(op, AccumulateOp) and not _is_plain_sum(op):
            return
    if not users or not isinstance(users[0], StoreOp):
        return
    block = cell.parent
    assert block is not None
    current: SSAValue | None = None
    for op in users:
        if isinstance(op, StoreOp):
            current = op.value
        elif isinstance(op, AccumulateOp):
            assert current is not None
            current = op.values[0] if _is_zero(current) else _sum(current, op)
        else:
            assert current is not None
            for load in [o for o in op.walk() if isinstance(o, LoadOp) and o.memref is cell.memref]:
                load.result.replace_all_uses_with(current)
                assert load.parent is not None
                load.parent.erase_op(load)
    for op in users:
        if isinstance(op, StoreOp | AccumulateOp):
            block.erase_op(op)
    block.erase_op(cell)


def _is_plain_sum(op: AccumulateOp) -> bool:
    return (
        op.combiner.data == "add"
        and len(op.memrefs) == 1
        and op.where is None
        and op.mask is None
        and isinstance(op.values[0].type, AnyFloat)
    )


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    return (
        isinstance(owner, arith.ConstantOp)
        and isinstance(owner.value, FloatAttr)
        and owner.value.value.data == 0.0
    )


def _sum(current: SSAValue, op: AccumulateOp) -> SSAValue:
    """The sum that a cell would hold behind `op`, in front of it."""
    block = op.parent
    assert block is not None
    return Emitter(lambda new: block.insert_op_before(new, op), op.location).op(
        arith.AddfOp, (current, op.values[0])
    )
