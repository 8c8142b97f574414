"""Python expressions to values: names, displays, attributes, subscripts, calls, f-strings; and the table of all kinds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.diagnostic import NestorError
from ..frame import outside
from ..frame.expressions import EXPRESSIONS, constant_object, evaluate
from ..frame.frame import Frame
from ..frame.objects import group_attribute, key_of, merge, position_of
from ..interface.errors import DTypeError, kind_of
from ..interface.static_values import TEXT
from ..numpy_api.families import METHODS
from ..values import arithmetic as arith
from ..values.arithmetic import refuse_own_code
from ..values.values import Group, Iteration, Masked, Method, Rows, Static, Text, Value, describe
from .calls import REDUCING, call
from .operators import as_group, binary, compare, is_sequence, sequence_kind, unary

if TYPE_CHECKING:
    from ..indexing.views import Item


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return Static(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return frame.lookup(node)


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            from .iteration import listed

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
    from .assignments import bind

    bind(frame, node.target, evaluate(frame, node.value))
    return evaluate(frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node))


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
    if isinstance(owner, Static) and not isinstance(owner.raw, np.generic):
        return frame.attribute(node, owner.raw, node.attr)
    if isinstance(owner, Masked) and node.attr not in METHODS:
        from ..numpy_api.masked_calls import masked_attribute

        return masked_attribute(frame.graph, owner, node.attr)
    from ..numpy_api.elements.attributes import ATTRIBUTES

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
    from ..control.rows import rows_item
    from ..indexing.subscripts import subscript
    from ..numpy_api.shapes.grids import maker

    owner = evaluate(frame, node.value)
    if isinstance(owner, Static) and not is_sequence(owner):
        make = maker(owner.raw)
        if make is None:
            return _known_element(frame, node, owner.raw)
        items = subscript_items(frame, node.slice)
        frame.at(node)
        return make(frame.graph, items)
    items = subscript_items(frame, node.slice)
    frame.at(node)
    if isinstance(owner, Static):
        if len(items) == 1 and isinstance(items[0], Static) and isinstance(items[0].raw, int):
            return _element(frame, node, owner.raw, items[0].raw)
        owner = as_group(frame, node, owner)
    if isinstance(owner, Rows):
        return rows_item(frame, node, owner, items)
    if isinstance(owner, Group):
        return _group_item(frame, node, owner, items)
    return subscript(frame.graph, owner, items)


def _known_element(frame: Frame, node: ast.Subscript, owner: Any) -> Value:
    """An element of an object known at compile time: of a dict, a string, or np.s_[1:3]."""
    frame.at(node)
    refuse_own_code(frame.graph, [owner] if type(owner) is not dict else (), frozenset(("__getitem__",)))
    index = _known_index(frame, node.slice)
    frame.at(node)
    return _element(frame, node, owner, index)


def _element(frame: Frame, node: ast.Subscript, owner: Any, index: Any) -> Value:
    try:
        return Static(outside.item(owner, index))
    except NestorError:
        raise
    except Exception as error:
        frame.fail(node, f"{type(error).__name__}: {error}", None, kind_of(error))


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
    return value


def _call(frame: Frame, node: ast.Call) -> Value:
    function = evaluate(frame, node.func)
    if isinstance(function, Static) and any(function.raw is f for f in REDUCING):
        from .python_calls import reducing_loop

        loop = reducing_loop(frame, node, function.raw)
        if loop is not None:
            return loop
    arguments: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            from .iteration import listed

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
    if isinstance(value, Group) and all(isinstance(item, Static) for item in value.items):
        value = Static(constant_object(frame, part.value, value))
    if part.format_spec is not None:
        assert isinstance(part.format_spec, ast.JoinedStr)
        spec = str(constant_object(frame, part, _joined_string(frame, part.format_spec)))
    return value, {115: str, 114: repr, 97: ascii}.get(part.conversion), spec


def _in_module(module: str, name: str) -> Callable[[Frame, Any], Value]:
    """A function of another module, which is imported when a program has such an expression."""

    def compile_(frame: Frame, node: ast.expr) -> Value:
        return getattr(import_module(module, __package__), name)(frame, node)

    return compile_


EXPRESSIONS.update(
    {
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
        ast.Subscript: _subscript,
        ast.Call: _call,
        ast.JoinedStr: _joined_string,
        ast.Dict: _dict,
        ast.NamedExpr: _named,
        ast.Lambda: _in_module(".functions", "lambda_"),
        ast.ListComp: _in_module(".iteration", "comprehension"),
        ast.GeneratorExp: _in_module(".iteration", "comprehension"),
        ast.DictComp: _in_module(".iteration", "dict_comprehension"),
    }
)
