"""Run-time Python integers that stay affine: extents of arrays, loop variables, integer arguments.

An `Affine` is `constant + sum(coefficient * atom)`. Atoms are integers known only at run time; equal affine
forms are equal integers, so shapes can be compared without running anything. What must hold of extents and cannot be
proved becomes a guard: the dispatcher checks it, and specialises again where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import gcd, lcm
from typing import NamedTuple

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import AffineList, combine


class Atom:
    """An integer known at run time. `low` is a lower bound, `high` (a loop variable's, a remainder's) an upper one,
    inclusive; `value` makes its SSA value (of type index) on first use.

    `dim` names the extent of an argument; `argument` is the position of the integer argument it comes from;
    `witness` is its value in the call being compiled; `extreme` says of which two integers it is the lesser or
    greater, or which bound it is counted from the end of which extent ("wrapped"); `multiple` divides it.
    """

    __slots__ = (
        "_make",
        "_value",
        "argument",
        "dim",
        "extreme",
        "high",
        "key",
        "low",
        "multiple",
        "parent",
        "witness",
    )

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
        extreme: tuple[str, Affine, Affine] | None = None,
        multiple: int = 1,
    ):
        self._value = make if isinstance(make, SSAValue) else None
        self._make = make
        self.low = low
        self.high = high
        self.dim = dim
        self.argument = argument
        self.witness = witness
        self.key = key
        self.extreme = extreme
        self.multiple = multiple
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


class Factors(NamedTuple):
    """An integer that is a product: of a number and of atoms."""

    number: int
    atoms: tuple[Atom, ...]


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

    def least(self, of_extents: bool = True) -> Affine:
        """An affine form it never falls below: the variables of loops at the ends of their ranges, and remainders
        (`of_extents`: of extents too)."""
        total = Affine(self.constant)
        for atom, coefficient in self.terms:
            atom = atom.root()
            end: Affine | None = None
            if atom.high is not None and (of_extents or not Affine.of(atom).is_of_extents()):
                end = None if atom.low is None else Affine(atom.low)
                end = greatest(atom.high) if coefficient < 0 else end
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


def is_never_negative(affine: Affine) -> bool:
    """Whether the bounds of its atoms say that it is not negative."""
    bound = affine.least().lower_bound()
    return bound is not None and bound >= 0


def greatest(affine: Affine) -> Affine:
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


@dataclass(frozen=True)
class Assumption:
    """`affine` is at least 0 (`exact`: is 0) in every call of the program."""

    affine: Affine
    exact: bool
    why: str = ""


@dataclass(eq=False)
class Assumptions:
    """What the code being compiled assumes of the extents of its arguments: guards of the program."""

    made: list[Assumption] = field(default_factory=list)
    _divided: dict[tuple, Atom] = field(default_factory=dict)
    _extremes: dict[tuple, Atom] = field(default_factory=dict)

    def nonnegative(self, affine: Affine, why: str = "") -> bool:
        """Whether `affine >= 0`, by proof, or by a guard that the call being compiled passes.

        Without a call (compiling for specs), extents are taken to be large enough.
        """
        if self._is_nonnegative(affine.least()):
            return True
        affine = affine.least(of_extents=False)
        if self._is_nonnegative(affine):
            return True
        witness = affine.witness()
        if not affine.terms or not affine.is_of_extents() or (witness is not None and witness < 0):
            return False
        self._add(Assumption(affine, False, why))
        return True

    def equal(self, a: Affine, b: Affine, why: str = "") -> bool:
        """Whether `a == b`, by proof, or by a guard. Two plain extents become one name."""
        plain, difference = a - b, self.normal(a - b)
        if difference.known is not None:
            return difference.known == 0
        witness = difference.witness()
        if not difference.is_of_extents() or (witness is not None and witness != 0):
            return False
        if not _merge(plain) and not _merge(difference):
            self._add(Assumption(difference, True, why))
        return True

    def differ(self, a: Affine, b: Affine) -> bool:
        """Whether `a` and `b` are known to be different integers: where extents decide, those of the call being compiled."""
        difference = self.normal(a - b)
        if difference.is_of_extents():
            return difference.witness() not in (None, 0)
        return self._is_nonnegative(difference.least() + -1) or self._is_nonnegative(
            (-difference).least() + -1
        )

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
        if kind is AffineBinaryOpKind.Mod:
            rest = tuple([(atom, c) for atom, c in affine.terms if c * atom.root().multiple % divisor])
            affine = Affine(affine.constant, rest)
            if not rest:
                return Affine(affine.constant % divisor)
        return Affine.of(self._quotient(kind, affine, divisor))

    def _quotient(self, kind: AffineBinaryOpKind, affine: Affine, divisor: int) -> Atom:
        terms = frozenset([(atom.root(), c) for atom, c in affine.terms])
        identity = (kind, affine.constant, terms, divisor)
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
        return atom

    # ---- normal forms of quotients ------------------------------------------------------------------

    def normal(self, affine: Affine) -> Affine:
        """The same integer in a form that many equal ones share: `(n + 1) // 2 + n // 2` is `n`."""
        plain = self._plain(affine)
        total = Affine(plain.constant)
        for atom, coefficient in plain.terms:
            total += self._without_half(atom) * coefficient
        return total

    def _without_half(self, atom: Atom) -> Affine:
        """`(x + 1) // 2` by way of `x // 2`: together they are x."""
        if atom.key is None or atom.key[2] != 2 or atom.key[1].constant != 1:
            return Affine.of(atom)
        plain = atom.key[1] + -1
        return plain - self._floor(plain, 2)

    def _plain(self, affine: Affine) -> Affine:
        total = Affine(affine.constant)
        for atom, coefficient in affine.terms:
            total += self._plain_atom(atom.root()) * coefficient
        return total

    def _plain_atom(self, atom: Atom) -> Affine:
        if atom.extreme is not None:
            name, *sides = atom.extreme
            plain = [(p.constant, frozenset(p.terms)) for p in map(self._plain, sides)]
            key = tuple(plain) if name == "wrapped" else frozenset(plain)
            return Affine.of(self._extremes.setdefault((name, key), atom))
        if atom.key is None and atom.multiple > 1:
            return (
                Affine.of(self._quotient(AffineBinaryOpKind.FloorDiv, Affine.of(atom), atom.multiple))
                * atom.multiple
            )
        if atom.key is None:
            return Affine.of(atom)
        kind, numerator, divisor = atom.key
        numerator = self._plain(numerator)
        floor = self._floor(numerator, divisor)
        return floor if kind is AffineBinaryOpKind.FloorDiv else numerator - floor * divisor

    def _floor(self, affine: Affine, divisor: int) -> Affine:
        """The normal form of `affine // divisor`: what divides goes out, and quotients of quotients become one."""
        outside = Affine(affine.constant // divisor)
        inside = Affine(affine.constant % divisor)
        for atom, coefficient in affine.terms:
            outside += Affine(0, ((atom, coefficient // divisor),) if coefficient // divisor else ())
            inside += Affine(0, ((atom, coefficient % divisor),) if coefficient % divisor else ())
        common = gcd(divisor, *[c for _, c in inside.terms])
        inside = Affine(inside.constant // common, tuple([(a, c // common) for a, c in inside.terms]))
        divisor //= common
        if divisor == 1 or not inside.terms:
            return outside + inside
        atom, coefficient = inside.terms[0]
        if len(inside.terms) == 1 and coefficient == 1 and atom.key is not None:
            _, numerator, by = atom.key  # (x // a + c) // b
            return outside + self._floor(numerator + inside.constant * by, by * divisor)
        return outside + Affine.of(self._quotient(AffineBinaryOpKind.FloorDiv, inside, divisor))

    def _is_nonnegative(self, affine: Affine) -> bool:
        """Whether it is never negative, from the bounds of its atoms and those of rounding down."""
        bound = affine.lower_bound()
        if bound is not None and bound >= 0:
            return True
        if all(atom.root().key is None for atom, _ in affine.terms):
            return False
        relaxed, scale = _relaxed(self.normal(affine))
        bound = relaxed.lower_bound()
        return bound is not None and bound > -scale  # more than -1, so at least 0

    def _add(self, assumption: Assumption) -> None:
        if assumption not in self.made:
            self.made.append(assumption)


def _relaxed(affine: Affine) -> tuple[Affine, int]:
    """A form without quotients that is at most `scale` times `affine`: x // d is from (x - d + 1) / d to x / d."""
    scale = lcm(*[_scale(atom.root()) for atom, _ in affine.terms])
    total = Affine(affine.constant * scale)
    for atom, coefficient in affine.terms:
        atom, coefficient = atom.root(), coefficient * scale
        if atom.key is None:
            total += Affine.of(atom) * coefficient
            continue
        _, numerator, divisor = atom.key
        share = coefficient // divisor
        inner, by = _relaxed((numerator + (1 - divisor if share > 0 else 0)) * (1 if share > 0 else -1))
        total += inner * (abs(share) // by)
    return total, scale


def _scale(atom: Atom) -> int:
    if atom.key is None:
        return 1
    _, numerator, divisor = atom.key
    return divisor * lcm(*[_scale(inner.root()) for inner, _ in numerator.terms])


def _no_value() -> SSAValue:
    raise AssertionError("a quotient has no SSA value of its own")


def _merge(difference: Affine) -> bool:
    """Give two plain extents whose difference must be 0 one name."""
    if difference.constant or len(difference.terms) != 2:
        return False
    (a, ca), (b, cb) = difference.terms
    if ca + cb or abs(ca) != 1 or a.dim is None or b.dim is None:
        return False
    b.parent = a
    a.low = max(a.low or 0, b.low or 0)
    a.multiple = lcm(a.multiple, b.multiple)
    ends = [one.high.constant for one in (a, b) if one.high is not None]
    a.high = Affine(min(ends)) if ends else None
    return True
