"""nest-recompute: nests are done once more, for readers that then read what was made for them.

    nest.for "i" ... { nest.for "j" ... { nest.store "t" %a, %t[%i, %j] } }
    nest.for "i.1" ... { nest.for "k" ... { nest.for "j.1" ... { ... nest.load %t[%i, %j] ... } } }     // rows of t
    nest.for "j.2" ... { nest.for "k.1" ... { nest.for "i.2" ... { ... nest.load %t[%i, %j] ... } } }   // columns of t

becomes with loops=i,i.1

    %t_1 = nest.alloc "t.1"
    nest.for "i.3" ... { nest.for "j.3" ... { nest.store "t" %a, %t_1[%i, %j] } }
    nest.for "i.1" ... { nest.for "k" ... { nest.for "j.1" ... { ... nest.load %t_1[%i, %j] ... } } }
    nest.for "i" ... { nest.for "j" ... { nest.store "t" %a, %t[%i, %j] } }
    nest.for "j.2" ... { nest.for "k.1" ... { nest.for "i.2" ... { ... nest.load %t[%i, %j] ... } } }

The last loops (`readers` of them) are those that read, the others are done again, in their order, before the first reader.
Buffers that they write are made again, too; a store to one that nobody reads is left out of the copy. Each reader has then
a producer of its own, which can be moved into its loops: elements are computed twice, and stay in registers.

Refused unless all are loops of one block, in this order; unless the nests do nothing but compute, load and write buffers of
that block, and have all writes to these up to the readers; where a nest makes nothing that is read; and where something
that they read may be written before the first reader. In Halide `clone_in` is this; TVM, NNC and Exo have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import WRITE, accesses_in, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names


def why_not_recompute(loops: Sequence[ForOp], readers: int = 1) -> NestorError | None:
    """The diagnostic that refuses to do the nests again for the last `readers` of the loops, None when it is legal."""
    try:
        _plan(loops, readers)
    except NestorError as refusal:
        return refusal
    return None


def recompute(loops: Sequence[ForOp], readers: int = 1) -> tuple[ForOp, ...]:
    """Do the nests again for the last `readers` of the loops.

    The new nests, and the readers. Raises the diagnostic of `why_not_recompute`.
    """
    nests, users, buffers = _plan(loops, readers)
    block, first = users[0].parent, users[0]
    assert block is not None
    mapping: dict[SSAValue, SSAValue] = {}
    for buffer in buffers:
        name = fresh_buffer_name(first, buffer.label.data)
        copy = AllocOp(name, buffer.memref.type, list(buffer.operands))
        copy.attributes.update(buffer.attributes)
        copy.location = buffer.location
        copy.memref.name_hint = buffer.memref.name_hint
        block.insert_op_before(copy, first)
        mapping[buffer.memref] = copy.memref
    made: list[ForOp] = []
    for nest in nests:
        copy = nest.clone(dict(mapping))
        block.insert_op_before(copy, first)
        for loop in loops_in(copy):
            loop.set_label(fresh_names(loop, loop.label)[0])
        made.append(copy)
    for user in users:
        for op in user.walk():
            for k, operand in enumerate(op.operands):
                if operand in mapping:
                    op.operands[k] = mapping[operand]
    for new in mapping.values():
        _drop_unread(new)
    return (*made, *users)


def _plan(loops: Sequence[ForOp], readers: int) -> tuple[list[ForOp], list[ForOp], list[AllocOp]]:
    """The nests that are done again, their readers, and the buffers that they write. Raises the refusal."""
    if readers < 1 or readers >= len(loops):
        raise fail(
            loops[0], f"cannot do nests again for {readers} of {len(loops)} loops: each kind has at least one"
        )
    nests, users = list(loops[:-readers]), list(loops[-readers:])
    names = ", ".join(f'"{loop.label}"' for loop in nests)

    def refuse(reason: str, at: Operation, what: str = "here") -> NestorError:
        return fail(nests[0], f'cannot do {names} again for "{users[0].label}": {reason}', notes=[(at, what)])

    block = nests[0].parent
    assert block is not None
    order = {op: k for k, op in enumerate(block.ops)}
    places = [order.get(loop, -1) for loop in loops]
    if places != sorted(set(places)) or places[0] < 0:
        raise refuse("they are not loops of one block, in this order", users[0])
    for nest in nests:
        if (op := may_fail(nest)) is not None:
            raise refuse("its check would be done a second time", op)
        for access in accesses_in(nest):
            if access.buffer is None:
                raise refuse("it does something else than to compute, load and write", access.op)
    buffers = _written(nests, block, refuse)
    for buffer in buffers:
        check_buffer(buffer, nests, users, order, refuse)
    for nest in nests:
        own = [b for b in buffers if any(_writes(op, b.memref) for op in nest.walk())]
        if not any(_is_read(b, nests, users) for b in own):
            raise refuse("nothing reads what it makes", nest)
    between = [op for op in block.ops if places[0] < order[op] < places[len(nests)] and op not in nests]
    check_inputs(nests, between, buffers, refuse)
    return nests, users, buffers


def _written(nests: Sequence[ForOp], block: Block, refuse) -> list[AllocOp]:
    """The buffers that nests write which are not their own."""
    found: dict[AllocOp, None] = {}
    for nest in nests:
        for op in nest.walk():
            if not isinstance(op, StoreOp | AccumulateOp):
                continue
            for buffer in op.memrefs if isinstance(op, AccumulateOp) else (op.memref,):
                owner = buffer.owner
                if isinstance(owner, AllocOp) and is_inside(owner, nest):
                    continue
                if not isinstance(owner, AllocOp) or owner.parent is not block:
                    raise refuse("it writes a buffer that is not made in the same block", op)
                found[owner] = None
    return list(found)


def _writes(op: Operation, buffer: SSAValue) -> bool:
    return (isinstance(op, StoreOp) and op.memref is buffer) or (
        isinstance(op, AccumulateOp) and buffer in op.memrefs
    )


def _is_read(buffer: AllocOp, nests: Sequence[ForOp], users: Sequence[ForOp]) -> bool:
    """Whether readers, or other nests that are done again, load elements."""
    loads = [use.operation for use in buffer.memref.uses if isinstance(use.operation, LoadOp)]
    return any(is_inside(op, nest) for op in loads for nest in (*nests, *users))


def check_buffer(
    buffer: AllocOp, nests: Sequence[ForOp], users: Sequence[ForOp], order: dict[Operation, int], refuse
) -> None:
    """Raises where a buffer is more than what the nests write, and loads of it, up to the readers."""
    for use in buffer.memref.uses:
        op = use.operation
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp | memref.DimOp):
            raise refuse(f'"{buffer.label.data}" is used by an operation other than loads and statements', op)
        if not _writes(op, buffer.memref) or any(is_inside(op, nest) for nest in nests):
            continue
        top = next(one for one in order if one is op or is_inside(op, one))
        if order[top] <= order[users[-1]]:
            raise refuse(f'"{buffer.label.data}" is written by something else, too', op)


def check_inputs(
    nests: Sequence[ForOp], between: Sequence[Operation], buffers: Sequence[AllocOp], refuse
) -> None:
    """Raises where what the nests read, beside what they write, may be another value before the first reader."""
    own = {buffer.memref for buffer in buffers}
    read = {
        root_of(access.buffer)
        for nest in nests
        for access in accesses_in(nest)
        if access.buffer is not None and access.kind != WRITE and access.buffer not in own
    }
    for op in between:
        for inner in accesses_in(op):
            if not inner.writes:
                continue
            if inner.root is None or any(may_alias(inner.root, one) for one in read):
                raise refuse("what it reads may be written before the reader", inner.op)


def _drop_unread(buffer: SSAValue) -> None:
    """Leave out the stores to a buffer that nobody reads, and what was computed for them alone."""
    users = [use.operation for use in buffer.uses]
    if any(isinstance(op, LoadOp | AccumulateOp) for op in users):
        return
    for op in users:
        pending = [v.owner for v in op.operands]
        _erase(op)
        while pending:
            owner = pending.pop()
            if isinstance(owner, Operation) and owner.parent is not None and _is_unused(owner):
                pending += [v.owner for v in owner.operands]
                _erase(owner)
    owner = buffer.owner
    if isinstance(owner, AllocOp) and owner.parent is not None:
        _erase(owner)


def _is_unused(op: Operation) -> bool:
    is_pure = isinstance(op, LoadOp) or is_computation(op)
    return is_pure and not any(result.first_use is not None for result in op.results)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
