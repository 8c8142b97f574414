"""Pairs of accesses whose order matters, and whether they can touch one element in given iterations.

What a primitive asks that moves one part of the program past another: is there an instance `s` of the one and an
instance `t` of the other, related in some way (`t` in an earlier iteration than `s`), that touch one element?

    nest.for "i" %i = 0 to %n {                    can_meet((i, j), store, load, relation)
      nest.store "a" %x, %a[%i]                      where relation says i in s > j in t:
    }                                              some iteration of "j" reads what a later one of
    nest.for "j" %j = 0 to %n - 1 {                "i" writes, so the two loops cannot be one
      %v = nest.load %a[%j + 1]
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ..loop_structure import enclosing_loops
from .accesses import READ, UPDATE, WRITE, Access, accesses_of, may_overlap
from .dependence import kind_of
from .integer_sets import Row, System, difference, pair_system


@dataclass(frozen=True, eq=False)
class Comparison:
    """`left` in one instance (`s` or `t`) is `<`, `<=` or `=` to `right` in another; each is one expression."""

    left: AffineList
    first: str
    relation: str
    right: AffineList
    second: str

    def row(self, system: System) -> Row:
        gap = difference(system.linear(self.right, self.second)[0], system.linear(self.left, self.first)[0])
        if self.relation == "<":
            gap = difference(gap, {}, -1)
        return Row(gap, equal=self.relation == "=")


Relation = Sequence[Sequence[Comparison]]
"""One of several cases holds, each of them a conjunction of comparisons."""


def ordered_pairs(sources: Iterable[Access], sinks: Iterable[Access]) -> Iterator[tuple[Access, Access, str]]:
    """The pairs whose order matters where they touch one element, each with the kind of dependence it is.

    One of the two writes, the buffers may overlap, and they are no updates that commute.
    """
    later = list(sinks)
    for source in sources:
        for sink in later:
            if not (source.writes or sink.writes) or not may_overlap(source, sink):
                continue
            if (kind := kind_of(source, sink)) != "reduction":
                yield source, sink, kind


_VERBS = {READ: "reads", WRITE: "writes", UPDATE: "updates"}


def verb_of(access: Access) -> str:
    """What an access does, for a note."""
    return _VERBS[access.kind]


def turned_around(kind: str) -> str:
    """The reason of a refusal: a dependence of this kind would run the other way."""
    return f"it turns {'an' if kind[0] in 'ao' else 'a'} {kind} dependence around"


def can_meet(scopes: Sequence[Operation], source: Access, sink: Access, *relations: Relation) -> bool:
    """Whether instance `s` of `source` and `t` of `sink` can touch one element while every relation holds.

    Values defined outside of `scopes` are the same in both instances.
    """
    system = pair_system(source, sink, *scopes)
    return system.has_solution(*(rows(relation, system) for relation in relations))


def rows(relation: Relation, system: System) -> list[list[Row]]:
    """A relation as constraints of a system, case by case."""
    return [[comparison.row(system) for comparison in case] for case in relation]


def same_iterations(first: ForOp, second: ForOp) -> bool:
    """Whether the variables of two loops run through the same values, whatever the extents are."""
    if first.lower == second.lower and first.upper == second.upper and first.step_value == second.step_value:
        return True
    return not (_leaves(first, second) or _leaves(second, first))


def acts_within(loop: ForOp, other: ForOp) -> bool:
    """Whether `loop` writes nothing but in iterations that `other` has as well."""
    if not _leaves(loop, other):
        return True
    if loop.step_value != 1 or other.step_value != 1:
        return False
    writes = dict.fromkeys(access.op for op in loop.walk() for access in accesses_of(op) if access.writes)
    return not any(_leaves(loop, other, write) for write in writes)


def _leaves(loop: ForOp, other: ForOp, inside: Operation | None = None) -> bool:
    """Whether some value of the variable of `loop` (where it runs `inside`) may be none of that of `other`."""
    if other.step_value != 1 and len(other.lower) > 1:
        return True
    system = System(loop, other)
    if inside is None:
        for around in enclosing_loops(loop):
            system.name(around.iv, "s")
    else:
        system.require_reached(inside, "s")
        if isinstance(inside, (StoreOp, AccumulateOp)) and inside.where is not None:
            for constraint in system.linear(inside.where, "s"):
                system.require_not_negative(constraint)
    position = system.variable(loop.iv, "s")
    lowers, uppers = system.linear(other.lower, "s"), system.linear(other.upper, "s")
    outside = [[Row(difference(lower, position, -1))] for lower in lowers]
    outside += [[Row(difference(position, upper))] for upper in uppers]
    if other.step_value != 1:
        outside += _between_steps(system, difference(position, lowers[0]), other.step_value)
    return system.has_solution(outside)


def _between_steps(system: System, span: dict[str, int], step: int) -> list[list[Row]]:
    """`span` is no multiple of `step`: `1 <= span - step * q < step` for some q."""
    rest = difference(span, {system.fresh(): step})
    return [[Row(difference(rest, {}, -1)), Row(difference({"": step - 1}, rest))]]
