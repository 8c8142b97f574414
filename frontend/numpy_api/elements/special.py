"""Functions of `nt.nn` and `nt.random` that are rows of the element table (erf, philox ...), and the limits of types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....dialects import special
from ....dialects.nt import ELEMENTWISE
from ...interface.errors import DTypeError, ShapeError
from ...values.arithmetic import compute_dtypes, emit
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.values import Static, Value
from ..registry import dtype_of, handles

_UINT64 = np.dtype(np.uint64)


def _of_floats(name: str) -> Callable[[Graph, Value], Value]:
    def function(graph: Graph, x: Value) -> Value:
        return emit(graph, ELEMENTWISE[name], [x], compute_dtypes(graph, np.tanh, [x], None)[:1])

    return function


erf = handles(special.erf)(_of_floats("erf"))
erfc = handles(special.erfc)(_of_floats("erfc"))
lgamma = handles(special.lgamma)(_of_floats("lgamma"))
handles(special.sigmoid)(_of_floats("sigmoid"))


@handles(special.philox)
def philox(graph: Graph, counter: Value, stream: Value, key: Value) -> Value:
    operands = [counter, stream, key]
    if any(number_kind(graph, v) != _UINT64 for v in operands):
        raise graph.error(DTypeError, "philox takes uint64", "convert: x.astype(np.uint64)")
    return emit(graph, ELEMENTWISE["philox"], operands, (_UINT64,) * 3)


@handles(np.iinfo)
def iinfo(graph: Graph, type: Value) -> Value:
    dtype = dtype_of(graph, type)
    if dtype is None or dtype.kind not in "iu":
        raise graph.error(ShapeError, f"Invalid integer data type {dtype.kind if dtype else None!r}.")
    return Static(np.iinfo(dtype))


@handles(np.finfo)
def finfo(graph: Graph, dtype: Value) -> Value:
    given = dtype_of(graph, dtype)
    if given is None or given.kind != "f":
        raise graph.error(ShapeError, f"data type {given!r} not inexact")
    return Static(np.finfo(given))
