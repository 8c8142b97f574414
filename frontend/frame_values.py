"""Whether a global that was compiled in has changed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .source import FunctionSource


class Captured(dict[tuple[Any, str], Any]):
    """What a function read from outside while it was compiled, by who read it and the name: calls look at it again.

    `read` is what they do not look at again: attributes of modules that are no numbers. `unkeyed` says what the compilation
    depended on that another process cannot find again, if anything.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[tuple[Any, str], Any] = {}
        self.unkeyed: str | None = None


class Absent:
    """Stands for the value of a name that was looked for and not found."""


_BY_VALUE = (bool, int, float, complex, str, type(None), np.generic)


def unchanged(source: FunctionSource | ModuleType, name: str, value: Any) -> bool:
    """Whether `name`, looked up from a function or in a module, still gives the same object or an equal scalar."""
    try:
        present = source.lookup(name) if isinstance(source, FunctionSource) else getattr(source, name)
    except (KeyError, ValueError, AttributeError):
        return False
    return is_same(present, value)


def is_same(present: Any, value: Any) -> bool:
    """Whether what was found is the object that was compiled in, or an equal scalar."""
    if present is value:
        return True
    return type(present) is type(value) and isinstance(value, _BY_VALUE) and repr(present) == repr(value)
