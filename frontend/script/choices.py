"""One of several values, of which the run says which: numbers are selected, other values computed on the path that is taken.

sorted([a, b, c], key=abs)     numbers are exchanged in pairs, (key, item) together
max([a, b], key=f)             the later one where its key is larger
xs[i], xs[i] = v               of a list of numbers: selected by i == 0, i == 1, ...
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ..control.chosen_texts import are_texts, options_of, select
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
    if are_texts([then, other]):
        return select(frame, condition, then, other)
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
        given = index.affine.arguments() and arith.scalar_arguments([index])
        return not given and not index.affine.is_of_extents()
    if not isinstance(index, Tensor | Scalar | Array | Lazy) or extents_of(index):
        return False
    return not (isinstance(index, Tensor) and index.arguments)


def can_be_selected(owner: Group) -> bool:
    """Whether all items are numbers or strings, of which one can be selected."""
    return bool(owner.items) and all(
        (is_number(item) and not extents_of(item)) or bool(options_of(item)) for item in owner.items
    )


def at_index(
    frame: Frame,
    node: Any,
    owner: Group,
    index: Value,
    rest: Sequence[Value] = (),
    message: str | None = None,
) -> Value:
    """`owner[index]`, and of that the item `rest`, of nested lists of numbers."""
    _check_index(frame, node, owner, index, message)
    found: Value | None = None
    for k in reversed(range(len(owner.items))):
        item = owner.items[k]
        if rest:
            item = nested_item(frame, node, item, rest)
        if (
            not is_number(item)
            and not (isinstance(item, Group) and not item.is_mutable)
            and not options_of(item)
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


def nested_item(
    frame: Frame, node: Any, owner: Value, indices: Sequence[Value], message: str | None = None
) -> Value:
    """`owner[i][j]...` of lists and tuples; `message` says that the last index is outside, where it is known at run time."""
    for k, index in enumerate(indices):
        if not isinstance(owner, Group) or owner.kind not in (list, tuple):
            frame.fail(node, f"indexing {describe(owner)} by a number known at run time is not supported")
        if is_run_time(index):
            is_last = k + 1 == len(indices)
            return at_index(frame, node, owner, index, indices[k + 1 :], message=message if is_last else None)
        owner = owner.items[_position(frame, node, owner, index)]
    return owner


def _position(frame: Frame, node: Any, owner: Group, index: Value) -> int:
    number = arith.require_static(frame.graph, index, "the index")
    try:
        return range(len(owner.items))[number]
    except IndexError:
        frame.fail(node, f"{owner.kind.__name__} index out of range", None, IndexRangeError)


def _check_index(frame: Frame, node: Any, owner: Group, index: Value, message: str | None = None) -> None:
    count = len(owner.items)
    message = message or f"{owner.kind.__name__} index out of range"
    if not count:
        frame.fail(node, message, None, IndexRangeError)
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
        check(frame.graph, inside, "IndexError", message)


def _is_at(frame: Frame, node: Any, index: Value, k: int, count: int) -> Value:
    """Whether an index, which may be negative, is that of item `k`."""
    sides = [compare_pair(frame, node, ast.Eq(), index, Static(n)) for n in (k, k - count)]
    return some(frame, node, [bool_(frame, node, side) for side in sides])


# ---- lists of numbers that change at a place known at run time --------------------------------------


def place_of(frame: Frame, node: Any, items: Sequence[Value], wanted: Value) -> Value:
    """The number of the first item that is equal, known at run time; -1 where there is none."""
    place: Value = Static(-1)
    for k, item in reversed([*enumerate(items)]):
        holds = bool_(frame, node, compare_pair(frame, node, ast.Eq(), item, wanted))
        place = choose(frame, node, holds, Static(k), place)
    return place


def without_item(frame: Frame, node: Any, items: Sequence[Value], place: Value) -> list[Value]:
    """The items without the one at a place, which is counted from the start."""
    _require_movable(frame, node, items)
    return [
        choose(frame, node, _compared(frame, node, ast.LtE(), place, k), after, item)
        for k, (item, after) in enumerate(pairwise(items))
    ]


def with_item(frame: Frame, node: Any, items: Sequence[Value], place: Value, value: Value) -> list[Value]:
    """`items.insert(place, value)`: a place before the start or behind the end is the start or the end."""
    _require_movable(frame, node, [*items, value])
    place = _from_start(frame, node, place, len(items))
    found = []
    for k in range(len(items) + 1):
        here = value
        if k < len(items):
            here = choose(frame, node, _compared(frame, node, ast.Gt(), place, k), items[k], here)
        if k:
            here = choose(frame, node, _compared(frame, node, ast.Lt(), place, k), items[k - 1], here)
        found.append(here)
    return found


def popped(frame: Frame, node: Any, owner: Group, place: Value, message: str) -> tuple[Value, list[Value]]:
    """An item at a place known at run time, and the others. Raises IndexError with the message where there is none."""
    item = at_index(frame, node, owner, place, message=message)
    return item, without_item(frame, node, owner.items, _from_start(frame, node, place, len(owner.items)))


def _from_start(frame: Frame, node: Any, place: Value, count: int) -> Value:
    """A place that may be counted from the end."""
    from_end = arith.operate(frame.graph, "add", place, Static(count))
    return choose(frame, node, _compared(frame, node, ast.Lt(), place, 0), from_end, place)


def _compared(frame: Frame, node: Any, op: ast.cmpop, place: Value, k: int) -> Value:
    return bool_(frame, node, compare_pair(frame, node, op, place, Static(k)))


def _require_movable(frame: Frame, node: Any, items: Sequence[Value]) -> None:
    """Raise where an item can be no other one at run time: only numbers and strings can."""
    if len(items) > MOST_SELECTED:
        what = f"changing a list of {len(items)} items at a place known at run time is not supported: at most"
        frame.fail(node, f"{what} {MOST_SELECTED}", "keep the numbers in an array")
    for item in items:
        if not options_of(item) and (not is_number(item) or is_array(item)):
            what = f"moving {describe(item)} in a list to a place known at run time is not supported"
            frame.fail(node, what, "keep numbers in the list, or the items in an array")


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
