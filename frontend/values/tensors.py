"""Operations on whole tensors: what a NumPy expression outside loops becomes.

x + w      ->   %0 = nt.broadcast %w along [1] : tensor<1000xf32> -> tensor<100x1000xf32>
                %1 = nt.add %x, %0 : tensor<100x1000xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Block, Region, SSAValue

from ...dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    ConstantOp,
    DimOp,
    Elementwise,
    FromScalarOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    ToScalarOp,
    TransposeOp,
    YieldOp,
)
from ...dialects.nt.common import int_array
from ...dialects.nt.elementwise import result_element
from ...dialects.nt.expand import Emitter, number_attribute
from ...dialects.nt.types import TO_NAME, scalar_type
from .extents import Affine, affine_list
from .graph import INDEX, Graph, dynamic, element_type, tensor_type
from .values import Array, Buffer, Extents, Tensor, Value, whole

BOOL = np.dtype(np.bool_)


def dim_value(graph: Graph, tensor: SSAValue, axis: int) -> SSAValue:
    """`nt.dim` of an argument, at the head of the function."""
    op = DimOp.create(operands=[tensor], properties={"axis": IntegerAttr(axis, i64)}, result_types=[INDEX])
    return graph.insert_at_entry(op)


def constant(graph: Graph, value: Any, dtype: np.dtype) -> SSAValue:
    """A rank-0 constant of `dtype`."""
    tensor = TensorType(element_type(dtype), [])
    if dtype.kind in "biu":
        number: Any = int(value)
    elif dtype.kind == "c":
        number = (float(value.real), float(value.imag))
    else:
        number = float(value)
    attribute = DenseIntOrFPElementsAttr.from_list(tensor, [number])  # pyright: ignore
    return _value(graph, ConstantOp.create(properties={"value": attribute}, result_types=[tensor]))


def _value(graph: Graph, op: Any) -> SSAValue:
    value = graph.insert(op)
    assert value is not None
    return value


def from_scalar(graph: Graph, scalar: SSAValue, dtype: np.dtype) -> SSAValue:
    """An SSA scalar as a rank-0 tensor."""
    op = FromScalarOp.create(operands=[scalar], result_types=[TensorType(element_type(dtype), [])])
    return _value(graph, op)


def to_scalar(graph: Graph, tensor: Tensor) -> SSAValue:
    """The element of a rank-0 tensor as an SSA scalar."""
    if isinstance(tensor.ssa.owner, FromScalarOp):
        return tensor.ssa.owner.scalar
    return _value(graph, ToScalarOp(tensor.ssa))


def cast(graph: Graph, tensor: Tensor, dtype: np.dtype) -> Tensor:
    """`tensor` in another element type, as astype does it."""
    if tensor.dtype == dtype:
        return tensor
    op = CastOp.create(operands=[tensor.ssa], result_types=[tensor_type(dtype, tensor.extents)])
    return replace(tensor, ssa=_value(graph, op), dtype=dtype, weak=None)


def broadcast(graph: Graph, tensor: Tensor, extents: Extents, along: Sequence[int] | None = None) -> Tensor:
    """`tensor` repeated to `extents`; its axes become the last ones, or those that `along` names."""
    rank = len(extents)
    if along is None:
        along = range(rank - len(tensor.extents), rank)
    same = len(tensor.extents) == rank and all(
        a.equals(b) or (a.known is None and b.known is None)
        for a, b in zip(tensor.extents, extents, strict=True)
    )
    if same:
        return tensor
    sizes = affine_list(dynamic(extents))
    op = BroadcastOp.create(
        operands=[tensor.ssa, *sizes.operands],
        properties={"along": int_array(along), "size_map": sizes.map_attr},
        result_types=[tensor_type(tensor.dtype, extents)],
    )
    return replace(tensor, ssa=_value(graph, op), extents=extents, scalar=False, weak=None)


def reshape(graph: Graph, tensor: Tensor, extents: Extents) -> Tensor:
    """The same elements in row-major order."""
    if len(extents) == len(tensor.extents) and all(
        a.equals(b) for a, b in zip(tensor.extents, extents, strict=True)
    ):
        return tensor
    sizes = affine_list(dynamic(extents))
    op = ReshapeOp.create(
        operands=[tensor.ssa, *sizes.operands],
        properties={"size_map": sizes.map_attr},
        result_types=[tensor_type(tensor.dtype, extents)],
    )
    return replace(tensor, ssa=_value(graph, op), extents=extents, order=None)


def transpose(graph: Graph, tensor: Tensor, perm: Sequence[int]) -> Tensor:
    """Axis k of the result is axis `perm[k]` of `tensor`."""
    if list(perm) == list(range(len(perm))):
        return tensor
    extents = tuple([tensor.extents[p] for p in perm])
    op = TransposeOp.create(
        operands=[tensor.ssa],
        properties={"perm": int_array(perm)},
        result_types=[tensor_type(tensor.dtype, extents)],
    )
    old = tensor.order or tuple(range(len(perm)))
    order = tuple([list(perm).index(axis) for axis in old])
    return replace(tensor, ssa=_value(graph, op), extents=extents, order=normal_order(order))


def normal_order(order: Sequence[int]) -> tuple[int, ...] | None:
    """A memory order, None for row-major."""
    return None if list(order) == list(range(len(order))) else tuple(order)


def slice_(
    graph: Graph, tensor: Tensor, offsets: Sequence[Affine], strides: Sequence[int], extents: Extents
) -> Tensor:
    """A strided window of the same rank, in bounds."""
    start, sizes = affine_list(offsets), affine_list(dynamic(extents))
    op = SliceOp.build(
        operands=[tensor.ssa, start.operands, sizes.operands],
        properties={
            "offset_map": AffineMapAttr(start.map_attr.data),
            "strides": int_array(strides),
            "size_map": AffineMapAttr(sizes.map_attr.data),
        },
        result_types=[tensor_type(tensor.dtype, extents)],
    )
    return replace(tensor, ssa=_value(graph, op), extents=extents)


def elementwise(graph: Graph, row: Elementwise, operands: Sequence[Tensor], extents: Extents) -> Tensor:
    """One operation of the table on operands of the element types it computes in, broadcast to `extents`."""
    shaped = [broadcast(graph, operand, extents) for operand in operands]
    dtype = result_dtype(row, shaped[-1].dtype)
    op = ELEMENTWISE_OPS[row.name].create(
        operands=[t.ssa for t in shaped], result_types=[tensor_type(dtype, extents)]
    )
    order = common_order([o for o in operands if o.extents], len(extents))
    return Tensor(_value(graph, op), dtype, extents, not extents, None, order)


def result_dtype(row: Elementwise, dtype: np.dtype) -> np.dtype:
    """The dtype of the result of `row` on operands of `dtype`."""
    if row.result == "same":
        return dtype
    return np.dtype(TO_NAME[result_element(row, element_type(dtype))])


def common_order(operands: Sequence[Tensor], rank: int) -> tuple[int, ...] | None:
    """The memory order NumPy gives an elementwise result (its "K" order): that of the operands where they agree.

    Axes are sorted by stride as NumPy's iterator does it, from the last one on: an operand speaks for a pair of axes
    that it has both, and row-major wins where operands disagree.
    """
    if all(t.order is None for t in operands):
        return None
    order: list[int] = []
    for axis in reversed(range(rank)):
        position = 0
        for k, other in enumerate(order):
            votes = [_outer(t, axis, other, rank) for t in operands]
            if any(votes):
                break
            if False in votes:
                position = k + 1
        order.insert(position, axis)
    return normal_order(order)


def _outer(tensor: Tensor, a: int, b: int, rank: int) -> bool | None:
    """Whether axis `a` lies outside axis `b` in the memory of `tensor`; None when it does not say."""
    shift = rank - len(tensor.extents)
    if a < shift or b < shift or any(tensor.extents[axis - shift].known == 1 for axis in (a, b)):
        return None
    order = tensor.order or tuple(range(len(tensor.extents)))
    return order.index(a - shift) < order.index(b - shift)


def reduce(graph: Graph, combiner: str, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """A named reduction over `axes` (increasing)."""
    if not axes:
        return tensor
    extents = tuple([e for k, e in enumerate(tensor.extents) if k not in axes])
    op = ReduceOp.create(
        operands=[tensor.ssa],
        properties={"combiner": StringAttr(combiner), "dims": int_array(axes)},
        result_types=[tensor_type(tensor.dtype, extents)],
    )
    kept = [a for a in tensor.order or range(len(tensor.extents)) if a not in axes]
    order = normal_order([sorted(kept).index(a) for a in kept])
    return Tensor(_value(graph, op), tensor.dtype, extents, not extents, None, order)


Combine = Callable[[Emitter, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""Emits what is made of the accumulators and the elements."""


def combiner_region(
    combine: Combine, identities: Sequence[complex], dtypes: Sequence[np.dtype]
) -> tuple[Block, ArrayAttr]:
    """The block of a combiner of one's own, and its identities."""
    types = [scalar_type(element_type(dtype)) for dtype in dtypes]
    body = Block(arg_types=[*types, *types])
    emitter, count = Emitter(body.add_op), len(dtypes)
    body.add_op(YieldOp(*combine(emitter, body.args[:count], body.args[count:])))
    numbers = [number_attribute(value, type_) for value, type_ in zip(identities, types, strict=True)]
    return body, ArrayAttr(numbers)


def reduce_together(
    graph: Graph,
    combine: Combine,
    identities: Sequence[complex],
    tensors: Sequence[Tensor],
    axes: Sequence[int],
    order: str = "any",
    names: Sequence[str] = (),
) -> list[Tensor]:
    """Tensors of one shape reduced together over `axes` (increasing): `combine(e, old, new)` emits what is made of them.

    `names`: what results are called where the program has no name for them.
    """
    body, numbers = combiner_region(combine, identities, [tensor.dtype for tensor in tensors])
    first = tensors[0]
    extents = tuple([e for k, e in enumerate(first.extents) if k not in axes])
    op = ReduceOp.create(
        operands=[tensor.ssa for tensor in tensors],
        properties={
            "combiner": StringAttr("custom"),
            "dims": int_array(axes),
            "identity": numbers,
            **({} if order == "any" else {"order": StringAttr(order)}),
        },
        regions=[Region(body)],
        result_types=[tensor_type(tensor.dtype, extents) for tensor in tensors],
    )
    kept = [a for a in first.order or range(len(first.extents)) if a not in axes]
    memory = normal_order([sorted(kept).index(a) for a in kept])
    graph.insert(op)
    for result, name in zip(op.results, names, strict=False):
        result.name_hint = name
    return [
        Tensor(value, tensor.dtype, extents, not extents, None, memory)
        for value, tensor in zip(op.results, tensors, strict=True)
    ]


# ---- values as tensors ------------------------------------------------------------------------------


def order_of(array: Array) -> tuple[int, ...] | None:
    """The memory order of a view."""
    buffer = array.buffer
    if buffer.order is None:
        return None
    roots = [axis.root for axis in array.axes]
    new = [k for k, root in enumerate(roots) if root is None]
    return normal_order([*new, *[roots.index(a) for a in buffer.order if a in roots]])


def as_array(tensor: Tensor, name: str = "") -> Array:
    """A tensor as the contents of a fresh array."""
    return whole(Buffer(tensor.ssa, tensor.dtype, tensor.extents, name, tensor.order))


def as_readable(value: Value) -> Value:
    """A value whose elements can be read by their index."""
    return as_array(value) if isinstance(value, Tensor) and value.extents else value
