"""Reductions: sum, prod, count_nonzero, max, min, ptp, any, all, mean, var, std.

They share their keywords: `axis` (None, a number, a tuple), `keepdims`, and where NumPy has them `dtype`, `initial` and
`where`: `reduction` does them, by a named combiner of nt.reduce. `nan_reductions.py` has those that leave NaNs out,
`places.py` argmax and argmin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....dialects.nt import ELEMENTWISE, REDUCTIONS
from ....runtime.real_parts import PARTS
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import apply, broadcast_extents, convert, copy, emit, index_value, operate
from ...values.assemble import dtype_of_value
from ...values.checks import check
from ...values.contents import as_tensor
from ...values.equal_extents import is_open, require_positive
from ...values.graph import Graph, element_type
from ...values.numbers import number_kind
from ...values.tensors import BOOL, as_array, broadcast, cast, elementwise, reduce
from ...values.values import Array, Lazy, Scalar, Static, Tensor, Value, extents_of
from ..elements.attributes import size
from ..registry import Handler, dtype_of, handles, normal_axis, refuse_out, static

ZERO = Static(0)
INT = np.dtype(np.int64)
HALVES = ("float16", "bfloat16")
_UFUNCS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}
_ON_BOOL = {"add": "or", "multiply": "and"}


ALL_AXES = ("inside loops only reductions over all axes are supported", "reduce a slice: a[i, :].sum()")
"""The message where others are asked for, and its hint."""


def axes_of(graph: Graph, value: Value, axis: Value | None) -> tuple[int, ...]:
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


def require_axes(graph: Graph, value: Value, axis: Value | None) -> None:
    """Raise AxisError for an axis of a scalar, where NumPy counts the elements along it."""
    request: Any = static(graph, axis, "axis")
    if request is not None and not extents_of(value):
        for one in request if isinstance(request, tuple) else (request,):
            normal_axis(graph, one, 0)


def reduction(
    graph: Graph,
    combiner: str,
    value: Value,
    dtype: np.dtype,
    axis: Value | None = None,
    keepdims: Value | None = None,
    initial: Value | None = None,
    where: Value | None = None,
) -> Value:
    """Reduce `value`, converted to `dtype`, over `axis`; elements outside of `where` are left out."""
    if dtype == BOOL:
        combiner = _ON_BOOL.get(combiner, combiner)
    axes = axes_of(graph, value, axis)
    keep = bool(static(graph, keepdims, "keepdims"))
    mask = mask_of(graph, where, value)
    if mask is not None:
        identity = Static(identity_of(combiner, dtype))
        value = emit(graph, ELEMENTWISE["select"], [mask, value, identity], (BOOL, dtype, dtype))
    if graph.island is not None:
        result = _reduce_elements(graph, combiner, value, dtype, axes, keep)
    else:
        result = _reduce_tensor(graph, combiner, value, dtype, axes, keep)
    if initial is None or (isinstance(initial, Static) and initial.value is None):
        return result
    return apply(graph, _UFUNCS[combiner], result, _as(graph, initial, dtype))


def _reduce_tensor(
    graph: Graph, combiner: str, value: Value, dtype: np.dtype, axes: tuple[int, ...], keep: bool
) -> Value:
    # A half-precision sum is accumulated in float32, as NumPy does.
    wide = np.dtype(np.float32) if dtype.name in HALVES and combiner in ("add", "multiply") else dtype
    tensor = convert(graph, value, wide)
    if not axes:
        if combiner == "add" and wide.kind in "fc":  # sums start with 0.0, so that none is -0.0
            zero = convert(graph, Static(0.0), wide)
            tensor = elementwise(graph, ELEMENTWISE["add"], [tensor, zero], tensor.extents)
        tensor = cast(graph, tensor, dtype)
        return as_array(tensor) if tensor.extents else replace(tensor, weak=None, scalar=True)
    result = cast(graph, reduce(graph, combiner, tensor, axes), dtype)
    if keep:
        result = keep_axes(graph, result, tensor, axes)
    return as_array(result) if result.extents else result


def keep_axes(graph: Graph, result: Tensor, source: Tensor, axes: Sequence[int]) -> Tensor:
    """What reducing `source` over `axes` gave, with these as axes of length 1."""
    one = tuple([type(e)(1) if k in axes else e for k, e in enumerate(source.extents)])
    along = [k for k in range(len(one)) if k not in axes]
    return replace(broadcast(graph, result, one, along), order=source.order)


def identity_of(combiner: str, dtype: np.dtype) -> Any:
    return dtype.type(REDUCTIONS[combiner].identity(element_type(dtype)))


def mask_of(graph: Graph, where: Value | None, value: Value) -> Value | None:
    """The operand of `where=`; None where every element takes part."""
    if where is None or (isinstance(where, Static) and where.value is True):
        return None
    if number_kind(graph, where) not in (BOOL, bool):
        raise graph.error(DTypeError, "where= takes an array of bool")
    if len(extents_of(where)) > len(extents_of(value)):
        raise graph.error(
            UnsupportedError,
            "where= of more axes than the array is not supported",
            "broadcast the array first: np.broadcast_to(x, mask.shape)",
        )
    return where


def _reduce_elements(
    graph: Graph, combiner: str, value: Value, dtype: np.dtype, axes: tuple[int, ...], keep: bool
) -> Value:
    assert graph.island is not None
    extents = extents_of(value)
    if len(axes) != len(extents) or keep:
        raise graph.error(UnsupportedError, *ALL_AXES)
    if not isinstance(value, Array | Lazy) or not extents:
        return copy(graph, value, dtype)
    return graph.island.reduce(combiner, value, dtype)


def sum_dtype(graph: Graph, value: Value, dtype: Value | None) -> np.dtype:
    """Sums and products of bool and small integers are 64 bits wide."""
    given = dtype_of(graph, dtype)
    if given is not None:
        return given
    own = dtype_of_value(graph, value)
    if own.kind in "bi":
        return np.dtype(np.int64) if own.itemsize < 8 else own
    if own.kind == "u":
        return np.dtype(np.uint64) if own.itemsize < 8 else own
    return own


# ---- sums and products ------------------------------------------------------------------------------


def _total_by(combiner: str) -> Handler:
    """np.sum and np.prod."""

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
        refuse_out(graph, out)
        return reduction(graph, combiner, a, sum_dtype(graph, a, dtype), axis, keepdims, initial, where)

    return handler


sum_ = handles(np.sum, method="sum")(_total_by("add"))
prod = handles(np.prod, method="prod")(_total_by("multiply"))


@handles(np.count_nonzero)
def count_nonzero(graph: Graph, a: Value, axis: Value | None = None, keepdims: Value | None = None) -> Value:
    return reduction(graph, "add", _nonzero(graph, a), INT, axis, keepdims)


def _nonzero(graph: Graph, a: Value) -> Value:
    return a if dtype_of_value(graph, a).kind == "b" else apply(graph, np.not_equal, a, ZERO)


# ---- extremes ---------------------------------------------------------------------------------------


def require_elements(graph: Graph, a: Value, axes: tuple[int, ...], empty: str) -> None:
    """Reducing over no element raises ValueError, as in NumPy: now, or when the program runs."""
    extents = extents_of(a)
    for k in axes:
        extent = extents[k]
        if extent.known == 0:
            raise graph.error(ShapeError, empty)
        if graph.assumptions.nonnegative(extent - 1, "an extreme of at least one element"):
            continue
        others = [e for j, e in enumerate(extents) if j not in axes and is_open(graph, e)]
        if not others:
            require_positive(graph, extent, empty)
            continue
        holds = apply(graph, np.greater, index_value(extent), ZERO)
        for other in others:  # where there is no result, there is no error
            holds = apply(graph, np.logical_or, holds, apply(graph, np.equal, index_value(other), ZERO))
        check(graph, holds, "ValueError", empty)


def extreme(
    graph: Graph,
    combiner: str,
    a: Value,
    axis: Value | None,
    keepdims: Value | None,
    initial: Value | None = None,
    where: Value | None = None,
) -> Value:
    if initial is None:
        if mask_of(graph, where, a) is not None:
            raise graph.error(
                ShapeError,
                f"reduction operation '{combiner}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'",
            )
        text = f"zero-size array to reduction operation {combiner} which has no identity"
        require_elements(graph, a, axes_of(graph, a, axis), text)
    return reduction(graph, combiner, a, dtype_of_value(graph, a), axis, keepdims, initial, where)


def extreme_by(combiner: str, compute: Callable[..., Value] = extreme) -> Handler:
    """np.max and np.min, and those without NaNs: `compute` does the work."""

    def handler(
        graph: Graph,
        a: Value,
        axis: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
        initial: Value | None = None,
        where: Value | None = None,
    ) -> Value:
        refuse_out(graph, out)
        return compute(graph, combiner, a, axis, keepdims, initial, where)

    return handler


max_ = handles(np.max, np.amax, method="max")(extreme_by("maximum"))
min_ = handles(np.min, np.amin, method="min")(extreme_by("minimum"))


@handles(np.ptp)
def ptp(
    graph: Graph, a: Value, axis: Value | None = None, out: Value | None = None, keepdims: Value | None = None
) -> Value:
    refuse_out(graph, out)
    ends = [extreme(graph, combiner, a, axis, keepdims) for combiner in ("maximum", "minimum")]
    return apply(graph, np.subtract, *ends)


# ---- truth ------------------------------------------------------------------------------------------


def _logical(
    graph: Graph,
    combiner: str,
    a: Value,
    axis: Value | None,
    keepdims: Value | None,
    where: Value | None,
) -> Value:
    return reduction(graph, combiner, _nonzero(graph, a), BOOL, axis, keepdims, None, where)


def _truth_by(combiner: str) -> Handler:
    """np.any and np.all."""

    def handler(
        graph: Graph,
        a: Value,
        axis: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
        where: Value | None = None,
    ) -> Value:
        refuse_out(graph, out)
        return _logical(graph, combiner, a, axis, keepdims, where)

    return handler


any_ = handles(np.any, method="any")(_truth_by("or"))
all_ = handles(np.all, method="all")(_truth_by("and"))


# ---- moments ----------------------------------------------------------------------------------------


def count_of(
    graph: Graph, a: Value, axis: Value | None, where: Value | None = None, keepdims: Value | None = None
) -> Value:
    """How many elements each result is made of."""
    mask = mask_of(graph, where, a)
    if mask is not None:
        extents = broadcast_extents(graph, [extents_of(a), extents_of(mask)])
        flags = convert(graph, mask, BOOL)
        order = flags.order if len(flags.extents) == len(extents) else None
        ones = replace(broadcast(graph, flags, extents), order=order)
        return reduction(graph, "add", as_array(ones) if extents else ones, INT, axis, keepdims)
    axes = axes_of(graph, a, axis)
    if len(axes) == len(extents_of(a)):
        return size(graph, a)
    total: Value = Static(1)
    for k in axes:
        total = operate(graph, "multiply", total, index_value(extents_of(a)[k]))
    return total


def _mean_dtype(graph: Graph, a: Value, dtype: Value | None) -> tuple[np.dtype, np.dtype]:
    """The dtype of the computation and that of the result."""
    given = dtype_of(graph, dtype)
    own = dtype_of_value(graph, a)
    result = given or (np.dtype(np.float64) if own.kind in "biu" else own)
    if result.kind not in "fVc":
        raise graph.error(
            UnsupportedError, f"a mean in {result} is not supported", "use a floating-point or complex dtype"
        )
    return (np.dtype(np.float32) if result.name in HALVES else result), result


@handles(np.mean, method="mean")
def mean(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
    where: Value | None = None,
) -> Value:
    require_axes(graph, a, axis)
    return mean_of(graph, a, axis, dtype, out, keepdims, where)


def mean_of(
    graph: Graph,
    a: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    out: Value | None = None,
    keepdims: Value | None = None,
    where: Value | None = None,
) -> Value:
    """The mean, of a scalar over its first or last axis too."""
    refuse_out(graph, out)
    compute, result = _mean_dtype(graph, a, dtype)
    total = reduction(graph, "add", a, compute, axis, keepdims, None, where)
    count = count_of(graph, a, axis, where, keepdims)
    return _as(graph, _divided(graph, total, count, compute), result)


def _divided(graph: Graph, total: Value, count: Value, dtype: np.dtype) -> Value:
    number = copy(graph, count, dtype) if not isinstance(count, Static) else Static(dtype.type(count.value))
    return apply(graph, np.divide, total, number)


def _as(graph: Graph, value: Value, dtype: np.dtype) -> Value:
    own = value.dtype if isinstance(value, Tensor | Array | Lazy | Scalar) else None
    if isinstance(value, Static):
        return Static(dtype.type(value.value))
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
    where: Value | None = None,
    correction: Value | None = None,
) -> Value:
    require_axes(graph, a, axis)
    return var_of(graph, a, axis, dtype, out, ddof, keepdims, where, correction)


def var_of(
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
    """The variance, of a scalar over its first or last axis too."""
    refuse_out(graph, out)
    if graph.island is not None:
        raise graph.error(UnsupportedError, "var and std are not supported inside loops")
    if correction is not None:
        if not (isinstance(ddof, Static) and ddof.value == 0):
            raise graph.error(ShapeError, "ddof and correction can't be provided simultaneously.")
        ddof = correction
    compute, result = _mean_dtype(graph, a, dtype)
    if dtype_of(graph, dtype) is None and result == np.float16:
        compute = result  # unlike a mean: squares and their sum overflow as NumPy's do
    wide = as_array(cast(graph, as_tensor(graph, a), compute)) if extents_of(a) else a
    kept = Static(True)
    centre = _divided(
        graph,
        reduction(graph, "add", wide, compute, axis, kept, None, where),
        count_of(graph, a, axis, where, kept),
        compute,
    )
    deviation = apply(graph, np.subtract, wide, centre)
    squares = squares_of(graph, deviation)
    compute, result = [PARTS.get(one, one) for one in (compute, result)]
    total = reduction(graph, "add", squares, compute, axis, keepdims, None, where)
    freedom = operate(graph, "subtract", count_of(graph, a, axis, where, keepdims), ddof)
    if not isinstance(freedom, Static):
        freedom = apply(graph, np.maximum, copy(graph, freedom, compute), Static(compute.type(0)))
    elif freedom.value < 0:
        freedom = Static(0)
    return _as(graph, _divided(graph, total, freedom, compute), result)


def squares_of(graph: Graph, value: Value) -> Value:
    """The square of the modulus of each element."""
    if dtype_of_value(graph, value) not in PARTS:
        return apply(graph, np.multiply, value, value)
    dtype = dtype_of_value(graph, value)
    parts = [emit(graph, ELEMENTWISE[name], [value], (dtype,)) for name in ("real", "imag")]
    return apply(graph, np.add, *[apply(graph, np.multiply, part, part) for part in parts])


@handles(np.std, method="std")
def std(
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
    return apply(graph, np.sqrt, var(graph, a, axis, dtype, out, ddof, keepdims, where, correction))
