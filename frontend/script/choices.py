"""One of several values, of which the run says which: numbers are selected, other values computed on the path that is taken.

sorted([a, b, c], key=abs)     numbers are exchanged in pairs, (key, item) together
max([a, b], key=f)             the later one where its key is larger
xs[i], xs[i] = v               of a list of numbers: selected by i == 0, i == 1, ...
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..control.same_values import is_same
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.errors import IndexRangeError
from ..numpy_api.elements.selection import where
from ..values import arithmetic as arith
from ..values.checks import check
from ..values.promotion import same_operand, weak_result
from ..values.values import (
    Array,
    Chosen,
    Group,
    Index,
    Lazy,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)
from .comparisons import compare_pair
from .conditions import bool_, either, every, some

_TRUE = Static(True)

MOST_COMPARED = 16
"""Maximum number of items that are sorted by comparing pairs."""

MOST_SELECTED = 64
"""Maximum number of items of a list that an index known at run time selects from."""


def choose(frame: Frame, node: Any, condition: Value, then: Value, other: Value) -> Value:
    """`then if condition else other`, where computing both has been harmless."""
    if isinstance(condition, Static):
        return then if condition.value else other
    if is_same(then, other):
        return then
    if is_number(then) and is_number(other) and not is_array(then) and not is_array(other):
        chosen = where(frame.graph, condition, then, other)
        kinds = [arith.number_kind(frame.graph, v) for v in (then, other)]
        weak = [k for k in kinds if isinstance(k, type)]
        if len(weak) == len(kinds) and (same_operand(*kinds) or weak_result(tuple(weak))):
            return arith.as_weak(chosen, weak_result(tuple(weak)), None)
        return chosen
    if isinstance(then, Group) and isinstance(other, Group) and _are_alike(then, other):
        pairs = zip(then.items, other.items, strict=True)
        items = tuple([choose(frame, node, condition, x, y) for x, y in pairs])
        return Group(items, then.kind, then.names)
    return either(frame, node, condition, lambda: then, lambda: other)


def _are_alike(a: Group, b: Group) -> bool:
    """Whether two tuples have items of the same names."""
    return a.kind is b.kind and not a.is_mutable and a.names == b.names and len(a.items) == len(b.items)


# ---- sorting ----------------------------------------------------------------------------------------


def in_order(
    frame: Frame, node: Any, keys: Sequence[Value], items: Sequence[Value], down: bool
) -> list[Value]:
    """The items by their keys, which are known at run time: stable, as `sorted` is."""
    if len(items) > MOST_COMPARED:
        frame.fail(
            node,
            f"sorting {len(items)} values that are known at run time is not supported: at most {MOST_COMPARED}",
            "put them into an array: np.sort(np.array(values)), np.argsort",
        )
    pairs = list(zip(keys, items, strict=True))
    op = ast.Gt() if down else ast.Lt()
    for end in range(len(pairs) - 1, 0, -1):
        for k in range(end):
            (a, x), (b, y) = pairs[k], pairs[k + 1]
            swaps = bool_(frame, node, compare_pair(frame, node, op, b, a))
            same = a is x and b is y
            first = choose(frame, node, swaps, b, a)
            second = choose(frame, node, swaps, a, b)
            pairs[k] = (first, first if same else choose(frame, node, swaps, y, x))
            pairs[k + 1] = (second, second if same else choose(frame, node, swaps, x, y))
    return [item for _, item in pairs]


def extreme(frame: Frame, node: Any, function: Any, items: Sequence[Value], key: Value | None) -> Value:
    """`max(items, key=key)`, `min(...)`: the first of those that are equal."""
    op = ast.Gt() if function is max else ast.Lt()
    best: Value | None = None
    best_key: Value | None = None
    for item in items:
        its = item if key is None else call(frame, node, key, [item], {})
        if best is None or best_key is None:
            best, best_key = item, its
            continue
        better = bool_(frame, node, compare_pair(frame, node, op, its, best_key))
        best = choose(frame, node, better, item, best)
        best_key = choose(frame, node, better, its, best_key)
    assert best is not None
    return best


# ---- items at an index that is known at run time ----------------------------------------------------


def is_run_time(index: Value) -> bool:
    """Whether it is an integer that only the run knows, and that a program cannot be compiled for."""
    if isinstance(index, Index):
        return not index.affine.arguments() and not index.affine.is_of_extents()
    if not isinstance(index, Tensor | Scalar | Array | Lazy) or extents_of(index):
        return False
    return not (isinstance(index, Tensor) and index.arguments)


def can_be_selected(owner: Group) -> bool:
    """Whether all items are numbers or strings, of which one can be selected."""
    return bool(owner.items) and all(
        (is_number(item) and not extents_of(item)) or _is_text(item) for item in owner.items
    )


def at_index(frame: Frame, node: Any, owner: Group, index: Value, rest: Sequence[Value] = ()) -> Value:
    """`owner[index]`, and of that the item `rest`, of nested lists of numbers."""
    _check_index(frame, node, owner, index)
    found: Value | None = None
    for k in reversed(range(len(owner.items))):
        item = owner.items[k]
        if rest:
            item = nested_item(frame, node, item, rest)
        if (
            not is_number(item)
            and not (isinstance(item, Group) and not item.is_mutable)
            and not _is_text(item)
        ):
            frame.fail(
                node,
                f"{describe(item)} at an index known at run time only is not supported",
                "index a number in it at once, xs[i][j]; or an array (np.stack of the items)",
            )
        is_here = _is_at(frame, node, index, k, len(owner.items))
        found = item if found is None else choose(frame, node, is_here, item, found)
    assert found is not None
    return found


def _is_text(value: Value) -> bool:
    return isinstance(value, Chosen) or (isinstance(value, Static) and type(value.raw) is str)


def nested_item(frame: Frame, node: Any, owner: Value, indices: Sequence[Value]) -> Value:
    """`owner[i][j]...` of lists and tuples."""
    for k, index in enumerate(indices):
        if not isinstance(owner, Group) or owner.kind not in (list, tuple):
            frame.fail(node, f"indexing {describe(owner)} by a number known at run time is not supported")
        if is_run_time(index):
            return at_index(frame, node, owner, index, indices[k + 1 :])
        owner = owner.items[_position(frame, node, owner, index)]
    return owner


def _position(frame: Frame, node: Any, owner: Group, index: Value) -> int:
    number = arith.require_static(frame.graph, index, "the index")
    try:
        return range(len(owner.items))[number]
    except IndexError:
        frame.fail(node, f"{owner.kind.__name__} index out of range", None, IndexRangeError)


def _check_index(frame: Frame, node: Any, owner: Group, index: Value) -> None:
    count = len(owner.items)
    if not count:
        frame.fail(node, f"{owner.kind.__name__} index out of range", None, IndexRangeError)
    if count > MOST_SELECTED:
        frame.fail(
            node,
            f"an index known at run time into a list of {count} items is not supported: at most {MOST_SELECTED}",
            "index an array: np.array(items)",
        )
    above = compare_pair(frame, node, ast.GtE(), index, Static(-count))
    below = compare_pair(frame, node, ast.Lt(), index, Static(count))
    inside = every(frame, node, [bool_(frame, node, above), bool_(frame, node, below)])
    if isinstance(inside, Static) and inside.value:
        return
    if frame.graph.boundscheck:
        check(frame.graph, inside, "IndexError", f"{owner.kind.__name__} index out of range")


def _is_at(frame: Frame, node: Any, index: Value, k: int, count: int) -> Value:
    """Whether an index, which may be negative, is that of item `k`."""
    sides = [compare_pair(frame, node, ast.Eq(), index, Static(n)) for n in (k, k - count)]
    return some(frame, node, [bool_(frame, node, side) for side in sides])


def set_at_index(
    frame: Frame,
    node: Any,
    owner: Value,
    indices: Sequence[Value],
    value: Value,
    change: Callable[[Group, list[Value]], None],
    condition: Value = _TRUE,
) -> None:
    """`owner[i][j] = value` of nested lists of numbers, where `condition` holds."""
    index, *rest = indices
    if not isinstance(owner, Group) or owner.kind is not list:
        frame.fail(
            node, f"assigning to an item of {describe(owner)} at an index known at run time is not supported"
        )
    if not is_run_time(index):
        places = [(_position(frame, node, owner, index), condition)]
    else:
        _check_index(frame, node, owner, index)
        count = len(owner.items)
        places = [
            (k, every(frame, node, [condition, _is_at(frame, node, index, k, count)])) for k in range(count)
        ]
    if rest:
        for k, holds in places:
            set_at_index(frame, node, owner.items[k], rest, value, change, holds)
        return
    items = list(owner.items)
    for k, holds in places:
        for one in (items[k], value):
            if not is_number(one) or is_array(one):
                what = f"an item that is {describe(one)}, at an index known at run time, is not supported"
                frame.fail(node, what, "use an array for numbers")
        items[k] = choose(frame, node, holds, value, items[k])
    change(owner, items)
