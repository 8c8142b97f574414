"""Truth values: of what is known at compile time, and of numbers that decide when the program runs."""

from __future__ import annotations

import ast

from ..frame.frame import Frame
from ..frame.instances import has_attributes
from ..frame.objects import refuse_changes
from ..frame.outside import length
from ..frame.recursion import truth_of_object
from ..interface.errors import ShapeError
from ..interface.static_values import TRUTH
from ..values import arithmetic as arith
from ..values.list_counts import counted
from ..values.values import (
    UNKNOWN_LENGTH,
    Chosen,
    Closure,
    Group,
    Iteration,
    Masked,
    Method,
    Range,
    Rows,
    Static,
    Value,
    describe,
    extents_of,
    is_number,
)


def decided(frame: Frame, value: Value) -> Value:
    """What the truth of a value is decided by: of a sequence its length, of functions and iterators that they are there."""
    if isinstance(value, Group | Static) and has_attributes(value) and not _is_tuple(value):
        return truth_of_object(frame, frame.source.node, value)
    if isinstance(value, Chosen):
        return _some_option(frame, value)
    if isinstance(value, Rows):
        return arith.operate(
            frame.graph, "not_equal", arith.index_value(counted(frame.graph, value).count), Static(0)
        )
    if isinstance(value, Range):
        order = "less" if value.step > 0 else "greater"
        ends = [arith.index_value(end) for end in (value.start, value.stop)]
        return arith.operate(frame.graph, order, *ends)
    return Static(True) if isinstance(value, Closure | Method | Iteration) else value


def _some_option(frame: Frame, value: Chosen) -> Value:
    """Whether a string chosen at run time is not empty."""
    empty = [k for k, option in enumerate(value.options) if not option]
    found: Value = Static(True)
    for k in empty:
        found = arith.operate(frame.graph, "not_equal", value.which, Static(k))
    return found


def _is_tuple(value: Value) -> bool:
    """Whether it is a NamedTuple, which is true where it has items."""
    return isinstance(value, Group) and issubclass(value.kind, tuple)


ON_SOME_PATHS = "in a part of an expression that is computed on some paths only"


def refuse_skipped(frame: Frame, node: ast.expr, before: dict[str, Value]) -> None:
    """Refuse what changes variables or lists in an expression that Python may skip; `before` is what they were."""
    refuse_assignments(frame, node)
    refuse_changes(frame, node, before, ON_SOME_PATHS)


def refuse_assignments(frame: Frame, node: ast.expr) -> None:
    """Refuse `:=` in a part of an expression that is computed on some paths only."""
    for child in ast.walk(node):
        if isinstance(child, ast.NamedExpr):
            frame.fail(
                child,
                "an assignment in a part of an expression that is computed on some paths only is not supported",
                "assign in a statement of its own",
            )


def as_condition(frame: Frame, node: ast.expr, value: Value) -> Value:
    """A number used as a truth value. Arrays of more than one element have none, as in NumPy."""
    if isinstance(value, Masked):
        frame.fail(node, f"{UNKNOWN_LENGTH}; so it has no truth value", "use .any() or .all()")
    value = decided(frame, value)
    if not is_number(value):
        frame.fail(
            node, f"the truth value of {describe(value)} is not supported", "compare it with something"
        )
    extents = extents_of(value)
    if not extents:
        return value
    if all(e.known == 1 for e in extents):
        from ..indexing.subscripts import subscript

        return subscript(frame.graph, value, [_FIRST] * len(extents))
    what = "an empty array" if any(e.known == 0 for e in extents) else "an array with more than one element"
    frame.fail(
        node,
        f"the truth value of {what} is ambiguous",
        "use & | ~ for elementwise logic, np.where to choose, .any() or .all() to reduce",
        ShapeError,
    )


_FIRST = Static(0)


def truth(frame: Frame, node: ast.expr, value: Value) -> bool:
    """The truth value of a compile-time object."""
    value = decided(frame, value)
    if isinstance(value, Group):
        return bool(value.items)
    if isinstance(value, Static):
        return _truth_of_object(frame, node, value)
    value = as_condition(frame, node, value)
    frame.at(node)
    return bool(
        arith.require_static(
            frame.graph,
            value,
            "the condition",
            "choose with np.where(condition, a, b), or put the `if` inside a loop over elements",
        )
    )


def _truth_of_object(frame: Frame, node: ast.expr, value: Static) -> bool:
    frame.at(node)
    arith.refuse_own_code(frame.graph, [value.raw], TRUTH)
    if isinstance(value.raw, list | dict):
        return length(value.raw) != 0
    try:
        return bool(value.value)
    except (TypeError, ValueError) as error:
        frame.fail_as(node, error, str(error))
