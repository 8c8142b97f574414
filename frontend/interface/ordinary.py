"""Which classes are ordinary: an object of one is its attributes, and its methods are Python of the program.

class P: ...                   ordinary
class Q(P, Generic[T]): ...    ordinary: so are its bases, or they hold nothing
class R(dict): ...             not: it holds what no attribute shows
"""

from __future__ import annotations

from abc import ABC, ABCMeta
from types import FunctionType, MemberDescriptorType
from typing import Any, Generic, Protocol

from .versioned import is_own

_HEAP_TYPE = 1 << 9
_EMPTY = (object, ABC, Generic, Protocol)
"""Bases that hold nothing and compute nothing."""

_METACLASSES = (type, ABCMeta, type(Protocol))
_ACCESS = ("__new__", "__setattr__", "__delattr__", "__getattribute__", "__del__")


def is_ordinary(kind: Any) -> bool:
    """Whether it is an ordinary class."""
    return why_not_ordinary(kind) is None


def why_not_ordinary(kind: Any) -> str | None:
    """Why objects of a class are more than their attributes, or its code changes them; None where it is ordinary."""
    if not isinstance(kind, type) or not kind.__flags__ & _HEAP_TYPE or is_own(kind):
        return "it is not a class of the program"
    if type(kind) not in _METACLASSES:
        return f"its metaclass {type(kind).__name__} is not compiled"
    for base in kind.__mro__:
        if base in _EMPTY:
            continue
        if is_own(base) or not base.__flags__ & _HEAP_TYPE:
            return f"it is a {base.__name__}"
        for name in _ACCESS:
            if name in vars(base) and not is_generated(vars(base)[name]):
                return f"it has {'an' if name == '__init__' else 'a'} {name} of its own"
    return None


_NO_FILES = ("<string>", "<dynamic-code>")
"""The file of texts that Python compiles; cloudpickle's name for all files."""


def is_generated(function: Any) -> bool:
    """Whether `dataclass` or `NamedTuple` wrote a method.

    Other functions that `exec` makes have the same file, and may be anything.
    """
    if not isinstance(function, FunctionType) or function.__code__.co_filename not in _NO_FILES:
        return False
    name = function.__globals__.get("__name__")
    is_of_tuple = isinstance(name, str) and name.startswith("namedtuple_")
    return is_of_tuple or function.__code__.co_qualname.startswith("__create_fn__.<locals>.")


def is_frozen(kind: type) -> bool:
    """Whether it is a dataclass whose fields cannot be assigned to."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def slots_of(kind: type) -> list[str]:
    """The attributes that have a place of their own in each object."""
    return [
        name
        for base in reversed(kind.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    ]


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes that an object has itself, those of slots first."""
    found = {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}
