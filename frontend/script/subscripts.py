"""Subscripts: of arrays, tuples, lists, dicts, and of objects known at compile time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...dialects.diagnostic import NestorError
from ..frame import outside
from ..frame.frame import Frame
from ..frame.instances import has_attributes
from ..frame.objects import MUTATORS, position_of
from ..frame.recursion import evaluate
from ..interface.errors import DTypeError, IndexRangeError, Respecialise
from ..values import arithmetic as arith
from ..values.arithmetic import refuse_own_code
from ..values.checks import check
from ..values.extents import Affine
from ..values.values import (
    Chosen,
    Closure,
    Group,
    Index,
    Range,
    Rows,
    Static,
    Value,
    describe,
    extents_of,
    is_flat,
    is_number,
    operand_of,
)
from . import special_methods
from .chosen import by_option
from .operators import as_group, is_sequence, sequence_kind

if TYPE_CHECKING:
    from ..indexing.views import Item


def subscript_of(frame: Frame, node: ast.Subscript) -> Value:
    from ..numpy_api.shapes.grids import maker

    if parts := effectful_indices(frame, node):
        with evaluated_once(frame, node, parts) as plain:
            return subscript_of(frame, plain)
    nested = _nested(frame, node)
    if nested is not None:
        return nested
    owner = evaluate(frame, node.value)
    if isinstance(owner, Chosen):
        return by_option(
            frame, node, owner, lambda one: _item_of(frame, node, one, subscript_items(frame, node.slice))
        )
    if has_attributes(owner) and not (isinstance(owner, Group) and issubclass(owner.kind, tuple)):
        items = subscript_items(frame, node.slice)
        frame.at(node)
        return special_methods.item(frame, node, owner, key_value(frame, node, items))
    if is_flat(owner):
        from ..numpy_api.shapes.flat import flat_item

        items = subscript_items(frame, node.slice)
        frame.at(node)
        return flat_item(frame.graph, owner, items)
    if isinstance(owner, Static) and not is_sequence(owner):
        make = maker(owner.raw)
        if make is None and type(owner.raw) is str and not isinstance(node.slice, ast.Slice | ast.Tuple):
            return _character(frame, node, owner.raw)
        if make is None:
            return _known_element(frame, node, owner.raw)
        items = subscript_items(frame, node.slice)
        frame.at(node)
        return make(frame.graph, items)
    items = subscript_items(frame, node.slice)
    frame.at(node)
    if len(items) == 1 and isinstance(items[0], Chosen):
        return by_option(frame, node, items[0], lambda one: _item_of(frame, node, owner, [one]))
    return _item_of(frame, node, owner, items)


def effectful_indices(frame: Frame, node: ast.Subscript) -> list[ast.expr]:
    """What of `xs[i][j]` is evaluated once, before anything else is asked: the indices that may change something and,
    so that they are read before the change, those left of them, and what is read if it is no name."""
    parts: list[ast.expr] = []
    root: ast.expr = node
    while isinstance(root, ast.Subscript | ast.Attribute):
        if isinstance(root, ast.Subscript):
            parts[:0] = [one for part in _parts(root.slice) for one in _parts(part)]
        root = root.value
    changing = [k for k, part in enumerate(parts) if any(_may_change(frame, n) for n in ast.walk(part))]
    if not changing:
        return []
    if isinstance(node.ctx, ast.Load) and not isinstance(root, ast.Name):
        parts, changing = [root, *parts], [k + 1 for k in changing]
    return [part for part in parts[: changing[-1] + 1] if not isinstance(part, ast.Constant)]


def _parts(node: ast.expr) -> list[ast.expr]:
    """The indices of a tuple, the bounds of a slice, what is unpacked."""
    if isinstance(node, ast.Tuple):
        return node.elts
    if isinstance(node, ast.Slice):
        return [bound for bound in (node.lower, node.upper, node.step) if bound is not None]
    return [node.value] if isinstance(node, ast.Starred) else [node]


def changes_by_itself(node: ast.AST) -> bool:
    """Whether it is `k := ...` or the call of a method that changes lists or dicts."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in MUTATORS
    return isinstance(node, ast.NamedExpr)


def _may_change(frame: Frame, node: ast.AST) -> bool:
    if changes_by_itself(node):
        return True
    if not isinstance(node, ast.Call):
        return False
    called = frame.lookup(node.func) if isinstance(node.func, ast.Name) else None
    is_function = isinstance(called, Static) and isinstance(called.raw, FunctionType)
    return is_function or isinstance(called, Closure)


@contextmanager
def evaluated_once(frame: Frame, node: ast.Subscript, parts: Sequence[ast.expr]) -> Iterator[ast.Subscript]:
    """The subscript with names in place of these indices, which have their values meanwhile."""
    names: dict[int, str] = {}
    for part in parts:
        value = evaluate(frame, part)
        names[id(part)] = frame.graph.new_name(".index")
        frame.variables[names[id(part)]] = value
    try:
        yield _with_names(node, names)
    finally:
        for name in names.values():
            frame.variables.pop(name, None)


def _with_names(node: ast.expr, names: dict[int, str]) -> Any:
    """A copy of a subscript with names for some of its indices."""
    if id(node) in names:
        return ast.copy_location(ast.Name(names[id(node)], ast.Load()), node)
    if isinstance(node, ast.Subscript):
        made = ast.Subscript(_with_names(node.value, names), _with_names(node.slice, names), node.ctx)
    elif isinstance(node, ast.Attribute):
        made = ast.Attribute(_with_names(node.value, names), node.attr, node.ctx)
    elif isinstance(node, ast.Tuple):
        made = ast.Tuple([_with_names(part, names) for part in node.elts], node.ctx)
    elif isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper, node.step)
        made = ast.Slice(*(bound and _with_names(bound, names) for bound in bounds))
    elif isinstance(node, ast.Starred):
        made = ast.Starred(_with_names(node.value, names), node.ctx)
    else:
        return node
    return ast.copy_location(made, node)


def _item_of(frame: Frame, node: ast.Subscript, owner: Value, items: list[Item]) -> Value:
    from ..control.rows import rows_item
    from ..indexing.subscripts import subscript
    from ..indexing.views import Slice

    if isinstance(owner, Static):
        if len(items) == 1 and isinstance(items[0], Static) and isinstance(items[0].raw, int):
            return _element(frame, node, owner.raw, items[0].raw)
        owner = as_group(frame, node, owner)
    if isinstance(owner, Rows):
        return rows_item(frame, node, owner, items)
    if isinstance(owner, Range) and len(items) == 1 and not isinstance(items[0], Slice):
        return _range_item(frame, node, owner, items[0])
    if isinstance(owner, Group):
        return _group_item(frame, node, owner, items)
    return subscript(frame.graph, owner, as_indices(frame, node, items))


def _range_item(frame: Frame, node: ast.Subscript, span: Range, index: Value) -> Value:
    """`range(start, stop, step)[index]`. Raises IndexError."""
    from ..control.sequences import trip_count
    from ..numpy_api.elements.selection import where

    graph = frame.graph
    kind = operand_of(index) if is_number(index) and not extents_of(index) else None
    if kind is None or arith.WEAK_DTYPES.get(kind, kind).kind not in "iub":  # pyright: ignore
        frame.fail(node, f"range indices must be integers or slices, not {describe(index)}", None, DTypeError)
    count = trip_count(frame, span)
    length = arith.index_value(count if count.known is None else Affine(max(0, count.known)))
    is_negative = arith.operate(graph, "less", index, Static(0))
    place = where(graph, is_negative, arith.operate(graph, "add", index, length), index)
    for holds in (
        arith.operate(graph, "less", place, length),
        arith.operate(graph, "greater_equal", place, Static(0)),
    ):
        if isinstance(holds, Static) and not holds.value:
            frame.fail(node, "range object index out of range", None, IndexRangeError)
        if not isinstance(holds, Static) and graph.boundscheck:
            check(graph, holds, "IndexError", "range object index out of range")
    place = arith.as_weak(place, int, None) if not isinstance(place, Static | Index) else place
    offset = arith.operate(graph, "multiply", place, Static(span.step))
    return arith.operate(graph, "add", arith.index_value(span.start), offset)


def _nested(frame: Frame, node: ast.Subscript) -> Value | None:
    """`m[i][j]` of nested lists at indices known at run time; None for all else."""
    found = nested_indices(frame, node)
    if found is None:
        return None
    from .choices import nested_item

    return nested_item(frame, node, *found)


def nested_indices(frame: Frame, node: ast.Subscript) -> tuple[Value, list[Value]] | None:
    """The list and the indices of `m[i][j]`, where one before the last is known at run time; None for all else."""
    parts: list[ast.expr] = []
    root: ast.expr = node
    while isinstance(root, ast.Subscript):
        if isinstance(root.slice, ast.Slice | ast.Tuple):
            return None
        parts.insert(0, root.slice)
        root = root.value
    if len(parts) < 2 or not isinstance(root, ast.Name | ast.Attribute):
        return None
    owner = evaluate(frame, root)
    if is_sequence(owner):
        owner = as_group(frame, node, owner)
    if not isinstance(owner, Group) or owner.kind not in (list, tuple):
        return None
    if all(_is_plain_index(part) for part in parts[:-1]):
        return None
    from .choices import is_run_time

    indices = [evaluate(frame, part) for part in parts]
    if not any(is_run_time(index) for index in indices[:-1]) or _leaves_lists(owner, len(parts)):
        return None
    frame.at(node)
    return owner, indices


def _is_plain_index(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _leaves_lists(owner: Value, depth: int) -> bool:
    """Whether `depth` indices lead into something else than lists and tuples."""
    if depth == 0:
        return False
    if not isinstance(owner, Group) or owner.kind not in (list, tuple):
        return True
    return any(_leaves_lists(item, depth - 1) for item in owner.items)


def _character(frame: Frame, node: ast.Subscript, text: str) -> Value:
    """`text[k]`: one of the characters, of which the run may say which."""
    from .choices import at_index, is_run_time

    index = evaluate(frame, node.slice)
    frame.at(node)
    if is_run_time(index):
        characters = Group(tuple([Static(one) for one in text]))
        return at_index(frame, node, characters, index, message="string index out of range")
    if isinstance(index, Group):
        return _element(frame, node, text, index.built(index.items))
    return _element(frame, node, text, arith.require_static(frame.graph, index, "the index"))


def _known_element(frame: Frame, node: ast.Subscript, owner: Any) -> Value:
    """An element of an object known at compile time: of a dict, a string, or np.s_[1:3]."""
    frame.at(node)
    refuse_own_code(frame.graph, [owner] if type(owner) is not dict else (), frozenset(("__getitem__",)))
    index = _known_index(frame, node.slice)
    frame.at(node)
    return _element(frame, node, owner, index)


def _element(frame: Frame, node: ast.Subscript, owner: Any, index: Any) -> Value:
    try:
        return outside.item(owner, index)
    except (NestorError, Respecialise):
        raise
    except Exception as error:
        frame.fail_as(node, error, str(error) if isinstance(error, IndexError) else None)


def _known_index(frame: Frame, node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in node.elts):
        return tuple([_known_index(frame, part) for part in node.elts])
    if isinstance(node, ast.Slice):
        return slice(
            *[None if b is None else _known_index(frame, b) for b in (node.lower, node.upper, node.step)]
        )
    value = evaluate(frame, node)
    if isinstance(value, Group):
        return value.built([arith.require_static(frame.graph, item, "the index") for item in value.items])
    return arith.require_static(frame.graph, value, "the index")


def _group_item(frame: Frame, node: ast.Subscript, group: Group, items: list[Item]) -> Value:
    from ..indexing.views import Slice
    from .choices import at_index, can_be_selected, is_run_time

    item = items[0]
    if len(items) == 1 and is_run_time(item) and group.kind is not dict and can_be_selected(group):
        return at_index(frame, node, group, item)
    if len(items) != 1 and group.kind is not dict:
        frame.fail(
            node, f"{group.kind.__name__} indices must be integers or slices, not tuple", None, DTypeError
        )
    if isinstance(item, Slice):
        if group.kind not in (tuple, list) and not issubclass(group.kind, tuple):
            frame.fail(node, f"{describe(group)} cannot be sliced", None, DTypeError)
        bounds = [
            None if b is None else arith.require_static(frame.graph, b, "a slice bound")
            for b in (item.start, item.stop, item.step)
        ]
        return Group(group.items[slice(*bounds)], sequence_kind(group))
    if len(items) != 1:
        keys = [key for key in items if not isinstance(key, Slice)]
        return group.items[position_of(frame, node, group, Group(tuple(keys)))]
    return group.items[position_of(frame, node, group, item)]


def subscript_items(frame: Frame, node: ast.expr) -> list[Item]:
    """What is between the brackets."""
    if not isinstance(node, ast.Tuple):
        item = _item(frame, node)
        if isinstance(item, Static) and isinstance(item.value, tuple):
            return [_as_slice(Static(part)) for part in item.value]
        return _unpacked(item) if isinstance(item, Group) and item.kind is tuple else [item]
    items: list[Item] = []
    for part in node.elts:
        if isinstance(part, ast.Starred):
            items += _unpacked(as_group(frame, part, evaluate(frame, part.value)))
        else:
            items.append(_item(frame, part))
    return items


def as_indices(frame: Frame, node: ast.AST, items: list[Item]) -> list[Item]:
    """Items of an array's subscript: objects whose class has `__index__` are what that gives."""
    from ..indexing.views import Slice

    found: list[Item] = []
    for item in items:
        if isinstance(item, Slice):
            bounds = [
                None if b is None else _as_index(frame, node, b) for b in (item.start, item.stop, item.step)
            ]
            found.append(Slice(*bounds))
        else:
            found.append(_as_index(frame, node, item))
    return found


def _as_index(frame: Frame, node: ast.AST, value: Value) -> Value:
    if isinstance(value, Group) and issubclass(value.kind, tuple | list | dict | slice):
        return value
    made = special_methods.asked(frame, node, value, "__index__")
    if made is None:
        return value
    kind = operand_of(made) if is_number(made) else None
    if kind is not int and kind is not bool:
        frame.fail(node, f"__index__ returned non-int ({describe(made)})", None, DTypeError)
    return made


def key_value(frame: Frame, node: ast.Subscript, items: list[Item]) -> Value:
    """What is between the brackets as one object, which `__getitem__` is given."""
    keys = [_as_object(frame, node, item) for item in items]
    is_tuple = isinstance(node.slice, ast.Tuple) or len(keys) != 1
    return Group(tuple(keys)) if is_tuple else keys[0]


def _as_object(frame: Frame, node: ast.AST, item: Item) -> Value:
    from ..indexing.views import Slice

    if not isinstance(item, Slice):
        return item
    bounds = [Static(None) if b is None else b for b in (item.start, item.stop, item.step)]
    if not all(isinstance(b, Static) for b in bounds):
        return Group(tuple(bounds), slice, ("start", "stop", "step"))
    return Static(slice(*[b.value for b in bounds]))  # pyright: ignore


def _unpacked(group: Group) -> list[Item]:
    return [_as_slice(value) for value in group.items]


def _item(frame: Frame, node: ast.expr) -> Item:
    from ..indexing.views import Slice

    if not isinstance(node, ast.Slice):
        return _as_slice(evaluate(frame, node))
    bounds = [None if b is None else evaluate(frame, b) for b in (node.lower, node.upper, node.step)]
    return Slice(*bounds)


def _as_slice(value: Value) -> Item:
    from ..indexing.views import Slice

    if isinstance(value, Static) and isinstance(value.value, slice):
        s = value.value
        return Slice(Static(s.start), Static(s.stop), Static(s.step))
    if isinstance(value, Group) and value.kind is slice:
        return Slice(*value.items)
    return value
