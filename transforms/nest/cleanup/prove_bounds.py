"""nest-prove-bounds: a checked index that cannot fail becomes a plain one.

    nest.for "i" %i = 1 to %n - 1 {                  nest.for "i" %i = 1 to %n - 1 {
      %0 = nest.index %i - 1 of %n axis 0 of "a"
      %v = nest.load %a[%0] : memref<?xf64>      ->    %v = nest.load %a[%i - 1] : memref<?xf64>
      %1 = nest.index -1 of %n axis 0 of "a"
      nest.store "a" %v, %a[%1] : memref<?xf64>        nest.store "a" %v, %a[%n - 1] : memref<?xf64>
    }                                                }

An index in [0, n) is its own expression, one in [-n, 0) is n plus it; one that is never negative but may be too large is
marked `from_start`. What holds: the bounds of the loops and the conditions of the branches around the check, that
equal names of `nest.dims` are equal extents, and that the unknown extents of an argument are at least 2 (or what
`nestor.extents` says). A `where`
domain is no help: the check runs before the statement asks for its domain. Indices that are not proved stay, and
so does their IndexError.

Most proofs replace each loop variable by a bound (`_is_never_negative`, microseconds); the rest goes to isl. Indices
that scalars decide, in while loops above all, have ranges (`value_ranges.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import enclosing_function, enclosing_loops, functions
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.values.extent_keys import Inputs, facts_of, input_dims, value_key
from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import ForOp, IndexOp, LoadOp, StoreOp
from ..rewrite.loops import replace_index


def prove_bounds(function: FuncOp) -> int:
    """Replace the checked indices of `function` that cannot fail; the number of those that stay."""
    remaining: list[IndexOp] = []
    for op in [op for op in function.walk() if isinstance(op, IndexOp)]:
        plain = plain_index(op)
        if plain is None:
            remaining.append(op)
        else:
            _make_plain(op, plain)
    if not remaining:
        return 0
    from ....analysis.nest.values.value_ranges import ValueRanges

    ranges = ValueRanges(function)
    proved = [op for op in remaining if ranges.is_in_bounds(op)]
    for op in remaining:
        if ranges.is_nonnegative(op) or is_from_start(op):
            op.properties["from_start"] = UnitAttr()
    for op in proved:
        _make_plain(op, op.index)
    return len(remaining) - len(proved)


def _make_plain(op: IndexOp, plain: AffineList) -> None:
    replace_index(op.result, plain)
    op.detach()
    op.erase()


def is_from_start(op: IndexOp) -> bool:
    """Whether a checked index is certainly not negative, though it may be too large."""
    if _is_any_number(op.index, op.extent):
        return False
    return _Range(op, op.index, AffineList.of(0)).holds()


def plain_index(op: IndexOp) -> AffineList | None:
    """The value of a checked index as an affine expression when it is certain not to fail, else None."""
    index, extent = op.index, op.extent
    from_start = _Range(op, index, extent.minus(index).add(-1))
    if from_start.holds_cheaply():
        return index
    from_end = _Range(op, index.plus(extent), index.times(-1).add(-1))
    if from_end.holds_cheaply():
        return from_end.lowest
    if _is_any_number(index, extent):
        return None
    if from_start.holds():
        return index
    return from_end.lowest if from_end.holds() else None


@dataclass(frozen=True, eq=False)
class _Range:
    """The claim that `lowest` and `highest` are never negative where `op` runs."""

    op: IndexOp
    lowest: AffineList
    highest: AffineList

    def holds_cheaply(self) -> bool:
        loops, inputs = enclosing_loops(self.op), input_dims(enclosing_function(self.op))
        return all(_is_never_negative(e, loops, inputs) for e in (self.lowest, self.highest))

    def holds(self) -> bool:
        system = System(enclosing_function(self.op))
        system.require_reached(self.op, "s")
        lowest, highest = (system.expressions(e, "s")[0] for e in (self.lowest, self.highest))
        system.require(f"({lowest} < 0 or {highest} < 0)")
        return not system.has_solution()


# ---- proofs by substitution of bounds ---------------------------------------------------------------


class _Linear:
    """A sum of factors of values, equal values collected; `is_affine` is False where it is not one."""

    def __init__(self, expression: AffineList):
        self.factors: dict[Hashable, int] = {}
        self.constant = 0
        self.is_affine = True
        self.add(expression, 1)

    def add(self, expression: AffineList, factor: int) -> None:
        """Add `factor` times a one-expression list."""
        terms, constant = linear_terms(expression.exprs[0])
        self.constant += factor * constant
        for atom, coefficient in terms.items():
            if isinstance(atom, AffineDimExpr):
                self._add_value(expression.operands[atom.position], factor * coefficient)
            else:
                self.is_affine = False

    def _add_value(self, value: SSAValue, factor: int) -> None:
        from ....analysis.nest.values.scalar_facts import is_wide

        owner = value.owner
        if isinstance(owner, (arith.AddiOp, arith.SubiOp)) and is_wide(value):
            self._add_value(owner.operands[0], factor)
            self._add_value(owner.operands[1], factor if isinstance(owner, arith.AddiOp) else -factor)
            return
        key = value_key(value)
        if isinstance(key, int):
            self.constant += factor * key
        else:
            self.factors[key] = self.factors.get(key, 0) + factor

    def put_bound(self, loop: ForOp) -> None:
        """Replace the loop's variable by the bound at which the sum is least."""
        factor = self.factors.pop(loop.iv, 0)
        if factor > 0:
            self.add(loop.lower, factor)
        elif factor < 0:
            self.add(loop.upper, factor)
            self.constant -= factor


def _is_never_negative(expression: AffineList, loops: Sequence[ForOp], inputs: Inputs) -> bool:
    """Whether `expression` is >= 0 by the first bounds of `loops` and the least values of extents alone.

    Innermost loops first: their bounds speak of the variables of the outer ones.
    """
    total = _Linear(expression)
    for loop in reversed(loops):
        total.put_bound(loop)
    least = total.constant
    for key, factor in total.factors.items():
        known = facts_of(key, inputs)
        end = None if known is None else known.least if factor > 0 else known.most
        if end is None and factor:
            return False
        least += factor * (end or 0)
    return total.is_affine and least >= 0


# ---- hopeless cases ---------------------------------------------------------------------------------


def _is_any_number(index: AffineList, extent: AffineList) -> bool:
    """Whether some value of `index` is loaded or computed, and nothing but indexing looks at it.

    No bound is known of such a value, so that isl need not be asked (nor imported).
    """
    return any(_is_only_index(value) for value in index.operands if value not in extent.operands)


def _is_only_index(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, arith.IndexCastOp):
        return _is_only_index(owner.input) if _has_only_index_uses(value) else False
    return isinstance(owner, LoadOp) and _has_only_index_uses(value)


def _has_only_index_uses(value: SSAValue) -> bool:
    return all(_is_index_use(use.operation) for use in value.uses)


def _is_index_use(op: Operation) -> bool:
    if isinstance(op, arith.IndexCastOp):
        return _has_only_index_uses(op.result)
    return isinstance(op, (IndexOp, LoadOp, StoreOp))


@dataclass(frozen=True, eq=False)
class NestProveBoundsPass(ModulePass):
    """Replace checked indices that cannot fail by plain ones."""

    name = "nest-prove-bounds"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            prove_bounds(function)
