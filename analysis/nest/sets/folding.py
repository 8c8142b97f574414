"""Folding: whether elements of a buffer that are kept in one place are never needed at the same time.

    nest.for "i" %i = 0 to %n {
      nest.store "t" %a, %t[%i + 1]                overwritten_while_needed(t, (d) -> (d mod 2)) is None:
      %b = nest.load %t[%i]                        element i + 2 is written after element i is read for the last time
      %c = nest.load %t[%i + 1]
    }

An element is needed from a write of it to a read. Another element of its place that may be written in between, by the
order of the loops and of the text, is a conflict; isl says whether there is one. Iterations of loops that are marked run
in any order, and may write two elements of one place at once, whether one is read or not. The buffer is a new one in each
run of the block that makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

from xdsl.ir import Operation

from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, LoadOp
from .accesses import READ, WRITE, Access, accesses_of
from .integer_sets import System
from .producers import (
    common_loops,
    describe_instance,
    is_ordered,
    require_domain,
    require_needed,
    require_same_element,
    runs_before,
    top_in,
)

Place = Callable[[AffineList], AffineList]
"""Gives the place of the element at some indices."""


def overwritten_while_needed(alloc: AllocOp, place: Place) -> tuple[Operation, Operation] | None:
    """A read of an element, and a write of another one to its place that may come before it; None if there are none.

    Every use of the buffer is a load, a store or an accumulate, and what is read has been written.
    """
    folding = _Folding(alloc, place)
    writes = folding.writes
    for read in (a for a in folding.accesses if a.kind != WRITE):
        for other in writes:
            if folding.conflict(read, other, None) and any(folding.conflict(read, other, w) for w in writes):
                return read.op, other.op
    return None


def written_at_once(alloc: AllocOp, place: Place) -> tuple[Operation, Operation] | None:
    """Two writes, or one twice, of different elements to one place, which run in no order; None if there are none."""
    folding = _Folding(alloc, place)
    for one, other in combinations_with_replacement(folding.writes, 2):
        if folding.is_race(one, other):
            return one.op, other.op
    return None


class _Folding:
    def __init__(self, alloc: AllocOp, place: Place):
        assert alloc.parent is not None
        self._alloc = alloc
        self._place = place
        self._order = {op: k for k, op in enumerate(alloc.parent.walk())}
        self.accesses = [a for op in self._order for a in accesses_of(op) if a.buffer is alloc.memref]
        self.writes = [a for a in self.accesses if a.writes]

    def conflict(self, read: Access, other: Access, first: Access | None) -> bool:
        """Whether `other` may write another element to the place of the one that `read` reads later.

        After `first` has written that element, when it is given.
        """
        system = self._in_one_place(read, other, first)
        self._require_order(system, (other, "t"), (read, "s"))
        if first is not None:
            self._describe(system, first, "u")
            require_same_element(system, first, first.indices, read, ("u", "s"))
            self._require_order(system, (first, "u"), (other, "t"))
        return system.has_solution()

    def is_race(self, one: Access, other: Access) -> bool:
        """Whether the two may write different elements to one place, each of them before the other."""
        loops = common_loops(one.op, other.op, self._top(one.op))
        if all(is_ordered(loop) for loop in loops):
            return False
        system = self._in_one_place(one, other)
        self._require_order(system, (one, "s"), (other, "t"))
        self._require_order(system, (other, "t"), (one, "s"))
        return system.has_solution()

    def _in_one_place(self, one: Access, other: Access, first: Access | None = None) -> System:
        """Instances s and t of two accesses that touch different elements of one place."""
        tops = [self._top(a.op) for a in (one, other, first) if a is not None]
        system = System(*dict.fromkeys(tops))
        self._describe(system, one, "s")
        self._describe(system, other, "t")
        assert one.indices is not None and other.indices is not None
        element, another = (
            system.expressions(a.indices, name)  # pyright: ignore[reportArgumentType]
            for a, name in ((one, "s"), (other, "t"))
        )
        system.require(f"({' or '.join(f'{a} != {b}' for a, b in zip(element, another, strict=True))})")
        here = system.expressions(self._place(one.indices), "s")
        there = system.expressions(self._place(other.indices), "t")
        for a, b in zip(here, there, strict=True):
            system.require(f"{a} = {b}")
        return system

    def _top(self, op: Operation) -> Operation:
        assert self._alloc.parent is not None
        return top_in(self._alloc.parent, op)

    def _describe(self, system: System, access: Access, instance: str) -> None:
        describe_instance(system, access.op, instance)
        require_domain(system, access, instance)
        if access.kind == READ and isinstance(access.op, LoadOp):
            require_needed(system, access.op, instance)

    def _require_order(self, system: System, first: tuple[Access, str], second: tuple[Access, str]) -> None:
        """Require that the first instance may run before the second."""
        (a, s), (b, t) = first, second
        top = self._top(a.op)
        common = common_loops(a.op, b.op, top)
        system.require(
            runs_before(
                common,
                lambda loop: system.name(loop.iv, s),
                lambda loop: system.name(loop.iv, t),
                self._order[a.op] < self._order[b.op],
            )
        )
