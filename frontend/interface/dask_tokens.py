"""What Dask knows a function of Nestor by: all that its results depend on, the same in each process.

    x.map_blocks(f)        # the name of the task says the code of f, of what it calls, and the values that it reads outside

Two modules of one name, with other globals, have functions of other tokens; pickled by their names they would have one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .forwarders import Recipe
from .pickling import Pickled
from .versioned import is_own


def token_of(thing: Pickled) -> Any:
    """Plain data for Dask. Raises what Dask raises for values that it cannot make a token of, where it is asked to."""
    return _Tokens().of(thing)


KNOWN = (Pickled, FunctionType, MethodType, ModuleType, type)


class _Tokens:
    """The tokens of one function. What refers to itself is a number there."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def of(self, value: Any, names: Iterable[str] = ()) -> Any:
        """The token of a value; of a module, the attributes `names` count."""
        from dask.base import normalize_token

        if isinstance(value, CodeType):
            return self._code(value)
        if type(value) is tuple:
            return ["tuple", *map(self.of, value)]
        if isinstance(value, Recipe):
            return ["recipe", self.of(vars(value))]
        is_known = isinstance(value, KNOWN) or type(value) in (list, dict)
        if not is_known and not _is_plain(value):
            return normalize_token(value)
        if id(value) in self._seen:
            return ["seen", list(self._seen).index(id(value))]
        self._seen[id(value)] = value
        if isinstance(value, Pickled):
            return [f"nestor {type(value).__name__}", self.of(value._pickled_as(False))]
        if type(value) is list:
            return ["list", *map(self.of, value)]
        if type(value) is dict:
            return ["dict", *([self.of(key), self.of(one)] for key, one in value.items())]
        if not is_known:
            return ["object", self.of(type(value)), self.of(vars(value))]
        if isinstance(value, MethodType):
            return ["method", self.of(value.__self__), self.of(value.__func__)]
        if isinstance(value, ModuleType):
            is_installed = _is_library(getattr(value, "__file__", None))
            found = [] if is_installed else [name for name in sorted(names) if hasattr(value, name)]
            return [value.__name__, *([name, self.of(getattr(value, name))] for name in found)]
        if isinstance(value, type):
            return self._class(value)
        return self._function(value)

    def _function(self, function: FunctionType) -> Any:
        code = function.__code__
        name = [function.__module__, function.__qualname__]
        if is_own(function) or _is_library(code.co_filename):
            return name
        names = sorted(_names(code))
        outside = [one for one in names if one in function.__globals__]
        cells = [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
        return [
            *name,
            self._code(code),
            self.of(function.__defaults__),
            self.of(function.__kwdefaults__),
            self.of(cells),
            [[one, self.of(function.__globals__[one], names)] for one in outside],
        ]

    def _class(self, kind: type) -> Any:
        name = [kind.__module__, kind.__qualname__]
        if _is_installed(kind):
            return name
        own = [(key, one) for key, one in vars(kind).items() if not key.startswith("__") or callable(one)]
        return [*name, *map(self.of, kind.__bases__), *([key, self.of(one)] for key, one in own)]

    def _code(self, code: CodeType) -> Any:
        constants = [
            self._code(one) if isinstance(one, CodeType) else _constant(one) for one in code.co_consts
        ]
        return [
            code.co_code.hex(),
            list(code.co_names),
            list(code.co_varnames),
            list(code.co_freevars),
            constants,
        ]


def _constant(value: Any) -> Any:
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> set[str]:
    """The names that code has, and the functions in it."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return {*code.co_names, *(name for one in inner for name in _names(one))}


def _is_plain(value: Any) -> bool:
    """Whether an object is of a class of the user's, and is its attributes."""
    kind = type(value)
    is_pickled_so = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
    has_own_token = hasattr(kind, "__dask_tokenize__") or _is_installed(kind)
    return is_pickled_so and hasattr(value, "__dict__") and not has_own_token


def _is_installed(kind: type) -> bool:
    """Whether a class is Nestor's, Python's, or of what is installed."""
    module = sys.modules.get(kind.__module__)
    return is_own(kind) or module is None or _is_library(getattr(module, "__file__", None))


@cache
def _libraries() -> tuple[str, ...]:
    """Folders of what is installed: it is known by its names."""
    import sysconfig

    return tuple(sysconfig.get_path(one) for one in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_library(file: str | None) -> bool:
    return file is not None and file.startswith(_libraries())
