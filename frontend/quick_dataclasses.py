"""Dataclasses that are defined quickly: their methods are made without compiling a text for each (`quick_inits.py`)."""

from __future__ import annotations

import abc
import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from threading import get_ident
from typing import Any

from ..runtime.fork_lock import ForkLock
from .quick_definitions import annotation_head, is_defined
from .quick_inits import init_method


class Meanwhile:
    """Functions of a library that others stand for while a compilation runs, in this thread or another."""

    _lock = ForkLock()

    def __init__(self) -> None:
        self._depth = 0
        self._usual: list[tuple[Any, str, Any]] = []

    @contextmanager
    def stands(self, *places: tuple[Any, str, Any]) -> Iterator[None]:
        """A value stands for each attribute `(owner, name, value)`: the first puts it there, the last takes it back."""
        with self._lock:
            if self._depth == 0:
                self._usual = [(owner, name, vars(owner)[name]) for owner, name, _ in places]
                for owner, name, value in places:
                    setattr(owner, name, value)
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    for owner, name, value in self._usual:
                        setattr(owner, name, value)


_dataclasses = Meanwhile()

_IS_KNOWN = sys.implementation.name == "cpython" and sys.version_info[:2] in ((3, 11), (3, 12))
"""Later versions compile one text for a class."""

_usual_comparison: Any = getattr(dataclasses, "_cmp_fn", None)
_usual_process: Any = getattr(dataclasses, "_process_class", None)


@contextmanager
def quick_dataclasses() -> Iterator[None]:
    """Dataclasses that are defined meanwhile have methods that are closures, and an `__init__` that is made when it is used.

    Python 3.11 compiles the text of each `__init__`, `__repr__`, `__eq__`, `__hash__`, `__setattr__` and `__delattr__` of a
    dataclass; xDSL makes one of every attribute. They do the same, also where other threads define classes meanwhile.
    """
    places = ((dataclasses, name, make) for name, make in _QUICK.items())
    with _dataclasses.stands(*(places if _IS_KNOWN else ())):
        yield


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda thing: ()
    only = attrgetter(*names)
    return lambda thing: (only(thing),)


def _repr_method(fields: Sequence[dataclasses.Field], globals: Any) -> Any:
    names = [field.name for field in fields]

    running: set[tuple[int, int]] = set()

    def __repr__(self: Any) -> str:
        me = id(self), get_ident()
        if me in running:
            return "..."
        running.add(me)
        try:
            parts = [f"{name}={getattr(self, name)!r}" for name in names]
        finally:
            running.discard(me)
        return f"{self.__class__.__qualname__}({', '.join(parts)})"

    return __repr__


def _hash_method(fields: Sequence[dataclasses.Field], globals: Any) -> Any:
    if len(fields) == 1:  # most have one: a call less
        only = attrgetter(fields[0].name)

        def __hash__(self: Any) -> int:
            return hash((only(self),))

    else:
        values = _values([field.name for field in fields])

        def __hash__(self: Any) -> int:
            return hash(values(self))

    return __hash__


def _comparison(name: str, operator: str, mine: str, others: str, globals: Any) -> Any:
    if operator != "==":
        return _usual_comparison(name, operator, mine, others, globals)
    # `mine` is the text "(self.a,self.b,)".
    return _eq_method([part.removeprefix("self.") for part in mine.strip("()").split(",") if part])


def _eq_method(names: Sequence[str]) -> Any:
    values = _values(names)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _refusals(cls: type, fields: Sequence[dataclasses.Field], globals: Any) -> Any:
    names = frozenset([field.name for field in fields])

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _is_type(annotation: str, cls: type, module: Any, wanted: Any, is_wanted: Callable[..., bool]) -> bool:
    """Whether an annotation is `ClassVar`, `InitVar` or `KW_ONLY`; most begin like one that was seen before."""
    head = annotation_head(annotation)
    if head is None:
        return False
    prefix, name = head
    namespace = sys.modules[cls.__module__].__dict__
    if prefix:
        if namespace.get(prefix) is not module:
            return False
        namespace = sys.modules[wanted.__module__].__dict__
    return is_wanted(namespace.get(name), module)


class _Abstract:
    """Stands for `abc` in `dataclasses`: what a dataclass adds makes no class abstract that was not."""

    @staticmethod
    def update_abstractmethods(made: Any) -> Any:
        return abc.update_abstractmethods(made) if getattr(made, "__abstractmethods__", None) else made


class _DocOnDemand:
    """The `__doc__` of a dataclass that has none: its signature."""

    def __get__(self, instance: Any, owner: type) -> str:
        try:
            signature = str(inspect.signature(owner)).replace(" -> None", "")
        except (TypeError, ValueError):
            signature = ""
        owner.__doc__ = owner.__name__ + signature
        return owner.__doc__


def _process_class(cls: Any, *options: Any) -> Any:
    if len(options) == 10 and is_defined(cls, options, _METHODS, _DocOnDemand):
        return cls
    if cls.__doc__:
        return _usual_process(cls, *options)
    cls.__doc__ = "-"  # so that none is made
    made = _usual_process(cls, *options)
    made.__doc__ = _DocOnDemand()
    return made


_QUICK = {
    "abc": _Abstract,
    "_is_type": _is_type,
    "_process_class": _process_class,
    "_init_fn": init_method,
    "_repr_fn": _repr_method,
    "_hash_fn": _hash_method,
    "_cmp_fn": _comparison,
    "_frozen_get_del_attr": _refusals,
}
"""Functions of `dataclasses` that make methods, and what it asks of each field and class."""

_METHODS = {**_QUICK, "_eq_fn": _eq_method, "update_abstractmethods": _Abstract.update_abstractmethods}
