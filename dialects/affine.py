"""Affine expressions over SSA values: the indices, bounds and domains of nest operations.

An `AffineList` is a list of affine expressions whose dimensions stand for SSA values of type `index`.
It is what an operation stores as an `AffineMapAttr` plus operands, made convenient to rewrite.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

_FIRST = AffineDimExpr(0)


@dataclass(frozen=True)
class AffineList:
    """Affine expressions `exprs` in which `AffineDimExpr(k)` stands for `operands[k]`."""

    exprs: tuple[AffineExpr, ...]
    operands: tuple[SSAValue, ...] = ()

    def __hash__(self) -> int:  # kept: an index is a key many times
        known = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = hash((self.exprs, self.operands))
        return known

    @staticmethod
    def of(*entries: SSAValue | int | AffineList) -> AffineList:
        """One expression an entry: a value stands for itself, an integer for a constant.

        `AffineList.of(i, 3)` is `[%i, 3]`; entries that are lists already are concatenated.
        """
        if len(entries) == 1 and not isinstance(entries[0], AffineList):
            return _entry(entries[0])
        result = AffineList(())
        for entry in entries:
            result = result.concat(_entry(entry))
        return result

    @staticmethod
    def from_op(map_attr: AffineMapAttr, operands: Sequence[SSAValue]) -> AffineList:
        """The list that an operation stores as `map_attr` over `operands`."""
        return AffineList(tuple(map_attr.data.results), tuple(operands))

    @property
    def map_attr(self) -> AffineMapAttr:
        return AffineMapAttr(AffineMap(len(self.operands), 0, self.exprs))

    def __len__(self) -> int:
        return len(self.exprs)

    def __iter__(self) -> Iterator[AffineList]:
        """Each expression alone, with the operands it uses."""
        return (self[k] for k in range(len(self.exprs)))

    def __getitem__(self, index: int) -> AffineList:
        """Expression `index` alone, with the operands it uses."""
        expr = self.exprs[index]
        if isinstance(expr, AffineConstantExpr):
            return AffineList((expr,))
        if isinstance(expr, AffineDimExpr) and constant_of(value := self.operands[expr.position]) is None:
            return AffineList((_FIRST,), (value,))
        return AffineList((expr,), self.operands).canonical()

    def concat(self, other: AffineList) -> AffineList:
        """The expressions of both, over the union of their operands."""
        if all(type(e) is AffineConstantExpr for e in other.exprs) and not other.operands:
            return AffineList(self.exprs + other.exprs, self.operands)
        operands = list(self.operands)
        position = {value: k for k, value in enumerate(operands)}
        remap: list[AffineExpr] = []
        for value in other.operands:
            if value not in position:
                position[value] = len(operands)
                operands.append(value)
            remap.append(AffineDimExpr(position[value]))
        moved = tuple(replace_dims(e, remap) for e in other.exprs)
        return AffineList(self.exprs + moved, tuple(operands))

    def map_exprs(self, function: Callable[[AffineExpr], AffineExpr]) -> AffineList:
        return AffineList(tuple(function(e) for e in self.exprs), self.operands)

    def substitute(self, value: SSAValue, by: AffineList | SSAValue | int) -> AffineList:
        """Replace every use of `value` by the one-expression list `by`: `[%i + 1]`, `%i := 16 * %o + %v`."""
        if value not in self.operands:
            return self
        if not isinstance(by, AffineList):
            by = AffineList.of(by)
        merged = AffineList((), self.operands).concat(by)
        replacement = [AffineDimExpr(k) for k in range(len(self.operands))]
        exprs: list[AffineExpr] = list(replacement)
        exprs[self.operands.index(value)] = merged.exprs[0]
        moved = tuple(replace_dims(e, exprs) for e in self.exprs)
        return AffineList(moved, merged.operands).canonical()

    def substitute_all(self, mapping: dict[SSAValue, SSAValue]) -> AffineList:
        """Rename operands: each key becomes its value."""
        operands = tuple(mapping.get(value, value) for value in self.operands)
        return AffineList(self.exprs, operands).canonical()

    def canonical(self) -> AffineList:
        """The readable normal form, in which equal lists print alike.

        Each expression is a sum `16 * %o + %v - %w + 3`: equal terms collected, positive ones first, the
        constant last; constants of `arith.constant` folded in; operands in the order in which they appear.
        """
        if self._is_canonical():
            return self
        position: dict[SSAValue, int] = {}
        remap: list[AffineExpr] = []
        for value in self.operands:
            constant = constant_of(value)
            if constant is not None:
                remap.append(AffineConstantExpr(constant))
            else:
                remap.append(AffineDimExpr(position.setdefault(value, len(position))))
        exprs, order = _canonical_exprs(self.exprs, tuple(remap))
        values = list(position)
        return AffineList(exprs, tuple(values[k] for k in order))

    def _is_canonical(self) -> bool:
        """A cheap test that recognises the commonest list: distinct values and constants, `[%i, %j, 0]`."""
        seen = 0
        for expr in self.exprs:
            if type(expr) is AffineDimExpr:
                if expr.position != seen:
                    return False
                seen += 1
            elif type(expr) is not AffineConstantExpr:
                return False
        values = self.operands
        return seen == len(values) == len(set(values)) and all(constant_of(v) is None for v in values)

    def constants(self) -> tuple[int, ...] | None:
        """The values when every expression is a constant, else None."""
        values = []
        for expr in self.canonical().exprs:
            if not isinstance(expr, AffineConstantExpr):
                return None
            values.append(expr.value)
        return tuple(values)

    def single_value(self) -> SSAValue | None:
        """The SSA value when this is one expression that is just that value."""
        if len(self.exprs) != 1 or not isinstance(self.exprs[0], AffineDimExpr):
            return None
        return self.operands[self.exprs[0].position]

    def add(self, constant: int) -> AffineList:
        return self.map_exprs(lambda e: normal_form(e + constant))

    def plus(self, other: AffineList) -> AffineList:
        """The sums, expression by expression."""
        merged = self.concat(other)
        pairs = zip(merged.exprs[: len(self.exprs)], merged.exprs[len(self.exprs) :], strict=True)
        return AffineList(tuple(a + b for a, b in pairs), merged.operands).canonical()

    def times(self, factor: int) -> AffineList:
        """Every expression multiplied by `factor`."""
        by = AffineConstantExpr(factor)
        return self.map_exprs(lambda e: combine(AffineBinaryOpKind.Mul, e, by)).canonical()

    def divided(self, kind: AffineBinaryOpKind, by: int) -> AffineList:
        """Every expression `mod`, `floordiv` or `ceildiv` the constant `by`."""
        divisor = AffineConstantExpr(by)
        return self.map_exprs(lambda e: AffineBinaryOpExpr(kind, e, divisor)).canonical()

    def minus(self, other: AffineList) -> AffineList:
        """The differences, expression by expression."""
        return self.plus(other.times(-1))


def _entry(entry: SSAValue | int | AffineList) -> AffineList:
    if isinstance(entry, AffineList):
        return entry
    if isinstance(entry, int):
        return AffineList((AffineConstantExpr(entry),))
    return AffineList((_FIRST,), (entry,))


def constant_of(value: SSAValue) -> int | None:
    """The integer that an `arith.constant` defines, else None."""
    owner = value.owner
    if getattr(owner, "name", "") != "arith.constant":
        return None
    number = owner.properties["value"]  # pyright: ignore
    return number.value.data if isinstance(number, IntegerAttr) else None


# Expressions are told apart by `type(e) is`: their classes have no subclasses, and `isinstance` of an abstract base's class
# that does not match asks a registry, which cost more than the arithmetic.


def dims_of(expr: AffineExpr) -> set[int]:
    """Positions of the dimensions that `expr` uses."""
    if isinstance(expr, AffineDimExpr):
        return {expr.position}
    if isinstance(expr, AffineBinaryOpExpr):
        return dims_of(expr.lhs) | dims_of(expr.rhs)
    return set()


def replace_dims(expr: AffineExpr, by: Sequence[AffineExpr]) -> AffineExpr:
    """`expr` with dimension k replaced by `by[k]`, simplified as it is rebuilt."""
    if type(expr) is AffineDimExpr:
        return by[expr.position]
    if type(expr) is not AffineBinaryOpExpr:
        return expr
    lhs, rhs = replace_dims(expr.lhs, by), replace_dims(expr.rhs, by)
    return combine(expr.kind, lhs, rhs)


def combine(kind: AffineBinaryOpKind, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """`lhs kind rhs`, folded where both are constant or one is neutral."""
    if type(lhs) is AffineConstantExpr and type(rhs) is AffineConstantExpr:
        if kind is AffineBinaryOpKind.Add:
            return AffineConstantExpr(lhs.value + rhs.value)
        if kind is AffineBinaryOpKind.Mul:
            return AffineConstantExpr(lhs.value * rhs.value)
        if kind is AffineBinaryOpKind.Mod and rhs.value > 0:
            return AffineConstantExpr(lhs.value % rhs.value)
        if kind is AffineBinaryOpKind.FloorDiv and rhs.value > 0:
            return AffineConstantExpr(lhs.value // rhs.value)
        if kind is AffineBinaryOpKind.CeilDiv and rhs.value > 0:
            return AffineConstantExpr(-(-lhs.value // rhs.value))
    if kind is AffineBinaryOpKind.Add:
        return lhs + rhs
    if kind is AffineBinaryOpKind.Mul:
        if type(lhs) is AffineConstantExpr:
            lhs, rhs = rhs, lhs
        if type(rhs) is AffineConstantExpr and rhs.value == 0:
            return rhs
        if type(rhs) is AffineConstantExpr and rhs.value == 1:
            return lhs
        return AffineBinaryOpExpr(kind, lhs, rhs)
    if type(rhs) is AffineConstantExpr and rhs.value == 1:
        return AffineConstantExpr(0) if kind is AffineBinaryOpKind.Mod else lhs
    return AffineBinaryOpExpr(kind, lhs, rhs)


# ---- normal form ------------------------------------------------------------------------------------


def comparison(expr: AffineExpr) -> tuple[AffineExpr, str, AffineExpr]:
    """`expr >= 0` as people write it: what is subtracted stands on the left of a `<`, else all on that of a `>=`.

    `n - i - 1 >= 0` is `i < n`, `i - 2 >= 0` is `i >= 2`.
    """
    terms, constant = linear_terms(expr)
    positive = {atom: factor for atom, factor in terms.items() if factor > 0}
    negative = {atom: -factor for atom, factor in terms.items() if factor < 0}
    if negative:
        return sum_of(negative, 0), "<", sum_of(positive, constant + 1)
    return sum_of(positive, 0), ">=", sum_of({}, -constant)


def linear_terms(expr: AffineExpr) -> tuple[dict[AffineExpr, int], int]:
    """`expr` as a sum: the factor of each atom (a dimension, or a mod/floordiv/ceildiv), and the constant."""
    terms: dict[AffineExpr, int] = {}
    constant = _collect(expr, 1, terms) + _join_divisions(terms)
    return {atom: factor for atom, factor in terms.items() if factor}, constant


def _join_divisions(terms: dict[AffineExpr, int]) -> int:
    """A quotient and its remainder become what was divided: `16 * (v floordiv 16) + v mod 16` is `v`.

    The constant that this adds is returned.
    """
    constant = 0
    for atom in [a for a in terms if isinstance(a, AffineBinaryOpExpr) and a.kind is AffineBinaryOpKind.Mod]:
        quotient = AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, atom.lhs, atom.rhs)
        factor = terms[atom]
        if (
            factor
            and isinstance(atom.rhs, AffineConstantExpr)
            and terms.get(quotient) == factor * atom.rhs.value
        ):
            del terms[atom], terms[quotient]
            constant += _collect(atom.lhs, factor, terms)
    return constant


def _collect(expr: AffineExpr, factor: int, terms: dict[AffineExpr, int]) -> int:
    """Add `factor * expr` to `terms`; the constant part is returned."""
    if type(expr) is AffineConstantExpr:
        return factor * expr.value
    if type(expr) is AffineBinaryOpExpr:
        if expr.kind is AffineBinaryOpKind.Add:
            return _collect(expr.lhs, factor, terms) + _collect(expr.rhs, factor, terms)
        if expr.kind is AffineBinaryOpKind.Mul and type(expr.rhs) is AffineConstantExpr:
            return _collect(expr.lhs, factor * expr.rhs.value, terms)
        if expr.kind is AffineBinaryOpKind.Mul and type(expr.lhs) is AffineConstantExpr:
            return _collect(expr.rhs, factor * expr.lhs.value, terms)
        if expr.kind is not AffineBinaryOpKind.Mul:
            return _collect_division(expr, factor, terms)
    terms[expr] = terms.get(expr, 0) + factor
    return 0


def _collect_division(expr: AffineBinaryOpExpr, factor: int, terms: dict[AffineExpr, int]) -> int:
    """A mod or a division. Multiples of the divisor leave it:
    `(16 * o + v) floordiv 16` is `o + v floordiv 16`.
    """
    inner, constant = linear_terms(expr.lhs)
    divisor = expr.rhs.value if isinstance(expr.rhs, AffineConstantExpr) else 0
    outside = {a: c // divisor for a, c in inner.items() if divisor > 0 and c % divisor == 0}
    rest = sum_of({a: c for a, c in inner.items() if a not in outside}, constant)
    left = combine(expr.kind, rest, expr.rhs)
    if expr.kind is not AffineBinaryOpKind.Mod:
        for atom, coefficient in outside.items():
            terms[atom] = terms.get(atom, 0) + factor * coefficient
    if isinstance(left, AffineConstantExpr):
        return factor * left.value
    if left == rest:
        return _collect(left, factor, terms)
    terms[left] = terms.get(left, 0) + factor
    return 0


def normal_form(expr: AffineExpr) -> AffineExpr:
    """`expr` with equal terms collected: positive ones first, the constant last."""
    if not isinstance(expr, AffineBinaryOpExpr):
        return expr
    return sum_of(*linear_terms(expr))


def sum_of(terms: dict[AffineExpr, int], constant: int) -> AffineExpr:
    """The sum of what `linear_terms` returns, as an expression."""
    ordered = sorted(terms.items(), key=lambda term: term[1] < 0)
    parts = [
        a if c == 1 else AffineBinaryOpExpr(AffineBinaryOpKind.Mul, a, AffineConstantExpr(c))
        for a, c in ordered
    ]
    if constant or not parts:
        parts.append(AffineConstantExpr(constant))
    total = parts[0]
    for part in parts[1:]:
        total = AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, part)
    return total


@functools.lru_cache(maxsize=1 << 14)
def _canonical_exprs(
    exprs: tuple[AffineExpr, ...], remap: tuple[AffineExpr, ...]
) -> tuple[tuple[AffineExpr, ...], tuple[int, ...]]:
    """The normal forms with dimension k replaced by `remap[k]`, and which dimensions they use, in their order.

    A nest has the same expressions over other loops again and again: they are kept.
    """
    normal = [normal_form(replace_dims(e, remap)) for e in exprs]
    order = tuple(dict.fromkeys(k for e in normal for k in _dims_in_order(e)))
    renumber = {old: new for new, old in enumerate(order)}
    return tuple(_rename_dims(e, renumber) for e in normal), order


def _rename_dims(expr: AffineExpr, to: dict[int, int]) -> AffineExpr:
    """Renumber the dimensions and keep everything else as it stands."""
    if isinstance(expr, AffineDimExpr):
        return AffineDimExpr(to[expr.position])
    if isinstance(expr, AffineBinaryOpExpr):
        return AffineBinaryOpExpr(expr.kind, _rename_dims(expr.lhs, to), _rename_dims(expr.rhs, to))
    return expr


def _dims_in_order(expr: AffineExpr) -> Iterator[int]:
    if isinstance(expr, AffineDimExpr):
        yield expr.position
    elif isinstance(expr, AffineBinaryOpExpr):
        yield from _dims_in_order(expr.lhs)
        yield from _dims_in_order(expr.rhs)
