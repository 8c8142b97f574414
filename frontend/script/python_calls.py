"""Builtins that look at the structure of their arguments, or call functions of the program: sum, any, isinstance, ..."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ..control.sequences import listed, sequence
from ..control.truth import as_condition, truth
from ..frame.frame import Frame
from ..frame.instances import delete_attribute, has_attribute, replaced, set_attribute
from ..frame.objects import as_now, constant_object, current, entries_of, merge
from ..frame.outside import class_attribute, class_of, length
from ..frame.outside import has_attribute as has_attribute_outside
from ..frame.recursion import evaluate
from ..interface.errors import DTypeError, ShapeError
from ..interface.versioned import is_own
from ..numpy_api.elements.python_builtins import to_integer
from ..numpy_api.families import FUNCTIONS, METHODS
from ..numpy_api.invoke import invoke
from ..operations.own_call_values import OWN_CALLS
from ..operations.own_calls import traced_call
from ..values import arithmetic as arith
from ..values.values import (
    NOTHING,
    Array,
    Closure,
    Group,
    Index,
    Iteration,
    Lazy,
    Range,
    Static,
    Super,
    Tensor,
    Value,
    extents_of,
)
from . import choices
from .attributes import attribute_of
from .classes import type_of
from .conditions import bool_
from .folding import fold
from .iteration import ITERATORS, reduced
from .itertools_calls import ITERTOOLS
from .operators import combined
from .python_library import LIBRARY, sorted_items

_FALSE = Static(False)
_ZERO = Static(0)
_NO_ENTRIES = Group((), dict, ())
_NO_ITEMS = Group(())

SMALL = 8
"""Items of a sum that are added in code rather than in a loop."""


def reduction(frame: Frame, node: ast.Call, what: Any, first: Any) -> tuple[Value | None, list[Value]]:
    """`what` (sum, any or all) of a generator expression or of what is counted at run time, from `first` on, as a loop;
    else None, and the arguments, which are evaluated once."""
    given, rest = node.args[0], node.args[1:]
    # as in Python, the first iterable of a generator comes before the start, its items after it
    values = evaluate(frame, given.generators[0].iter if isinstance(given, ast.GeneratorExp) else given)
    start = [evaluate(frame, one) for one in rest]
    begin = start[0] if start else Static(first)
    if isinstance(given, ast.GeneratorExp):
        if not isinstance(begin, Group):
            return reduced(frame, node, given, what, begin, values), []
        values = _items_of(frame, given, values)
    loop = None
    if what is builtins.sum and not isinstance(begin, Group):
        loop = _sum_of_many(frame, node, as_now(frame, values), begin)
    return loop, [values, *start]


def _items_of(frame: Frame, generator: ast.GeneratorExp, values: Value) -> Value:
    """The items of a generator expression whose first iterable has these values."""
    name = frame.graph.new_name(".items")
    first, *others = generator.generators
    source = ast.copy_location(ast.Name(name, ast.Load()), first.iter)
    named = ast.comprehension(first.target, source, first.ifs, first.is_async)
    frame.variables[name] = values
    try:
        return evaluate(
            frame, ast.copy_location(ast.GeneratorExp(generator.elt, [named, *others]), generator)
        )
    finally:
        frame.variables.pop(name, None)


def _sum_of_many(frame: Frame, node: ast.Call, values: Value, start: Value) -> Value | None:
    """The sum of more items than are added one by one, as a loop."""
    if isinstance(values, Group | Static):
        return None
    items = sequence(frame, node, values)
    if items.unrolled or items.count.known in range(SMALL + 1):
        return None
    name = frame.graph.new_name(".items")
    frame.variables[name] = values
    item, made = ast.Name(".item", ast.Load()), ast.Name(name, ast.Load())
    target = ast.comprehension(ast.Name(".item", ast.Store()), made, [], 0)
    try:
        return reduced(frame, node, ast.GeneratorExp(item, [target]), builtins.sum, start, values)
    finally:
        frame.variables.pop(name, None)


def _sum(frame: Frame, node: ast.Call, iterable: Value, start: Value = _ZERO) -> Value:
    total = start
    for item in listed(frame, node, iterable):
        total = combined(frame, node, ast.Add(), total, item)
    return total


def _any(frame: Frame, node: ast.Call, iterable: Value) -> Value:
    return _logical(frame, node, iterable, np.logical_or, False)


def _all(frame: Frame, node: ast.Call, iterable: Value) -> Value:
    return _logical(frame, node, iterable, np.logical_and, True)


def _logical(frame: Frame, node: ast.Call, iterable: Value, ufunc: np.ufunc, start: bool) -> Value:
    if isinstance(iterable, Array | Lazy | Tensor) and len(extents_of(iterable)) == 1:
        whole = METHODS["all" if start else "any"](frame.graph, iterable)
        return FUNCTIONS[builtins.bool](frame.graph, whole)
    result: Value = Static(start)
    for item in listed(frame, node, iterable):
        if isinstance(item, Static | Group):
            if truth(frame, node, item) != start and isinstance(result, Static):
                return Static(not start)
            item = Static(truth(frame, node, item))
        condition = as_condition(frame, node, item)
        result = (
            condition if isinstance(result, Static) else arith.apply(frame.graph, ufunc, result, condition)
        )
    if isinstance(result, Static):
        return Static(bool(result.value))
    return FUNCTIONS[builtins.bool](frame.graph, result)


def _list(frame: Frame, node: ast.Call, iterable: Value = _NO_ITEMS) -> Value:
    return Group(listed(frame, node, iterable), list)


def _tuple(frame: Frame, node: ast.Call, iterable: Value = _NO_ITEMS) -> Value:
    return Group(listed(frame, node, iterable), tuple)


def _dict(frame: Frame, node: ast.Call, entries: Value = _NO_ENTRIES, **more: Value) -> Value:
    entries = entries_of(frame, node, entries)
    return merge(frame, node, [entries, Group(tuple(more.values()), dict, tuple(more))])


def _sorted(
    frame: Frame, node: ast.Call, iterable: Value, /, *, key: Value = NOTHING, reverse: Value = _FALSE
) -> Value:
    return Group(tuple(sorted_items(frame, node, listed(frame, node, iterable), key, reverse)), list)


def _isinstance(frame: Frame, node: ast.Call, value: Value, classes: Value) -> Value:
    wanted = constant_object(frame, node, classes)
    for one in wanted if isinstance(wanted, tuple) else (wanted,):
        check = class_attribute(type(one), "__instancecheck__")
        if isinstance(check, FunctionType) and not is_own(check):
            frame.fail(node, f"{one!r} says itself what its objects are, by code which is not compiled")
    try:
        if isinstance(value, Static):
            class_of(value.raw)
            return Static(isinstance(value.raw, wanted))
        return Static(issubclass(type_of(frame, node, value), wanted))
    except TypeError as error:
        frame.fail(node, str(error), None, DTypeError)


def _type(frame: Frame, node: ast.Call, value: Value) -> Value:
    return Static(type_of(frame, node, value))


def _attribute(frame: Frame, node: ast.Call, owner: Value, name: Value) -> Value:
    text = arith.require_static(frame.graph, name, "the name of an attribute")
    access = ast.copy_location(ast.Attribute(node.args[0], text, ast.Load()), node)
    return attribute_of(frame, access, owner)


def _has(frame: Frame, node: ast.AST, owner: Value, name: str) -> bool:
    from ..numpy_api.elements.attributes import ATTRIBUTES

    if isinstance(owner, Static):
        return has_attribute_outside(frame, node, owner.raw, name)
    if isinstance(owner, Group):
        return has_attribute(frame, node, owner, name)
    return name in ATTRIBUTES or name in METHODS or hasattr(type_of(frame, node, owner), name)


def _hasattr(frame: Frame, node: ast.Call, owner: Value, name: Value) -> Value:
    text = arith.require_static(frame.graph, name, "the name of an attribute")
    return Static(_has(frame, node, owner, text))


def _getattr(frame: Frame, node: ast.Call, owner: Value, name: Value, default: Value | None = None) -> Value:
    text = arith.require_static(frame.graph, name, "the name of an attribute")
    if default is not None and not _has(frame, node, owner, text):
        return default
    return _attribute(frame, node, owner, name)


def _setattr(frame: Frame, node: ast.Call, owner: Value, name: Value, value: Value) -> Value:
    text = arith.require_static(frame.graph, name, "the name of an attribute")
    set_attribute(frame, node, owner, text, value)
    return Static(None)


def _delattr(frame: Frame, node: ast.Call, owner: Value, name: Value) -> Value:
    text = arith.require_static(frame.graph, name, "the name of an attribute")
    delete_attribute(frame, node, owner, text)
    return Static(None)


def _super(frame: Frame, node: ast.Call, after: Value | None = None, owner: Value | None = None) -> Value:
    """`super()`: the class that the method was defined in is in a cell, the object is the first parameter."""
    if after is not None and owner is not None:
        return Super(owner, arith.require_static(frame.graph, after, "the class"))
    home: Frame = frame
    while home.home is not None:
        home = home.home
    parameters = home.source.node.args
    first = next(iter((*parameters.posonlyargs, *parameters.args)), None)
    try:
        kind = home.source.lookup("__class__")
    except (KeyError, ValueError):
        kind = None
    if kind is None or first is None or first.arg not in home.variables:
        frame.fail(node, "super(): no arguments", "call it in a method", DTypeError)
    return Super(current(frame, home.variables[first.arg]), kind)


def _iter(frame: Frame, node: ast.Call, iterable: Value) -> Value:
    """`iter(xs)` as what `__iter__` returns."""
    if frame.source.node.name != "__iter__":
        hint = "loop over the items, or index a list of them"
        frame.fail(
            node, "iter is not supported in compiled code: what it gives depends on the calls before it", hint
        )
    return replace(sequence(frame, node, iterable), once=True)


def _len(frame: Frame, node: ast.Call, value: Value) -> Value:
    if isinstance(value, Static) and isinstance(value.raw, list | dict):
        return Static(length(value.raw))
    if isinstance(value, Static):
        return fold(frame, node, builtins.len, [value], {})
    return invoke(frame.graph, "len", FUNCTIONS[builtins.len], [value], {})


def _callable(frame: Frame, node: ast.Call, value: Value) -> Value:
    return Static(isinstance(value, Closure) or (isinstance(value, Static) and callable(value.raw)))


def _pow(frame: Frame, node: ast.Call, base: Value, exp: Value, mod: Value = NOTHING) -> Value:
    if not (isinstance(mod, Static) and mod.value is None):
        numbers = [
            arith.require_static(frame.graph, v, "a number of pow with a modulus") for v in (base, exp, mod)
        ]
        return Static(pow(*numbers))
    return arith.operate(frame.graph, "power", base, exp)


def _divmod(frame: Frame, node: ast.Call, a: Value, b: Value) -> Value:
    return Group(tuple([arith.operate(frame.graph, name, a, b) for name in ("floor_divide", "remainder")]))


def _round(frame: Frame, node: ast.Call, number: Value, ndigits: Value = NOTHING) -> Value:
    """A number without digits: the nearest integer, halves to even."""
    digits = arith.require_static(frame.graph, ndigits, "the number of digits")
    if isinstance(number, Static):
        frame.at(node)
        arith.refuse_own_code(frame.graph, [number.value])
        return Static(round(number.value, digits))
    if type_of(frame, node, number) is np.ndarray:
        frame.fail(node, "type numpy.ndarray doesn't define __round__ method", "use np.round", DTypeError)
    kind = arith.number_kind(frame.graph, number)
    if digits is not None and isinstance(kind, np.dtype):
        return FUNCTIONS[np.round](frame.graph, number, ndigits)
    if digits is not None:
        frame.fail(
            node,
            "round to digits of a Python number known at run time is not supported",
            "np.round(x, digits) scales and rounds; Python's decimal digits may differ from it in the last place",
        )
    if isinstance(number, Index):
        return number
    if kind in (int, bool) or (isinstance(kind, np.dtype) and kind.kind in "iub"):
        return FUNCTIONS[builtins.int](frame.graph, number)
    whole = arith.apply(frame.graph, np.rint, number)
    frame.at(node)
    return to_integer(frame.graph, whole)


def _replace(frame: Frame, node: ast.Call, owner: Value, /, **changes: Value) -> Value:
    return replaced(frame, node, owner, changes)


def _extreme(function: Any) -> Callable[..., Value]:
    def extreme(
        frame: Frame, node: ast.Call, *values: Value, key: Value = NOTHING, default: Value | None = None
    ) -> Value:
        if not values:
            frame.fail(node, f"{function.__name__} expected at least 1 argument, got 0", None, DTypeError)
        is_plain = isinstance(key, Static) and key.value is None
        if len(values) == 1 and (not is_plain or _is_listed(values[0])):
            values = listed(frame, node, values[0])
            if not values and default is not None:
                return default
            if not values:
                frame.fail(node, f"{function.__name__}() arg is an empty sequence", None, ShapeError)
            if len(values) == 1:
                return values[0]
        known = [v.value for v in values if isinstance(v, Static)]
        if is_plain and len(known) == len(values):
            frame.at(node)
            arith.refuse_own_code(frame.graph, known)
            return Static(function(known if len(known) != 1 else known[0]))
        if not is_plain or any(isinstance(v, Group) for v in values):
            return choices.extreme(frame, node, function, values, None if is_plain else key)
        return FUNCTIONS[function](frame.graph, *values)

    return extreme


def _is_listed(value: Value) -> bool:
    """Whether the items of a value are compared one by one: of an array, NumPy's function finds the largest."""
    return isinstance(value, Group | Iteration | Range) or (
        isinstance(value, Static) and isinstance(value.raw, tuple | list | dict | set | frozenset)
    )


def _traced(frame: Frame, node: ast.Call, function: Value, *args: Value, **kwargs: Value) -> Value:
    from .tracing import run

    return run(frame, node, function, *args, **kwargs)


PYTHON: dict[Any, Callable[..., Value]] = {
    **ITERATORS,
    **ITERTOOLS,
    **OWN_CALLS,
    **LIBRARY,
    builtins.bool: bool_,
    builtins.sum: _sum,
    builtins.any: _any,
    builtins.all: _all,
    builtins.list: _list,
    builtins.tuple: _tuple,
    builtins.dict: _dict,
    builtins.sorted: _sorted,
    builtins.isinstance: _isinstance,
    builtins.type: _type,
    builtins.hasattr: _hasattr,
    builtins.getattr: _getattr,
    builtins.callable: _callable,
    builtins.setattr: _setattr,
    builtins.delattr: _delattr,
    builtins.super: _super,
    builtins.iter: _iter,
    builtins.len: _len,
    builtins.pow: _pow,
    builtins.divmod: _divmod,
    builtins.round: _round,
    builtins.max: _extreme(builtins.max),
    builtins.min: _extreme(builtins.min),
    dataclasses.replace: _replace,
    traced_call: _traced,
}
"""Called with the frame, the call, and the arguments as values."""

__all__ = ["PYTHON", "reduction"]
