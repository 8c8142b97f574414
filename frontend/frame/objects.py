"""Tuples, lists, dicts, NamedTuples and dataclasses of values during compilation.

    b = a              `a` and `b` are groups with the ref ".object1": one object
    b.append(x)        the variable ".object1" gets a new content, which both show from then on

The content of an object that can change is a variable of the frame, named by its `ref`. So what puts variables back
(an attempt at a loop that is given up, the other side of a branch) puts objects back too, and what a loop or branch
changes of an object is found as what it changes of a variable is. Calls hand the contents on and take them back.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.captured import Step
from ..interface.errors import DTypeError, IndexRangeError, MissingAttributeError, UnsupportedError
from ..values.arithmetic import require_static
from ..values.values import NOTHING, Group, Index, Lazy, Method, Rows, Static, Value, describe
from . import outside
from .recursion import inline, listed

if TYPE_CHECKING:
    from .frame import Frame

_LAST = Static(-1)
_NO_ENTRIES = Group((), dict, ())

PREFIX = ".object"


def is_ref(name: str) -> bool:
    """Whether the variable is the content of an object."""
    return name.startswith(PREFIX)


def stored(frame: Frame, value: Value, why_fixed: str | None = None) -> Value:
    """`value` as a variable keeps it: objects that can change become known by a ref.

    `why_fixed` says why the new objects must not be changed in compiled code.
    """
    if not isinstance(value, Group) or value.ref is not None:
        return value
    items = tuple([kept(frame, item, why_fixed) for item in value.items])
    if any(a is not b for a, b in zip(items, value.items, strict=True)):
        value = replace(value, items=items)
    if not value.is_mutable:
        return value
    ref = frame.graph.new_name(PREFIX)
    frame.variables[ref] = value
    if why_fixed is not None:
        frame.graph.fixed_objects[ref] = why_fixed
    return replace(value, ref=ref)


def kept(frame: Frame, item: Value, why_fixed: str | None = None) -> Value:
    """`item` as it is kept in an object, or under several names: as one object, with an array expression of an island
    computed now: what it reads may change."""
    if isinstance(item, Lazy) and frame.graph.island is not None:
        return frame.graph.island.materialise(item, "item")
    return stored(frame, item, why_fixed)


def made_anew(frame: Frame, result: Any) -> Value:
    """What a call that was evaluated at compile time makes anew in each call of the program."""
    if type(result) is list:
        return Group(tuple([made_anew(frame, item) for item in result]), list)
    if type(result) is dict:
        return Group(tuple([made_anew(frame, item) for item in result.values()]), dict, tuple(result))
    if type(result).__hash__ is None:
        frame.graph.made_objects[id(result)] = result
    return Static(result)


def current(frame: Frame, value: Value) -> Value:
    """`value` with the contents that its objects have by now."""
    if isinstance(value, Rows) and value.ref in frame.variables:
        return frame.variables[value.ref]
    if not isinstance(value, Group):
        return value
    if value.ref is not None:
        content = frame.variables.get(value.ref)
        if isinstance(content, Rows):
            return content
        if not isinstance(content, Group):
            raise frame.graph.error(
                UnsupportedError,
                f"{describe(value)} is used here, but it was made on some paths only",
                "make it before the loop or branch",
            )
        value = replace(content, ref=value.ref)
    items = tuple([current(frame, item) for item in value.items])
    if any(a is not b for a, b in zip(items, value.items, strict=True)):
        return replace(value, items=items)
    return value


def change(
    frame: Frame, node: ast.AST, group: Group, items: Sequence[Value], names: Sequence[Any] | None = None
) -> None:
    """Give an object other items."""
    if group.ref is None:
        return  # nobody else knows it
    why = frame.graph.fixed_objects.get(group.ref)
    if why is not None:
        frame.fail(node, f"changing {describe(group)} that {why} is not supported", "change a copy of it")
    kept = tuple([stored(frame, item) for item in items])
    frame.variables[group.ref] = Group(kept, group.kind, group.names if names is None else tuple(names))


def share(source: Frame, target: Frame) -> None:
    """Give `target` the contents of all objects of `source`."""
    for name, value in source.variables.items():
        if is_ref(name):
            target.variables[name] = value


def refuse_changes(frame: Frame, node: ast.AST, before: dict[str, Value], where: str) -> None:
    """Refuse where the objects known in `before` have other contents by now."""
    for name, value in before.items():
        if is_ref(name) and frame.variables.get(name) is not value:
            frame.fail(
                node,
                f"{describe(value)} is changed {where}",
                "change it in a statement of its own",
            )


# ---- items ------------------------------------------------------------------------------------------


def key_of(frame: Frame, node: ast.AST, key: Value) -> Any:
    """A dict's key, known at compile time."""
    frame.at(node)
    if isinstance(key, Group):
        return key.built([key_of(frame, node, item) for item in key.items])
    value = require_static(frame.graph, key, "the key of a dict")
    try:
        hash(value)
    except TypeError as error:
        frame.fail(node, str(error), None, DTypeError)
    return value


def position_of(frame: Frame, node: ast.AST, group: Group, key: Value) -> int:
    """Which item `group[key]` is."""
    if group.kind is dict:
        assert group.names is not None
        name = key_of(frame, node, key)
        if name not in group.names:
            frame.fail(node, f"KeyError: {name!r}", f"its keys are {list(group.names)}", MissingKeyError)
        return group.names.index(name)
    if is_dataclass(group.kind):
        frame.fail(node, f"{describe(group)} is not subscriptable", None, DTypeError)
    frame.at(node)
    hint = "index an array (np.stack of the items), or loop over the items"
    position = require_static(frame.graph, key, "the index", hint) if isinstance(key, Index | Static) else key
    try:
        number = range(len(group.items))[position]  # pyright: ignore
    except IndexError:
        name = group.kind.__name__ if group.kind in (list, tuple) else "tuple"
        frame.fail(node, f"{name} index out of range", None, IndexRangeError)
    except TypeError:
        frame.fail(node, f"indexing {describe(group)} by {describe(key)} is not supported", hint)
    return number


class MissingKeyError(UnsupportedError, KeyError):
    """A key that a dict does not have."""


def set_item(frame: Frame, node: ast.AST, group: Group, key: Value, value: Value) -> None:
    """`group[key] = value`."""
    if not group.is_mutable or is_dataclass(group.kind):
        frame.fail(node, f"{describe(group)} does not support item assignment", None, DTypeError)
    if group.kind is dict:
        assert group.names is not None
        name = key_of(frame, node, key)
        if name not in group.names:
            return change(frame, node, group, (*group.items, value), (*group.names, name))
        position = group.names.index(name)
    else:
        position = position_of(frame, node, group, key)
    items = list(group.items)
    items[position] = value
    change(frame, node, group, items)


def set_field(frame: Frame, node: ast.AST, owner: Group, name: str, value: Value) -> None:
    """`owner.name = value`."""
    if owner.names is None or name not in owner.names or owner.kind is dict:
        frame.fail(node, f"{describe(owner)} has no field '{name}' to assign to", None, MissingAttributeError)
    if not owner.is_mutable:
        frame.fail(node, f"cannot assign to field '{name}'", "use dataclasses.replace", MissingAttributeError)
    items = list(owner.items)
    items[owner.names.index(name)] = value
    change(frame, node, owner, items)


def is_record(kind: Any) -> bool:
    """Whether it is a class of NamedTuples or a dataclass."""
    return isinstance(kind, type) and (
        is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def group_attribute(frame: Frame, node: ast.Attribute, owner: Group) -> Value:
    """`owner.name`: a field, a method of its class, a property or a constant of its class."""
    name = node.attr
    if owner.names is not None and owner.kind is not dict and name in owner.names:
        return owner.items[owner.names.index(name)]
    if not is_record(owner.kind):
        if name in _METHODS.get(owner.kind, {}):
            return Method(owner, name)
        known = ", ".join(sorted(_METHODS.get(owner.kind, {})))
        frame.fail(node, f"the attribute '{name}' of {describe(owner)} is not supported", f"methods: {known}")
    attribute = outside.class_attribute(owner.kind, name)
    value = outside.attribute_or_absent(frame, node, owner.kind, name)
    if attribute is outside.Absent or value is outside.Absent:
        frame.fail(
            node, f"'{owner.kind.__name__}' object has no attribute '{name}'", None, MissingAttributeError
        )
    if isinstance(attribute, property) and isinstance(attribute.fget, FunctionType):
        return inline(frame, node, attribute.fget, [owner], {})
    if isinstance(attribute, FunctionType) or (owner.kind, name) in _RECORD_METHODS or name == "_replace":
        return Method(owner, name)
    return Static(value)


_RECORD_METHODS: set[tuple[type, str]] = set()


# ---- methods ----------------------------------------------------------------------------------------


def call_method(
    frame: Frame, node: ast.Call, method: Method, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a list, dict, tuple, NamedTuple or dataclass."""
    owner = method.receiver
    assert isinstance(owner, Group)
    if is_record(owner.kind):
        if method.name == "_replace" and owner.kind is not dict:
            return replaced(frame, node, owner, kwargs)
        function = outside.attribute_or_absent(frame, node, owner.kind, method.name)
        return inline(frame, node, function, [owner, *args], kwargs)
    function = _METHODS[owner.kind][method.name]
    try:
        inspect.signature(function).bind(frame, node, owner, *args, **kwargs)
    except TypeError as error:
        frame.fail(node, f"{owner.kind.__name__}.{method.name}(): {error}", None, DTypeError)
    return function(frame, node, owner, *args, **kwargs)


def _append(frame: Frame, node: ast.AST, owner: Group, item: Value) -> Value:
    change(frame, node, owner, (*owner.items, item))
    return Static(None)


def _extend(frame: Frame, node: ast.AST, owner: Group, items: Value) -> Value:
    change(frame, node, owner, (*owner.items, *listed(frame, node, items)))
    return Static(None)


def _insert(frame: Frame, node: ast.AST, owner: Group, position: Value, item: Value) -> Value:
    items = list(owner.items)
    items.insert(require_static(frame.graph, position, "the position"), item)
    change(frame, node, owner, items)
    return Static(None)


def _pop(frame: Frame, node: ast.AST, owner: Group, position: Value = _LAST) -> Value:
    if not owner.items:
        frame.fail(node, "pop from empty list", None, IndexRangeError)
    items = list(owner.items)
    item = items.pop(position_of(frame, node, owner, position))
    change(frame, node, owner, items)
    return item


def _clear(frame: Frame, node: ast.AST, owner: Group) -> Value:
    change(frame, node, owner, (), () if owner.kind is dict else None)
    return Static(None)


def _reverse(frame: Frame, node: ast.AST, owner: Group) -> Value:
    change(frame, node, owner, owner.items[::-1])
    return Static(None)


def _copy(frame: Frame, node: ast.AST, owner: Group) -> Value:
    return replace(owner, ref=None)


def _get(frame: Frame, node: ast.AST, owner: Group, key: Value, default: Value = NOTHING) -> Value:
    assert owner.names is not None
    name = key_of(frame, node, key)
    return owner.items[owner.names.index(name)] if name in owner.names else default


def _keys(frame: Frame, node: ast.AST, owner: Group) -> Value:
    assert owner.names is not None
    return Group(tuple([Static(name) for name in owner.names]))


def _values(frame: Frame, node: ast.AST, owner: Group) -> Value:
    return Group(owner.items)


def _items(frame: Frame, node: ast.AST, owner: Group) -> Value:
    assert owner.names is not None
    pairs = zip(owner.names, owner.items, strict=True)
    return Group(tuple([Group((Static(name), item)) for name, item in pairs]))


def _update(frame: Frame, node: ast.AST, owner: Group, other: Value = _NO_ENTRIES, **more: Value) -> Value:
    merged = merge(frame, node, [owner, other, Group(tuple(more.values()), dict, tuple(more))])
    assert merged.names is not None
    change(frame, node, owner, merged.items, merged.names)
    return Static(None)


def _dict_pop(frame: Frame, node: ast.AST, owner: Group, key: Value, default: Value | None = None) -> Value:
    assert owner.names is not None
    if default is not None and key_of(frame, node, key) not in owner.names:
        return default
    position = position_of(frame, node, owner, key)
    items, names = list(owner.items), list(owner.names)
    item = items.pop(position)
    names.pop(position)
    change(frame, node, owner, items, names)
    return item


def _setdefault(frame: Frame, node: ast.AST, owner: Group, key: Value, default: Value = NOTHING) -> Value:
    assert owner.names is not None
    if key_of(frame, node, key) not in owner.names:
        default = stored(frame, default)
        set_item(frame, node, owner, key, default)
        return default
    return owner.items[position_of(frame, node, owner, key)]


_METHODS: dict[type, dict[str, Any]] = {
    list: {
        "append": _append,
        "extend": _extend,
        "insert": _insert,
        "pop": _pop,
        "clear": _clear,
        "reverse": _reverse,
        "copy": _copy,
    },
    dict: {
        "get": _get,
        "keys": _keys,
        "values": _values,
        "items": _items,
        "update": _update,
        "pop": _dict_pop,
        "clear": _clear,
        "copy": _copy,
        "setdefault": _setdefault,
    },
    tuple: {},
}


def merge(frame: Frame, node: ast.AST, groups: Sequence[Value]) -> Group:
    """A dict of the entries of dicts, later ones first in effect."""
    entries: dict[Any, Value] = {}
    for group in groups:
        if isinstance(group, Static) and isinstance(group.raw, dict):
            entries.update({k: Static(v) for k, v in outside.entries(group.raw)})
            continue
        if not isinstance(group, Group) or group.kind is not dict or group.names is None:
            frame.fail(node, f"{describe(group)} is not a dict", None, DTypeError)
        entries.update(zip(group.names, group.items, strict=True))
    return Group(tuple(entries.values()), dict, tuple(entries))


# ---- NamedTuples and dataclasses --------------------------------------------------------------------


def construct(
    frame: Frame, node: ast.AST, kind: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Group:
    """`kind(*args, **kwargs)` of a NamedTuple or dataclass."""
    why = _why_not_constructed(frame, kind)
    if why is not None:
        frame.fail(node, f"making a {kind.__name__} is not supported: {why}", "make a plain dataclass")
    try:
        signature = inspect.signature(kind)
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        frame.fail(node, f"{kind.__name__}(): {error}", None, DTypeError)
    names = field_names(kind)
    given = dict(bound.arguments)
    items = [
        given[name] if name in given else _default(frame, node, kind, signature.parameters[name])
        for name in names
    ]
    return Group(tuple(items), kind, names)


def field_names(kind: Any) -> tuple[str, ...]:
    """The fields of a NamedTuple or dataclass."""
    return tuple([f.name for f in dataclasses.fields(kind)]) if is_dataclass(kind) else tuple(kind._fields)


def _why_not_constructed(frame: Frame, kind: Any) -> str | None:
    for name in ("__init__", "__new__", "__post_init__", "__dataclass_fields__"):
        made = frame.captured.read(kind, Step.ATTRIBUTE, name)
        if isinstance(made, FunctionType) and name != "__post_init__":
            frame.captured.function(made)
            if not made.__code__.co_filename.startswith("<"):
                return f"it has {'an' if name == '__init__' else 'a'} {name} of its own"
    if not is_dataclass(kind):
        return None
    if hasattr(kind, "__post_init__"):
        return "it has a __post_init__"
    if not kind.__dataclass_params__.init:  # pyright: ignore
        return "it has an __init__ of its own"
    if any(not f.init for f in dataclasses.fields(kind)):
        return "it has fields that are not parameters"
    return None


def _default(frame: Frame, node: ast.AST, kind: Any, parameter: inspect.Parameter) -> Value:
    """What a field is that is not given: the default of the function that Python calls."""
    fields = dataclasses.fields(kind) if is_dataclass(kind) else ()
    factory = next((f.default_factory for f in fields if f.name == parameter.name), dataclasses.MISSING)
    if factory is dataclasses.MISSING:
        return Static(parameter.default)
    if factory not in (list, dict, tuple):
        frame.fail(node, f"making this is not supported: the default of '{parameter.name}' is made anew")
    return Group((), factory, () if factory is dict else None)  # pyright: ignore


def replaced(frame: Frame, node: ast.AST, owner: Value, changes: dict[str, Value]) -> Group:
    """`dataclasses.replace(owner, **changes)`, `owner._replace(**changes)`."""
    if not isinstance(owner, Group) or owner.names is None or not is_record(owner.kind):
        frame.fail(node, f"{describe(owner)} has no fields to replace", None, DTypeError)
    why = _why_not_constructed(frame, owner.kind)
    if why is not None:
        frame.fail(node, f"making {describe(owner)} is not supported: {why}", "make a plain dataclass")
    unknown = [name for name in changes if name not in owner.names]
    if unknown:
        frame.fail(node, f"{owner.kind.__name__} has no field '{unknown[0]}'", None, DTypeError)
    items = [changes.get(name, item) for name, item in zip(owner.names, owner.items, strict=True)]
    return Group(tuple(items), owner.kind, owner.names)


MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "clear", "reverse", "sort", "remove", "update", "setdefault", "popitem",
     "add", "discard"}
)  # fmt: skip


def is_outside_change(function: Any) -> bool:
    """Whether calling it changes an object from outside the compiled function."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, np.ndarray):
        return name in ("fill", "sort", "put", "resize", "partition", "setflags", "byteswap")
    return isinstance(owner, list | dict | set | bytearray) and name in MUTATORS


def constant_object(frame: Frame, node: ast.expr, value: Value) -> Any:
    """The Python object that a value is; it must be known at compile time."""
    if isinstance(value, Group):
        return value.built([constant_object(frame, node, item) for item in value.items])
    frame.at(node)
    return require_static(frame.graph, value, "this value")
