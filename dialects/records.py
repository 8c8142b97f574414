"""Records: classes of named fields that do not change, as frozen dataclasses are, for what a first call from the disk needs.

    @record
    class Place:
        file: str
        line: int = 0

    changed(Place("a.py"), line=3)               # Place(file='a.py', line=3)

Importing `dataclasses` and having it compile the methods of a dozen classes takes longer than reading a program from the
disk; the methods here are closures over the names. Compared, hashed and printed by all fields; `eq=False`: by identity.
Defaults are immutable values; there is no inheritance of fields.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, eq: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """The class with `__init__`, `__repr__`, and, unless `eq` is False, `__eq__` and `__hash__`."""
    if cls is None:
        return lambda decorated: record(decorated) if eq else _made(decorated)
    made = _made(cls)
    _compared(made)
    return made


def changed(thing: T, **changes: Any) -> T:
    """A record like `thing`, with other values for some fields."""
    fields = vars(thing)
    if not changes.keys() <= fields.keys():
        raise TypeError(f"{type(thing).__name__} has no field {next(iter(changes.keys() - fields.keys()))!r}")
    made = object.__new__(type(thing))
    vars(made).update(fields, **changes)
    return made


def _made(cls: Any) -> Any:
    names = tuple(cls.__annotations__)
    space = vars(cls)
    places = {name: place for place, name in enumerate(names)}
    defaults = {name: space[name] for name in names if name in space}

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        if named or len(values) != len(names):
            _check(cls, places, defaults, len(values), named)
        fields = vars(self)
        fields.update(defaults)
        fields.update(zip(names, values, strict=False))
        fields.update(named)

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{n}={getattr(self, n)!r}' for n in names])})"

    cls.__init__ = __init__
    cls.__setattr__, cls.__delattr__ = _refuse_set, _refuse_delete
    if "__repr__" not in space:
        cls.__repr__ = __repr__
    return cls


def _check(
    cls: type, places: dict[str, int], defaults: dict[str, Any], count: int, named: dict[str, Any]
) -> None:
    """Raises TypeError for arguments that are not those of the fields, as calls of functions do."""
    if count > len(places):
        raise TypeError(f"{cls.__name__} has {len(places)} fields, got {count} values")
    for name in named:
        if name not in places:
            raise TypeError(f"{cls.__name__} has no field {name!r}")
        if places[name] < count:
            raise TypeError(f"{cls.__name__} got two values for {name!r}")
    for name, place in places.items():
        if place >= count and name not in named and name not in defaults:
            raise TypeError(f"{cls.__name__} got no value for {name!r}")


def _compared(cls: Any) -> None:
    names = tuple(cls.__annotations__)
    get: Callable[[Any], Any] = attrgetter(*names)

    def __eq__(self: Any, other: Any) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(get(self))

    cls.__eq__, cls.__hash__ = __eq__, __hash__


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"cannot assign to field {name!r}: a {type(self).__name__} does not change")


def _refuse_delete(self: Any, name: str) -> None:
    raise AttributeError(f"cannot delete field {name!r}: a {type(self).__name__} does not change")
