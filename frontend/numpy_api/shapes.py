"""Shapes: transpose, reshape, ravel, broadcast_to, expand_dims, squeeze, astype, copy, flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects.nt import DimOp
from ..arithmetic import affine_of, broadcast_extents, copy, number_kind
from ..errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ..extents import Affine
from ..graph import Graph
from ..promotion import WEAK_DTYPES
from ..tensors import as_tensor, broadcast, read
from ..tensors import reshape as reshape_tensor
from ..values import (
    Array,
    Buffer,
    Extents,
    Group,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    shape_text,
    whole,
)
from ..views import Slice, as_view, transposed, view
from .registry import dtype_of, handles, normal_axis, static


def _reads_extents(value: SSAValue) -> bool:
    """Whether a number is computed from unknown extents."""
    owner = value.owner
    return isinstance(owner, DimOp) or (
        isinstance(owner, Operation) and any(map(_reads_extents, owner.operands))
    )


def shape_argument(graph: Graph, values: Sequence[Value]) -> Extents:
    """Extents given as one tuple, one integer, or several integers."""
    items = values[0].items if len(values) == 1 and isinstance(values[0], Group) else values
    if len(values) == 1 and isinstance(values[0], Static) and isinstance(values[0].value, tuple | list):
        items = [Static(v) for v in values[0].value]
    extents: list[Affine] = []
    for item in items:
        affine = affine_of(item)
        if affine is None and isinstance(item, Tensor) and _reads_extents(item.ssa):
            raise Respecialise(shapes=True, why="a shape that is computed from extents")
        if affine is None:
            raise graph.error(DTypeError, f"a shape is made of integers, not {describe(item)}")
        if affine.known is None and affine.over_dims() is None:
            if affine.arguments() and graph.island is None:
                raise Respecialise(affine.arguments(), why="a shape depends on an integer argument")
            raise graph.error(UnsupportedError, "a shape that depends on a loop variable is not supported")
        extents.append(affine)
    return tuple(extents)


@handles(np.transpose, method="transpose")
def transpose(graph: Graph, a: Value, *axes: Value) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    request = static(graph, axes[0] if len(axes) == 1 else Group(axes), "axes") if axes else None
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


@handles(np.reshape)
def reshape(graph: Graph, a: Value, shape: Value) -> Value:
    return _reshaped(graph, a, _inferred(graph, extents_of(a), shape_argument(graph, [shape])))


def _reshape_method(graph: Graph, a: Value, *shape: Value) -> Value:
    return _reshaped(graph, a, _inferred(graph, extents_of(a), shape_argument(graph, shape)))


handles(method="reshape")(_reshape_method)


@handles(np.ravel, method="ravel")
def ravel(graph: Graph, a: Value) -> Value:
    return _reshaped(graph, a, _inferred(graph, extents_of(a), (Affine(-1),)))


def _flatten(graph: Graph, a: Value) -> Value:
    flat = ravel(graph, a)
    assert isinstance(flat, Array)
    return copy(graph, flat, flat.dtype)


handles(method="flatten")(_flatten)


def _inferred(graph: Graph, old: Extents, new: Extents) -> Extents:
    """`new` with its -1 worked out."""
    holes = [k for k, e in enumerate(new) if e.known == -1]
    if len(holes) > 1:
        raise graph.error(ShapeError, "can only specify one unknown dimension")
    if any(e.known is None for e in (*old, *new)):
        return _inferred_unknown(graph, old, new, holes)
    total = prod(e.constant for e in old)
    if not holes:
        if prod(e.constant for e in new) != total:
            raise _cannot(graph, old, new)
        return new
    rest = prod(e.constant for k, e in enumerate(new) if k != holes[0])
    if rest == 0 or total % rest:
        raise _cannot(graph, old, new)
    return tuple([Affine(total // rest) if k == holes[0] else e for k, e in enumerate(new)])


def _inferred_unknown(graph: Graph, old: Extents, new: Extents, holes: list[int]) -> Extents:
    """Unknown extents that both sides have cancel; what remains must be constant."""
    left, right = list(old), [e for k, e in enumerate(new) if k not in holes]
    for extent in list(right):
        match = next((e for e in left if extent.known is None and e.equals(extent)), None)
        if match is not None:
            left.remove(match)
            right.remove(extent)
    unknown = [e for e in left if e.known is None]
    if any(e.known is None for e in right) or len(unknown) > len(holes):
        raise Respecialise(shapes=True, why="a reshape of unknown extents")
    numerator, denominator = prod(e.constant for e in left if e.terms == ()), prod(e.constant for e in right)
    if not holes:
        if numerator != denominator:
            raise _cannot(graph, old, new)
        return new
    if denominator == 0 or numerator % denominator:
        raise Respecialise(shapes=True, why="a reshape of unknown extents")
    hole = Affine(numerator // denominator) if not unknown else unknown[0] * (numerator // denominator)
    return tuple([hole if k == holes[0] else e for k, e in enumerate(new)])


def _cannot(graph: Graph, old: Extents, new: Extents) -> Exception:
    total = prod(e.witness() or 0 for e in old)
    return graph.error(
        ShapeError, f"cannot reshape array of size {total} into shape {shape_text(new)}".replace(", ", ",")
    )


def _reshaped(graph: Graph, a: Value, extents: Extents) -> Value:
    """NumPy shares memory where it can; here the result is the value at this moment, and writes through it are refused."""
    if graph.island is not None:
        raise graph.error(
            UnsupportedError, "reshape inside loops is not supported", "reshape before the loop"
        )
    array = as_view(graph, a)
    tensor = reshape_tensor(graph, read(graph, array), extents)
    return _frozen(graph, array, tensor, "a reshaped view", ("reshape",))


def _frozen(graph: Graph, source: Array, tensor: Tensor, what: str, derived: tuple) -> Array:
    name = source.buffer.name
    frozen = f"{what} of '{name}'" if name else what
    origin = source.buffer.origin or (source.buffer, source.buffer.version)
    return whole(
        Buffer(
            tensor.ssa,
            tensor.dtype,
            tensor.extents,
            name,
            tensor.order,
            frozen=frozen,
            origin=origin,
            derived=(source, *derived),
        )
    )


@handles(np.broadcast_to)
def broadcast_to(graph: Graph, array: Value, shape: Value) -> Value:
    extents = shape_argument(graph, [shape])
    if graph.island is not None:
        raise graph.error(UnsupportedError, "np.broadcast_to inside loops is not supported")
    combined = broadcast_extents(graph, [extents_of(array), extents])
    if len(combined) != len(extents) or not all(a.equals(b) for a, b in zip(combined, extents, strict=True)):
        raise graph.error(
            ShapeError,
            f"operands could not be broadcast together with remapped shapes: {shape_text(extents_of(array))} "
            f"and requested shape {shape_text(extents)}",
        )
    if not is_array(array):
        tensor = broadcast(graph, as_tensor(graph, array), extents)
        return whole(Buffer(tensor.ssa, tensor.dtype, extents, read_only=True))
    source = as_view(graph, array)
    tensor = replace(broadcast(graph, read(graph, source), extents), order=None)
    result = _frozen(graph, source, tensor, "a broadcast view", ("broadcast",))
    result.buffer.read_only = True
    return result


@handles(np.expand_dims)
def expand_dims(graph: Graph, a: Value, axis: Value) -> Value:
    array = as_view(graph, a)
    position = normal_axis(graph, static(graph, axis, "axis"), len(array.axes) + 1)
    items = [Slice()] * position + [Static(None)]
    return view(graph, array, items)


@handles(np.squeeze, method="squeeze")
def squeeze(graph: Graph, a: Value, axis: Value | None = None) -> Value:
    array = as_view(graph, a)
    rank = len(array.axes)
    request = static(graph, axis, "axis")
    if request is None:
        axes = [k for k, x in enumerate(array.axes) if x.extent.known == 1]
    else:
        given = request if isinstance(request, tuple | list) else (request,)
        axes = [normal_axis(graph, k, rank) for k in given]
    for k in axes:
        if array.axes[k].extent.known != 1:
            raise graph.error(
                ShapeError, "cannot select an axis to squeeze out which has size not equal to one"
            )
    gone = [(array.axes[k].root, array.axes[k].offset) for k in axes if array.axes[k].root is not None]
    kept = tuple([x for k, x in enumerate(array.axes) if k not in axes])
    return Array(array.buffer, kept, (*array.fixed, *gone))  # pyright: ignore


@handles(np.flip)
def flip(graph: Graph, m: Value, axis: Value | None = None) -> Value:
    array = as_view(graph, m)
    rank = len(array.axes)
    request = static(graph, axis, "axis")
    given = range(rank) if request is None else request if isinstance(request, tuple | list) else (request,)
    axes = [normal_axis(graph, k, rank) for k in given]
    return view(graph, array, [Slice(step=Static(-1)) if k in axes else Slice() for k in range(rank)])


def _astype(graph: Graph, a: Value, dtype: Value, copy: Value | None = None) -> Value:
    del copy  # the result is always fresh
    target = dtype_of(graph, dtype)
    assert target is not None
    from ..arithmetic import copy as fresh

    return fresh(graph, a, target)


handles(method="astype")(_astype)


@handles(np.copy, method="copy")
def copy_(graph: Graph, a: Value) -> Value:
    kind = number_kind(graph, a)
    result = copy(graph, a, WEAK_DTYPES[kind] if isinstance(kind, type) else kind)
    if isinstance(a, Array) and not a.axes and graph.island is None:
        tensor = as_tensor(graph, result)
        return whole(Buffer(tensor.ssa, tensor.dtype, ()))
    if isinstance(result, Array) and result.buffer.order is not None:
        # ndarray.copy is row-major by default.
        result.buffer.order = None
    return result


def _item(graph: Graph, a: Value) -> Value:
    if any(e.known != 1 for e in extents_of(a)):
        raise graph.error(ShapeError, "can only convert an array of size 1 to a Python scalar")
    from .python import to_python

    return to_python(graph, a)


handles(method="item")(_item)
