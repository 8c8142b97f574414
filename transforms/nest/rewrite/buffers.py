"""Names for new buffers, memory spaces, and extents as values: what the memory primitives share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....analysis.nest.buffers import buffer_name, buffers_in, element_bytes
from ....analysis.nest.loop_structure import enclosing_function, enclosing_loops
from ....analysis.nest.sets.producers import Uses
from ....analysis.nest.values.extent_keys import extent_key, value_key
from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, THREAD_AXES, AllocOp, ForOp, told_apart
from ....dialects.nest.common import INDEX

SPACES: dict[str, int | None] = {"global": None, "shared": 3, "local": 5}
"""Memory spaces by name, as the numbers that upstream dialects use. `global` is the default space: a buffer in it
is wherever its place in the loops puts it, one made inside a kernel in no other memory than the kernel's."""

SHARED_BYTES = 48 << 10
"""Shared memory that every block may have on a GPU."""


def fresh_buffer_name(at: Operation, wanted: str) -> str:
    """A name that no buffer of the function has: `wanted`, or with `.1`, `.2` ... where it is taken."""
    function = enclosing_function(at)
    taken = set(map(buffer_name, buffers_in(function))) if isinstance(function, FuncOp) else set()
    name, k = wanted, 1
    while name in taken:
        name, k = f"{wanted}.{k}", k + 1
    return name


# ---- memory spaces ----------------------------------------------------------------------------------


def space_attribute(space: str) -> Attribute:
    """The memory space in a memref type."""
    number = SPACES[space]
    return NoneAttr() if number is None else IntegerAttr(number, i64)


def why_not_space(
    at: Operation,
    action: str,
    space: str,
    shape: Sequence[int],
    element: Attribute,
    around: Sequence[ForOp],
    users: Iterable[Operation],
    made: SSAValue | None = None,
) -> NestorError | None:
    """The refusal to have a buffer of `shape`, made inside the loops `around`, in a memory space.

    Where the buffer is there already (`made`), threads may keep parts or copies of it: `kernels/thread_copies.py`.
    """

    def refuse(
        reason: str, hint: str | None = None, notes: Sequence[tuple[Operation, str]] = ()
    ) -> NestorError:
        return fail(at, f"cannot {action}: {reason}", hint=hint, notes=notes)

    if space not in SPACES:
        return refuse(f'there is no memory space "{space}"', hint=f"spaces are {', '.join(SPACES)}")
    bound = [loop for loop in around if loop.kind in BIND_AXES]
    if space == "global":
        if not bound:
            return None
        return refuse(
            "a kernel allocates no global memory",
            hint="allocate it outside the loops that are bound",
            notes=[(bound[-1], f'the loop "{bound[-1].label}" is bound to {bound[-1].kind}')],
        )
    if DYNAMIC_INDEX in shape:
        return refuse(f"a buffer in {space} memory has constant extents", hint="split the loops inside first")
    if space == "shared":
        return _why_not_shared(refuse, shape, element, bound, users)
    return _why_not_local(refuse, around, list(users), made)


def _why_not_shared(refuse, shape, element, bound, users) -> NestorError | None:
    size = element_bytes(element)
    for extent in shape:
        size *= extent
    if size > SHARED_BYTES:
        return refuse(f"it takes {size} bytes, a block has {SHARED_BYTES} bytes of shared memory")
    threads = [loop for loop in bound if loop.kind.startswith("thread.")]
    if threads:
        return refuse(
            "shared memory is that of a block, and here each thread would have its own",
            hint="make it outside the loops over threads, or local",
            notes=[(threads[0], f'the loop "{threads[0].label}" is bound to {threads[0].kind}')],
        )
    inner = _loop_between(users, bound, lambda kind: kind.startswith("block."))
    if inner is None:
        return None
    return refuse(
        "shared memory is that of a block, and blocks would use it together",
        hint="make it inside the loops over blocks",
        notes=[(inner, f'the loop "{inner.label}" is bound to {inner.kind}')],
    )


def _why_not_local(refuse, around, users, made: SSAValue | None) -> NestorError | None:
    inner = _loop_between(users, around, lambda kind: kind == "parallel" or kind in BIND_AXES)
    if inner is None:
        return None
    is_in_kernel = any(loop.kind in BIND_AXES for loop in around)
    if made is not None and is_in_kernel and inner.kind in THREAD_AXES:
        from ....analysis.nest.kernels.thread_copies import ThreadCopies, copies_along

        axes = {loop.kind for user in users for loop in enclosing_loops(user) if loop not in around}
        copies = copies_along(made, told_apart(axes.intersection(THREAD_AXES)))
        if isinstance(copies, ThreadCopies):
            return None
        return refuse(
            "local memory is that of a thread, and threads would use it together",
            hint="make it inside the loops over threads, or let each thread touch its own elements",
            notes=[(copies.op, copies.reason)],
        )
    kind = f"bound to {inner.kind}" if inner.kind in BIND_AXES else inner.kind
    return refuse(
        "local memory is that of a thread, and threads would use it together",
        hint="make it inside that loop",
        notes=[(inner, f'the loop "{inner.label}" is {kind}')],
    )


def _loop_between(users: Iterable[Operation], around: Sequence[ForOp], is_meant) -> ForOp | None:
    """A loop around a user, but not around the buffer, whose mark is meant."""
    for user in users:
        for loop in enclosing_loops(user):
            if loop not in around and is_meant(loop.kind):
                return loop
    return None


# ---- extents ----------------------------------------------------------------------------------------


def extent_before(buffer: SSAValue, axis: int, op: Operation) -> tuple[AffineList, list[Operation]]:
    """The extent of a buffer's axis as an expression that can be used at `op`, and the operations made for it."""
    key = extent_key(buffer, axis)
    if isinstance(key, int):
        return AffineList.of(key), []
    if isinstance(buffer.owner, AllocOp):
        shape = buffer.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        return AffineList.of(buffer.owner.sizes[sum(n == DYNAMIC_INDEX for n in shape[:axis])]), []
    for other in enclosing_function(op).walk():
        if isinstance(other, memref.DimOp) and value_key(other.result) == key and _dominates(other, op):
            return AffineList.of(other.result), []
    block = buffer.owner if isinstance(buffer.owner, Block) else buffer.owner.parent
    anchor = op
    while anchor.parent is not block:
        parent = anchor.parent_op()
        assert parent is not None
        anchor = parent
    number = arith.ConstantOp(IntegerAttr(axis, INDEX))
    dim = memref.DimOp(buffer, number.result)
    for new in (number, dim):
        new.location = anchor.location
        block.insert_op_before(new, anchor)  # pyright: ignore[reportOptionalMemberAccess]
    return AffineList.of(dim.result), [number, dim]


def erase_unused(made: Sequence[Operation]) -> None:
    """Remove those of `made` that nothing uses, the last ones first."""
    for op in reversed(made):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _dominates(definition: Operation, op: Operation) -> bool:
    """Whether `definition` is before `op` in a block around it."""
    block = definition.parent
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current is not None and definition is not current and definition.is_before_in_block(current)


def replace_extents(uses: Uses) -> None:
    """Put the sizes that the buffer was made with instead of its `memref.dim`s."""
    for op in uses.extents:
        axis = constant_of(op.index)
        assert axis is not None and op.parent is not None
        op.result.replace_all_uses_with(extent_value(uses.alloc, axis, op))
        op.detach()
        op.erase()


def extent_value(alloc: AllocOp, axis: int, before: Operation) -> SSAValue:
    """The extent of an axis as a value; a constant one is made before the operation `before`."""
    assert isinstance(alloc.memref.type, MemRefType) and before.parent is not None
    shape = alloc.memref.type.get_shape()
    if shape[axis] == DYNAMIC_INDEX:
        return alloc.sizes[sum(n == DYNAMIC_INDEX for n in shape[:axis])]
    constant = arith.ConstantOp(IntegerAttr(shape[axis], INDEX))
    constant.location = before.location
    before.parent.insert_op_before(constant, before)
    return constant.result
