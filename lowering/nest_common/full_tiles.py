"""Loop partitioning: tiles that lie wholly inside a domain, and those at its edge, are told apart once per tile.

    nest.for "i" %i = 0 to %n ceildiv 8 {
      nest.for "k" %k = 0 to 256 {
        nest.for "r" %r = 0 to 8 unrolled {
          nest.accumulate "c" add %p, %c[%r] where (8 * %i + %r < %n) : memref<8xf32>

becomes

    scf.for %i = ... {
      scf.if 8 * %i + 7 < %n {
        scf.for %k = ... { eight updates, without a question }
      } else {
        scf.for %k = ... { eight updates, each in a branch of its own }
      }
    }

A constraint, of a domain or of the bounds of a loop over the tile, is asked in advance when it depends on nothing that is
computed in between, except for the variables of unrolled and vectorized loops, which take their least favourable values.
It is done at the innermost loop whose body repeats such a question in a serial loop; what else the answer settles
is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.sets.domains import domain_of, within_bound
from ...analysis.nest.values.linear_forms import Linear, linear_form
from ...dialects.affine import AffineList
from ...dialects.attributes import UNROLL
from ...dialects.nest import AccumulateOp, ForOp, StoreOp

Range = tuple[int, int]
"""The first and the last value that the variable of an unrolled or vectorized loop may take."""

_TILE_MARKS = ("unrolled", "vectorized")


@dataclass(frozen=True, eq=False)
class TileConstraint:
    """A constraint of a statement or a tile loop, and the ranges of the tile variables in it."""

    constraint: AffineList
    ranges: Mapping[SSAValue, Range]
    is_repeated: bool
    """Whether a serial loop repeats the question."""

    def least(self, values: Mapping[SSAValue, SSAValue | int]) -> Linear:
        """Its smallest value in the tile; other values have become `values`."""
        form = linear_form(self.constraint.exprs[0], self.constraint.operands)
        known: dict[SSAValue, int] = {}
        for value, (first, last) in self.ranges.items():
            known[value] = first if form.coefficient(value) > 0 else last
        return self._at(known, values)

    def first(self, values: Mapping[SSAValue, SSAValue | int]) -> Linear:
        """Its value where all variables of the tile have their first values."""
        return self._at({value: first for value, (first, _) in self.ranges.items()}, values)

    def _at(self, known: Mapping[SSAValue, int], values: Mapping[SSAValue, SSAValue | int]) -> Linear:
        operands = [known[v] if v in known else values[v] for v in self.constraint.operands]
        return linear_form(self.constraint.exprs[0], operands)


class FullTiles:
    """Which constraints each loop of a function asks ahead; found on first use."""

    def __init__(self) -> None:
        self._own: dict[ForOp, bool] = {}

    def of(self, loop: ForOp) -> list[TileConstraint]:
        """The constraints that may be asked at the start of the body of `loop`; none where an inner loop asks."""
        return list(_candidates(loop)) if self._asks(loop) and not self._asks_inside(loop) else []

    def _asks(self, loop: ForOp) -> bool:
        """Whether some constraint that can be asked at `loop` depends on its variable."""
        found = self._own.get(loop)
        if found is None:
            found = any(c.is_repeated and loop.iv in c.constraint.operands for c in _candidates(loop))
            self._own[loop] = found
        return found

    def _asks_inside(self, loop: ForOp) -> bool:
        inner = (op for op in loop.body.walk() if isinstance(op, ForOp) and op.kind == "serial")
        return any(self._asks(op) for op in inner)


def constraints_within(loop: ForOp) -> list[TileConstraint]:
    """The constraints of what is inside `loop`, itself a tile loop, that may be asked before it."""
    return list(_asked_before(_constraints([loop], {}, False), loop))


def _candidates(loop: ForOp) -> Iterator[TileConstraint]:
    return _asked_before(_constraints(loop.body.block.ops, {}, False), loop)


def _asked_before(
    found: Iterable[tuple[AffineList, dict[SSAValue, Range], bool]], loop: ForOp
) -> Iterator[TileConstraint]:
    seen: set[tuple[AffineList, bool]] = set()
    for constraint, tiles, repeated in found:
        if (constraint, repeated) in seen:
            continue
        seen.add((constraint, repeated))
        ranges = {v: tiles[v] for v in constraint.operands if v in tiles}
        rest = [v for v in constraint.operands if v not in tiles]
        if _is_linear_in(constraint, ranges) and not any(is_made_inside(v, loop) for v in rest):
            yield TileConstraint(constraint, ranges, repeated)


def _constraints(
    ops: Iterable[Operation], tiles: dict[SSAValue, Range], repeated: bool
) -> Iterator[tuple[AffineList, dict[SSAValue, Range], bool]]:
    """The constraints in `ops`, the tile variables around them, and whether a loop inside repeats them."""
    for op in ops:
        if isinstance(op, StoreOp | AccumulateOp):
            yield from ((constraint, tiles, repeated) for constraint in domain_of(op).constraints)
            continue
        inner, again = tiles, repeated
        if isinstance(op, ForOp) and op.kind not in _TILE_MARKS and UNROLL not in op.attributes:
            again = True
        elif isinstance(op, ForOp) and (span := _range(op)) is not None:
            inner = {**tiles, op.iv: span}
            bounds = (k for k in range(len(op.upper)) if op.upper[k].constants() is None)
            yield from ((within_bound(op, k), inner, repeated) for k in bounds)
        for region in op.regions:
            for nested in region.blocks:
                yield from _constraints(nested.ops, inner, again)


def _range(loop: ForOp) -> Range | None:
    """The values of the variable of a tile loop, or more; None when they are not known."""
    lower, step = loop.lower.constants(), loop.step_value
    if lower is None:
        return None
    first = max(lower)
    ends = [end[0] for k in range(len(loop.upper)) if (end := loop.upper[k].constants()) is not None]
    if ends:
        return first, max(first, first + (min(ends) - 1 - first) // step * step)
    return None if loop.width is None else (first, first + (loop.width.value.data - 1) * step)


def _is_linear_in(constraint: AffineList, ranges: Mapping[SSAValue, Range]) -> bool:
    form = linear_form(constraint.exprs[0], constraint.operands)
    return not any(form.without(value).uses(value) for value in ranges)


def is_made_inside(value: SSAValue, loop: ForOp) -> bool:
    """Whether `value` is known only after the body of `loop` has begun."""
    if value is loop.iv:
        return False
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None and block is not loop.body.block:
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return block is not None
