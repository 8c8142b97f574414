"""Objects of classes while a program is compiled: made, their attributes read and set, their methods found.

    p = P(x)          a group without attributes; the body of `P.__init__` is compiled, which gives it some
    p.n += 1          the content of the object has another item, under all of its names
    p.norm()          the body of `norm`, with the object for `self`
    return p          its attributes are results; the object is made of them, and no code of its class runs

An object is known by its ref, as a list is (`objects.py`). Its class is read outside (`outside.py`).
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import is_dataclass
from functools import cached_property, partialmethod
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..interface.captured import Absent, Step
from ..interface.errors import DTypeError, MissingAttributeError, Respecialise
from ..interface.ordinary import is_frozen, is_generated, is_ordinary, slots_of, why_not_ordinary
from ..interface.parameters import bound
from ..interface.spec import Spec
from ..interface.suggestions import did_you_mean
from ..interface.versioned import is_own
from ..values.values import Group, Method, Static, Super, Value, describe
from . import outside
from .objects import PREFIX, change, container_method, current, has_method, stored
from .recursion import call, inline

if TYPE_CHECKING:
    from .frame import Frame


def is_record(kind: Any) -> bool:
    """Whether it is a class of NamedTuples or a dataclass."""
    return isinstance(kind, type) and (
        is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def is_class(kind: Any) -> bool:
    """Whether compiled code knows objects of this class by their attributes."""
    return is_record(kind) or is_ordinary(kind)


def has_attributes(value: Value) -> bool:
    """Whether it is an object of a class that the program made or was given, whose methods can be compiled."""
    if isinstance(value, Group):
        return value.kind not in (tuple, list, dict) and is_class(value.kind)
    return isinstance(value, Static) and is_ordinary(type(value.raw))


# ---- making objects ---------------------------------------------------------------------------------


def construct(
    frame: Frame, node: ast.expr, kind: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """`kind(*args, **kwargs)` of a NamedTuple, a dataclass or an ordinary class."""
    why = _why_not_made(frame, kind)
    if why is not None:
        frame.fail(node, f"making a {kind.__name__} is not supported: {why}", "make it outside, and pass it")
    if issubclass(kind, tuple):
        return _named_tuple(frame, node, kind, args, kwargs)
    abstract = sorted(getattr(kind, "__abstractmethods__", ()))
    if abstract:
        what = f"abstract method{'s' if len(abstract) > 1 else ''} {', '.join(map(repr, abstract))}"
        message = f"Can't instantiate abstract class {kind.__name__} without an implementation for {what}"
        frame.fail(node, message, None, DTypeError)
    ref = frame.graph.new_name(PREFIX)
    frame.variables[ref] = Group((), kind, ())
    made = Group((), kind, (), ref)
    start = outside.class_attribute(kind, "__init__")
    if isinstance(start, FunctionType):
        result = call_function(frame, node, start, [made, *args], kwargs)
        if not (isinstance(result, Static) and result.raw is None):
            what = f"__init__() should return None, not {describe(result)}"
            frame.fail(node, what, None, DTypeError)
    elif start is not object.__init__:
        frame.fail(
            node, f"making a {kind.__name__} is not supported: its __init__ is not a function", "write a def"
        )
    elif args or kwargs:
        frame.fail(node, f"{kind.__name__}() takes no arguments", None, DTypeError)
    return current(frame, made)


def _why_not_made(frame: Frame, kind: Any) -> str | None:
    """Why objects of a class cannot be made by compiled code. What that depends on is noted."""
    for name in ("__init__", "__new__", "__setattr__", "__dataclass_fields__"):
        made = frame.captured.read(kind, Step.ATTRIBUTE, name)
        if isinstance(made, FunctionType):
            frame.captured.function(made)
            if name == "__new__" and not is_generated(made):
                return "it has a __new__ of its own"
    return None if issubclass(kind, tuple) else why_not_ordinary(kind)


def _named_tuple(
    frame: Frame, node: ast.expr, kind: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Group:
    try:
        signature = inspect.signature(kind)
        fitting = bound(signature, args, kwargs)
    except TypeError as error:
        frame.fail(node, f"{kind.__name__}(): {error}", None, DTypeError)
    given = fitting.arguments
    items = [
        given[name] if name in given else Static(signature.parameters[name].default) for name in kind._fields
    ]
    return Group(tuple(items), kind, tuple(kind._fields))


def call_function(
    frame: Frame, node: ast.expr, function: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """A function of a class: one that `dataclass` wrote has no source, and is known by what it does."""
    if hasattr(type(function), "lower"):
        function = frame.captured.read(function, Step.ATTRIBUTE, "__wrapped__")
    if is_generated(function) and function.__name__ == "__init__" and args and isinstance(args[0], Group):
        frame.captured.function(function)
        _set_fields(frame, node, function, args, kwargs)
        return Static(None)
    if isinstance(function, _Own):
        return function.compile(frame, node, args, kwargs)
    if function is object.__init__:
        return Static(None)
    if function in (object.__setattr__, object.__delattr__):
        return _set_by_name(frame, node, function, args)
    return inline(frame, node, function, args, kwargs)


def _set_fields(
    frame: Frame, node: ast.expr, function: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> None:
    """What the `__init__` of a dataclass does: fields in their order, then `__post_init__`."""
    owner = args[0]
    assert isinstance(owner, Group)
    kind: Any = next((k for k in owner.kind.__mro__ if vars(k).get("__init__") is function), owner.kind)
    signature = inspect.signature(function)
    try:
        given = bound(signature, args, kwargs).arguments
    except TypeError as error:
        frame.fail(node, f"{kind.__name__}(): {error}", None, DTypeError)
    for_post: list[Value] = []
    for name, field in kind.__dataclass_fields__.items():
        form = field._field_type.name  # as `dataclasses.fields` asks
        if form == "_FIELD_CLASSVAR":
            continue
        value: Value | None = given.get(name)
        if value is None and field.default_factory is not dataclasses.MISSING:
            value = _made_default(frame, node, field.default_factory)
        elif value is None and field.init:
            value = Static(signature.parameters[name].default)
        elif value is None and field.default is not dataclasses.MISSING and name in slots_of(kind):
            value = Static(field.default)
        if form == "_FIELD_INITVAR":
            for_post.append(Static(None) if value is None else value)
        elif value is not None:
            _store(frame, node, owner, name, value)
    post = outside.class_attribute(owner.kind, "__post_init__")
    if post is not Absent:
        frame.captured.read(owner.kind, Step.ATTRIBUTE, "__post_init__")
        call_function(frame, node, post, [owner, *for_post], {})


def _made_default(frame: Frame, node: ast.expr, factory: Any) -> Value:
    if factory in (list, dict, tuple):
        return Group((), factory, () if factory is dict else None)
    made = ast.copy_location(ast.Call(node, [], []), node)
    return call(frame, made, Static(factory), [], {})


def replaced(frame: Frame, node: ast.expr, owner: Value, changes: dict[str, Value]) -> Value:
    """`dataclasses.replace(owner, **changes)`, `owner._replace(**changes)`."""
    if not isinstance(owner, Group) or owner.names is None or not is_record(owner.kind):
        frame.fail(node, f"{describe(owner)} has no fields to replace", None, DTypeError)
    if issubclass(owner.kind, tuple):
        unknown = [name for name in changes if name not in owner.names]
        if unknown:
            frame.fail(node, f"{owner.kind.__name__} has no field '{unknown[0]}'", None, DTypeError)
        items = [changes.get(name, item) for name, item in zip(owner.names, owner.items, strict=True)]
        return Group(tuple(items), owner.kind, owner.names)
    given = dict(changes)
    fields: Any = owner.kind.__dataclass_fields__  # pyright: ignore
    for name, field in fields.items():
        form = field._field_type.name
        if form == "_FIELD" and not field.init and name in changes:
            what = f"field {name} is declared with init=False, it cannot be specified with replace()"
            frame.fail(node, what, None, DTypeError)
        if form == "_FIELD" and field.init and name not in changes:
            access = ast.copy_location(ast.Attribute(node, name, ast.Load()), node)
            given[name] = instance_attribute(frame, access, owner)
    return construct(frame, node, owner.kind, [], given)


@dataclasses.dataclass(frozen=True)
class _Own:
    """A method that is not read: what it compiles to."""

    compile: Any


def _as_dict(frame: Frame, node: ast.expr, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    (owner,) = args
    assert isinstance(owner, Group)
    return Group(owner.items, dict, owner.names)


def _replace(frame: Frame, node: ast.expr, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    return replaced(frame, node, args[0], kwargs)


_OF_NAMED_TUPLES = {"_replace": _Own(_replace), "_asdict": _Own(_as_dict)}


# ---- attributes -------------------------------------------------------------------------------------


def instance_attribute(frame: Frame, node: ast.Attribute, owner: Group) -> Value:
    """`owner.name`: an attribute of the object, or what its class has."""
    name, kind = node.attr, owner.kind
    if kind in (slice, Spec) and owner.names is not None and name in owner.names:
        return owner.items[owner.names.index(name)]
    if not is_class(kind):
        return container_method(frame, node, owner)
    found = outside.class_attribute(kind, name)
    is_own = owner.names is not None and name in owner.names
    if isinstance(found, property) or not is_own:
        return _of_class(frame, node, owner, found)
    assert owner.names is not None
    return owner.items[owner.names.index(name)]


def _of_class(frame: Frame, node: ast.Attribute, owner: Value, found: Any) -> Value:
    """`owner.name` where the class has it: a method is bound to the object, a property is compiled as a call."""
    name = node.attr
    kind: Any = owner.kind if isinstance(owner, Group) else outside.class_of(owner.raw)  # pyright: ignore
    if found is Absent or isinstance(found, MemberDescriptorType | GetSetDescriptorType):
        return _absent(frame, node, owner, kind)
    if isinstance(found, np.ndarray):
        return outside.found(kind, Step.ATTRIBUTE, name, found)
    frame.captured.note(kind, Step.ATTRIBUTE, name, getattr(kind, name, Absent))
    if isinstance(found, property):
        if found.fget is None:
            frame.fail(
                node,
                f"property '{name}' of '{kind.__name__}' object has no getter",
                None,
                MissingAttributeError,
            )
        return inline(frame, node, found.fget, [owner], {})  # pyright: ignore
    if isinstance(found, staticmethod):
        return Static(found.__func__)
    if isinstance(found, classmethod):
        return Method(Static(kind), name, found.__func__)
    if isinstance(found, cached_property) and isinstance(owner, Group):
        value = stored(frame, inline(frame, node, found.func, [owner], {}))  # pyright: ignore
        now = current(frame, owner)
        assert isinstance(now, Group)
        _store(frame, node, now, name, value)
        return value
    if isinstance(owner, Group) and issubclass(kind, tuple) and name in _OF_NAMED_TUPLES:
        return Method(owner, name, _OF_NAMED_TUPLES[name])
    if isinstance(found, FunctionType) or hasattr(type(found), "lower"):
        return Method(owner, name, found)
    if isinstance(owner, Group) and issubclass(kind, tuple) and has_method(kind, name):
        return Method(owner, name)
    if found is getattr(object, name, None) and callable(found):
        return Method(owner, name, found)
    if isinstance(found, partialmethod):
        frame.fail(node, "a partialmethod is not supported", "write a method that calls the other one")
    return Static(outside.attribute_or_absent(frame, node, kind, name))


def _absent(frame: Frame, node: ast.Attribute, owner: Value, kind: type) -> Value:
    """An attribute that neither the object nor its class has."""
    name = node.attr
    if isinstance(owner, Group) and name in frame.graph.hidden.get(owner.ref or "", ()):
        _refuse_hidden(frame, node, kind, name)
    computed = outside.class_attribute(kind, "__getattr__")
    if isinstance(computed, FunctionType) and not name.startswith("__"):
        frame.captured.read(kind, Step.ATTRIBUTE, "__getattr__")
        return inline(frame, node, computed, [owner, Static(name)], {})
    if name == "__class__":
        return Static(kind)
    if name == "__dict__":
        frame.fail(node, "the attributes of an object as a dict are not supported", "name them: p.x, p.y")
    hint = did_you_mean(name, dir(kind)) or "give it a value in __init__, or in the class"
    frame.fail(node, f"'{kind.__name__}' object has no attribute '{name}'", hint, MissingAttributeError)


def _refuse_hidden(frame: Frame, node: ast.AST, kind: type, name: str) -> NoReturn:
    frame.fail(
        node,
        f"the attribute '{name}' of a {kind.__name__} is of a kind that cannot be passed to compiled code",
        "docs/arguments.md lists what can be passed; read it outside, and pass what it gives",
    )


def has_attribute(frame: Frame, node: ast.AST, owner: Group, name: str) -> bool:
    """`hasattr(owner, name)`."""
    if owner.kind is not dict and owner.names is not None and name in owner.names:
        return True
    if not is_class(owner.kind):
        return has_method(owner.kind, name) or hasattr(owner.kind, name)
    if name in frame.graph.hidden.get(owner.ref or "", ()):
        return True
    if isinstance(outside.class_attribute(owner.kind, "__getattr__"), FunctionType):
        frame.fail(
            node,
            f"whether {describe(owner)} has the attribute '{name}' is up to its __getattr__",
            "read the attribute itself",
        )
    found = outside.class_attribute(owner.kind, name)
    if isinstance(found, MemberDescriptorType):
        return False
    frame.captured.note(owner.kind, Step.ATTRIBUTE, name, getattr(owner.kind, name, Absent))
    return found is not Absent


def set_attribute(frame: Frame, node: ast.expr, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    group = _changeable(frame, node, owner, name, "assign to")
    found = outside.class_attribute(group.kind, name)
    if isinstance(found, property):
        frame.captured.read(group.kind, Step.ATTRIBUTE, name)
        if found.fset is None:
            what = f"property '{name}' of '{group.kind.__name__}' object has no setter"
            frame.fail(node, what, None, MissingAttributeError)
        inline(frame, node, found.fset, [group, value], {})  # pyright: ignore
        return
    if is_frozen(group.kind):
        frame.fail(node, f"cannot assign to field '{name}'", "use dataclasses.replace", MissingAttributeError)
    _store(frame, node, group, name, value)


def delete_attribute(frame: Frame, node: ast.expr, owner: Value, name: str) -> None:
    """`del owner.name`."""
    group = _changeable(frame, node, owner, name, "delete")
    found = outside.class_attribute(group.kind, name)
    if isinstance(found, property):
        frame.captured.read(group.kind, Step.ATTRIBUTE, name)
        if found.fdel is None:
            what = f"property '{name}' of '{group.kind.__name__}' object has no deleter"
            frame.fail(node, what, None, MissingAttributeError)
        inline(frame, node, found.fdel, [group], {})  # pyright: ignore
        return
    if is_frozen(group.kind):
        frame.fail(node, f"cannot delete field '{name}'", "use dataclasses.replace", MissingAttributeError)
    _remove(frame, node, group, name)


def _remove(frame: Frame, node: ast.AST, group: Group, name: str) -> None:
    assert group.names is not None
    if name in frame.graph.hidden.get(group.ref or "", ()):
        _refuse_hidden(frame, node, group.kind, name)
    if name not in group.names:
        what = f"'{group.kind.__name__}' object has no attribute '{name}'"
        frame.fail(node, what, None, MissingAttributeError)
    kept = [(n, item) for n, item in zip(group.names, group.items, strict=True) if n != name]
    change(frame, node, group, [item for _, item in kept], [n for n, _ in kept])


def _changeable(frame: Frame, node: ast.expr, owner: Value, name: str, verb: str) -> Group:
    """The object as a group whose attributes can be changed."""
    if has_attributes(owner) and isinstance(owner, Static):
        if not frame.graph.spreads_objects:
            raise Respecialise(objects=True, why=f"the attribute '{name}' of an argument is changed")
        frame.fail(
            node,
            f"changing the attribute '{name}' of a {type(owner.raw).__name__} from outside is not supported",
            "pass it as an argument, or return the value and assign it where the function is called",
        )
    if isinstance(owner, Static) and isinstance(owner.raw, type):
        frame.fail(
            node,
            f"changing the attribute '{name}' of the class {owner.raw.__name__} is not supported",
            "return the value, and assign it where the function is called",
        )
    if not isinstance(owner, Group):
        what = f"cannot {verb} the attribute '{name}' of {describe(owner)} in compiled code"
        frame.fail(node, what, "return the value instead")
    now = current(frame, owner)
    assert isinstance(now, Group)
    if issubclass(now.kind, tuple) and is_record(now.kind):
        frame.fail(node, "can't set attribute", "use _replace", MissingAttributeError)
    if not is_class(now.kind):
        what = f"{describe(now)} has no attribute '{name}' to {verb}"
        frame.fail(node, what, None, MissingAttributeError)
    why = why_not_ordinary(now.kind)
    if why is not None:
        frame.fail(node, f"changing a {now.kind.__name__} is not supported: {why}")
    return now


def refuse_outside(frame: Frame, node: ast.AST, what: str) -> NoReturn:
    """Refuse to change a list or another object from outside; one in an object of the arguments comes with that."""
    if not frame.graph.spreads_objects:
        raise Respecialise(objects=True, why=f"{what} in an argument is changed")
    frame.fail(
        node,
        f"changing {what} from outside the function is not supported",
        "pass it as an argument: the caller sees what is changed",
    )


def _store(frame: Frame, node: ast.AST, owner: Group, name: str, value: Value) -> None:
    """Give an object an attribute, whatever its class says."""
    now = current(frame, owner)
    assert isinstance(now, Group) and now.names is not None
    kind = now.kind
    if now.ref is None:
        what = f"changing {describe(now)} that is one of several objects is not supported"
        frame.fail(node, what, "change it on each path")
    found = outside.class_attribute(kind, name)
    if (
        found is not Absent
        and not isinstance(found, MemberDescriptorType)
        and hasattr(type(found), "__set__")
    ):
        what = f"assigning to '{name}', which is {type(found).__name__} in the class {kind.__name__}, is not supported"
        frame.fail(node, what)
    if not kind.__dictoffset__ and not isinstance(found, MemberDescriptorType):
        what = f"'{kind.__name__}' object has no attribute '{name}'"
        frame.fail(node, what, "name it in __slots__", MissingAttributeError)
    if name in now.names:
        items = list(now.items)
        items[now.names.index(name)] = value
        return change(frame, node, now, items)
    change(frame, node, now, (*now.items, value), (*now.names, name))


def _set_by_name(frame: Frame, node: ast.expr, function: Any, args: Sequence[Value]) -> Value:
    """`object.__setattr__(owner, name, value)`, also of a frozen dataclass that is being made."""
    owner, name = args[0], args[1].raw if isinstance(args[1], Static) else None
    if not isinstance(name, str):
        frame.fail(node, "the name of an attribute must be known at compile time", "write p.name = value")
    group = _changeable(frame, node, owner, name, "assign to")
    if group.ref is None:
        what = f"changing a {group.kind.__name__}, which is frozen, after it was made is not supported"
        frame.fail(node, what, "use dataclasses.replace")
    if function is object.__delattr__:
        _remove(frame, node, group, name)
    else:
        _store(frame, node, group, name, args[2])
    return Static(None)


# ---- methods ----------------------------------------------------------------------------------------


def super_attribute(frame: Frame, node: ast.Attribute, owner: Super) -> Value:
    """`super().name`."""
    value = owner.owner
    kind: Any = value.raw if isinstance(value, Static) else value.kind  # pyright: ignore
    is_of_class = isinstance(kind, type) and isinstance(value, Static)
    kind = kind if isinstance(kind, type) else outside.class_of(kind)
    order = kind.__mro__
    rest = order[order.index(owner.after) + 1 :]
    found = next((vars(base)[node.attr] for base in rest if node.attr in vars(base)), Absent)
    base = next((base for base in rest if node.attr in vars(base)), None)
    if base is None:
        message = f"'super' object has no attribute '{node.attr}'"
        frame.fail(node, message, None, MissingAttributeError)
    if isinstance(found, np.ndarray):
        return outside.found(base, Step.ATTRIBUTE, node.attr, found)
    if not is_own(base):
        frame.captured.note(base, Step.ATTRIBUTE, node.attr, getattr(base, node.attr))
    if isinstance(found, classmethod):
        return Method(Static(kind), node.attr, found.__func__)
    if is_of_class:
        return Static(getattr(base, node.attr))
    if isinstance(found, property):
        return inline(frame, node, found.fget, [value], {})  # pyright: ignore
    if isinstance(found, staticmethod):
        return Static(found.__func__)
    if callable(found):
        return Method(value, node.attr, found)
    return Static(found)


def special_method(frame: Frame, value: Value, name: str) -> Any:
    """A method that operators call, of the class of an object; None where it is not Python of the program."""
    kind = value.kind if isinstance(value, Group) else outside.class_of(value.raw)  # pyright: ignore
    found = outside.class_attribute(kind, name)
    if found is Absent or not (isinstance(found, FunctionType) or hasattr(type(found), "lower")):
        return None
    frame.captured.note(kind, Step.ATTRIBUTE, name, getattr(kind, name))
    return found
