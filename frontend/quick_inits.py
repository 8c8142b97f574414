"""The `__init__` of dataclasses, without a text to compile for each.

Classes of one shape share compiled code. Of a shape that was not had yet, the first calls go to a closure that does the
same in some ten times the time: most classes that a first call makes objects of are used a few times.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Sequence
from typing import Any

from .init_patterns import PATTERNS

OFTEN = 16
"""Calls after which an `__init__` of a new shape is compiled, which takes as long as some 100 of the closure."""

_usual_init: Any = getattr(dataclasses, "_init_fn", None)


class _InitOnDemand:
    """Stands for the `__init__` of a dataclass until it is called often, or looked at without an object."""

    def __init__(self, *arguments: Any):
        self._arguments = arguments
        self._calls = 0
        self._closure: Callable[..., None] | None = None

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None or self._calls >= OFTEN or _shape(*self._arguments) in _shapes:
            return self._compiled(owner).__get__(instance, owner)
        self._calls += 1
        if self._closure is None:
            self._closure = _closure(self._compiled, *self._arguments)
        return types.MethodType(self._closure, instance)

    def _compiled(self, owner: type) -> types.FunctionType:
        """The method that `dataclasses` makes, which takes the place of this."""
        method = _init_of_shape(*self._arguments)
        for cls in owner.__mro__:
            if cls.__dict__.get("__init__") is self:
                method.__qualname__ = f"{cls.__qualname__}.__init__"
                type.__setattr__(cls, "__init__", method)
        return method


def init_method(
    fields: Sequence[dataclasses.Field], positional: Sequence[dataclasses.Field], *rest: Any
) -> Any:
    """What stands for `dataclasses._init_fn`."""
    *_, has_post_init, _, _, _ = rest
    if not fields and not has_post_init:

        def __init__(self: Any):
            pass

        __init__.__annotations__ = {"return": None}
        return __init__
    optional = [_is_optional(field) for field in positional]
    if optional != sorted(optional):
        return _usual_init(fields, positional, *rest)  # it says what is wrong
    return _InitOnDemand(fields, positional, *rest)


_MISSING: Any = dataclasses.MISSING
_FIELD: Any = getattr(dataclasses, "_FIELD", None)
_HAS_FACTORY: Any = getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None)


def _is_optional(field: Any) -> bool:
    return field.default is not _MISSING or field.default_factory is not _MISSING


# ---- called a few times -------------------------------------------------------------------------------


def _closure(
    compiled: Callable[[type], Callable[..., None]],
    fields: Sequence[Any],
    positional: Sequence[Any],
    by_name: Sequence[Any],
    frozen: bool,
    has_post_init: bool,
    self_name: str,
    globals: dict[str, Any],
    slots: bool,
) -> Callable[..., None]:
    """An `__init__` that does what the compiled one does, and leaves to it what is not plain, such as wrong arguments."""
    if slots or any(field._field_type is not _FIELD for field in fields):
        return lambda self, /, *given, **named: compiled(type(self))(self, *given, **named)
    names = [field.name for field in positional]
    settable = {*names, *[field.name for field in by_name]}
    required = {field.name for field in (*positional, *by_name) if not _is_optional(field)}
    assigned = [
        (field.name, field.default, field.default_factory)
        for field in fields
        if field.init or field.default_factory is not _MISSING
    ]
    assign: Any = object.__setattr__ if frozen else setattr
    in_order = len(names) if len(names) == len(fields) and not has_post_init else -1
    """Values of all fields, where that is all there is to do with them."""

    def __init__(self: Any, /, *given: Any, **named: Any) -> None:
        if len(given) == in_order and not named:
            for name, value in zip(names, given, strict=True):
                assign(self, name, value)
            return
        values = {**dict(zip(names, given, strict=False)), **named}
        is_plain = len(values) == len(given) + len(named) and required <= values.keys() <= settable
        if not is_plain:
            return compiled(type(self))(self, *given, **named)
        for name, default, factory in assigned:
            if name in values:
                assign(self, name, values[name])
            else:
                assign(self, name, default if factory is _MISSING else factory())
        if has_post_init:
            self.__post_init__()

    return __init__


# ---- called often -------------------------------------------------------------------------------------

_shapes: dict[tuple, types.FunctionType] = dict(PATTERNS)
"""An `__init__` for each shape, its fields called `_0`, `_1` ..."""


def _init_of_shape(
    fields: Sequence[Any],
    positional: Sequence[Any],
    by_name: Sequence[Any],
    frozen: bool,
    has_post_init: bool,
    self_name: str,
    globals: dict[str, Any],
    slots: bool,
) -> Any:
    """The `__init__` that `dataclasses` compiles; of a shape that was had before, the same code with other names.

    Compiling one takes 0.3 ms, giving it other names a tenth of that; of 108, 36 differ in their shapes.
    """
    shape = _shape(fields, positional, by_name, frozen, has_post_init, self_name, globals, slots)
    if shape is None:
        return _usual_init(fields, positional, by_name, frozen, has_post_init, self_name, globals, slots)
    pattern = _shapes.get(shape)
    if pattern is None:
        numbered = [_numbered(k, field) for k, field in enumerate(fields)]
        pattern = _usual_init(numbered, numbered, (), frozen, has_post_init, self_name, {}, slots)
        _shapes[shape] = pattern
    return _with_names(pattern, fields, globals)


def _shape(fields: Sequence[Any], positional: Sequence[Any], *rest: Any) -> tuple | None:
    """What the code of an `__init__` depends on beside names; None where its arguments are not all its fields in order."""
    if len(positional) < len(fields):
        return None
    _, frozen, has_post_init, self_name, _, _ = rest
    kinds = [(field.default_factory is _MISSING, field._field_type is _FIELD) for field in fields]
    if self_name == "self" and all(map(all, kinds)):
        return frozen, has_post_init, len(fields)
    return (frozen, has_post_init, self_name, *kinds)


def _numbered(number: int, field: Any) -> dataclasses.Field:
    """A field like it that is called `_number`; all have a default, which is not part of the code."""
    has_factory = field.default_factory is not _MISSING
    made: Any = dataclasses.field(default_factory=list) if has_factory else dataclasses.field(default=None)
    made.name, made.type, made._field_type = f"_{number}", None, field._field_type
    return made


def _with_names(pattern: types.FunctionType, fields: Sequence[Any], globals: dict[str, Any]) -> Any:
    names: dict[Any, str] = {f"_{k}": field.name for k, field in enumerate(fields)}
    factories = {
        name: field.default_factory
        for k, field in enumerate(fields)
        for name in (f"_dflt__{k}", f"__dataclass_dflt__{k}__")  # as Python 3.11 and 3.12 have it
    }
    code = pattern.__code__
    cells = pattern.__closure__ or ()
    made = types.FunctionType(
        code.replace(
            co_name="__init__",
            co_varnames=tuple([names.get(name, name) for name in code.co_varnames]),
            co_names=tuple([names.get(name, name) for name in code.co_names]),
            co_consts=tuple([names.get(value, value) for value in code.co_consts]),
        ),
        globals,
        "__init__",
        tuple([_default(field) for field in fields if _default(field) is not _MISSING]) or None,
        tuple(
            [
                types.CellType(factories[name]) if name in factories else cell
                for name, cell in zip(code.co_freevars, cells, strict=True)
            ]
        ),
    )
    made.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return made


def _default(field: Any) -> Any:
    return field.default if field.default_factory is _MISSING else _HAS_FACTORY
