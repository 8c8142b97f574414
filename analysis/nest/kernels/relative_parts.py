"""Combiners of tuples of which some results are sums relative to others: what their terms are once these are known.

    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %m = arith.maximumf %m1, %m2 : f32               %m is a named combiner of both sides: the base
      %d1 = arith.subf %m1, %m
      %e1 = math.exp %d1
      %t1 = arith.mulf %s1, %e1                        the first side, relative to %m
      ...                                              %t2 is the same of the second side
      %s = arith.addf %t1, %t2 : f32                   relative to %m: a sum of such terms
      nest.yield %m, %s : f32, f32

of which `parts_of` says: result 0 is `maximum`, result 1 is `add` of `%t2`. A term is linear in its own relative numbers
(%s2). From that, and from what a combiner is declared to be (associative, commutative, with its identity), it follows that
the sum of all terms relative to the last base is the result: as the relative numbers of a, b and c are free, associativity
says of the factors w(a, ab) w(ab, abc) = w(a, abc), so that no matter how a number came to the last base, its factor is the
one from its own. Terms that are not linear (n (x - mean)^2 of a mean) can be associative without that; they are no parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.nest import COMBINERS, AccumulateOp
from .combiners import combiner_op, zero
from .combiners import identity as neutral

_COMMUTATIVE = (arith.AddfOp, arith.MulfOp, arith.MaximumfOp, arith.MinimumfOp, arith.AddiOp, arith.MuliOp)


@dataclass(frozen=True, eq=False)
class Part:
    """One result of a combiner. `terms`: what is added up, of the second side; none where that is its own number."""

    combiner: str
    terms: tuple[SSAValue, ...] = ()

    @property
    def is_base(self) -> bool:
        return not self.terms


class NoParts(Exception):
    """The combiner has a result that is no part; `at` computes it."""

    def __init__(self, reason: str, at: Operation):
        super().__init__(reason)
        self.at = at


def parts_of(update: AccumulateOp) -> list[Part]:
    """The parts of a custom combiner, by result. Raises NoParts."""
    if update.combine is None or update.identity is None or update.order_name != "any":
        raise NoParts("its combiner is not declared to combine in any order", update)
    return _Combiner(update).parts()


class _Combiner:
    def __init__(self, update: AccumulateOp):
        self.update = update
        assert update.combine is not None and update.combine.block.last_op is not None
        self.block: Block = update.combine.block
        self.results: list[SSAValue] = list(self.block.last_op.operands)  # pyright: ignore
        count = len(self.results)
        self.old, self.new = self.block.args[:count], self.block.args[count:]
        self.bases = {k: name for k in range(count) if (name := self._base(k)) is not None}
        self.totals = [self.results[k] for k in self.bases]
        self.relative = {k for k in range(count) if k not in self.bases}

    def parts(self) -> list[Part]:
        found: list[Part] = []
        for k in range(len(self.results)):
            name = self.bases.get(k)
            found.append(Part(name) if name is not None else Part("add", self._terms(k)))
        return found

    def _base(self, k: int) -> str | None:
        """The named combiner that result `k` is of its own two numbers; None where it is something else."""
        result, pair = self.results[k], (self.old[k], self.new[k])
        op = result.owner
        if not isinstance(op, Operation) or tuple(op.operands) not in (pair, pair[::-1]):
            return None
        return _name_of(op)

    def _terms(self, k: int) -> tuple[SSAValue, ...]:
        """The terms of the second side of a sum, each with one of the first side that is the same."""
        result = self.results[k]
        at = result.owner if isinstance(result.owner, Operation) else self.update
        if not isinstance(at, arith.AddfOp | arith.AddiOp):
            raise NoParts(
                f"result {k} of its combiner is neither a named combiner of two numbers nor a sum", at
            )
        assert self.update.identity is not None
        if self.update.identity.data[k] not in (neutral("add", result.type), zero(result.type)):
            raise NoParts(f"result {k} of its combiner is a sum, and does not start from 0", self.update)
        first: list[SSAValue] = []
        second: list[SSAValue] = []
        for term in self._addends(result):
            sides = self._sides(term)
            if len(sides) != 1:
                raise NoParts(f"result {k} of its combiner adds up a term of both sides, or of none", at)
            (first if sides == {"old"} else second).append(term)
        if len(first) != len(second) or not all(map(self._same, first, second)):
            raise NoParts(f"result {k} of its combiner takes its two sides in different ways", at)
        for term in second:
            if not self._is_linear(term):
                raise NoParts(f"result {k} of its combiner is not linear in what is added up", at)
        return tuple(second)

    def _addends(self, value: SSAValue) -> list[SSAValue]:
        op = value.owner
        if isinstance(op, arith.AddfOp | arith.AddiOp) and value not in self.totals:
            return [*self._addends(op.lhs), *self._addends(op.rhs)]
        return [value]

    def _sides(self, value: SSAValue) -> set[str]:
        """Whose numbers a value is made of: those of the first side, of the second, or both; bases are of neither."""
        if value in self.totals:
            return set()
        if value in self.old or value in self.new:
            return {"old" if value in self.old else "new"}
        if self._is_outside(value):
            return set()
        return {side for operand in value.owner.operands for side in self._sides(operand)}  # pyright: ignore

    def _is_outside(self, value: SSAValue) -> bool:
        """Whether a value is one of the function around the combiner."""
        owner = value.owner
        return value not in (*self.old, *self.new) and (
            isinstance(owner, Block) or owner.parent is not self.block
        )

    def _same(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether `a` is of the first side what `b` is of the second."""
        if a in self.totals or b in self.totals:
            return a is b
        if a in self.old or b in self.new:
            return a in self.old and b in self.new and self.old.index(a) == self.new.index(b)
        one, other = a.owner, b.owner
        if self._is_outside(a) or self._is_outside(b):
            return a is b
        if not isinstance(one, Operation) or not isinstance(other, Operation):
            return False
        alike = type(one) is type(other) and one.properties == other.properties and not one.regions
        if not alike or len(one.operands) != len(other.operands):
            return False
        if all(self._same(x, y) for x, y in zip(one.operands, other.operands, strict=True)):
            return True
        turned = one.operands[::-1]
        return isinstance(one, _COMMUTATIVE) and all(map(self._same, turned, other.operands))

    def _is_free(self, value: SSAValue) -> bool:
        """Whether no relative number is in a value."""
        if value in self.totals:
            return True
        if value in self.new:
            return self.new.index(value) not in self.relative
        return self._is_outside(value) or all(map(self._is_free, value.owner.operands))  # pyright: ignore

    def _is_linear(self, value: SSAValue) -> bool:
        """Whether a value is linear in the relative numbers, without a constant."""
        if value in self.new:
            return self.new.index(value) in self.relative
        op = value.owner
        match op:
            case arith.AddfOp() | arith.SubfOp() | arith.AddiOp() | arith.SubiOp():
                return self._is_linear(op.lhs) and self._is_linear(op.rhs)
            case arith.MulfOp() | arith.MuliOp():
                pairs = ((op.lhs, op.rhs), (op.rhs, op.lhs))
                return any(self._is_linear(a) and self._is_free(b) for a, b in pairs)
            case arith.DivfOp():
                return self._is_linear(op.lhs) and self._is_free(op.rhs)
            case arith.NegfOp():
                return self._is_linear(op.operand)
            case _:
                return False


def _name_of(op: Operation) -> str | None:
    """The named combiner that an operation is."""
    for name in COMBINERS:
        try:
            kind, _ = combiner_op(name, op.results[0].type)
        except KeyError:
            continue
        if type(op) is kind:
            return name
    return None
