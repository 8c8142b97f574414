"""Distances between the two instances of a dependence: exact through isl where indices are affine.

The distance of a loop is the variable of the sink's instance minus that of the source's (the values of the
loop variable, not the count of its iterations). Over all pairs of instances that touch one element the distances
are a set of integer vectors, one entry a loop around both accesses. It is computed once a pair of accesses and cut
by the loop that carries the dependence: the first loop whose distance is not zero.

An entry of a dependence vector is the distance where it is one number, else the signs that occur: `<` where
the source's iteration is the earlier one (a positive distance), `=` where it is the same, `>` where it is the
later one; `<=`, `>=` and `<>` where two of them occur, `*` where all do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from ...dialects.nest import ForOp
from .integer_sets import System, difference, polyhedron, require_pair
from .loops import enclosing_loops

if TYPE_CHECKING:
    import islpy as isl

    from .dependence import Access

Entry = int | str
"""A distance, or the signs that occur."""

SIGNS = {"<": {1}, "=": {0}, ">": {-1}, "<=": {0, 1}, ">=": {-1, 0}, "<>": {-1, 1}, "*": {-1, 0, 1}}
"""What each direction stands for: the signs of the distance."""

_DIRECTIONS = {frozenset(signs): direction for direction, signs in SIGNS.items()}


@dataclass(frozen=True, eq=False)
class DependenceVector:
    """`source` runs before `sink` and both may touch one element of `buffer`; how far apart they are.

    `kind` as in `Dependence`. `loops` are the loops around both accesses, outermost first, and `distance` has an
    entry for each. `carrier` is the loop that carries the dependence, None when source and sink are in the same
    iteration of all of `loops`.
    """

    source: Operation
    sink: Operation
    kind: str
    buffer: SSAValue | None
    loops: tuple[ForOp, ...]
    carrier: ForOp | None
    distance: tuple[Entry, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.distance))})"


class Distances:
    """The distances from instances of `first` to instances of `second`, by the loop that carries them."""

    def __init__(self, first: Access, second: Access, loops: Sequence[ForOp], equal: Sequence[ForOp] = ()):
        """`loops` are around both accesses, outermost first; the two instances agree on `equal` ones of them."""
        self._rank = len(loops)
        roots = loops[:1] or [_outermost(first.op), _outermost(second.op)]
        system = System(*roots)
        spans = [system.fresh() for _ in loops]
        require_pair(system, first, second)
        for span, loop in zip(spans, loops, strict=True):
            variables = system.variable(loop.iv, "t"), system.variable(loop.iv, "s")
            system.require_zero(difference(difference(*variables), {span: 1}))
            if loop in equal:
                system.require_zero({span: 1})
        self._set = _project(system, self._rank)

    def carried(self, backward: bool = False) -> Iterator[tuple[int, tuple[Entry, ...]]]:
        """The number of each loop that carries a dependence from `first` to `second`, and its vector.

        `backward`: from `second` to `first`.
        """
        for k in range(self._rank):
            chosen = self._set.intersect(_carried_by(self._rank, k, backward))
            if not chosen.is_empty():
                yield k, tuple(_entry(chosen, d, backward) for d in range(self._rank))

    def same_iteration(self) -> bool:
        """Whether some instances touch one element in the same iteration of all the loops."""
        return not self._set.intersect(_origin(self._rank)).is_empty()


def _outermost(op: Operation) -> Operation:
    loops = enclosing_loops(op)
    return loops[0] if loops else op


def _project(system: System, rank: int) -> isl.Set:
    import islpy

    solutions = system.solutions()
    dims = islpy.dim_type.set
    projected = solutions.project_out(dims, rank, solutions.dim(dims) - rank)
    if isinstance(projected, islpy.BasicSet):
        return islpy.Set.from_basic_set(projected)
    return projected


@cache
def _carried_by(rank: int, k: int, backward: bool) -> isl.Set:
    """The vectors whose first entry that is not zero is number `k`, and is positive (negative: `backward`)."""
    rows = [({d: 1}, True) for d in range(k)]
    return _as_set([*rows, ({k: -1 if backward else 1, -1: -1}, False)], rank)


@cache
def _origin(rank: int) -> isl.Set:
    return _as_set([({d: 1}, True) for d in range(rank)], rank)


@cache
def _where(rank: int, d: int, sign: int) -> isl.Set:
    """The vectors whose entry `d` has the given sign."""
    return _as_set([({d: sign, -1: -1}, False) if sign else ({d: 1}, True)], rank)


def _as_set(rows: list[tuple[dict[int, int], bool]], rank: int) -> isl.Set:
    import islpy

    return islpy.Set.from_basic_set(polyhedron(rows, rank))


def _entry(chosen: isl.Set, d: int, backward: bool) -> Entry:
    lowest, highest = chosen.dim_min_val(d), chosen.dim_max_val(d)
    if lowest.is_int() and lowest.eq(highest):
        return -lowest.to_python() if backward else lowest.to_python()
    rank = chosen.dim(_dims())
    signs = {sign for sign in (-1, 0, 1) if not chosen.intersect(_where(rank, d, sign)).is_empty()}
    return _DIRECTIONS[frozenset(-sign for sign in signs) if backward else frozenset(signs)]


def _dims():
    import islpy

    return islpy.dim_type.set
