"""Elements that only the host writes stay with it (part of convert-nest-to-gpu): flags, counters, limits of loops.

    %t = nest.alloc "t" : memref<f32>              %t = memref.alloca() : memref<f32>
    nest.store "limit" %limit, %t[]          ->    memref.store %limit, %t[]
    scf.while {                                    scf.while {
      %a = nest.load %t[] ...                        %a = memref.load %t[] ...

Such a buffer has rank 0; the host knows what it stores there, and launches no kernel for it. Kernels get what it holds as a
number. A result of rank 0 that is used several times is one as well: it goes to the device once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...analysis.nest.buffers import declared_space
from ...analysis.nest.kernels.gpu_accesses import is_bound
from ...dialects.affine import AffineList
from ...dialects.attributes import ROLE
from ...dialects.nest import BIND_AXES, AllocOp, ForOp, LoadOp, StoreOp

NO_INDICES = AffineList(())


def take_cells(function: func.FuncOp) -> set[SSAValue]:
    """The buffers of rank 0 that only the host writes, by what it knows. It reads them before launches that need them."""
    block = function.body.block
    cells: list[SSAValue] = [argument for argument in block.args if _is_result(function, argument)]
    cells += [op.memref for op in _hosts_operations(block) if isinstance(op, AllocOp)]
    while (kept := [cell for cell in cells if _are_hosts(cell, cells)]) != cells:
        cells = kept
    cells = [cell if isinstance(cell.owner, Operation) else _temporary(cell, block) for cell in cells]
    for cell in cells:
        for load in [use.operation for use in cell.uses if isinstance(use.operation, LoadOp)]:
            launched = _launched_with(load)
            if launched is not load:
                assert launched.parent is not None
                load.detach()
                launched.parent.insert_op_before(load, launched)
    return set(cells)


def _temporary(result: SSAValue, block: Block) -> SSAValue:
    """A temporary in the place of a result, which is stored at the end."""
    assert isinstance(result.type, MemRefType) and block.first_op is not None and block.last_op is not None
    label = result.name_hint or "result"
    cell = AllocOp(label, MemRefType(result.type.element_type, []))
    result.replace_all_uses_with(cell.memref)
    value = LoadOp(cell.memref, NO_INDICES)
    store = StoreOp(value.result, result, NO_INDICES, label=label)
    for new in (cell, value, store):
        new.location = block.first_op.location
    block.insert_ops_before([value, store], block.last_op)
    block.insert_op_before(cell, block.first_op)
    return cell.memref


def _are_hosts(buffer: SSAValue, cells: Sequence[SSAValue]) -> bool:
    """Whether the host does all that is done with a buffer, and knows what it stores; it knows what is in `cells`."""
    type_ = buffer.type
    if not isinstance(type_, MemRefType) or type_.get_num_dims() or declared_space(type_) is not None:
        return False
    stores = []
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, StoreOp) and op.memref is buffer and op.where is None and _is_the_hosts(op):
            stores.append(op)
        elif not isinstance(op, LoadOp):
            return False
    return bool(stores) and all(_is_known(op.value, cells) for op in stores)


def _is_result(function: func.FuncOp, argument: BlockArgument) -> bool:
    """Whether an argument is a result that is more than stored once."""
    if function.arg_attrs is None or len(list(argument.uses)) < 2:
        return False
    return function.arg_attrs.data[argument.index].data.get(ROLE) == StringAttr("out")


def _hosts_operations(block: Block) -> Iterator[Operation]:
    """What the host reaches, in its own loops and branches."""
    for op in block.ops:
        yield op
        if op.regions and _is_hosts_control(op):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _hosts_operations(inner)


def _is_hosts_control(op: Operation) -> bool:
    """Whether an operation with regions is the host's for the launches in it."""
    return is_bound(op) and not (isinstance(op, ForOp) and op.kind in BIND_AXES)


def _is_the_hosts(op: Operation) -> bool:
    """Whether all that is around an operation is the host's."""
    around = op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        if not _is_hosts_control(around):
            return False
        around = around.parent_op()
    return True


def _launched_with(op: Operation) -> Operation:
    """The outermost operation around this one that is no control flow of the host's."""
    found, around = op, op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        if not _is_hosts_control(around):
            found = around
        around = around.parent_op()
    return found


def _is_known(value: SSAValue, cells: Sequence[SSAValue]) -> bool:
    """Whether the host knows a value: it depends on no element but those of `cells`."""
    pending, seen = [value], set[Operation]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            if not isinstance(parent, func.FuncOp | scf.WhileOp) and not (
                isinstance(parent, ForOp) and _is_hosts_control(parent)
            ):
                return False
            continue
        if owner in seen or isinstance(owner, memref.DimOp):
            continue
        seen.add(owner)
        if isinstance(owner, LoadOp):
            if owner.memref not in cells:
                return False
            continue
        if owner.regions:
            return False
        pending += owner.operands
    return True
