"""Shapes: transpose, broadcast_to, expand_dims, squeeze, atleast_2d, astype, copy, flip, rot90."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...indexing.subscripts import subscript
from ...indexing.views import Slice, transposed, view
from ...interface.errors import AxisError, DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import broadcast_extents, copy, index_value
from ...values.assemble import dtype_of_value, fresh
from ...values.contents import as_tensor, as_view, is_numpy_scalar, read
from ...values.equal_extents import is_open, may_be_one, require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.tensors import broadcast
from ...values.values import (
    NOTHING,
    Array,
    Buffer,
    Group,
    Static,
    Value,
    extents_of,
    is_array,
    shape_text,
    whole,
)
from ..registry import dtype_of, handles, normal_axis, static
from .orders import lay_out, requested, stays
from .reshaping import frozen_view, reshape_to, shape_argument

_ZERO, _ONE, _FIRST_TWO = Static(0), Static(1), Static((0, 1))


@handles(method="transpose")
def transpose_method(graph: Graph, a: Value, *axes: Value) -> Value:
    return transpose(graph, a, axes[0] if len(axes) == 1 else Group(axes) if axes else NOTHING)


@handles(np.transpose, np.permute_dims)
def transpose(graph: Graph, a: Value, axes: Value = NOTHING) -> Value:
    array = as_view(graph, atleast(graph, a, 0))
    rank = len(array.axes)
    request = static(graph, axes, "axes")
    if request is None and is_numpy_scalar(a):
        return a
    if request is None:
        return transposed(array, range(rank)[::-1])
    given = request if isinstance(request, tuple | list) else (request,)
    perm = [normal_axis(graph, axis, rank) for axis in given]
    if sorted(perm) != list(range(rank)):
        raise graph.error(ShapeError, "axes don't match array")
    return transposed(array, perm)


@handles(np.swapaxes, method="swapaxes")
def swapaxes(graph: Graph, a: Value, axis1: Value, axis2: Value) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    first, second = [normal_axis(graph, static(graph, x, "axis"), rank) for x in (axis1, axis2)]
    perm = list(range(rank))
    perm[first], perm[second] = perm[second], perm[first]
    return transposed(array, perm)


@handles(np.moveaxis)
def moveaxis(graph: Graph, a: Value, source: Value, destination: Value) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    ends: list[list[int]] = []
    for value in (source, destination):
        request = static(graph, value, "axis")
        given = request if isinstance(request, tuple | list) else (request,)
        ends.append([normal_axis(graph, axis, rank) for axis in given])
        if len(set(ends[-1])) != len(ends[-1]):
            raise graph.error(ShapeError, "repeated axis")
    if len(ends[0]) != len(ends[1]):
        raise graph.error(
            ShapeError, "`source` and `destination` arguments must have the same number of elements"
        )
    perm = [k for k in range(rank) if k not in ends[0]]
    for to, axis in sorted(zip(ends[1], ends[0], strict=True)):
        perm.insert(to, axis)
    return transposed(array, perm)


@handles(np.rollaxis)
def rollaxis(graph: Graph, a: Value, axis: Value, start: Value = _ZERO) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    moved, to = normal_axis(graph, static(graph, axis, "axis"), rank), static(graph, start, "start")
    to = to + rank if to < 0 else to
    if not 0 <= to <= rank:
        raise graph.error(
            AxisError, f"'start' arg requires {-rank} <= start < {rank + 1}, but {to} was passed in"
        )
    perm = [k for k in range(rank) if k != moved]
    perm.insert(to - (moved < to), moved)
    return transposed(array, perm)


@handles(np.matrix_transpose)
def matrix_transpose(graph: Graph, x: Value) -> Value:
    if len(extents_of(x)) < 2:
        raise graph.error(ShapeError, "Input array must be at least 2-dimensional, but it is not")
    return swapaxes(graph, x, Static(-1), Static(-2))


@handles(np.broadcast_to)
def broadcast_to(graph: Graph, array: Value, shape: Value) -> Value:
    return _broadcast_to(graph, array, shape, "broadcast")


def _broadcast_to(graph: Graph, array: Value, shape: Value, how: str) -> Value:
    if isinstance(array, Group) or (isinstance(array, Static) and isinstance(array.value, tuple | list)):
        from ...values.nested import array_of

        array = array_of(graph, array)
    number_kind(graph, array)  # refuses what is not a number
    extents = shape_argument(graph, [shape])
    if graph.island is not None:
        raise graph.error(UnsupportedError, "np.broadcast_to inside loops is not supported")
    combined = broadcast_extents(graph, [extents_of(array), extents])
    if len(combined) != len(extents) or not all(
        require_equal(graph, a, b, "np.broadcast_to") for a, b in zip(combined, extents, strict=True)
    ):
        raise graph.error(
            ShapeError,
            f"operands could not be broadcast together with remapped shapes: {shape_text(extents_of(array))} "
            f"and requested shape {shape_text(extents)}",
        )
    if not is_array(array):
        tensor = broadcast(graph, as_tensor(graph, array), extents)
        return whole(Buffer(tensor.ssa, tensor.dtype, extents, read_only=how == "broadcast"))
    source = as_view(graph, array)
    tensor = replace(broadcast(graph, read(graph, source), extents), order=None)
    result = frozen_view(graph, source, tensor, "a broadcast view", (how,))
    result.buffer.read_only = how == "broadcast"
    return result


@handles(np.broadcast_arrays)
def broadcast_arrays(graph: Graph, *args: Value) -> Value:
    extents = broadcast_extents(graph, [extents_of(a) for a in args])
    shape = Group(tuple([index_value(e) for e in extents]))
    results: list[Value] = []
    for value in args:
        same = is_array(value) and len(extents_of(value)) == len(extents)
        same = same and all(a.equals(b) for a, b in zip(extents_of(value), extents, strict=True))
        results.append(value if same else _broadcast_to(graph, value, shape, "broadcast_arrays"))
    return Group(tuple(results))


@handles(np.expand_dims)
def expand_dims(graph: Graph, a: Value, axis: Value) -> Value:
    array = as_view(graph, atleast(graph, a, 0))
    request = static(graph, axis, "axis")
    given = request if isinstance(request, tuple | list) else (request,)
    rank = len(array.axes) + len(given)
    positions = [normal_axis(graph, k, rank) for k in given]
    if len(set(positions)) != len(positions):
        raise graph.error(ShapeError, "repeated axis")
    return view(graph, array, [Static(None) if k in positions else Slice() for k in range(rank)])


def atleast(graph: Graph, value: Value, rank: int) -> Value:
    """np.atleast_1d, 2d and 3d."""
    if isinstance(value, Group) or (isinstance(value, Static) and isinstance(value.value, tuple | list)):
        from ...values.nested import array_of

        value = array_of(graph, value)
    missing = rank - len(extents_of(value))
    if missing <= 0 and is_array(value):
        return value
    array = number_as_array(graph, value)
    leading = {3: {1: 0, 2: 1}}.get(rank, {}).get(missing, missing)
    items = [Static(None)] * leading + [Slice()] * len(array.axes) + [Static(None)] * (missing - leading)
    return view(graph, array, items)


def number_as_array(graph: Graph, value: Value) -> Array:
    """A number as an array of rank 0; an array as it is."""
    if is_array(value):
        return as_view(graph, value)
    number_kind(graph, value)  # refuses what is not a number
    if graph.island is not None:
        return fresh(
            graph, dtype_of_value(graph, value), (), lambda island, array: island.assign(array, value)
        )
    tensor = as_tensor(graph, value)
    return whole(Buffer(tensor.ssa, tensor.dtype, ()))


def _atleast(graph: Graph, values: Sequence[Value], rank: int) -> Value:
    results = [atleast(graph, value, rank) for value in values]
    return results[0] if len(results) == 1 else Group(tuple(results))


@handles(np.atleast_1d)
def atleast_1d(graph: Graph, *arys: Value) -> Value:
    return _atleast(graph, arys, 1)


@handles(np.atleast_2d)
def atleast_2d(graph: Graph, *arys: Value) -> Value:
    return _atleast(graph, arys, 2)


@handles(np.atleast_3d)
def atleast_3d(graph: Graph, *arys: Value) -> Value:
    return _atleast(graph, arys, 3)


def _require_one(graph: Graph, extent: Affine, text: str) -> None:
    """Raise unless an extent is 1: now, or in the run where only that knows."""
    if extent.known == 1 or (is_open(graph, extent) and require_equal(graph, extent, Affine(1), text)):
        return
    raise graph.error(ShapeError, text)


@handles(np.squeeze, method="squeeze")
def squeeze(graph: Graph, a: Value, axis: Value | None = None) -> Value:
    if is_numpy_scalar(a):  # whatever axis is asked for
        return a
    array = as_view(graph, atleast(graph, a, 0))
    rank = len(array.axes)
    request = static(graph, axis, "axis")
    if request is None:
        axes = [k for k, x in enumerate(array.axes) if x.extent.known == 1]
        if any(k not in axes and may_be_one(graph, x.extent) for k, x in enumerate(array.axes)):
            raise graph.error(
                UnsupportedError,
                "np.squeeze where an extent may be 1, which is known at run time only, is not supported",
                "name the axis: np.squeeze(x, axis=0)",
            )
        if not axes:
            return a if is_array(a) else array
    else:
        given = request if isinstance(request, tuple | list) else (request,)
        axes = [normal_axis(graph, k, rank) for k in given]
    for k in axes:
        text = "cannot select an axis to squeeze out which has size not equal to one"
        _require_one(graph, array.axes[k].extent, text)
    gone = [(array.axes[k].root, array.axes[k].offset) for k in axes if array.axes[k].root is not None]
    kept = tuple([x for k, x in enumerate(array.axes) if k not in axes])
    return replace(array, axes=kept, fixed=(*array.fixed, *gone))  # pyright: ignore


@handles(np.fliplr)
def fliplr(graph: Graph, m: Value) -> Value:
    if len(extents_of(m)) < 2:
        raise graph.error(ShapeError, "Input must be >= 2-d.")
    return flip(graph, m, Static(1))


@handles(np.flipud)
def flipud(graph: Graph, m: Value) -> Value:
    if not extents_of(m):
        raise graph.error(ShapeError, "Input must be >= 1-d.")
    return flip(graph, m, _ZERO)


@handles(np.rot90)
def rot90(graph: Graph, m: Value, k: Value = _ONE, axes: Value = _FIRST_TWO) -> Value:
    array = as_view(graph, m)
    pair = static(graph, axes, "axes")
    turns = int(static(graph, k, "the number of turns")) % 4
    if len(pair) != 2:
        raise graph.error(ShapeError, "len(axes) must be 2.")
    a, b = [normal_axis(graph, axis, len(array.axes)) for axis in pair]
    if a == b:
        raise graph.error(ShapeError, "Axes must be different.")
    if turns == 2:
        return flip(graph, array, Static((a, b)))
    if turns == 0:
        return view(graph, array, [Slice()] * len(array.axes))
    if turns == 1:
        return swapaxes(graph, flip(graph, array, Static(b)), Static(a), Static(b))
    return flip(graph, swapaxes(graph, array, Static(a), Static(b)), Static(b))


@handles(np.flip)
def flip(graph: Graph, m: Value, axis: Value | None = None) -> Value:
    array = as_view(graph, atleast(graph, m, 0))
    rank = len(array.axes)
    request = static(graph, axis, "axis")
    given = range(rank) if request is None else request if isinstance(request, tuple | list) else (request,)
    axes = [normal_axis(graph, k, rank) for k in given]
    return subscript(graph, array, [Slice(step=Static(-1)) if k in axes else Slice() for k in range(rank)])


def astype(
    graph: Graph,
    a: Value,
    dtype: Value,
    order: Value | None = None,
    casting: Value | None = None,
    subok: Value | None = None,
    copy: Value | None = None,
) -> Value:
    target = dtype_of(graph, dtype) or np.dtype(np.float64)
    wanted = requested(graph, order, "K")
    own, rule = dtype_of_value(graph, a), static(graph, casting, "casting") or "unsafe"
    if not np.can_cast(own, target, rule):
        raise graph.error(
            DTypeError, f"Cannot cast array data from {own!r} to {target!r} according to the rule '{rule}'"
        )
    if static(graph, copy, "copy") is False and is_array(a) and own == target and stays(graph, a, wanted):
        return a
    return lay_out(graph, _copied(graph, a, target), wanted, a)


handles(method="astype")(astype)


@handles(np.astype)
def numpy_astype(graph: Graph, x: Value, dtype: Value, copy: Value | None = None) -> Value:
    return astype(graph, x, dtype, copy=copy)


def _copied(graph: Graph, a: Value, dtype: np.dtype) -> Value:
    """A fresh array in the memory order of `a`; of an array of rank 0 one again."""
    result = copy(graph, a, dtype)
    if isinstance(a, Array) and not a.axes and graph.island is None:
        tensor = as_tensor(graph, result)
        return whole(Buffer(tensor.ssa, tensor.dtype, ()))
    return result


@handles(np.copy)
def copy_in_order(graph: Graph, a: Value, order: Value | None = None) -> Value:
    if not is_array(a):
        from ...values.nested import array_of

        return array_of(graph, a)
    return lay_out(graph, _copied(graph, a, dtype_of_value(graph, a)), requested(graph, order, "K"), a)


@handles(method="copy")
def copy_(graph: Graph, a: Value, order: Value | None = None) -> Value:
    """Row-major by default, unlike np.copy."""
    return lay_out(graph, _copied(graph, a, dtype_of_value(graph, a)), requested(graph, order), a)


def _item(graph: Graph, a: Value, *args: Value) -> Value:
    from ..elements.python_builtins import to_python

    if args:
        flat = len(args) == 1 and len(extents_of(a)) != 1
        array = reshape_to(graph, a, (Affine(-1),), new=True) if flat else a
        return to_python(graph, subscript(graph, array, args))
    for extent in extents_of(a):
        _require_one(graph, extent, "can only convert an array of size 1 to a Python scalar")
    if any(e.known != 1 for e in extents_of(a)):
        a = subscript(graph, a, [Static(0)] * len(extents_of(a)))
    return to_python(graph, a)


handles(method="item")(_item)
