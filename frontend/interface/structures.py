"""Arguments and results that consist of others: tuples, lists, dicts, NamedTuples and dataclasses of arrays and numbers.

An argument `p = Params(w, b)` crosses the boundary as its structure, which is part of what a specialisation depends on,
and its leaves `p_w` and `p_b`. Nothing here imports xDSL: calls go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...dialects.records import record
from .ordinary import is_ordinary
from .spec import ScalarSpec, Spec

LEAVES = frozenset((np.ndarray, int, float, bool, str, type(None), Spec, ScalarSpec))
"""Types that are certainly not structures."""


@record
class Structure:
    """The class of a structured value, its keys or field names, and the structures in it; None for a leaf."""

    kind: type
    names: tuple[Any, ...] | None
    items: tuple[Structure | None, ...]

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
        from dataclasses import fields

        names = tuple([f.name for f in fields(kind)])
        return names, [getattr(value, name) for name in names]
    return None


def is_spread(value: Any) -> bool:
    """Whether an argument enters by its leaves. Tuples without arrays are constants, such as shapes."""
    if type(value) in LEAVES:
        return False
    parts = parts_of(value)
    if parts is None:
        return False
    return type(value) is not tuple or any(map(_is_run_time, parts[1]))


def _is_run_time(value: Any) -> bool:
    return isinstance(value, np.ndarray | Spec | ScalarSpec) or is_spread(value)


def spread(name: str, value: Any, taken: set[str]) -> tuple[Structure, list[tuple[str, Any]]]:
    """The structure of a value, and its leaves with names that are not `taken`."""
    leaves: list[tuple[str, Any]] = []
    parts = parts_of(value)
    assert parts is not None
    names, values = parts
    items: list[Structure | None] = []
    for k, item in enumerate(values):
        inner = f"{name}_{_identifier(k if names is None else names[k])}"
        if parts_of(item) is not None and type(item) not in LEAVES:
            structure, more = spread(inner, item, taken)
            items.append(structure)
            leaves += more
            continue
        while inner in taken:
            inner += "_"
        taken.add(inner)
        items.append(None)
        leaves.append((inner, item))
    return Structure(type(value), names, tuple(items)), leaves


def _identifier(key: Any) -> str:
    return "".join([c if c.isalnum() else "_" for c in str(key)])
