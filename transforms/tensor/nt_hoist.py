"""nt-hoist: what every iteration of a loop on tensors computes alike is computed once, before the loop.

    %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4x5xf32>) {
      %e = nt.exp %x : tensor<4x5xf32>
      %h1 = nt.add %h, %e : tensor<4x5xf32>
      scf.yield %h1 : tensor<4x5xf32>
    }
  becomes
    %e = nt.exp %x : tensor<4x5xf32>
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4x5xf32>) {
      %h1 = nt.add %h, %e : tensor<4x5xf32>
      scf.yield %h1 : tensor<4x5xf32>
    }

Only pure operations whose operands are defined outside of the loop (`scf.for`, `scf.while`), and of those the ones that
pay, for what is hoisted is an array that the loop loads: a scalar and what only has scalar results, a reduction, an
expensive operation (exp, a division), a cheap one that loads two arrays of its size or what is computed before the loop
by then. A cheap operation on one array stays where it is fused with what uses it, as does `x[:, None] * y`, which
loads less than the array it makes. Branches (`scf.if`) keep what they compute: it may never be needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, Pure

from ...dialects.nt import BroadcastOp, ConstantOp, SliceOp
from ...dialects.nt.ops import shape_of
from ...dialects.nt.work import Role, Viewing, role_of
from .fusion_groups import is_expensive

LOOPS = (scf.ForOp, scf.WhileOp)


@dataclass(frozen=True, eq=False)
class NtHoistPass(ModulePass):
    """Compute once, before the loop, what all iterations of a loop on tensors compute alike."""

    name = "nt-hoist"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Loops come before the loops inside of them: in reverse, what leaves an inner loop may leave the outer one too.
        for loop in reversed([inner for inner in op.walk() if isinstance(inner, LOOPS)]):
            hoist(loop)


def hoist(loop: Operation) -> None:
    """Move what pays out of `loop`, in order, with the views that it reads through."""
    invariant: dict[Operation, bool] = {}
    for region in loop.regions:
        for op in list(region.block.ops):
            if _is_invariant(op, loop, invariant):
                invariant[op] = pays(op, invariant)
    assert loop.parent is not None
    for op in _with_operands(invariant):
        op.detach()
        loop.parent.insert_op_before(op, loop)


def _is_invariant(op: Operation, loop: Operation, invariant: dict[Operation, bool]) -> bool:
    if not op.has_trait(Pure) or op.has_trait(IsTerminator) or _may_trap(op):
        return False
    return all(value.owner in invariant or not is_inside(value, loop) for value in _reads(op))


def _may_trap(op: Operation) -> bool:
    """Whether a division may be by zero, or a slice be out of bounds, where the loop runs no iteration."""
    if isinstance(op, SliceOp):
        return op.offsets.constants() is None
    if not isinstance(op, arith.FloorDivSIOp | arith.CeilDivSIOp | arith.RemSIOp):
        return False
    divisor = op.operands[1].owner
    is_known = isinstance(divisor, arith.ConstantOp) and isinstance(divisor.value, IntegerAttr)
    return not is_known or divisor.value.value.data in (0, -1)  # pyright: ignore


def _reads(op: Operation) -> list[SSAValue]:
    """The operands of `op`, and what its regions use from outside of it."""
    inner = [v for region in op.regions for o in region.walk() for v in o.operands if not is_inside(v, op)]
    return [*op.operands, *inner]


def is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in a region of `op`."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    around = block.parent_op() if block is not None else None
    while around is not None and around is not op:
        around = around.parent_op()
    return around is op


def pays(op: Operation, invariant: dict[Operation, bool]) -> bool:
    """Whether loading the results of `op` is cheaper than computing them in each iteration."""
    if not any(isinstance(r.type, TensorType) for r in op.results):
        return True
    if role_of(op) is Role.VIEW or not any(isinstance(v.type, TensorType) for v in op.operands):
        return isinstance(op, ConstantOp) and op.role is not Role.SOURCE
    if role_of(op) is not Role.COMPUTES or is_expensive(op) or not shape_of(op.results[0]):
        return True
    loaded = {root for value in op.operands if (root := _loaded(value)) is not None}
    return len(loaded) > 1 or any(invariant.get(root.owner, False) for root in loaded)  # pyright: ignore


def _loaded(value: SSAValue) -> SSAValue | None:
    """The array of as many dimensions that is loaded to have `value`; None where one of fewer is."""
    while isinstance(value.owner, Viewing):
        source = value.owner.operands[0]
        if isinstance(value.owner, BroadcastOp) and _long(source) < _long(value):
            return None
        value = source
    return None if role_of(value.owner) is Role.SOURCE else value


def _long(value: SSAValue) -> int:
    """The number of dimensions that are not of extent 1."""
    return sum(extent != 1 for extent in shape_of(value))


def _with_operands(invariant: dict[Operation, bool]) -> list[Operation]:
    """The operations that pay and the others that they need, in order."""
    needed: set[Operation] = set()
    for op in reversed(invariant):
        if invariant[op] or op in needed:
            needed.add(op)
            needed.update(v.owner for v in _reads(op) if v.owner in invariant)  # pyright: ignore
    return [op for op in invariant if op in needed]
