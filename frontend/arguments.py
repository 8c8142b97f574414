"""What `nt.jit` can be given, and what is done with the values of a call before they have types: defaults and keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import DTypeError
from .specialise import signs


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


def hashable(value: Any) -> Any:
    """A key that tells values apart; of what cannot be hashed, types only."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return type(value)
    return (type(value), value, signs(value))


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
    """The function to compile. Raises DTypeError for what is none, or is bound to an object."""
    if inspect.ismethod(function):
        raise DTypeError(
            f"'{function.__qualname__}' is bound to an object",
            hint="decorate the method in its class with @nt.jit",
        )
    if isinstance(function, staticmethod | classmethod):
        kind = type(function).__name__
        raise DTypeError(f"{function!r} is a {kind}, not a function", hint=f"write @{kind} above @nt.jit")
    if not callable(function) or inspect.isclass(function):
        raise DTypeError(f"{function!r} is not a function", hint="nt.jit compiles functions defined with def")
    return function


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, follow_wrapped=False)
    except ValueError:
        raise DTypeError(
            f"{function!r} has no signature", hint="nt.jit compiles functions defined with def"
        ) from None
