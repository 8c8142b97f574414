"""Methods of lists whose length only the run knows; searches are loops: `min(xs)`, `v in xs`, `xs.index(v)`.

best = xs[0]
for v in xs:
    if v < best:
        best = v
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..control.nest_loops import ACCUMULATOR
from ..control.rows import IN_A_LIST, overwrite, pop, rows_array
from ..control.structured import rewrite
from ..frame.frame import Frame
from ..frame.recursion import execute
from ..numpy_api.families import FUNCTIONS
from ..numpy_api.shapes.rearranging import copy_
from ..values.arithmetic import apply, as_weak, index_value, require_static
from ..values.checks import check
from ..values.list_counts import counted
from ..values.tensors import as_array
from ..values.values import Array, Rows, Static, Value

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


_COUNT = """
found = 0
for item in items:
    if item == wanted:
        found += 1
"""

_FALSE = Static(False)


def extreme(frame: Frame, node: ast.Call, rows: Rows, function: Any) -> Value:
    """`min(rows)`, `max(rows)`. Raises ValueError where there are no items."""
    graph, name = frame.graph, function.__name__
    if rows.columns or rows.is_array:
        frame.fail(node, f"{name}() of a list of arrays or tuples is not supported")
    frame.at(node)
    some = apply(graph, np.greater, index_value(counted(graph, rows).count), Static(0))
    check(graph, some, "ValueError", f"{name}() arg is an empty sequence")
    text = _EXTREME if function is min else _EXTREME.replace("<", ">")
    return _run(frame, node, text, {"items": rows}, "best")


def _place(frame: Frame, node: ast.AST, rows: Rows, wanted: Value) -> Value:
    """Where an item is first that is equal; -1 where none is."""
    graph = frame.graph
    if rows.columns or rows.is_array:
        frame.fail(node, "the place of an array or a tuple in a list is not supported")
    frame.at(node)
    count = index_value(counted(graph, rows).count)
    given = {"items": rows, "wanted": wanted, "count": count, "range": Static(range)}
    return _run(frame, node, _PLACE, given, "place")


def index(frame: Frame, node: ast.AST, rows: Rows, wanted: Value) -> Value:
    """`rows.index(wanted)`. Raises ValueError where no item is equal."""
    return _required(frame, node, rows, wanted, "the value is not in the list")


def _required(frame: Frame, node: ast.AST, rows: Rows, wanted: Value, missing: str) -> Value:
    place = _place(frame, node, rows, wanted)
    frame.at(node)
    check(frame.graph, apply(frame.graph, np.greater_equal, place, Static(0)), "ValueError", missing)
    return place


def contains(frame: Frame, node: ast.AST, rows: Rows, wanted: Value) -> Value:
    """`wanted in rows`."""
    place = _place(frame, node, rows, wanted)
    return as_weak(apply(frame.graph, np.greater_equal, place, Static(0)), bool, None)


def count(frame: Frame, node: ast.AST, rows: Rows, wanted: Value) -> Value:
    """`rows.count(wanted)`."""
    if rows.columns or rows.is_array:
        frame.fail(node, "counting arrays or tuples in a list is not supported")
    return _run(frame, node, _COUNT, {"items": rows, "wanted": wanted}, "found")


# ---- lists that change after the loop that made them ------------------------------------------------


def remove(frame: Frame, node: ast.AST, rows: Rows, wanted: Value) -> Value:
    """`rows.remove(wanted)`. Raises ValueError where no item is equal."""
    _require_complete(frame, node, rows, "remove")
    place = _required(frame, node, rows, wanted, "list.remove(x): x not in list")
    pop(frame, node, rows, place)
    return Static(None)


def reverse(frame: Frame, node: ast.AST, rows: Rows) -> Value:
    """`rows.reverse()`."""
    _require_complete(frame, node, rows, "reverse")
    for column in rows.columns or (rows,):
        items = rows_array(counted(frame.graph, replace(column, cell=rows.cell)))
        overwrite(frame, node, rows, items, _backwards(frame, items))
    return Static(None)


def sort(frame: Frame, node: ast.AST, rows: Rows, down: Value = _FALSE) -> Value:
    """`rows.sort(reverse=down)` of numbers."""
    _require_complete(frame, node, rows, "sort")
    items = rows_array(counted(frame.graph, rows))
    overwrite(frame, node, rows, items, _sorted(frame, node, rows, down))
    return Static(None)


def in_order(frame: Frame, node: ast.AST, rows: Rows, down: Value = _FALSE) -> Value:
    """`sorted(rows, reverse=down)` of numbers."""
    array = _sorted(frame, node, rows, down)
    array = array if isinstance(array, Array) else as_array(array)  # pyright: ignore
    array.buffer.frozen = IN_A_LIST
    return Rows(array.buffer, array.extents[0], rows.kind, False, False)


def _sorted(frame: Frame, node: ast.AST, rows: Rows, down: Value) -> Value:
    is_down = bool(require_static(frame.graph, down, "reverse"))
    if rows.columns or rows.is_array:
        frame.fail(
            node,
            f"sorting a list of {'tuples' if rows.columns else 'arrays'} that a loop makes is not supported",
            "make an array of it, and of that the order: a[np.argsort(a[:, 0])]",
        )
    frame.at(node)
    items = copy_(frame.graph, rows_array(counted(frame.graph, rows)))
    found = FUNCTIONS[np.sort](frame.graph, items)
    # Of Python's bools and numbers equal ones are alike, so that their order does not matter.
    return _backwards(frame, found) if is_down else copy_(frame.graph, found)


def _backwards(frame: Frame, items: Value) -> Value:
    return copy_(frame.graph, FUNCTIONS[np.flip](frame.graph, items, Static(0)))


def _require_complete(frame: Frame, node: ast.AST, rows: Rows, name: str) -> None:
    """Raise inside of loops and branches, where the list may be one that grows."""
    graph = frame.graph
    if rows.is_open or graph.turns or frame.looping or frame.depth or graph.island is not None:
        frame.fail(
            node,
            f"list.{name}() of a list that a loop makes is not supported in a loop, a branch or a function that is called",
            "call it after the loop, or keep the items in an array",
        )


def _run(frame: Frame, node: ast.AST, text: str, given: dict[str, Value], result: str) -> Value:
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


LIST_METHODS: dict[str, tuple[Callable[..., Value], int, int]] = {
    "index": (index, 1, 1),
    "count": (count, 1, 1),
    "remove": (remove, 1, 1),
    "reverse": (reverse, 0, 0),
    "sort": (sort, 0, 1),
}
"""Methods of lists that loops make, with the least and the greatest number of their arguments."""
