"""Operations that move or convert elements are linear: a tangent goes through them, a cotangent through the transpose.

%y = nt.broadcast %x along [1] : tensor<4xf32> -> tensor<3x4xf32>    // reverse: a sum over axis 0
%y = nt.transpose %x perm [1, 0]                                     // reverse: the inverse permutation
%y = nt.slice %x[1] strides [2]                                      // reverse: a piece of the cotangent of %x
%y = nt.window %x over [1]                                           // reverse: windows are added up where they overlap
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from ....dialects.nt.ops import (
    BroadcastOp,
    CastOp,
    FromScalarOp,
    OptimizationBarrierOp,
    ReshapeOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
    element_of,
    shape_of,
)

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse

Cotangents = Sequence["SSAValue | None"]


def linear_forward(op: Operation, by: Forward) -> Cotangents:
    """The operation on the tangent of its first operand, the others (extents, offsets) as they are."""
    tangent = by.of(op.operands[0])
    if tangent is None:
        return [None]
    copy = type(op).create(
        operands=[tangent, *op.operands[1:]],
        result_types=[r.type for r in op.results],
        properties=dict(op.properties),
    )
    return [by.builder.value(copy)]


def cast_forward(op: CastOp, by: Forward) -> Cotangents:
    tangent = by.of(op.source)
    return [None if tangent is None else by.builder.cast(tangent, element_of(op.result))]


def cast_reverse(op: CastOp, cotangents: Cotangents, to: Reverse) -> None:
    assert cotangents[0] is not None
    to.add(op.source, to.builder.cast(cotangents[0], element_of(op.source)))


def broadcast_reverse(op: BroadcastOp, cotangents: Cotangents, to: Reverse) -> None:
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    source, result = shape_of(op.source), shape_of(op.result)
    stretched = [k for k, d in enumerate(op.dims) if source[k] == 1 and result[d] != 1]
    added = [d for d in range(len(result)) if d not in op.dims]
    total = b.sum(cotangent, added + [op.dims[k] for k in stretched])
    to.add(op.source, b.expand(total, stretched))


def reshape_reverse(op: ReshapeOp, cotangents: Cotangents, to: Reverse) -> None:
    assert cotangents[0] is not None
    to.add(op.source, to.builder.reshape(cotangents[0], op.source))


def transpose_reverse(op: TransposeOp, cotangents: Cotangents, to: Reverse) -> None:
    assert cotangents[0] is not None
    perm = op.permutation
    to.add(op.source, to.builder.transpose(cotangents[0], [perm.index(k) for k in range(len(perm))]))


def slice_reverse(op: SliceOp, cotangents: Cotangents, to: Reverse) -> None:
    assert cotangents[0] is not None
    to.add_piece(op, cotangents[0])


# ---- scalars: their tangents and cotangents are tensors of rank 0 ----------------------------------------


def from_scalar_reverse(op: FromScalarOp, cotangents: Cotangents, to: Reverse) -> None:
    to.add(op.scalar, cotangents[0])


def to_scalar_reverse(op: ToScalarOp, cotangents: Cotangents, to: Reverse) -> None:
    to.add(op.tensor, cotangents[0])


def scalar_forward(op: Operation, by: Forward) -> Cotangents:
    return [by.of(op.operands[0])]


# ---- values that pass through -----------------------------------------------------------------------------


def barrier_forward(op: OptimizationBarrierOp, by: Forward) -> Cotangents:
    return [by.of(v) for v in op.inputs]


def barrier_reverse(op: OptimizationBarrierOp, cotangents: Cotangents, to: Reverse) -> None:
    for value, cotangent in zip(op.inputs, cotangents, strict=True):
        to.add(value, cotangent)
