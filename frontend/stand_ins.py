"""Stand-ins for names of modules, which are imported when one of them is used.

    from xdsl.parser import Parser                     # a stand-in
    class Flags:
        delimiter = Parser.Delimiter.ANGLE             # a stand-in for what that will be
        def parse(cls, parser: Parser): ...

    Printer(stream)                                    # a use: the modules are imported, ...
    Flags.delimiter                                    # ... and this is what they define

Only code that runs while one of the modules called importers is imported has stand-ins. All other code has the real thing;
the first that asks for it has them replaced in the importers: in their namespaces and classes, in the defaults and
annotations of their functions. One that was kept elsewhere does what the real thing does when it is called, looked at or
asked for its instances.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import types
from collections.abc import Callable, Sequence
from inspect import CO_OPTIMIZED
from typing import Any

from ..runtime.fork_lock import ForkLock


class Group:
    """Modules that are imported together, when something of one is used."""

    def __init__(self, modules: Sequence[str], importers: Sequence[str]):
        self.modules = frozenset(modules)
        self.is_used = False
        self.lent: dict[tuple[str, str, str], Any] = {}
        """What an importer has that is no stand-in, by its name, the module and the name it asks for."""
        self.afterwards: Callable[[], None] | None = None
        self._importers = tuple(importers)
        self._lock = ForkLock()
        self._modules: dict[str, ModuleStandIn] = {}
        self._names: dict[tuple[str, str], Any] = {}
        self._later: list[Any] = []

    def is_importer(self, name: str) -> bool:
        return name.startswith(self._importers)

    def stands_for(self, module: str) -> bool:
        return not self.is_used and module in self._modules

    def has_stand_ins(self, frame: types.FrameType) -> bool:
        """Whether what imports a module there is one of the importers, or is lent something."""
        name = importer(frame).f_globals.get("__name__", "")
        return self.is_importer(name) or any([name == key[0] for key in self.lent])

    def is_importing(self, frame: types.FrameType) -> bool:
        """Whether it is code of an importer outside of functions."""
        is_function = frame.f_code.co_flags & CO_OPTIMIZED
        return not is_function and self.is_importer(frame.f_globals.get("__name__", ""))

    def module(self, name: str) -> ModuleStandIn:
        made = self._modules[name] = ModuleStandIn(name)
        object.__setattr__(made, "_group", self)
        return made

    def name(self, module: str, name: str, frame: types.FrameType) -> Any:
        """What the code of the frame has for a name of one of the modules."""
        frame = importer(frame)
        if not self.is_used:
            lent = frame.f_globals.get("__name__", ""), module, name
            if lent in self.lent:
                return self.lent[lent]
            if self.is_importing(frame):
                if (module, name) not in self._names:
                    make = functools.partial(_member, module, name)
                    self._names[module, name] = _stand_in(self, name, make, {})
                return self._names[module, name]
        self.use()
        return _member(module, name)

    def later(self, name: str, make: Callable[[], Any], namespace: dict[str, Any] | None = None) -> Any:
        """A stand-in for what is made when the modules are imported."""
        self._later.append(_stand_in(self, name, make, namespace or {}))
        return self._later[-1]

    def use(self) -> None:
        """Imports the modules, and replaces what stands for something of them."""
        with self._lock:
            self.is_used = True
            for name, module in self._modules.items():
                if sys.modules.get(name) is module:
                    del sys.modules[name]
        for name in [*self._modules]:  # without the lock: importlib has its own
            importlib.import_module(name)
        with self._lock:
            names, self._names = self._names, {}
            later, self._later = self._later, []
            for made in ([*names.values()], later):  # what is made looks at names
                for stand_in in made:
                    _of(stand_in).make()
                self._replace()
            if self.afterwards:
                self.afterwards()

    def _replace(self) -> None:
        seen: set[int] = set()
        for name, module in [*sys.modules.items()]:
            if self.is_importer(name) and type(module) is types.ModuleType:
                _replace_in(module, name, seen)


_IMPORTING = ("importlib._bootstrap", f"{__package__}.quick_imports")
"""Code that an import statement runs."""


def importer(frame: types.FrameType) -> types.FrameType:
    """The code that imports something, of which importlib is called."""
    while frame.f_globals.get("__name__") in _IMPORTING and frame.f_back:
        frame = frame.f_back
    return frame


def _member(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


_OF_IMPORTS = frozenset(
    ["__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__", "__cached__"]
)
"""What importlib asks of a module and sets."""


class ModuleStandIn(types.ModuleType):
    """Stands for a module that is not imported."""

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        if name in _OF_IMPORTS:
            return get(name)
        return get("_group").name(get("__name__"), name, sys._getframe(1))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OF_IMPORTS or type(value) is ModuleStandIn:  # a module of a package
            super().__setattr__(name, value)
        else:
            setattr(_real_module(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_real_module(self), name)

    def __dir__(self) -> list[str]:
        return dir(_real_module(self))


def _real_module(stand_in: ModuleStandIn) -> types.ModuleType:
    object.__getattribute__(stand_in, "_group").use()
    return importlib.import_module(stand_in.__name__)


class _Made:
    """What a stand-in stands for, and whose it is."""

    def __init__(self, group: Group, make: Callable[[], Any]):
        self.group = group
        self.is_made = False
        self._make = make

    def make(self) -> None:
        self.value = self._make()
        self.is_made = True


def _of(stand_in: Any) -> _Made:
    return type.__getattribute__(stand_in, "_made")


def real(stand_in: Any) -> Any:
    """What it stands for, and any other value as it is."""
    if type(stand_in) is not StandIn:
        return stand_in
    made = _of(stand_in)
    if not made.is_made:
        made.group.use()
    return made.value


class StandIn(type):
    """The type of stand-ins. They are classes, so that they can be bases, and parts of types and patterns."""

    def __new__(cls, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """The statement `class name(bases)`."""

        def make() -> Any:
            _replace_values(namespace.get("__annotations__"))
            return types.new_class(
                name, tuple(map(real, bases)), options, lambda space: space.update(namespace)
            )

        return next(_of(base).group for base in bases if type(base) is StandIn).later(name, make, namespace)

    def __init__(cls, *arguments: Any, **options: Any):
        pass

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__class__"):
            return type.__getattribute__(cls, name)
        if name == "__isabstractmethod__":  # asked of all that a class has
            raise AttributeError(name)
        if _is_importing(cls):
            return _of(cls).group.later(name, lambda: getattr(real(cls), name))
        return getattr(real(cls), name)

    def __setattr__(cls, name: str, value: Any) -> None:
        setattr(real(cls), name, value)

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        def call() -> Any:
            return real(cls)(*map(real, arguments), **{name: real(value) for name, value in named.items()})

        if _is_importing(cls):
            decorated = [value.__name__ for value in arguments if type(value) is StandIn]
            return _of(cls).group.later(decorated[0] if decorated else cls.__name__, call)
        return call()

    def __getitem__(cls, item: Any) -> Any:
        if _is_importing(cls):
            return _of(cls).group.later(cls.__name__, lambda: real(cls)[item])
        return real(cls)[item]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, real(cls))

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(real(subclass), real(cls))

    def __repr__(cls) -> str:
        return repr(real(cls))


def _is_importing(stand_in: Any) -> bool:
    """Whether the code that does something with it is of an importer, outside of functions."""
    made = _of(stand_in)
    return not made.group.is_used and made.group.is_importing(sys._getframe(2))


def _stand_in(group: Group, name: str, make: Callable[[], Any], namespace: dict[str, Any]) -> Any:
    return type.__new__(StandIn, name, (), {**namespace, "_made": _Made(group, make)})


# ---- where they are replaced ------------------------------------------------------------------------


def _replaced(value: Any) -> Any:
    """The value with what is known of the stand-ins in it; itself where there are none."""
    kind = type(value)
    if kind is StandIn:
        made = _of(value)
        return made.value if made.is_made else value
    if kind is tuple:
        parts = tuple(map(_replaced, value))
        return value if all(map(operator.is_, parts, value)) else parts
    if kind is ModuleStandIn:
        return importlib.import_module(value.__name__)
    if kind is types.UnionType:
        parts = tuple(map(_replaced, value.__args__))
        return (
            value if all(map(operator.is_, parts, value.__args__)) else functools.reduce(operator.or_, parts)
        )
    if kind is types.GenericAlias:
        parts = tuple(map(_replaced, value.__args__))
        same = all(map(operator.is_, parts, value.__args__))
        return value if same else types.GenericAlias(value.__origin__, parts)
    return value


def _replace_in(owner: Any, module: str, seen: set[int]) -> None:
    """Replaces stand-ins in what a module or one of its classes has."""
    _replace_values(vars(owner).get("__annotations__"))
    for name, value in [*vars(owner).items()]:
        new = _replaced(value)
        if new is not value:
            type.__setattr__(owner, name, new) if issubclass(type(owner), type) else setattr(owner, name, new)
        inner = getattr(new, "__func__", new) if isinstance(new, (classmethod, staticmethod)) else new
        if id(inner) in seen or type(inner) is StandIn:
            continue
        if isinstance(inner, types.FunctionType) and inner.__module__ == module:
            seen.add(id(inner))
            _replace_in_function(inner)
        elif issubclass(type(inner), type) and inner.__module__ == module:
            seen.add(id(inner))
            _replace_in(inner, module, seen)


def _replace_in_function(function: types.FunctionType) -> None:
    if function.__defaults__:
        function.__defaults__ = _replaced(function.__defaults__)
    _replace_values(function.__kwdefaults__)
    _replace_values(function.__annotations__)


def _replace_values(values: dict[str, Any] | None) -> None:
    for name, value in (values or {}).items():
        values[name] = _replaced(value)  # pyright: ignore[reportOptionalSubscript]
