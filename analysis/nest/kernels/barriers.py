"""Where the threads of a block must wait for each other (part of nest-insert-barriers).

nest.for "o" %o = 0 to 4 bind "block.x" {                            places(o) == [before u]: a thread u reads
  nest.for "t" %t = 0 to 8 bind "thread.x" { ... store %s[%t] }      what another one wrote, for 7 - u is u nowhere
  nest.for "u" %u = 0 to 8 bind "thread.x" { ... load %s[7 - %u] }
}

What the threads of a block do one after the other are phases: a loop over threads, an element that all of them read, or
what the first thread does for the block. Two phases conflict when different threads touch one element in them and one
writes it: isl is asked for two such instances. Threads are distinguished by which iteration of the loops bound to each axis
they run. A loop over threads is a phase of its own: its mark says that its iterations are independent.

Barriers are placed as late as they can be, which needs the fewest in phases that follow each other. A serial loop with
phases in it is looked at by itself, then with what its last iteration left to wait for (a barrier at its end), then with
what is before it (a barrier before it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.attributes import ASYNC
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import (
    LANES,
    LANES_ALONG,
    MAX_THREADS,
    AccumulateOp,
    AllocOp,
    BarrierOp,
    ForOp,
    IfOp,
    LoadOp,
    StoreOp,
    told_apart,
    with_lanes,
)
from ..loop_structure import enclosing_loops, is_inside, perfect_band
from ..sets.accesses import Access, accesses_of, may_overlap
from ..sets.integer_sets import Row, System, Terms, difference, require_pair
from .async_copies import closes_group, groups_left, holds_async, is_async
from .barrier_places import (
    BLOCK_AXES,
    THREAD_AXES,
    bound_loops,
    divergence,
    foreign_operation,
    threads_for,
)
from .lane_reductions import reduction_loop
from .matrix_tiles import matrix_around
from .thread_copies import ThreadCopies, thread_copies, writes_copies
from .warps import why_not_lanes

MOST_STAGES = 8
"""Maximum number of iterations that copies can be ahead by and stay in flight."""

THREADS, FIRST, ALL = "threads", "first", "all"
"""Who does a phase: a thread per iteration, the first thread of the block, or every thread of it."""


@dataclass(frozen=True, eq=False)
class Phase:
    """What the threads of a block do without waiting for each other."""

    op: Operation
    who: str

    @cached_property
    def accesses(self) -> list[Access]:
        return [access for op in self.op.walk() for access in accesses_of(op)]

    @cached_property
    def is_async(self) -> bool:
        """Whether copies of it are in flight when it is done."""
        return holds_async(self.op)


@dataclass(frozen=True)
class Earlier:
    """What was done in an earlier iteration of a loop, or just so many iterations ago."""

    loop: ForOp
    distance: int | None = None


Pending: TypeAlias = list[tuple[Phase, Earlier | None]]
"""Phases since the last barrier, and of which iteration they are when it is not the same one."""


@dataclass(frozen=True)
class Place:
    """A place for a barrier: before `op`, or where `op`, a loop, ends each of its iterations."""

    op: Operation
    at_end: bool = False
    copies: int | None = field(default=None, compare=False)
    """How many groups of copies may be in flight behind it; None where none are."""

    @property
    def block(self) -> Block | None:
        """The block that the barrier is to be in."""
        if self.at_end:
            assert isinstance(self.op, ForOp)
            return self.op.body.block
        return self.op.parent


def kernels_in(scope: Operation) -> list[ForOp]:
    """The loops that become kernels: bound ones that are in no other; around `scope`, or in it."""
    around = [loop for loop in (*enclosing_loops(scope), scope) if _is_bound(loop)]
    if around:
        assert isinstance(around[0], ForOp)
        return [around[0]]
    bound = bound_loops([scope])
    return [loop for loop in bound if not any(_is_bound(outer) for outer in enclosing_loops(loop))]


def change_with_places(scope: Operation, change: Callable[[], object]) -> None:
    """Do `change`. Raises the diagnostic of `places` where a barrier of a kernel that it makes has none."""
    before = kernels_in(scope)
    change()
    for kernel in kernels_in(scope):
        if kernel not in before:
            places(kernel)


def _is_bound(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind in (*BLOCK_AXES, *THREAD_AXES)


def places(kernel: ForOp) -> list[Place]:
    """Where barriers are missing in a kernel. Raises the diagnostic that says why there is no place for one."""
    found = foreign_operation(kernel)
    if found is not None:
        raise fail(
            found,
            f'cannot insert barriers: what "{found.name}" reads and writes is not known',
            notes=[(kernel, f'in the kernel of the loop "{kernel.label}"')],
        )
    for loop in bound_loops([kernel], list(LANES_ALONG)):
        if (refusal := why_not_lanes(loop, "insert barriers around")) is not None:
            raise refusal
    return _Kernel(kernel).find()


class _Kernel:
    """The search in one kernel."""

    def __init__(self, kernel: ForOp):
        self.kernel = kernel
        loops = bound_loops([kernel], THREAD_AXES)
        self.loops_on = {axis: _on_axis(loops, axis) for axis in told_apart(loop.kind for loop in loops)}
        """The loops over threads, by the axes along which these are told apart."""
        self.places: dict[Place, int | None] = {}
        """Where barriers are missing, and how many groups of copies may be in flight behind each."""
        self.is_asking = False
        """Whether barriers are placed, or it is only asked whether one would be."""
        self.has_conflict = False
        self._owned: dict[SSAValue, set[str]] = {}

    def find(self) -> list[Place]:
        if self.loops_on:
            self._operation(self.kernel, [])
        return [replace(place, copies=copies) for place, copies in self.places.items()]

    # ---- phases -------------------------------------------------------------------------------------

    def _block(self, block: Block, pending: Pending) -> Pending:
        for op in block.ops:
            pending = self._operation(op, pending)
        return pending

    def _operation(self, op: Operation, pending: Pending) -> Pending:
        """What is to wait for after `op` when `pending` is before it."""
        if isinstance(op, BarrierOp):
            if (why := divergence(op.parent, self.kernel)) is not None:
                raise _refusal(op, why)
            return _behind(pending, groups_left(op))
        if (place := Place(op)) in self.places:
            pending = _behind(pending, self.places[place])
        if (who := self._phase(op)) is not None:
            _refuse_barriers_in(op)
            return self._do(Phase(op, who), pending)
        if isinstance(op, IfOp):
            branches = [op.then_region.block, *([op.else_region.block] if op.else_region is not None else [])]
            ends = [self._block(block, pending) for block in branches]
            return _union(*ends, *([pending] if len(branches) == 1 else []))
        if not isinstance(op, ForOp):
            return pending
        if not _is_bound(op):
            return self._serial(op, pending)
        end = self._block(op.body.block, pending)
        return end if op.kind in THREAD_AXES else _union(end, pending)

    def _phase(self, op: Operation) -> str | None:
        """Who does `op` when it is a phase; None for what has phases in it, and for what touches no memory."""
        if isinstance(op, LoadOp):
            return ALL
        if not isinstance(op, (StoreOp, AccumulateOp, ForOp, IfOp)):
            return None
        if not bound_loops([op], THREAD_AXES):
            if not writes_copies(op):
                return FIRST
            return ALL if isinstance(op, (StoreOp, AccumulateOp)) else None
        if isinstance(op, ForOp) and op.kind in THREAD_AXES:
            inside = [*enclosing_loops(op), *takewhile(_is_bound, perfect_band(op))]
            if with_lanes(loop.kind for loop in inside).issuperset(self.loops_on):
                return THREADS
        return None

    def _do(self, phase: Phase, pending: Pending) -> Pending:
        if any(self._conflict(first, phase, when) for first, when in pending):
            self._place(Place(phase.op), pending)
            pending = pending if self.is_asking else []
        return pending if self.is_asking else [*pending, (phase, None)]

    def _serial(self, op: ForOp, pending: Pending) -> Pending:
        """A loop of the block with phases in it."""
        if self.is_asking:
            return _union(self._iteration(op, pending), pending)
        end = self._iteration(op, [])
        is_last = not self._left_of(op, [(phase, Earlier(op)) for phase, _ in end])
        if self._would_conflict(op, [(phase, Earlier(op, 1 if is_last else None)) for phase, _ in end]):
            spared = self._iterations_spared(op, end)
            self._place(Place(op, at_end=True), end, spared * _groups_in(op))
            end = [entry for entry in end if spared and entry[0].is_async]
        if self._would_conflict(op, pending):
            self._place(Place(op), pending)
            pending = []
        count = op.constant_trip_count()
        return _union(end, self._left_of(op, pending) if count else pending)

    def _iteration(self, op: ForOp, pending: Pending) -> Pending:
        end = self._block(op.body.block, pending)
        place = Place(op, at_end=True)
        return _behind(end, self.places[place]) if place in self.places else end

    def _iterations_spared(self, op: ForOp, end: Pending) -> int:
        """Of how many iterations of `op`, the last ones, the copies may be in flight when the next one starts.

        They are used in none of the next so many iterations.
        """
        copies = [phase for phase, _ in end if phase.is_async]
        if not copies or _groups_in(op) == 0:
            return 0
        for distance in range(1, MOST_STAGES):
            if self._would_conflict(op, [(phase, Earlier(op, distance)) for phase in copies]):
                return distance - 1
        count = op.constant_trip_count()
        return MOST_STAGES - 1 if count is None else max(0, min(MOST_STAGES, count) - 1)

    def _would_conflict(self, op: ForOp, pending: Pending) -> bool:
        """Whether an iteration of `op`, with the barriers that are there, conflicts with `pending`."""
        self.is_asking, self.has_conflict = True, False
        self._block(op.body.block, pending)
        self.is_asking = False
        return self.has_conflict

    def _left_of(self, op: ForOp, pending: Pending) -> Pending:
        """What of `pending` no barrier in an iteration of `op` has made wait."""
        self.is_asking = True
        left = self._iteration(op, pending)
        self.is_asking = False
        return left

    # ---- places -------------------------------------------------------------------------------------

    def _place(self, place: Place, pending: Pending, copies: int = 0) -> None:
        if self.is_asking:
            self.has_conflict = True
            return
        if (why := divergence(place.block, self.kernel)) is not None:
            raise _refusal(place.op, why)
        self.places[place] = copies if any(phase.is_async for phase, _ in pending) else None

    # ---- conflicts ----------------------------------------------------------------------------------

    def _conflict(self, first: Phase, second: Phase, when: Earlier | None) -> bool:
        """Whether different threads touch one element, or one thread one that a copy of it is in flight to or from."""
        return any(
            (a.writes or b.writes)
            and self._is_shared(a)
            and may_overlap(a, b)
            and self._meet(first, a, second, b, when)
            for a in first.accesses
            for b in second.accesses
        )

    def _is_shared(self, access: Access) -> bool:
        """Whether threads of a block see the buffer of each other."""
        return not self._owners(access).issuperset(self.loops_on)

    def _owners(self, access: Access) -> set[str]:
        """The axes along which each thread has a buffer of its own."""
        root = access.root
        if root is None or not isinstance(root.owner, AllocOp):
            return set()
        if root not in self._owned:
            self._owned[root] = _owners_of(root.owner)
        return self._owned[root]

    def _meet(self, first: Phase, a: Access, second: Phase, b: Access, when: Earlier | None) -> bool:
        fixed_in = (when.loop,) if when is not None else _apart(a.op, b.op)
        system = System(*fixed_in)
        system.require_reached(a.op, "s")
        system.require_reached(b.op, "t")
        require_pair(system, a, b)
        if when is not None:
            one, other = (system.variable(when.loop.iv, instance) for instance in "st")
            later = difference(other, one, -when.loop.step_value * (when.distance or 1))
            (system.require_not_negative if when.distance is None else system.require_zero)(later)
        owners = self._owners(a)
        cases: list[list[Row]] = []
        for axis in self.loops_on:
            one, other = (
                self._thread(system, axis, access, phase, instance, fixed_in)
                for access, phase, instance in ((a, first, "s"), (b, second, "t"))
            )
            if one is None or other is None:
                continue
            if axis in owners:
                system.require_zero(difference(one, other))
            else:
                cases += [[Row(difference(one, other, -1))], [Row(difference(other, one, -1))]]
        if is_async(a.op):
            return system.has_solution()
        return bool(cases) and system.has_solution(cases)

    def _thread(
        self,
        system: System,
        axis: str,
        access: Access,
        phase: Phase,
        instance: str,
        fixed_in: Sequence[Operation],
    ) -> Terms | None:
        """Which thread along `axis` runs an instance of `access`; None where it is the same one for both."""
        around = {loop.kind: loop for loop in enclosing_loops(access.op)}
        loop = around.get(axis)
        if axis == "lane" and loop is None and not around.keys().isdisjoint(("lane.y", "lane.x")):
            return self._lane_of_two(system, around, access, phase, instance)
        if loop is not None and loop is reduction_loop(access.op):
            return {}  # lane 0 updates the element for all
        if axis == "lane" and not access.writes and matrix_around(access.op) is not None:
            return self._any_thread(system, LANES)  # lanes load for each other what a tensor core multiplies
        if loop is None:
            return {} if phase.who == FIRST else self._any_thread(system, self._threads_along(axis))
        if not any(is_inside(loop, op) for op in fixed_in):
            return None
        if len(loop.lower) != 1:
            return self._any_thread(system, MAX_THREADS)
        distance = difference(system.variable(loop.iv, instance), system.linear(loop.lower, instance)[0])
        if loop.step_value == 1:
            return distance
        number = {system.fresh(): 1}
        system.require_zero(difference(distance, {name: loop.step_value for name in number}))
        return number

    def _lane_of_two(
        self, system: System, around: Mapping[str, ForOp], access: Access, phase: Phase, instance: str
    ) -> Terms:
        """The lane, where a warp is 8 by 4 of them: any one along an axis that no loop around is over."""
        if not access.writes and matrix_around(access.op) is not None:
            return self._any_thread(system, LANES)
        total: Terms = {}
        for axis, factor in (("lane.y", LANES_ALONG["lane.x"]), ("lane.x", 1)):
            loop = around.get(axis)
            if loop is None:
                number = {} if phase.who == FIRST else self._any_thread(system, LANES_ALONG[axis])
            elif loop is reduction_loop(access.op):
                number = {}
            else:
                number = difference(
                    system.variable(loop.iv, instance), system.linear(loop.lower, instance)[0]
                )
            total = difference(total, {name: -factor * count for name, count in number.items()})
        return total

    @staticmethod
    def _any_thread(system: System, threads: int) -> Terms:
        thread = {system.fresh(): 1}
        system.require_not_negative(thread)
        system.require_not_negative(difference({"": threads - 1}, thread))
        return thread

    def _threads_along(self, axis: str) -> int:
        return LANES if axis == "lane" else threads_for(self.loops_on[axis])


def _on_axis(loops: Sequence[ForOp], axis: str) -> list[ForOp]:
    return [loop for loop in loops if loop.kind == axis or (axis == "lane" and loop.kind in LANES_ALONG)]


def _behind(pending: Pending, copies: int | None) -> Pending:
    """What is left to wait for behind a barrier: copies that are in flight, unless it waits for all of them."""
    return [] if copies == 0 else [entry for entry in pending if entry[0].is_async]


def _groups_in(loop: ForOp) -> int:
    """How many groups of copies each iteration of a loop makes; 0 where these are not one after the other in its body."""
    own = [op for op in loop.body.block.ops if isinstance(op, ForOp) and op.kind in THREAD_AXES]
    copies = [op for op in loop.walk() if ASYNC in op.attributes]
    if not all(any(other.is_ancestor(op) for other in own) for op in copies):
        return 0
    return sum(closes_group(op) for op in own)


def _refuse_barriers_in(phase: Operation) -> None:
    for op in phase.walk():
        if isinstance(op, BarrierOp):
            raise fail(
                op,
                "cannot insert barriers: this one is not between loops over threads",
                hint="distribute the loop around it, or remove it",
                notes=[(phase, "threads of a block do this without waiting for each other")],
            )


def _refusal(op: Operation, why: Operation) -> NestorError:
    what = f'the loop "{why.label}"' if isinstance(why, ForOp) else "this branch"
    return fail(
        op,
        "cannot insert barriers: threads of the block would wait here for others that do not arrive",
        hint="split by a factor that divides the extent, or distribute the loops over threads",
        notes=[(why, f"{what} is not for all threads of the block")],
    )


def _owners_of(alloc: AllocOp) -> set[str]:
    if isinstance(thread_copies(alloc), ThreadCopies):
        return set(THREAD_AXES)
    return with_lanes({loop.kind for loop in enclosing_loops(alloc)} & set(THREAD_AXES))


def _apart(first: Operation, second: Operation) -> tuple[Operation, Operation]:
    """The operations of one block that hold the two: what is defined outside of them has one value for both."""
    above = dict(_chain(first))
    return next((above[block], op) for block, op in _chain(second) if block in above)


def _chain(op: Operation) -> Iterator[tuple[Block, Operation]]:
    current: Operation | None = op
    while current is not None and current.parent is not None:
        yield current.parent, current
        current = current.parent_op()


def _union(*ends: Pending) -> Pending:
    return list(dict.fromkeys(entry for end in ends for entry in end))


__all__ = ["Phase", "Place", "kernels_in", "places"]
