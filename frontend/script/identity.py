"""`a is b`: decided where the objects are known, compared when the program runs where there are two of a kind, else refused.

x is None           decided: None is one object, and no array is it
flag is True        the run-time bool itself: Python has two bools
xs is ys            decided for lists and dicts that are made here: they are known by their refs
n is m              refused: which equal numbers, strings and tuples are one object is up to the interpreter
"""

from __future__ import annotations

import ast
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from ..frame.frame import Frame
from ..interface.errors import Respecialise
from ..values import arithmetic as arith
from ..values.aliases import root_of
from ..values.extents import Affine
from ..values.graph import Graph
from ..values.values import Array, Buffer, Closure, Group, Rows, Static, Tensor, Value, describe, is_array

_EQUALITY = "compare with =="


def identical(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """`a is b`, as a Python bool."""
    from .classes import type_of

    kind = type_of(frame, node, a)
    if kind is not type_of(frame, node, b):
        return Static(False)
    if isinstance(a, Static) and isinstance(b, Static):
        return Static(_are_one(frame, node, a.raw, b.raw))
    if kind in (bool, np.bool_):
        same = arith.operate(frame.graph, "equal", a, b)
        return arith.as_weak(same, bool, arith.scalar_arguments([a, b]))
    if issubclass(kind, int | float | complex | str | np.generic):
        _refuse(frame, node, a, b, "which equal ones are one object is up to the interpreter", _EQUALITY)
    if a is b:
        return Static(True)
    if isinstance(a, Closure) or isinstance(b, Closure):
        return Static(False)
    if isinstance(a, Group | Rows) and isinstance(b, Group | Rows):
        return Static(_are_one_object(frame, node, a, b))
    if is_array(a) and is_array(b):
        return Static(_are_one_array(frame, node, a, b))
    _refuse(frame, node, a, b, "which objects they are is not known at compile time", _EQUALITY)


def _refuse(frame: Frame, node: ast.AST, a: Value, b: Value, why: str, hint: str) -> NoReturn:
    frame.fail(node, f"whether {describe(a)} `is` {describe(b)} is not decided: {why}", hint)


def _are_one(frame: Frame, node: ast.AST, a: Any, b: Any) -> bool:
    """Of objects known at compile time. What a program is compiled for by its value may be another one in the next call."""
    if _is_by_value(a):
        if repr(a) != repr(b):
            return False
        why = "which equal ones are one object is up to the interpreter"
        _refuse(frame, node, Static(a), Static(b), why, _EQUALITY)
    return a is b


def _is_by_value(value: Any) -> bool:
    kind = type(value)
    if value is None or isinstance(value, bool | np.bool_ | type | Enum) or kind.__hash__ is None:
        return False
    return kind.__eq__ is not object.__eq__


def _are_one_object(frame: Frame, node: ast.AST, a: Group | Rows, b: Group | Rows) -> bool:
    if a.ref is not None and a.ref == b.ref:
        return True
    if isinstance(a, Group) and not a.is_mutable:
        assert isinstance(b, Group)
        if len(a.items) != len(b.items):
            return False
        _refuse(
            frame, node, a, b, "which equal ones are one object is up to the interpreter", "compare the items"
        )
    fixed = frame.graph.fixed_objects
    if a.ref in fixed and b.ref in fixed:
        _refuse(frame, node, a, b, "both come from outside or from one of two paths", "compare the items")
    return False


def _are_one_array(frame: Frame, node: ast.AST, a: Value, b: Value) -> bool:
    first, second = _extents(a), _extents(b)
    if a.dtype != b.dtype or len(first) != len(second):  # pyright: ignore
        return False
    if any(
        m.known is not None and n.known is not None and m.known != n.known
        for m, n in zip(first, second, strict=True)
    ):
        return False
    hint = "compare what you need of them: shapes, elements, or np.shares_memory outside"
    if _is_chosen(a) or _is_chosen(b):
        _refuse(frame, node, a, b, "which array one of them is, is known at run time only", hint)
    if _may_be_same(frame.graph, a, b):
        _refuse(frame, node, a, b, "they are the same memory, and may be two views of it", hint)
    return False


def _extents(value: Value) -> tuple[Affine, ...]:
    return value.extents  # pyright: ignore


def _is_chosen(value: Value) -> bool:
    """Whether control flow says which array it is."""
    return isinstance(value, Array) and (value.buffer.joined or root_of(value).buffer.joined)


def _may_be_same(graph: Graph, a: Value, b: Value) -> bool:
    """Whether two arrays of one shape may be one object: they are in the same memory, or in none."""
    if any(extent.known == 0 for extent in _extents(a)):
        return True
    first, second = _memory(a), _memory(b)
    are_arguments = [isinstance(m, Buffer) and m.argument is not None for m in (first, second)]
    if first is not second and all(are_arguments) and not graph.may_write:
        raise Respecialise(writes=True, why="whether two arguments are one array")
    return first is second


def _memory(value: Value) -> Any:
    """What holds the elements: a buffer, or a tensor that has none yet."""
    if isinstance(value, Array):
        while value.buffer.derived is not None:
            value = value.buffer.derived[0]
        return value.buffer
    return value.ssa if isinstance(value, Tensor) else value
