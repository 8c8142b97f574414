"""Affine expressions as sums of products: sum(coefficient * atom) + constant, where equal sums compare equal.

An atom is a value, or a mod or division of such a sum. The indices of one statement are compared, and taken apart
into the part that a loop moves and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ....dialects.affine import AffineList


@dataclass(frozen=True)
class Division:
    """`numerator kind divisor`, an atom of a `Linear`; kind is Mod, FloorDiv or CeilDiv."""

    kind: AffineBinaryOpKind
    numerator: Linear
    divisor: int


Atom = SSAValue | Division


@dataclass(frozen=True)
class Linear:
    """sum(coefficient * atom) + constant; equal sums compare equal whatever the order of the text."""

    terms: frozenset[tuple[Atom, int]]
    constant: int
    order: tuple[Atom, ...]
    """The atoms in the order of the text; not part of the value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (self.terms, self.constant) == (other.terms, other.constant)

    def __hash__(self) -> int:
        return hash((self.terms, self.constant))

    def coefficient(self, atom: Atom) -> int:
        return dict(self.terms).get(atom, 0)

    def without(self, atom: Atom) -> Linear:
        """The same with coefficient 0 for `atom`."""
        if atom not in self.order:
            return self
        return Linear(
            frozenset(t for t in self.terms if t[0] != atom),
            self.constant,
            tuple(a for a in self.order if a != atom),
        )

    def plus(self, constant: int) -> Linear:
        return Linear(self.terms, self.constant + constant, self.order)

    def scaled(self, factor: int) -> Linear:
        if factor == 1:
            return self
        return linear(((a, c * factor) for a, c in terms_of(self)), self.constant * factor)

    def added(self, other: Linear) -> Linear:
        if not other.terms:
            return self.plus(other.constant) if other.constant else self
        if not self.terms:
            return other.plus(self.constant) if self.constant else other
        return linear((*terms_of(self), *terms_of(other)), self.constant + other.constant)

    def uses(self, value: SSAValue) -> bool:
        """Whether `value` occurs, also inside a division."""
        return any(a is value or (isinstance(a, Division) and a.numerator.uses(value)) for a in self.order)


_NO_TERMS: frozenset[tuple[Atom, int]] = frozenset()


def linear(coefficients: Iterable[tuple[Atom, int]], constant: int) -> Linear:
    """The sum of the terms, equal atoms merged."""
    merged: dict[Atom, int] = {}
    for atom, coefficient in coefficients:
        merged[atom] = merged.get(atom, 0) + coefficient
    kept = {atom: c for atom, c in merged.items() if c}
    return Linear(frozenset(kept.items()), constant, tuple(kept))


def linear_form(expr: AffineExpr, operands: Sequence[SSAValue | int]) -> Linear:
    """`expr` in terms of `operands`; an operand may be a known integer."""
    if type(expr) is AffineConstantExpr:
        return Linear(_NO_TERMS, expr.value, ())
    if type(expr) is AffineDimExpr:
        operand = operands[expr.position]
        if isinstance(operand, int):
            return Linear(_NO_TERMS, operand, ())
        return Linear(frozenset({(operand, 1)}), 0, (operand,))
    assert type(expr) is AffineBinaryOpExpr
    lhs, rhs = linear_form(expr.lhs, operands), linear_form(expr.rhs, operands)
    if expr.kind is AffineBinaryOpKind.Add:
        return lhs.added(rhs)
    if expr.kind is AffineBinaryOpKind.Mul:
        scale, other = (lhs, rhs) if not lhs.terms else (rhs, lhs)
        return other.scaled(scale.constant)
    return _divided(expr.kind, lhs, rhs.constant)


def _divided(kind: AffineBinaryOpKind, numerator: Linear, divisor: int) -> Linear:
    if numerator.terms:
        return linear(((Division(kind, numerator, divisor), 1),), 0)
    value = numerator.constant
    if kind is AffineBinaryOpKind.Mod:
        return linear((), value % divisor)
    return linear((), value // divisor if kind is AffineBinaryOpKind.FloorDiv else -(-value // divisor))


def terms_of(form: Linear) -> Iterator[tuple[Atom, int]]:
    """The terms in the order of the text."""
    coefficients = dict(form.terms)
    return ((atom, coefficients[atom]) for atom in form.order)


def forms_of(exprs: AffineList, values: Sequence[SSAValue | int]) -> list[Linear]:
    """Each expression of `exprs`, whose operands have become `values`."""
    return [linear_form(e, values) for e in exprs.exprs]
