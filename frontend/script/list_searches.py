"""Searches of lists whose length only the run knows, as loops: `min(xs)`, `max(xs)`, `xs.index(v)`.

best = xs[0]
for v in xs:
    if v < best:
        best = v
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..control.nest_loops import ACCUMULATOR
from ..control.structured import rewrite
from ..frame.frame import Frame
from ..frame.recursion import execute
from ..interface.errors import DTypeError
from ..values.arithmetic import apply, index_value
from ..values.checks import check
from ..values.list_counts import counted
from ..values.values import Rows, Static, Value

_EXTREME = """
best = items[0]
for item in items:
    if item < best:
        best = item
"""

_PLACE = """
place = -1
for k in range(count):
    if items[k] == wanted:
        place = k
        break
"""


def extreme(frame: Frame, node: ast.Call, rows: Rows, function: Any) -> Value:
    """`min(rows)`, `max(rows)`. Raises ValueError where there are no items."""
    graph, name = frame.graph, function.__name__
    if rows.columns or rows.is_array:
        frame.fail(node, f"{name}() of a list of arrays or tuples is not supported", None, DTypeError)
    frame.at(node)
    some = apply(graph, np.greater, index_value(counted(graph, rows).count), Static(0))
    check(graph, some, "ValueError", f"{name}() arg is an empty sequence")
    text = _EXTREME if function is min else _EXTREME.replace("<", ">")
    return _run(frame, node, text, {"items": rows}, "best")


def index(frame: Frame, node: ast.Call, rows: Rows, wanted: Value) -> Value:
    """`rows.index(wanted)`. Raises ValueError where no item is equal."""
    graph = frame.graph
    if rows.columns or rows.is_array:
        frame.fail(node, "the place of an array or a tuple in a list is not supported", None, DTypeError)
    frame.at(node)
    count = index_value(counted(graph, rows).count)
    place = _run(
        frame,
        node,
        _PLACE,
        {"items": rows, "wanted": wanted, "count": count, "range": Static(range)},
        "place",
    )
    check(
        graph, apply(graph, np.greater_equal, place, Static(0)), "ValueError", "the value is not in the list"
    )
    return place


def _run(frame: Frame, node: ast.Call, text: str, given: dict[str, Value], result: str) -> Value:
    """Execute a text in which the names are new ones; the value of `result` after it."""
    names: dict[str, str] = {}
    statements = ast.parse(text).body
    for child in (n for statement in statements for n in ast.walk(statement)):
        if isinstance(child, ast.Name):
            child.id = names.setdefault(child.id, frame.graph.new_name(ACCUMULATOR))
        if isinstance(child, ast.expr | ast.stmt):
            ast.copy_location(child, node)
    for name, value in given.items():
        frame.variables[names[name]] = value
    execute(frame, rewrite(statements, frame.graph.new_name))
    found = frame.variables[names[result]]
    for name in names.values():
        frame.variables.pop(name, None)
    return found
