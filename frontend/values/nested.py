"""Nested lists of numbers and arrays as a new array: what np.array makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.nt import ConstantOp
from ..interface.errors import ShapeError, UnsupportedError
from .assemble import as_piece, element_window, fresh, joint_dtype
from .equal_extents import require_equal
from .extents import Affine
from .graph import Graph, tensor_type
from .islands import Island
from .values import Array, Buffer, Group, Static, Value, describe, extents_of, is_number, whole


def array_of(graph: Graph, value: Value, dtype: np.dtype | None = None) -> Array:
    """np.array of numbers, arrays and nested lists of them."""
    shape = _nested_shape(graph, value)
    leaves: list[tuple[tuple[int, ...], Value]] = []
    _collect(graph, value, len(shape), (), leaves)
    if all(isinstance(leaf, Static) for _, leaf in leaves) and graph.island is None:
        return _constant_of(graph, value, dtype)
    pieces = [(at, as_piece(graph, leaf)) for at, leaf in leaves]
    inner = extents_of(pieces[0][1]) if pieces else ()
    for _, piece in pieces:
        same = len(extents_of(piece)) == len(inner)
        if not same or not all(
            require_equal(graph, a, b, "np.array") for a, b in zip(extents_of(piece), inner, strict=True)
        ):
            raise graph.error(
                ShapeError,
                "setting an array element with a sequence. The requested array has an inhomogeneous shape",
            )
    target = dtype or (joint_dtype(graph, [piece for _, piece in pieces]) if pieces else np.dtype(np.float64))
    extents = (*[Affine(n) for n in shape], *inner)

    def write(island: Island, out: Array) -> None:
        for at, piece in pieces:
            island.assign(element_window(out, at), piece)

    return fresh(graph, target, extents, write)


def _constant_of(graph: Graph, value: Value, dtype: np.dtype | None) -> Array:
    try:
        table = np.array(_plain(value), dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise graph.error(ShapeError, str(error)) from None
    if table.dtype.kind not in "biufc" and table.dtype.name != "bfloat16":
        raise graph.error(UnsupportedError, f"making an array of {describe(value)} is not supported")
    return constant_array(graph, table)


def _plain(value: Value) -> Any:
    if isinstance(value, Group):
        return [_plain(item) for item in value.items]
    assert isinstance(value, Static)
    return value.value


def _items(value: Value) -> list[Value] | None:
    if isinstance(value, Group):
        return list(value.items)
    if isinstance(value, Static) and isinstance(value.value, tuple | list):
        return [Static(v) for v in value.value]
    return None


def _nested_shape(graph: Graph, value: Value) -> tuple[int, ...]:
    items = _items(value)
    if items is None:
        return ()
    return (len(items), *(_nested_shape(graph, items[0]) if items else ()))


def _collect(
    graph: Graph, value: Value, depth: int, at: tuple[int, ...], leaves: list[tuple[tuple[int, ...], Value]]
) -> None:
    """The numbers and arrays in nested lists, each with its index."""
    items = _items(value)
    if (items is None) != (depth == 0):
        raise graph.error(
            ShapeError,
            "setting an array element with a sequence. The requested array has an inhomogeneous shape "
            f"after {len(at)} dimensions",
        )
    if items is None:
        if not is_number(value):
            raise graph.error(
                UnsupportedError,
                f"making an array of {describe(value)} is not supported",
                "pass it as an argument, or use np.full",
            )
        leaves.append((at, value))
        return
    wanted = _nested_shape(graph, items[0])[:1] if items else ()
    for k, item in enumerate(items):
        if _nested_shape(graph, item)[:1] != wanted:
            raise graph.error(
                ShapeError,
                "setting an array element with a sequence. The requested array has an inhomogeneous shape "
                f"after {len(at) + 1} dimensions",
            )
        _collect(graph, item, depth - 1, (*at, k), leaves)


def constant_array(graph: Graph, table: np.ndarray) -> Array:
    """A new array of elements known at compile time. In a loop each iteration has a copy: it may be written to."""
    constant = constant_table(graph, table)
    if graph.island is None:
        return constant
    return fresh(graph, table.dtype, constant.extents, lambda island, out: island.assign(out, constant))


def constant_table(graph: Graph, table: np.ndarray) -> Array:
    """A small array known at compile time, which nothing may write to inside of a loop: all iterations read it."""
    if graph.island is not None:
        with graph.at_function_level():
            return constant_table(graph, table)
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    if table.size > 1 << 16:
        raise graph.error(
            UnsupportedError,
            f"a constant array of {table.size} elements is too large",
            "pass it as an argument",
        )
    extents = tuple([Affine(n) for n in table.shape])
    kind = tensor_type(table.dtype, extents)
    numbers = table.ravel().tolist()
    if table.dtype.kind == "c":
        numbers = [(number.real, number.imag) for number in numbers]
    attribute = DenseIntOrFPElementsAttr.from_list(kind, numbers)  # pyright: ignore
    ssa = graph.insert(ConstantOp.create(properties={"value": attribute}, result_types=[kind]))
    assert ssa is not None
    return whole(Buffer(ssa, table.dtype, extents))
