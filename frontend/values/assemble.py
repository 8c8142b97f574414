"""New arrays that are written part by part: what np.concatenate, np.pad and np.diag make.

np.concatenate([a, b])   ->   %e = nt.empty : tensor<7xf64>
                              %r = nt.loops ins(%a, %b) outs(%e) { a nest that copies %a, one that copies %b }

Inside an island the new array is a buffer of the island. Every element is written, by one nest per part, and no part
is copied twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.nt import EmptyOp, IotaOp
from ..interface.errors import ShapeError, UnsupportedError
from .contents import as_tensor
from .equal_extents import require_equal
from .extents import Affine, affine_list
from .graph import Graph, dynamic, tensor_type
from .islands import Island, open_island
from .numbers import number_kind
from .promotion import WEAK_DTYPES, result_dtype
from .tensors import as_array, broadcast, common_order, constant, normal_order
from .values import Array, Axis, Buffer, Extents, Lazy, Tensor, Value, describe, extents_of, is_number, whole

INT = np.dtype(np.int64)


def fresh(
    graph: Graph, dtype: np.dtype, extents: Extents, write: Callable[[Island, Array], None], name: str = ""
) -> Array:
    """A new array; `write` writes all of its elements."""
    if graph.island is not None:
        array = whole(graph.island.allocate(name or "t", dtype, extents))
        write(graph.island, array)
        return array
    if any(extent.known == 0 for extent in extents):
        zero = Tensor(constant(graph, 0, dtype), dtype)
        return as_array(broadcast(graph, zero, extents))
    sizes = affine_list(dynamic(extents))
    value = graph.insert(EmptyOp(tensor_type(dtype, extents), sizes))
    array = whole(Buffer(value, dtype, extents, name))
    with open_island(graph) as island:
        write(island, array)
    # A buffer of its own: what is undone at the end of a branch is not that it was written.
    return whole(Buffer(array.buffer.value, dtype, extents, name))


def generated(
    graph: Graph,
    dtype: np.dtype,
    extents: Extents,
    at: Callable[[Island, Sequence[Affine]], SSAValue],
    reads: Sequence[Array] = (),
) -> Value:
    """An array whose element at an index `at` computes; it reads no arrays but `reads`."""
    if graph.island is not None:
        island = graph.island
        return island.lazy(dtype, extents, lambda index: at(island, index), tuple(map(opaque, reads)))

    def write(island: Island, array: Array) -> None:
        island.assign(array, Lazy(dtype, extents, lambda index: at(island, index), tuple(reads)))

    return fresh(graph, dtype, extents, write)


def opaque(array: Array) -> Array:
    """The whole of an array's buffer, for what reads its elements in another order than it writes."""
    return Array(array.buffer, ())


def positions(graph: Graph, count: Affine) -> Value:
    """The integers from 0 below `count`."""
    extents = (count,)
    if graph.island is not None:
        return Lazy(INT, extents, lambda index: graph.integer(index[0]))
    op = IotaOp(tensor_type(INT, extents), affine_list(dynamic(extents)))
    value = graph.insert(op)
    assert value is not None
    return as_array(Tensor(value, INT, extents))


def as_piece(graph: Graph, value: Value) -> Value:
    """A number or array as an island can read it."""
    if isinstance(value, Tensor) and value.extents:
        return as_array(value)
    if isinstance(value, Lazy) and graph.island is None:
        raise graph.error(UnsupportedError, "this value was computed inside a loop")
    if not is_number(value):
        raise graph.error(UnsupportedError, f"making an array of {describe(value)} is not supported")
    return value


def dtype_of_value(graph: Graph, value: Value) -> np.dtype:
    """The dtype that np.asarray gives a number or array."""
    kind = number_kind(graph, value)
    return WEAK_DTYPES[kind] if isinstance(kind, type) else kind


def joint_dtype(graph: Graph, values: Sequence[Value]) -> np.dtype:
    """The dtype of an array that holds all of `values`."""
    return result_dtype(tuple([dtype_of_value(graph, v) for v in values]))


def window(array: Array, axis: int, offset: Affine, extent: Affine) -> Array:
    """The part of an array from `offset` on along `axis`."""
    old = array.axes[axis]
    new = Axis(old.root, old.offset + offset * old.stride, old.stride, extent)
    return replace(array, axes=(*array.axes[:axis], new, *array.axes[axis + 1 :]))


def element_window(array: Array, index: Sequence[int]) -> Array:
    """The view `array[i, j, ...]` for constants in bounds, the leading axes' indices."""
    fixed = list(array.fixed)
    for axis, at in zip(array.axes, index, strict=False):
        if axis.root is not None:
            fixed.append((axis.root, axis.offset + axis.stride * at))
    return replace(array, axes=array.axes[len(index) :], fixed=tuple(fixed))


def with_axis(array: Array, axis: int) -> Array:
    """The array with a new axis of extent 1."""
    new = Axis(None, Affine(0), 1, Affine(1))
    return replace(array, axes=(*array.axes[:axis], new, *array.axes[axis:]))


def concatenated(graph: Graph, values: Sequence[Value], axis: int, dtype: np.dtype | None = None) -> Array:
    """np.concatenate: arrays of one rank, joined along `axis` (not negative)."""
    pieces = [as_piece(graph, v) for v in values]
    shapes = [extents_of(p) for p in pieces]
    first = shapes[0]
    extents: list[Affine] = []
    for k in range(len(first)):
        if k == axis:
            total = Affine(0)
            for shape in shapes:
                total = total + shape[k]
            extents.append(total)
            continue
        extent = first[k]
        for position, shape in enumerate(shapes):
            if not require_equal(graph, extent, shape[k], "np.concatenate"):
                raise graph.error(
                    ShapeError,
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {k}, the array at index 0 has size {first[k].witness()} and the array at index "
                    f"{position} has size {shape[k].witness()}",
                    "arrays are joined along `axis`; np.stack makes a new axis",
                )
            extent = shape[k] if extent.known is None else extent
        extents.append(extent)
    order = _joint_order(graph, pieces)

    def write(island: Island, array: Array) -> None:
        offset = Affine(0)
        for piece, shape in zip(pieces, shapes, strict=True):
            if shape[axis].known != 0:
                island.assign(window(array, axis, offset, shape[axis]), piece)
            offset = offset + shape[axis]

    result = fresh(graph, dtype or joint_dtype(graph, pieces), tuple(extents), write)
    result.buffer.order = order
    return result


def _joint_order(graph: Graph, pieces: Sequence[Value]) -> tuple[int, ...] | None:
    """The memory order of an array joined from `pieces`."""
    if graph.island is not None:
        return None
    arrays = [p for p in pieces if isinstance(p, Array)]
    if not arrays:
        return None
    assert all(p.buffer.value is not None for p in arrays)
    # Only shapes and orders count.
    tensors = [
        Tensor(p.buffer.value, p.dtype, p.extents, order=axis_order(p))  # pyright: ignore
        for p in arrays
    ]
    return common_order(tensors, len(arrays[0].extents))


def axis_order(array: Array) -> tuple[int, ...] | None:
    """The axes of a view as they lie in memory, outermost first; None for row-major."""
    rank = len(array.buffer.extents)
    roots = list(array.buffer.order or range(rank))
    place = [-1 if axis.root is None else roots.index(axis.root) for axis in array.axes]
    return normal_order(sorted(range(len(place)), key=place.__getitem__))


def fortran_order(array: Array) -> tuple[int, ...] | None:
    """The order of the result of functions that keep Fortran's, and make all other arrays row-major."""
    rank = len(array.axes)
    long = [axis for axis in range(rank) if array.axes[axis].extent.known != 1]
    order = [axis for axis in axis_order(array) or range(rank) if axis in long]
    own = [axis for axis in array.axes if axis.root is not None]  # others are new, and of extent 1
    dense = array.buffer.dense and not array.fixed and len(own) == len(array.buffer.extents)
    dense = dense and all(x.stride == 1 and x.extent.equals(array.buffer.extents[x.root]) for x in own)
    return tuple(range(rank))[::-1] if dense and len(long) > 1 and order == long[::-1] else None


def repeated(graph: Graph, value: Value, extents: Extents, along: Sequence[int]) -> Array:
    """The array broadcast to `extents`, as a new one."""
    if graph.island is not None:
        piece = as_piece(graph, value)
        array = graph.island.materialise(piece, "t") if isinstance(piece, Lazy) else piece
        axes: list[Axis | None] = [None] * len(extents)
        own = array.axes if isinstance(array, Array) else ()
        for k, d in enumerate(along):
            axes[d] = own[k]

        def write(island: Island, target: Array) -> None:
            spread = [Axis(None, Affine(0), 1, Affine(1)) if x is None else x for x in axes]
            source = replace(array, axes=tuple(spread)) if isinstance(array, Array) else array
            island.assign(target, source)

        return fresh(graph, dtype_of_value(graph, value), extents, write)
    tensor = replace(broadcast(graph, as_tensor(graph, value), extents, along), order=None)
    return as_array(tensor)
