"""What a function that is run to be compiled may read outside: everything that its names lead to.

A traced function runs in Python, where nobody sees what it looks at. So all is noted that its code names, and the code of
what it can call: globals and cells, attributes of modules, objects with their attributes, containers and arrays with what
is in them. That is more than what one run reads, and never less, but for attributes and names that are computed as texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..interface.captured import Absent, Captured, Step, can_change
from ..interface.source import FunctionSource
from ..interface.versioned import is_own
from .outside import is_open_object


def note_reachable(captured: Captured, function: Any) -> None:
    """Note what a call of `function` may read. Raises UnsupportedError where that is too much to look at in every call."""
    _Walk(captured).run(function)


class _Walk:
    def __init__(self, captured: Captured):
        self.captured = captured
        self.rest: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.names: set[str] = set()
        self.modules: list[ModuleType] = []
        self.classes: list[type] = []

    def run(self, function: Any) -> None:
        self.rest.append(function)
        while self.rest:
            while self.rest:
                self._visit(self.rest.pop())
            # Names of code that was found since may be attributes of what was found before.
            self._attributes()

    def _visit(self, thing: Any) -> None:
        if id(thing) in self.seen:
            return
        self.seen[id(thing)] = thing
        if isinstance(thing, FunctionType):
            self._function(thing)
        elif isinstance(thing, MethodType):
            self.rest += [thing.__func__, thing.__self__]
        elif isinstance(thing, ModuleType):
            self.modules.append(thing)
        elif isinstance(thing, type):
            self._class(thing)
        elif hasattr(type(thing), "lower") and hasattr(thing, "__wrapped__"):
            self.rest.append(self.captured.read(thing, Step.ATTRIBUTE, "__wrapped__"))
        elif can_change(thing):
            self.captured.whole(thing)
            self.rest += _items(thing)
        elif isinstance(thing, tuple | frozenset):
            self.rest += thing
        elif is_open_object(thing):
            self._object(thing)

    def _function(self, function: FunctionType) -> None:
        if is_own(function):
            return
        self.captured.function(function)
        self.rest += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        source = FunctionSource(function, None, function.__code__.co_filename)  # pyright: ignore
        for code in _codes(function.__code__):
            self.names.update(code.co_names)
            for name in code.co_names:
                self._name(source, name)
        for name in function.__code__.co_freevars:
            self._name(source, name)

    def _name(self, source: FunctionSource, name: str) -> None:
        try:
            value = source.lookup(name)
        except (KeyError, ValueError):
            return
        self.captured.note(source, Step.NAME, name, value)
        self.rest.append(value)

    def _class(self, kind: type) -> None:
        if is_own(kind):
            return
        self.classes.append(kind)
        for base in kind.__mro__:
            if not is_own(base):
                self.rest += [part for value in vars(base).values() for part in _functions(value)]

    def _object(self, thing: Any) -> None:
        self.captured.read(thing, Step.ATTRIBUTE, "__class__")
        self.rest.append(type(thing))
        slots = [name for base in type(thing).__mro__ for name in _slots(base)]
        own = getattr(thing, "__dict__", {})
        if type(own) is dict:
            self.captured.read(own, Step.KEYS)
        for name in (*own, *slots):
            self.rest.append(self.captured.read(thing, Step.ATTRIBUTE, name))

    def _attributes(self) -> None:
        for owner in (*self.modules, *self.classes):
            for name in self.names:
                value = _member(owner, name)
                if value is not Absent:
                    self.captured.note(owner, Step.ATTRIBUTE, name, value)
                    if id(value) not in self.seen:
                        self.rest.append(value)


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, Absent)
    is_there = any(name in vars(base) for base in owner.__mro__ if not is_own(base))
    return getattr(owner, name, Absent) if is_there else Absent


def _items(thing: Any) -> list[Any]:
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)
    fields = getattr(type(thing), "__dataclass_fields__", ())
    return [type(thing), *[getattr(thing, name, None) for name in fields]] if fields else []


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _functions(member: Any) -> list[Any]:
    """The functions that a member of a class consists of."""
    if isinstance(member, FunctionType):
        return [member]
    if isinstance(member, staticmethod | classmethod):
        return [member.__func__]
    if isinstance(member, property):
        return [part for part in (member.fget, member.fset) if part is not None]
    return []


def _slots(base: type) -> tuple[str, ...]:
    slots = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
