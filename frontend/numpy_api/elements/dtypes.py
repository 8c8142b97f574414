"""Questions about element types: result_type, promote_types, can_cast, issubdtype and their kind, known when compiling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.promotion import WEAK_DTYPES, result_dtype
from ...values.values import Static, Value, extents_of, is_number
from ..registry import handles, static


@handles(np.result_type)
def result_type(graph: Graph, *arrays_and_dtypes: Value) -> Value:
    """Arrays and numbers count by their dtype, Python's numbers by their type."""
    kinds: list[Any] = []
    for value in arrays_and_dtypes:
        if is_number(value):
            kinds.append(number_kind(graph, value))
        else:
            kinds.append(np.dtype(static(graph, value, "a dtype")))
    if not kinds:
        raise graph.error(ShapeError, "at least one array or dtype is required")
    if all(isinstance(kind, type) for kind in kinds):
        return Static(np.result_type(*[WEAK_DTYPES[kind] for kind in kinds]))
    return Static(result_dtype(tuple(kinds)))


@handles(np.can_cast)
def can_cast(graph: Graph, from_: Value, to: Value, casting: Value | None = None) -> Value:
    rule = static(graph, casting, "casting") or "safe"
    if is_number(from_):
        kind = number_kind(graph, from_)
        if isinstance(kind, type):
            raise graph.error(
                DTypeError,
                "can_cast() does not support Python ints, floats, and complex because the result "
                "used to depend on the value.",
            )
        return Static(np.can_cast(kind, static(graph, to, "a dtype"), rule))
    return Static(np.can_cast(static(graph, from_, "a dtype"), static(graph, to, "a dtype"), rule))


def _answered(function: Any) -> None:
    """A question about what is known when compiling: NumPy answers it."""

    @handles(function)
    def answer(graph: Graph, *arguments: Value) -> Value:
        known = [
            np.dtype(number_kind(graph, v)).type(0)  # pyright: ignore
            if is_number(v) and not isinstance(v, Static)
            else static(graph, v, "an element type")
            for v in arguments
        ]
        try:
            return Static(function(*known))
        except TypeError as error:
            raise graph.error(DTypeError, str(error)) from None


for _function in (
    np.promote_types,
    np.issubdtype,
    np.isdtype,
    np.typename,
    np.mintypecode,
    np.common_type,
):
    _answered(_function)


@handles(np.min_scalar_type)
def min_scalar_type(graph: Graph, a: Value) -> Value:
    """Of an array its element type; of a number the type depends on which one it is."""
    if not is_number(a) or isinstance(a, Static):
        return Static(np.min_scalar_type(static(graph, a, "a number")))
    if not extents_of(a):
        raise graph.error(
            UnsupportedError,
            "np.min_scalar_type of a number that is computed is not supported: it depends on the number",
            "take np.result_type, which depends on types alone",
        )
    return Static(np.dtype(number_kind(graph, a)))
