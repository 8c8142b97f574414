"""What can be iterated over: how many items it has, and the item of a count."""

from __future__ import annotations

import ast

from xdsl.ir.affine import AffineBinaryOpKind

from ..frame.frame import Frame
from ..frame.instances import has_attributes
from ..frame.objects import current
from ..frame.outside import ITERABLES, items
from ..frame.recursion import items_of_object
from ..interface.errors import DTypeError, Respecialise
from ..values.arithmetic import index_value, operate, require_static
from ..values.contents import as_view
from ..values.extents import Affine
from ..values.list_counts import counted
from ..values.values import (
    Array,
    Group,
    Iteration,
    Lazy,
    Masked,
    Range,
    Rows,
    Static,
    Tensor,
    Value,
    describe,
    is_flat,
)


def trip_count(frame: Frame, iterable: Range) -> Affine:
    """The number of iterations, where it is not negative."""
    span = iterable.stop - iterable.start if iterable.step > 0 else iterable.start - iterable.stop
    step = abs(iterable.step)
    return frame.graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, span + (step - 1), step)


MAX_LISTED = 64
"""Items that a sequence counted at run time may have to be listed in code."""


def sequence(frame: Frame, node: ast.AST, value: Value) -> Iteration:
    """The items of anything that can be iterated over."""
    if isinstance(value, Iteration):
        return value
    if has_attributes(value) and not (isinstance(value, Group) and issubclass(value.kind, tuple)):
        value = items_of_object(frame, node, value)
        assert isinstance(value, Iteration)
        return value
    if is_flat(value):
        from ..numpy_api.shapes.flat import flat_view

        value = flat_view(frame.graph, value)
    if isinstance(value, Static):
        value = _of_object(frame, node, value)
    if isinstance(value, Range):
        start, step = value.start, value.step
        count = trip_count(frame, value)
        if count.known is not None:
            count = Affine(max(0, count.known))
        return Iteration(count, lambda k: _stepped(frame, start, k, step))
    if isinstance(value, Group):
        items = Group(tuple([Static(n) for n in value.names or ()])) if value.kind is dict else value
        return Iteration(Affine(len(items.items)), lambda k: _item(frame, node, items, k), True)
    if isinstance(value, Rows):
        from .rows import row

        rows = counted(frame.graph, value)
        if value.ref is not None:
            frame.graph.sequences.append(value.ref)
        return Iteration(rows.count, lambda k: row(frame.graph, rows, k))
    if isinstance(value, Masked):
        value = as_view(frame.graph, value)
    if isinstance(value, Array | Lazy | Tensor) and value.extents:
        from ..indexing.subscripts import subscript

        array = as_view(frame.graph, value)
        return Iteration(array.extents[0], lambda k: subscript(frame.graph, array, [k]))
    frame.fail(node, f"{describe(value)} cannot be iterated over", None, DTypeError)


def _of_object(frame: Frame, node: ast.AST, value: Static) -> Value:
    """An object known at compile time, as a sequence of values."""
    if isinstance(value.raw, range):
        r = value.raw
        return Range(Affine(r.start), Affine(r.stop), r.step)
    if isinstance(value.raw, ITERABLES):
        return Group(tuple(items(value.raw)))
    if hasattr(type(value.raw), "__iter__"):
        frame.fail(node, f"iterating over {describe(value)} is not supported", "make a list of it outside")
    frame.fail(node, f"{describe(value)} cannot be iterated over", None, DTypeError)


def _stepped(frame: Frame, start: Affine, k: Value, step: int) -> Value:
    offset = operate(frame.graph, "multiply", k, Static(step))
    return operate(frame.graph, "add", index_value(start), offset)


def _item(frame: Frame, node: ast.AST, group: Group, k: Value) -> Value:
    """An item of a list, as it is by now."""
    now = current(frame, group)
    assert isinstance(now, Group) and isinstance(k, Static)
    if len(now.items) != len(group.items):
        frame.fail(node, "the length of a list changes while it is iterated over", "iterate over a copy")
    return now.items[k.value]


def listed(frame: Frame, node: ast.AST, value: Value) -> tuple[Value, ...]:
    """All items, where their number is known."""
    items = sequence(frame, node, value)
    return tuple([items.at(Static(k)) for k in range(count_of(frame, node, items))])


def count_of(frame: Frame, node: ast.AST, items: Iteration) -> int:
    """How many items a sequence has that is spelled out."""
    count = items.count.known
    if count is None:
        count = required(frame, items.count)
    if count > MAX_LISTED and not items.unrolled:
        frame.fail(
            node,
            f"{count} items would be spelled out in code, more than {MAX_LISTED}",
            "write a for loop that fills an array",
        )
    return max(0, count)


def required(frame: Frame, count: Affine) -> int:
    """A number of items that must be known: it is compiled for its value where that is possible."""
    if count.terms and count.is_of_extents():
        raise Respecialise(shapes=True, why="the number of items of a sequence")
    return require_static(
        frame.graph,
        index_value(count),
        "the number of items",
        "write a for loop that fills an array: out = np.empty(n); for i in range(n): out[i] = ...",
    )
