"""Operators on numbers and arrays, and on tuples and lists: arithmetic and comparison."""

from __future__ import annotations

import ast

from ..frame.frame import Frame
from ..frame.objects import constant_object, kept, merge
from ..frame.outside import has_item, items
from ..frame.recursion import evaluate, test
from ..interface.errors import DTypeError
from ..values import arithmetic as arith
from ..values.values import Group, Iteration, Static, Value, describe, is_array
from .texts import is_text, joined, percent

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
    ast.MatMult: "matmul",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}


def binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    frame.at(node)
    return combined(frame, node, node.op, left, right)


def combined(frame: Frame, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right`."""
    if isinstance(op, ast.Mod) and isinstance(left, Static) and type(left.raw) is str:
        if not _is_known(right):
            return percent(left.raw, right)
        return Static(left.raw % constant_object(frame, node, right))  # pyright: ignore
    if isinstance(op, ast.Add) and is_text(left) and is_text(right) and not _is_known(left, right):
        return joined(left, right)
    if isinstance(left, Group) or isinstance(right, Group):
        return _group_arithmetic(frame, node, op, left, right)
    return arith.operate(frame.graph, BINARY[type(op)], left, right)


def _is_known(*values: Value) -> bool:
    """Whether the values are known at compile time."""
    return all(isinstance(v, Static) or (isinstance(v, Group) and _is_known(*v.items)) for v in values)


def _group_arithmetic(
    frame: Frame, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value
) -> Value:
    """`shape + (1,)` and `(1,) * n`."""
    sides = [as_group(frame, node, v) if is_sequence(v) else v for v in (left, right)]
    first, second = sides
    if isinstance(first, Group) and isinstance(second, Group):
        kinds = [sequence_kind(g) for g in (first, second)]
        if isinstance(op, ast.Add) and kinds[0] is kinds[1] and kinds[0] in (tuple, list):
            return Group(first.items + second.items, kinds[0])
        if isinstance(op, ast.BitOr) and kinds == [dict, dict]:
            return merge(frame, node, [first, second])
    if isinstance(op, ast.Mult) and isinstance(first, Group) != isinstance(second, Group):
        group, times = (first, second) if isinstance(first, Group) else (second, first)
        assert isinstance(group, Group)
        kind = sequence_kind(group)
        if kind in (tuple, list) and not is_array(times):
            items = tuple([kept(frame, item) for item in group.items])
            return Group(items * arith.require_static(frame.graph, times, "how often it is repeated"), kind)
    frame.fail(node, f"{describe(left)} and {describe(right)} do not combine here", None, DTypeError)


def is_sequence(value: Value) -> bool:
    """Whether it is a tuple or list known at compile time."""
    return isinstance(value, Static) and isinstance(value.raw, tuple | list)


def sequence_kind(group: Group) -> type:
    """What arithmetic takes a group for: a NamedTuple is a tuple."""
    is_tuple = issubclass(group.kind, tuple)
    return tuple if is_tuple else group.kind


def unary(frame: Frame, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        from .conditions import negation

        operand = test(frame, node.operand)
        frame.at(node)
        return negation(frame, node, operand)
    operand = evaluate(frame, node.operand)
    frame.at(node)
    return arith.operate(frame.graph, _UNARY[type(node.op)], operand)


def compare(frame: Frame, node: ast.Compare) -> Value:
    return _compare_from(frame, node, 0, evaluate(frame, node.left))


def _compare_from(frame: Frame, node: ast.Compare, k: int, left: Value) -> Value:
    """`left < b < c ...` from comparison `k` on: what follows one that does not hold is not computed."""
    right = evaluate(frame, node.comparators[k])
    frame.at(node)
    one = _compare_pair(frame, node, node.ops[k], left, right)
    if k == len(node.ops) - 1:
        return one
    from ..control.truth import refuse_skipped
    from .conditions import both, either, without_effects

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


def _compare_pair(frame: Frame, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Value:
    from .conditions import negation
    from .identity import identical

    if isinstance(op, ast.Is | ast.IsNot):
        same = identical(frame, node, left, right)
        return same if isinstance(op, ast.Is) else negation(frame, node, same)
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, Group) and right.kind is dict:
            right = Group(tuple([Static(name) for name in right.names or ()]))
        if isinstance(right, Static) and isinstance(right.raw, dict):
            inside = has_item(right.raw, constant_object(frame, node, left))
            return Static(inside == isinstance(op, ast.In))
        sides = [constant_object(frame, node, one) for one in (left, right)]
        arith.refuse_own_code(
            frame.graph, sides, frozenset(("__contains__", "__iter__", "__getitem__", "__eq__"))
        )
        inside = sides[0] in sides[1]
        return Static(inside == isinstance(op, ast.In))
    if isinstance(left, Group) or isinstance(right, Group):
        return Static(_compare_groups(frame, node, op, left, right))
    return arith.operate(frame.graph, _COMPARE[type(op)], left, right)


def _compare_groups(frame: Frame, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> bool:
    function = arith.PYTHON_OPERATORS[_COMPARE[type(op)]]
    return function(constant_object(frame, node, left), constant_object(frame, node, right))


def as_group(frame: Frame, node: ast.AST, value: Value) -> Group:
    """A tuple or list of values."""
    from ..control.sequences import listed

    if isinstance(value, Group):
        return Group(listed(frame, node, value)) if value.kind is dict else value
    if isinstance(value, Static) and isinstance(value.raw, tuple | list):
        return Group(tuple([Static(v) for v in items(value.raw)]), type(value.raw))
    if isinstance(value, Iteration):
        return Group(listed(frame, node, value))
    frame.fail(node, f"{describe(value)} cannot be unpacked in compiled code")
