"""Calls evaluated at compile time: of functions that give the same for the same constants."""

from __future__ import annotations

import ast
import inspect
import random
from types import ModuleType
from typing import Any

import numpy as np

from ..frame.frame import Frame
from ..frame.objects import made_anew
from ..frame.outside import entries, has_item, item
from ..interface.static_values import OPERATIONS, TEXT
from ..interface.versioned import is_own
from ..values.arithmetic import refuse_own_code
from ..values.values import Group, Static, Value


def name_of(target: Any) -> str:
    """What a function is called in messages."""
    name = getattr(target, "__name__", repr(target))
    owner = getattr(target, "__self__", None)
    if isinstance(owner, random.Random):
        return f"random.{name}"
    if isinstance(owner, np.random.Generator):
        return f"Generator.{name}"
    if not is_numpy(target):
        return name
    module = target.__module__.split(".")
    public = f"{module[1]}." if len(module) == 2 and module[1] in ("linalg", "fft", "random") else ""
    return f"np.{public}{name}"


def is_numpy(target: Any) -> bool:
    """Whether it is one of NumPy's."""
    return (getattr(target, "__module__", None) or "").split(".")[0] == "numpy"


def _plain(value: Value) -> Any:
    if isinstance(value, Group):
        return value.built([_plain(v) for v in value.items])
    assert isinstance(value, Static)
    return value.value


_REPEATABLE = ("builtins", "math", "cmath", "_operator", "numpy")


_OF_THE_PROCESS = frozenset((id, hash, globals, locals, vars, dir, __import__, compile))
"""Builtins whose answer is another one in another process."""


_CHANGING = frozenset((input, open, eval, exec, breakpoint))


_CHANGING_MODULES = ("time", "datetime", "random", "_random", "posix", "nt", "_io", "sys")
"""What talks to the world, or answers otherwise each time: not to be called while a program is compiled."""


def module_of(target: Any) -> str | None:
    """The module of a builtin function, or that of the class whose method it is."""
    owner = getattr(target, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        return target.__module__
    return (owner if isinstance(owner, type) else type(owner)).__module__


def is_changing(target: Any) -> bool:
    """Whether a builtin has effects, or may answer otherwise in the next call."""
    if not inspect.isbuiltin(target):
        return False
    return module_of(target) in _CHANGING_MODULES or target in _CHANGING


def _is_repeatable(target: Any) -> bool:
    """Whether a call that is evaluated now gives the same in another process."""
    if inspect.isbuiltin(target):
        return module_of(target) in _REPEATABLE and target not in _OF_THE_PROCESS
    return is_own(getattr(target, "__objclass__", target))


def fold(frame: Frame, node: ast.Call, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a call gives now."""
    values = (*args, *kwargs.values())
    given, before = [_plain(v) for v in values], [_plain(v) for v in values]
    frame.at(node)
    owner = getattr(target, "__self__", None)
    if type(owner) is dict and not kwargs:
        found = _of_dict(owner, target.__name__, args)
        if found is not None:
            return found
    frame.captured.whole(owner)
    makes_text = target in (str, repr, ascii, format) or isinstance(owner, str)
    refuse_own_code(frame.graph, given, OPERATIONS | TEXT if makes_text else OPERATIONS)
    if not _is_repeatable(target):
        frame.captured.unkeyed = f"what '{name_of(target)}' returns"
    try:
        result = target(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True)))
    except Exception as error:
        frame.fail_as(node, error)
    is_own = [isinstance(v, Group) for v in values]
    if any(repr(a) != repr(b) for own, a, b in zip(is_own, given, before, strict=True) if own):
        message = f"{name_of(target)}() changes its argument, which is not supported"
        frame.fail(node, message, "write it as a statement")
    return made_anew(frame, result)


def _of_dict(owner: dict[Any, Any], name: str, args: list[Value]) -> Value | None:
    """`owner.get(key)`, `owner.keys()` and so on."""
    if name == "get" and args and isinstance(args[0], Static):
        key = args[0].value
        if has_item(owner, key):
            return item(owner, key)
        return args[1] if len(args) > 1 else Static(None)
    if args or name not in ("keys", "values", "items"):
        return None
    pairs = [(Static(key), value) for key, value in entries(owner)]
    if name == "items":
        return Group(tuple([Group(pair) for pair in pairs]))
    return Group(tuple([pair[name == "values"] for pair in pairs]))
