"""Operators on numbers and arrays, tuples and lists, and objects of classes: arithmetic."""

from __future__ import annotations

import ast
import operator
from types import FunctionType
from typing import Any

import numpy as np

from ..frame.frame import Frame
from ..frame.instances import has_attributes
from ..frame.objects import as_now, constant_object, kept, made_anew, merge
from ..frame.outside import items
from ..frame.recursion import evaluate, test
from ..interface.errors import DTypeError
from ..interface.static_values import OPERATIONS
from ..values import arithmetic as arith
from ..values.values import Chosen, Group, Iteration, Static, Value, describe, is_array
from . import special_methods
from .chosen import by_option
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
IN_PLACE: dict[type[ast.operator], Any] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
    ast.MatMult: operator.imatmul,
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}


def binary(frame: Frame, node: ast.BinOp) -> Value:
    """`a + b + c`: a loop over the operators, for a sum may have more terms than Python nests calls."""
    operators = [node]
    while isinstance(inner := operators[-1].left, ast.BinOp):
        operators.append(inner)
    left = evaluate(frame, operators[-1].left)
    for one in reversed(operators):
        right = evaluate(frame, one.right)
        frame.at(one)
        left = combined(frame, one, one.op, as_now(frame, left), right)
    return left


def combined(frame: Frame, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right`."""
    if isinstance(op, ast.Mod) and isinstance(left, Static) and type(left.raw) is str:
        if not _is_known(right):
            return percent(left.raw, right)
        return Static(left.raw % constant_object(frame, node, right))  # pyright: ignore
    if isinstance(left, Chosen):
        return by_option(frame, node, left, lambda one: combined(frame, node, op, one, right))
    if isinstance(right, Chosen):
        return by_option(frame, node, right, lambda one: combined(frame, node, op, left, one))
    if isinstance(op, ast.Add) and is_text(left) and is_text(right) and not _is_known(left, right):
        return joined(left, right)
    if (has_attributes(left) or has_attributes(right)) and not _are_plain_tuples(left, right):
        return special_methods.binary(frame, node, op, left, right)
    if isinstance(left, Group) or isinstance(right, Group):
        return _group_arithmetic(frame, node, op, left, right)
    result = arith.operate(frame.graph, BINARY[type(op)], left, right)
    is_object = isinstance(result, Static) and type(result.raw).__hash__ is None
    return made_anew(frame, result.raw) if is_object and type(result.raw) is not np.ndarray else result  # pyright: ignore


def _are_plain_tuples(left: Value, right: Value) -> bool:
    """Whether NamedTuples are added as the tuples that they are."""
    for value in (left, right):
        if has_attributes(value) and not (isinstance(value, Group) and is_plain_tuple(value.kind)):
            return False
    return True


def is_plain_tuple(kind: type) -> bool:
    """Whether a class is a tuple, or one of NamedTuples without operators of its own."""
    return issubclass(kind, tuple) and not any(
        isinstance(vars(base).get(name), FunctionType) for base in kind.__mro__ for name in OPERATIONS
    )


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
    return unary_value(frame, node, node.op, operand)


def unary_value(frame: Frame, node: ast.expr, op: ast.unaryop, operand: Value) -> Value:
    """`op operand`."""
    if has_attributes(operand):
        return special_methods.unary(frame, node, op, operand)
    return arith.operate(frame.graph, _UNARY[type(op)], operand)


def as_group(frame: Frame, node: ast.AST, value: Value) -> Group:
    """A tuple or list of values."""
    from ..control.sequences import listed

    if isinstance(value, Group):
        return Group(listed(frame, node, value)) if value.kind is dict else value
    if isinstance(value, Static) and isinstance(value.raw, tuple | list):
        return Group(tuple(items(value.raw)), type(value.raw))
    if isinstance(value, Iteration):
        return Group(listed(frame, node, value))
    frame.fail(node, f"{describe(value)} cannot be unpacked in compiled code")
