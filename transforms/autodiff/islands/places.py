"""Where a tape has a value of an iteration: an axis for each loop around it, of as many iterations as that has at most.

    nest.for "i" %i = 2 to %n {                         // the axes have %n - 2 and %n - 3 places
      nest.for "j" %j = 0 to %i { %v = ... }            // %v is at [%i - 2, %j]

A loop in which the value stays the same (`unchanging.py`) has no axis: its first iteration stores.

How often a loop runs may be known in the island only. Such a loop is counted first (`counted_loops.py`); its iterations have
numbers in all, and are one axis with the loops around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineDimExpr

from ....analysis.nest.loop_structure import enclosing_loops
from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import ForOp, IfOp
from .primal import Primal
from .refusals import refused
from .unchanging import unchanging_loops


class UnknownCount(Exception):
    """How often a loop of the island runs (`loop`, an operation of the island itself) is to be counted first."""

    def __init__(self, primal: Primal, *loops: Operation):
        super().__init__()
        self.primal, self.loops = primal, loops


@dataclass(frozen=True)
class Count:
    """Of a loop whose iterations were counted: how many there were before this run of it, and in all."""

    before: SSAValue
    """A value of the island."""
    total: SSAValue
    """A value outside."""


Counts = Mapping[Operation, Count]
"""The loops of an island whose iterations were counted."""


class Places:
    """The places of the iterations of one island."""

    def __init__(self, primal: Primal, counts: Counts):
        self._primal, self._counts = primal, counts
        self._outside = {inner: outer for outer, inner in primal.copy.inside.items()}
        self._copies = {original: copy for copy, original in primal.original.items()}
        self._unchanging: dict[SSAValue, list[ForOp]] = {}

    def unchanging(self, value: SSAValue) -> list[ForOp]:
        """The loops around a value whose first iteration stores it for all of them."""
        if value not in self._unchanging:
            found = unchanging_loops(value, self._primal)
            loops = enclosing_loops(value.owner) if found else []  # pyright: ignore
            # The iterations of one that is counted are numbered in all: what is around has no axis of its own.
            numbered = [
                k for k, o in enumerate(loops) if o not in found and self._primal.original[o] in self._counts
            ]
            first = numbered[-1] + 1 if numbered else 0
            self._unchanging[value] = [o for o in loops[first:] if o in found]
        return self._unchanging[value]

    def of(self, op: Operation, unchanging: Sequence[ForOp] = ()) -> tuple[AffineList, AffineList]:
        """The extents of a tape (by values outside), and where it has what `op` computes (by values of the copy).

        Raises UnknownCount, and the diagnostic for what is in other operations than loops and branches.
        """
        outer = op.parent_op()
        while outer is not self._primal.copy.function:
            if not isinstance(outer, ForOp | IfOp):
                raise refused(op, f"what is read in '{outer.name if outer else '?'}' is not kept")
            outer = outer.parent_op()
        extents, places = AffineList.of(), AffineList.of()
        for loop in enclosing_loops(op):
            if loop in unchanging:
                continue
            count = self._counts.get(self._primal.original[loop])
            if count is not None:
                before = self._copies[count.before.owner].results[0]  # pyright: ignore
                places = self._number(loop, loop.lower[0]).plus(AffineList.of(before))
                extents = AffineList.of(count.total)
                continue
            first = self._extreme(loop, loop.lower[0], least=True)
            last = self._extreme(loop, loop.upper[0], least=False)
            if first is None or last is None:
                raise UnknownCount(self._primal, self._primal.original[loop])
            number = last.minus(first)
            if loop.step_value != 1:
                number = number.divided(AffineBinaryOpKind.CeilDiv, loop.step_value)
            extents = extents.concat(number.substitute_all(self._outside))
            places = places.concat(self._number(loop, first))
        return extents.canonical(), places.canonical()

    def of_island(self, places: AffineList) -> AffineList:
        """Places by values of the island itself."""
        known: dict[SSAValue, SSAValue] = dict(self._outside)
        for value in places.operands:
            if value in known:
                continue
            if isinstance(value.owner, Block):
                known[value] = self._primal.original[value.owner.parent_op()].iv  # pyright: ignore
            else:
                known[value] = self._primal.original[value.owner].results[value.index]  # pyright: ignore
        return places.substitute_all(known)

    def copy_of(self, op: Operation) -> Operation:
        """The operation of the copy that is one of the island itself."""
        return self._copies[op]

    @staticmethod
    def _number(loop: ForOp, first: AffineList) -> AffineList:
        distance = AffineList.of(loop.iv).minus(first)
        if loop.step_value == 1:
            return distance
        return distance.divided(AffineBinaryOpKind.FloorDiv, loop.step_value)

    def _extreme(self, loop: ForOp, bound: AffineList, least: bool) -> AffineList | None:
        """The least or the largest value of a bound, for all iterations of the loops around; None where it is not known."""
        bound = bound.canonical()
        while True:
            loops = {v: v.owner.parent_op() for v in bound.operands if isinstance(v.owner, Block)}
            inner = next((v for v, op in loops.items() if isinstance(op, ForOp)), None)
            if inner is None:
                break
            around = loops[inner]
            assert isinstance(around, ForOp)
            terms, _ = linear_terms(bound.exprs[0])
            atoms = [a for a in terms if isinstance(a, AffineDimExpr) and bound.operands[a.position] is inner]
            if len(atoms) != 1 or len(terms) != sum(isinstance(a, AffineDimExpr) for a in terms):
                return None
            at_start = (terms[atoms[0]] > 0) == least
            bound = bound.substitute(
                inner, around.lower[0] if at_start else around.upper[0].add(-1)
            ).canonical()
        return bound if all(v in self._primal.known for v in bound.operands) else None
