"""The numbers and arrays in an argument or a result, each with the path that names it, and the same structure again.

{"w": w, "b": [b, None]}   ->   params['w'], params['b'][0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...dialects.nt.types import kind_of
from ..frame.frame import Frame
from ..frame.objects import current
from ..interface.errors import Respecialise
from ..interface.ordinary import is_ordinary
from ..interface.structures import parts_of
from ..values.graph import element_type
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES
from ..values.values import Group, Lazy, Masked, Rows, Static, Value, is_number

Leaf = tuple[str, Value]


def spread(frame: Frame, value: Value) -> Value:
    """A structure from outside, or one of constants, as one of values; others as they are, with their present contents."""
    if isinstance(value, Static) and not is_number(value):
        kind = type(value.raw)
        parts = None if kind is np.ndarray else parts_of(value.raw)
        if parts is not None:
            names, items = parts
            return Group(tuple([Static(item) for item in items]), kind, names)
        if is_ordinary(kind) and not frame.graph.spreads_objects:
            raise Respecialise(objects=True, why=f"an object of the class {kind.__name__} is differentiated")
    if isinstance(value, Masked):
        return frame.graph.language.settled(frame.graph, value)
    return current(frame, value) if isinstance(value, Group | Rows) else value


def leaves_of(frame: Frame, value: Value, path: str) -> list[Leaf]:
    """What a value consists of, in order. None has no leaves; what is no structure is a leaf."""
    return [(name, leaf) for name, leaf, _ in leaves_in_objects(frame, value, path)]


def leaves_in_objects(
    frame: Frame, value: Value, path: str, inside: bool = False
) -> list[tuple[str, Value, bool]]:
    """The leaves of a value, and whether each is in an object of a class, as one of its attributes or inside of one."""
    value = spread(frame, value)
    if isinstance(value, Static) and value.raw is None:
        return []
    if not isinstance(value, Group):
        return [(path, value, inside)]
    inside = inside or not issubclass(value.kind, tuple | list | dict)
    return [
        leaf
        for name, item in _named_items(value)
        for leaf in leaves_in_objects(frame, item, _inner(value, path, name), inside)
    ]


def like(frame: Frame, value: Value, leaves: Iterator[Value]) -> Value:
    """The structure of `value` with other leaves."""
    value = spread(frame, value)
    if isinstance(value, Static) and value.raw is None:
        return value
    if not isinstance(value, Group):
        return next(leaves)
    return replace(value, items=tuple([like(frame, item, leaves) for item in value.items]), ref=None)


def _named_items(group: Group) -> list[tuple[Any, Value]]:
    names = range(len(group.items)) if group.names is None else group.names
    return list(zip(names, group.items, strict=True))


def _inner(group: Group, path: str, name: Any) -> str:
    is_attribute = group.names is not None and group.kind is not dict
    return f"{path}.{name}" if is_attribute else f"{path}[{name!r}]"


def mismatch(
    frame: Frame, one: Value, other: Value, path: str, check: Callable[[str, Value, Value], str | None]
) -> str | None:
    """What differs between two structures: their forms, or what `check` says of two leaves; None where nothing does."""
    one, other = spread(frame, one), spread(frame, other)
    is_nothing = [isinstance(v, Static) and v.raw is None for v in (one, other)]
    if all(is_nothing):
        return None
    if isinstance(one, Group) != isinstance(other, Group) or any(is_nothing):
        return f"{path} is {_form(other)} instead of {_form(one)}"
    if not isinstance(one, Group) or not isinstance(other, Group):
        return check(path, one, other)
    if one.kind is not other.kind or one.names != other.names or len(one.items) != len(other.items):
        return f"{path} is {_form(other)} instead of {_form(one)}"
    pairs = zip(_named_items(one), other.items, strict=True)
    found = (mismatch(frame, a, b, _inner(one, path, name), check) for (name, a), b in pairs)
    return next((text for text in found if text is not None), None)


def _form(value: Value) -> str:
    if isinstance(value, Group):
        keys = "" if value.names is None else f" with {', '.join(map(str, value.names))}"
        return f"a {value.kind.__name__} of {len(value.items)}{keys}"
    if isinstance(value, Static) and value.raw is None:
        return "None"
    return "a number or an array"


def dtype_of_number(frame: Frame, value: Value) -> np.dtype | None:
    """The element type of a number or an array; None for what is neither."""
    if not is_number(value) or isinstance(value, Lazy):
        return None
    kind = number_kind(frame.graph, value)
    return WEAK_DTYPES[kind] if isinstance(kind, type) else kind


def kind_of_number(frame: Frame, value: Value) -> str:
    """`f` for floats, `c` for complex numbers, another letter for others; "" for what is no number."""
    dtype = dtype_of_number(frame, value)
    return "" if dtype is None else kind_of(element_type(dtype))
