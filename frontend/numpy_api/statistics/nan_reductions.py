"""Reductions of the numbers of an array only, NaNs left out: np.nansum, np.nanmax, np.nanargmax and their kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import UnsupportedError
from ...values.arithmetic import apply, emit
from ...values.assemble import dtype_of_value
from ...values.checks import check
from ...values.graph import Graph
from ...values.tensors import BOOL
from ...values.values import Static, Value, extents_of
from ..registry import Handler, handles
from .places import place_by, place_of
from .reductions import (
    ZERO,
    axes_of,
    count_of,
    extreme,
    extreme_by,
    identity_of,
    mask_of,
    mean,
    mean_of,
    prod,
    reduction,
    require_elements,
    sum_,
    var,
    var_of,
)


def with_nans(graph: Graph, a: Value) -> bool:
    return dtype_of_value(graph, a).kind not in "biu"


def numbers_in(graph: Graph, a: Value, where: Value | None = None) -> Value:
    """Where an array has no NaN."""
    valid = apply(graph, np.logical_not, apply(graph, np.isnan, a))
    return valid if where is None else apply(graph, np.logical_and, valid, where)


def _without_nans(handler: Callable[..., Value]) -> Callable[..., Value]:
    """A reduction of the numbers of an array only; its keywords are those of `handler`."""

    def reduction(graph: Graph, a: Value, *args: Value, where: Value | None = None, **kwargs: Value) -> Value:
        mask = mask_of(graph, where, a)
        if with_nans(graph, a) and extents_of(a):
            mask = numbers_in(graph, a, mask)
        return handler(graph, a, *args, where=mask, **kwargs)

    return reduction


def _total_by(whole: Handler) -> Handler:
    """np.nansum and np.nanprod."""

    def handler(
        graph: Graph,
        a: Value,
        axis: Value | None = None,
        dtype: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
        initial: Value | None = None,
        where: Value | None = None,
    ) -> Value:
        return _without_nans(whole)(graph, a, axis, dtype, out, keepdims, initial, where=where)

    return handler


handles(np.nansum)(_total_by(sum_))
handles(np.nanprod)(_total_by(prod))


@handles(np.nanmean)
def nanmean(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
    where: Value | None = None,
) -> Value:
    if not with_nans(graph, a):
        return mean(graph, a, axis, dtype, out, keepdims, where)
    return _without_nans(mean_of)(graph, a, axis, dtype, out, keepdims, where=where)


@handles(np.nanvar)
def nanvar(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    ddof: Value = ZERO,
    keepdims: Value | None = None,
    where: Value | None = None,
    correction: Value | None = None,
) -> Value:
    """Where fewer numbers are left than degrees of freedom are taken, NaN."""
    if not with_nans(graph, a):
        return var(graph, a, axis, dtype, out, ddof, keepdims, where, correction)
    mask = mask_of(graph, where, a)
    result = _without_nans(var_of)(
        graph, a, axis, dtype, out, ddof, keepdims, correction=correction, where=where
    )
    if not extents_of(a):
        return result
    count = count_of(graph, a, axis, numbers_in(graph, a, mask), keepdims)
    few = apply(graph, np.less_equal, count, ddof if correction is None else correction)
    own = dtype_of_value(graph, result)
    return emit(graph, ELEMENTWISE["select"], [few, Static(own.type(np.nan)), result], (BOOL, own, own))


@handles(np.nanstd)
def nanstd(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    ddof: Value = ZERO,
    keepdims: Value | None = None,
    where: Value | None = None,
    correction: Value | None = None,
) -> Value:
    return apply(graph, np.sqrt, nanvar(graph, a, axis, dtype, out, ddof, keepdims, where, correction))


def _nan_extreme(
    graph: Graph,
    combiner: str,
    a: Value,
    axis: Value | None,
    keepdims: Value | None,
    initial: Value | None,
    where: Value | None,
) -> Value:
    """NaN where there is nothing but NaNs."""
    if not with_nans(graph, a) or not extents_of(a):
        return extreme(graph, combiner, a, axis, keepdims, initial, where)
    if initial is not None or where is not None:
        raise graph.error(
            UnsupportedError,
            "initial= and where= of an extreme without NaNs are not supported",
            "use np.where",
        )
    text = f"zero-size array to reduction operation f{combiner[:3]} which has no identity"
    require_elements(graph, a, axes_of(graph, a, axis), text)
    dtype = dtype_of_value(graph, a)
    result = reduction(graph, combiner, a, dtype, axis, keepdims, None, numbers_in(graph, a))
    none = reduction(graph, "and", apply(graph, np.isnan, a), BOOL, axis, keepdims)
    return emit(
        graph, ELEMENTWISE["select"], [none, Static(dtype.type(np.nan)), result], (BOOL, dtype, dtype)
    )


handles(np.nanmax)(extreme_by("maximum", _nan_extreme))
handles(np.nanmin)(extreme_by("minimum", _nan_extreme))


def _nan_place(
    graph: Graph, combiner: str, a: Value, axis: Value | None, keepdims: Value | None, name: str
) -> Value:
    if with_nans(graph, a) and not extents_of(a):
        check(graph, apply(graph, np.equal, a, a), "ValueError", "All-NaN slice encountered")
    if not with_nans(graph, a) or graph.island is not None or not extents_of(a):
        return place_of(graph, combiner, a, axis, keepdims, name)
    axes = axes_of(graph, a, axis)
    require_elements(graph, a, axes, f"attempt to get {name} of an empty sequence")
    none = reduction(graph, "and", apply(graph, np.isnan, a), BOOL, axis, None)
    some = reduction(graph, "or", none, BOOL, None, None)
    check(graph, apply(graph, np.logical_not, some), "ValueError", "All-NaN slice encountered")
    dtype = dtype_of_value(graph, a)
    worst = Static(identity_of(combiner, dtype))
    a = emit(graph, ELEMENTWISE["select"], [numbers_in(graph, a), a, worst], (BOOL, dtype, dtype))
    return place_of(graph, combiner, a, axis, keepdims, name)


handles(np.nanargmax)(place_by("maximum", "argmax", _nan_place))
handles(np.nanargmin)(place_by("minimum", "argmin", _nan_place))
