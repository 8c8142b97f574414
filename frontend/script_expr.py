"""Python expressions to values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arithmetic as arith
from .calls import call
from .errors import DTypeError, UnsupportedError
from .frame import Frame
from .functions import lambda_
from .iteration import comprehension, dict_comprehension, listed
from .masks import masked_attribute
from .numpy_api.attributes import ATTRIBUTES
from .numpy_api.registry import METHODS
from .objects import group_attribute, key_of, merge, position_of, refuse_changes
from .promotion import same_operand
from .python_calls import reducing_loop
from .rows import rows_item
from .values import (
    Array,
    Group,
    Index,
    Iteration,
    Lazy,
    Masked,
    Method,
    Rows,
    Scalar,
    Static,
    Tensor,
    Text,
    Value,
    describe,
    extents_of,
    is_array,
)
from .views import Item, Slice, subscript

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


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        word = _WORDS.get(type(node), type(node).__name__)
        frame.fail(node, f"{word} is not supported in compiled code", _HINTS.get(type(node)))
    return handler(frame, node)


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return Static(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return frame.lookup(node)


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    frame.at(node)
    return combined(frame, node, node.op, left, right)


def combined(frame: Frame, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right`."""
    if isinstance(left, Group) or isinstance(right, Group):
        return _group_arithmetic(frame, node, op, left, right)
    return arith.operate(frame.graph, BINARY[type(op)], left, right)


def _group_arithmetic(
    frame: Frame, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value
) -> Value:
    """`shape + (1,)` and `(1,) * n`."""
    sides = [as_group(frame, node, v) if is_sequence(v) else v for v in (left, right)]
    first, second = sides
    if isinstance(first, Group) and isinstance(second, Group):
        kinds = [_sequence_kind(g) for g in (first, second)]
        if isinstance(op, ast.Add) and kinds[0] is kinds[1] and kinds[0] in (tuple, list):
            return Group(first.items + second.items, kinds[0])
        if isinstance(op, ast.BitOr) and kinds == [dict, dict]:
            return merge(frame, node, [first, second])
    if isinstance(op, ast.Mult) and isinstance(first, Group) != isinstance(second, Group):
        group, times = (first, second) if isinstance(first, Group) else (second, first)
        assert isinstance(group, Group)
        kind = _sequence_kind(group)
        if kind in (tuple, list) and not is_array(times):
            return Group(
                group.items * arith.require_static(frame.graph, times, "how often it is repeated"), kind
            )
    frame.fail(node, f"{describe(left)} and {describe(right)} do not combine here", None, DTypeError)


def is_sequence(value: Value) -> bool:
    """Whether it is a tuple or list known at compile time."""
    return isinstance(value, Static) and isinstance(value.value, tuple | list)


def _sequence_kind(group: Group) -> type:
    """What arithmetic takes a group for: a NamedTuple is a tuple."""
    is_tuple = issubclass(group.kind, tuple)
    return tuple if is_tuple else group.kind


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    is_not = isinstance(node.op, ast.Not)
    operand = (test if is_not else evaluate)(frame, node.operand)
    frame.at(node)
    if is_not:
        return negation(frame, node, operand)
    return arith.operate(frame.graph, _UNARY[type(node.op)], operand)


def negation(frame: Frame, node: ast.expr, operand: Value) -> Value:
    """`not operand`."""
    if isinstance(operand, Static | Group):
        return Static(not truth(frame, node, operand))
    condition = as_condition(frame, node, operand)
    result = arith.apply(frame.graph, np.logical_not, condition)
    return arith.as_weak(result, bool, arith.scalar_arguments([operand]))


def _compare(frame: Frame, node: ast.Compare) -> Value:
    left = evaluate(frame, node.left)
    result: Value | None = None
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(frame, comparator)
        frame.at(node)
        one = _compare_pair(frame, node, op, left, right)
        result = one if result is None else _both(frame, node, result, one)
        left = right
    assert result is not None
    return result


def _compare_pair(frame: Frame, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Value:
    if isinstance(op, ast.Is | ast.IsNot):
        return Static(_is_one(left, right) == isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, Group) and right.kind is dict:
            right = Group(tuple([Static(name) for name in right.names or ()]))
        inside = constant_object(frame, node, left) in constant_object(frame, node, right)
        return Static(inside == isinstance(op, ast.In))
    if isinstance(left, Group) or isinstance(right, Group):
        return Static(_compare_groups(frame, node, op, left, right))
    return arith.operate(frame.graph, _COMPARE[type(op)], left, right)


def _is_one(a: Value, b: Value) -> bool:
    """`a is b`."""
    if isinstance(a, Static) and isinstance(b, Static):
        return a.value is b.value
    if isinstance(a, Group) and isinstance(b, Group) and a.ref is not None:
        return a.ref == b.ref
    return a is b


def _compare_groups(frame: Frame, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> bool:
    function = arith.PYTHON_OPERATORS[_COMPARE[type(op)]]
    return function(constant_object(frame, node, left), constant_object(frame, node, right))


def constant_object(frame: Frame, node: ast.expr, value: Value) -> Any:
    """The Python object that a value is; it must be known at compile time."""
    if isinstance(value, Group):
        return value.built([constant_object(frame, node, item) for item in value.items])
    frame.at(node)
    return arith.require_static(frame.graph, value, "this value")


def _both(frame: Frame, node: ast.expr, a: Value, b: Value) -> Value:
    if isinstance(a, Static):
        return b if a.value else a
    if isinstance(b, Static) and b.value is True:
        return a
    return _joined(frame, np.logical_and, as_condition(frame, node, a), as_condition(frame, node, b))


def _joined(frame: Frame, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """`a and b` as a truth value: NumPy's bool when both are, else Python's."""
    result = arith.apply(frame.graph, ufunc, a, b)
    if not any(isinstance(arith.number_kind(frame.graph, v), type) for v in (a, b)):
        return result
    return arith.as_weak(result, bool, arith.scalar_arguments([a, b]))


def test(frame: Frame, node: ast.expr) -> Value:
    """An expression of which only the truth matters: the condition of an `if`, the operand of `not`."""
    return _bool_op(frame, node, only_truth=True) if isinstance(node, ast.BoolOp) else evaluate(frame, node)


def _bool_op(frame: Frame, node: ast.BoolOp, only_truth: bool = False) -> Value:
    """`and`, `or`: on constants as Python; on run-time values without effects, all are evaluated.

    Where more than the truth is wanted, the result is one of the operands: `n or 4`.
    """
    is_and = isinstance(node.op, ast.And)
    result: Value | None = None
    before = dict(frame.variables)
    for k, operand in enumerate(node.values):
        if result is None:
            before = dict(frame.variables)
        if result is not None:
            refuse_assignments(frame, operand)
        if frame.graph.island is not None and k and result is not None and _reads_more(node, k):
            rest = _skipping(frame, node, k, result, only_truth)
            refuse_changes(frame, node, before, _ON_SOME_PATHS)
            return rest
        value = test(frame, operand) if only_truth else evaluate(frame, operand)
        if result is not None:
            refuse_changes(frame, operand, before, _ON_SOME_PATHS)
        frame.at(node)
        if isinstance(value, Static | Group) and (only_truth or result is None):
            if bool(truth(frame, operand, value)) != is_and and result is None:
                return value
            if k < len(node.values) - 1 or result is not None:
                if bool(truth(frame, operand, value)) == is_and:
                    continue
                frame.fail(operand, "a constant after a run-time condition in `and`/`or` is not supported")
            return value
        condition = as_condition(frame, operand, value)
        if result is None:
            result = condition
            continue
        if only_truth or _are_bool(frame, result, condition):
            result = _joined(frame, np.logical_and if is_and else np.logical_or, result, condition)
        else:
            result = _one_of(frame, result, condition, is_and)
    assert result is not None
    return result


_ON_SOME_PATHS = "in a part of an expression that is computed on some paths only"


def refuse_assignments(frame: Frame, node: ast.expr) -> None:
    """Refuse `:=` in a part of an expression that is computed on some paths only."""
    for child in ast.walk(node):
        if isinstance(child, ast.NamedExpr):
            frame.fail(
                child,
                "an assignment in a part of an expression that is computed on some paths only is not supported",
                "assign in a statement of its own",
            )


def _reads_more(node: ast.BoolOp, k: int) -> bool:
    """Whether operand `k` reads an element that no earlier one read, or divides: Python may skip that."""
    operand = node.values[k]
    if any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div | ast.FloorDiv | ast.Mod)
        for n in ast.walk(operand)
    ):
        return True
    return not _elements(operand) <= set().union(*map(_elements, node.values[:k]))


def _skipping(frame: Frame, node: ast.BoolOp, k: int, left: Value, only_truth: bool) -> Value:
    """`left and right`, the right side (the operands from `k`) computed only where Python computes it."""
    from .nest_loops import either

    rest = node.values[k:]
    following = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)

    def right() -> Value:
        if not only_truth:
            return evaluate(frame, following)
        condition = as_condition(frame, following, test(frame, following))
        return arith.as_weak(arith.apply(frame.graph, np.not_equal, condition, Static(0)), bool, None)

    def known() -> Value:
        return Static(isinstance(node.op, ast.Or)) if only_truth else left

    sides = (right, known) if isinstance(node.op, ast.And) else (known, right)
    return either(frame, node, left, *sides)


def _elements(node: ast.expr) -> set[str]:
    """The subscripts in an expression, as text. What stands on the left of `and` has been read."""
    return {ast.dump(n) for n in ast.walk(node) if isinstance(n, ast.Subscript)}


def _are_bool(frame: Frame, *values: Value) -> bool:
    return all(arith.number_kind(frame.graph, v) in (bool, arith.BOOL) for v in values)


def _one_of(frame: Frame, a: Value, b: Value, is_and: bool) -> Value:
    """`a and b` (`a or b`) of numbers: the one that Python gives. Both must be of one type, unless they are baked in."""
    from .numpy_api.selection import where

    kinds = [arith.number_kind(frame.graph, v) for v in (a, b)]
    if not same_operand(kinds[0], kinds[1]):
        arith.require_static(frame.graph, a, "the left side of `and`/`or` between numbers of two types")
    chosen = where(frame.graph, a, b, a) if is_and else where(frame.graph, a, a, b)
    weak = kinds[0]
    return arith.as_weak(chosen, weak, arith.scalar_arguments([a, b])) if isinstance(weak, type) else chosen


def as_condition(frame: Frame, node: ast.expr, value: Value) -> Value:
    """A number used as a truth value. Arrays of more than one element have none, as in NumPy."""
    if isinstance(value, Array | Lazy) or (isinstance(value, Tensor) and is_array(value)):
        if all(e.known == 1 for e in extents_of(value)):
            return value
        from .errors import ShapeError

        frame.fail(
            node,
            "the truth value of an array with more than one element is ambiguous",
            "use & | ~ for elementwise logic, np.where to choose, .any() or .all() to reduce",
            ShapeError,
        )
    return value


def truth(frame: Frame, node: ast.expr, value: Value) -> bool:
    """The truth value of a compile-time object."""
    if isinstance(value, Group):
        return bool(value.items)
    as_condition(frame, node, value)
    frame.at(node)
    return bool(
        arith.require_static(
            frame.graph,
            value,
            "the condition",
            "choose with np.where(condition, a, b), or put the `if` inside a loop over elements",
        )
    )


def _if_expression(frame: Frame, node: ast.IfExp) -> Value:
    condition = test(frame, node.test)
    if frame.graph.island is None or isinstance(condition, Static | Group):
        return evaluate(frame, node.body if truth(frame, node.test, condition) else node.orelse)
    for side in (node.body, node.orelse):
        refuse_assignments(frame, side)
    from .nest_loops import either

    sides = (lambda: evaluate(frame, node.body), lambda: evaluate(frame, node.orelse))
    before = dict(frame.variables)
    chosen = either(frame, node, condition, *sides)
    refuse_changes(frame, node, before, _ON_SOME_PATHS)
    return chosen


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items.extend(listed(frame, item, evaluate(frame, item.value)))
        else:
            items.append(_once_refused(frame, item, evaluate(frame, item)))
    return Group(tuple(items), tuple if isinstance(node, ast.Tuple) else list)


def _once_refused(frame: Frame, node: ast.AST, value: Value) -> Value:
    """A value that is kept: an iterator would be used up by whoever comes first."""
    if isinstance(value, Iteration) and value.once:
        frame.fail(node, "keeping an iterator is not supported", "keep a list of it: list(...)")
    return value


def _dict(frame: Frame, node: ast.Dict) -> Value:
    parts: list[Value] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            parts.append(evaluate(frame, value))
            continue
        name = key_of(frame, key, evaluate(frame, key))
        parts.append(Group((evaluate(frame, value),), dict, (name,)))
    return merge(frame, node, parts)


def _named(frame: Frame, node: ast.NamedExpr) -> Value:
    from .script_stmt import bind

    bind(frame, node.target, evaluate(frame, node.value))
    return evaluate(frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node))


def as_group(frame: Frame, node: ast.AST, value: Value) -> Group:
    """A tuple or list of values."""
    if isinstance(value, Group):
        return Group(listed(frame, node, value)) if value.kind is dict else value
    if isinstance(value, Static) and isinstance(value.value, tuple | list):
        return Group(tuple([Static(v) for v in value.value]), type(value.value))
    if isinstance(value, Iteration):
        return Group(listed(frame, node, value))
    frame.fail(node, f"{describe(value)} cannot be unpacked in compiled code")


def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    return attribute_of(frame, node, evaluate(frame, node.value))


def attribute_of(frame: Frame, node: ast.Attribute, owner: Value) -> Value:
    """`owner.name`."""
    frame.at(node)
    if isinstance(owner, Rows):
        if node.attr != "append":
            frame.fail(
                node,
                f"the method '{node.attr}' of {describe(owner)} is not supported",
                "use np.stack(ys), an array",
            )
        return Method(owner, "append")
    if isinstance(owner, Group):
        return group_attribute(frame, node, owner)
    if is_sequence(owner) and node.attr in ("append", "extend", "insert"):
        frame.fail(node, "changing a list from outside is not supported", "make it inside")
    if isinstance(owner, Static) and not isinstance(owner.value, np.generic):
        return frame.attribute(node, owner.value, node.attr)
    if isinstance(owner, Masked) and node.attr not in METHODS:
        return masked_attribute(frame.graph, owner, node.attr)
    attribute = ATTRIBUTES.get(node.attr)
    if attribute is not None:
        return attribute(frame.graph, owner)
    if node.attr in METHODS:
        return Method(owner, node.attr)
    frame.fail(
        node,
        f"the attribute '{node.attr}' of {describe(owner)} is not supported",
        f"attributes: {', '.join(sorted(ATTRIBUTES))}; methods: {', '.join(sorted(METHODS))}",
    )


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    owner = evaluate(frame, node.value)
    items = subscript_items(frame, node.slice)
    frame.at(node)
    if isinstance(owner, Static) and isinstance(owner.value, tuple | list):
        owner = as_group(frame, node, owner)
    if isinstance(owner, Rows):
        return rows_item(frame, node, owner, items)
    if isinstance(owner, Group):
        return _group_item(frame, node, owner, items)
    if isinstance(owner, Static):
        index = arith.require_static(frame.graph, items[0], "the index") if len(items) == 1 else None  # pyright: ignore
        try:
            return Static(owner.value[index])
        except Exception as error:
            frame.fail(node, f"{type(error).__name__}: {error}", None, DTypeError)
    return subscript(frame.graph, owner, items)


def _group_item(frame: Frame, node: ast.Subscript, group: Group, items: list[Item]) -> Value:
    item = items[0]
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
        return Group(group.items[slice(*bounds)], _sequence_kind(group))
    if len(items) != 1:
        keys = [key for key in items if not isinstance(key, Slice)]
        return group.items[position_of(frame, node, group, Group(tuple(keys)))]
    return group.items[position_of(frame, node, group, item)]


def subscript_items(frame: Frame, node: ast.expr) -> list[Item]:
    """What stands between the brackets."""
    if not isinstance(node, ast.Tuple):
        item = _item(frame, node)
        return _unpacked(item) if isinstance(item, Group) and item.kind is tuple else [item]
    items: list[Item] = []
    for part in node.elts:
        if isinstance(part, ast.Starred):
            items += _unpacked(as_group(frame, part, evaluate(frame, part.value)))
        else:
            items.append(_item(frame, part))
    return items


def _unpacked(group: Group) -> list[Item]:
    return [_as_slice(value) for value in group.items]


def _item(frame: Frame, node: ast.expr) -> Item:
    if not isinstance(node, ast.Slice):
        return _as_slice(evaluate(frame, node))
    bounds = [None if b is None else evaluate(frame, b) for b in (node.lower, node.upper, node.step)]
    return Slice(*bounds)


def _as_slice(value: Value) -> Item:
    if isinstance(value, Static) and isinstance(value.value, slice):
        s = value.value
        return Slice(Static(s.start), Static(s.stop), Static(s.step))
    return value


def _call(frame: Frame, node: ast.Call) -> Value:
    function = evaluate(frame, node.func)
    loop = reducing_loop(frame, node, function)
    if loop is not None:
        return loop
    arguments: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            arguments.extend(listed(frame, argument, evaluate(frame, argument.value)))
        else:
            arguments.append(evaluate(frame, argument))
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            more = merge(frame, keyword.value, [evaluate(frame, keyword.value)])
            for name, value in zip(more.names or (), more.items, strict=True):
                if not isinstance(name, str) or name in keywords:
                    frame.fail(
                        keyword.value, f"keyword {name!r} is given twice, or no string", None, DTypeError
                    )
                keywords[name] = value
            continue
        keywords[keyword.arg] = evaluate(frame, keyword.value)
    frame.at(node)
    return call(frame, node, function, arguments, keywords)


def _joined_string(frame: Frame, node: ast.JoinedStr) -> Value:
    """An f-string: a string where all of it is known, else its parts."""
    parts = [_text_part(frame, part) for part in node.values]
    if not all(isinstance(value, Static) for value, _, _ in parts):
        return Text(tuple(parts))
    texts = [format(convert(v.value) if convert else v.value, spec) for v, convert, spec in parts]  # pyright: ignore
    return Static("".join(texts))


def _text_part(frame: Frame, part: ast.expr) -> tuple[Value, Callable[[Any], str] | None, str]:
    """A part with its conversion and format."""
    if not isinstance(part, ast.FormattedValue):
        return evaluate(frame, part), None, ""
    value, spec = evaluate(frame, part.value), ""
    if isinstance(value, Group) and all(isinstance(item, Static) for item in value.items):
        value = Static(constant_object(frame, part.value, value))
    if part.format_spec is not None:
        assert isinstance(part.format_spec, ast.JoinedStr)
        spec = str(constant_object(frame, part, _joined_string(frame, part.format_spec)))
    return value, {115: str, 114: repr, 97: ascii}.get(part.conversion), spec


_WORDS: dict[type[ast.expr], str] = {
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.SetComp: "a set comprehension",
}
_HINTS: dict[type[ast.expr], str] = {
    ast.SetComp: "use a list or a dict",
    ast.Set: "use a tuple",
    ast.Await: "compile the part that computes, and await outside",
    ast.Yield: "fill an array and return it",
    ast.YieldFrom: "fill an array and return it",
}

_HANDLERS: dict[type[ast.expr], Callable[[Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _if_expression,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.JoinedStr: _joined_string,
    ast.Dict: _dict,
    ast.NamedExpr: _named,
    ast.Lambda: lambda_,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: dict_comprehension,
}

__all__ = [
    "BINARY",
    "Index",
    "Scalar",
    "UnsupportedError",
    "as_group",
    "evaluate",
    "subscript_items",
    "test",
    "truth",
]
