"""Python expressions to values: names, displays, attributes, subscripts, calls, f-strings; and the table of all kinds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..frame.frame import Frame
from ..frame.instances import has_attributes
from ..frame.objects import constant_object, key_of, made_anew, merge
from ..interface.errors import DTypeError
from ..interface.match_statements import Bound, Matches
from ..interface.static_values import TEXT
from ..values.arithmetic import refuse_own_code
from ..values.values import Chosen, Group, Iteration, Static, Text, Value
from . import special_methods
from .assignments import named
from .attributes import attribute_of
from .calls import call
from .chosen import as_text
from .comparisons import compare
from .operators import binary, unary
from .subscripts import subscript_of


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return Static(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return frame.lookup(node)


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            from ..control.sequences import listed

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


def _set(frame: Frame, node: ast.Set | ast.SetComp) -> Value:
    """A set of constants."""
    if isinstance(node, ast.SetComp):
        from .iteration import comprehension

        items = comprehension(frame, node)
    else:
        items = _tuple(frame, ast.copy_location(ast.List(node.elts, ast.Load()), node))
    assert isinstance(items, Group)
    if not all(isinstance(item, Static) for item in items.items):
        frame.fail(
            node, "a set of values known at run time is not supported", "use a list, or np.unique of an array"
        )
    return made_anew(frame, set(constant_object(frame, node, items)))


def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    return attribute_of(frame, node, evaluate(frame, node.value))


_REDUCING: dict[Any, Any] = {sum: 0, any: False, all: True}
"""Builtins that are a loop where their argument is counted at run time, and what the loop starts from."""


def _call(frame: Frame, node: ast.Call) -> Value:
    function = evaluate(frame, node.func)
    if isinstance(function, Static) and _may_reduce(node, function.raw):
        from .python_calls import reduction

        loop, given = reduction(frame, node, function.raw, _REDUCING[function.raw])
        if loop is not None:
            return loop
        frame.at(node)
        return call(frame, node, function, given, {})
    arguments: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            from ..control.sequences import listed

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
                        keyword.value,
                        f"keyword {name!r} is given twice, or is not a string",
                        None,
                        DTypeError,
                    )
                keywords[name] = value
            continue
        keywords[keyword.arg] = evaluate(frame, keyword.value)
    frame.at(node)
    return call(frame, node, function, arguments, keywords)


def _may_reduce(node: ast.Call, function: Any) -> bool:
    """Whether sum, any or all are called in one of the ordinary ways."""
    if (
        not any(function is one for one in _REDUCING)
        or node.keywords
        or any(isinstance(argument, ast.Starred) for argument in node.args)
    ):
        return False
    return len(node.args) == 1 or (function is sum and len(node.args) == 2)


def _joined_string(frame: Frame, node: ast.JoinedStr) -> Value:
    """An f-string: a string where all of it is known, else its parts."""
    parts = [_text_part(frame, part) for part in node.values]
    if not all(isinstance(value, Static) for value, _, _ in parts):
        return Text(tuple(parts))
    frame.at(node)
    refuse_own_code(frame.graph, [v.value for v, _, _ in parts], TEXT)  # pyright: ignore
    texts = [format(convert(v.value) if convert else v.value, spec) for v, convert, spec in parts]  # pyright: ignore
    return Static("".join(texts))


def _text_part(frame: Frame, part: ast.expr) -> tuple[Value, Callable[[Any], str] | None, str]:
    """A part with its conversion and format."""
    if not isinstance(part, ast.FormattedValue):
        return evaluate(frame, part), None, ""
    value, spec = evaluate(frame, part.value), ""
    if has_attributes(value) and part.format_spec is None:
        method = {115: "__str__", 114: "__repr__"}.get(part.conversion, "__format__")
        made = special_methods.text_of(frame, part, value, method)
        if made is not None:
            return made, None, ""
    if isinstance(value, Group) and all(isinstance(item, Static) for item in value.items):
        value = Static(constant_object(frame, part.value, value))
    if isinstance(value, Chosen):
        value = as_text(value)
    if part.format_spec is not None:
        assert isinstance(part.format_spec, ast.JoinedStr)
        spec = str(constant_object(frame, part, _joined_string(frame, part.format_spec)))
    return value, {115: str, 114: repr, 97: ascii}.get(part.conversion), spec


def _in_module(module: str, name: str) -> Callable[[Frame, Any], Value]:
    """A function of another module, which is imported when a program has such an expression."""

    def compile_(frame: Frame, node: ast.expr) -> Value:
        return getattr(import_module(module, __package__), name)(frame, node)

    return compile_


EXPRESSIONS: dict[type[ast.expr], Callable[[Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: compare,
    ast.BoolOp: _in_module(".conditions", "bool_op"),
    ast.IfExp: _in_module(".conditions", "if_expression"),
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Attribute: _attribute,
    ast.Subscript: subscript_of,
    ast.Call: _call,
    ast.JoinedStr: _joined_string,
    ast.Dict: _dict,
    ast.NamedExpr: named,
    ast.Set: _set,
    ast.SetComp: _set,
    Matches: _in_module(".matching", "matches"),
    Bound: _in_module(".matching", "bound"),
    ast.Lambda: _in_module(".functions", "lambda_"),
    ast.ListComp: _in_module(".iteration", "comprehension"),
    ast.GeneratorExp: _in_module(".iteration", "comprehension"),
    ast.DictComp: _in_module(".iteration", "dict_comprehension"),
}


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression."""
    handler = EXPRESSIONS.get(type(node))
    if handler is None:
        word = _WORDS.get(type(node), type(node).__name__)
        frame.fail(node, f"{word} is not supported in compiled code", _HINTS.get(type(node)))
    return handler(frame, node)


_WORDS: dict[type[ast.expr], str] = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}
_HINTS: dict[type[ast.expr], str] = {
    ast.Await: "compile the part that computes, and await outside",
    ast.Yield: "fill an array and return it",
    ast.YieldFrom: "fill an array and return it",
}
