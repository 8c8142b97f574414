"""Affine expressions as `arith` operations on index values: small, shared, in a readable order.

    %x[16 * %o + %i + 1]   ->   %0 = arith.muli %o, %c16
                                %1 = arith.addi %0, %i
                                %2 = arith.addi %1, %c1

Equal sums (`linear_forms.py`) are computed once per block, constants once per function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...analysis.nest.values.linear_forms import Atom, Division, Linear, linear, terms_of
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nest.common import INDEX

T = TypeVar("T")
_PREDICATE_NAMES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
PREDICATES = {name: IntegerAttr(code, i64) for code, name in enumerate(_PREDICATE_NAMES)}


class IndexBuilder:
    """Appends operations to a block and computes affine expressions there.

    Constants go to `prologue`, which the owner puts at the start of the function. What was computed in a
    block is reused in it and in the blocks inside it.
    """

    def __init__(self, block: Block, divides_early: bool = False):
        self.block = block
        self.divides_early = divides_early
        """Whether a division has a name, and stands where what is divided is first known: in kernels, before loops."""
        self.location: Attribute = UNKNOWN_LOC
        self.prologue: list[Operation] = []
        self.nonnegative: set[SSAValue] = set()
        self._learned: list[SSAValue] = []
        """Of those, the ones that are so in this block only."""
        self.most: dict[SSAValue, int] = {}
        """The largest values of variables of loops that end at a constant."""
        self._constants: dict[Attribute, SSAValue] = {}
        self._scopes: list[dict[Hashable, object]] = [{}]
        self._blocks = [block]
        """The block of each scope."""
        self._parts: list[tuple[Linear, SSAValue]] = []

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to `block` for a while."""
        outer, self.block = self.block, block
        parts = len(self._parts)
        learned, self._learned = self._learned, []
        self._scopes.append({})
        self._blocks.append(block)
        yield
        self.nonnegative.difference_update(self._learned)
        self._learned = learned
        self._blocks.pop()
        self._scopes.pop()
        del self._parts[parts:]
        self.block = outer

    def learn_nonnegative(self, value: SSAValue) -> None:
        """From here to the end of the block, `value` is known not to be negative: a check stands here."""
        if value not in self.nonnegative:
            self.nonnegative.add(value)
            self._learned.append(value)

    def emit(self, op: Operation) -> Operation:
        """Append `op`, with the location of what is being lowered."""
        op.location = self.location  # pyright: ignore[reportAttributeAccessIssue]
        self.block.add_op(op)
        return op

    def value(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append an operation of one result, by default of the type of the first operand."""
        op = op_type.create(
            operands=operands,
            result_types=(operands[0].type if result is None else result,),
            properties=dict(properties) if properties else {},
        )
        return self.emit(op).results[0]

    # ---- constants ----

    def attribute_constant(self, attribute: Attribute, type_: Attribute, hint: str | None = None) -> SSAValue:
        """An `arith.constant` at the start of the function, one for each attribute."""
        found = self._constants.get(attribute)
        if found is None:
            op = arith.ConstantOp.create(result_types=(type_,), properties={"value": attribute})
            op.location = self.location  # pyright: ignore[reportAttributeAccessIssue]
            self.prologue.append(op)
            found = self._constants[attribute] = op.result
            found.name_hint = hint
        return found

    def constant(self, value: int) -> SSAValue:
        """An index constant."""
        name = f"c{value}" if value >= 0 else f"cm{-value}"
        return self.attribute_constant(IntegerAttr(value, INDEX), INDEX, name)

    # ---- affine expressions ----

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` computes, kept under `key` for the rest of this block and the blocks inside it."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]  # pyright: ignore[reportReturnType]
        made = make()
        self._scopes[-1][key] = made
        return made

    def part(self, form: Linear, hint: str | None = None) -> SSAValue:
        """The value of `form`, of which longer sums in this block and the blocks inside it are made from now on."""
        location, self.location = self.location, UNKNOWN_LOC
        value = self.affine(form)
        self.location = location
        is_new = isinstance(value.owner, Operation) and not form.constant
        if is_new and not any(known is value for _, known in self._parts):
            value.name_hint = value.name_hint or hint
            if self.is_nonnegative(form):
                self.nonnegative.add(value)
            self._parts.append((form, value))
        return value

    def _of_parts(self, form: Linear) -> Linear:
        """`form` with the sums in it that have a value: `n - i` for `n - 256 * b - t`."""
        for part, value in reversed(self._parts):
            for sign in (1, -1):
                if len(form.terms) >= len(part.terms) and part.scaled(sign).terms <= form.terms:
                    rest = form.added(part.scaled(-sign))
                    return self._of_parts(linear(((value, sign), *terms_of(rest)), rest.constant))
        return form

    def affine(self, form: Linear) -> SSAValue:
        """The value of `form`."""
        if not form.terms:
            return self.constant(form.constant)
        form = self._of_parts(form)
        if form.constant and any(c > 0 for _, c in form.terms):
            base = form.plus(-form.constant)
            return self.once(form, lambda: self._offset(self.affine(base), form.constant))
        return self.once(form, lambda: self._sum(form))

    def _offset(self, base: SSAValue, constant: int) -> SSAValue:
        op_type = arith.AddiOp if constant > 0 else arith.SubiOp
        return self.value(op_type, (base, self.constant(abs(constant))), INDEX, NO_OVERFLOW)

    def _sum(self, form: Linear) -> SSAValue:
        terms = sorted(terms_of(form), key=lambda term: term[1] < 0)
        if terms[0][1] > 0:
            total = self._product(*terms.pop(0))
        else:
            total = self.constant(form.constant)
        for atom, coefficient in terms:
            op_type = arith.AddiOp if coefficient > 0 else arith.SubiOp
            term = self._product(atom, abs(coefficient))
            total = self.value(op_type, (total, term), INDEX, NO_OVERFLOW)
        return total

    def _product(self, atom: Atom, coefficient: int) -> SSAValue:
        if coefficient == 1:
            return self._atom(atom)
        return self.once(linear(((atom, coefficient),), 0), lambda: self._scaled(atom, coefficient))

    def _scaled(self, atom: Atom, coefficient: int) -> SSAValue:
        return self.value(arith.MuliOp, (self._atom(atom), self.constant(coefficient)), INDEX, NO_OVERFLOW)

    def _atom(self, atom: Atom) -> SSAValue:
        if not isinstance(atom, Division):
            return atom
        if not self.divides_early or len(atom.numerator.terms) != 1:
            return self.once(atom, lambda: self._divide(atom))
        depth = self._depth_of(atom.numerator)
        for scope in self._scopes[: depth + 1]:
            if atom in scope:
                return scope[atom]  # pyright: ignore[reportReturnType]
        state = self.block, self._scopes, self._blocks, self.location
        self._scopes, self._blocks = self._scopes[: depth + 1], self._blocks[: depth + 1]
        self.block, self.location = self._blocks[depth], UNKNOWN_LOC
        value = self._scopes[depth][atom] = self._divide(atom)
        self.block, self._scopes, self._blocks, self.location = state
        value.name_hint = value.name_hint or _name_of(atom)
        if self.is_nonnegative(linear(((atom, 1),), 0)):
            self.nonnegative.add(value)
        return value

    def _depth_of(self, form: Linear) -> int:
        """The number of the first scope in which all that a form is made of is known."""
        depth = 0
        for atom, _ in form.terms:
            if isinstance(atom, Division):
                depth = max(depth, self._depth_of(atom.numerator))
                continue
            block = atom.owner if isinstance(atom.owner, Block) else atom.owner.parent
            if block is not None:  # what is in the prologue has no block yet
                depth = max(
                    depth, self._blocks.index(block) if block in self._blocks else len(self._blocks) - 1
                )
        return depth

    def _divide(self, atom: Division) -> SSAValue:
        numerator, divisor = self.affine(atom.numerator), self.constant(atom.divisor)
        unsigned = self.is_nonnegative(atom.numerator)
        if atom.kind is AffineBinaryOpKind.CeilDiv:
            return self.value(arith.CeilDivSIOp, (numerator, divisor))
        if unsigned:
            remainder = atom.kind is AffineBinaryOpKind.Mod
            return self.value(arith.RemUIOp if remainder else arith.DivUIOp, (numerator, divisor))
        quotient = self.value(arith.FloorDivSIOp, (numerator, divisor))
        if atom.kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        product = self.value(arith.MuliOp, (quotient, divisor), INDEX, NO_OVERFLOW)
        return self.value(arith.SubiOp, (numerator, product), INDEX, NO_OVERFLOW)

    def is_nonnegative(self, form: Linear) -> bool:
        """Whether `form` is provably >= 0 from the signs of its terms, and the ends of loops."""
        least = form.constant
        for atom, coefficient in form.terms:
            if coefficient >= 0:
                if not self._atom_is_nonnegative(atom):
                    return False
            elif isinstance(atom, Division) or (most := self.most.get(atom)) is None:
                return False
            else:
                least += coefficient * most
        return least >= 0

    def _atom_is_nonnegative(self, atom: Atom) -> bool:
        if not isinstance(atom, Division):
            return atom in self.nonnegative
        return atom.kind is AffineBinaryOpKind.Mod or self.is_nonnegative(atom.numerator)

    # ---- comparisons ----

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.value(arith.CmpiOp, (lhs, rhs), i1, {"predicate": PREDICATES[predicate]})

    def at_least_zero(self, form: Linear, ahead: int = 0) -> SSAValue:
        """`form >= 0` as a comparison of its parts: `%i < %n`, not `%n - %i - 1 >= 0`; `%i + 3 < 100` with `ahead` 3."""
        positive = linear(((a, c) for a, c in terms_of(form) if c > 0), 0)
        negative = linear(((a, -c) for a, c in terms_of(form) if c < 0), 0)
        constant = form.constant
        if constant < 0 and negative.terms:
            smaller = self.affine(negative.plus(-constant - 1))
            return self.compare("slt", smaller, self.affine(positive))
        if constant < 0:
            return self.compare("sge", self.affine(positive), self.constant(-constant))
        if not positive.terms:
            return self.compare("slt", self.affine(negative.plus(ahead)), self.constant(constant + ahead + 1))
        return self.compare("sle", self.affine(negative), self.affine(positive.plus(constant)))


def _name_of(atom: Division) -> str | None:
    """`tx_mod8` for a variable with a name."""
    ((divided, factor),) = atom.numerator.terms
    if isinstance(divided, Division) or divided.name_hint is None or factor != 1:
        return None
    sign = {AffineBinaryOpKind.Mod: "mod", AffineBinaryOpKind.FloorDiv: "div"}.get(atom.kind)
    ahead = atom.numerator.constant
    stem = divided.name_hint if not ahead else f"{divided.name_hint}_{ahead}"
    return None if sign is None or ahead < 0 else f"{stem}_{sign}{atom.divisor}"
