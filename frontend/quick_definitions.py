"""The definition of a dataclass in a third of the steps of `dataclasses`, where it has nothing unusual.

`dataclasses._process_class` takes 60 to 90 us for a class, and a first call imports some 300 of them. What is unusual
(`kw_only`, `slots`, `order`, an `InitVar`, an error) is left to it, before anything of the class has changed.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MISSING: Any = dataclasses.MISSING
_FIELDS = "__dataclass_fields__"
_PARAMETERS = "__dataclass_params__"
_FIELD: Any = getattr(dataclasses, "_FIELD", None)
_CLASS_VARIABLE: Any = getattr(dataclasses, "_FIELD_CLASSVAR", None)
_Parameters: Any = getattr(dataclasses, "_DataclassParams", None)
_GENERIC: Any = getattr(typing, "_GenericAlias", None)


def is_defined(
    cls: Any, options: Sequence[bool], methods: Mapping[str, Callable[..., Any]], doc: Callable[[], Any]
) -> bool:
    """Define a dataclass with the options of `_process_class` in their order; False where that is left to it.

    `methods` has the functions of `dataclasses` that make methods, by their names there.
    """
    init, repr_, eq, order, unsafe_hash, frozen, match_args, kw_only, slots, weakref_slot = options
    own = cls.__dict__
    if order or unsafe_hash or kw_only or slots or weakref_slot:
        return False
    if frozen and ("__setattr__" in own or "__delattr__" in own):
        return False
    inherited = _inherited(cls, frozen)
    new = _own_fields(cls, own) if inherited is not None else None
    if inherited is None or new is None:
        return False

    for field in new:
        if type(own.get(field.name)) is dataclasses.Field:
            if field.default is _MISSING:
                delattr(cls, field.name)
            else:
                setattr(cls, field.name, field.default)
    fields = {**inherited, **{field.name: field for field in new}}
    plain = [field for field in fields.values() if field._field_type is _FIELD]
    positional = [field for field in plain if field.init]
    had_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    version = options if sys.version_info >= (3, 12) else options[:6]
    setattr(cls, _PARAMETERS, _Parameters(*version))
    setattr(cls, _FIELDS, fields)

    def put(name: str, make: Callable[[], Any]) -> None:
        if name not in own:
            method = make()
            if type(method) is types.FunctionType:
                method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)

    namespace = sys.modules[cls.__module__].__dict__
    if init:
        has_post_init = hasattr(cls, "__post_init__")
        itself = "__dataclass_self__" if "self" in fields else "self"
        make_init = methods["_init_fn"]
        put(
            "__init__",
            lambda: make_init(plain, positional, (), frozen, has_post_init, itself, namespace, False),
        )
    if repr_:
        put("__repr__", lambda: methods["_repr_fn"]([field for field in plain if field.repr], namespace))
    if eq:
        names = [field.name for field in plain if field.compare]
        put("__eq__", lambda: methods["_eq_fn"](names))
    if frozen:
        for method in methods["_frozen_get_del_attr"](cls, plain, namespace):
            put(method.__name__, lambda method=method: method)
    if eq and not had_hash:
        cls.__hash__ = _hash(cls, plain, methods["_hash_fn"], namespace) if frozen else None
    if not cls.__doc__:
        cls.__doc__ = doc()
    if match_args and "__match_args__" not in own:
        cls.__match_args__ = tuple([field.name for field in positional])
    methods["update_abstractmethods"](cls)
    return True


def _hash(cls: Any, plain: Sequence[Any], make: Callable[..., Any], namespace: Any) -> Any:
    counted = [field for field in plain if (field.compare if field.hash is None else field.hash)]
    method = make(counted, namespace)
    method.__qualname__ = f"{cls.__qualname__}.__hash__"
    return method


def _inherited(cls: Any, frozen: bool) -> dict[str, Any] | None:
    """The fields of its bases; None where one is unusual, or of the other kind (frozen or not)."""
    fields: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        of_base = base.__dict__.get(_FIELDS)
        if of_base is not None:
            if getattr(base, _PARAMETERS).frozen != frozen:
                return None
            fields.update(of_base)
    for field in fields.values():
        if (field._field_type is not _FIELD and field._field_type is not _CLASS_VARIABLE) or (
            field.kw_only is True
        ):
            return None
    return fields


def _own_fields(cls: Any, own: Mapping[str, Any]) -> list[Any] | None:
    annotations = own.get("__annotations__", {})
    found: list[Any] = []
    for name, annotation in annotations.items():
        kind = _kind(annotation, cls.__module__)
        field = None if kind is None else _field(cls, name, annotation, kind)
        if field is None:
            return None
        found.append(field)
    for name, value in own.items():
        if type(value) is dataclasses.Field and name not in annotations:
            return None
    return found


def _field(cls: Any, name: str, annotation: Any, kind: Any) -> Any:
    """The field of an annotation; None where it is unusual."""
    default = getattr(cls, name, _MISSING)
    if isinstance(default, dataclasses.Field):
        field: Any = default
        if field.kw_only is not _MISSING or (
            kind is _CLASS_VARIABLE and field.default_factory is not _MISSING
        ):
            return None
    else:
        if isinstance(default, types.MemberDescriptorType):
            default = _MISSING
        field = dataclasses.field(default=default)
    if kind is _FIELD:
        if field.default.__class__.__hash__ is None:
            return None
        field.kw_only = False
    field.name, field.type, field._field_type = name, annotation, kind
    return field


def _kind(annotation: Any, module: str) -> Any:
    """What an annotation is for: a field, a variable of the class, or (None) something unusual."""
    if type(annotation) is str:
        head = annotation_head(annotation)
        if head is None:
            return _FIELD
        prefix, name = head
        namespace = sys.modules[module].__dict__
        if prefix:
            owner = namespace.get(prefix)
            if owner is not typing and owner is not dataclasses:
                return _FIELD
            namespace = owner.__dict__
        annotation = namespace.get(name)
    if annotation is typing.ClassVar:
        return _CLASS_VARIABLE
    if type(annotation) is _GENERIC:
        return _CLASS_VARIABLE if annotation.__origin__ is typing.ClassVar else _FIELD
    if annotation is dataclasses.KW_ONLY or annotation is dataclasses.InitVar:
        return None
    return None if type(annotation) is dataclasses.InitVar else _FIELD


@functools.cache
def annotation_head(annotation: str) -> tuple[str | None, str] | None:
    """The module, if any, and the name that the text of an annotation begins with."""
    found = dataclasses._MODULE_IDENTIFIER_RE.match(annotation)  # pyright: ignore
    return found and found.groups()
