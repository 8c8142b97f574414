"""The named reductions of `nt.reduce`: combiner at the nest level, identity, and the NumPy ufunc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Attribute

from .types import kind_of, width_of


@dataclass(frozen=True, eq=False)
class Reduction:
    """`combiners` gives the combiner of `nest.accumulate` by element kind; `identity` maps (kind, width) to it."""

    name: str
    ufunc: str
    combiners: Mapping[str, str]

    def combiner(self, element: Attribute) -> str:
        """The nest combiner for this element type; KeyError when the reduction has none."""
        return self.combiners[kind_of(element)]

    def identity(self, element: Attribute) -> complex:
        """The neutral element: 0 for add, -inf (or the smallest integer) for maximum, ..."""
        kind, width = kind_of(element), width_of(element)
        if self.name in ("add", "or"):
            return 0
        if self.name == "multiply":
            return 1
        if self.name == "and":
            return 1 if kind == "b" else -1
        largest = self.name == "minimum"
        if kind == "c":
            return complex("inf+infj") if largest else complex("-inf-infj")
        if kind == "f":
            return float("inf") if largest else float("-inf")
        if kind == "b":
            return 1 if largest else 0
        if kind == "u":
            return (1 << width) - 1 if largest else 0
        return (1 << (width - 1)) - 1 if largest else -(1 << (width - 1))


REDUCTIONS: dict[str, Reduction] = {
    r.name: r
    for r in (
        Reduction("add", "add", {"f": "add", "i": "add", "u": "add", "c": "add"}),
        Reduction("multiply", "multiply", {"f": "mul", "i": "mul", "u": "mul", "c": "mul"}),
        Reduction(
            "maximum", "maximum", {"f": "maximum", "i": "maxsi", "u": "maxui", "b": "or", "c": "maximum"}
        ),
        Reduction(
            "minimum", "minimum", {"f": "minimum", "i": "minsi", "u": "minui", "b": "and", "c": "minimum"}
        ),
        Reduction("and", "logical_and", {"b": "and"}),
        Reduction("or", "logical_or", {"b": "or"}),
    )
}
