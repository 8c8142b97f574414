"""np.lib.stride_tricks.sliding_window_view: windows of an array, as nt.window."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, i64

from ....dialects.nt import WindowOp
from ...interface.errors import Respecialise, ShapeError, UnsupportedError
from ...values.contents import as_view, read
from ...values.extents import Affine, affine_list
from ...values.graph import Graph, dynamic, tensor_type
from ...values.tensors import normal_order
from ...values.values import Array, Buffer, Group, Static, Value, whole
from ..registry import handles, normal_axis, static


@handles(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(graph: Graph, x: Value, window_shape: Value, axis: Value | None = None) -> Value:
    """The windows as they are now: NumPy's view is read-only too, but shows what is written later."""
    if graph.island is not None:
        raise graph.error(
            UnsupportedError, "sliding_window_view inside loops is not supported", "index the elements"
        )
    array = as_view(graph, x)
    shape, axes = _shape(graph, window_shape), static(graph, axis, "axis")
    rank = len(array.axes)
    if axes is None:
        axes = tuple(range(rank))
        if len(shape) != rank:
            raise graph.error(
                ShapeError,
                f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(shape)} "
                f"window_shape elements and `x.ndim` is {rank}.",
            )
    given = axes if isinstance(axes, tuple | list) else (axes,)
    axes = [normal_axis(graph, a, rank) for a in given]
    if len(shape) != len(axes):
        raise graph.error(ShapeError, "Must provide matching length window_shape and axis")
    if any(w < 0 for w in shape):
        raise graph.error(ShapeError, "`window_shape` cannot contain negative values")
    if any(w < 1 for w in shape):
        raise graph.error(UnsupportedError, "windows of no elements are not supported")
    extents = list(array.extents)
    for k, window in zip(axes, shape, strict=True):
        extents[k] = _shorter(graph, extents[k], window - 1)
    tensor = read(graph, array)
    result = (*extents, *[Affine(w) for w in shape])
    sizes = affine_list(dynamic(result))
    op = WindowOp.create(
        operands=[tensor.ssa, *sizes.operands],
        properties={"over": DenseArrayBase.from_list(i64, axes), "size_map": sizes.map_attr},
        result_types=[tensor_type(tensor.dtype, result)],
    )
    graph.insert(op)
    order: list[int] = []
    for a in tensor.order or range(rank):  # an axis and its windows have one stride
        order += [a, *[rank + k for k, b in enumerate(axes) if a == b]]
    buffer = _view(array, op, tensor.dtype, result)
    buffer.derived = (array, "windows", (tuple(shape), tuple(axes)))
    buffer.order = normal_order(order)
    return whole(buffer)


def _view(source: Array, op: WindowOp, dtype: np.dtype, extents: tuple[Affine, ...]) -> Buffer:
    name = source.buffer.name
    origin = source.buffer.origin or (source.buffer, source.buffer.age)
    frozen = f"a view of the windows of '{name}'" if name else "a view of windows"
    return Buffer(op.result, dtype, extents, name, frozen=frozen, origin=origin, read_only=True)


def _shape(graph: Graph, window_shape: Value) -> list[int]:
    items = window_shape.items if isinstance(window_shape, Group) else (window_shape,)
    sizes: list[int] = []
    for item in items:
        if isinstance(item, Static) and isinstance(item.value, tuple | list):
            sizes.extend(item.value)
        else:
            sizes.append(static(graph, item, "the extent of a window"))
    return sizes


def _shorter(graph: Graph, extent: Affine, by: int) -> Affine:
    """How many windows there are; one or none must be known."""
    count = extent - by
    if count.known is None:
        witness = count.witness()
        if witness is not None and witness < 2:
            raise Respecialise(shapes=True, why="windows of which there is one or none")
        graph.assumptions.nonnegative(count - 2, "extents 0 and 1 are compiled for")
    elif count.known < 1:
        raise graph.error(ShapeError, "window shape cannot be larger than input array shape")
    return count
