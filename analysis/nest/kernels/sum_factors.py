"""The two factors of a sum's terms: what is computed once for each of two groups of loops, and what a term is of both.

    nest.for "i" { nest.for "j" { nest.for "k" {
      %a = nest.load %x[%i, %k]                        // a factor: it changes with i and k
      %b = nest.load %y[%j, %k]                        // the other one
      %d = arith.subf %a, %b                           // of the term: it changes with all of the loops
      %t = arith.mulf %d, %d
      nest.accumulate "s" add %t, %s[%i, %j]

The combiner may be any that has a name, and the term any expression of the factors: products, powers of differences,
smaller ones of two. What changes with the elements of the result only (a scale of a row) or with the terms only (a weight)
is no factor, and stays in the term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ..loop_structure import enclosing_loops
from ..sets.domains import DIVISIONS, is_computation, may_be_undefined
from .combiners import identity

CASTS = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp)
"""The casts to wider types, which can be done where a factor is used: zero stays zero."""

_ZERO_OF_ZEROS = (
    *CASTS,
    *(arith.TruncFOp, arith.TruncIOp),
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.MaximumfOp, arith.MinimumfOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp),
    *(
        math.AbsFOp,
        math.AbsIOp,
        math.SqrtOp,
        math.CbrtOp,
        math.ExpM1Op,
        math.Log1pOp,
        math.SinOp,
        math.TanhOp,
    ),
)
"""What gives zero (of either sign) of zeros."""


@dataclass(frozen=True, eq=False)
class SumFactors:
    """The two factors, what computes a term of them, and what else that needs."""

    left: SSAValue
    right: SSAValue
    term: list[Operation]
    """In the order of the block; these are not done where the factors are copied."""
    others: list[SSAValue]
    """Values of the innermost block that the term needs besides."""

    @property
    def is_product(self) -> bool:
        """Whether a term is the factors multiplied."""
        product = self.term[-1]
        return isinstance(product, arith.MulfOp | arith.MuliOp) and set(product.operands) <= {
            self.left,
            self.right,
        }

    def uses_of(self, factor: SSAValue) -> list[tuple[Operation, int]]:
        """Where the term needs a factor."""
        return [(op, k) for op in self.term for k, value in enumerate(op.operands) if value is factor]


@dataclass(frozen=True)
class NoFactors:
    """Why a sum's terms have no two factors; `at` is the operation that is in the way."""

    reason: str
    at: Operation


def sum_factors(sums: AccumulateOp, band: Sequence[ForOp]) -> SumFactors | NoFactors:
    """The factors of the terms of a sum in a perfect band of loops, of which `sums` is in the innermost one."""
    if sums.combiner.data == "custom" or sums.order_name != "any" or sums.mask is not None:
        return NoFactors("what is combined has a condition, an order, or a combiner without a name", sums)
    block, own = band[-1].body.block, {loop.iv for loop in band}
    changes = _changes(band[-1], {loop.iv for loop in enclosing_loops(sums)})
    value = sums.values[0]
    whole, loops_of_term = _slice(value, changes, block)
    if not whole or not loops_of_term & own:
        return NoFactors("what is combined is computed of no two factors", sums)
    needed = [operand for op in whole for operand in op.operands if operand.owner not in whole]
    found = [value for value in dict.fromkeys(needed) if changes.get(value, set()) & own]
    if (load := next((op for op in whole if not is_computation(op)), None)) is not None:
        return NoFactors("an element changes with all of the loops that a term changes with", load)
    result = set(sums.indices.operands)
    if len(found) > 2:
        found = [v for v in found if not changes[v] <= result and changes[v] & own & result]
    if len(found) != 2:
        return NoFactors(
            f"a term has {len(found)} factors that change with some of the loops, not two", whole[-1]
        )
    for op in whole:
        if type(op) in DIVISIONS and may_be_undefined(op):
            return NoFactors("a division may be undefined where the sum has no term", op)
    others = [value for value in dict.fromkeys(needed) if value not in found and _is_in(value, block)]
    return SumFactors(found[0], found[1], whole, others)


def _is_in(value: SSAValue, block: Block) -> bool:
    return isinstance(value.owner, Operation) and value.owner.parent is block


def _changes(innermost: ForOp, variables: set[SSAValue]) -> dict[SSAValue, set[SSAValue]]:
    """The variables of loops that each value of the innermost block changes with."""
    found: dict[SSAValue, set[SSAValue]] = {variable: {variable} for variable in variables}
    for op in innermost.body.block.ops:
        changes = set[SSAValue]().union(*(found.get(operand, set()) for operand in op.operands))
        for result in op.results:
            found[result] = changes
    return found


def _slice(
    term: SSAValue, changes: dict[SSAValue, set[SSAValue]], block: Block
) -> tuple[list[Operation], set[SSAValue]]:
    """The operations of a term that change with all that it changes with, in order, and these variables."""
    wanted = changes.get(term, set())
    pending, found = [term], set[Operation]()
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner.parent is not block or owner in found:
            continue
        if changes[owner.results[0]] == wanted:
            found.add(owner)
            pending += owner.operands
    return [op for op in block.ops if op in found], wanted


def zeros_are_neutral(sums: AccumulateOp, factors: SumFactors) -> bool:
    """Whether a term of factors that are zero leaves the sum as it is (of -0.0 it may make 0.0)."""
    neutral = identity(sums.combiner.data, sums.values[0].type)
    if neutral.value.data != 0:
        return False
    zeros = {factors.left, factors.right}
    for op in factors.term:
        if _is_zero(op, zeros):
            zeros.update(op.results)
    return sums.values[0] in zeros


def _is_zero(op: Operation, zeros: set[SSAValue]) -> bool:
    some = [operand for operand in op.operands if operand in zeros]
    if isinstance(op, arith.MuliOp | arith.AndIOp):
        return bool(some)
    if isinstance(op, arith.MulfOp) and some:
        return all(operand in zeros or _is_finite(operand) for operand in op.operands)
    return isinstance(op, _ZERO_OF_ZEROS) and len(some) == len(op.operands)


def _is_finite(value: SSAValue) -> bool:
    owner = value.owner
    return (
        isinstance(owner, arith.ConstantOp)
        and isinstance(owner.value, FloatAttr)
        and isfinite(owner.value.value.data)
    )


def loads_of(values: Sequence[SSAValue], block: Block) -> list[LoadOp]:
    """The loads of a block that values are computed by."""
    pending, seen, found = list(values), set[Operation](), list[LoadOp]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in seen:
            seen.add(owner)
            pending += owner.operands
            if isinstance(owner, LoadOp):
                found.append(owner)
    return found
