"""New arrays: zeros, ones, full, empty, their `_like` forms, arange, asarray."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arithmetic import affine_of, convert, number_kind
from ..errors import Respecialise, ShapeError, UnsupportedError
from ..graph import Graph
from ..promotion import WEAK_DTYPES
from ..tensors import broadcast
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
    whole,
)
from .registry import dtype_of, handles, static
from .shapes import shape_argument


def _filled(graph: Graph, extents: Extents, fill: Value, dtype: np.dtype) -> Array:
    if any(e.known is not None and e.known < 0 for e in extents):
        raise graph.error(ShapeError, "negative dimensions are not allowed")
    if graph.island is not None:
        array = whole(graph.island.allocate("t", dtype, extents))
        graph.island.assign(array, fill)
        return array
    tensor = broadcast(graph, convert(graph, fill, dtype), extents)
    return whole(Buffer(tensor.ssa, dtype, extents))


@handles(np.zeros)
def zeros(graph: Graph, shape: Value, dtype: Value | None = None) -> Value:
    return _filled(
        graph, shape_argument(graph, [shape]), Static(0), dtype_of(graph, dtype) or np.dtype(float)
    )


@handles(np.ones)
def ones(graph: Graph, shape: Value, dtype: Value | None = None) -> Value:
    return _filled(
        graph, shape_argument(graph, [shape]), Static(1), dtype_of(graph, dtype) or np.dtype(float)
    )


@handles(np.empty)
def empty(graph: Graph, shape: Value, dtype: Value | None = None) -> Value:
    """Elements that are never written are zero: reproducible, where NumPy's are whatever memory held."""
    return zeros(graph, shape, dtype)


@handles(np.full)
def full(graph: Graph, shape: Value, fill_value: Value, dtype: Value | None = None) -> Value:
    kind = number_kind(graph, fill_value)
    own = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    return _filled(graph, shape_argument(graph, [shape]), fill_value, dtype_of(graph, dtype) or own)


def _like(graph: Graph, a: Value, fill: Value, dtype: Value | None, shape: Value | None) -> Value:
    if shape is not None:
        extents = shape_argument(graph, [shape])
    else:
        extents = extents_of(a)
    kind = number_kind(graph, a)
    own = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    array = _filled(graph, extents, fill, dtype_of(graph, dtype) or own)
    if shape is None and isinstance(a, Array) and a.whole:
        array.buffer.order = a.buffer.order
    return array


@handles(np.zeros_like)
def zeros_like(graph: Graph, a: Value, dtype: Value | None = None, shape: Value | None = None) -> Value:
    return _like(graph, a, Static(0), dtype, shape)


@handles(np.ones_like)
def ones_like(graph: Graph, a: Value, dtype: Value | None = None, shape: Value | None = None) -> Value:
    return _like(graph, a, Static(1), dtype, shape)


@handles(np.empty_like)
def empty_like(
    graph: Graph, prototype: Value, dtype: Value | None = None, shape: Value | None = None
) -> Value:
    return _like(graph, prototype, Static(0), dtype, shape)


@handles(np.full_like)
def full_like(
    graph: Graph, a: Value, fill_value: Value, dtype: Value | None = None, shape: Value | None = None
) -> Value:
    return _like(graph, a, fill_value, dtype, shape)


@handles(np.asarray, np.array, np.ascontiguousarray)
def asarray(graph: Graph, a: Value, dtype: Value | None = None) -> Value:
    """Of an array only: a conversion where the dtype differs."""
    target = dtype_of(graph, dtype)
    if isinstance(a, Group) or not is_array(a):
        raise graph.error(
            UnsupportedError,
            f"making an array of {describe(a)} is not supported",
            "pass it as an argument, or use np.full",
        )
    kind = number_kind(graph, a)
    if target is None or target == kind:
        return a
    from ..arithmetic import copy

    return copy(graph, a, target)


@handles(np.arange)
def arange(graph: Graph, *bounds: Value, dtype: Value | None = None) -> Value:
    """Integers of constant bounds; a run-time length compiles for its value."""
    if graph.island is not None:
        raise graph.error(UnsupportedError, "np.arange inside loops is not supported")
    values: list[Any] = [static(graph, b, "a bound of np.arange") for b in bounds]
    try:
        table = np.arange(*values, dtype=dtype_of(graph, dtype))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise graph.error(ShapeError, str(error)) from None
    return constant_array(graph, table)


def constant_array(graph: Graph, table: np.ndarray) -> Array:
    """A small array known at compile time."""
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    from ...dialects.nt import ConstantOp
    from ..extents import Affine
    from ..graph import tensor_type

    if table.size > 1 << 16:
        raise graph.error(
            UnsupportedError,
            f"a constant array of {table.size} elements is too large",
            "pass it as an argument",
        )
    extents = tuple([Affine(n) for n in table.shape])
    kind = tensor_type(table.dtype, extents)
    signed = table.view(f"i{table.dtype.itemsize}") if table.dtype.kind == "u" else table
    attribute = DenseIntOrFPElementsAttr.from_list(kind, signed.ravel().tolist())  # pyright: ignore
    ssa = graph.insert(ConstantOp.create(properties={"value": attribute}, result_types=[kind]))
    assert ssa is not None
    return whole(Buffer(ssa, table.dtype, extents))


__all__ = ["Respecialise", "Tensor", "affine_of", "constant_array"]
