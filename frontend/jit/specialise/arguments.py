"""What `nt.jit` can be given, and what is done with the values of a call before they have types: defaults and keys."""

from __future__ import annotations

import functools
import inspect
import opcode
from collections.abc import Callable, Sequence
from keyword import iskeyword
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ...interface.custom_ops import CustomOp
from ...interface.custom_rules import CustomRule
from ...interface.errors import DTypeError
from ...interface.forwarders import ABOUT, forwarded, forwarder, is_text_made, label_of, take_defaults
from ...interface.source import has_text
from ...interface.static_values import distinction, hashable
from ...interface.typed_texts import SHARED
from ...interface.versioned import is_own


class Default:
    """The default of a parameter that was not passed: baked in."""

    def __init__(self, value: Any):
        self.value = value


def default_of(value: Any) -> Any:
    """What stands for a parameter that was not passed: a default that can change, such as an array, is read in each call."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return value
    return Default(value)


def key_of(value: Any) -> Any:
    """A key that tells values apart; of what cannot be hashed, types only."""
    try:
        return (type(value), hashable(value), distinction(value))
    except TypeError:
        return type(value)


def is_long(value: Any) -> bool:
    """Whether a value is an integer of Python that 64 bits do not hold: it is compiled in, as no program takes it."""
    return type(value) is int and not -(1 << 63) <= value < 1 << 63


def overlaps(values: Sequence[Any]) -> tuple:
    """Which pairs of array arguments may share memory, and which are the same."""
    arrays = [(k, v) for k, v in enumerate(values) if isinstance(v, np.ndarray)]
    pairs = []
    for position, (k, a) in enumerate(arrays):
        for j, b in arrays[:position]:
            if np.may_share_memory(a, b):
                exact = a.__array_interface__["data"][0] - b.__array_interface__["data"][0]
                pairs.append((j, k, exact))
    return tuple(pairs)


def plain_function(function: Any) -> Callable[..., Any]:
    """The function to compile. Raises DTypeError for what is none."""
    if not isinstance(function, FunctionType) and _is_called_object(function):
        function = _call_of(function)
    if _is_handed_on(function):
        name = label_of(getattr(function, "func", function))
        name = f"{name}_" if iskeyword(name) else name
        made = forwarder(function, name, "_function({})", {"_function": function}, "jit")
        setattr(made, ABOUT, function)
        return made
    if isinstance(function, staticmethod | classmethod):
        kind = type(function).__name__
        raise DTypeError(f"{function!r} is a {kind}, not a function", hint=f"write @{kind} above @nt.jit")
    if not callable(function) or inspect.isclass(function):
        raise DTypeError(f"{function!r} is not a function", hint="nt.jit compiles functions defined with def")
    return function


def _is_handed_on(function: Any) -> bool:
    """Whether a function made of a text calls it: what is compiled is that, and what it reads is read outside."""
    if isinstance(function, FunctionType):
        is_file = function.__code__.co_filename not in SHARED
        return not (is_file or is_text_made(function.__code__.co_filename) or has_text(function))
    kinds = CustomRule | CustomOp | functools.partial | np.ufunc | BuiltinFunctionType
    return isinstance(function, kinds) or _is_bound(function) or _is_of_numpy(function)


def _is_bound(function: Any) -> bool:
    """Whether it is a method of an object or of a class: what it reads of that is read outside, in each call."""
    return inspect.ismethod(function) and isinstance(function.__func__, FunctionType)


def _is_of_numpy(function: Any) -> bool:
    """Whether it is a function of NumPy that is no Python function: those that dispatch by their arguments."""
    return (
        callable(function)
        and type(function).__module__.partition(".")[0] == "numpy"
        and hasattr(function, "__wrapped__")
    )


def _is_called_object(function: Any) -> bool:
    """Whether it is an object whose class defines `__call__` in Python; no class, and none of Nestor's own objects."""
    return (
        not isinstance(function, type)
        and not is_own(type(function))
        and isinstance(_call_of_class(function), FunctionType)
    )


def _call_of_class(function: Any) -> Any:
    return next((vars(kind)["__call__"] for kind in type(function).__mro__ if "__call__" in vars(kind)), None)


def _call_of(function: Any) -> MethodType:
    return MethodType(_call_of_class(function), function)


_STORES = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap)
_OPERATE = opcode.opmap["BINARY_OP"]
_IN_PLACE = 13
"""The number of `+=` among the operators of BINARY_OP; those after it work in place too."""


def seems_to_write(function: Any) -> bool:
    """Whether `x[i] = ...` or `x += ...` is in the code of a function, or of one inside it."""
    return _writes(function.__code__) if isinstance(function, FunctionType) else False


def _writes(code: CodeType) -> bool:
    steps = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    if any(step in _STORES or (step == _OPERATE and what >= _IN_PLACE) for step, what in steps):
        return True
    return any(isinstance(inner, CodeType) and _writes(inner) for inner in code.co_consts)


def parts_of_function(function: Any) -> list[Any]:
    """What a function consists of that can be replaced: its code and its defaults. Each is told by its identity."""
    if type(function) is not FunctionType:
        return []
    target, others = forwarded(function), []
    if target is not None:
        take_defaults(function)
        others = parts_of_function(getattr(target, "function", target))
    named = function.__kwdefaults__
    return [*others, function.__code__, function.__defaults__, named, *(named or ()), *(named or {}).values()]


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, follow_wrapped=False)
    except ValueError:
        inner = getattr(function, "__wrapped__", None)
        has_inner = isinstance(inner, FunctionType)
        hint = f"compile what it wraps: nt.jit({inner.__name__}.__wrapped__)" if has_inner else _WRITE
        raise DTypeError(f"{function!r} has no signature", hint=hint) from None


_WRITE = "nt.jit compiles functions defined with def: write one that calls it"
