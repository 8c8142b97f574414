"""The variable of a loop after the loop: Python keeps the last value, and has none where there was no iteration.

    for i in range(n):        i is n - 1 here; the first use checks that there was an iteration:
        ...                   cf.assert %ok, "cannot access local variable 'i' ..." {nestor.kind = "UnboundLocalError"}
    return i

Only for variables that are read outside of the loops that bind them; others are gone after the loop, as most are meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..interface.errors import UnboundError
from ..numpy_api.elements.selection import where
from ..values.arithmetic import apply, as_weak, index_value
from ..values.checks import check
from ..values.extents import Affine
from ..values.numbers import number_kind
from ..values.values import Late, Range, Static, Value
from .facts import facts

if TYPE_CHECKING:
    from ..frame.frame import Frame

ONLY_INSIDE = "it has a value only while the loop runs"


def left_by(frame: Frame, node: ast.For, span: Range, turns: Affine) -> Late | None:
    """What the variable of a loop over a range is after it; None where nothing asks, or the body gives it other values."""
    name = kept_name(frame, node)
    if name is None or any(name in facts(statement).bound for statement in node.body):
        return None
    last = index_value(span.start + (turns - 1) * span.step)
    if (turns.lower_bound() or 0) > 0:
        return Late(last)
    return Late(last, turns, frame.variables.get(name))


def kept_name(frame: Frame, node: ast.For) -> str | None:
    """The name that a loop binds, where it is read outside of such loops."""
    if not isinstance(node.target, ast.Name):
        return None
    name = node.target.id
    reads = (n for n in _outside(frame.source.node, name) if isinstance(n, ast.Name) and n.id == name)
    return name if any(isinstance(n.ctx, ast.Load) for n in reads) else None


def _outside(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """The nodes of a function, without the bodies of the loops that bind `name`."""
    yield node
    is_such = isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name
    body = node.body if isinstance(node, ast.For) and is_such else []
    for child in ast.iter_child_nodes(node):
        if child not in body:
            yield from _outside(child, name)


def value_of(frame: Frame, node: ast.Name, late: Late) -> Value:
    """The variable where it is read: a check that the loop had an iteration, or the value from before it."""
    if late.turns is None:
        return late.value
    graph = frame.graph
    frame.at(node)
    if late.turns.known is not None and late.turns.known <= 0 and late.before is None:
        frame.fail(node, _unbound(node.id), None, UnboundError)
    ran = apply(graph, np.greater, index_value(late.turns), Static(0))
    before = late.before
    if isinstance(before, Late):
        before = value_of(frame, node, before)
    if before is None:
        check(graph, ran, "UnboundLocalError", _unbound(node.id))
        return late.value
    if number_kind(graph, before) is not int:
        frame.fail(
            node,
            f"'{node.id}' is another type of number where the loop runs no iteration",
            "use another name in the loop",
        )
    return as_weak(where(graph, ran, late.value, before), int, None)


def _unbound(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"


def forget(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Forget what earlier loops left in variables that these statements, the body of a loop, bind."""
    for name in {name for statement in statements for name in facts(statement).bound}:
        if isinstance(frame.variables.get(name), Late):
            del frame.variables[name]
            frame.scope.lost[name] = ONLY_INSIDE
