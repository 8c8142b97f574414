"""Elements that are read where the host runs, and used when their buffer has other contents: kept in a buffer of their own.

    %a = nest.load %x[0]                     %kept = nest.alloc : memref<f64>
    nest.for "i" ... { writes %x }     ->    %0 = nest.load %x[0]
    nest.store %a, %y[]                      nest.store %0, %kept[]
                                             %a = nest.load %kept[]
                                             nest.for "i" ... { writes %x }
                                             nest.store %a, %y[]

The host keeps no element of the device: a load is done again in each kernel that uses it, which must find there what was
there before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.kernels.gpu_accesses import accesses, is_bound
from ...dialects.affine import AffineList
from ...dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp

NO_INDICES = AffineList(())
KEPT = "kept"
"""The label of what keeps an element."""


def keep_elements(
    function: func.FuncOp, may_overlap: Callable[[SSAValue, SSAValue], bool], cells: Collection[SSAValue] = ()
) -> None:
    """Keep the elements that the host's blocks of `function` read and that are overwritten before they are used.

    What is in `cells` the host has itself."""
    for block in list(_host_blocks(function.body.block)):
        launched_with = _first_of_launch(block, may_overlap)
        for load in [op for op in block.ops if isinstance(op, LoadOp) and op.memref not in cells]:
            last = _last_user(load)
            if last is not None and _is_overwritten(load, launched_with.get(last, last), may_overlap):
                _keep(load, function.body.block)


def _host_blocks(block: Block) -> Iterator[Block]:
    """The block, and those of the control flow in it that launches kernels."""
    yield block
    for op in block.ops:
        if op.regions and is_bound(op) and not (isinstance(op, ForOp) and op.kind in BIND_AXES):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _host_blocks(inner)


def _first_of_launch(
    block: Block, may_overlap: Callable[[SSAValue, SSAValue], bool]
) -> dict[Operation, Operation]:
    """For each statement between nests the first one of those that share its launch."""
    found: dict[Operation, Operation] = {}
    pending: list[Operation] = []
    for op in block.ops:
        if isinstance(op, StoreOp | AccumulateOp):
            pending.append(op)
            found[op] = pending[0]
        elif op.regions or (isinstance(op, LoadOp) and _writes(pending, op.memref, may_overlap)):
            pending = []
    return found


def _writes(
    ops: Iterable[Operation], buffer: SSAValue, may_overlap: Callable[[SSAValue, SSAValue], bool]
) -> bool:
    return any(may_overlap(written, buffer) for op in ops for written in accesses(op)[1])


def _is_overwritten(load: LoadOp, user: Operation, may_overlap: Callable[[SSAValue, SSAValue], bool]) -> bool:
    """Whether something writes the buffer of `load` between it and `user`, or in that one."""
    between: list[Operation] = []
    op = load.next_op
    while op is not None and op is not user:
        between.append(op)
        op = op.next_op
    if op is None:
        return False  # `user` is launched with statements before the load, which writes nothing that it reads
    return _writes([*between, *([user] if user.regions else ())], load.memref, may_overlap)


def _last_user(load: LoadOp) -> Operation | None:
    """The last operation of the block of `load` that needs it: it, or what is computed from it, or in its regions."""
    needed: set[SSAValue] = {load.result}
    last: Operation | None = None
    op = load.next_op
    while op is not None:
        if any(operand in needed for inner in op.walk() for operand in inner.operands):
            last = op
            if not op.regions:
                needed.update(op.results)
        op = op.next_op
    return last


def _keep(load: LoadOp, block: Block) -> None:
    kept = AllocOp(KEPT, MemRefType(load.result.type, []))
    again = LoadOp(kept.memref, NO_INDICES)
    again.result.name_hint = load.result.name_hint
    load.result.replace_all_uses_with(again.result)
    store = StoreOp(load.result, kept.memref, NO_INDICES, label=KEPT)
    assert block.first_op is not None and load.parent is not None
    for new in (kept, store, again):
        new.location = load.location
    block.insert_op_before(kept, block.first_op)
    load.parent.insert_ops_after([store, again], load)
