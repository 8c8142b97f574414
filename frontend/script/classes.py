"""The class of a value: what `type(x)` gives."""

from __future__ import annotations

import ast
from types import FunctionType

import numpy as np

from ..frame.frame import Frame
from ..frame.outside import class_of
from ..values import arithmetic as arith
from ..values.values import (
    Array,
    Chosen,
    Closure,
    Group,
    Iteration,
    Lazy,
    Masked,
    Method,
    Range,
    Rows,
    Static,
    Tensor,
    Text,
    Value,
    describe,
    is_array,
)


def type_of(frame: Frame, node: ast.AST, value: Value) -> type:
    """The class of a value."""
    if isinstance(value, Static):
        return class_of(value.raw)
    if isinstance(value, Group):
        return value.kind
    if isinstance(value, Iteration | Method):
        frame.fail(
            node, f"the class of {describe(value)} is not known in compiled code", "call type() outside"
        )
    plain = _CLASSES.get(type(value))
    if plain is not None:
        return plain
    if isinstance(value, Tensor) and is_array(value):
        return np.ndarray
    kind = arith.number_kind(frame.graph, value)
    return kind if isinstance(kind, type) else kind.type


_CLASSES: dict[type, type] = {
    Range: range,
    Closure: FunctionType,
    Text: str,
    Chosen: str,
    Rows: list,
    Array: np.ndarray,
    Lazy: np.ndarray,
    Masked: np.ndarray,
}
