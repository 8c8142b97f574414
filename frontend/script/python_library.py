"""Functions of `operator` and `functools`, and methods of lists, tuples and dicts that compare their items.

operator.add(x, y)                    x + y
functools.reduce(operator.mul, xs)    a loop in code
functools.partial(f, x)               the call of f with x before what it is called with
xs.sort(key=f), xs.index(3)           decided where the items are known, else sorted by exchanging pairs
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..control.sequences import listed
from ..frame.frame import Frame
from ..frame.objects import METHODS, POPPED, change, constant_object, current, stored
from ..frame.outside import entries, items
from ..frame.recursion import call, evaluate
from ..interface.captured import Step
from ..interface.errors import DTypeError, ShapeError
from ..values import arithmetic as arith
from ..values.checks import check
from ..values.values import NOTHING, Chosen, Group, Static, Value, describe, is_array
from . import choices
from .chosen import by_option
from .comparisons import compare_pair
from .conditions import bool_, negation
from .operators import combined, unary_value

_FALSE = Static(False)
_ZERO = Static(0)
_LAST = Static(-1)


# ---- operator ---------------------------------------------------------------------------------------

_BINARY = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor, "lshift": ast.LShift,
    "rshift": ast.RShift, "matmul": ast.MatMult, "concat": ast.Add,
}  # fmt: skip
_COMPARED = {
    "eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "is_": ast.Is,
    "is_not": ast.IsNot,
}  # fmt: skip
_UNARY = {"neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "inv": ast.Invert}


def _binary(op: Any) -> Callable[..., Value]:
    def binary(frame: Frame, node: ast.Call, a: Value, b: Value, /) -> Value:
        return combined(frame, node, op(), a, b)

    return binary


def _in_place(op: Any) -> Callable[..., Value]:
    def in_place(frame: Frame, node: ast.Call, a: Value, b: Value, /) -> Value:
        if is_array(a):
            frame.fail(node, "operators in place of operator, on arrays, are not supported", "write x += y")
        if not isinstance(a, Group) or a.kind is not list:
            return combined(frame, node, op(), a, b)
        if op is not ast.Add:
            frame.fail(node, "only iadd is supported of lists", "make a new list")
        owner = stored(frame, a)
        assert isinstance(owner, Group)
        change(frame, node, owner, (*owner.items, *listed(frame, node, b)))
        return current(frame, owner)

    return in_place


def _comparison(op: Any) -> Callable[..., Value]:
    def comparison(frame: Frame, node: ast.Call, a: Value, b: Value, /) -> Value:
        return compare_pair(frame, node, op(), a, b)

    return comparison


def _unary(op: Any) -> Callable[..., Value]:
    def unary(frame: Frame, node: ast.Call, a: Value, /) -> Value:
        return unary_value(frame, node, op(), a)

    return unary


def _contains(frame: Frame, node: ast.Call, a: Value, b: Value, /) -> Value:
    return compare_pair(frame, node, ast.In(), b, a)


def _not(frame: Frame, node: ast.Call, a: Value, /) -> Value:
    return negation(frame, node, bool_(frame, node, a))


def _truth(frame: Frame, node: ast.Call, a: Value, /) -> Value:
    return bool_(frame, node, a)


def _getitem(frame: Frame, node: ast.Call, a: Value, b: Value, /) -> Value:
    return _with_names(frame, node, [a, b], lambda names: ast.Subscript(names[0], names[1], ast.Load()))


def _with_names(
    frame: Frame, node: ast.Call, values: Sequence[Value], make: Callable[[list[ast.expr]], ast.expr]
) -> Value:
    """The value of an expression of values, which have names meanwhile."""
    names = [frame.graph.new_name(".operand") for _ in values]
    frame.variables.update(zip(names, values, strict=True))
    made = make([ast.Name(name, ast.Load()) for name in names])
    for one in ast.walk(made):
        if isinstance(one, ast.expr):
            ast.copy_location(one, node)
    try:
        return evaluate(frame, made)
    finally:
        for name in names:
            frame.variables.pop(name, None)


def _index(frame: Frame, node: ast.Call, a: Value, /) -> Value:
    if is_array(a) or (isinstance(a, Static) and not isinstance(a.raw, int)):
        frame.fail(node, f"{describe(a)} cannot be interpreted as an integer", None, DTypeError)
    return a


def _getter(frame: Frame, node: ast.Call, getter: Any, args: list[Value]) -> Value:
    """`operator.itemgetter(...)(x)`, `attrgetter`, `methodcaller`."""
    if len(args) != 1:
        frame.fail(node, f"{type(getter).__name__} expected 1 argument, got {len(args)}", None, DTypeError)
    made, parts = getter.__reduce__()[:2]
    if isinstance(getter, operator.methodcaller):
        name, *given = parts
        keywords: dict[str, Any] = {}
        if isinstance(made, functools.partial):
            keywords, name = made.keywords, made.args[0]
            given = list(parts)
        method = _with_names(frame, node, args, lambda names: ast.Attribute(names[0], name, ast.Load()))
        return call(
            frame, node, method, list(map(Static, given)), {k: Static(v) for k, v in keywords.items()}
        )
    found = []
    for part in parts:
        if isinstance(getter, operator.itemgetter):
            found.append(_getitem(frame, node, args[0], Static(part)))
            continue
        value = args[0]
        for name in part.split("."):
            value = _with_names(
                frame, node, [value], lambda names, name=name: ast.Attribute(names[0], name, ast.Load())
            )
        found.append(value)
    return found[0] if len(found) == 1 else Group(tuple(found))


_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


# ---- functools --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Partial:
    """What functools.partial made in compiled code."""

    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


def _partial(frame: Frame, node: ast.Call, function: Value, /, *args: Value, **kwargs: Value) -> Value:
    return Static(Partial(function, args, kwargs))


def _reduce(
    frame: Frame, node: ast.Call, function: Value, iterable: Value, start: Value | None = None, /
) -> Value:
    values = list(listed(frame, node, iterable))
    if start is not None:
        values.insert(0, start)
    if not values:
        frame.fail(node, "reduce() of empty iterable with no initial value", None, DTypeError)
    total = values[0]
    for item in values[1:]:
        total = call(frame, node, function, [total, item], {})
    return total


_PARTS = ("func", "args", "keywords")
"""The attributes of a functools.partial; all of them can change."""


def library_call(
    frame: Frame, node: ast.Call, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of an object that `operator` or `functools` made; None for others."""
    if isinstance(target, Partial):
        return call(frame, node, target.function, [*target.args, *args], {**target.kwargs, **kwargs})
    if type(target) is functools.partial:
        function, own, named = [frame.captured.read(target, Step.ATTRIBUTE, name) for name in _PARTS]
        return call(frame, node, Static(function), [*items(own), *args], {**dict(entries(named)), **kwargs})
    if isinstance(target, _GETTERS) and not kwargs:
        return _getter(frame, node, target, args)
    return None


LIBRARY: dict[Any, Callable[..., Value]] = {
    **{getattr(operator, name): _binary(op) for name, op in _BINARY.items()},
    **{getattr(operator, f"i{name.rstrip('_')}"): _in_place(op) for name, op in _BINARY.items()},
    **{getattr(operator, name): _comparison(op) for name, op in _COMPARED.items()},
    **{getattr(operator, name): _unary(op) for name, op in _UNARY.items()},
    operator.contains: _contains,
    operator.not_: _not,
    operator.truth: _truth,
    operator.getitem: _getitem,
    operator.index: _index,
    functools.partial: _partial,
    functools.reduce: _reduce,
}
"""Called with the frame, the call, and the arguments as values."""


# ---- methods of lists, tuples and dicts -------------------------------------------------------------


def sorted_items(
    frame: Frame, node: Any, items: Sequence[Value], key: Value = NOTHING, reverse: Value = _FALSE
) -> list[Value]:
    """What `sorted` gives: items in the order of their keys, equal ones in the order that they had."""
    down = bool(arith.require_static(frame.graph, reverse, "reverse"))
    is_plain = isinstance(key, Static) and key.value is None
    keys = [item if is_plain else call(frame, node, key, [item], {}) for item in items]
    if not all(map(_is_known, keys)):
        firsts = [k.items[0] if isinstance(k, Group) and k.items else k for k in keys]
        known = [first.value for first in firsts if isinstance(first, Static)]
        if not len(known) == len(set(map(repr, known))) == len(items):
            return choices.in_order(frame, node, keys, items, down)
        keys = firsts
    plain = [constant_object(frame, node, k) for k in keys]
    frame.at(node)
    arith.refuse_own_code(frame.graph, plain)
    try:
        order = sorted(range(len(items)), key=lambda k: plain[k], reverse=down)
    except TypeError as error:
        frame.fail(node, str(error), None, DTypeError)
    return [items[k] for k in order]


def _is_known(value: Value) -> bool:
    return isinstance(value, Static) or (isinstance(value, Group) and all(map(_is_known, value.items)))


def _sort(
    frame: Frame, node: ast.AST, owner: Group, *, key: Value = NOTHING, reverse: Value = _FALSE
) -> Value:
    change(frame, node, owner, sorted_items(frame, node, owner.items, key, reverse))
    return Static(None)


def _place(
    frame: Frame, node: Any, owner: Group, items: Sequence[Value], wanted: Value, missing: str
) -> Value:
    """Where a value is first. Raises ValueError where it is not among the items."""
    if len(items) > choices.MOST_SELECTED and not all(map(_is_known, (*items, wanted))):
        frame.fail(
            node,
            f"which of {len(items)} items of {describe(owner)} is equal to {describe(wanted)} is known at run time only, "
            f"which is supported of at most {choices.MOST_SELECTED}",
            "search an array: np.argmax(a == x), or fill one in a loop",
        )
    place = choices.place_of(frame, node, items, wanted)
    if isinstance(place, Static) and place.value < 0:
        frame.fail(node, missing, None, ShapeError)
    if not isinstance(place, Static):
        frame.at(node)
        holds = compare_pair(frame, node, ast.GtE(), place, _ZERO)
        check(frame.graph, bool_(frame, node, holds), "ValueError", missing)
    return place


def _index_of(
    frame: Frame, node: Any, owner: Group, value: Value, start: Value = _ZERO, stop: Value = NOTHING
) -> Value:
    bounds = [arith.require_static(frame.graph, b, "a bound of the search") for b in (start, stop)]
    first, last, _ = slice(*bounds).indices(len(owner.items))
    shown = repr(value.value) if isinstance(value, Static) else "the value"
    missing = f"{shown} is not in list" if owner.kind is list else "tuple.index(x): x not in tuple"
    place = _place(frame, node, owner, owner.items[first:last], value, missing)
    return place if not first else arith.operate(frame.graph, "add", place, Static(first))


def _remove(frame: Frame, node: Any, owner: Group, value: Value) -> Value:
    place = _place(frame, node, owner, owner.items, value, "list.remove(x): x not in list")
    if isinstance(place, Static):
        left = [item for n, item in enumerate(owner.items) if n != place.value]
    else:
        left = choices.without_item(frame, node, owner.items, place)
    change(frame, node, owner, left)
    return Static(None)


_INSERT, _POP = METHODS[list]["insert"], METHODS[list]["pop"]


def _insert(frame: Frame, node: Any, owner: Group, position: Value, item: Value) -> Value:
    if not choices.is_run_time(position):
        return _INSERT(frame, node, owner, position, item)
    change(frame, node, owner, choices.with_item(frame, node, owner.items, position, item))
    return Static(None)


def _pop(frame: Frame, node: Any, owner: Group, position: Value = _LAST) -> Value:
    growing = frame.graph.growing is not None and owner.ref in frame.graph.growing
    if growing or not owner.items or not choices.is_run_time(position):
        return _POP(frame, node, owner, position)
    item, left = choices.popped(frame, node, owner, position, POPPED)
    change(frame, node, owner, left)
    return item


def _count(frame: Frame, node: Any, owner: Group, value: Value) -> Value:
    total: Value = Static(0)
    for item in owner.items:
        found = bool_(frame, node, compare_pair(frame, node, ast.Eq(), item, value))
        total = combined(frame, node, ast.Add(), total, found)
    return total


def _popitem(frame: Frame, node: Any, owner: Group) -> Value:
    assert owner.names is not None
    if not owner.names:
        frame.fail_as(node, KeyError("popitem(): dictionary is empty"))
    last = Group((Static(owner.names[-1]), owner.items[-1]))
    change(frame, node, owner, owner.items[:-1], owner.names[:-1])
    return last


_GET = METHODS[dict]["get"]


def _get(frame: Frame, node: Any, owner: Group, key: Value, default: Value = NOTHING) -> Value:
    """`d.get(key)`, also at a string that the run chooses."""
    if not isinstance(key, Chosen):
        return _GET(frame, node, owner, key, default)
    return by_option(frame, node, key, lambda one: _GET(frame, node, owner, one, default))


METHODS[dict].update(get=_get)
METHODS[list].update(sort=_sort, index=_index_of, remove=_remove, count=_count, insert=_insert, pop=_pop)
METHODS[tuple].update(index=_index_of, count=_count)
METHODS[dict].update(popitem=_popitem)
