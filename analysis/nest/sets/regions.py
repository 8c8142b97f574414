"""Regions: the box of a buffer's elements that one iteration of a loop touches, and what is proved about it.

    nest.for "i" %i = 0 to %n ceildiv 16 {
      nest.for "j" %j = 0 to min(16, %n - 16 * %i) {     window_of(i, accesses) ==
        %v = nest.load %x[16 * %i + %j + 1]                Window(origin=[16 * %i + 1], extents=[16])
      }
    }

The origin and the extents are affine in what is fixed during an iteration. They come from bounds of the indices
over the loops inside, eliminated innermost first; an extent is a constant wherever a choice of bounds makes it one.
A window may hold more than what is touched, and extend beyond the buffer; `coverage.py` tells what of it is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ....dialects.affine import AffineList, linear_terms
from ....dialects.nest import ForOp
from ..loop_structure import enclosing_loops, is_inside
from .accesses import Access, is_defined_outside
from .integer_sets import is_never_negative

MAX_CHOICES = 16
"""Maximum number of bounds of one index to look at; loops with a min or max of many expressions have more."""


@dataclass(frozen=True, eq=False)
class Window:
    """A box of elements: `origin[k] <= index k < origin[k] + extents[k]`, one expression per axis."""

    origin: AffineList
    extents: AffineList


@dataclass(frozen=True, eq=False)
class NoWindow:
    """Why there is no window: the access at fault, and the reason."""

    access: Access
    reason: str


def window_of(loop: ForOp, accesses: Sequence[Access]) -> Window | NoWindow:
    """The smallest box found that holds what `accesses` (to one buffer) touch in one iteration of `loop`."""
    origin, extents = AffineList((), ()), AffineList((), ())
    for access in accesses:
        if (reason := _why_no_bounds(loop, access)) is not None:
            return NoWindow(access, reason)
    rank = len(accesses[0].indices)  # pyright: ignore[reportArgumentType]
    for axis in range(rank):
        lows = _common(loop, accesses, axis, low=True)
        highs = _common(loop, accesses, axis, low=False)
        if isinstance(lows, NoWindow) or isinstance(highs, NoWindow):
            return lows if isinstance(lows, NoWindow) else highs  # pyright: ignore[reportReturnType]
        first, extent = _smallest(lows, highs)
        origin, extents = origin.concat(first), extents.concat(extent)
    return Window(origin.canonical(), extents.canonical())


def _why_no_bounds(loop: ForOp, access: Access) -> str | None:
    assert access.indices is not None
    for value in access.indices.operands:
        if value is loop.iv or is_defined_outside(value, loop):
            continue
        owner = value.owner
        if not isinstance(owner, Block) or not isinstance(owner.parent_op(), ForOp):
            return "an index is computed inside the loop"
    return None


def _smallest(lows: Sequence[AffineList], highs: Sequence[AffineList]) -> tuple[AffineList, AffineList]:
    """The pair of bounds with the least constant extent, else the one whose extent is simplest."""
    best: tuple[int, AffineList] | None = None
    for low, high in product(lows, highs):
        extent = high.minus(low).add(1).constants()
        if extent is not None and (best is None or extent[0] < best[0]):
            best = (extent[0], low)
    if best is not None:
        return best[1], AffineList.of(max(0, best[0]))
    pairs = [(low, high.minus(low).add(1).canonical()) for low, high in product(lows, highs)]
    return min(pairs, key=lambda pair: (complexity(pair[1]), complexity(pair[0])))


def complexity(expression: AffineList) -> tuple[int, int]:
    """The number of divisions in an expression, and of its terms."""
    atoms, constant = linear_terms(expression.exprs[0])
    return sum(isinstance(a, AffineBinaryOpExpr) for a in atoms), len(atoms) + (constant != 0)


def _common(loop: ForOp, accesses: Sequence[Access], axis: int, low: bool) -> list[AffineList] | NoWindow:
    """The bounds of one access that bound the index of every access: `low` ones, or high ones."""
    bounds: list[list[AffineList]] = []
    for access in accesses:
        assert access.indices is not None
        found = [
            b
            for b in bounds_of(access.indices[axis], loop, low)
            if all(_is_fixed(v, loop) for v in b.operands)
        ]
        if not found:
            return NoWindow(access, "the bounds of the loops inside depend on what is computed in the loop")
        bounds.append(found)
    candidates = [b for one in bounds for b in one]
    unique = list({(b.exprs, b.operands): b for b in candidates}.values())
    chosen = [b for b in unique if all(any(_reaches(b, c, low) for c in one) for one in bounds)]
    if not chosen:
        scope = _inside(loop)
        chosen = [b for b in unique if all(any(_reaches(b, c, low, scope) for c in one) for one in bounds)]
    return chosen or NoWindow(accesses[0], "the accesses do not stay in one box of affine bounds")


def _reaches(bound: AffineList, other: AffineList, low: bool, scope: Operation | None = None) -> bool:
    """Whether `bound` is at or beyond `other`."""
    gap = other.minus(bound) if low else bound.minus(other)
    known = gap.constants()
    if known is not None:
        return known[0] >= 0
    return scope is not None and is_never_negative(gap, scope)


def _is_fixed(value: SSAValue, loop: ForOp) -> bool:
    """Whether `value` is known where an iteration of `loop` starts."""
    return value is loop.iv or is_defined_outside(value, loop)


def _inside(loop: ForOp) -> Operation:
    first = loop.body.block.first_op
    assert first is not None
    return first


# ---- bounds of an expression over the loops inside --------------------------------------------------


def bounds_of(expression: AffineList, loop: ForOp, low: bool) -> list[AffineList]:
    """Lower (or upper) bounds of a one-expression list over every iteration of the loops inside `loop`."""
    terms, constant = linear_terms(expression.exprs[0])
    totals = [AffineList.of(constant)]
    for atom, factor in terms.items():
        single = AffineList((atom,), expression.operands).canonical()
        choices = [single]
        if isinstance(atom, AffineBinaryOpExpr) and _inner_loops(single, loop):
            choices = _division_bounds(atom, single, loop, low == (factor > 0))
        totals = [t.plus(c.times(factor)) for t in totals for c in choices][:MAX_CHOICES]
    return [b for total in totals for b in _eliminate(total, loop, low)][:MAX_CHOICES]


def _inner_loops(expression: AffineList, loop: ForOp) -> list[ForOp]:
    """The loops inside `loop` whose variables `expression` uses, the innermost first."""
    owners = (v.owner.parent_op() for v in expression.operands if isinstance(v.owner, Block))
    found = [o for o in owners if isinstance(o, ForOp) and o is not loop and is_inside(o, loop)]
    return sorted(found, key=lambda inner: -len(enclosing_loops(inner)))


def _eliminate(expression: AffineList, loop: ForOp, low: bool) -> list[AffineList]:
    """Bounds without the variables of inner loops, each replaced by an end of its range."""
    inner = _inner_loops(expression, loop)
    if not inner:
        return [expression]
    variable = inner[0].iv
    factor = linear_terms(expression.exprs[0])[0].get(_dim(expression, variable), 0)
    ends = _first_values(inner[0]) if low == (factor > 0) else _last_values(inner[0])
    return [b for end in ends for b in bounds_of(expression.substitute(variable, end), loop, low)][
        :MAX_CHOICES
    ]


def _dim(expression: AffineList, value: SSAValue) -> AffineExpr:
    return AffineDimExpr(expression.operands.index(value))


def _first_values(loop: ForOp) -> list[AffineList]:
    return [loop.lower[k] for k in range(len(loop.lower))]


def _last_values(loop: ForOp) -> list[AffineList]:
    """What the variable never exceeds: exactly the last value where start and end are a known distance apart."""
    values = []
    for k in range(len(loop.upper)):
        last = loop.upper[k].add(-1)
        for start in _first_values(loop) if loop.step_value != 1 and len(loop.lower) == 1 else ():
            if (span := last.minus(start).constants()) is not None:
                last = start.add(span[0] // loop.step_value * loop.step_value)
        values.append(last)
    return values


def _division_bounds(
    atom: AffineBinaryOpExpr, single: AffineList, loop: ForOp, low: bool
) -> list[AffineList]:
    """Bounds of a `floordiv`, `ceildiv` (both grow with what they divide) or `mod`."""
    assert isinstance(atom.rhs, AffineConstantExpr)
    divisor = atom.rhs.value
    inside = AffineList((single.exprs[0].lhs,), single.operands)  # pyright: ignore
    if atom.kind is not AffineBinaryOpKind.Mod:
        return [b.divided(atom.kind, divisor) for b in bounds_of(inside, loop, low)]
    ends = [b.constants() for side in (True, False) for b in bounds_of(inside, loop, side)]
    numbers = [end[0] for end in ends if end is not None]
    if len(numbers) == len(ends) and min(numbers) >= 0 and max(numbers) < divisor:
        return bounds_of(inside, loop, low)
    return [AffineList.of(0 if low else divisor - 1)]
