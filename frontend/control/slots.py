"""Numbers in objects, which loops over elements carry as they carry variables: the attribute `p.x`, the item `acc[0]`.

for i in range(n):       ".slot .object1 0", the first attribute of `p`, lives in a buffer of rank 0 while
    p.x += a[i]          the loop runs; the other attributes stay what they are
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..frame.frame import Frame
from ..frame.objects import is_ref
from ..values.values import Group, Value
from .same_values import is_same

_PREFIX = ".slot "


def is_slot(name: str) -> bool:
    """Whether it names a number in an object, and no variable."""
    return name.startswith(_PREFIX)


def name_of(ref: str, place: int) -> str:
    """The name of an item of the object with this ref."""
    return f"{_PREFIX}{ref} {place}"


def owner_of(name: str) -> str:
    """The ref of the object."""
    return name.split(" ")[1]


def place_of(name: str) -> int:
    """Which item of the object it is."""
    return int(name.split(" ")[2])


def get(frame: Frame, name: str) -> Value:
    """The value of a variable, or of a number in an object."""
    if not is_slot(name):
        return frame.variables[name]
    content = frame.variables[owner_of(name)]
    assert isinstance(content, Group)
    return content.items[place_of(name)]


def put(frame: Frame, name: str, value: Value) -> None:
    """Give a variable, or a number in an object, its value."""
    if not is_slot(name):
        frame.variables[name] = value
        return
    content = frame.variables[owner_of(name)]
    assert isinstance(content, Group)
    items = list(content.items)
    items[place_of(name)] = value
    frame.variables[owner_of(name)] = replace(content, items=tuple(items))


def title(frame: Frame, name: str) -> str:
    """What the variable, attribute or item is called."""
    if not is_slot(name):
        return name
    content = frame.variables.get(owner_of(name))
    names = content.names if isinstance(content, Group) else None
    return str(names[place_of(name)]) if names else "item"


def different(ref: str, a: Value, b: Value) -> list[str] | None:
    """The numbers of an object that differ between two of its contents; None where more than items differs."""
    if not isinstance(a, Group) or not isinstance(b, Group):
        return None
    if a.kind is not b.kind or a.names != b.names or len(a.items) != len(b.items):
        return None
    pairs = enumerate(zip(a.items, b.items, strict=True))
    return [name_of(ref, k) for k, (x, y) in pairs if not is_same(x, y)]


def changed(before: Mapping[str, Value], now: Mapping[str, Value]) -> dict[str, list[str] | None]:
    """The objects of `before` that have another content by now, and which numbers in them are others."""
    return {
        ref: different(ref, value, now.get(ref, value))
        for ref, value in before.items()
        if is_ref(ref) and now.get(ref) is not value
    }
