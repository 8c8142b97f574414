"""Tuples, lists, dicts, NamedTuples and dataclasses of values during compilation.

    b = a              `a` and `b` are groups with the ref ".object1": one object
    b.append(x)        the variable ".object1" gets a new content, which both show from then on

The content of an object that can change is a variable of the frame, named by its `ref`. So what puts variables back
(an attempt at a loop that is given up, the other side of a branch) puts objects back too, and what a loop or branch
changes of an object is found as what it changes of a variable is. Calls hand the contents on and take them back.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.errors import (
    DTypeError,
    IndexRangeError,
    ListGrows,
    UnsupportedError,
)
from ..interface.parameters import bound
from ..values.arithmetic import refuse_own_code, require_static
from ..values.values import NOTHING, Group, Index, Lazy, Masked, Method, Rows, Static, Value, describe
from . import outside
from .recursion import listed

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
    if isinstance(value, Masked):
        return frame.graph.language.settled(frame.graph, value)
    if not isinstance(value, Group) or value.ref is not None:
        return value
    items = tuple([kept(frame, item, why_fixed) for item in value.items])
    if any(a is not b for a, b in zip(items, value.items, strict=True)):
        value = replace(value, items=items)
    if not value.is_mutable:
        return value
    ref = frame.graph.new_name(PREFIX)
    frame.variables[ref] = value
    why_fixed = why_fixed or value.fixed
    if why_fixed is not None:
        frame.graph.fixed_objects[ref] = why_fixed
    return replace(value, ref=ref)


def kept(frame: Frame, item: Value, why_fixed: str | None = None) -> Value:
    """`item` as it is kept in an object, or under several names: as one object, with an array expression of an island
    computed now: what it reads may change."""
    if isinstance(item, Lazy) and frame.graph.island is not None:
        return frame.graph.island.materialise(item, "item")
    return stored(frame, item, why_fixed)


def place_of(frame: Frame, node: ast.AST) -> Any:
    """What tells a place of the source from others, in functions that are called as well."""
    return (*frame.path, frame.source.node.name, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def made_anew(frame: Frame, result: Any) -> Value:
    """What a call that was evaluated at compile time makes anew in each call of the program."""
    if type(result) is list:
        return Group(tuple([made_anew(frame, item) for item in result]), list)
    if type(result) is dict:
        return Group(tuple([made_anew(frame, item) for item in result.values()]), dict, tuple(result))
    made = Static(result)
    if type(result).__hash__ is None:
        frame.graph.made_objects[id(result)] = result
        ref = frame.graph.made_refs[id(result)] = frame.graph.new_name(PREFIX)
        frame.variables[ref] = made
    return made


def is_made(frame: Frame, value: Value) -> bool:
    """Whether it is a set, or another constant that can change, which the program makes anew in each call."""
    return isinstance(value, Static) and id(value.raw) in frame.graph.made_refs


def change_made(
    frame: Frame,
    node: ast.expr | ast.stmt,
    made: Value,
    operate: Callable[..., Any],
    operands: Sequence[Value],
) -> Value:
    """Do to a set that the program makes what changes it, `operate(set, *operands)`; what that gives.

    Its content is a variable, as that of a list: a copy is changed, for an attempt may be given up.
    """
    now = as_now(frame, made)
    assert isinstance(now, Static)
    graph, ref, changed = frame.graph, frame.graph.made_refs[id(now.raw)], copy.copy(now.raw)
    what = f"what is put into a {type(changed).__name__}"
    hint = "use a list: if v not in xs: xs.append(v)"
    given = [constant_object(frame, node, operand, what, hint) for operand in operands]
    refuse_own_code(graph, [changed, *given])
    try:
        result = operate(changed, *given)
    except Exception as error:
        frame.fail_as(node, error)
    graph.made_objects[id(changed)] = changed
    graph.made_refs[id(changed)] = ref
    graph.changed_made.add(ref)
    frame.variables[ref] = Static(changed)
    return frame.variables[ref] if result is changed else Static(result)


def _content(frame: Frame, made: Static) -> Value:
    """What a set that the program makes holds by now."""
    ref = frame.graph.made_refs[id(made.raw)]
    content = frame.variables.get(ref)
    if content is None and ref in frame.graph.changed_made:
        raise frame.graph.error(
            UnsupportedError,
            f"a {type(made.raw).__name__} is used here, but it was made or changed on some paths only",
            "make it before the loop or branch",
        )
    return made if content is None else content


def current(frame: Frame, value: Value) -> Value:
    """`value` with the contents that its objects have by now."""
    if isinstance(value, Rows) and value.ref in frame.variables:
        return frame.variables[value.ref]
    if is_made(frame, value):
        return _content(frame, value)  # pyright: ignore
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


def as_now(frame: Frame, value: Value) -> Value:
    """A list, dict or object as it is by now: what is evaluated after it may change it, as in xs.append(xs.pop(0))."""
    if is_made(frame, value):
        return _content(frame, value)  # pyright: ignore
    is_known = isinstance(value, Group | Rows) and value.ref is not None
    return current(frame, value) if is_known and value.ref in frame.variables else value


def change(
    frame: Frame, node: ast.AST, group: Group, items: Sequence[Value], names: Sequence[Any] | None = None
) -> None:
    """Give an object other items."""
    if group.ref is None and group.fixed is None:
        return  # nobody else knows it
    why = group.fixed if group.ref is None else frame.graph.fixed_objects.get(group.ref)
    if why is not None:
        frame.fail(node, f"changing {describe(group)} that {why} is not supported", "change a copy of it")
    if group.ref in frame.graph.given_objects:
        frame.graph.changes_given = True
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


_COUNT = "count in an array, counts[k] += 1, or with np.unique(x, return_counts=True)"


def key_of(frame: Frame, node: ast.AST, key: Value) -> Any:
    """A dict's key, known at compile time."""
    frame.at(node)
    if isinstance(key, Group):
        return key.built([key_of(frame, node, item) for item in key.items])
    value = require_static(frame.graph, key, "the key of a dict", _COUNT)
    try:
        hash(value)
    except TypeError as error:
        frame.fail(node, str(error), None, DTypeError)
    return value


ASSIGNED = "list assignment index out of range"
POPPED = "pop index out of range"
"""Python's words for an index that is outside of a list, where it is not read."""


def position_of(frame: Frame, node: ast.AST, group: Group, key: Value, message: str = "") -> int:
    """Which item `group[key]` is."""
    if group.kind is dict:
        assert group.names is not None
        name = key_of(frame, node, key)
        if name not in group.names:
            frame.fail_as(node, KeyError(name), hint=f"its keys are {list(group.names)}")
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
        frame.fail(node, message or f"{name} index out of range", None, IndexRangeError)
    except TypeError:
        frame.fail(node, f"indexing {describe(group)} by {describe(key)} is not supported", hint)
    return number


def set_item(frame: Frame, node: ast.AST, group: Group, key: Value, value: Value) -> None:
    """`group[key] = value`."""
    now = as_now(frame, group)
    group = now if isinstance(now, Group) else group
    if group.kind not in (list, dict):
        frame.fail(node, f"{describe(group)} does not support item assignment", None, DTypeError)
    if group.kind is dict:
        assert group.names is not None
        name = key_of(frame, node, key)
        if name not in group.names:
            return change(frame, node, group, (*group.items, value), (*group.names, name))
        position = group.names.index(name)
    else:
        position = position_of(frame, node, group, key, ASSIGNED)
    items = list(group.items)
    items[position] = value
    change(frame, node, group, items)


# ---- methods ----------------------------------------------------------------------------------------


def container_method(frame: Frame, node: ast.Attribute, owner: Group) -> Method:
    """A method of a list, dict or tuple."""
    methods = _methods_of(owner.kind)
    if node.attr not in methods:
        known = ", ".join(sorted(methods))
        frame.fail(
            node, f"the attribute '{node.attr}' of {describe(owner)} is not supported", f"methods: {known}"
        )
    return Method(owner, node.attr)


def _methods_of(kind: type) -> dict[str, Any]:
    return METHODS.get(tuple if issubclass(kind, tuple) else kind, {})


def has_method(kind: type, name: str) -> bool:
    """Whether objects of a class have this method of lists, dicts or tuples."""
    return name in _methods_of(kind)


def call_method(
    frame: Frame, node: ast.Call, method: Method, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a list, dict or tuple."""
    owner = method.receiver
    assert isinstance(owner, Group)
    function = _methods_of(owner.kind)[method.name]
    try:
        bound(inspect.signature(function), (frame, node, owner, *args), kwargs)
    except TypeError as error:
        frame.fail(node, f"{owner.kind.__name__}.{method.name}(): {error}", None, DTypeError)
    return function(frame, node, owner, *args, **kwargs)


def _grows(frame: Frame, ref: str) -> bool:
    """Whether only the run knows how many items a list has."""
    graph = frame.graph
    if graph.growing is not None and ref in graph.growing:
        return True
    return graph.sweeps is not None and graph.sweeps.needs_room(ref)


def _append(frame: Frame, node: ast.AST, owner: Group, item: Value) -> Value:
    if owner.ref is not None and _grows(frame, owner.ref):
        raise ListGrows(owner.ref, item, place_of(frame, node), tuple(frame.graph.turns))
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
    if owner.ref is not None and _grows(frame, owner.ref):
        raise ListGrows(owner.ref, owner.items[-1], place_of(frame, node), None)
    items = list(owner.items)
    item = items.pop(position_of(frame, node, owner, position, POPPED))
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
    other = entries_of(frame, node, other)
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


METHODS: dict[type, dict[str, Any]] = {
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


def entries_of(frame: Frame, node: ast.AST, value: Value) -> Value:
    """A dict, or what gives pairs of keys and values, as a dict."""
    is_dict = isinstance(value, Group) and value.kind is dict
    if is_dict or (isinstance(value, Static) and isinstance(value.raw, dict)):
        return value
    pairs = [listed(frame, node, pair) for pair in listed(frame, node, value)]
    if any(len(pair) != 2 for pair in pairs):
        frame.fail(node, "a dict takes pairs of a key and a value", None, DTypeError)
    made = {key_of(frame, node, key): item for key, item in pairs}
    return Group(tuple(made.values()), dict, tuple(made))


def merge(frame: Frame, node: ast.AST, groups: Sequence[Value]) -> Group:
    """A dict of the entries of dicts, later ones first in effect."""
    entries: dict[Any, Value] = {}
    for group in groups:
        if isinstance(group, Static) and isinstance(group.raw, dict):
            entries.update(outside.entries(group.raw))
            continue
        if not isinstance(group, Group) or group.kind is not dict or group.names is None:
            frame.fail(node, f"{describe(group)} is not a dict", None, DTypeError)
        entries.update(zip(group.names, group.items, strict=True))
    return Group(tuple(entries.values()), dict, tuple(entries))


# ---- what is outside ---------------------------------------------------------------------------------


MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "clear", "reverse", "sort", "remove", "update", "setdefault", "popitem",
     "add", "discard", "intersection_update", "difference_update", "symmetric_difference_update",
     "__init__", "__setitem__", "__delitem__", "__iadd__", "__imul__", "__iand__", "__ior__", "__isub__", "__ixor__"}
)  # fmt: skip


def is_outside_change(function: Any) -> bool:
    """Whether calling it changes an object from outside the compiled function."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, np.ndarray):
        return name in ("fill", "sort", "put", "resize", "partition", "setflags", "byteswap")
    return isinstance(owner, list | dict | set | bytearray) and name in MUTATORS


def constant_object(
    frame: Frame, node: ast.AST, value: Value, what: str = "this value", hint: str | None = None
) -> Any:
    """The Python object that a value is; it must be known at compile time."""
    if isinstance(value, Group):
        return value.built([constant_object(frame, node, item, what, hint) for item in value.items])
    frame.at(node)
    return require_static(frame.graph, value, what, hint)
