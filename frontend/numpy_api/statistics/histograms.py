"""Counts and order statistics, which NumPy computes: histogram, histogram2d, bincount, median, percentile, quantile.

The number of bins, and so the shape of what they give, is known when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import affine_of
from ...values.equal_extents import require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.masked import unknown_length
from ...values.selection import same_mask
from ...values.values import Extents, Group, Masked, Static, Value, extents_of
from ..calls_back import calls_back, takes_selected
from ..custom_calls import as_operand, call_numpy, shape_of_operand
from ..registry import handles, normal_axis, refuse_out, static

NONE, FALSE, ZERO, TEN, LINEAR = (Static(v) for v in (None, False, 0, 10, "linear"))


def _is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.value is None


# ---- bins -------------------------------------------------------------------------------------------


def _number_of_bins(graph: Graph, bins: Value, what: str) -> int | None:
    """How many bins of equal width are asked for; None where edges are given."""
    if isinstance(bins, Group) or extents_of(bins):
        return None
    count = static(graph, bins, "the number of bins")
    if isinstance(count, str):
        raise graph.error(
            UnsupportedError,
            f"{what} with bins={count!r} is not supported: how many bins there are depends on the elements",
            "give the number of bins, or their edges",
        )
    if isinstance(count, tuple | list | np.ndarray):
        return None
    if not isinstance(count, int | np.integer) or isinstance(count, bool):
        raise graph.error(DTypeError, "`bins` must be an integer, a string, or an array")
    if count < 1:
        raise graph.error(ShapeError, "`bins` must be positive, when an integer")
    return int(count)


def _edges(graph: Graph, bins: Value) -> Value:
    edges = as_operand(graph, bins)
    if len(extents_of(edges)) != 1:
        raise graph.error(ShapeError, "`bins` must be 1d, when an array")
    return edges


def _span(graph: Graph, range: Value, what: str = "range") -> tuple[Any, ...] | None:
    given = static(graph, range, what)
    return None if given is None else tuple([tuple(x) if isinstance(x, list) else x for x in given])


def _weights(graph: Graph, weights: Value, a: Value) -> list[Value]:
    if _is_none(weights):
        return []
    given = as_operand(graph, weights)
    if isinstance(a, Masked) or isinstance(given, Masked):
        if not isinstance(a, Masked) or not isinstance(given, Masked) or not same_mask(a.mask, given.mask):
            raise unknown_length(graph)
        if not _same(graph, a.values.extents, given.values.extents):
            raise graph.error(ShapeError, "weights should have the same shape as a.")
        return [given]
    if not _same(graph, extents_of(given), extents_of(a)):
        raise graph.error(ShapeError, "weights should have the same shape as a.")
    return [given]


def _same(graph: Graph, a: Extents, b: Extents) -> bool:
    return len(a) == len(b) and all(require_equal(graph, x, y, "weights") for x, y in zip(a, b, strict=True))


@handles(np.histogram)
@takes_selected
@calls_back
def histogram(
    graph: Graph,
    a: Value,
    bins: Value = TEN,
    range: Value = NONE,
    density: Value = NONE,
    weights: Value = NONE,
) -> Value:
    values = as_operand(graph, a)
    given = _weights(graph, weights, values)
    span, dense = _span(graph, range), bool(static(graph, density, "density"))
    count = _number_of_bins(graph, bins, "np.histogram")
    if count is not None:
        extents: list[Extents] = [(Affine(count),), (Affine(count + 1),)]
        return call_numpy(
            graph,
            "histogram",
            [values, *given],
            extents,
            ordered=True,
            bins=count,
            range=span,
            density=dense,
        )
    edges = _edges(graph, bins)
    points = extents_of(edges)[0]
    length = Affine(0) if points.known == 0 else points - 1
    counts = call_numpy(
        graph,
        "histogram.counts",
        [values, edges, *given],
        [(length,)],
        ordered=True,
        density=dense,
    )
    return Group((counts, edges))


@handles(np.histogram_bin_edges)
@calls_back
def histogram_bin_edges(
    graph: Graph, a: Value, bins: Value = TEN, range: Value = NONE, weights: Value = NONE
) -> Value:
    values = as_operand(graph, a)
    _weights(graph, weights, values)
    count = _number_of_bins(graph, bins, "np.histogram_bin_edges")
    if count is None:
        return _edges(graph, bins)
    span = _span(graph, range)
    return call_numpy(
        graph,
        "histogram_bin_edges",
        [values],
        [(Affine(count + 1),)],
        ordered=True,
        bins=count,
        range=span,
    )


@handles(np.histogram2d)
@calls_back
def histogram2d(
    graph: Graph,
    x: Value,
    y: Value,
    bins: Value = TEN,
    range: Value = NONE,
    density: Value = NONE,
    weights: Value = NONE,
) -> Value:
    first, second = as_operand(graph, x), as_operand(graph, y)
    if not _same(graph, extents_of(first), extents_of(second)) or len(extents_of(first)) != 1:
        raise graph.error(ShapeError, "x and y must have the same length.")
    given = _weights(graph, weights, first)
    operands: list[Value] = [first, second, *given]
    shapes: list[Extents] = []
    numbers: list[int] = []
    edges: list[Value] = []
    for one in _two_axes(graph, bins):
        count = _number_of_bins(graph, one, "np.histogram2d")
        if count is None:
            edges.append(_edges(graph, one))
            numbers.append(0)
            shapes.append((extents_of(edges[-1])[0],))
        else:
            numbers.append(count)
            shapes.append((Affine(count + 1),))
    table = tuple([shape[0] - 1 for shape in shapes])
    return call_numpy(
        graph,
        "histogram2d",
        [*operands, *edges],
        [table, *shapes],
        ordered=True,
        bins=tuple(numbers),
        range=_span(graph, range),
        density=bool(static(graph, density, "density")),
        weighted=bool(given),
    )


def _two_axes(graph: Graph, bins: Value) -> Sequence[Value]:
    """The bins of each axis: two of them, or one for both. (More numbers than two are edges.)"""
    if isinstance(bins, Group):
        return bins.items if len(bins.items) == 2 else [bins, bins]
    if isinstance(bins, Static) and isinstance(bins.value, tuple | list):
        return [Static(b) for b in bins.value] if len(bins.value) == 2 else [bins, bins]
    return [bins, bins]


@handles(np.bincount)
@takes_selected
@calls_back
def bincount(graph: Graph, x: Value, weights: Value = NONE, minlength: Value = ZERO) -> Value:
    """`minlength` is the length of the result: an element that is not below it raises ValueError at run time."""
    values = as_operand(graph, x)
    shape = shape_of_operand(values)
    if len(shape) != 1:
        deep = "deep" if shape else "of too small depth"
        raise graph.error(ShapeError, f"object too {deep} for desired array")
    length = affine_of(minlength)
    if length is None:
        length = Affine(int(static(graph, minlength, "minlength")))
    if length.known == 0 and shape[0].known != 0:
        raise graph.error(
            UnsupportedError,
            "np.bincount without minlength is not supported: the length of the result depends on the elements",
            "say how many there are: np.bincount(x, minlength=10)",
        )
    if length.known is not None and length.known < 0:
        raise graph.error(ShapeError, "'minlength' must not be negative")
    given = _weights(graph, weights, values)
    size = Static(length.known) if length.known is not None else minlength
    return call_numpy(
        graph,
        "bincount",
        [values, size, *given],
        [(length,)],
        ordered=True,
        sample={"exact": False},
        exact=True,
    )


@handles(np.histogramdd)
@calls_back
def histogramdd(
    graph: Graph,
    sample: Value,
    bins: Value = TEN,
    range: Value = NONE,
    density: Value = NONE,
    weights: Value = NONE,
) -> Value:
    """Of a table of points; `bins` is a number, or one for each coordinate."""
    points = as_operand(graph, sample)
    if len(extents_of(points)) != 2 or isinstance(sample, Group):
        raise graph.error(
            UnsupportedError,
            "np.histogramdd of anything but a table of points is not supported",
            "stack them",
        )
    rank = extents_of(points)[1].known
    if rank is None:
        raise Respecialise(shapes=True, why="a histogram of points in unknown dimensions")
    given = static(graph, bins, "bins")
    each = list(given) if isinstance(given, tuple | list) else [given] * rank
    if len(each) != rank:
        raise graph.error(ShapeError, "The dimension of bins must be equal to the dimension of the sample x.")
    counts = [_number_of_bins(graph, Static(one), "np.histogramdd") for one in each]
    if None in counts:
        raise graph.error(
            UnsupportedError,
            "np.histogramdd with edges is not supported",
            "give the number of bins, and range=",
        )
    weight = [] if _is_none(weights) else [as_operand(graph, weights)]
    if weight and not _same(graph, extents_of(weight[0]), extents_of(points)[:1]):
        raise graph.error(ShapeError, "The weights and list don't have the same length.")
    shapes: list[Extents] = [tuple([Affine(n) for n in counts if n is not None])]
    shapes += [(Affine(n + 1),) for n in counts if n is not None]
    found = call_numpy(
        graph,
        "histogramdd",
        [points, *weight],
        shapes,
        ordered=True,
        bins=tuple(counts),
        range=_span(graph, range),
        density=bool(static(graph, density, "density")),
    )
    assert isinstance(found, Group)
    return Group((found.items[0], Group(found.items[1:], list)))


# ---- order statistics -------------------------------------------------------------------------------


def _axes(graph: Graph, axis: Value, rank: int) -> tuple[int, ...] | None:
    """The axes to reduce over; None for all."""
    request = static(graph, axis, "axis")
    if request is None:
        return None
    given = request if isinstance(request, tuple | list) else (request,)
    axes = tuple([normal_axis(graph, k, rank) for k in given])
    if len(set(axes)) != len(axes):
        raise graph.error(ShapeError, "repeated axis")
    return axes


def _reduced(extents: Extents, axes: tuple[int, ...] | None, keep: bool) -> Extents:
    gone = range(len(extents)) if axes is None else axes
    if keep:
        return tuple([Affine(1) if k in gone else e for k, e in enumerate(extents)])
    return tuple([e for k, e in enumerate(extents) if k not in gone])


def _statistic(
    graph: Graph,
    name: str,
    a: Value,
    q: Value | None,
    axis: Value,
    out: Value,
    keepdims: Value,
    **more: Any,
) -> Value:
    refuse_out(graph, out)
    values = as_operand(graph, a)
    keep = bool(static(graph, keepdims, "keepdims"))
    shape = shape_of_operand(values)
    axes = _axes(graph, axis, len(shape))
    if isinstance(values, Masked) and axes is not None and 0 not in axes:
        raise unknown_length(graph)
    extents = _reduced(shape, axes, keep)
    common: dict[str, Any] = {"axis": axes, "keepdims": keep, **more}
    if q is None:
        return call_numpy(graph, name, [values], [extents], **common)
    levels = as_operand(graph, q)
    plain = _constant(q)
    if plain is not None:
        return call_numpy(graph, name, [values], [(*extents_of(levels), *extents)], q=plain, **common)
    return call_numpy(
        graph, name, [values, levels], [(*extents_of(levels), *extents)], ordered=True, **common
    )


def _constant(q: Value) -> Any:
    """A number or numbers that are known, lists as tuples; None for others."""
    if isinstance(q, Static) and not isinstance(q.value, np.ndarray):
        return _numbers(q.value)
    if isinstance(q, Group) and q.items:
        items = tuple([_constant(one) for one in q.items])
        return None if None in items else items
    return None


def _numbers(q: Any) -> Any:
    return tuple([_numbers(x) for x in q]) if isinstance(q, tuple | list) else q


def _median(name: str) -> Any:
    @takes_selected
    @calls_back
    def median(
        graph: Graph,
        a: Value,
        axis: Value = NONE,
        out: Value = NONE,
        overwrite_input: Value = FALSE,
        keepdims: Value = FALSE,
    ) -> Value:
        return _statistic(graph, name, a, None, axis, out, keepdims)

    return median


def _quantile(name: str) -> Any:
    @takes_selected
    @calls_back
    def quantile(
        graph: Graph,
        a: Value,
        q: Value,
        axis: Value = NONE,
        out: Value = NONE,
        overwrite_input: Value = FALSE,
        method: Value = LINEAR,
        keepdims: Value = FALSE,
    ) -> Value:
        way = static(graph, method, "method")
        return _statistic(graph, name, a, q, axis, out, keepdims, method=way)

    return quantile


for _name in ("median", "nanmedian"):
    handles(getattr(np, _name))(_median(_name))
for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    handles(getattr(np, _name))(_quantile(_name))
