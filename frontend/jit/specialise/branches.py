"""Which way branches go: what `nt.jit(f, profile=True)` counts in the first calls, and what later programs are told.

    if x[i] > 0: ...          a program that is watched counts both ways, in memory that this module has: 3 of 4000 times
                              the programs behind it have that as weights of the branch, for LLVM

A branch is the `if` at a place of the Python text. Where the conversion of a nest leaves none (it selects, or masks lanes)
nothing is counted, nor has LLVM anything to be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ....dialects.attributes import BRANCH_COUNTS, BRANCH_WEIGHTS
from ....dialects.diagnostic import op_location

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

Place = tuple[str, int, int]
"""A file, a line and a column."""

Ways = dict[Place, tuple[int, int]]
"""How often each branch was false, and true."""

LARGEST = (1 << 32) - 1
"""Maximum of a weight of LLVM."""


def branches_of(module: ModuleOp) -> list[Place]:
    """The branches of a program, given at the nt level, where each is at one place."""
    return list(dict.fromkeys(place for op in _branches(module) if (place := _place(op)) is not None))


class Counts:
    """Numbers that a program counts in: for each branch how often its condition was false, and true."""

    def __init__(self, places: list[Place]):
        self.places = places
        self.numbers = np.zeros((len(places), 2), np.int64)
        self.are_used = False
        """Whether some branch is counted."""

    def put_into(self, module: ModuleOp) -> None:
        """Let a module of the scf level count."""
        from xdsl.dialects.builtin import IntegerAttr, i64

        address, size = self.numbers.ctypes.data, 2 * self.numbers.itemsize
        known = {place: address + k * size for k, place in enumerate(self.places)}
        for op in _branches(module):
            if (place := _place(op)) in known:
                op.attributes[BRANCH_COUNTS] = IntegerAttr(known[place], i64)
                self.are_used = True

    def ways(self) -> Ways:
        """What was counted until now."""
        return {
            place: (int(no), int(yes))
            for place, (no, yes) in zip(self.places, self.numbers, strict=True)
            if no or yes
        }


def with_branches(module: ModuleOp, branches: Counts | Ways) -> None:
    """Let a module of the scf level count its branches, or tell LLVM of them."""
    if isinstance(branches, Counts):
        branches.put_into(module)
    else:
        weigh(module, branches)


def weigh(module: ModuleOp, ways: Mapping[Place, tuple[int, int]]) -> None:
    """Tell LLVM which way the branches of a module of the scf level go; one that never went is as one that did once."""
    from xdsl.dialects.builtin import DenseArrayBase, i64

    for op in _branches(module):
        found = ways.get(_place(op)) if _place(op) is not None else None  # pyright: ignore
        if found is None:
            continue
        no, yes = found
        scale = max(1, -(-max(no, yes) // (LARGEST - 1)))
        op.attributes[BRANCH_WEIGHTS] = DenseArrayBase.from_list(i64, [yes // scale + 1, no // scale + 1])


def ways_text(ways: Mapping[Place, tuple[int, int]], most: int = 8) -> str:
    """Which way branches went, for people."""
    said = [
        f"line {line} was true {yes} of {no + yes} times" for (_, line, _), (no, yes) in sorted(ways.items())
    ]
    more = [f"{len(said) - most} more"] if len(said) > most else []
    return ", ".join([*said[:most], *more])


def _branches(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in module.walk() if op.name in ("scf.if", "nest.if"))


def _place(op: Operation) -> Place | None:
    where = op_location(op)
    return None if where is None or not where.line else (where.file, where.line, where.column)
