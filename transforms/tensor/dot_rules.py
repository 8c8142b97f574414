"""Canonicalisation of `nt.dot`: no row is computed twice, and none is written across memory.

    %0 = nt.broadcast %v along [1] : tensor<5xf32> -> tensor<4x5xf32>
    %1 = nt.dot %0, %w contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
    %2 = nt.dot %x, %y batch [0] x [0] contract [2] x [1] : ... -> tensor<2x4x6xf32>
    %3 = nt.transpose %2 perm [2, 0, 1] : tensor<2x4x6xf32> -> tensor<6x2x4xf32>
    %4 = nt.reshape %3 : tensor<6x2x4xf32> -> tensor<6x8xf32>       // an operand of a product
  becomes
    %0 = nt.dot %v, %w contract [0] x [0] : tensor<5xf32>, tensor<5x6xf32> -> tensor<6xf32>
    %1 = nt.broadcast %0 along [1] : tensor<6xf32> -> tensor<4x6xf32>
    %2 = nt.dot %y, %x batch [0] x [0] contract [1] x [2] : ... -> tensor<2x6x4xf32>
    %3 = nt.transpose %2 perm [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
    %4 = nt.reshape %3 : tensor<6x2x4xf32> -> tensor<6x8xf32>

The gradient of a sum is a broadcast 1, and every product before it would be of equal rows. The gradient of keys that are
read by heads, transposed, is a product that is put together again from heads, transposed: exchanged, its rows are what the
next product reads. Sums are of the same products; their order is any.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nt.dot_op import DotOp
from ...dialects.nt.ops import BroadcastOp, DimOp, ReshapeOp, TransposeOp, element_of, shape_of
from .rules import New


def dot_of_repeated(op: DotOp, new: New) -> SSAValue | None:
    """Where an operand is repeated along axes that are not summed over, so is the result: of a smaller product."""
    dropped = [_repeated(value, free) for value, free in zip((op.lhs, op.rhs), op.free, strict=True)]
    if not any(dropped):
        return None
    operands, batch, contract = [], [], []
    for side, value in enumerate((op.lhs, op.rhs)):
        axes = [d for d in range(len(shape_of(value))) if d not in dropped[side]]
        operands.append(_without(value, axes, new) if dropped[side] else value)
        batch.append([axes.index(d) for d in op.batch[side]])
        contract.append([axes.index(d) for d in op.contract[side]])
    result = new.add(
        DotOp(*operands, (contract[0], contract[1]), (batch[0], batch[1]), element_of(op.result))
    )
    origins = _origins(op)
    along = [k for k, (side, axis) in enumerate(origins) if side is None or axis not in dropped[side]]
    return new.broadcast(result, along, op.result.type, _sizes(op, origins, new))


def _repeated(value: SSAValue, free: Sequence[int]) -> list[int]:
    """The free axes of an operand that a broadcast has added."""
    owner = value.owner
    return [d for d in free if d not in owner.dims] if isinstance(owner, BroadcastOp) else []


def _without(value: SSAValue, axes: Sequence[int], new: New) -> SSAValue:
    """The broadcast that `value` is, along these axes alone."""
    owner, shape = value.owner, shape_of(value)
    assert isinstance(owner, BroadcastOp)
    unknown = [d for d in range(len(shape)) if shape[d] == DYNAMIC_INDEX]
    kept = [owner.sizes[k] for k, d in enumerate(unknown) if d in axes]
    type_ = TensorType(element_of(value), [shape[d] for d in axes])
    return new.broadcast(owner.source, [list(axes).index(d) for d in owner.dims], type_, AffineList.of(*kept))


def _origins(op: DotOp) -> list[tuple[int | None, int]]:
    """Of each axis of the result the operand that it is an axis of, None for both, and the axis (of the left one)."""
    left, right = op.free
    return [*((None, d) for d in op.batch[0]), *((0, d) for d in left), *((1, d) for d in right)]


def _sizes(op: DotOp, origins: Sequence[tuple[int | None, int]], new: New) -> AffineList:
    """The unknown extents of the result."""
    unknown = [
        new.add(DimOp((op.lhs, op.rhs)[side or 0], axis))
        for extent, (side, axis) in zip(shape_of(op.result), origins, strict=True)
        if extent == DYNAMIC_INDEX
    ]
    return AffineList.of(*unknown)


def transpose_of_dot(op: TransposeOp, new: New) -> SSAValue | None:
    """A product that is read transposed, with axes joined, by another product is made with its operands exchanged: then
    what is innermost in the transpose is innermost in the first one, and axes can be joined in memory. Products read
    what is only transposed at any axis; what else reads it decides less than what the first product is made of."""
    dot = op.source.owner
    if not isinstance(dot, DotOp) or not all(_turns(use.operation, dot) for use in dot.result.uses):
        return None
    if not any(_joins_for_product(use.operation) for use in op.result.uses):
        return None
    (left_batch, right_batch), (left, right) = dot.batch, dot.contract
    turned = new.add(
        DotOp(dot.rhs, dot.lhs, (right, left), (right_batch, left_batch), element_of(dot.result))
    )
    count, rows, columns = len(left_batch), len(dot.free[0]), len(dot.free[1])
    order = [
        *range(count),
        *range(count + columns, count + columns + rows),
        *range(count, count + columns),
    ]
    perm = [order[p] for p in op.permutation]
    return turned if perm == sorted(perm) else new.add(TransposeOp(turned, perm))


def _joins_for_product(op: Operation) -> bool:
    return isinstance(op, ReshapeOp) and any(isinstance(use.operation, DotOp) for use in op.result.uses)


def _turns(op: Operation, dot: DotOp) -> bool:
    """Whether an operation is a transpose whose last axis is one of the left operand's, and not the product's last."""
    if not isinstance(op, TransposeOp) or not dot.free[1]:
        return False
    first = len(dot.batch[0])
    return first <= op.permutation[-1] < first + len(dot.free[0])
