"""Who compiles what a program is made of. Statements, expressions and calls are in each other: they call through this table.

The graph holds it; `script/language.py` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .values import Array, Masked, Value


@dataclass(frozen=True, eq=False)
class Language:
    """`frame/recursion.py` has the signatures of the functions."""

    composites: Mapping[str, Callable[..., Value]]
    """Ufuncs that are made of others, by name: `composites["power"](graph, x, y)`."""
    evaluate: Callable[..., Value]
    test: Callable[..., Value]
    execute: Callable[..., None]
    bind: Callable[..., None]
    call: Callable[..., Value]
    inline: Callable[..., Value]
    listed: Callable[..., tuple[Value, ...]]
    late: Callable[..., Any]
    """The variable of a loop, read after it: `late(frame, node, value)`."""
    truth_of_object: Callable[..., Value]
    items_of_object: Callable[..., Value]
    refresh: Callable[..., None]
    """Look what a view of another shape shows by now: `refresh(graph, buffer)`."""
    write_through: Callable[..., None]
    """What is written to a view of another shape goes to its array: `write_through(graph, buffer, value)`."""
    settled: Callable[[Any, Masked], Array]
    """What a mask selects as an array: `settled(graph, masked)`."""
