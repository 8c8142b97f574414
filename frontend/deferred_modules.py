"""Modules that a compilation in memory only names: while a function is compiled, they are imported when something is used.

xDSL's dialects import its parser, its printer and its assembly formats (300 KB of source) for annotations, bases and
defaults; a compilation in memory parses and prints nothing. `stand_ins.py` says what such a dialect has instead, and that
all other code has the real thing.
"""

from __future__ import annotations

import datetime
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..runtime.fork_lock import ForkLock
from . import quick_imports
from .stand_ins import Group, importer

FORMATS = "xdsl.irdl.declarative_assembly_format"

_DIALECTS = f"{__name__.partition('.')[0]}.dialects."

TEXT = Group(
    [
        "xdsl.parser",
        *[f"xdsl.parser.{part}" for part in ("affine_parser", "attribute_parser", "base_parser", "core")],
        "xdsl.parser.generic_parser",
        "xdsl.printer",
        "xdsl.utils.lexer",
        "xdsl.utils.mlir_lexer",
        FORMATS,
    ],
    [
        "xdsl.dialects.",
        "xdsl.utils.arg_spec",
        *[_DIALECTS + part for part in ("affine_text", "ext.", "nest.", "nt.")],
    ],
)
"""The text of IR: who parses or prints it has all of these."""

IRDL = Group(["xdsl.utils.dialect_loader"], ["xdsl.dialects"])
"""The finder of dialects that are written in IRDL, for which xDSL imports `importlib.abc`, `tempfile`, `bz2`, `lzma` ..."""

_GROUPS = {name: group for group in (TEXT, IRDL) for name in group.modules}
quick_imports.DEFERRED.update(_GROUPS)

_lock = ForkLock()
_depth = 0


@contextmanager
def deferred_modules() -> Iterator[None]:
    """The modules of these groups are deferred where they are imported meanwhile."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _FINDER in sys.meta_path:
                sys.meta_path.remove(_FINDER)


def is_deferred(name: str) -> bool:
    """Whether something stands for a module, or will when it is imported now."""
    group = _GROUPS[name]
    return group.stands_for(name) or (name not in sys.modules and _depth > 0 and not group.is_used)


class _Sockets(ModuleType):
    """Stands for a library that `typing_extensions` loads to have the type of a capsule; another capsule has it as well."""

    @property
    def CAPI(self) -> Any:
        self._leave()
        return datetime.datetime_CAPI  # pyright: ignore

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # importlib asks whether it has them
            raise AttributeError(name)
        self._leave()
        return getattr(importlib.import_module(self.__name__), name)

    def _leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


class _Finder:
    """Finds these modules as the other finders do, and has something stand for them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        group = _GROUPS.get(name)
        if group is not None:
            if group.is_used or not group.has_stand_ins(sys._getframe(1)):
                return None
        elif (
            name == "_socket" and importer(sys._getframe(1)).f_globals.get("__name__") == "typing_extensions"
        ):
            return ModuleSpec(name, _LOADER)
        else:
            return None
        for finder in [*sys.meta_path]:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _LOADER
                return spec
        return None


class _Loader:
    def create_module(self, spec: ModuleSpec) -> Any:
        return _GROUPS[spec.name].module(spec.name) if spec.name in _GROUPS else _Sockets(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


_FINDER: Any = _Finder()
_LOADER: Any = _Loader()


# ---- dialects that are written in IRDL --------------------------------------------------------------


class _DialectFinder:
    """Stands among Python's finders for that of `.irdl` files, until there is such a file."""

    def __init__(self, get_all_dialects: Callable[[], Any]):
        self.get_all_dialects = get_all_dialects
        self.real: Any = None

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if fullname in sys.modules:
            return sys.modules[fullname].__spec__
        file = f"{fullname.rpartition('.')[2]}.irdl"
        folders = [os.getcwd()] if path is None else path
        if any([os.path.isfile(os.path.join(folder, file)) for folder in folders]):
            IRDL.use()
            return self.real.find_spec(fullname, path, target)
        return None

    def invalidate_caches(self) -> None:
        """It has none."""


def _put_dialect_finder() -> None:
    """Puts xDSL's finder in the place of what stood for it."""
    from xdsl import dialects
    from xdsl.utils.dialect_loader import IRDLDialectFinder

    if vars(dialects).get("IRDLDialectFinder") is _DialectFinder:
        setattr(dialects, "IRDLDialectFinder", IRDLDialectFinder)  # noqa: B010
    for place, finder in enumerate(sys.meta_path):
        if type(finder) is _DialectFinder:
            finder.real = finder.real or IRDLDialectFinder(finder.get_all_dialects)
            sys.meta_path[place] = finder.real


IRDL.lent["xdsl.dialects", "xdsl.utils.dialect_loader", "IRDLDialectFinder"] = _DialectFinder
IRDL.afterwards = _put_dialect_finder
