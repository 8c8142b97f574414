"""Places of extremes: argmax and argmin, as one reduction of pairs.

x.argmax(axis=1)      %best, %place = nt.reduce custom (%x, %index) over [1] identity [-inf, 0] {
                      ^bb0(%best, %first, %element, %place):      the pair with the larger element, or a NaN;
                        ...                                       of equal ones that with the smaller index

Which pair wins does not depend on the order in which pairs meet, so lanes, threads and parts each find their own. Complex
numbers are triples: the real part, the imaginary part, the index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....dialects.nt import ELEMENTWISE
from ....dialects.nt.expand import Emitter
from ....runtime.real_parts import PARTS
from ...interface.errors import UnsupportedError
from ...values.arithmetic import apply, convert, copy, emit, index_value
from ...values.assemble import dtype_of_value, positions
from ...values.contents import as_tensor
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.tensors import as_array, broadcast, reduce_together
from ...values.values import Value, extents_of
from ..registry import Handler, handles, refuse_out, static
from .reductions import INT, ZERO, axes_of, identity_of, keep_axes, require_elements


def place_of(
    graph: Graph, combiner: str, a: Value, axis: Value | None, keepdims: Value | None, name: str
) -> Value:
    """The first place of an extreme, or of a NaN: the smallest index at which the array has it."""
    if graph.island is not None:
        raise graph.error(UnsupportedError, f"np.{name} is not supported among elements")
    axes = axes_of(graph, a, axis)
    require_elements(graph, a, axes, f"attempt to get {name} of an empty sequence")
    if not extents_of(a):
        return copy(graph, ZERO, INT)
    own = dtype_of_value(graph, a)
    values = _parts(graph, a, own)
    dtype = _index_dtype(graph, a, axes)
    index = convert(graph, _indices(graph, a, axes), dtype)
    index = replace(broadcast(graph, index, values[0].extents), order=values[0].order)
    combine = partial(_first_extreme, combiner, own.kind)
    identities = [*[identity_of(combiner, one.dtype) for one in values], 0]
    *_, place = reduce_together(graph, combine, identities, [*values, index], axes)
    place = convert(graph, place, INT)
    if static(graph, keepdims, "keepdims"):
        place = keep_axes(graph, place, values[0], axes)
    return as_array(replace(place, order=None)) if extents_of(place) else place  # row-major, whatever `a` is


def _parts(graph: Graph, a: Value, dtype: np.dtype) -> list[Any]:
    """The numbers that elements are compared by, the first one first."""
    if dtype not in PARTS:
        return [convert(graph, a, dtype)]
    return [
        convert(graph, emit(graph, ELEMENTWISE[part], [a], (dtype,)), PARTS[dtype])
        for part in ("real", "imag")
    ]


def _index_dtype(graph: Graph, a: Value, axes: tuple[int, ...]) -> np.dtype:
    """Integers for an index: not wider than the elements beside them, as vectors of both have as many lanes."""
    extents = [extents_of(a)[k].known for k in axes]
    if dtype_of_value(graph, a).itemsize > 4 or any(extent is None for extent in extents):
        return INT
    return np.dtype(np.int32) if math.prod(e for e in extents if e is not None) < 1 << 31 else INT


def _indices(graph: Graph, a: Value, axes: tuple[int, ...]) -> Value:
    """The index along the axes, counted row by row, as an array of integers of fewer or the same axes."""
    extents = extents_of(a)
    total: Value | None = None
    for k in axes:
        shape = tuple([e if m == k else Affine(1) for m, e in enumerate(extents)])
        along = as_tensor(graph, positions(graph, extents[k]))
        own = as_array(replace(broadcast(graph, along, shape, [k]), order=None))
        if total is not None:
            own = apply(graph, np.add, apply(graph, np.multiply, total, index_value(extents[k])), own)
        total = own
    assert total is not None
    return total


# ---- the combiner -----------------------------------------------------------------------------------


def _first_extreme(
    combiner: str, kind: str, e: Emitter, old: Sequence[SSAValue], new: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The elements and the place of that which is further, NaNs above all; of equal ones the first place.

    The first place, that is 0, is where a row of nothing but the least number has its largest element, so 0 is the place
    to start from. Where places come in order, nest-fold-combiners leaves the second half out.
    """
    *best, first = old
    *element, place = new
    is_further, is_equal = _compared(combiner, kind, e, element, best)
    is_first = _all(e, [is_equal, e.cmp("slt", place, first)])
    takes = _any(e, [is_further, is_first])
    return [e.select(takes, a, b) for a, b in zip(new, old, strict=True)]


def _compared(
    combiner: str, kind: str, e: Emitter, element: Sequence[SSAValue], best: Sequence[SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """Whether an element is further than the best one, and whether it is equal to it."""
    way = "gt" if combiner == "maximum" else "lt"
    if kind in "biu":
        sign = "s" if kind == "i" else "u"
        return e.cmp(sign + way, element[0], best[0]), e.cmp("eq", element[0], best[0])
    known = _all(e, [e.cmp("ord", part, part) for part in best])
    is_nan = _any(e, [e.cmp("uno", part, part) for part in element])
    same = [e.cmp("oeq", a, b) for a, b in zip(element, best, strict=True)]
    is_equal = _any(e, [_all(e, same), _all(e, [is_nan, e.invert(known)])])
    if len(element) == 1:
        is_further = e.cmp("u" + way, element[0], best[0])  # a NaN, too
    else:
        (real, imag), (best_real, best_imag) = element, best
        by_imag = _all(e, [same[0], e.cmp("o" + way, imag, best_imag)])
        is_further = _any(e, [e.cmp("o" + way, real, best_real), by_imag, is_nan])
    return _all(e, [is_further, known]), is_equal


def _all(e: Emitter, conditions: Sequence[SSAValue]) -> SSAValue:
    first, *others = conditions
    for other in others:
        first = e.op(arith.AndIOp, (first, other))
    return first


def _any(e: Emitter, conditions: Sequence[SSAValue]) -> SSAValue:
    first, *others = conditions
    for other in others:
        first = e.op(arith.OrIOp, (first, other))
    return first


# ---- the functions ----------------------------------------------------------------------------------


def place_by(combiner: str, name: str, compute: Callable[..., Value] = place_of) -> Handler:
    """np.argmax and np.argmin, and those without NaNs: `compute` does the work."""

    def handler(
        graph: Graph,
        a: Value,
        axis: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        refuse_out(graph, out)
        return compute(graph, combiner, a, axis, keepdims, name)

    return handler


argmax = handles(np.argmax, method="argmax")(place_by("maximum", "argmax"))
argmin = handles(np.argmin, method="argmin")(place_by("minimum", "argmin"))
