"""Running results: cumsum, cumprod, those that leave NaNs out, ufunc.accumulate, and most of ufunc.reduce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ....dialects.nt import ELEMENTWISE, ScanOp
from ...indexing.subscripts import subscript
from ...indexing.views import Slice
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import compute_dtypes, convert, copy, emit, nt_kind
from ...values.assemble import dtype_of_value
from ...values.graph import Graph
from ...values.tensors import BOOL, as_array
from ...values.values import Static, Value, extents_of
from ..registry import dtype_of, handles, normal_axis, refuse_out, static
from .nan_reductions import numbers_in, with_nans
from .reductions import sum_dtype

_ZERO, _ONE = Static(0), Static(1)


def scan(graph: Graph, name: str, value: Value, axis: int, dtype: np.dtype) -> Value:
    """Running results of the elementwise operation `name` along `axis`, computed in `dtype`."""
    if graph.island is not None:
        raise graph.error(
            UnsupportedError,
            "running sums are not supported among elements",
            "add up in the loop, or take np.cumsum before it",
        )
    tensor = convert(graph, value, dtype)
    ssa = graph.insert(ScanOp(name, tensor.ssa, axis))
    assert ssa is not None
    return as_array(replace(tensor, ssa=ssa, scalar=False, weak=None))


def _cumulative(
    graph: Graph, name: str, a: Value, axis: Value | None, dtype: Value | None, out: Value | None
) -> Value:
    from ..shapes.reshaping import ravel, reshape

    refuse_out(graph, out)
    kind = sum_dtype(graph, a, dtype)
    if kind == BOOL:
        name = {"add": "logical_or", "multiply": "logical_and"}[name]
    request = static(graph, axis, "axis")
    if not extents_of(a):
        if request is not None:
            normal_axis(graph, request, 1)
        tensor = convert(graph, a, kind)
        return reshape(graph, as_array(replace(tensor, scalar=False, weak=None)), Static(1))
    if request is None:
        if len(extents_of(a)) > 1:
            a = ravel(graph, a)
        request = 0
    return scan(graph, name, a, normal_axis(graph, request, len(extents_of(a))), kind)


@handles(np.cumsum, method="cumsum")
def cumsum(
    graph: Graph, a: Value, axis: Value | None = None, dtype: Value | None = None, out: Value | None = None
) -> Value:
    return _cumulative(graph, "add", a, axis, dtype, out)


@handles(np.cumprod, method="cumprod")
def cumprod(
    graph: Graph, a: Value, axis: Value | None = None, dtype: Value | None = None, out: Value | None = None
) -> Value:
    return _cumulative(graph, "multiply", a, axis, dtype, out)


def _without_nans(graph: Graph, a: Value, instead: Static) -> Value:
    if not with_nans(graph, a):
        return a
    dtype = dtype_of_value(graph, a)
    return emit(graph, ELEMENTWISE["select"], [numbers_in(graph, a), a, instead], (BOOL, dtype, dtype))


@handles(np.nancumsum)
def nancumsum(
    graph: Graph, a: Value, axis: Value | None = None, dtype: Value | None = None, out: Value | None = None
) -> Value:
    return _cumulative(graph, "add", _without_nans(graph, a, _ZERO), axis, dtype, out)


@handles(np.nancumprod)
def nancumprod(
    graph: Graph, a: Value, axis: Value | None = None, dtype: Value | None = None, out: Value | None = None
) -> Value:
    return _cumulative(graph, "multiply", _without_nans(graph, a, _ONE), axis, dtype, out)


def accumulate(ufunc: np.ufunc) -> Callable[..., Value]:
    """The handler of `ufunc.accumulate`."""

    def handler(
        graph: Graph, array: Value, axis: Value = _ZERO, dtype: Value | None = None, out: Value | None = None
    ) -> Value:
        refuse_out(graph, out)
        name = ufunc.__name__
        if static(graph, axis, "axis") is None and len(extents_of(array)) > 1:
            raise graph.error(ShapeError, "accumulate does not allow multiple axes")
        if ufunc in (np.add, np.multiply):
            return _cumulative(graph, name, _ranked(graph, name, array), axis, dtype, out)
        array = _ranked(graph, name, array)
        row = ELEMENTWISE.get(name)
        kinds: list[np.dtype] = []
        if row is not None and row.arity == 2:
            kinds += compute_dtypes(graph, ufunc, [array, array], dtype_of(graph, dtype))
        fits = row is not None and len(set(kinds)) == 1 and nt_kind(kinds[0]) in row.expansions
        if row is None or not fits or (row.result == "bool" and kinds[0] != BOOL):
            raise graph.error(UnsupportedError, f"np.{name}.accumulate is not supported")
        position = normal_axis(graph, static(graph, axis, "axis"), len(extents_of(array)))
        return scan(graph, name, array, position, kinds[0])

    return handler


def _ranked(graph: Graph, name: str, array: Value) -> Value:
    if not extents_of(array):
        raise graph.error(DTypeError, f"cannot accumulate on a scalar: np.{name}.accumulate")
    return array


def reduce(ufunc: np.ufunc) -> Callable[..., Value]:
    """The handler of `ufunc.reduce` where no reduction has that operation: the last of the running results."""

    def handler(
        graph: Graph,
        array: Value,
        axis: Value = _ZERO,
        dtype: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        refuse_out(graph, out)
        name, rank = ufunc.__name__, len(extents_of(array))
        if not rank:
            raise graph.error(DTypeError, f"cannot reduce on a scalar: np.{name}.reduce")
        wanted = static(graph, axis, "axis")
        given = range(rank) if wanted is None else wanted if isinstance(wanted, tuple) else [wanted]
        axes = sorted({normal_axis(graph, one, rank) for one in given})
        if len(axes) > 1 and not _is_reorderable(ufunc):
            text = f"reduction operation '{name}' is not reorderable, so at most one axis may be specified"
            raise graph.error(ShapeError, text)
        if any(extents_of(array)[k].known == 0 for k in axes):
            text = f"np.{name}.reduce of an axis without elements is not supported"
            raise graph.error(UnsupportedError, text, "test the extent before")
        kept = bool(static(graph, keepdims, "keepdims"))
        running = accumulate(ufunc)
        for position in reversed(axes):
            results = running(graph, array, Static(position), dtype)
            last = Slice(Static(-1)) if kept else Static(-1)
            array = subscript(graph, results, [*[Slice()] * position, last])
        return copy(graph, array, dtype_of_value(graph, array))

    return handler


def _is_reorderable(ufunc: np.ufunc) -> bool:
    """Whether NumPy reduces several axes at once by it."""
    for dtype in (np.float64, np.int64):
        try:
            ufunc.reduce(np.ones((1, 1), dtype), axis=(0, 1))
        except ValueError:
            return False
        except TypeError:
            continue
        return True
    return False
