"""Loops in each other find together what they carry: a sweep compiles each body once, until one finds nothing new.

    for i in range(n):          first sweep: the inner loop finds that `s` becomes a float and that `p.v` changes. It is
        s = 0                   left as if it had been compiled so, and the outer one finds the same. This is all dropped.
        for j in range(m):      second sweep: both start from what was found, and find no more. What is emitted stays.
            s += x[j]
            p.v = p.v * 0.5

Were the inner loop compiled until it finds nothing new in each attempt at the outer one, its body would be compiled as often
as 2 to the depth. It is compiled again without the loop around it only where that one carries nothing of what was found,
and where no loop in it was. Where a loop finds more in each of several sweeps, it goes on by itself: what it carries has no
name that holds in the next one.

What was found of a loop is kept for the form that the loop around it has (a loop over elements, on whole arrays, which
iteration of an unrolled one), so that no attempt at one form says anything of another.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...dialects.diagnostic import NestorError
from ..frame.frame import Frame
from ..frame.objects import is_ref, place_of
from ..interface.errors import Respecialise, UnsupportedError
from ..values.graph import Graph
from ..values.values import Buffer, Group, Value, serials

ELEMENTS, TENSORS = "elements", "tensors"
"""The forms of a loop that is not unrolled."""

MOST_SWEEPS = 3
"""In so many sweeps more may be found of a loop; then it goes on by itself."""

Path = tuple[Any, ...]
"""An object by the variable that shows it, and which item of that one it is: `("p", 0)`."""


class NotElementwise(UnsupportedError):
    """A loop body that works on whole arrays, and so is not a loop nest. `inside`: the loops that it was found in."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.inside: list[Any] = []


class TypesDiffer(UnsupportedError):
    """A number is of one type on one path and of another one on another, and no type is both."""


@dataclass(eq=False)
class Found:
    """What sweeps have found of a loop, in one form of the loop around it."""

    kinds: dict[Any, Any] = field(default_factory=dict)
    """Of a loop over elements: the types of its variables, and of numbers in objects by their paths."""
    carried: Any = None
    """Of a loop on whole arrays (`settled.py`)."""
    not_elementwise: dict[Any, NotElementwise] = field(default_factory=dict)
    """The loops that cannot be loops over elements, this one and those in it, and why."""
    may_unroll: bool = False
    """Whether it may be unrolled where it is no loop."""
    is_while: bool = False
    varying: dict[Any, bool] = field(default_factory=dict)
    """The `while` loops in it, in whatever form it has, whose conditions are of numbers and not known at compile time."""
    times: int = 0
    """In how many sweeps more was found."""
    inside: dict[Any, Found] = field(default_factory=dict)
    """The loops in it, by the form that this one had."""


@dataclass(eq=False)
class _Body:
    """The body of a loop that is being compiled: `form` is the loop's, or which iteration of an unrolled one."""

    found: Found
    form: Hashable
    frame: Frame
    known: frozenset[str]
    """The variables and objects that there were before it."""
    since: int
    """The arrays that were made in it have serials from this one on."""
    is_loop: bool
    counts: Counter[Any] = field(default_factory=Counter)
    branches: int = 0
    """In how many branches what is compiled now is."""


class Sweeps:
    """The loops that are being compiled, and what was found of them."""

    def __init__(self) -> None:
        self.found = Found()
        """Of the loop that is being compiled."""
        self.varies = False
        """Whether its condition is of numbers, and was found not to be known at compile time."""
        self.finds = 0
        """How many loops were left, in sweeps that are open, as what they were found to be: what is emitted is dropped."""
        self._may_grow: frozenset[str] | None = frozenset()
        """The lists that are given room where a loop appends to them (`grown_lists.py`); None where that was refused."""
        self.repeats = 0
        """How many inner loops were compiled again without the loops around them."""
        self.is_one_by_one = False
        """Whether each loop is compiled until it finds nothing more, and begins with what it knows itself."""
        self._around: list[_Body] = []
        self._open = 0

    @contextmanager
    def loop(self, frame: Frame, node: ast.stmt, form: str = "") -> Iterator[None]:
        """Around all attempts at one loop."""
        outer, self.found = (self.found, self.varies), Found()
        around = self._around[-1] if self._around else None
        place = form, type(node), place_of(frame, node)
        key = "", place, 0
        if around is not None:
            key = "" if around.is_loop else around.form, place, around.counts[place]
            around.counts[place] += 1
            self.found = around.found.inside.setdefault((around.form, *key), self.found)
        self.varies = around is not None and around.found.varying.get(key, False)
        try:
            yield
        finally:
            if around is not None:
                around.found.varying[key] = self.varies
            self.found, self.varies = outer

    @contextmanager
    def turn(self, frame: Frame, k: int) -> Iterator[None]:
        """Around an iteration of an unrolled loop."""
        with self._inside(frame, k, False):
            yield

    @contextmanager
    def sweep(self, frame: Frame, form: str) -> Iterator[None]:
        """Around the body of a loop of which is found what it carries."""
        self._open += 1
        try:
            with self._inside(frame, form, True):
                yield
        finally:
            self._open -= 1

    @contextmanager
    def _inside(self, frame: Frame, form: Hashable, is_loop: bool) -> Iterator[None]:
        outer, known = self.found, frozenset(frame.variables)
        self._around.append(_Body(outer, form, frame, known, next(serials), is_loop))
        try:
            yield
        finally:
            self.found = outer
            self._around.pop()

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Around one side of a branch."""
        around = self._around[-1] if self._around else None
        if around is not None:
            around.branches += 1
        try:
            yield
        finally:
            if around is not None:
                around.branches -= 1

    @contextmanager
    def growing(self, refs: Iterable[str] | None) -> Iterator[None]:
        """Around a loop that gives room to lists that it appends to; None where that was refused."""
        outer = self._may_grow
        self._may_grow = None if refs is None or outer is None else outer | set(refs)
        try:
            yield
        finally:
            self._may_grow = outer

    def needs_room(self, ref: str | None) -> bool:
        """Whether only the run knows how often a list is appended to here: in loops in each other, on some paths only, or in
        a loop that nothing counts. Not where a loop around may be unrolled."""
        if self._may_grow is None or ref not in self._may_grow:
            return False
        loops, is_certain = 0, True
        for body in reversed(self._around):
            if ref not in body.known:
                break
            if body.is_loop and body.found.may_unroll:
                return False
            loops += body.is_loop
            is_certain &= not body.branches and not (body.is_loop and body.found.is_while)
        return loops > 1 or (loops == 1 and not is_certain)

    def is_left_to_others(self, ref: str) -> bool:
        """Whether a loop around gives the list its room, where the present one appends to it."""
        if self._may_grow is None or ref not in self._may_grow:
            return False
        for body in reversed(self._around):
            if ref not in body.known or (body.is_loop and body.found.may_unroll):
                return False
            if body.is_loop:
                return True
        return False

    def goes_on(self) -> bool:
        """Whether the present loop is compiled until nothing more is found: the outermost one, and one of which more was
        found in each of several sweeps."""
        return self.is_one_by_one or not self._open or self.found.times >= MOST_SWEEPS

    @property
    def is_outermost(self) -> bool:
        """Whether the present loop is in no other one that is compiled as a loop."""
        return not self._open

    @contextmanager
    def one_by_one(self) -> Iterator[None]:
        """For a while without what sweeps have found. A number that one of them made a float32 may be a float64 in the next,
        and no number is both: `s = s + a32[j]` where the loop around makes a float64 of `s`."""
        self.is_one_by_one = True
        try:
            yield
        finally:
            self.is_one_by_one = False

    def is_of_its_own(
        self, frame: Frame, names: Iterable[str], arrays: Iterable[Buffer], repeats: int
    ) -> bool:
        """Whether the present loop is compiled again without the one around it, which carries none of what was found:
        neither `names` and objects nor `arrays` were there before it. Not where a loop in the present one was, since there
        were so many `repeats`: then those inside would be compiled once more for each loop around them.
        """
        if self.repeats != repeats:
            return False
        around = next((body for body in reversed(self._around) if body.is_loop), None)
        if around is None:
            return True
        is_inside = frame is around.frame or frame.home is not None
        if any(name in around.known for name in names if is_inside or is_ref(name)):
            return False
        return all(array.serial >= around.since for array in arrays)

    def is_in_elements(self, frame: Frame) -> bool:
        """Whether a loop of the function's own around is compiled as one over elements."""
        return any(body.is_loop and body.form == ELEMENTS and body.frame is frame for body in self._around)

    def why_not_elementwise(self, place: Any) -> NotElementwise | None:
        """Why a loop is none over elements, where that was found by an attempt at one around it, or in an earlier sweep."""
        for found in (self.found, *(body.found for body in reversed(self._around))):
            if place in found.not_elementwise:
                return found.not_elementwise[place]
        return None


def sweeps(graph: Graph) -> Sweeps:
    """Those of a function being compiled."""
    if graph.sweeps is None:
        graph.sweeps = Sweeps()
    return graph.sweeps


def is_premature(graph: Graph, error: Exception, finds: int) -> bool:
    """Whether an error may be one of types that are not found yet: loops were left since there were so many `finds`.

    That something is an array, or an object, does not change by what is found.
    """
    is_of_types = isinstance(error, NestorError | Respecialise) and not isinstance(error, NotElementwise)
    return is_of_types and sweeps(graph).finds != finds


def paths(variables: Mapping[str, Value]) -> dict[str, Path]:
    """The objects that variables show, by their refs: names that hold in the next sweep, too."""
    found: dict[str, Path] = {}
    rest: list[tuple[Path, Value]] = [((name,), v) for name, v in variables.items() if not is_ref(name)]
    for path, value in rest:
        if not isinstance(value, Group):
            continue
        if value.ref is not None:
            if value.ref in found:
                continue
            found[value.ref] = path
            content = variables.get(value.ref)
            value = content if isinstance(content, Group) else value
        rest += [((*path, k), item) for k, item in enumerate(value.items)]
    return found
