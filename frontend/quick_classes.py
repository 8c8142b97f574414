"""Classes of xDSL and Nestor that are defined quickly while a function is compiled.

An operation of a dialect's module is a class when someone asks for it: a first call imports eight dialects of 300
operations and has 60 of them. A `_Namespace` is what the code of such a module runs in; until a name is looked at, a
`Waiting` stands for its class, and the module has `__getattr__` (PEP 562) for what is left in the end.

`isinstance(thing, cls)` of an abstract class is a function of Python that keeps sets of what it saw, and asks each
subclass of a class before it says no: xDSL's `Operation` and `Attribute` have hundreds. None of them has virtual subclasses
(`register`) or a `__subclasshook__`; the answer of `type` is the same, and until the end of the compilation they give it.
"""

from __future__ import annotations

import builtins
import sys
from abc import ABC, ABCMeta
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from threading import RLock
from types import CodeType
from typing import Any

from ..runtime.fork_lock import ForkLock

_PACKAGES = frozenset([__name__.partition(".")[0], "xdsl"])

_usual_build_class: Callable[..., Any] = builtins.__build_class__
_lock = ForkLock()
_depth = 0


@contextmanager
def quick_classes() -> Iterator[None]:
    """The classes that modules of xDSL and Nestor define meanwhile."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1 and builtins.__build_class__ is _usual_build_class:
            builtins.__build_class__ = _build_class
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                if builtins.__build_class__ is _build_class:
                    builtins.__build_class__ = _usual_build_class
                _settle()


def _build_class(function: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    """What stands for `__build_class__`: the class statements of every module come here."""
    namespace = _running.get(id(function.__globals__))
    if namespace is not None:
        if not keywords and namespace.can_wait(function, name, bases):
            return Waiting(namespace, function, name, bases)
        namespace.prepare(function.__code__)
    return _built(function, name, *bases, **keywords)


def _built(function: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    if ABC in bases and "metaclass" not in keywords and _depth and _is_ours(function):
        made = _usual_build_class(function, name, *bases, metaclass=_QuickMeta, **keywords)
        _roots.append(made)
        return made
    return _usual_build_class(function, name, *bases, **keywords)


def _is_ours(function: Any) -> bool:
    return function.__globals__.get("__name__", "").partition(".")[0] in _PACKAGES


# ---- abstract classes ----------------------------------------------------------------------------------


class _QuickMeta(ABCMeta):
    """`ABCMeta` for classes that are defined during a compilation; afterwards they have `ABCMeta` itself."""

    __instancecheck__ = type.__instancecheck__  # pyright: ignore
    __subclasscheck__ = type.__subclasscheck__  # pyright: ignore

    def register(cls, subclass: Any) -> Any:
        """As `ABCMeta` has it: the class and what it derives from ask for virtual subclasses from now on."""
        for base in cls.__mro__:
            _make_usual(base)
        return ABCMeta.register(cls, subclass)


_roots: list[Any] = []
"""The classes that derive from `ABC` itself."""


def _settle() -> None:
    """Give every class that was defined meanwhile the metaclass it has otherwise."""
    waiting, _roots[:] = [*_roots], []
    while waiting:
        cls = waiting.pop()
        waiting += type.__subclasses__(cls)
        _make_usual(cls)


def _make_usual(cls: Any) -> None:
    if type(cls) is _QuickMeta:
        cls.__class__ = ABCMeta  # pyright: ignore


# ---- operations ----------------------------------------------------------------------------------------

_DIALECTS = tuple([f"{package}.dialects." for package in _PACKAGES])

_LISTS = frozenset(["Dialect", "ExtendedDialect"])
"""What a module calls with a list of its operations."""

_running: dict[int, _Namespace] = {}
"""The namespaces of modules whose code runs, by the identity of their dictionaries."""

_making = RLock()


def run_module(name: str, code: CodeType, members: dict[str, Any]) -> None:
    """Run the code of a module; the operations of a module that defines a dialect are made when they are looked at."""
    if not _depth or not name.startswith(_DIALECTS) or _LISTS.isdisjoint(code.co_names):
        exec(code, members)
        return
    before = dict(members)
    if not _run_lazily(code, members):
        members.clear()
        members.update(before)
        exec(code, members)


def _run_lazily(code: CodeType, members: dict[str, Any]) -> bool:
    """Whether that went well: a module may not be as it is in the versions known here."""
    namespace = _running[id(members)] = _Namespace(members, code)
    hooks = {"__getattr__": namespace.find, "__dir__": namespace.names}
    members.update(hooks)
    try:
        exec(code, members, namespace)  # pyright: ignore
        if any(members[hook] != value for hook, value in hooks.items()):
            return False
    except Exception:
        return False
    finally:
        del _running[id(members)]
    if namespace.waiting:
        # What `from module import *` gives: without this, what is in the dictionary.
        members.setdefault("__all__", [name for name in namespace.names() if not name.startswith("_")])
    else:
        for hook in hooks:
            del members[hook]
    return True


class Waiting:
    """Stands for the class of an operation until someone looks at it."""

    def __init__(self, namespace: _Namespace, function: Any, name: str, bases: tuple[Any, ...]):
        self._namespace = namespace
        self._function = function
        self._name = name
        self._bases = bases
        self.decorators: list[Callable[[Any], Any]] = []

    def made(self) -> Any:
        """The class; it is in its module from now on."""
        with _making:
            names, name = self._namespace, self._name
            if names.waiting.get(name) is not self:
                return names.members[name]
            code = self._function.__code__
            names.make([used for used in code.co_names if used != name])
            if names.waiting.get(name) is not self:
                return names.members[name]  # a method of one of these uses it
            made = _built(self._function, name, *self._bases)
            for decorate in self.decorators:
                made = decorate(made)
            names.members[name] = made
            del names.waiting[name]
            names.make(_names_of_functions(code))
            return made


class _Namespace:
    """What the code of a module runs in: classes of operations wait in it until someone looks at them.

    What functions and other classes of the module use does not wait: they look in the dictionary of the module.
    """

    def __init__(self, members: dict[str, Any], code: CodeType):
        self.members = members
        self.waiting: dict[str, Waiting] = {}
        self._eager = _names_of_functions(code)
        self._in_dialect = self._has_listed = False

    def __getitem__(self, name: str) -> Any:
        found = self.waiting.get(name)
        if found is not None:
            self._has_listed |= self._in_dialect
            return found if self._in_dialect else found.made()
        self._in_dialect |= name in _LISTS  # the operations that follow are listed, nothing else
        return self.members[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if type(value) is Waiting:
            self.waiting[name] = value
            return
        if self._has_listed:
            value._operations = _Operations(value._operations)  # an error where it is no dialect
        self._in_dialect = self._has_listed = False
        self.waiting.pop(name, None)
        self.members[name] = value

    def __delitem__(self, name: str) -> None:
        if self.waiting.pop(name, None) is None:
            del self.members[name]

    def can_wait(self, function: Any, name: str, bases: tuple[Any, ...]) -> bool:
        if function.__qualname__ != name or name in self._eager:
            return False
        operation = sys.modules["xdsl.irdl.operations"].IRDLOperation
        return any(isinstance(base, type) and issubclass(base, operation) for base in bases)

    def prepare(self, code: CodeType) -> None:
        """A class that does not wait is about to be made: what it uses does not either."""
        used = {*code.co_names, *_names_of_functions(code)}
        self._eager |= used
        self.make(used)

    def make(self, names: Iterable[str]) -> None:
        for name in names:
            found = self.waiting.get(name)
            if found is not None:
                found.made()

    def find(self, name: str) -> Any:
        """`__getattr__` of the module."""
        with _making:
            self.make([name])
            if name in self.members:
                return self.members[name]
        raise AttributeError(f"module {self.members['__name__']!r} has no attribute {name!r}")

    def names(self) -> list[str]:
        """`__dir__` of the module."""
        return sorted(self.members.keys() | self.waiting.keys())


class _Operations(list[Any]):
    """The operations of a dialect, which are made when the dialect is asked for them."""

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):
            yield self[k]

    def __getitem__(self, k: Any) -> Any:
        found = super().__getitem__(k)
        if isinstance(found, list):
            return [cls.made() if type(cls) is Waiting else cls for cls in found]
        return found.made() if type(found) is Waiting else found

    def __contains__(self, cls: Any) -> bool:
        return any(one is cls for one in self)

    def __eq__(self, other: object) -> bool:
        return [*self] == other

    def __repr__(self) -> str:
        return repr([*self])


def _names_of_functions(code: CodeType) -> set[str]:
    """The names that functions in this code use, those in classes of a module left out."""
    found: set[str] = set()
    for inner in code.co_consts:
        if type(inner) is CodeType and (code.co_name != "<module>" or inner.co_flags & CO_OPTIMIZED):
            found.update(inner.co_names)
            found |= _names_of_functions(inner)
    return found
