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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from ....dialects.nest import ForOp
from ..loop_structure import enclosing_loops
from .integer_sets import System, difference, polyhedron, require_pair

if TYPE_CHECKING:
    import islpy as isl

    from .accesses import Access

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
    """The distances from instances of `first` to instances of `second`, for the loops around both accesses.

    A question about a loop holds the loops around it in one iteration. Where an access uses values that a loop
    computes, they are the same in one iteration of it; the set is then made anew for each loop asked about.
    """

    def __init__(self, first: Access, second: Access, loops: Sequence[ForOp], equal: Sequence[ForOp] = ()):
        """`loops`: those around both, outermost first; two instances agree on `equal` ones of them."""
        self._ends = first, second
        self._loops = list(loops)
        self._equal = equal
        self._made: dict[int, isl.Set] = {}
        self._computed = False
        self._make(0)

    def carried(self, k: int, backward: bool = False) -> bool:
        """Whether loop number `k` carries a dependence from `first` to `second` (`backward`: the other way)."""
        return not self._carried(k, backward)[0].is_empty()

    def vector(self, k: int, outermost: int = 0, backward: bool = False) -> tuple[Entry, ...]:
        """The entries of loops number `outermost` and on, of the dependence that loop `k` carries."""
        chosen, fixed = self._carried(k, backward)
        entries = (
            _entry(chosen, d - fixed, backward) for d in range(max(outermost, fixed), len(self._loops))
        )
        return (*(0 for _ in range(outermost, fixed)), *entries)

    def same_iteration(self) -> bool:
        """Whether some instances touch one element in the same iteration of all the loops."""
        rank = len(self._loops)
        found, fixed = self._distances(rank)
        return not found.intersect(_lexicographic(rank - fixed, rank - fixed, (), 0)).is_empty()

    def reversed_by(self, k: int, order: Sequence[int], backward: bool = False) -> int | None:
        """The loop that carries a dependence of `second` on `first` of which `second` would run first in `order`.

        `order` has the numbers of the loops `k`, `k` + 1 ... in another order. None where no dependence is turned around.
        """
        found, fixed = self._distances(k)
        rank, depth, sign = len(self._loops) - fixed, k - fixed, -1 if backward else 1
        broken = found.intersect(_lexicographic(rank, depth, tuple(d - fixed for d in order), -sign))
        for carrier in range(depth, depth + len(order)):
            if not broken.intersect(_lexicographic(rank, carrier, (carrier,), sign)).is_empty():
                return carrier + fixed
        return None

    def _carried(self, k: int, backward: bool) -> tuple[isl.Set, int]:
        found, fixed = self._distances(k)
        rank, depth = len(self._loops) - fixed, k - fixed
        return found.intersect(_lexicographic(rank, depth, (depth,), -1 if backward else 1)), fixed

    def _distances(self, k: int) -> tuple[isl.Set, int]:
        """The set for questions about loop `k`, and how many outer loops it leaves out."""
        fixed = k if self._computed else 0
        return self._make(fixed), fixed

    def _make(self, fixed: int) -> isl.Set:
        if fixed not in self._made:
            self._made[fixed] = self._project(fixed)
        return self._made[fixed]

    def _project(self, fixed: int) -> isl.Set:
        import islpy

        first, second = self._ends
        loops = self._loops[fixed:]
        system = System(*(loops[:1] or [self._below_loops(first.op), self._below_loops(second.op)]))
        spans = [system.fresh() for _ in loops]
        require_pair(system, first, second)
        for span, loop in zip(spans, loops, strict=True):
            distance = difference(system.variable(loop.iv, "t"), system.variable(loop.iv, "s"))
            system.require_zero(difference(distance, {span: 1}))
            if loop in self._equal:
                system.require_zero({span: 1})
        self._computed |= system.has_computed_values
        solutions, dims = system.solutions(), islpy.dim_type.set
        projected = solutions.project_out(dims, len(spans), solutions.dim(dims) - len(spans))
        return projected if isinstance(projected, islpy.Set) else islpy.Set.from_basic_set(projected)

    def _below_loops(self, op: Operation) -> Operation:
        """The outermost loop around `op` that is not around both accesses, else `op` itself."""
        return [*enclosing_loops(op), op][len(self._loops)]


@cache
def _lexicographic(rank: int, k: int, order: tuple[int, ...], sign: int) -> isl.Set:
    """The vectors whose first `k` entries are zero, and whose first one in `order` that is not zero has the sign.

    With an empty `order`: all those whose first `k` entries are zero.
    """
    zero = [({d: 1}, True) for d in range(k)]
    if not order:
        return _as_set(zero, rank)
    cases = [
        _as_set([*zero, *(({other: 1}, True) for other in order[:n]), ({d: sign, -1: -1}, False)], rank)
        for n, d in enumerate(order)
    ]
    found = cases[0]
    for case in cases[1:]:
        found = found.union(case)
    return found


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
