"""Where the leaves of a call stand among its arguments: what an entry for such calls is written from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.cpu.call_layout import NO_SOURCE
from ...interface.structures import LEAVES, parts_of

if TYPE_CHECKING:
    from ...interface.argument_types import ArgumentType


@dataclass(eq=False)
class Call:
    """A call that was answered in Python: its arguments, and where its leaves stand among them.

    `passed` are the arguments as the caller wrote them, those of `keywords` last; `sources` says for each leaf which object
    it is (NO_SOURCE: a default, or a structure), `tuples` are (object, type, length, first item) of structures that were
    spread.
    """

    values: Sequence[Any]
    passed: list[Any]
    positional: int
    keywords: tuple[str, ...]
    sources: list[int]
    tuples: list[tuple[int, type, int, int]]
    mutates: bool
    out: int = NO_SOURCE
    """The object that is the caller's `out`, where the function has no parameter of that name."""
    held: list[np.ndarray] = field(default_factory=list)
    """Arrays that are the same in every call of an entry, defaults and those from outside: the last objects."""
    long: bool = False
    own: Sequence[Mapping[Any, int]] = ()
    """Values of integers and bools by the position of the leaf, and extents by their names, for which other programs are."""
    earlier: Sequence[Sequence[ArgumentType]] = ()
    """What the programs are for that come before the one that runs: where both fit, they do."""

    def hold_outside(self, values: Sequence[Any]) -> None:
        """Put arrays behind the objects of the call: those that are defaults, and what `values` has beyond its own."""
        own = len(self.values)
        first = len(self.passed) + sum(length for _, _, length, _ in self.tuples)
        self.sources += [NO_SOURCE] * (len(values) - own)
        self.values = values
        for k, value in enumerate(values):
            if self.sources[k] == NO_SOURCE and isinstance(value, np.ndarray):
                self.sources[k] = first + len(self.held)
                self.held.append(value)


class Declined(Exception):
    """Such calls stay in Python."""


def place_leaves(
    names: Sequence[str],
    values: Sequence[Any],
    groups: Sequence[str | None],
    parameters: Iterable[str],
    args: tuple,
    keywords: dict[str, Any],
    mutates: bool,
) -> Call | None:
    """Where the leaves of a call stand among its arguments; None where that cannot be said."""
    order = list(parameters)
    passed = [*args, *keywords.values()]
    places = dict(zip(order, range(len(args)), strict=False))
    places.update({name: len(args) + k for k, name in enumerate(keywords)})
    call = Call(values, passed, len(args), tuple(keywords), [], [], mutates)
    if "out" in keywords and "out" not in order:
        call.out = places["out"]
    objects = len(passed)
    leaf = 0
    for name in order:
        spread = bool(groups) and leaf < len(groups) and groups[leaf] == name and names[leaf] == name
        source = places.get(name, NO_SOURCE)
        if not spread:
            call.sources.append(source)
            leaf += 1
            continue
        if source == NO_SOURCE:
            return None
        call.sources.append(NO_SOURCE)
        before = len(call.sources)
        objects = _walk(call, passed[source], source, objects)
        if objects < 0:
            return None
        leaf += 1 + len(call.sources) - before
    return call if leaf == len(values) else None


def _walk(call: Call, value: Any, source: int, objects: int) -> int:
    """Notes the items of a tuple, those of tuples in it too; the number of objects so far, -1 for other structures."""
    if not isinstance(value, tuple):
        return -1  # another thread may change a list while the kernel runs
    first = objects
    call.tuples.append((source, type(value), len(value), first))
    objects += len(value)
    for k, item in enumerate(value):
        if type(item) not in LEAVES and parts_of(item) is not None:
            objects = _walk(call, item, first + k, objects)
            if objects < 0:
                return -1
        else:
            call.sources.append(first + k)
    return objects
