"""Weighted means and norms: np.average, np.linalg.norm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.real_parts import PARTS
from ...interface.errors import DivisionError, DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import apply
from ...values.assemble import dtype_of_value
from ...values.checks import check
from ...values.contents import as_tensor
from ...values.equal_extents import require_equal
from ...values.graph import Graph
from ...values.tensors import BOOL, as_array, broadcast
from ...values.values import Static, Value, extents_of
from ..registry import handles, static
from ..statistics.reductions import ZERO, axes_of, max_, mean, min_, reduction, require_axes, squares_of, sum_


@handles(np.average)
def average(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    weights: Value | None = None,
    returned: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """A weighted mean; weights are one an element, or one an index of the axis."""
    if static(graph, returned, "returned"):
        raise graph.error(UnsupportedError, "np.average with returned= is not supported", "sum the weights")
    if weights is None or (isinstance(weights, Static) and weights.value is None):
        result = mean(graph, a, axis, keepdims=keepdims)
        if any(e.known == 0 for e in extents_of(result)):  # NumPy divides the sizes of the two
            raise graph.error(DivisionError, "division by zero")
        return result
    if graph.island is not None:
        raise graph.error(UnsupportedError, "np.average with weights is not supported among elements")
    own, other = dtype_of_value(graph, a), dtype_of_value(graph, weights)
    dtype = np.result_type(own, other, *([np.dtype(np.float64)] if own.kind in "biu" else []))
    weights = _along(graph, a, weights, axis)
    scale = reduction(graph, "add", weights, dtype, axis, keepdims)
    zero = apply(graph, np.equal, scale, ZERO)
    some = reduction(graph, "or", zero, BOOL, None, None)
    check(
        graph,
        apply(graph, np.logical_not, some),
        "ZeroDivisionError",
        "Weights sum to zero, can't be normalized",
    )
    weighted = apply(graph, np.multiply, a, weights, dtype=dtype)
    return apply(graph, np.divide, reduction(graph, "add", weighted, dtype, axis, keepdims), scale)


def _along(graph: Graph, a: Value, weights: Value, axis: Value | None) -> Value:
    """The weights with the shape of the array."""
    extents, own = extents_of(a), extents_of(weights)
    along = list(range(len(extents)))
    request = static(graph, axis, "axis")
    if request is None and len(own) == len(extents):
        differ = graph.assumptions.differ
        if any(differ(x, y) for x, y in zip(own, extents, strict=True)):
            raise graph.error(DTypeError, "Axis must be specified when shapes of a and weights differ.")
    if len(own) != len(extents):
        if request is None:
            raise graph.error(DTypeError, "Axis must be specified when shapes of a and weights differ.")
        along = list(axes_of(graph, a, axis))
    if len(own) != len(along) or not all(
        require_equal(graph, extents[k], e, "weights") for k, e in zip(along, own, strict=True)
    ):
        raise graph.error(
            ShapeError, "Shape of weights must be consistent with shape of a along specified axis."
        )
    tensor = as_tensor(graph, weights)
    order = tensor.order if len(along) == len(extents) else None
    return as_array(replace(broadcast(graph, tensor, extents, along), order=order))


# ---- norms ------------------------------------------------------------------------------------------


@handles(np.linalg.norm)
def norm(
    graph: Graph,
    x: Value,
    ord: Value | None = None,
    axis: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    """Of vectors by any order, of matrices by those that need no singular values."""
    order = static(graph, ord, "ord")
    request: Any = static(graph, axis, "axis")
    own = dtype_of_value(graph, x)
    if own.kind in "biu":
        x = apply(graph, np.add, x, Static(np.float64(0)))
    rank = len(extents_of(x))
    require_axes(graph, x, axis)
    if request is None and (
        order is None or (order in ("f", "fro") and rank == 2) or (order == 2 and rank == 1)
    ):
        return apply(graph, np.sqrt, sum_(graph, squares_of(graph, x), None, keepdims=keepdims))
    axes = tuple(range(rank)) if request is None else request if isinstance(request, tuple) else (request,)
    if len(axes) == 1:
        return _vector_norm(graph, x, order, Static(axes[0]), keepdims)
    if len(axes) != 2:
        raise graph.error(ShapeError, "Improper number of dimensions to norm.")
    return _matrix_norm(graph, x, order, axes, keepdims)


def _vector_norm(graph: Graph, x: Value, order: Any, axis: Value, keepdims: Value | None) -> Value:
    if order is None or order == 2:
        return apply(graph, np.sqrt, sum_(graph, squares_of(graph, x), axis, keepdims=keepdims))
    if isinstance(order, str):
        raise graph.error(ShapeError, f"Invalid norm order '{order}' for vectors")
    if order == 0:
        nonzero = apply(graph, np.not_equal, x, ZERO)
        return reduction(graph, "add", nonzero, _real_dtype(graph, x), axis, keepdims)
    size = apply(graph, np.absolute, x)
    if order == np.inf:
        return max_(graph, size, axis, keepdims=keepdims)
    if order == -np.inf:
        return min_(graph, size, axis, keepdims=keepdims)
    if order == 1:
        return sum_(graph, size, axis, keepdims=keepdims)
    total = sum_(graph, apply(graph, np.power, size, Static(order)), axis, keepdims=keepdims)
    return apply(graph, np.power, total, Static(_real_dtype(graph, x).type(1 / order)))


def _real_dtype(graph: Graph, x: Value) -> np.dtype:
    """The dtype of the modulus of the elements."""
    own = dtype_of_value(graph, x)
    return PARTS.get(own, own)


def _matrix_norm(graph: Graph, x: Value, order: Any, axes: tuple[int, ...], keepdims: Value | None) -> Value:
    row, column = axes_of(graph, x, Static(axes[0]))[0], axes_of(graph, x, Static(axes[1]))[0]
    if row == column:
        raise graph.error(ShapeError, "Duplicate axes given.")
    if order is None or order in ("f", "fro"):
        both = Static((row, column))
        return apply(graph, np.sqrt, sum_(graph, squares_of(graph, x), both, keepdims=keepdims))
    if order not in (1, -1, np.inf, -np.inf):
        raise graph.error(
            UnsupportedError,
            f"the matrix norm of order {order!r} is not supported",
            "orders supported: 'fro', 1, -1, inf, -inf",
        )
    summed, chosen = (row, column) if abs(order) == 1 else (column, row)
    kept = static(graph, keepdims, "keepdims")
    sums = sum_(graph, apply(graph, np.absolute, x), Static(summed), keepdims=Static(True))
    best = (max_ if order > 0 else min_)(graph, sums, Static(chosen), keepdims=Static(True))
    if kept:
        return best
    return sum_(graph, best, Static((row, column)))
