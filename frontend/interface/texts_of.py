"""The texts that functions need in a process that has not their files: their own, and those of what they can call.

A function of a module is found there with its file. One of `__main__`, of a notebook, or of a text is pickled by value, and
its text goes with it (`carried_texts.py`).
"""

from __future__ import annotations

import ast
import dis
import functools
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from .carried_texts import Key, Texts, key_of
from .errors import UnsupportedError
from .forwarders import made_lines
from .pickling import MAIN, Pickled, is_found, owner_of
from .source import text_of
from .source_text import FUTURE, codes_of, is_text_of
from .versioned import is_own

MOST_ITEMS = 1000
"""Items of a container that are looked at for functions."""

_TEXTS: WeakKeyDictionary[FunctionType, tuple[CodeType, str, str]] = WeakKeyDictionary()
"""The files and texts of functions that were pickled."""


def texts_of(things: Iterable[Any]) -> Texts:
    """The texts of functions that are pickled by value, by the names of their files."""
    texts: dict[str, tuple[str, list[Key]]] = {}
    rest, seen = list(things), {}
    while rest:
        thing = rest.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, FunctionType):
            if not is_own(thing) and not _has_its_file(thing):
                _note(texts, thing)
                rest += _parts(thing)
        elif isinstance(thing, type):
            if not is_own(thing) and not _has_its_file(thing):
                rest += [*thing.__bases__, *vars(thing).values()]
        elif not isinstance(thing, Pickled):  # those have their own with them
            rest += _items(thing)
    return texts


def _note(texts: dict[str, tuple[str, list[Key]]], function: FunctionType) -> None:
    code = function.__code__
    known = _TEXTS.get(function)
    if known is None or known[0] is not code:
        try:
            file, lines = text_of(function, code)
        except UnsupportedError:  # it cannot be compiled here either, and says so when it is called
            file, lines = "", []
        known = _TEXTS[function] = code, file, "" if made_lines(function) else _needed("".join(lines), code)
    _, file, text = known
    if text and texts.setdefault(file, (text, []))[0] == text:
        keys = texts[file][1]
        if not keys:
            keys += _keys(text, file, code.co_flags & FUTURE)
        keys += [key for key in map(key_of, _codes(code)) if key not in keys]


def _needed(text: str, code: CodeType) -> str:
    """What of a text goes along with a function."""
    short = _definitions(text)
    return short if is_text_of(short, code) else text


@functools.lru_cache(maxsize=64)
def _definitions(text: str) -> str:
    """The lines of a text that define functions, at their places: what else a script does is not for workers.

    Imports are among them, for Python compiles calls of what was imported in another way.
    """
    try:
        body = ast.parse(text).body
    except SyntaxError:  # of a cell with commands of IPython
        return text
    kept = {
        line
        for node in body
        if any(isinstance(one, _DEFINITION) for one in ast.walk(node))
        for line in range(_first_line(node), (node.end_lineno or node.lineno) + 1)
    }
    lines = text.splitlines(keepends=True)
    return "".join([line if k + 1 in kept else "\n" for k, line in enumerate(lines[: max(kept, default=0)])])


_DEFINITION = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.Import,
    ast.ImportFrom,
)


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *[one.lineno for one in getattr(node, "decorator_list", ())]])


@functools.lru_cache(maxsize=64)
def _keys(text: str, file: str, flags: int) -> list[Key]:
    """What all functions of a text are found by: arguments may be of classes that are in it."""
    return list(map(key_of, codes_of(text, file, flags)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _has_its_file(thing: Any) -> bool:
    """Whether who takes it has its file: it is found in a module, where cloudpickle is not told to take that by value."""
    module = thing.__module__
    registry = getattr(sys.modules.get("cloudpickle"), "list_registry_pickle_by_value", tuple)()
    is_by_value = any(f"{module}.".startswith(f"{name}.") for name in registry)
    return module not in MAIN and not is_by_value and is_found(thing)


def _parts(function: FunctionType) -> Iterator[Any]:
    """What a function names, and has in it."""
    space = function.__globals__
    yield from (space[name] for name in _names(function.__code__) if name in space)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # nothing was assigned yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    yield owner_of(function)  # a method has its object among the arguments


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The globals that code names."""
    steps = (step for one in _codes(code) for step in dis.get_instructions(one))
    return tuple(dict.fromkeys([step.argval for step in steps if step.opname.endswith("_GLOBAL")]))


def _items(thing: Any) -> list[Any]:
    """The parts of an object that may be functions."""
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, staticmethod | classmethod):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset]
    if isinstance(thing, functools.partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if isinstance(thing, dict):
        return [*list(thing)[:MOST_ITEMS], *list(thing.values())[:MOST_ITEMS]]
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)[:MOST_ITEMS]
    kind = type(thing)
    if is_own(kind) or kind.__module__ in sys.builtin_module_names:
        return []
    return [kind, *list(getattr(thing, "__dict__", {}).values())[:MOST_ITEMS]]
