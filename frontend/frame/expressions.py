"""The value of an expression: each kind of expression has its function in a table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..values import arithmetic as arith
from ..values.values import Group, Value
from .frame import Frame

EXPRESSIONS: dict[type[ast.expr], Callable[[Frame, Any], Value]] = {}
"""Who compiles an expression; filled by `expression_kinds.py`."""


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression."""
    handler = EXPRESSIONS.get(type(node))
    if handler is None:
        word = _WORDS.get(type(node), type(node).__name__)
        frame.fail(node, f"{word} is not supported in compiled code", _HINTS.get(type(node)))
    return handler(frame, node)


def constant_object(frame: Frame, node: ast.expr, value: Value) -> Any:
    """The Python object that a value is; it must be known at compile time."""
    if isinstance(value, Group):
        return value.built([constant_object(frame, node, item) for item in value.items])
    frame.at(node)
    return arith.require_static(frame.graph, value, "this value")


_WORDS: dict[type[ast.expr], str] = {
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.SetComp: "a set comprehension",
}
_HINTS: dict[type[ast.expr], str] = {
    ast.SetComp: "use a list or a dict",
    ast.Set: "use a tuple",
    ast.Await: "compile the part that computes, and await outside",
    ast.Yield: "fill an array and return it",
    ast.YieldFrom: "fill an array and return it",
}
