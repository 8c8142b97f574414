"""Strings that a path or an iteration chooses, as the number of one among those that there are.

state = "idle"                  options ("idle", "busy"): 0
if x[i] > 0: state = "busy"     where(x[i] > 0, 1, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from ..frame.frame import Frame
from ..numpy_api.elements.selection import where
from ..values.arithmetic import as_weak, operate
from ..values.values import Chosen, Scalar, Static, Tensor, Value


@dataclass(frozen=True)
class Options:
    """What a variable is that a loop gives one of several strings: an integer, the number of the string."""

    texts: tuple[str, ...]


def options_of(value: Value) -> tuple[str, ...]:
    """The strings that a value may be; () for what is no string."""
    if isinstance(value, Chosen):
        return value.options
    return (value.raw,) if isinstance(value, Static) and type(value.raw) is str else ()


def joined(*options: Sequence[str]) -> tuple[str, ...]:
    """The strings of several paths, those of the first one first."""
    return tuple(dict.fromkeys(text for one in options for text in one))


def number_among(frame: Frame, options: tuple[str, ...], value: Value) -> Value:
    """The number of a string among `options`, which has all that it may be."""
    if isinstance(value, Static):
        return Static(options.index(value.raw))
    assert isinstance(value, Chosen)
    if value.options == options[: len(value.options)]:
        return value.which
    number: Value = Static(options.index(value.options[-1]))
    for k, option in enumerate(value.options[:-1]):
        is_it = operate(frame.graph, "equal", value.which, Static(k))
        number = where(frame.graph, is_it, Static(options.index(option)), number)
    return number


def are_texts(values: Sequence[Value]) -> bool:
    """Whether all of the values are strings."""
    return all(map(options_of, values))


def select(frame: Frame, condition: Value, then: Value, other: Value) -> Value:
    """`then if condition else other` of strings."""
    options = joined(options_of(then), options_of(other))
    numbers = [number_among(frame, options, value) for value in (then, other)]
    return Chosen(options, as_weak(where(frame.graph, condition, *numbers), int, None))


def of_number(options: tuple[str, ...], number: Tensor | Scalar) -> Value:
    """The string of a number that was stored."""
    return Static(options[0]) if len(options) == 1 else Chosen(options, number)


def is_options(kind: object) -> TypeGuard[Options]:
    return isinstance(kind, Options)
