"""Strings that are chosen when the program runs, from those that the program names.

m = "sum" if c else "mean"      the number of the string: 0 or 1
m == "sum"                      that number is 0
d[m], f(m)                      compiled for each string, and computed for the one that it is
raise ValueError(f"{m}!")       the number is sent, and Python makes the text
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

from ..frame.frame import Frame
from ..values import arithmetic as arith
from ..values.values import Chosen, Static, Text, Value
from .conditions import bool_, either, every, some


def is_option(frame: Frame, node: Any, value: Chosen, k: int) -> Value:
    """Whether it is option `k`."""
    return bool_(frame, node, arith.operate(frame.graph, "equal", value.which, Static(k)))


def by_option(frame: Frame, node: Any, value: Chosen, compute: Callable[[Value], Value]) -> Value:
    """What `compute` gives for the string that it is: all of them are compiled."""
    found = [lambda option=option: compute(Static(option)) for option in value.options]
    made = found[-1]
    for k in reversed(range(len(found) - 1)):
        made = partial(_either, frame, node, value, k, found[k], made)
    return made()


def _either(
    frame: Frame, node: Any, value: Chosen, k: int, then: Callable[[], Value], other: Callable[[], Value]
) -> Value:
    return either(frame, node, is_option(frame, node, value, k), then, other)


def holds_for(frame: Frame, node: Any, value: Chosen, test: Callable[[Value], Value]) -> Value:
    """Whether a condition, decided for each string, holds for the one that it is."""
    found = [
        every(frame, node, [is_option(frame, node, value, k), bool_(frame, node, test(Static(option)))])
        for k, option in enumerate(value.options)
    ]
    return some(frame, node, found)


def as_text(value: Chosen) -> Text:
    """It as a string that is put together when it is printed or raised."""
    return Text(((value.which, partial(getitem, value.options), ""),))
