"""Which code changes with a version only: Nestor's, NumPy's and Python's own."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

PACKAGE = __name__.rsplit(".", 3)[0]
"""The name that this package was imported by."""

_ITSELF = frozenset(("analysis", "dialects", "frontend", "lowering", "runtime", "transforms"))


def is_versioned(module: str | None) -> bool:
    """Whether a module is Nestor's, NumPy's or Python's own, which do not change while their versions are the same."""
    if not module:
        return False
    first, _, rest = module.partition(".")
    if module.startswith(f"{PACKAGE}."):
        return module[len(PACKAGE) + 1 :].partition(".")[0] in _ITSELF
    return (
        first in ("numpy", "ml_dtypes")
        or (first in sys.stdlib_module_names and module != "__main__" and not rest)
        or (first in ("collections", "concurrent", "importlib"))
    )


def is_own(thing: Any) -> bool:
    """Whether a class or function is Nestor's, NumPy's or Python's own: by the module that it names, and is in.

    The name alone says nothing: of a class that `exec` makes without one it is that of builtins, and functools.wraps gives
    a function the name of what it wraps.
    """
    if not is_versioned(getattr(thing, "__module__", None)):
        return False
    if isinstance(thing, FunctionType):
        return _is_at_home(thing)
    return not isinstance(thing, type) or is_in_its_module(thing)


def is_in_its_module(kind: type) -> bool:
    """Whether a class is of the module that it names: found there, written in C, or with methods of such modules only."""
    if not kind.__flags__ & _HEAP_TYPE:
        return True
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is kind:
        return True
    members = vars(kind)
    if {"__dict__", "__weakref__", "__slots__"}.isdisjoint(members):
        return True
    functions = [member for member in members.values() if isinstance(member, FunctionType)]
    return bool(functions) and all(map(_is_at_home, functions))


_HEAP_TYPE = 1 << 9


def _is_at_home(function: FunctionType) -> bool:
    """Whether a function is of a module that changes with a version only."""
    name = function.__globals__.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return is_versioned(name) and module is not None and vars(module) is function.__globals__
