"""Dataclasses that are defined quickly: their methods are made without compiling a text for each."""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from threading import get_ident
from typing import Any

from ..runtime.fork_lock import ForkLock


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
_usual_init: Any = getattr(dataclasses, "_init_fn", None)
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
    values = _values([field.name for field in fields])

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _comparison(name: str, operator: str, mine: str, others: str, globals: Any) -> Any:
    if operator != "==":
        return _usual_comparison(name, operator, mine, others, globals)
    # `mine` is the text "(self.a,self.b,)".
    values = _values([part.removeprefix("self.") for part in mine.strip("()").split(",") if part])

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


class _InitOnDemand:
    """Stands for the `__init__` of a dataclass until someone looks at it, which most programs do not for most classes.

    An `__init__` that is called often has to be one that was compiled: a closure would take twice the time.
    """

    def __init__(self, *arguments: Any):
        self._arguments = arguments

    def __get__(self, instance: Any, owner: type) -> Any:
        method = _init_of_shape(*self._arguments)
        for cls in owner.__mro__:
            if cls.__dict__.get("__init__") is self:
                method.__qualname__ = f"{cls.__qualname__}.__init__"
                type.__setattr__(cls, "__init__", method)
        return method.__get__(instance, owner)


def _init_method(
    fields: Sequence[dataclasses.Field], positional: Sequence[dataclasses.Field], *rest: Any
) -> Any:
    *_, has_post_init, _, _, _ = rest
    if not fields and not has_post_init:

        def __init__(self: Any):
            pass

        __init__.__annotations__ = {"return": None}
        return __init__
    optional = [
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        for field in positional
        if field.init
    ]
    if optional != sorted(optional):
        return _usual_init(fields, positional, *rest)  # it says what is wrong
    return _InitOnDemand(fields, positional, *rest)


_FIELD: Any = getattr(dataclasses, "_FIELD", None)
_HAS_FACTORY: Any = getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None)

_shapes: dict[tuple, types.FunctionType] = {}
"""An `__init__` for each shape, its fields called `_0`, `_1` ..."""


def _init_of_shape(
    fields: Sequence[Any],
    positional: Sequence[Any],
    by_name: Sequence[Any],
    frozen: bool,
    has_post_init: bool,
    self_name: str,
    globals: dict[str, Any],
    slots: bool,
) -> Any:
    """The `__init__` that `dataclasses` compiles; of a shape that was had before, the same code with other names.

    Compiling one takes 0.3 ms, giving it other names a tenth of that; of 108, 36 differ in their shapes.
    """
    if len(positional) < len(fields):
        return _usual_init(fields, positional, by_name, frozen, has_post_init, self_name, globals, slots)
    kinds = [(field.default_factory is dataclasses.MISSING, field._field_type is _FIELD) for field in fields]
    shape = (frozen, has_post_init, self_name, *kinds)
    pattern = _shapes.get(shape)
    if pattern is None:
        numbered = [_numbered(k, field) for k, field in enumerate(fields)]
        pattern = _usual_init(numbered, numbered, (), frozen, has_post_init, self_name, {}, slots)
        _shapes[shape] = pattern
    return _with_names(pattern, fields, globals)


def _numbered(number: int, field: Any) -> dataclasses.Field:
    """A field like it that is called `_number`; all have a default, which is not part of the code."""
    has_factory = field.default_factory is not dataclasses.MISSING
    made: Any = dataclasses.field(default_factory=list) if has_factory else dataclasses.field(default=None)
    made.name, made.type, made._field_type = f"_{number}", None, field._field_type
    return made


def _with_names(pattern: types.FunctionType, fields: Sequence[Any], globals: dict[str, Any]) -> Any:
    names: dict[Any, str] = {f"_{k}": field.name for k, field in enumerate(fields)}
    factories = {f"_dflt__{k}": field.default_factory for k, field in enumerate(fields)}
    code = pattern.__code__
    cells = pattern.__closure__ or ()
    made = types.FunctionType(
        code.replace(
            co_varnames=tuple([names.get(name, name) for name in code.co_varnames]),
            co_names=tuple([names.get(name, name) for name in code.co_names]),
            co_consts=tuple([names.get(value, value) for value in code.co_consts]),
        ),
        globals,
        "__init__",
        tuple([_default(field) for field in fields if _default(field) is not dataclasses.MISSING]) or None,
        tuple(
            [
                types.CellType(factories[name]) if name in factories else cell
                for name, cell in zip(code.co_freevars, cells, strict=True)
            ]
        ),
    )
    made.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return made


def _default(field: Any) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else _HAS_FACTORY


@functools.cache
def _head(annotation: str) -> tuple[str | None, str] | None:
    """The module, if any, and the name that the text of an annotation begins with."""
    found = dataclasses._MODULE_IDENTIFIER_RE.match(annotation)  # pyright: ignore
    return found and found.groups()


def _is_type(annotation: str, cls: type, module: Any, wanted: Any, is_wanted: Callable[..., bool]) -> bool:
    """Whether an annotation is `ClassVar`, `InitVar` or `KW_ONLY`; most begin like one that was seen before."""
    head = _head(annotation)
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
    "_init_fn": _init_method,
    "_repr_fn": _repr_method,
    "_hash_fn": _hash_method,
    "_cmp_fn": _comparison,
    "_frozen_get_del_attr": _refusals,
}
"""Functions of `dataclasses` that make methods, and what it asks of each field and class."""
