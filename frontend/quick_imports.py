"""Modules of the compiler that are imported quickly: found and read with a third of the steps that importlib takes.

A first call imports some 250 of them. Python asks each finder, and of a file its time three times and its name five; here a
folder is listed once, and bytecode that is as new as its source is read at once. Everything else is left to importlib.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, spec_from_file_location
from types import CodeType
from typing import Any

from ..runtime.fork_lock import ForkLock

_PACKAGES = frozenset([__name__.partition(".")[0], "xdsl"])

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
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _FINDER in sys.meta_path:
                sys.meta_path.remove(_FINDER)


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


def _spec(name: str, folder: str, stem: str, inside: list[str] | None) -> ModuleSpec | None:
    file = f"{folder}{os.sep}{stem}.py"
    loader = _Loader(name, file)
    loader.bytecode = f"{folder}{os.sep}__pycache__{os.sep}{stem}.{sys.implementation.cache_tag}.pyc"
    spec = spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)
    if spec is not None:
        spec.cached = loader.bytecode
    return spec


class _Loader(SourceFileLoader):
    bytecode: str

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module: that of its bytecode where it is of this source, else as importlib has it."""
        try:
            status = os.stat(self.path)
            with open(self.bytecode, "rb", 0) as stream:
                data = stream.read()
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
