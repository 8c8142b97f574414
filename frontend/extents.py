"""Run-time Python integers that stay affine: extents of arrays, loop variables, integer arguments.

An `Affine` is `constant + sum(coefficient * atom)`. Atoms are integers known only at run time; equal affine
forms are equal integers, so shapes can be compared without running anything. What must hold of extents and cannot be
proved becomes a guard: the dispatcher checks it, and specialises again where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ..dialects.affine import AffineList, combine
from .program_parts import Guard


class Atom:
    """An integer known at run time. `low` is a lower bound, `high` (a loop variable's, a remainder's) an upper one,
    inclusive; `value` makes its SSA value (of type index) on first use.

    `dim` names the extent of an argument; `argument` is the position of the integer argument it comes from;
    `witness` is its value in the call being compiled.
    """

    __slots__ = ("_make", "_value", "argument", "dim", "high", "key", "low", "parent", "witness")

    def __init__(
        self,
        make: Callable[[], SSAValue] | SSAValue,
        *,
        low: int | None = None,
        high: Affine | None = None,
        dim: str | None = None,
        argument: int | None = None,
        witness: int | None = None,
        key: tuple[AffineBinaryOpKind, Affine, int] | None = None,
    ):
        self._value = make if isinstance(make, SSAValue) else None
        self._make = make
        self.low = low
        self.high = high
        self.dim = dim
        self.argument = argument
        self.witness = witness
        self.key = key
        self.parent: Atom | None = None

    @property
    def value(self) -> SSAValue:
        if self._value is None:
            self._value = self._make()  # pyright: ignore
        return self._value  # pyright: ignore

    def root(self) -> Atom:
        """The atom that stands for this one since the two were found to be equal."""
        atom = self
        while atom.parent is not None:
            atom = atom.parent
        return atom


@dataclass(frozen=True)
class Affine:
    """`constant + sum(coefficient * atom)`; coefficients are not zero."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @staticmethod
    def of(atom: Atom) -> Affine:
        return Affine(0, ((atom, 1),))

    @property
    def known(self) -> int | None:
        """The value when it is a constant."""
        return None if self.terms else self.constant

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        merged: dict[Atom, int] = {}
        for atom, coefficient in (*self.terms, *other.terms):
            root = atom.root()
            merged[root] = merged.get(root, 0) + coefficient
        terms = tuple([(a, c) for a, c in merged.items() if c])
        return Affine(self.constant + other.constant, terms)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine(0)
        return Affine(self.constant * factor, tuple([(a, c * factor) for a, c in self.terms]))

    def equals(self, other: Affine) -> bool:
        """Whether the two are the same integer for every value of the atoms."""
        return (self - other).known == 0

    def lower_bound(self) -> int | None:
        """A number it never falls below, from the bounds of its atoms."""
        total = self.constant
        for atom, coefficient in self.terms:
            if coefficient < 0 or atom.root().low is None:
                return None
            total += coefficient * atom.root().low  # pyright: ignore
        return total

    def least(self) -> Affine:
        """An affine form it never falls below: the variables of loops at the ends of their ranges."""
        total = Affine(self.constant)
        for atom, coefficient in self.terms:
            atom = atom.root()
            end: Affine | None = None
            if atom.high is not None:
                end = None if atom.low is None else Affine(atom.low)
                end = _greatest(atom.high) if coefficient < 0 else end
            total += (end if end is not None else Affine.of(atom)) * coefficient
        return total

    def witness(self) -> int | None:
        """Its value in the call being compiled, when every atom has one."""
        total = self.constant
        for atom, coefficient in self.terms:
            value = atom.root().witness
            if value is None:
                return None
            total += coefficient * value
        return total

    def atoms(self) -> Iterable[Atom]:
        for atom, _ in self.terms:
            yield atom.root()
            if atom.key is not None:
                yield from atom.key[1].atoms()

    def arguments(self) -> frozenset[int]:
        """Positions of the integer arguments it depends on."""
        return frozenset(a.argument for a in self.atoms() if a.argument is not None)

    def over_dims(self) -> dict[str, int] | None:
        """Coefficients by extent name, when it depends on the extents of arguments only."""
        result: dict[str, int] = {}
        for atom, coefficient in self.terms:
            name = atom.root().dim
            if name is None:
                return None
            result[name] = result.get(name, 0) + coefficient
        return result

    def is_of_extents(self) -> bool:
        """Whether it depends on the extents of arguments only, quotients included."""
        roots = [atom.root() for atom, _ in self.terms]
        return all(r.dim is not None or (r.key is not None and r.key[1].is_of_extents()) for r in roots)

    def size(self) -> int:
        """How many values and quotients it names, those of its quotients included."""
        return sum(1 + (0 if atom.key is None else atom.key[1].size()) for atom, _ in self.terms)

    def to_list(self) -> AffineList:
        """As one affine expression over SSA values."""
        operands: list[SSAValue] = []
        expr = _expr(self, operands)
        return AffineList((expr,), tuple(operands))


def _greatest(affine: Affine) -> Affine:
    """An affine form it never exceeds."""
    return -((-affine).least())


def _expr(affine: Affine, operands: list[SSAValue]) -> AffineExpr:
    expr: AffineExpr | None = None
    for atom, coefficient in affine.terms:
        term = _atom_expr(atom.root(), operands)
        if coefficient != 1:
            term = combine(AffineBinaryOpKind.Mul, term, AffineConstantExpr(coefficient))
        expr = term if expr is None else expr + term
    if expr is None:
        return AffineConstantExpr(affine.constant)
    return expr + affine.constant if affine.constant else expr


def _atom_expr(atom: Atom, operands: list[SSAValue]) -> AffineExpr:
    if atom.key is not None:
        kind, inner, divisor = atom.key
        return combine(kind, _expr(inner, operands), AffineConstantExpr(divisor))
    if atom.value not in operands:
        operands.append(atom.value)
    return AffineDimExpr(operands.index(atom.value))


def affine_list(entries: Iterable[Affine]) -> AffineList:
    """The expressions of all entries, over the union of their values."""
    operands: list[SSAValue] = []
    exprs = tuple([_expr(entry, operands) for entry in entries])
    return AffineList(exprs, tuple(operands))


@dataclass(eq=False)
class Assumptions:
    """What the code being compiled assumes of the extents of its arguments."""

    guards: list[Guard] = field(default_factory=list)
    _divided: dict[tuple, Atom] = field(default_factory=dict)

    def nonnegative(self, affine: Affine, why: str = "") -> bool:
        """Whether `affine >= 0`, by proof, or by a guard that the call being compiled passes.

        Without a call (compiling for specs), extents are taken to be large enough.
        """
        affine = affine.least()
        bound = affine.lower_bound()
        if bound is not None and bound >= 0:
            return True
        coefficients = affine.over_dims()
        witness = affine.witness()
        if not coefficients or (witness is not None and witness < 0):
            return False
        self._add(Guard(affine.constant, tuple(sorted(coefficients.items())), False, why))
        return True

    def equal(self, a: Affine, b: Affine, why: str = "") -> bool:
        """Whether `a == b`, by proof, or by a guard. Two plain extents become one name."""
        difference = a - b
        if difference.known is not None:
            return difference.known == 0
        coefficients, witness = difference.over_dims(), difference.witness()
        if coefficients is None or (witness is not None and witness != 0):
            return False
        if _merge(difference):
            return True
        self._add(Guard(difference.constant, tuple(sorted(coefficients.items())), True, why))
        return True

    def divided(self, kind: AffineBinaryOpKind, affine: Affine, divisor: int) -> Affine:
        """`affine floordiv divisor` or `affine mod divisor`, for a positive divisor."""
        if affine.known is not None:
            floor = kind is AffineBinaryOpKind.FloorDiv
            return Affine(affine.known // divisor if floor else affine.known % divisor)
        if all(c % divisor == 0 for c in (affine.constant, *[c for _, c in affine.terms])):
            if kind is AffineBinaryOpKind.Mod:
                return Affine(0)
            return Affine(
                affine.constant // divisor, tuple([(atom, c // divisor) for atom, c in affine.terms])
            )
        identity = (kind, affine.constant, frozenset(affine.terms), divisor)
        atom = self._divided.get(identity)
        if atom is None:
            bound = affine.lower_bound()
            low = 0 if kind is AffineBinaryOpKind.Mod else None if bound is None else bound // divisor
            value = affine.witness()
            if value is not None:
                value = value // divisor if kind is AffineBinaryOpKind.FloorDiv else value % divisor
            high = Affine(divisor - 1) if kind is AffineBinaryOpKind.Mod else None
            atom = Atom(_no_value, low=low, high=high, witness=value, key=(kind, affine, divisor))
            self._divided[identity] = atom
        return Affine.of(atom)

    def _add(self, guard: Guard) -> None:
        if guard not in self.guards:
            self.guards.append(guard)


def _no_value() -> SSAValue:
    raise AssertionError("a quotient has no SSA value of its own")


def _merge(difference: Affine) -> bool:
    """Give two plain extents whose difference must be 0 one name."""
    if difference.constant or len(difference.terms) != 2:
        return False
    (a, ca), (b, cb) = difference.terms
    if ca + cb or abs(ca) != 1:
        return False
    b.parent = a
    a.low = max(a.low or 0, b.low or 0)
    return True
