"""What is known of a compiled function beside its code: its guards, what the kernel fills, how results are made of that.

Plain data, and nothing here imports xDSL: programs are kept on disk and come back without the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.diagnostic import Diagnostic
from ...dialects.records import record
from .argument_types import ArgumentType
from .captured import Captured
from .outside_arrays import NO_INPUTS, Inputs

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..values.exceptions import Raise


@record(eq=False)
class Guard:
    """`form`, of extents and their quotients, is at least 0 (`exact`: is 0)."""

    form: Linear
    exact: bool
    why: str = ""

    @property
    def is_linear(self) -> bool:
        """Whether it has no quotients."""
        return all(isinstance(key, str) for key, _ in self.form.terms)

    @property
    def divided(self) -> Quotient | None:
        """The remainder that must be 0, of a number without quotients, where that is all it says."""
        if not self.exact or self.form.constant or len(self.form.terms) != 1:
            return None
        key, factor = self.form.terms[0]
        if factor != 1 or not isinstance(key, Quotient) or not key.remainder or key.divisor < 2:
            return None
        return key if all(isinstance(name, str) for name, _ in key.numerator.terms) else None

    def holds(self, extents: Mapping[Any, int]) -> bool:
        total = self.form.value(extents)
        return total == 0 if self.exact else total >= 0

    def __str__(self) -> str:
        return f"{self.form} {'==' if self.exact else '>='} 0"


@record(eq=False)
class Leaf:
    """How one result is made after the kernel has run.

    `how` is `constant` (value), `argument` (the argument itself; beyond the arguments, a list, dict or object that is in
    them, by its number), `item` (what such an object had under the name or at the place `value`), `view` (of an argument,
    or of what the leaf `value` makes), `reshape`, `ravel`, `broadcast`, `broadcast_arrays`, `diagonal`, `windows` ... (of
    what the leaf `value` makes: shape or the parameters, and a window of that or None), `integer` (linear in extents and
    integer arguments), `output` (position among the kernel's outputs), `read-only` (a view of that), `rows` (a list of
    them), `chosen` (one of the constants `value`, by its number), `again` (the object that was made as number `value`,
    parts before the whole) or `choice`: what `value`, a dictionary of leaves, has for the number that is in the output
    `tag`, else the output.
    """

    how: str
    value: Any = None
    argument: int = -1
    output: int = -1
    view: Any = None
    tag: int = -1


@record(eq=False)
class Change:
    """What the call does to a list, dict or object of its arguments, which is number `number` of them.

    `names` are the keys of a dict, or the attributes that are set; `deleted` those that are deleted before. `items` are made
    as results are.
    """

    number: int
    kind: type
    names: tuple[Any, ...] | None
    items: tuple[Any, ...]
    deleted: tuple[str, ...] = ()


@record(eq=False)
class OutputType:
    """An array that the kernel fills: `extents` are integers or linear forms, in memory order `order` when not row-major.

    One that the kernel allocates, because only the run knows its extents, has the rank `allocated` and no `extents`.
    """

    dtype: np.dtype
    extents: tuple[Linear, ...]
    order: tuple[int, ...] | None
    kind: str
    """`array`, `scalar` (a NumPy scalar), the name of a Python type, or `tag`: no result, but what chooses one; or `told`:
    no result either, but an integer that results are made with, named by `run_name`."""
    allocated: int | None = None


def run_name(output: int) -> str:
    """The name that the integer in an output has in a `Linear`: the kernel computes it."""
    return f"%{output}"


@record(eq=False)
class Linear:
    """An integer computed from the call: constant + sum(coefficient * extent, integer argument or integer that the
    kernel computes), or a quotient of one."""

    constant: int
    terms: tuple[tuple[str | int | Quotient, int], ...] = ()

    def value(self, names: Mapping[Any, int]) -> int:
        total = self.constant
        for key, coefficient in self.terms:
            number = key.value(names) if isinstance(key, Quotient) else names[key]
            total += coefficient * number
        return total

    def __str__(self) -> str:
        parts = [f"{c} * {key}" if c != 1 else f"{key}" for key, c in sorted(self.terms, key=str)]
        text = " + ".join(parts + ([str(self.constant)] if self.constant or not parts else []))
        return text.replace("+ -", "- ")


@record(eq=False)
class Quotient:
    """`numerator // divisor`, or the remainder."""

    numerator: Linear
    divisor: int
    remainder: bool

    def value(self, names: Mapping[Any, int]) -> int:
        number = self.numerator.value(names)
        return number % self.divisor if self.remainder else number // self.divisor

    def __str__(self) -> str:
        return f"({self.numerator}) {'%' if self.remainder else '//'} {self.divisor}"


class Program:
    """A function lowered to nt for one specialisation."""

    def __init__(
        self,
        name: str,
        module: ModuleOp,
        arguments: tuple[ArgumentType, ...],
        results: Any,
        outputs: list[OutputType],
        written: list[int],
        guards: list[Guard],
        captured: Captured,
        remarks: Sequence[Diagnostic] = (),
        raises: Sequence[Raise] = (),
        changes: Sequence[Change] = (),
        may_change: bool = False,
        inputs: Inputs = NO_INPUTS,
    ):
        self.name = name
        self.module = module
        """At the nt level; None for one that came from the disk, of which only the code was kept."""
        self.arguments = arguments
        self.results = results
        self.outputs = outputs
        self.written = written
        self.guards = guards
        self.captured = captured
        self.remarks = list(remarks)
        """What the passes had to say while it was compiled: copies that remain, loops that could not be vectorized."""
        self.changes = list(changes)
        self.may_change = may_change
        """Whether lists, dicts or objects of the caller are changed, on some path at least: a call that raises must leave
        them as Python does."""
        self.raises = raises
        """What the module names by number, for as long as it may be compiled."""
        self.inputs = inputs
        """Where its last arguments are found: arrays from outside the function."""
