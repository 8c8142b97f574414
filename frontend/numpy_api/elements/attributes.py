"""Attributes of arrays: .shape, .ndim, .size, .dtype, .T, .mT, .itemsize, .nbytes, .real, .imag."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...indexing.views import transposed
from ...interface.errors import MissingAttributeError, ShapeError, UnsupportedError
from ...values.arithmetic import index_value, operate
from ...values.contents import as_view, is_numpy_scalar
from ...values.graph import Graph
from ...values.promotion import WEAK_DTYPES
from ...values.reshaped import steps_of
from ...values.values import Group, Method, Static, Value, describe, extents_of, operand_of
from ..registry import FUNCTIONS


def shape(graph: Graph, value: Value) -> Group:
    _require_numpy(graph, value, "shape")
    return Group(tuple([index_value(extent) for extent in extents_of(value)]))


def size(graph: Graph, value: Value) -> Value:
    _require_numpy(graph, value, "size")
    total: Value = Static(1)
    for extent in extents_of(value):
        total = operate(graph, "multiply", total, index_value(extent))
    return total


def dtype(graph: Graph, value: Value) -> Static:
    _require_numpy(graph, value, "dtype")
    kind = operand_of(value)
    return Static(WEAK_DTYPES[kind] if isinstance(kind, type) else kind)


def transpose(graph: Graph, value: Value) -> Value:
    _require_numpy(graph, value, "T")
    if is_numpy_scalar(value):
        return value
    array = as_view(graph, value)
    return transposed(array, range(len(array.axes))[::-1])


def matrix_transpose(graph: Graph, value: Value) -> Value:
    _require_numpy(graph, value, "mT")
    array = as_view(graph, value)
    if len(array.axes) < 2:
        raise graph.error(ShapeError, "matrix transpose with ndim < 2 is undefined")
    axes = list(range(len(array.axes)))
    return transposed(array, [*axes[:-2], axes[-1], axes[-2]])


def nbytes(graph: Graph, value: Value) -> Value:
    _require_numpy(graph, value, "nbytes")
    itemsize = np.dtype(dtype(graph, value).value).itemsize
    return operate(graph, "multiply", size(graph, value), Static(itemsize))


def flat(graph: Graph, value: Value) -> Method:
    _require_numpy(graph, value, "flat")
    return Method(as_view(graph, value), "flat")


def strides(graph: Graph, value: Value) -> Group:
    """In bytes, where they are known while compiling."""
    _require_numpy(graph, value, "strides")
    array = as_view(graph, value)
    steps = steps_of(array)
    if steps is None:
        raise graph.error(
            UnsupportedError, "strides that are not known while compiling are not supported", "pass x.strides"
        )
    return Group(tuple([Static(step * array.dtype.itemsize) for step in steps]))


def _require_numpy(graph: Graph, value: Value, name: str) -> None:
    """Python numbers have none of these."""
    if isinstance(value, Method) or isinstance(operand_of(value), type):
        what = operand_of(value) if not isinstance(value, Method) else None
        shown = f"'{what.__name__}' object" if isinstance(what, type) else describe(value)
        raise graph.error(MissingAttributeError, f"{shown} has no attribute '{name}'")


ATTRIBUTES: dict[str, Callable[[Graph, Value], Value]] = {
    "shape": shape,
    "ndim": lambda graph, value: Static(len(extents_of(value))),
    "size": size,
    "dtype": dtype,
    "itemsize": lambda graph, value: Static(np.dtype(dtype(graph, value).value).itemsize),
    "T": transpose,
    "mT": matrix_transpose,
    "nbytes": nbytes,
    "flat": flat,
    "strides": strides,
    "real": lambda graph, value: FUNCTIONS[np.real](graph, value),
    "imag": lambda graph, value: FUNCTIONS[np.imag](graph, value),
}
"""`ATTRIBUTES[name](graph, array)`."""
