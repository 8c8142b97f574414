"""nt-if-to-select: a branch on tensors whose sides cost next to nothing computes both, and selects.

    %r = scf.if %c -> (tensor<f32>) {
      %a = nt.multiply %x, %y : tensor<f32>
      scf.yield %a : tensor<f32>
    } else {
      scf.yield %x : tensor<f32>
    }
  becomes
    %a = nt.multiply %x, %y : tensor<f32>
    %0 = nt.from_scalar %c : i1 -> tensor<i1>
    %r = nt.select %0, %a, %x : tensor<i1>, tensor<f32>

What is selected is fused with what uses it, and needs no buffer. Both sides must be pure. Numbers (tensors of rank 0) are
selected where a side has at most `limit` operations, none a reduction of an array. Arrays are where both sides compute
by at most `limit` cheap operations from the same arrays: the branch would have loaded as much, and written it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.affine import AffineList
from ...dialects.nt import ELEMENTWISE_OPS, BroadcastOp, DimOp, FromScalarOp, ReduceOp, SliceOp, ToScalarOp
from ...dialects.nt.ops import shape_of
from ...dialects.nt.work import Role, role_of
from .fusion_groups import is_expensive


@dataclass(frozen=True, eq=False)
class NtIfToSelectPass(ModulePass):
    """Compute both sides of branches on tensors where they cost next to nothing, and select."""

    name = "nt-if-to-select"

    limit: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for branch in reversed([inner for inner in op.walk() if isinstance(inner, scf.IfOp)]):
            if is_cheap(branch, self.limit):
                to_select(branch)


def is_cheap(branch: scf.IfOp, limit: int) -> bool:
    """Whether computing both sides and selecting costs no more than branching."""
    sides = [region.block for region in (branch.true_region, branch.false_region) if region.blocks]
    if (
        len(sides) < 2
        or not branch.results
        or not all(isinstance(r.type, TensorType) for r in branch.results)
    ):
        return False
    if not all(_is_simple(op) for side in sides for op in side.ops if op is not side.last_op):
        return False
    computing = [[op for op in side.ops if role_of(op) is Role.COMPUTES] for side in sides]
    if any(len(ops) > limit for ops in computing):
        return False
    if all(not shape_of(r) for r in branch.results):
        return not any(shape_of(v) for ops in computing for op in ops for v in op.operands)
    if any(is_expensive(op) for ops in computing for op in ops):
        return False
    loaded = [_loaded(side) for side in sides]
    updates = all(_is_computed(v, side) for side in sides for v in side.last_op.operands)  # pyright: ignore
    return updates and (loaded[0] <= loaded[1] or loaded[1] <= loaded[0])


def _is_simple(op: Operation) -> bool:
    """Whether an operation may be run where Python does not run it."""
    if isinstance(op, arith.ConstantOp | DimOp):
        return True
    if isinstance(op, SliceOp) and op.offsets.constants() is None:
        return False  # only the condition may say that it is in bounds
    if isinstance(op, ReduceOp) and op.regions and op.regions[0].blocks:
        return False
    return op.has_trait(Pure) and role_of(op) in (Role.COMPUTES, Role.VIEW, Role.SOURCE)


def _loaded(side: Block) -> set[SSAValue]:
    """The arrays from outside that a side reads."""
    values = {v for op in side.ops for v in op.operands if isinstance(v.type, TensorType) and shape_of(v)}
    return {v for v in values if isinstance(v.owner, Block) or v.owner.parent is not side}


def _is_computed(value: SSAValue, side: Block) -> bool:
    return (
        isinstance(value.owner, Operation)
        and value.owner.parent is side
        and role_of(value.owner) is Role.COMPUTES
    )


def to_select(branch: scf.IfOp) -> None:
    """Move both sides before the branch, and select between what they yield."""
    block = branch.parent
    assert block is not None

    def add(op: Operation) -> SSAValue:
        op.location = branch.location
        block.insert_op_before(op, branch)
        return op.results[0]

    ends: list[list[SSAValue]] = []
    for region in (branch.true_region, branch.false_region):
        *ops, end = region.block.ops
        ends.append(list(end.operands))
        for op in ops:
            op.detach()
            block.insert_op_before(op, branch)
    owner = branch.cond.owner
    condition = owner.tensor if isinstance(owner, ToScalarOp) else None
    if condition is None:
        condition = add(FromScalarOp(branch.cond, TensorType(i1, [])))
    for result, one, other in zip(branch.results, *ends, strict=True):
        shape = shape_of(result)
        chosen = condition
        if shape:
            unknown = [k for k, extent in enumerate(shape) if extent == DYNAMIC_INDEX]
            sizes = AffineList.of(*[add(DimOp(one, k)) for k in unknown])
            chosen = add(BroadcastOp(condition, (), TensorType(i1, shape), sizes))
        select = ELEMENTWISE_OPS["select"].create(operands=[chosen, one, other], result_types=[result.type])
        value = add(select)
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    block.erase_op(branch)
