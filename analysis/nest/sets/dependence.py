"""Dependences between statement instances, exactly where indices are affine.

A dependence is a pair of accesses to one buffer, one of them a write, and a loop that carries it: in two
different iterations of the loop (the surrounding loops being in the same iteration) both touch one element.

    nest.for "i" %i = 1 to %n {                       analyse(func).carried_by(i) ==
      %v = nest.load %a[%i - 1] : memref<?xf64>         [flow dependence: the store of "a" in an earlier
      nest.store "a" %v, %a[%i] : memref<?xf64>          iteration of "i", the load in a later one]
    }

Instances, loop bounds, domains and indices become integer sets (`integer_sets.py`) and isl decides whether
they are empty; most queries of pointwise nests are answered without it. Conservative where something is not
affine: a value computed inside the loop may be any number, a masked statement may run, buffers seen through
different views may overlap anywhere, and an operation that is not known may touch every buffer. Loads count where a
statement needs them: in the iterations that a masked split adds, nobody sees what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr

from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.nest import AccumulateOp, ForOp, IfOp, LoadOp
from ....dialects.walk import walk
from ..buffers import declared_space
from ..loop_structure import enclosing_function, enclosing_loops, is_inside
from .accesses import (
    FRESH,
    UPDATE,
    Access,
    accesses_of,
    buffer_name,
    is_defined_outside,
    is_private,
    may_overlap,
)
from .domains import EVERYWHERE, LoadGuards
from .integer_sets import is_extent_like

if TYPE_CHECKING:
    from .distances import DependenceVector, Distances, Entry


@dataclass(frozen=True, eq=False)
class Dependence:
    """`source` runs in an earlier iteration of `loop` than `sink` and both touch an element of `buffer`.

    `kind`: `flow` (write, then read), `anti` (read, then write), `output` (write, then write), or
    `reduction` (two updates by one combiner in any order: they commute).
    """

    source: Operation
    sink: Operation
    kind: str
    buffer: SSAValue | None
    loop: ForOp

    @property
    def notes(self) -> list[tuple[Operation, str]]:
        """The two accesses, for the notes of a diagnostic."""
        first, second = _WORDS[self.kind]
        name = buffer_name(self.buffer)
        if self.source is self.sink:
            return [
                (self.source, f"{first} {name} in an earlier iteration and {second} it again in a later one")
            ]
        return [
            (self.source, f'{first} {name} in an earlier iteration of "{self.loop.label}"'),
            (self.sink, f"{second} the same element in a later one"),
        ]

    def describe(self) -> str:
        return f'{self.title} on {buffer_name(self.buffer)} is carried by the loop "{self.loop.label}"'

    @property
    def title(self) -> str:
        """`a flow dependence`."""
        return f"{'an' if self.kind[0] in 'ao' else 'a'} {self.kind} dependence"


_WORDS = {
    "flow": ("writes", "reads"),
    "anti": ("reads", "writes"),
    "output": ("writes", "writes"),
    "reduction": ("updates", "updates"),
}


class Dependences:
    """The accesses of a function or loop, and the dependences between them, computed as they are asked for.

    Valid until the IR changes: analyse again after a transformation.
    """

    def __init__(self, op: Operation):
        self._scope = op
        self._guards = LoadGuards()
        self._known: dict[Operation, list[Access]] = {}
        self._carried: dict[ForOp, list[Dependence]] = {}
        self._sets: dict[tuple[Access, Access], Distances] = {}
        self._vectors: dict[tuple[Access, Access, int], list[DependenceVector]] = {}

    @cached_property
    def accesses(self) -> list[Access]:
        """Every access at or below the analysed operation, in program order."""
        return self._walked(self._scope)

    def accesses_in(self, op: Operation) -> list[Access]:
        """The accesses at or below `op`. Of a part of what is analysed, nothing beside it is looked at."""
        if op is self._scope:
            return self.accesses
        if is_inside(op, self._scope):
            return self._walked(op)
        return [access for access in self.accesses if is_inside(access.op, op)]

    def accesses_through(self, buffer: SSAValue) -> list[Access]:
        """The accesses that name `buffer` itself, none through a view of it; in no order."""
        users = dict.fromkeys(use.operation for use in buffer.uses)
        found = (access for op in users if is_inside(op, self._scope) for access in self._accesses_of(op))
        return [access for access in found if access.buffer is buffer]

    def _walked(self, op: Operation) -> list[Access]:
        return [access for inner in walk(op) for access in self._accesses_of(inner)]

    def _accesses_of(self, op: Operation) -> list[Access]:
        """The accesses of one operation, the same ones each time: distances are kept by them."""
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = accesses_of(op)
        return known

    def carried_by(self, loop: ForOp) -> list[Dependence]:
        """The dependences between different iterations of `loop`, reductions among them."""
        if loop not in self._carried:
            self._carried[loop] = list(self._find_carried(loop))
        return self._carried[loop]

    def first_carried(self, loop: ForOp) -> Dependence | None:
        """One dependence between different iterations of `loop`, None when there is none; cheaper than all."""
        if loop in self._carried:
            return next(iter(self._carried[loop]), None)
        return next(self._find_carried(loop), None)

    def first_ordered(self, loop: ForOp, commutes: Callable[[Dependence], bool]) -> Dependence | None:
        """One dependence that fixes the order of iterations of `loop`: no reduction for which `commutes` holds."""
        return self.first_not(loop, lambda d: d.kind == "reduction" and commutes(d))

    def first_not(self, loop: ForOp, is_kept: Callable[[Dependence], bool]) -> Dependence | None:
        """One dependence between different iterations of `loop` for which `is_kept` does not hold."""
        found = self._carried.get(loop) or self._find_carried(loop)
        return next((d for d in found if not is_kept(d)), None)

    def broken_by_order(self, band: Sequence[ForOp], order: Sequence[ForOp]) -> list[Dependence]:
        """The dependences that running the perfect `band` in `order` (outermost first) would turn around.

        `loop` of each is the one that carries it as the band runs now.
        """
        positions = [len(enclosing_loops(loop)) for loop in order]
        outermost = min(positions)
        broken = []
        for first, second in self._conflicts(band[0]):
            if kind_of(first, second) == "reduction" or _same_element_same_iteration(first, second, band):
                continue
            distances = self._distances(first, second)
            ways = [(first, second, False), (second, first, True)][: 1 if first is second else 2]
            for source, sink, backward in ways:
                carrier = distances.reversed_by(outermost, positions, backward)
                if carrier is not None:
                    loop = band[carrier - outermost]
                    broken.append(Dependence(source.op, sink.op, kind_of(source, sink), source.buffer, loop))
        return broken

    def all(self, inside: Operation | None = None) -> list[DependenceVector]:
        """Every dependence between accesses at or below `inside` (by default: everything), with its distances.

        One for each loop that carries it, and one where source and sink are in the same iteration of all
        the loops around both; the loops around `inside` are in one iteration. In program order of the sources.
        """
        scope = self._scope if inside is None else inside
        accesses = self.accesses_in(scope)
        found = []
        for k, first in enumerate(accesses):
            for second in accesses[k:]:
                found += self._vectors_between(first, second, scope)
        order = {op: k for k, op in enumerate(dict.fromkeys(access.op for access in accesses))}
        return sorted(found, key=lambda vector: order[vector.source])

    def distance(
        self, source: Operation, sink: Operation, inside: Operation | None = None
    ) -> list[tuple[Entry, ...]]:
        """The vectors of the dependences from `source` to `sink`: an entry for each loop around both.

        An entry is a number where the distance is one, else the signs that occur (see `distances.py`). Empty where
        `sink` does not depend on `source`. The loops around `inside` are in one iteration, and have no entry.
        """
        scope = self._scope if inside is None else inside
        accesses = self.accesses_in(scope)
        ends = [[k for k, access in enumerate(accesses) if access.op is op] for op in (source, sink)]
        pairs = dict.fromkeys((min(pair), max(pair)) for pair in product(*ends))
        vectors = [v for i, j in pairs for v in self._vectors_between(accesses[i], accesses[j], scope)]
        return [v.distance for v in vectors if v.source is source and v.sink is sink]

    def _vectors_between(self, first: Access, second: Access, scope: Operation) -> list[DependenceVector]:
        """The dependences between two accesses, `first` standing before `second`, both ways."""
        if not (first.writes or second.writes) or not may_overlap(first, second):
            return []
        common = _common_loops(first.op, second.op)
        outermost = sum(not is_inside(loop, scope) for loop in common)
        key = (first, second, outermost)
        if key not in self._vectors:
            self._vectors[key] = list(self._find_vectors(first, second, common, outermost))
        return self._vectors[key]

    def _find_vectors(
        self, first: Access, second: Access, common: list[ForOp], outermost: int
    ) -> Iterator[DependenceVector]:
        """The dependences between two accesses that agree on the loops before number `outermost`."""
        from .distances import DependenceVector

        loops = common[outermost:]
        ways = [(first, second, False), (second, first, True)][: 1 if first is second else 2]
        apart = not (loops and _same_element_same_iteration(first, second, loops))
        possible = _orders_in_one_iteration(first, second)
        together = any(possible) and (
            _always_meet(self._where_needed(first), self._where_needed(second))
            or self._distances(first, second).same_iteration()
        )
        for (source, sink, backward), runs_before in zip(ways, possible, strict=False):
            ends = (source.op, sink.op, kind_of(source, sink), source.buffer, tuple(loops))
            if together and runs_before:
                yield DependenceVector(*ends, None, (0,) * len(loops))
            for k in range(outermost, len(common) if apart else 0):
                distances = self._distances(first, second)
                if distances.carried(k, backward):
                    yield DependenceVector(*ends, common[k], distances.vector(k, outermost, backward))

    def _find_carried(self, loop: ForOp) -> Iterator[Dependence]:
        if (count := loop.constant_trip_count()) is not None and count < 2:
            return
        for first, second in self._conflicts(loop):
            if _same_element_same_iteration(first, second, [loop]):
                continue
            always = _same_element_always(first, second, loop)
            if always or self._carries(loop, first, second):
                yield Dependence(first.op, second.op, kind_of(first, second), first.buffer, loop)
            if first is not second and (always or self._carries(loop, first, second, backward=True)):
                yield Dependence(second.op, first.op, kind_of(second, first), second.buffer, loop)

    def _carries(self, loop: ForOp, first: Access, second: Access, backward: bool = False) -> bool:
        k = len(enclosing_loops(loop))
        return self._distances(first, second).carried(k, backward)

    def _distances(self, first: Access, second: Access) -> Distances:
        """The distances between two accesses, `first` standing before `second`; made once."""
        from .distances import Distances

        if (first, second) not in self._sets:
            loops = _common_loops(first.op, second.op)
            ends = self._where_needed(first), self._where_needed(second)
            self._sets[first, second] = Distances(*ends, loops, _loops_around_buffer(first))
        return self._sets[first, second]

    def _where_needed(self, access: Access) -> Access:
        """A load with what holds wherever a statement that uses it runs: elsewhere nobody sees what it reads."""
        if not isinstance(access.op, LoadOp):
            return access
        first, *others = self._guards.of(access.op) or (EVERYWHERE,)
        shared = [c for c in first.constraints if all(c in other.constraints for other in others)]
        return replace(access, where=AffineList.of(*shared)) if shared else access

    def _conflicts(self, loop: ForOp) -> Iterator[tuple[Access, Access]]:
        """Pairs of accesses inside `loop` in program order, one of them a write, to buffers that may overlap."""
        accesses = [a for a in self.accesses_in(loop) if not is_private(a, loop)]
        for k, first in enumerate(accesses):
            for second in accesses[k:]:
                if not (first.writes or second.writes) or are_atomic(first, second):
                    continue
                if may_overlap(first, second):
                    yield first, second


def analyse(op: Operation) -> Dependences:
    """The dependences of a function (or of a loop's function, so that aliasing is known)."""
    return Dependences(op if isinstance(op, FuncOp) else enclosing_function(op))


def _always_meet(first: Access, second: Access) -> bool:
    """A cheap proof that two accesses touch one element in each iteration of the loops around them."""
    if first.op.parent is not second.op.parent or first.indices != second.indices:
        return False
    return first.where is None and second.where is None and _surely_runs(first.op)


def _common_loops(first: Operation, second: Operation) -> list[ForOp]:
    """The loops around both operations, outermost first."""
    around = set(enclosing_loops(second))
    return [loop for loop in enclosing_loops(first) if loop in around]


def _loops_around_buffer(access: Access) -> list[ForOp]:
    """The loops that make a buffer of their own in each iteration."""
    root = access.root
    if root is None or not isinstance(root.owner, FRESH):
        return []
    return enclosing_loops(root.owner)


def _orders_in_one_iteration(first: Access, second: Access) -> tuple[bool, bool]:
    """Whether `first` can run before `second` in one iteration of the loops around both, and the other way."""
    above: dict[Operation, Operation] = {}
    inner, outer = first.op, first.op.parent_op()
    while outer is not None:
        above[outer] = inner
        inner, outer = outer, outer.parent_op()
    repeats = False
    exclusive = False
    inner, outer = second.op, second.op.parent_op()
    while outer is not None and not isinstance(outer, FuncOp):
        if outer in above:
            if isinstance(outer, ForOp):
                break
            exclusive |= isinstance(outer, IfOp) and above[outer].parent_region() is not inner.parent_region()
            repeats |= not isinstance(outer, IfOp) and outer.name not in _RUN_ONCE
        inner, outer = outer, outer.parent_op()
    if repeats:
        return True, True
    return first.op is not second.op and not exclusive, False


_RUN_ONCE = frozenset({"builtin.module", "nt.loops", "nest.accumulate"})
"""Operations whose regions run once, from top to bottom."""


def kind_of(source: Access, sink: Access) -> str:
    """The kind of a dependence between two accesses, as in `Dependence`."""
    if _commute(source, sink):
        return "reduction"
    if source.writes and sink.writes and UPDATE not in (source.kind, sink.kind):
        return "output"
    return "flow" if source.writes else "anti"


def _commute(first: Access, second: Access) -> bool:
    """Two updates of one buffer by one combiner whose order does not matter."""
    a, b = first.op, second.op
    if not isinstance(a, AccumulateOp) or not isinstance(b, AccumulateOp):
        return False
    if first.buffer is not second.buffer or {a.order_name, b.order_name} - {"any", "atomic"}:
        return False
    return a is b or combines_alike(a, b)


def are_atomic(first: Access, second: Access) -> bool:
    """Two updates of one buffer that may be made at the same time: not where each thread has its own."""
    for access in (first, second):
        if not isinstance(access.op, AccumulateOp) or access.op.order_name != "atomic":
            return False
        if access.buffer is not None and declared_space(access.buffer.type) == "local":  # pyright: ignore
            return False
    return _commute(first, second)


def combines_alike(a: AccumulateOp, b: AccumulateOp) -> bool:
    """Whether two updates in any order combine by the same: a named combiner, or one that is written alike."""
    if a.combiner != b.combiner:
        return False
    if a.combine is None or b.combine is None:
        return a.combiner.data != "custom"
    if a.identity is None or str(a.identity) != str(b.identity) or list(a.memrefs) != list(b.memrefs):
        return False
    return a.combine.is_structurally_equivalent(b.combine) and constants_of(a.combine) == constants_of(
        b.combine
    )


def constants_of(region: Region) -> list[str]:
    """The constants of a region as texts, which tell 0.0 from -0.0."""
    return [str(op.value) for op in region.walk() if isinstance(op, arith.ConstantOp)]


def _same_element_same_iteration(source: Access, sink: Access, band: Sequence[ForOp]) -> bool:
    """A cheap proof that one element is touched in one iteration of the band only."""
    if source.buffer is not sink.buffer or source.indices is None or sink.indices is None:
        return False
    return equal_in_one_iteration(source.indices, sink.indices, band)


def equal_in_one_iteration(first: AffineList, second: AffineList, band: Sequence[ForOp]) -> bool:
    """Whether the indices can be equal in one and the same iteration of the band only: a cheap proof.

    Holds when some dimensions have, in both, equal indices made of one variable of the band each (and of values
    that are fixed in it), and all variables of the band occur.
    """
    wanted = {loop.iv for loop in band}
    for k in range(len(first.exprs)):
        index = first[k]
        if index != second[k]:
            continue
        variable = _sole_variable(index, wanted, band[0])
        if variable is not None:
            wanted.discard(variable)
    return not wanted


def _same_element_always(source: Access, sink: Access, loop: ForOp) -> bool:
    """A cheap proof that all iterations of `loop` touch one element, as a reduction does."""
    if source.buffer is not sink.buffer or source.indices is None or source.indices != sink.indices:
        return False
    if source.where is not None or sink.where is not None:
        return False
    if not all(is_defined_outside(value, loop) for value in source.indices.operands):
        return False
    return all(_surely_runs(op, loop) for op in dict.fromkeys((source.op, sink.op)))


def _surely_runs(op: Operation, loop: ForOp | None = None) -> bool:
    """A cheap proof that `op` runs (in several iterations of `loop`) for some extents; False where it takes isl.

    Holds where no branch is around it, and every loop has enough iterations once the extents are large.
    """
    inner = op.parent_op()
    while isinstance(inner, ForOp):
        if not _may_have(inner, 2 if inner is loop else 1):
            return False
        inner = inner.parent_op()
    return isinstance(inner, FuncOp)


def _may_have(loop: ForOp, count: int) -> bool:
    if (trips := loop.constant_trip_count()) is not None:
        return trips >= count
    if len(loop.lower) != 1 or len(loop.upper) != 1:
        return False
    span = loop.upper.minus(loop.lower)
    return _grows(span.exprs[0], span.operands)


def _grows(expression: AffineExpr, operands: Sequence[SSAValue]) -> bool:
    """Whether an expression is above any number once the extents in it are large enough."""
    terms, _ = linear_terms(expression)
    return all(
        factor > 0
        and (
            is_extent_like(operands[atom.position])
            if isinstance(atom, AffineDimExpr)
            else isinstance(atom, AffineBinaryOpExpr)
            and atom.kind is not AffineBinaryOpKind.Mod
            and _grows(atom.lhs, operands)
        )
        for atom, factor in terms.items()
    )


def _sole_variable(index: AffineList, candidates: set[SSAValue], outer: ForOp) -> SSAValue | None:
    """The one of `candidates` that `index` depends on linearly, when all else in it is fixed in `outer`."""
    terms, _ = linear_terms(index.exprs[0])
    found = None
    for atom in terms:
        values = [index.operands[k] for k in dims_of(atom)]
        if isinstance(atom, AffineDimExpr) and values[0] in candidates and found is None:
            found = values[0]
        elif any(not is_defined_outside(value, outer) for value in values):
            return None
    return found
