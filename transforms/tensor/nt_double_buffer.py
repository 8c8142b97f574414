"""nt-double-buffer: an array that a loop rewrites from its own neighbours has a second buffer, with which it changes places.

    %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf32>) {
      %v = ... %u ...                                          // 0.5 * (u[:-2] + u[2:])
      %u1 = nt.loops ins(%v) outs(%u) { ... }                  // u[1:-1] = v
      scf.yield %u1
    }
  becomes
    %r, %_ = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0, %b = %u0) -> (tensor<8xf32>, tensor<8xf32>) {
      %v = ... %u ...
      %u1 = nt.loops ins(%v) outs(%b) { ... }
      scf.yield %u1, %u
    }

Updated in place, each iteration would put its values aside and copy them. The islands that update the array write the same
elements in each iteration: the loops around a store are of known or unchanging extents, and nothing decides whether it is
made. So what they do not write is the same in both arrays for ever, and either can be written. They read nothing of what
they write. `nt-unroll-swaps` then runs two iterations at a time. The same for `scf.while`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import AffineList, constant_of
from ...dialects.nest import ForOp, StoreOp
from ...dialects.nt import LoopsOp, ReduceOp
from ...dialects.nt.work import Role, role_of

FEWEST_ITERATIONS = 4
"""A loop that is known to run fewer times does not earn the copy that makes the second buffer."""

Loop = scf.ForOp | scf.WhileOp

_POINTWISE = (Role.COMPUTES, Role.VIEW)


@dataclass(frozen=True, eq=False)
class NtDoubleBufferPass(ModulePass):
    """Give an array that a loop rewrites from its own neighbours a second buffer, with which it changes places."""

    name = "nt-double-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed([op for op in op.walk() if isinstance(op, Loop)]):
            if not _runs_often(loop):
                continue
            chains = [chain for chain in _rewritten(loop) if may_be_buffered_twice(chain, loop)]
            if chains:
                double_buffer(loop, chains)


@dataclass(frozen=True)
class Chain:
    """The islands by which a loop updates the carried array `position`, in order."""

    position: int
    islands: tuple[LoopsOp, ...]
    argument: BlockArgument


def _body(loop: Loop) -> Block:
    return loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block


def _carried(loop: Loop) -> Sequence[BlockArgument]:
    """The carried values in the body."""
    return _body(loop).args[1:] if isinstance(loop, scf.ForOp) else _body(loop).args


def _runs_often(loop: Loop) -> bool:
    """Whether a loop may run often enough; of `scf.while` those whose condition passes on what it was given."""
    if isinstance(loop, scf.WhileOp):
        condition = loop.before_region.block.last_op
        return condition is not None and [*condition.operands[1:]] == [*loop.before_region.block.args]
    lower, upper, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if step is None or step < 1:
        return False
    return lower is None or upper is None or (upper - lower) // step >= FEWEST_ITERATIONS


def _rewritten(loop: Loop) -> list[Chain]:
    """The carried arrays that islands alone update."""
    end, found = _body(loop).last_op, list[Chain]()
    assert end is not None
    carried = _carried(loop)
    for position, argument in enumerate(carried):
        islands, value = list[LoopsOp](), end.operands[position]
        while isinstance(value.owner, LoopsOp) and len(value.owner.outputs) == 1:
            islands.insert(0, value.owner)
            value = value.owner.outputs[0]
        if islands and value is argument:
            found.append(Chain(position, tuple(islands), argument))
    return found


# ---- whether it may, and pays -------------------------------------------------------------------------


def may_be_buffered_twice(chain: Chain, loop: Loop) -> bool:
    """Whether each iteration writes the same elements of the array, reads none of them, and needs the old ones."""
    body = _body(loop)
    first, end = chain.islands[0], body.last_op
    between = [island.results[0] for island in chain.islands[:-1]]
    if not all(value.has_one_use() for value in between):
        return False
    if [use for use in chain.argument.uses if use.operation is end]:
        return False
    if not all(_writes_alike(island, loop) for island in chain.islands):
        return False
    is_read = any(_reads(island, chain.argument, body) for island in chain.islands) or any(
        _is_after(use.operation, first, body) for use in chain.argument.uses
    )
    return is_read and any(_fills_all_axes(island) for island in chain.islands)


def _writes_alike(island: LoopsOp, loop: Operation) -> bool:
    """Whether an island only stores to its output, in loops alone, at places that the loop around does not change."""
    argument = island.body.block.args[-1]
    for use in argument.uses:
        store = use.operation
        if not isinstance(store, StoreOp) or store.memref is not argument:
            return False
        if store.where is not None or store.mask is not None or not _is_fixed(store.indices, island, loop):
            return False
        around = store.parent_op()
        while around is not island:
            if not isinstance(around, ForOp):
                return False
            if not (_is_fixed(around.lower, island, loop) and _is_fixed(around.upper, island, loop)):
                return False
            around = around.parent_op()
    return True


def _is_fixed(places: AffineList, island: LoopsOp, loop: Operation) -> bool:
    """Whether expressions are of the island's own loop variables, and of what is known before the loop around."""
    return all(_is_counter(value, island) or not _is_in(value, loop) for value in places.operands)


def _is_counter(value: SSAValue, island: LoopsOp) -> bool:
    owner = value.owner
    return isinstance(owner, Block) and isinstance(owner.parent_op(), ForOp) and _is_in(value, island)


def _is_in(value: SSAValue, around: Operation) -> bool:
    """Whether a value is defined in the regions of `around`."""
    op = value.owner.parent_op()
    while op is not None and op is not around:
        op = op.parent_op()
    return op is around


def _fills_all_axes(island: LoopsOp) -> bool:
    """Whether a store of an island moves along each axis of its output."""
    argument = island.body.block.args[-1]
    stores = [use.operation for use in argument.uses]
    return any(
        isinstance(store, StoreOp)
        and len(store.indices) > 0
        and all(any(_is_counter(v, island) for v in at.operands) for at in store.indices)
        for store in stores
    )


def _reads(island: LoopsOp, argument: SSAValue, body: Block) -> bool:
    """Whether what an island stores is computed from the array as it was, element by element."""
    pending, seen = list(island.inputs), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value is argument:
            return True
        owner = value.owner
        if value in seen or not isinstance(owner, Operation) or owner.parent is not body:
            continue
        seen.add(value)
        if role_of(owner) in _POINTWISE and not isinstance(owner, ReduceOp):
            pending += owner.operands
    return False


def _is_after(op: Operation, island: Operation, body: Block) -> bool:
    """Whether `op`, or what it is in, comes after an island."""
    around: Operation | None = op
    while around is not None and around.parent is not body:
        around = around.parent_op()
    while around is not None and around is not island:
        around = around.prev_op
    return around is island and op is not island


# ---- the rewriting ------------------------------------------------------------------------------------


def double_buffer(loop: Loop, chains: Sequence[Chain]) -> None:
    """Replace the loop by one that carries a second buffer for the array of each chain."""
    block = loop.parent
    assert block is not None
    starts = list(loop.iter_args if isinstance(loop, scf.ForOp) else loop.arguments)
    second = [starts[chain.position] for chain in chains]
    for chain in chains:
        _carry_second(loop, chain)
    new = type(loop).create(
        operands=[*loop.operands, *second],
        result_types=[*[r.type for r in loop.results], *[value.type for value in second]],
        properties=dict(loop.properties),
        attributes=dict(loop.attributes),
        regions=[loop.detach_region(region) for region in list(loop.regions)],
        location=loop.location,
    )
    block.insert_op_before(new, loop)
    for old, result in zip(loop.results, new.results, strict=False):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    block.erase_op(loop)


def _carry_second(loop: Loop, chain: Chain) -> None:
    """Add the second buffer to the regions of the loop: it is written, and changes places with the array."""
    body, end = _body(loop), _body(loop).last_op
    assert end is not None
    second = body.insert_arg(chain.argument.type, len(body.args))
    second.name_hint = chain.argument.name_hint
    first = chain.islands[0]
    first.operands[len(first.inputs)] = second
    _append(end, chain.argument)
    if isinstance(loop, scf.WhileOp):
        before = loop.before_region.block
        passed = before.insert_arg(chain.argument.type, len(before.args))
        assert before.last_op is not None
        _append(before.last_op, passed)


def _append(op: Operation, value: SSAValue) -> None:
    op.operands = [*op.operands, value]
