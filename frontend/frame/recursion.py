"""A part of a program compiled from within another: these call each other through the table of the graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from ..values.values import Closure, Value

if TYPE_CHECKING:
    from .frame import Frame


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression."""
    return frame.graph.language.evaluate(frame, node)


def test(frame: Frame, node: ast.expr) -> Value:
    """An expression of which only the truth matters: the condition of an `if`, the operand of `not`."""
    return frame.graph.language.test(frame, node)


def execute(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Compile statements where the program stands."""
    frame.graph.language.execute(frame, statements)


def bind(frame: Frame, target: ast.expr, value: Value) -> None:
    """`target = value`, for any target."""
    frame.graph.language.bind(frame, target, value)


def call(frame: Frame, node: ast.Call, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`function(*args, **kwargs)`."""
    return frame.graph.language.call(frame, node, function, args, kwargs)


def inline(
    frame: Frame,
    node: ast.expr,
    function: FunctionType | Closure,
    args: Sequence[Value],
    kwargs: dict[str, Value],
) -> Value:
    """The body of a Python function, instead of its call."""
    return frame.graph.language.inline(frame, node, function, args, kwargs)


def truth_of_object(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What decides whether an object of a class is true."""
    return frame.graph.language.truth_of_object(frame, node, value)


def items_of_object(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What iterating over an object of a class goes through."""
    return frame.graph.language.items_of_object(frame, node, value)


def listed(frame: Frame, node: ast.AST, value: Value) -> tuple[Value, ...]:
    """All items of what can be iterated over, where their number is known."""
    return frame.graph.language.listed(frame, node, value)
