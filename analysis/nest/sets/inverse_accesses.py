"""An affine access turned around: which iterations of the loops around it touch an element.

    nest.for "i" %i, "k" %k:  %x[%i + %k]        element p: the iterations %i = p - %k, for each %k
    nest.for "i" %i:          %x[2 * %i + 5]     element 2 * p + 1: the iteration %i = p - 2

Of each axis one loop is solved for: it becomes a loop over elements. Loops that no axis is solved for stay, for each
element: its fibre. Solved for is a variable with a factor of 1 or -1 where there is one, and the longest one of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr

from ....dialects.affine import AffineList, combine, dims_of, linear_terms
from ....dialects.nest import ForOp
from .accesses import is_defined_outside

_ZERO = AffineList.of(0)


@dataclass(frozen=True)
class Linear:
    """`factor * variable of a loop + ... + rest + constant`. Loops are counted; `rest` is of values from outside of them."""

    factors: tuple[tuple[int, int], ...] = ()
    """Pairs of a loop and a factor that is not zero, the outermost loop first."""
    rest: AffineList = _ZERO
    constant: int = 0

    @staticmethod
    def variable(loop: int) -> Linear:
        """The variable of a loop."""
        return Linear(((loop, 1),))

    def factor(self, loop: int) -> int:
        """The factor of a loop's variable."""
        return dict(self.factors).get(loop, 0)

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum with `times` the other one."""
        found = dict(self.factors)
        for loop, factor in other.factors:
            found[loop] = found.get(loop, 0) + times * factor
        rest = self.rest.plus(other.rest.times(times))
        return Linear(_ordered(found), rest, self.constant + times * other.constant)

    def times(self, factor: int) -> Linear:
        """The product with a number."""
        return Linear().plus(self, factor)

    def add(self, constant: int) -> Linear:
        """The sum with a number."""
        return Linear(self.factors, self.rest, self.constant + constant)

    def without(self, loop: int) -> Linear:
        """The same less the variable of a loop."""
        return Linear(tuple(t for t in self.factors if t[0] != loop), self.rest, self.constant)

    @property
    def shape(self) -> Linear:
        """All but the constant."""
        return Linear(self.factors, self.rest)

    def of(self, values: Mapping[int, Linear]) -> Linear:
        """The same of other variables: each loop's is one of `values`."""
        result = Linear((), self.rest, self.constant)
        for loop, factor in self.factors:
            result = result.plus(values[loop], factor)
        return result

    def at(self, variables: Mapping[int, SSAValue]) -> AffineList:
        """An affine expression of values: those of the loops' variables."""
        result = self.rest.add(self.constant)
        for loop, factor in reversed(self.factors):
            result = AffineList.of(variables[loop]).times(factor).plus(result)
        return result


def _ordered(factors: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((loop, factor) for loop, factor in factors.items() if factor))


def linear(expression: AffineList, loops: Sequence[ForOp]) -> Linear | None:
    """An expression as a linear one of the variables of nested loops; None where it is none."""
    expression = expression.canonical()
    terms, constant = linear_terms(expression.exprs[0])
    number = {loop.iv: k for k, loop in enumerate(loops)}
    factors: dict[int, int] = {}
    rest = _ZERO
    for atom, factor in terms.items():
        value = expression.operands[atom.position] if isinstance(atom, AffineDimExpr) else None
        if value is not None and value in number:
            factors[number[value]] = factor
        elif all(is_defined_outside(expression.operands[k], loops[0]) for k in dims_of(atom)):
            term = combine(AffineBinaryOpKind.Mul, atom, AffineConstantExpr(factor))
            rest = rest.plus(AffineList((term,), expression.operands))
        else:
            return None
    return Linear(_ordered(factors), rest, constant)


@dataclass(frozen=True)
class Inverse:
    """The iterations that touch an element, by variables with the numbers of the loops: solved for, or of the fibre."""

    solved: frozenset[int]
    """The loops whose new variables count elements."""
    iterations: tuple[Linear, ...]
    """The variable of each loop."""
    element: tuple[Linear, ...]
    """The index of the element along each axis."""


def turned_around(indices: AffineList, loops: Sequence[ForOp]) -> Inverse | str:
    """The inverse of an access in the innermost one of perfectly nested loops; else why there is none."""
    axes: list[Linear] = []
    for index in indices:
        form = linear(index, loops)
        if form is None:
            return "an index is not affine in the variables of the loops"
        axes.append(form)
    known: dict[int, Linear] = {}
    solved: set[int] = set()

    def unknown(axis: Linear) -> list[int]:
        return [loop for loop, _ in axis.factors if loop not in known]

    pending = list(axes)
    while pending := [axis for axis in pending if unknown(axis)]:
        axis = min(pending, key=lambda axis: len(unknown(axis)))
        chosen = min(unknown(axis), key=lambda k: (abs(axis.factor(k)) != 1, -_length(loops[k]), k))
        known.update((k, Linear.variable(k)) for k in unknown(axis) if k != chosen)
        found = _solution(axis, chosen, known)
        if isinstance(found, str):
            return found
        known[chosen] = found
        solved.add(chosen)
    for k in range(len(loops)):
        known.setdefault(k, Linear.variable(k))
    iterations = tuple(known[k] for k in range(len(loops)))
    return Inverse(frozenset(solved), iterations, tuple(axis.of(known) for axis in axes))


def _length(loop: ForOp) -> float:
    trips = loop.constant_trip_count()
    return float("inf") if trips is None else trips


def _solution(axis: Linear, loop: int, known: Mapping[int, Linear]) -> Linear | str:
    """The variable of a loop, for element `stride * v + what is left` along the axis, by `v` and what is `known`."""
    factor = axis.factor(loop)
    stride, sign = abs(factor), 1 if factor > 0 else -1
    others = axis.without(loop).of(known)
    if stride == 1:
        start = others
    else:
        if any(f % stride for _, f in others.factors):
            return (
                f"elements along an axis are {stride} apart, and others in each iteration of a further loop"
            )
        start = Linear(
            tuple((k, f // stride) for k, f in others.factors),
            _divided(others.rest, stride),
            others.constant // stride,
        )
    return Linear.variable(loop).plus(start, -1).times(sign)


def _divided(rest: AffineList, stride: int) -> AffineList:
    """The terms that are multiples, divided."""
    terms, _ = linear_terms(rest.exprs[0])
    result = _ZERO
    for atom, factor in terms.items():
        if factor % stride == 0:
            term = combine(AffineBinaryOpKind.Mul, atom, AffineConstantExpr(factor // stride))
            result = result.plus(AffineList((term,), rest.operands))
    return result
