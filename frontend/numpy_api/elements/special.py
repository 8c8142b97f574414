"""Functions of `nt.nn` and `nt.random` that are rows of the element table (erf, philox ...), and the limits of types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....dialects import functions, special
from ....dialects.nt import ELEMENTWISE, Elementwise
from ...interface.errors import DTypeError, ShapeError
from ...values.arithmetic import compute_dtypes, emit
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.values import Static, Value
from ..registry import dtype_of, handles

_UINT64 = np.dtype(np.uint64)


_LIKE = {1: np.tanh, 2: np.hypot}
"""Ufuncs of NumPy that convert as functions of this many floats do."""


def _of_floats(row: Elementwise) -> Callable[..., Value]:
    def function(graph: Graph, *operands: Value) -> Value:
        if len(operands) != row.arity:
            raise graph.error(DTypeError, f"{row.name} takes {row.arity} arguments, not {len(operands)}")
        dtypes = compute_dtypes(graph, _LIKE[row.arity], list(operands), None)
        return emit(graph, row, list(operands), dtypes[: row.arity])

    return function


OF_FLOATS: dict[str, Callable[..., Value]] = {
    row.name: handles(row.reference)(_of_floats(row))
    for row in ELEMENTWISE.values()
    if row.reference is not None and row.name in {*special.__all__, *functions.OPERATIONS}
}
"""The handlers of functions that NumPy lacks."""


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
    if given is None or given.kind not in "fc":
        raise graph.error(ShapeError, f"data type {given!r} not inexact")
    return Static(np.finfo(given))
