"""Loops made shorter: the iterations whose accesses may fall into a given part of a buffer.

    nest.for "i" %i = 0 to %n {                     range_of(part [16 * %o, 16 * %o + 17), i, ...) ==
      nest.store "t" %b, %t[%i + 2]                   from 16 * %o - 2 to 16 * %o + 15
    }

Used where a producer computes only what is read (`compute_at.py`), and where a consumer uses only what was
made (`reverse_compute_at.py`). The parts are windows of `regions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineBinaryOpKind, AffineDimExpr

from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import AccessOp, ForOp
from .accesses import is_defined_outside
from .integer_sets import System, difference
from .regions import Window, bounds_of


@dataclass(frozen=True, eq=False)
class Range:
    """New bounds of a loop, besides its own: the largest of `lowers`, the smallest of `uppers` (exclusive)."""

    lowers: list[AffineList] = field(default_factory=list)
    uppers: list[AffineList] = field(default_factory=list)

    def extend(self, other: Range) -> None:
        self.lowers.extend(other.lowers)
        self.uppers.extend(other.uppers)

    def require(self, system: System, loop: ForOp, instance: str) -> None:
        """Require that the variable of `loop` is within these bounds."""
        variable = system.variable(loop.iv, instance)
        for lower in self.lowers:
            system.require_not_negative(difference(variable, system.linear(lower, instance)[0]))
        for upper in self.uppers:
            system.require_not_negative(difference(system.linear(upper, instance)[0], variable, -1))


def range_of(part: Window, inner: ForOp, accesses: Sequence[AccessOp], axis: int) -> Range | None:
    """The iterations of `inner` in which `accesses` may touch an element in the part, as far as one axis tells."""
    first = part.origin[axis]
    last = first.plus(part.extents[axis]).add(-1)
    lowers: list[list[AffineList]] = []
    uppers: list[list[AffineList]] = []
    for op in accesses:
        starts, ends = [], []
        # an iteration touches from `low` to `high`: it is needed when high >= first and low <= last
        for high in bounds_of(op.indices[axis], inner, False):
            if (bound := _solve(high, inner, first, at_least=True)) is not None:
                (starts if bound[1] else ends).append(bound[0])
        for low in bounds_of(op.indices[axis], inner, True):
            if (bound := _solve(low, inner, last, at_least=False)) is not None:
                (starts if bound[1] else ends).append(bound[0])
        lowers.append(starts)
        uppers.append(ends)
    chosen = Range(_holding_for_all(lowers, 1), _holding_for_all(uppers, -1))
    return chosen if chosen.lowers or chosen.uppers else None


def _solve(
    expression: AffineList, inner: ForOp, limit: AffineList, at_least: bool
) -> tuple[AffineList, bool] | None:
    """The bound on the variable of `inner` that `expression >= limit` (or `<=`) gives; whether it is a lower one.

    Upper bounds are exclusive. None where the variable is not in a linear term, or something else is not known
    before the loop.
    """
    if inner.iv not in expression.operands:
        return None
    terms, _ = linear_terms(expression.exprs[0])
    factor = terms.get(AffineDimExpr(expression.operands.index(inner.iv)), 0)
    rest = expression.minus(AffineList.of(inner.iv).times(factor))
    if factor == 0 or not all(is_defined_outside(value, inner) for value in rest.operands):
        return None
    distance = limit.minus(rest)
    if factor < 0:
        factor, distance, at_least = -factor, distance.times(-1), not at_least
    if at_least:
        return distance.divided(AffineBinaryOpKind.CeilDiv, factor), True
    return distance.divided(AffineBinaryOpKind.FloorDiv, factor).add(1), False


def _holding_for_all(bounds: Sequence[Sequence[AffineList]], sign: int) -> list[AffineList]:
    """The bounds that keep what some bound of each list keeps: at or below it (sign 1), or above it (-1)."""

    def keeps(bound: AffineList, other: AffineList) -> bool:
        gap = other.minus(bound).times(sign).constants()
        return gap is not None and gap[0] >= 0

    every = list(dict.fromkeys(bound for one in bounds for bound in one))
    return [b for b in every if all(any(keeps(b, other) for other in one) for one in bounds)]


def shortened(
    inner: ForOp, by: Range, is_never_negative: Callable[[AffineList], bool]
) -> tuple[AffineList, AffineList]:
    """The bounds of `inner`: its own and the new ones, less those that others imply."""
    lowers = [inner.lower[k] for k in range(len(inner.lower))] + by.lowers
    uppers = [inner.upper[k] for k in range(len(inner.upper))] + by.uppers
    return (
        AffineList.of(*_tightest(lowers, 1, is_never_negative)),
        AffineList.of(*_tightest(uppers, -1, is_never_negative)),
    )


def _tightest(
    bounds: Sequence[AffineList], sign: int, is_never_negative: Callable[[AffineList], bool]
) -> list[AffineList]:
    kept = list(dict.fromkeys(bounds))
    for bound in list(kept):
        if any(other is not bound and is_never_negative(other.minus(bound).times(sign)) for other in kept):
            kept.remove(bound)
    return kept
