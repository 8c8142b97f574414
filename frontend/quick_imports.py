"""Modules of the compiler that are imported quickly: found, read and made with a third of the steps that importlib takes.

A first call imports some 250 of them. Python asks each finder, and of a file its time three times and its name five; here a
folder is listed once, and bytecode that is as new as its source is read at once. `from module import name` of a
package walks the names in Python, and making a module takes two dozen calls: `_import` stands for `__import__` and does
what is left when the module is one of ours. Everything else is left to importlib.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType
from typing import Any

from ..runtime.fork_lock import ForkLock
from .quick_classes import run_module
from .stand_ins import ModuleStandIn

_PACKAGES = frozenset([__name__.partition(".")[0], "xdsl"])

DEFERRED: set[str] = set()
"""Modules that a finder of its own has something stand for (`deferred_modules.py`)."""

_lock = ForkLock()
_depth = 0


@contextmanager
def quick_imports() -> Iterator[None]:
    """Modules of Nestor and of xDSL that are imported meanwhile are found and read here."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1 and _is_usual():
            sys.meta_path.insert(0, _FINDER)
            _FINDER.folders.clear()
            _stand_for_import()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _FINDER in sys.meta_path:
                sys.meta_path.remove(_FINDER)
                if builtins.__import__ is _import:
                    builtins.__import__ = _usual_import


def _is_usual() -> bool:
    """Whether bytecode is beside its source, under its usual name, and not checked against its text."""
    return sys.pycache_prefix is None and not sys.flags.optimize and sys.implementation.cache_tag is not None


class _Finder:
    """Finds a module where a folder has nothing of its name but one source, or a package with one."""

    def __init__(self) -> None:
        self.folders: dict[str, dict[str, list[str]]] = {}
        """Of each folder that was asked for the endings of its files, by what is before the first dot."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        if type(path) is not list or len(path) != 1 or package.partition(".")[0] not in _PACKAGES:
            return None
        folder = path[0]
        endings = self._files(folder).get(last)
        if endings == ["py"]:
            return _spec(name, folder, last, None)
        if endings == [""]:
            inner = f"{folder}{os.sep}{last}"
            if self._files(inner).get("__init__") == ["py"]:
                return _spec(name, inner, "__init__", [inner])
        return None

    def _files(self, folder: str) -> dict[str, list[str]]:
        found = self.folders.get(folder)
        if found is None:
            found = self.folders[folder] = {}
            try:
                names = os.listdir(folder)
            except OSError:
                names = []
            for name in names:
                stem, _, ending = name.partition(".")
                found.setdefault(stem, []).append(ending)
        return found


_FINDER: Any = _Finder()


def _spec(name: str, folder: str, stem: str, inside: list[str] | None) -> ModuleSpec:
    file = f"{folder}{os.sep}{stem}.py"
    loader = _Loader(name, file)
    loader.bytecode = f"{folder}{os.sep}__pycache__{os.sep}{stem}.{sys.implementation.cache_tag}.pyc"
    spec: Any = ModuleSpec(name, loader, origin=file)
    spec.submodule_search_locations = inside
    spec.cached = loader.bytecode
    spec.has_location = True
    return spec


class _Loader(SourceFileLoader):
    bytecode: str

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module: that of its bytecode where it is of this source, else as importlib has it."""
        try:
            status = os.stat(self.path)
            data = _read(self.bytecode)
        except OSError:
            return super().get_code(fullname)
        of_source = b"".join(
            [MAGIC_NUMBER, bytes(4), _word(int(status.st_mtime)), _word(status.st_size)]
        )  # as PEP 552 has it
        if data[:16] == of_source:
            code = marshal.loads(memoryview(data)[16:])
            if code.co_filename == self.path:
                return code
        return super().get_code(fullname)


def _word(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def _read(file: str) -> bytes:
    """What is in a file, in two calls less than a stream takes."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        size = os.fstat(descriptor).st_size
        data = os.read(descriptor, size + 1)
        return data if len(data) == size else b""
    finally:
        os.close(descriptor)


# ---- import statements ---------------------------------------------------------------------------------

_ModuleLock: Any = getattr(importlib._bootstrap, "_ModuleLockManager", None)  # pyright: ignore
"""What holds the lock of a module while it is made, so that other threads wait for it."""

_usual_import: Callable[..., Any] = builtins.__import__


def _stand_for_import() -> None:
    """Let import statements come here; where others stand for `__import__` already, they stay."""
    if _ModuleLock is not None and builtins.__import__ is _usual_import:
        builtins.__import__ = _import


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """`__import__`, quicker for `from module import name` of a module of ours; anything else is left to the usual one."""
    if fromlist and (level == 0 or globals is not None):
        full = _full_name(name, globals, level) if level else name
        if full is not None and full.partition(".")[0] in _PACKAGES:
            module = sys.modules.get(full)
            if type(module) is ModuleStandIn:
                return module
            if module is None and full not in DEFERRED:
                module = _made(full)
            if module is not None and _has_all(module, fromlist):
                return module
    return _usual_import(name, globals, locals, fromlist or (), level)


def _full_name(name: str, globals: Any, level: int) -> str | None:
    package = globals.get("__package__")
    if type(package) is not str:
        return None
    for _ in range(level - 1):
        package = package.rpartition(".")[0]
    return (f"{package}.{name}" if name else package) if package else None


def _has_all(module: Any, names: Sequence[str]) -> bool:
    """Whether a module is complete, and each name, which may be one of a package's modules, is in it."""
    members = module.__dict__
    spec = members.get("__spec__")
    if spec is None or spec._initializing:
        return False  # it imports itself in a circle, or another thread makes it
    if "__path__" not in members:
        return True
    for name in names:
        if name not in members and (
            name == "*" or "__getattr__" in members or _made(f"{members['__name__']}.{name}") is None
        ):
            return False
    return True


def _made(name: str) -> Any:
    """The module of a name, made here; None where that is left to importlib."""
    parent, _, last = name.rpartition(".")
    package = sys.modules.get(parent)
    if package is None:
        package = _made(parent) if parent else None
        if package is None:
            return None
    path = package.__dict__.get("__path__")
    spec: Any = path and _FINDER.find_spec(name, path)
    if spec is None:
        return None
    with _ModuleLock(name):
        if name in sys.modules:
            return sys.modules[name]
        module = ModuleType(name)
        members = module.__dict__
        members["__loader__"] = spec.loader
        members["__package__"] = name if spec.submodule_search_locations else parent
        members["__spec__"] = spec
        members["__file__"] = spec.origin
        members["__cached__"] = spec.cached
        if spec.submodule_search_locations:
            members["__path__"] = spec.submodule_search_locations
        spec._initializing = True
        sys.modules[name] = module
        try:
            run_module(name, spec.loader.get_code(name), members)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            spec._initializing = False
        made = sys.modules[name]
        setattr(package, last, made)
    return made
