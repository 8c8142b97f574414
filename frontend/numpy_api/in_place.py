"""`x op= v` of an array writes in place, by NumPy's rules for a ufunc with `out=`."""

from __future__ import annotations

import ast
from contextlib import nullcontext

import numpy as np

from ..frame.frame import Frame
from ..indexing.stores import overwrite
from ..interface.errors import DTypeError, ShapeError
from ..values.arithmetic import broadcast_extents, operate
from ..values.equal_extents import require_equal
from ..values.islands import open_island
from ..values.numbers import number_kind
from ..values.tensors import as_readable
from ..values.values import Array, Value, extents_of, shape_text


def update_in_place(frame: Frame, node: ast.AST, name: str, array: Array, operand: Value) -> None:
    """`x op= v` of an array writes in place; `name` is that of the ufunc."""
    graph = frame.graph
    check_operands(frame, node, name, array, operand)
    if graph.island is None and array.whole and array.buffer.shared is None:
        with graph.side_by_side():
            result = operate(graph, name, array, operand)
        check_update(frame, node, name, array, result)
        return overwrite(graph, array, result)
    with nullcontext(graph.island) if graph.island is not None else open_island(graph) as island:
        frame.at(node)
        result = operate(graph, name, array, as_readable(operand))
        check_update(frame, node, name, array, result)
        island.assign(array, result)


def check_operands(frame: Frame, node: ast.AST, name: str, target: Value, operand: Value) -> None:
    """`a @= b` writes rows of products: `a` has rows, and `b` is a matrix."""
    if name != "matmul" or (extents_of(target) and len(extents_of(operand)) >= 2):
        return
    frame.fail(
        node,
        "inplace matrix multiplication requires the first operand to have at least one and the second at least "
        "two dimensions.",
        "write a = a @ b for a new array",
        ShapeError,
    )


def check_update(frame: Frame, node: ast.AST, name: str, target: Array, result: Value) -> None:
    """NumPy's rules for an in-place ufunc: same-kind casting, and a result of the target's shape."""
    graph = frame.graph
    kind = number_kind(graph, result)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, target.dtype, "same_kind"):
        frame.fail(
            node,
            f"Cannot cast ufunc '{name}' output from {kind!r} to {target.dtype!r} "
            "with casting rule 'same_kind'",
            f"write x = x {_SYMBOLS.get(name, '+')} ... for a new array",
            DTypeError,
        )
    shape = broadcast_extents(graph, [target.extents, extents_of(result)], has_ones=True)
    if len(shape) != len(target.extents) or not all(
        require_equal(graph, a, b, "operands could not be broadcast into the one updated")
        for a, b in zip(shape, target.extents, strict=True)
    ):
        frame.fail(
            node,
            f"non-broadcastable output operand with shape {shape_text(target.extents)} doesn't match the broadcast shape "
            f"{shape_text(shape)}",
            None,
            ShapeError,
        )


_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**",
}  # fmt: skip
