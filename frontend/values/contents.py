"""Values as arrays and tensors: the present contents of a view, a number as a tensor of rank 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...dialects.nt import ELEMENTWISE
from ..interface.errors import DTypeError
from .extents import Affine
from .graph import Graph
from .overflow import affine_integer
from .promotion import WEAK_DTYPES
from .renewed import is_renewed, renewed
from .tensors import (
    as_array,
    broadcast,
    constant,
    elementwise,
    from_scalar,
    normal_order,
    order_of,
    reshape,
    slice_,
    transpose,
)
from .values import (
    Array,
    Buffer,
    Index,
    Lazy,
    Masked,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    is_array,
    operand_of,
    whole,
)
from .writes import check_fresh


def as_view(graph: Graph, value: Value) -> Array:
    """An array value as a buffer seen through a window."""
    if isinstance(value, Array):
        return value
    if isinstance(value, Lazy) and graph.island is not None:
        return graph.island.materialise(value, "t")
    if isinstance(value, Masked):
        return graph.language.settled(graph, value)
    if isinstance(value, Tensor) and is_array(value):
        return as_array(value)
    if is_numpy_scalar(value):
        return scalar_as_array(graph, value)
    raise graph.error(DTypeError, f"{describe(value)} cannot be indexed")


def is_numpy_scalar(value: Value) -> bool:
    """Whether it is a scalar of NumPy, which has the methods and subscripts of an array of rank 0."""
    if isinstance(value, Static):
        return isinstance(value.raw, np.bool_ | np.number)
    return isinstance(value, Tensor | Scalar) and value.weak is None and not is_array(value)


def scalar_as_array(graph: Graph, value: Value) -> Array:
    """A number as an array of rank 0, which nobody else knows."""
    if graph.island is None:
        return as_array(replace(as_tensor(graph, value), scalar=False, weak=None, arguments=None))
    kind = operand_of(value)
    cell = whole(graph.island.allocate("t", WEAK_DTYPES[kind] if isinstance(kind, type) else kind, ()))
    graph.island.assign(cell, value)
    return cell


def as_tensor(graph: Graph, value: Value) -> Tensor:
    """A number or array as a tensor: constants of their own type, arrays at their present contents."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Array):
        return read(graph, value)
    if isinstance(value, Masked):
        return read(graph, graph.language.settled(graph, value))
    if isinstance(value, Index):
        ssa = from_scalar(graph, affine_integer(graph, value.affine), WEAK_DTYPES[int])
        return Tensor(ssa, WEAK_DTYPES[int], (), True, int, None, value.affine.arguments() or None)
    assert isinstance(value, Static)
    operand = operand_of(value)
    dtype = WEAK_DTYPES[operand] if isinstance(operand, type) else operand
    return Tensor(
        constant(graph, value.value, dtype), dtype, (), True, operand if isinstance(operand, type) else None
    )


def read(graph: Graph, array: Array) -> Tensor:
    """The present contents of a view."""
    if array.part:
        whole_numbers = read(graph, replace(array, part=""))
        return elementwise(graph, ELEMENTWISE[array.part], [whole_numbers], whole_numbers.extents)
    buffer = array.buffer
    if buffer.lenders and is_renewed(graph, array):
        return renewed(graph, array, _shown(graph, array), read)
    check_fresh(graph, buffer)
    if buffer.shared is not None and graph.island is None:
        return _staged(graph, array)
    refresh(graph, buffer)
    return _shown(graph, array)


def _shown(graph: Graph, array: Array) -> Tensor:
    """What a view shows of its buffer."""
    buffer = array.buffer
    assert buffer.value is not None
    tensor = Tensor(buffer.value, buffer.dtype, buffer.extents, order=buffer.order)
    if array.whole:
        return tensor
    return _permuted(graph, _windowed(graph, tensor, array), array)


def refresh(graph: Graph, buffer: Buffer) -> None:
    """Look what a view of another shape shows by now."""
    if buffer.through is not None:
        buffer.value = reshape(graph, read(graph, buffer.through), buffer.extents).ssa


def _staged(graph: Graph, array: Array) -> Tensor:
    """A copy of what is now in an array that overlaps another argument: tensors do not see each other's writes."""
    from .islands import open_island

    dtype, extents = array.dtype, array.extents
    start = broadcast(graph, Tensor(constant(graph, 0, dtype), dtype, ()), extents)
    copy = whole(Buffer(start.ssa, dtype, extents, array.buffer.name))
    with open_island(graph) as island:
        island.assign(copy, array)
    assert copy.buffer.value is not None
    return Tensor(copy.buffer.value, dtype, extents, order=order_of(array))


def _windowed(graph: Graph, tensor: Tensor, array: Array) -> Tensor:
    """The window, axes still in the order of the buffer, the ones indexed away gone."""
    rank = len(tensor.extents)
    offsets, strides, extents = [Affine(0)] * rank, [1] * rank, list(tensor.extents)
    for axis, offset in array.fixed:
        offsets[axis], extents[axis] = offset, Affine(1)
    for axis in array.axes:
        if axis.root is not None:
            offsets[axis.root], strides[axis.root], extents[axis.root] = axis.offset, axis.stride, axis.extent
    trivial = all(
        o.known == 0 and s == 1 and e.equals(old)
        for o, s, e, old in zip(offsets, strides, extents, tensor.extents, strict=True)
    )
    if not trivial:
        tensor = slice_(graph, tensor, offsets, strides, tuple(extents))
    if not array.fixed:
        return tensor
    gone = {axis for axis, _ in array.fixed}
    old = [a for a in tensor.order or range(rank) if a not in gone]
    kept = tuple([e for k, e in enumerate(tensor.extents) if k not in gone])
    return replace(reshape(graph, tensor, kept), order=normal_order([sorted(old).index(a) for a in old]))


def _permuted(graph: Graph, tensor: Tensor, array: Array) -> Tensor:
    """Axes in the order of the view, and its new axes."""
    roots = [axis.root for axis in array.axes if axis.root is not None]
    tensor = transpose(graph, tensor, [sorted(roots).index(root) for root in roots])
    if len(roots) == len(array.axes):
        return tensor
    along = [k for k, axis in enumerate(array.axes) if axis.root is not None]
    new = [k for k, axis in enumerate(array.axes) if axis.root is None]
    order = None if tensor.order is None else normal_order([*new, *[along[a] for a in tensor.order]])
    return replace(broadcast(graph, tensor, array.extents, along), order=order)
