"""`out=` of functions and methods: the result is computed as without it, and stored.

np.cumsum(x, axis=0, out=y)   ->   y[...] = np.cumsum(x, axis=0)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface.errors import DTypeError, ShapeError, UnsupportedError
from ..values.equal_extents import require_equal
from ..values.graph import Graph
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES
from ..values.values import Array, Group, Static, Tensor, Value, describe, extents_of, shape_text
from ..values.writes import check_writable


def output_of(graph: Graph, name: str, arguments: dict[str, Any]) -> Array | None:
    """The array that a call gives as `out=`; taken out of its arguments."""
    out = arguments.get("out")
    if isinstance(out, Group) and len(out.items) == 1:
        out = out.items[0]
    if out is None or (isinstance(out, Static) and out.value is None):
        return None
    if not isinstance(out, Array):
        raise graph.error(DTypeError, f"{name}: out= needs an array, not {describe(out)}")
    del arguments["out"]
    return out


def store(graph: Graph, name: str, out: Array, result: Value) -> Value:
    """`out[...] = result`; gives `out`. Shapes and element types are the same."""
    from ..indexing.stores import store_window

    if isinstance(result, Group):
        raise graph.error(UnsupportedError, f"{name}: out= of several results is not supported")
    shape = extents_of(result)
    if len(shape) != len(out.extents) or not all(
        require_equal(graph, a, b, "out=") for a, b in zip(shape, out.extents, strict=True)
    ):
        raise graph.error(
            ShapeError, f"{name}: out= has shape {shape_text(out.extents)}, the result {shape_text(shape)}"
        )
    kind = number_kind(graph, result)
    dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    if dtype != out.dtype:
        raise graph.error(
            UnsupportedError,
            f"{name}: out= has element type {out.dtype}, the result {np.dtype(dtype)}",
            "leave out= out, and assign: y[...] = f(x)",
        )
    check_writable(graph, out.buffer)
    if isinstance(result, Tensor) and graph.island is None and out.whole and out.buffer.shared is None:
        graph.update(out.buffer, result.ssa)
    else:
        store_window(graph, out, result)
    return out
