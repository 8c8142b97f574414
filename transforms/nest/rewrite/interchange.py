"""Bounds of two loops that change places, where those of the inner one use the variable of the outer one.

    for i in 1 .. n                     for j in 2 .. m + n - 1
      for j in i + 1 .. i + m    ->       for i in max(1, j - m + 1) .. min(n, j)

By Fourier-Motzkin elimination: the new outer loop covers every value that `j` takes for some `i` (perhaps more: its
body is then an empty loop), the new inner loop has exactly the pairs of the old nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr

from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.nest import ForOp


@dataclass(frozen=True, eq=False)
class Range:
    """A loop's variable, bounds and step, apart from the operation."""

    variable: SSAValue
    lower: AffineList
    upper: AffineList
    step: int

    @staticmethod
    def of(loop: ForOp) -> Range:
        return Range(loop.iv, loop.lower, loop.upper, loop.step_value)

    def uses(self, value: SSAValue) -> bool:
        return value in (*self.lower.operands, *self.upper.operands)


def ranges_in_order(
    band: Sequence[ForOp], order: Sequence[ForOp], new_bounds: bool = True
) -> dict[ForOp, Range] | tuple[ForOp, ForOp]:
    """The ranges of the loops of `band` when they are nested in `order`; or two loops that cannot change places.

    Without `new_bounds` those cannot of which one's bounds use the variable of the other.
    """
    ranges = {loop: Range.of(loop) for loop in band}
    current = list(band)
    for k, loop in enumerate(order):
        for position in range(current.index(loop), k, -1):
            outer = current[position - 1]
            swapped = swap(ranges[outer], ranges[loop])
            if swapped is None or not (new_bounds or swapped[0] is ranges[loop]):
                return outer, loop
            ranges[loop], ranges[outer] = swapped
            current[position - 1], current[position] = loop, outer
    return ranges


def swap(outer: Range, inner: Range) -> tuple[Range, Range] | None:
    """The ranges of `inner`, now outside, and of `outer`, now inside; None where they are not affine."""
    if not inner.uses(outer.variable):
        return inner, outer
    if outer.step != 1 or inner.step != 1:
        return None
    outside, inside = _Collected(inner.variable), _Collected(outer.variable)
    inside.lowers, inside.uppers = list(outer.lower), list(outer.upper)
    for constraint in _constraints(inner, outer.variable):
        if constraint is None:
            return None
        factor = _factor(constraint, outer.variable)
        if factor is None or _factor(constraint, inner.variable) is None:
            return None
        if factor == 0:
            outside.add(constraint)
            continue
        inside.add(constraint)
        extremes = [u.add(-1) for u in outer.upper] if factor > 0 else list(outer.lower)
        for extreme in extremes:
            outside.add(constraint.substitute(outer.variable, extreme))
    return outside.range(), inside.range()


def extreme_over(bound: AffineList, loop: ForOp, *, least: bool) -> AffineList | None:
    """What `bound` is at least in all iterations of `loop`, or at most; None where it is not linear in its variable."""
    factor = _factor(bound, loop.iv)
    if not factor:
        return bound if factor == 0 else None
    end = loop.lower[0] if (factor > 0) == least else loop.upper[0].add(-1)
    return bound.substitute(loop.iv, end)


class _Collected:
    """The bounds of a variable, as constraints on it come in."""

    def __init__(self, variable: SSAValue):
        self._variable = variable
        self.lowers: list[AffineList] = []
        self.uppers: list[AffineList] = []

    def add(self, constraint: AffineList) -> None:
        """Solve `constraint >= 0`, in which the variable occurs, for it."""
        factor = _factor(constraint, self._variable)
        assert factor
        rest = constraint.minus(AffineList.of(self._variable).times(factor))
        if factor > 0:
            self.lowers.append(rest.times(-1).divided(AffineBinaryOpKind.CeilDiv, factor))
        else:
            self.uppers.append(rest.divided(AffineBinaryOpKind.FloorDiv, -factor).add(1).canonical())

    def range(self) -> Range:
        lower, upper = _tightest(self.lowers, 1), _tightest(self.uppers, -1)
        return Range(self._variable, lower, upper, 1)


def _tightest(bounds: list[AffineList], sign: int) -> AffineList:
    """Without the bounds that differ from another one by a constant, and count less."""
    kept: list[AffineList] = []
    for bound in bounds:
        if any(_is_constant(other.minus(bound).times(sign)) for other in kept):
            continue
        kept = [other for other in kept if not _is_constant(bound.minus(other).times(sign))]
        kept.append(bound)
    return AffineList.of(*kept).canonical()


def _is_constant(difference: AffineList) -> bool:
    """Whether the difference is a number that is not negative."""
    numbers = difference.constants()
    return numbers is not None and numbers[0] >= 0


def _constraints(loop: Range, variable: SSAValue) -> list[AffineList | None]:
    """What the bounds of `loop` say, as expressions that are >= 0; None for one that is not linear in `variable`."""
    own = AffineList.of(loop.variable)
    lowers = [own.minus(bound) for bound in loop.lower]
    uppers = [bound.minus(own).add(-1).canonical() for bound in loop.upper]
    return [without_division(constraint, variable) for constraint in (*lowers, *uppers)]


def without_division(constraint: AffineList, variable: SSAValue) -> AffineList | None:
    """`y + c * (a floordiv d) >= 0` with `variable` in `a`, as `d * y + c * a + ... >= 0`, which says the same."""
    terms, _ = linear_terms(constraint.exprs[0])
    divisions = [
        atom
        for atom in terms
        if not isinstance(atom, AffineDimExpr)
        and any(constraint.operands[k] is variable for k in dims_of(atom))
    ]
    if not divisions:
        return constraint
    atom = divisions[0]
    if len(divisions) > 1 or abs(terms[atom]) != 1 or not isinstance(atom, AffineBinaryOpExpr):
        return None
    if atom.kind not in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv):
        return None
    assert isinstance(atom.rhs, AffineConstantExpr)
    sign, divisor = terms[atom], atom.rhs.value
    dividend = AffineList((atom.lhs,), constraint.operands)
    rest = constraint.minus(AffineList((atom,), constraint.operands).times(sign))
    linear = rest.times(divisor).plus(dividend.times(sign))
    # y + ceil(a / d) >= 0 and y - floor(a / d) >= 0 hold up to d - 1 further.
    rounds_up = (atom.kind is AffineBinaryOpKind.CeilDiv) == (sign > 0)
    return linear.add(divisor - 1) if rounds_up else linear


def _factor(constraint: AffineList, variable: SSAValue) -> int | None:
    """The factor of `variable` in a sum (0 when it does not occur), None where it occurs below a division."""
    terms, _ = linear_terms(constraint.exprs[0])
    factor = 0
    for atom, coefficient in terms.items():
        if isinstance(atom, AffineDimExpr):
            if constraint.operands[atom.position] is variable:
                factor += coefficient
        elif any(constraint.operands[k] is variable for k in dims_of(atom)):
            return None
    return factor
