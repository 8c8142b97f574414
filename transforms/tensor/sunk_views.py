"""Views move to where control flow uses them: a step of nt-fuse.

    %b = nt.broadcast %x along [0] sizes(%n, %m) : tensor<?xf32> -> tensor<?x?xf32>
    scf.if %c -> (tensor<?x?xf32>) {
      %y = nt.add %t, %b : tensor<?x?xf32>
      ...
  becomes
    scf.if %c -> (tensor<?x?xf32>) {
      %b = nt.broadcast %x along [0] sizes(%n, %m) : tensor<?xf32> -> tensor<?x?xf32>
      %y = nt.add %t, %b : tensor<?x?xf32>
      ...

A fusion holds the views that it reads through, but no fusion reaches into a body: a view that stays before it would be
an array of its own. Views of what loops update in place stay where they are, for the old contents would have to be kept;
views of numbers (constants, say the one that a gradient starts from) take a copy of the number along.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from ...dialects.nt import BroadcastOp, LoopsOp, SliceOp, TransposeOp
from ...dialects.nt.work import Role, role_of

SUNK = (BroadcastOp, TransposeOp, SliceOp)


def sink_views(block: Block) -> None:
    """Give each body that uses a view of `block` a view of its own."""
    for op in reversed(list(block.ops)):
        if not isinstance(op, SUNK):
            continue
        bodies = _bodies(op.results[0], block)
        if not bodies:
            continue
        root = _root(op.operands[0])
        is_updated = any(_may_update(use.operation, root) for use in root.uses)
        if is_updated and role_of(root.owner) is not Role.SOURCE:
            continue
        for users in bodies.values():
            copy = _copy_for(op, users)
            if is_updated and isinstance(root.owner, Operation) and copy.operands[0] is root:
                _copy_for(root.owner, [copy])


def _bodies(view: SSAValue, block: Block) -> dict[Block, list[Operation]]:
    """The operations in other blocks than `block` that may hold a view, by block."""
    found: dict[Block, list[Operation]] = {}
    for use in view.uses:
        user = use.operation
        if user.parent is not block and user.parent is not None and _may_hold(user):
            found.setdefault(user.parent, []).append(user)
    return found


def _may_hold(user: Operation) -> bool:
    return role_of(user) is Role.COMPUTES or isinstance(user, SUNK)


def _copy_for(op: Operation, users: Iterable[Operation]) -> Operation:
    """A copy of an operation before the first of its users in one block, which use it."""
    places = set(users)
    block = next(iter(places)).parent
    assert block is not None
    copy = op.clone()
    block.insert_op_before(copy, next(user for user in block.ops if user in places))
    copy.results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_uses_with_if(copy.results[0], lambda use: use.operation in places)
    return copy


def _root(value: SSAValue) -> SSAValue:
    """What `value` is a view of."""
    while isinstance(value.owner, SUNK):
        value = value.owner.operands[0]
    return value


def _may_update(op: Operation, value: SSAValue) -> bool:
    """Whether loops may write an array in place."""
    if isinstance(op, LoopsOp):
        return value in op.outputs
    return not op.has_trait(Pure) and not op.has_trait(IsTerminator) and not isinstance(op, scf.IfOp)
