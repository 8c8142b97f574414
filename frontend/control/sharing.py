"""Who else sees an array: another name, an item of an object, the caller of the function.

def step(y):            `y` may be an array that the caller goes on with
    x = y               two names of one array
    rows = [y]          an item that is the same array
"""

from __future__ import annotations

from ..frame.frame import Frame
from ..values.values import Array, Buffer, Group, Value, memory_of


def arrays_in(variables: dict[str, Value]) -> dict[str, Array]:
    """The arrays of variables, and of what they consist of: `p[0]` by that name."""
    found: dict[str, Array] = {}
    for name, value in variables.items():
        _collect(name, value, found)
    return found


def _collect(name: str, value: Value, found: dict[str, Array]) -> None:
    if isinstance(value, Array):
        found[name] = value
    elif isinstance(value, Group):
        for k, item in enumerate(value.items):
            _collect(f"{name}[{k}]", item, found)


def shown(name: str) -> str:
    """How a message speaks of an array of `arrays_in`."""
    return "this array" if name.startswith(".") else f"'{name}'"


def other_owner(frame: Frame, name: str, buffer: Buffer, variables: dict[str, Value]) -> str | None:
    """Who sees what is written to the array `name` of `variables`, but itself; None when nobody does."""
    memory = memory_of(buffer)
    if memory.argument is not None:
        return "the caller sees what is written to it"
    for other, array in arrays_in(variables).items():
        if other != name and memory_of(array.buffer) is memory:
            holder = f"'{other}'" if other.isidentifier() else "an item of an object"
            return f"{holder} is the same array"
    if memory.serial < frame.entered:
        return "the function's caller sees what is written to it"
    return None
