"""Arguments and results that consist of others: tuples, lists, dicts, NamedTuples, dataclasses and objects of classes.

An argument `p = Params(w, b)` crosses the boundary as its structure, which is part of what a specialisation depends on,
and its leaves `p_w` and `p_b`. Lists, dicts and objects have numbers, so that one which is in two places of the arguments is
known to be one. Nothing here imports xDSL: calls go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...dialects.records import record
from .errors import UnsupportedError
from .ordinary import attributes_of, is_ordinary
from .spec import ScalarSpec, Spec
from .static_values import why_refused


class Maybe:
    """The class of a result that is None where the first of its two items is False, and else the second one."""

    def __new__(cls, items: Sequence[Any]) -> Any:
        given, value = items
        return value if given else None


class Which:
    """The class of a result that is an object of the caller on some paths: the first item says which of those behind the
    second one, -1 that it is the second one."""

    def __new__(cls, items: Sequence[Any]) -> Any:
        number, made, *given = items
        return made if number < 0 else given[number]


LEAVES = frozenset((np.ndarray, int, float, bool, str, type(None), Spec, ScalarSpec))
"""Types that are certainly not structures."""


@record
class Structure:
    """The class of a structured value, its keys or attributes, and the structures in it; None for a leaf.

    `number` counts the lists, dicts and objects of a call; `hidden` are attributes that cannot be passed.
    """

    kind: type
    names: tuple[Any, ...] | None
    items: tuple[Structure | Again | None, ...]
    number: int | None = None
    hidden: tuple[str, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return sum(1 if item is None else item.leaves for item in self.items)

    def built(self, leaves: Iterator[Any], make: Callable[[Structure, list[Any]], Any]) -> Any:
        """The value whose leaves these are; `make` puts the items of one structure together."""
        items = [next(leaves) if item is None else item.built(leaves, make) for item in self.items]
        return make(self, items)

    def __repr__(self) -> str:
        parts = ["." if item is None else repr(item) for item in self.items]
        if self.names is not None:
            parts = [f"{name}={part}" for name, part in zip(self.names, parts, strict=True)]
        return f"{self.kind.__name__}({', '.join(parts)})"


@record
class Again:
    """A list, dict or object that is in the arguments before: its number."""

    number: int

    @property
    def leaves(self) -> int:
        """It has none of its own."""
        return 0

    def built(self, leaves: Iterator[Any], make: Callable[[Any, list[Any]], Any]) -> Any:
        """What `make` gives for it."""
        return make(self, [])


class Seen:
    """The lists, dicts and objects of one call, by their numbers."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()

    def number_of(self, value: Any) -> int | None:
        """The number of an object that was met before."""
        return self._numbers.get(id(value))

    def enter(self, value: Any) -> int:
        """Count an object, whose items follow."""
        number = self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        self._open.add(number)
        return number

    def leave(self, number: int) -> None:
        """The items of an object have been seen."""
        self._open.discard(number)

    def is_open(self, number: int) -> bool:
        """Whether what is looked at is in this object."""
        return number in self._open


def build(kind: type, names: Sequence[Any] | None, items: Sequence[Any]) -> Any:
    """A tuple, list, dict, NamedTuple, or object of a class, of which no code runs."""
    if names is None:
        return kind(items)
    if kind is dict:
        return dict(zip(names, items, strict=True))
    if not _is_dataclass(kind) and not is_ordinary(kind):
        return kind(*items)
    result = object.__new__(kind)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(result, name, item)
    return result


def _is_dataclass(kind: type) -> bool:
    """What `dataclasses.is_dataclass` says, which need not be imported for classes that are none."""
    return hasattr(kind, "__dataclass_fields__")


def parts_of(value: Any) -> tuple[tuple[Any, ...] | None, Sequence[Any]] | None:
    """The names and items of a structured value; None for others."""
    kind = type(value)
    if kind in (tuple, list):
        return None, value
    if kind is dict:
        return tuple(value), list(value.values())
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields), value  # pyright: ignore
    if _is_dataclass(kind):
        found = attributes_of(value)
        return tuple(found), list(found.values())
    return None


def with_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """A structured value whose items are what `change` gives for each; the value itself where all stay."""
    parts = None if type(value) in LEAVES else parts_of(value)
    if parts is None:
        return value
    names, items = parts
    made = [change(item) for item in items]
    if all(new is old for new, old in zip(made, items, strict=True)):
        return value
    return build(type(value), names, made)


def is_spread(value: Any, objects: bool = False) -> bool:
    """Whether an argument enters by its leaves. Tuples without arrays are constants, such as shapes; objects of classes are
    constants too, unless `objects` are asked for."""
    if type(value) in LEAVES:
        return False
    parts = parts_of(value)
    if parts is None:
        return objects and is_ordinary(type(value))
    return type(value) is not tuple or any(_is_run_time(item, objects) for item in parts[1])


def _is_run_time(value: Any, objects: bool) -> bool:
    is_array = isinstance(value, np.ndarray | Spec | ScalarSpec) or hasattr(type(value), "__dlpack__")
    return is_array or is_spread(value, objects)


def spread(
    name: str, value: Any, taken: set[str], seen: Seen, objects: bool = False
) -> tuple[Structure | Again, list[tuple[str, Any]]]:
    """The structure of a value, and its leaves with names that are not `taken`.

    Raises UnsupportedError for an object that contains itself.
    """
    kind = type(value)
    number = seen.number_of(value)
    if number is not None:
        if seen.is_open(number):
            raise UnsupportedError(
                f"argument '{name}': a {kind.__name__} that contains itself cannot be passed to compiled code"
            )
        return Again(number), []
    parts, hidden = parts_of(value), ()
    if parts is None:
        parts, hidden = _attributes(value)
    names, values = parts
    leaves: list[tuple[str, Any]] = []
    items: list[Structure | Again | None] = []
    if not issubclass(kind, tuple):
        number = seen.enter(value)
    for k, item in enumerate(values):
        inner = f"{name}_{_identifier(k if names is None else names[k])}"
        if _has_parts(item, objects):
            structure, more = spread(inner, item, taken, seen, objects)
            items.append(structure)
            leaves += more
            continue
        while inner in taken:
            inner += "_"
        taken.add(inner)
        items.append(None)
        leaves.append((inner, item))
    if number is not None:
        seen.leave(number)
    return Structure(kind, names, tuple(items), number, hidden), leaves


def _has_parts(value: Any, objects: bool) -> bool:
    if type(value) in LEAVES:
        return False
    return parts_of(value) is not None or (objects and is_ordinary(type(value)))


def _attributes(value: Any) -> tuple[tuple[tuple[str, ...], list[Any]], tuple[str, ...]]:
    """The attributes of an object that can be passed, and the names of the others."""
    found = attributes_of(value)
    hidden = tuple([name for name, item in found.items() if not _can_be_passed(item)])
    passed = {name: item for name, item in found.items() if name not in hidden}
    return (tuple(passed), list(passed.values())), hidden


def _can_be_passed(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return type(value) in (np.ndarray, np.memmap) and value.dtype.kind != "O" and value.dtype.isnative
    if type(value) is int:
        return -(1 << 63) <= value < 1 << 63
    if type(value) in LEAVES:
        return True
    parts = parts_of(value)
    if parts is not None:
        return all(map(_can_be_passed, parts[1]))
    return is_ordinary(type(value)) or why_refused(value) is None


def _identifier(key: Any) -> str:
    return "".join([c if c.isalnum() else "_" for c in str(key)])
