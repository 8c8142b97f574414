"""Reductions: sum, prod, max, min, mean, any, all, var, std."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arithmetic import apply, convert, copy, index_value, number_kind
from ..errors import DTypeError, ShapeError, UnsupportedError
from ..graph import Graph
from ..promotion import WEAK_DTYPES
from ..tensors import as_array, as_tensor, broadcast, cast, reduce
from ..values import Array, Lazy, Scalar, Static, Tensor, Value, extents_of
from .attributes import size
from .registry import dtype_of, handles, normal_axis, refuse_out, static

ZERO = Static(0)
HALVES = ("float16", "bfloat16")


def _axes(graph: Graph, value: Value, axis: Value | None) -> tuple[int, ...]:
    rank = len(extents_of(value))
    request: Any = static(graph, axis, "axis")
    if request is None:
        return tuple(range(rank))
    given = request if isinstance(request, tuple) else (request,)
    if not rank and len(given) == 1 and given[0] in (0, -1):
        return ()  # NumPy lets a scalar be reduced over its first or last axis
    axes = [normal_axis(graph, a, rank) for a in given]
    if len(set(axes)) != len(axes):
        raise graph.error(ShapeError, "duplicate value in 'axis'")
    return tuple(sorted(axes))


def _dtype(graph: Graph, value: Value) -> np.dtype:
    kind = number_kind(graph, value)
    return WEAK_DTYPES[kind] if isinstance(kind, type) else kind


def _reduce(
    graph: Graph, combiner: str, value: Value, dtype: np.dtype, axis: Value | None, keepdims: Value | None
) -> Value:
    """Reduce `value`, converted to `dtype`, over `axis`."""
    axes = _axes(graph, value, axis)
    keep = bool(static(graph, keepdims, "keepdims"))
    if graph.island is not None:
        return _reduce_elements(graph, combiner, value, dtype, axes, keep)
    # A half-precision sum is accumulated in float32, as NumPy does.
    wide = np.dtype(np.float32) if dtype.name in HALVES and combiner in ("add", "multiply") else dtype
    tensor = convert(graph, value, wide)
    if not axes:
        result = cast(graph, tensor, dtype)
        return as_array(result) if result.extents else replace(result, weak=None, scalar=True)
    result = cast(graph, reduce(graph, combiner, tensor, axes), dtype)
    if keep:
        one = tuple([type(e)(1) if k in axes else e for k, e in enumerate(tensor.extents)])
        along = [k for k in range(len(one)) if k not in axes]
        result = replace(broadcast(graph, result, one, along), order=None)
    return as_array(result) if result.extents else result


def _reduce_elements(
    graph: Graph, combiner: str, value: Value, dtype: np.dtype, axes: tuple[int, ...], keep: bool
) -> Value:
    assert graph.island is not None
    extents = extents_of(value)
    if len(axes) != len(extents) or keep:
        raise graph.error(
            UnsupportedError,
            "inside loops only reductions over all axes are supported",
            "reduce a slice: a[i, :].sum()",
        )
    if not isinstance(value, Array | Lazy) or not extents:
        return copy(graph, value, dtype)
    return graph.island.reduce(combiner, value, dtype)


def _sum_dtype(graph: Graph, value: Value, dtype: Value | None) -> np.dtype:
    """Sums and products of bool and small integers are 64 bits wide."""
    given = dtype_of(graph, dtype)
    if given is not None:
        return given
    own = _dtype(graph, value)
    if own.kind in "bi":
        return np.dtype(np.int64) if own.itemsize < 8 else own
    if own.kind == "u":
        return np.dtype(np.uint64) if own.itemsize < 8 else own
    return own


@handles(np.sum, method="sum")
def sum_(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    refuse_out(graph, out)
    return _reduce(graph, "add", a, _sum_dtype(graph, a, dtype), axis, keepdims)


@handles(np.prod, method="prod")
def prod(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    refuse_out(graph, out)
    return _reduce(graph, "multiply", a, _sum_dtype(graph, a, dtype), axis, keepdims)


def _extreme(graph: Graph, combiner: str, a: Value, axis: Value | None, keepdims: Value | None) -> Value:
    for k in _axes(graph, a, axis):
        extent = extents_of(a)[k]
        if extent.known == 0:
            raise graph.error(
                ShapeError, f"zero-size array to reduction operation {combiner} which has no identity"
            )
        if not graph.assumptions.nonnegative(extent - 1, "an extreme of at least one element"):
            raise graph.error(
                UnsupportedError, f"the {combiner} of a slice that may be empty is not supported"
            )
    return _reduce(graph, combiner, a, _dtype(graph, a), axis, keepdims)


@handles(np.max, np.amax, method="max")
def max_(
    graph: Graph, a: Value, axis: Value | None = None, out: Value | None = None, keepdims: Value | None = None
) -> Value:
    refuse_out(graph, out)
    return _extreme(graph, "maximum", a, axis, keepdims)


@handles(np.min, np.amin, method="min")
def min_(
    graph: Graph, a: Value, axis: Value | None = None, out: Value | None = None, keepdims: Value | None = None
) -> Value:
    refuse_out(graph, out)
    return _extreme(graph, "minimum", a, axis, keepdims)


def _logical(graph: Graph, combiner: str, a: Value, axis: Value | None, keepdims: Value | None) -> Value:
    boolean = a if _dtype(graph, a).kind == "b" else apply(graph, np.not_equal, a, Static(0))
    return _reduce(graph, combiner, boolean, np.dtype(np.bool_), axis, keepdims)


@handles(np.any, method="any")
def any_(
    graph: Graph, a: Value, axis: Value | None = None, out: Value | None = None, keepdims: Value | None = None
) -> Value:
    refuse_out(graph, out)
    return _logical(graph, "or", a, axis, keepdims)


@handles(np.all, method="all")
def all_(
    graph: Graph, a: Value, axis: Value | None = None, out: Value | None = None, keepdims: Value | None = None
) -> Value:
    refuse_out(graph, out)
    return _logical(graph, "and", a, axis, keepdims)


def _count(graph: Graph, a: Value, axis: Value | None) -> Value:
    axes = _axes(graph, a, axis)
    if len(axes) == len(extents_of(a)):
        return size(graph, a)
    from ..arithmetic import operate

    total: Value = Static(1)
    for k in axes:
        total = operate(graph, "multiply", total, index_value(extents_of(a)[k]))
    return total


def _mean_dtype(graph: Graph, a: Value, dtype: Value | None) -> tuple[np.dtype, np.dtype]:
    """The dtype of the computation and that of the result."""
    given = dtype_of(graph, dtype)
    own = _dtype(graph, a)
    result = given or (np.dtype(np.float64) if own.kind in "biu" else own)
    if result.kind not in "fV":
        raise graph.error(DTypeError, f"a mean in {result} is not supported", "use a floating-point dtype")
    return (np.dtype(np.float32) if result.name in HALVES else result), result


@handles(np.mean, method="mean")
def mean(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    refuse_out(graph, out)
    compute, result = _mean_dtype(graph, a, dtype)
    total = _reduce(graph, "add", a, compute, axis, keepdims)
    return _as(graph, _divided(graph, total, _count(graph, a, axis), compute), result)


def _divided(graph: Graph, total: Value, count: Value, dtype: np.dtype) -> Value:
    number = copy(graph, count, dtype) if not isinstance(count, Static) else Static(dtype.type(count.value))
    return apply(graph, np.divide, total, number)


def _as(graph: Graph, value: Value, dtype: np.dtype) -> Value:
    own = value.dtype if isinstance(value, Tensor | Array | Lazy | Scalar) else None
    return value if own == dtype else copy(graph, value, dtype)


@handles(np.var, method="var")
def var(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    ddof: Value = ZERO,
    keepdims: Value | None = None,
) -> Value:
    refuse_out(graph, out)
    if graph.island is not None:
        raise graph.error(UnsupportedError, "var and std are not supported inside loops")
    compute, result = _mean_dtype(graph, a, dtype)
    wide = as_array(cast(graph, as_tensor(graph, a), compute)) if extents_of(a) else a
    centre = _divided(
        graph, _reduce(graph, "add", wide, compute, axis, Static(True)), _count(graph, a, axis), compute
    )
    deviation = apply(graph, np.subtract, wide, centre)
    total = _reduce(graph, "add", apply(graph, np.multiply, deviation, deviation), compute, axis, keepdims)
    from ..arithmetic import operate

    freedom = operate(graph, "subtract", _count(graph, a, axis), ddof)
    return _as(graph, _divided(graph, total, freedom, compute), result)


@handles(np.std, method="std")
def std(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    ddof: Value = ZERO,
    keepdims: Value | None = None,
) -> Value:
    return apply(graph, np.sqrt, var(graph, a, axis, dtype, out, ddof, keepdims))
