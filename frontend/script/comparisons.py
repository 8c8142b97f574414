"""Comparisons: of numbers and arrays; of tuples, lists and dicts whose items may be known at run time only; of objects.

(a, 1) == (b, n)       len alike, and a == b, and 1 == n
(a, 1) < (b, n)        a < b, or a == b and 1 < n
x in (1, n)            x == 1, or x == n
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ..control.sequences import listed
from ..control.truth import refuse_skipped
from ..frame.frame import Frame
from ..frame.instances import has_attributes, instance_attribute, is_record, special_method
from ..frame.objects import as_now, constant_object
from ..frame.outside import has_item
from ..frame.recursion import evaluate
from ..interface.errors import DTypeError
from ..interface.ordinary import is_generated
from ..values import arithmetic as arith
from ..values.values import Chosen, Group, Rows, Static, Value, describe, is_array
from . import special_methods
from .chosen import holds_for
from .classes import type_of
from .conditions import bool_, both, either, every, negation, some, without_effects
from .identity import identical
from .operators import as_group, is_plain_tuple, is_sequence, sequence_kind

_EQ = ast.Eq()
_METHODS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Eq: ("__eq__", "__eq__", "=="), ast.NotEq: ("__ne__", "__ne__", "!="), ast.Lt: ("__lt__", "__gt__", "<"),
    ast.LtE: ("__le__", "__ge__", "<="), ast.Gt: ("__gt__", "__lt__", ">"), ast.GtE: ("__ge__", "__le__", ">="),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}


def compare(frame: Frame, node: ast.Compare) -> Value:
    return _compare_from(frame, node, 0, evaluate(frame, node.left))


def _compare_from(frame: Frame, node: ast.Compare, k: int, left: Value) -> Value:
    """`left < b < c ...` from comparison `k` on: what follows one that does not hold is not computed."""
    right = evaluate(frame, node.comparators[k])
    frame.at(node)
    one = compare_pair(frame, node, node.ops[k], as_now(frame, left), right)
    if k == len(node.ops) - 1:
        return one

    def following() -> Value:
        return _compare_from(frame, node, k + 1, right)

    if isinstance(one, Static):
        return following() if one.value else one
    before = dict(frame.variables)
    rest = without_effects(frame, following)
    if rest is None:
        rest = either(frame, node, one, following, lambda: one)
        refuse_skipped(frame, node.comparators[k + 1], before)
        return rest
    refuse_skipped(frame, node.comparators[k + 1], before)
    frame.at(node)
    return both(frame, node, one, rest)


def compare_pair(frame: Frame, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Value:
    if isinstance(left, Chosen):
        return holds_for(frame, node, left, lambda one: compare_pair(frame, node, op, one, right))
    if isinstance(right, Chosen):
        return holds_for(frame, node, right, lambda one: compare_pair(frame, node, op, left, one))
    if isinstance(op, ast.Is | ast.IsNot):
        same = identical(frame, node, left, right)
        return same if isinstance(op, ast.Is) else negation(frame, node, same)
    if isinstance(op, ast.In | ast.NotIn):
        inside = _contains(frame, node, right, left)
        return inside if isinstance(op, ast.In) else negation(frame, node, inside)
    if (has_attributes(left) or has_attributes(right)) and not _are_tuples(left, right):
        return _compare_objects(frame, node, op, left, right)
    if isinstance(left, Group) or isinstance(right, Group):
        return _compare_groups(frame, node, op, left, right)
    return arith.operate(frame.graph, _COMPARE[type(op)], left, right)


def _contains(frame: Frame, node: Any, owner: Value, thing: Value) -> Value:
    """`thing in owner`, as Python's bool."""
    if isinstance(owner, Rows):
        from .list_searches import contains

        return contains(frame, node, owner, thing)
    if has_attributes(owner):
        made = special_methods.contains(frame, node, owner, thing)
        return is_among(frame, node, thing, listed(frame, node, owner)) if made is None else made
    if isinstance(owner, Group) and owner.kind is dict:
        owner = Group(tuple([Static(name) for name in owner.names or ()]))
    if isinstance(owner, Static) and isinstance(owner.raw, dict):
        return Static(has_item(owner.raw, constant_object(frame, node, thing)))
    if isinstance(owner, Group | Static) and not _are_known(owner, thing) and not _is_text(owner):
        return is_among(frame, node, thing, listed(frame, node, owner))
    sides = [constant_object(frame, node, one) for one in (thing, owner)]
    arith.refuse_own_code(frame.graph, sides, _SEARCH)
    return Static(sides[0] in sides[1])


_SEARCH = frozenset(("__contains__", "__iter__", "__getitem__", "__eq__"))


def _is_text(value: Value) -> bool:
    return isinstance(value, Static) and isinstance(value.raw, str | bytes | range)


def _are_known(*values: Value) -> bool:
    """Whether all of the values is known at compile time, and no object of a class is in them."""
    for value in values:
        if has_attributes(value) and not (isinstance(value, Group) and is_record(value.kind)):
            return False
        if not isinstance(value, Static) and not (isinstance(value, Group) and _are_known(*value.items)):
            return False
    return True


def _are_tuples(left: Value, right: Value) -> bool:
    """Whether objects of classes among the two are NamedTuples, which are compared as tuples."""
    return all(
        isinstance(value, Group) and is_plain_tuple(value.kind)
        for value in (left, right)
        if has_attributes(value)
    )


def _compare_groups(frame: Frame, node: Any, op: ast.cmpop, left: Value, right: Value) -> Value:
    """`left op right` of tuples, lists and dicts."""
    if _are_known(left, right):
        function = arith.PYTHON_OPERATORS[_COMPARE[type(op)]]
        return Static(function(constant_object(frame, node, left), constant_object(frame, node, right)))
    sides = [as_group(frame, node, v) if is_sequence(v) else v for v in (left, right)]
    kinds = [sequence_kind(v) if isinstance(v, Group) else None for v in sides]
    first, second = sides
    is_equality = isinstance(op, ast.Eq | ast.NotEq)
    if is_equality and (is_array(left) or is_array(right)):
        frame.fail(
            node,
            f"comparing {describe(left)} with {describe(right)} is not supported",
            "np.array_equal(a, b)",
        )
    if (
        kinds[0] is not kinds[1]
        or kinds[0] not in (tuple, list, dict)
        or (kinds[0] is dict and not is_equality)
    ):
        if is_equality:
            return Static(isinstance(op, ast.NotEq))
        frame.fail(node, f"{describe(left)} and {describe(right)} cannot be ordered", None, DTypeError)
    assert isinstance(first, Group) and isinstance(second, Group)
    if kinds[0] is dict:
        names = first.names or ()
        if set(names) != set(second.names or ()):
            return Static(isinstance(op, ast.NotEq))
        there = dict(zip(second.names or (), second.items, strict=True))
        return compare_items(frame, node, op, first.items, [there[name] for name in names])
    return compare_items(frame, node, op, first.items, second.items)


def compare_items(
    frame: Frame, node: Any, op: ast.cmpop, left: Sequence[Value], right: Sequence[Value]
) -> Value:
    """`left op right`, of sequences, as Python's bool."""
    if isinstance(op, ast.NotEq):
        return negation(frame, node, compare_items(frame, node, _EQ, left, right))
    if isinstance(op, ast.Eq):
        if len(left) != len(right):
            return Static(False)
        return every(frame, node, [_equal(frame, node, a, b) for a, b in zip(left, right, strict=True)])
    if not left or not right:
        return Static(arith.PYTHON_OPERATORS[_COMPARE[type(op)]](len(left), len(right)))
    # The first items that differ decide.
    same = _equal(frame, node, left[0], right[0])
    if isinstance(same, Static) and same.value:
        return compare_items(frame, node, op, left[1:], right[1:])
    first = bool_(frame, node, compare_pair(frame, node, op, left[0], right[0]))
    if isinstance(same, Static):
        return first
    rest = compare_items(frame, node, op, left[1:], right[1:])
    decided = every(frame, node, [negation(frame, node, same), first])
    return some(frame, node, [decided, every(frame, node, [same, rest])])


def _equal(frame: Frame, node: Any, a: Value, b: Value) -> Value:
    """Whether two items are one or equal, as Python's bool."""
    is_one = a is b or (isinstance(a, Static) and isinstance(b, Static) and a.raw is b.raw)
    if is_one and not isinstance(a, Group):
        return Static(True)
    for one in (a, b):
        if is_array(one):
            frame.fail(
                node,
                f"comparing sequences with {describe(one)} in them is not supported: its truth value is ambiguous",
                "compare the items: np.array_equal(a, b)",
            )
    return bool_(frame, node, compare_pair(frame, node, _EQ, a, b))


def is_among(frame: Frame, node: Any, thing: Value, items: Sequence[Value]) -> Value:
    """`thing in items`."""
    return some(frame, node, [_equal(frame, node, thing, one) for one in items])


# ---- comparison -------------------------------------------------------------------------------------


def _compare_objects(frame: Frame, node: Any, op: ast.cmpop, left: Value, right: Value) -> Value:
    """`left op right` of a comparison where one is an object of a class."""
    name, reflected, symbol = _METHODS[type(op)]
    sides = [(left, name, right), (right, reflected, left)]
    if special_methods.is_first(frame, node, left, right, reflected):
        sides.reverse()
    for value, method, other in sides:
        if is_array(other) and not has_attributes(other):
            frame.fail(node, f"comparing {describe(other)} with {describe(value)} is not supported")
        made = _result_of(frame, node, value, method, other)
        if made is None and isinstance(op, ast.NotEq):
            made = _result_of(frame, node, value, "__eq__", other)
            made = None if made is None else negation(frame, node, bool_(frame, node, made))
        if made is not None:
            return made
    if not isinstance(op, ast.Eq | ast.NotEq):
        names = " and ".join([f"'{type_of(frame, node, value).__name__}'" for value in (left, right)])
        frame.fail(node, f"'{symbol}' not supported between instances of {names}", None, DTypeError)
    same = identical(frame, node, left, right)
    return same if isinstance(op, ast.Eq) else negation(frame, node, same)


def _result_of(frame: Frame, node: Any, value: Value, method: str, other: Value) -> Value | None:
    """What a comparison gives that the class of `value` has a method for."""
    function = special_method(frame, value, method) if has_attributes(value) else None
    if is_generated(function):
        return _generated(frame, node, function, [value, other])
    return special_methods.asked(frame, node, value, method, other)


_GENERATED = {"__eq__": ast.Eq, "__lt__": ast.Lt, "__le__": ast.LtE, "__gt__": ast.Gt, "__ge__": ast.GtE}


def _generated(frame: Frame, node: Any, function: FunctionType, args: list[Value]) -> Value | None:
    """A method that `dataclass` wrote: comparisons of the fields as tuples, and the text."""
    frame.captured.function(function)
    first, kind = args[0], type_of(frame, node, args[0])
    if function.__name__ == "__repr__":
        return None
    op = _GENERATED.get(function.__name__)
    if op is None or len(args) != 2:
        frame.fail(node, f"{function.__name__} of a {kind.__name__} is not supported")
    if type_of(frame, node, args[1]) is not kind:
        return None
    names = [name for name, field in kind.__dataclass_fields__.items() if field.compare]  # pyright: ignore
    if op is ast.Eq and first is args[1]:
        return Static(True)
    sides = [[_field(frame, node, one, name) for name in names] for one in args]
    return compare_items(frame, node, op(), *sides)


def _field(frame: Frame, node: ast.AST, owner: Value, name: str) -> Value:
    access = ast.copy_location(ast.Attribute(node, name, ast.Load()), node)
    if isinstance(owner, Group):
        return instance_attribute(frame, access, owner)
    assert isinstance(owner, Static)
    return frame.attribute(access, owner.raw, name)
