"""Whether a function may be run once in place of its calls: whether running it again would do and give the same.

    why_not(lambda x: np.tanh(x) + W)     None: what it names are values, and functions of NumPy
    why_not(lambda x: x + rand())         "it uses 'rand', a builtin_function_or_method"
    why_not(lambda x: print(x))           "it calls 'print'"

All that its code names is looked at, and the code of what it can call. What is not known to be harmless is refused.
"""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .source import FunctionSource
from .versioned import PACKAGE, is_own

_MODULES = frozenset(("numpy", "math", "cmath", "operator", "functools", "itertools", "collections", PACKAGE))
"""Modules of functions that compute."""

_NOT_OF_MODULES = frozenset((
    "random", "default_rng", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "fromiter", "save", "savez", "savetxt",
    "tofile", "seterr", "seterrcall", "setbufsize", "set_printoptions",
))  # fmt: skip
"""What these have that draws, reads or writes."""

_BUILTINS = frozenset((
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int",
    "isinstance", "iter", "len", "list", "map", "max", "min", "next", "pow", "range", "reversed", "round", "set", "slice",
    "sorted", "str", "sum", "tuple", "zip",
))  # fmt: skip

_CHANGES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"))
_DATA = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type(...),
    np.generic,
    np.dtype,
    np.ndarray,
)

MOST_ITEMS = 1000
"""Items of containers that are looked at."""


def why_not(function: FunctionType) -> str | None:
    """What speaks against it; None where nothing does."""
    rest, seen = [function], {id(function)}
    while rest:
        one = rest.pop()
        named = list(_named(one))
        reason = next(filter(None, (_of_code(code) for code in _codes(one.__code__))), None)
        reason = reason or next(filter(None, (_of_value(name, value) for name, value in named)), None)
        if reason is not None:
            return reason if one is function else f"{reason}, in '{one.__name__}'"
        for found in _functions(value for _, value in named):
            if id(found) not in seen:
                seen.add(id(found))
                rest.append(found)
    return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _of_code(code: CodeType) -> str | None:
    for step in dis.get_instructions(code):
        if step.opname in _CHANGES:
            return f"it assigns '{step.argval}'"
        if step.opname == "IMPORT_NAME" and str(step.argval).partition(".")[0] not in _MODULES:
            return f"it imports '{step.argval}'"
    found = next((name for name in code.co_names if name in _NOT_OF_MODULES), None)
    return None if found is None else f"it names '{found}'"


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What its names lead to, and its defaults."""
    source = FunctionSource(function, None, function.__code__.co_filename)  # pyright: ignore
    globals_ = {
        step.argval
        for code in _codes(function.__code__)
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for name in (*sorted(globals_), *function.__code__.co_freevars):
        try:
            yield name, source.lookup(name)
        except (KeyError, ValueError):  # Python says so where it gets there
            continue
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield "a default", value


def _functions(values: Any) -> Iterator[FunctionType]:
    """The Python functions of the user among values, and in partials."""
    for value in values:
        while isinstance(value, functools.partial):
            value = value.func
        value = getattr(value, "__wrapped__", value) if is_own(type(value)) else value
        if isinstance(value, FunctionType) and not is_own(value):
            yield value


def _of_value(name: str, value: Any) -> str | None:
    """What is wrong with a value that is named; None for data, functions that compute, and those that are looked into."""
    rest = [value]
    for _ in range(MOST_ITEMS):
        if not rest:
            return None
        one = rest.pop()
        if isinstance(one, list | tuple | set | frozenset):
            rest += one
        elif isinstance(one, dict):
            rest += one.values()
        elif isinstance(one, functools.partial):
            rest += [one.func, *one.args, *one.keywords.values()]
        elif not _computes(one):
            if _is_builtin(one):
                return f"it calls '{name}'"
            kind = type(one).__name__
            return f"it uses '{name}', {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
    return f"it uses '{name}', which has more than {MOST_ITEMS} parts"


def _computes(one: Any) -> bool:
    if isinstance(one, _DATA):
        return True
    if isinstance(one, ModuleType):
        return _is_of_one(one.__name__)
    if _is_builtin(one):
        return one.__name__ in _BUILTINS or (isinstance(one, type) and issubclass(one, BaseException))
    if isinstance(one, type):
        return issubclass(one, BaseException) or (is_own(one) and _is_of_one(one.__module__))
    if isinstance(one, FunctionType):
        return not is_own(one) or _is_of_one(one.__module__)
    if isinstance(one, BuiltinFunctionType):  # a method may change its object
        return isinstance(one.__self__, ModuleType | type(None)) and _is_of_one(one.__module__)
    return callable(one) and is_own(type(one)) and _is_of_one(type(one).__module__)


def _is_builtin(one: Any) -> bool:
    return getattr(builtins, getattr(one, "__name__", ""), None) is one


def _is_of_one(module: str | None) -> bool:
    """Whether a module is among those that compute, and draws no numbers."""
    first, *rest = (module or "").split(".")
    return first.lstrip("_") in _MODULES and "random" not in rest
