"""What the entry of a specialisation says of extents that are known only when it is called (part of entry.py).

An unknown extent has a number among the names of the entry: records of arrays note its value there. Conditions that the
program assumes, extents of results and integers among them are linear forms over these names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....runtime.cpu.call_layout import CONDITION, EXCLUSION, LINEAR
from ...interface.argument_types import is_open
from ..call.invoke import Invocation
from .leaves import Call, Declined

if TYPE_CHECKING:
    from ...interface.program_parts import Linear as LinearForm


@dataclass(eq=False)
class ExtentWriter:
    """Writes linear forms, conditions and exclusions; `open`: the entry leaves unknown extents open."""

    call: Call
    invocation: Invocation
    open: bool
    names: dict[Any, int] = field(default_factory=dict, kw_only=True)

    def _need(self, condition: bool) -> None:
        if not condition:
            raise Declined

    def _name(self, key: Any) -> int:
        return self.names.setdefault(key, len(self.names))

    def _varies(self, form: LinearForm) -> bool:
        """Whether calls of this entry can have different values of it."""
        if self.open:
            return bool(form.terms)
        self._need(
            not any(_mentions_integers(key) for key, _ in form.terms if not isinstance(key, int | str))
        )
        return any(isinstance(key, int) for key, _ in form.terms)

    def _linear(self, form: LinearForm) -> list[int]:
        """A linear form over the names; extents that an entry does not leave open are part of the constant."""
        constant, terms = form.constant, []
        for key, coefficient in form.terms:
            if not self.open and not isinstance(key, int):
                known = self.invocation.names
                constant += coefficient * (known[key] if isinstance(key, str) else key.value(known))
            else:
                self._need(key in self.names)
                terms += [self.names[key], coefficient]
        return [*LINEAR.pack(constant=constant, count=len(terms) // 2), *terms]

    def _condition(self, guard: Any) -> list[int]:
        divided = guard.divided
        form, exact = (guard.form, guard.exact) if divided is None else (divided.numerator, divided.divisor)
        terms = [word for name, c in form.terms for word in (self._name_of_extent(name), c)]
        return [*CONDITION.pack(exact=exact, constant=form.constant, count=len(form.terms)), *terms]

    def _exclusions(self) -> list[list[int]]:
        """Where an earlier program fits, known extents for ours: it may round differently, and has to go on running."""
        found = []
        for earlier in self.call.earlier:
            known: dict[int, int] = {}
            fits = True
            for theirs, ours in zip(earlier, self.invocation.program.arguments, strict=True):
                for extent, name in zip(theirs.extents, ours.extents, strict=True):
                    if isinstance(extent, str):
                        continue
                    if isinstance(name, str):
                        fits &= known.setdefault(self._name_of_extent(name), extent) == extent
                    else:
                        fits &= name == extent
            if fits:
                pairs = [word for pair in known.items() for word in pair]
                found.append([*EXCLUSION.pack(count=len(known)), *pairs])
        return found

    def _not_negative(self) -> list[list[int]]:
        """The conditions of open integers: programs for them are for values that are not negative."""
        arguments = self.invocation.program.arguments
        names = [self._name(k) for k, one in enumerate(arguments) if is_open(one)]
        return [[*CONDITION.pack(count=1), name, 1] for name in names]

    def _own_values(self) -> list[list[int]]:
        """The values of integers and bools, and extents, that have programs of their own."""
        found = []
        for own in self.call.own:
            extents = {key: value for key, value in own.items() if isinstance(key, str)}
            if not self.open and any(self.invocation.names[key] != value for key, value in extents.items()):
                continue  # no call of this entry is one of theirs
            is_there = {key: isinstance(key, int) or (self.open and key in self.names) for key in own}
            named = {key: value for key, value in own.items() if is_there[key]}
            pairs = [word for key, value in named.items() for word in (self._name(key), value)]
            found.append([*EXCLUSION.pack(count=len(named)), *pairs])
        return found

    def _name_of_extent(self, name: str) -> int:
        self._need(name in self.names)
        return self.names[name]


def _mentions_integers(quotient: Any) -> bool:
    """Whether integer arguments decide the value."""
    return any(
        isinstance(key, int) or (not isinstance(key, str) and _mentions_integers(key))
        for key, _ in quotient.numerator.terms
    )
