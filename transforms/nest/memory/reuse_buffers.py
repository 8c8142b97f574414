"""nest-reuse-buffers: intermediates live in a result, or in each other's buffer, where no element is needed twice.

    %e = nest.alloc "e"(%n, %m) : memref<?x?xf32>
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "e" %a, %e[%i, %j]
      }
      nest.for "j.1" %k = 0 to %m {
        %b = nest.load %e[%i, %k]
        %c = arith.divf %b, %s
        nest.store "y" %c, %out[%i, %k]
      }
    }

becomes

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "e" %a, %out[%i, %j]
      }
      nest.for "j.1" %k = 0 to %m {
        %b = nest.load %out[%i, %k]
        %c = arith.divf %b, %s
        nest.store "y" %c, %out[%i, %k]
      }
    }

Two buffers of one type and equal extents share memory when each element of the first has been read for the
last time before that element of the second is first written, in the order of the loops as they are (order=kept). With
order=free, as in the pipelines, the loops stay free to run in any order: the two touch an element in one iteration only
of the loops that they share, and the order of the statements decides; and a load outside of loops may be done as late as
the last nest that uses it, as in GPU kernels. A result takes part when it
overlaps no argument, and comes last: its elements are what the caller sees. With within=nest, as for GPUs, two of them share
memory only where a nest uses both: kernels can then keep to themselves what no other one uses, and memory that is free by
then is given away by gpu-plan-memory. A copy of a buffer to itself, which
is what remains of a copy to a result, is removed. Buffers made inside loops, scalars, buffers that are seen
through views, and those that are computed from frozen arguments alone (nest-freeze fills them once) stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.accesses import WRITE, Access, accesses_of, alias_set, argument_attribute
from ....analysis.nest.sets.dependence import equal_in_one_iteration
from ....analysis.nest.sets.frozen_buffers import is_computed_once, is_frozen
from ....analysis.nest.sets.integer_sets import difference, pair_system
from ....analysis.nest.values.extent_keys import extent_key
from ....dialects.attributes import OUTLINED, ROLE
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp

if TYPE_CHECKING:
    from ....analysis.nest.sets.producers import Moment

Order = Literal["kept", "free"]
Within = Literal["function", "nest"]

DEEP = 4
"""Loops around a sum over windows: two of places or more, and two of terms or more."""


def reuse_buffers(function: FuncOp, order: Order = "kept", within: Within = "function") -> int:
    """Let buffers of `function` share memory; the number of allocations that are gone. None are of several blocks."""
    if len(function.body.blocks) != 1:
        return 0
    places = _Places(function)
    has_frozen = any(is_frozen(argument) for argument in function.body.block.args)
    apart = _of_windows(function) if order == "free" else set()
    groups = [_Group([life]) for value in function.body.block.args if (life := _result(value, places, order))]
    allocated = [
        _life(op.memref, places, order)
        for op in function.body.block.ops
        if isinstance(op, AllocOp)
        and op.memref not in apart
        and not (has_frozen and is_computed_once(op.memref))
    ]
    for life in filter(None, allocated):
        group = next((g for g in groups if g.admits(life, order, within)), None)
        if group is None:
            groups.append(_Group([life]))
        else:
            group.members.append(life)
    removed = sum(group.merge() for group in groups)
    if removed:
        _drop_self_copies(function)
    return removed


def _of_windows(function: FuncOp) -> set[SSAValue]:
    """The buffers that sums over several loops fill, and those that they read: a schedule computes them block by block, next
    to each other, which it could not if other nests wrote them as well. None where several of them read the same, as a
    forward and its reverse do: that is in memory as a whole, and memory of its own costs each of the others page faults."""
    found: set[SSAValue] = set()
    readers: Counter[SSAValue] = Counter()
    for nest in function.body.block.ops:
        if not isinstance(nest, ForOp):
            continue
        accesses = [access for op in nest.walk() for access in accesses_of(op)]
        for access in accesses:
            if not isinstance(access.op, AccumulateOp) or access.indices is None:
                continue
            loops = enclosing_loops(access.op)
            summed = [loop for loop in loops if loop.iv not in access.indices.operands]
            if len(loops) >= DEEP and len(summed) > 1 and access.indices.operands:
                found.update(one.root for one in accesses if one.root is not None)
                readers.update({one.root for one in accesses if one.root is not None and not one.writes})
                break
    return found if all(count < 2 for count in readers.values()) else set()


# ---- the life of a buffer ---------------------------------------------------------------------------


class _Places:
    """Where the operations of a function are: their numbers in the text, and what is outermost around them."""

    def __init__(self, function: FuncOp):
        self.numbers: dict[Operation, int] = {}
        self.outermost: dict[Operation, Operation] = {}
        self.ends: dict[Operation, int] = {}
        """For each operation directly in the function, the number of the last one in it."""
        for top in function.body.block.ops:
            for op in top.walk():
                self.outermost[op] = top
                self.numbers[op] = self.ends[top] = len(self.numbers)

    def last_use(self, load: LoadOp) -> int:
        """Where a load outside of loops is at last: at the end of the last nest that uses what it gives."""
        last, seen, work = self.numbers[load], {load.result}, [load.result]
        while work:
            for use in work.pop().uses:
                top = self.outermost[use.operation]
                last = max(last, self.ends[top])
                new = [result for result in top.results if result not in seen]
                seen.update(new)
                work += new
        return last


@dataclass(frozen=True, eq=False)
class _Use:
    """An access, its number in the function and what is around it, outermost first: `around[0]` is in the function."""

    number: int
    access: Access
    around: tuple[Operation, ...]
    counters: frozenset[SSAValue] | None
    """The variables of loops that say which elements it touches; None where more than these says it."""

    @property
    def nest(self) -> Operation:
        """What is outermost around it."""
        return self.around[0]


@dataclass(frozen=True, eq=False)
class _Life:
    """A buffer with its accesses in order, and what is outermost around them, `nests`."""

    buffer: SSAValue
    extents: tuple[Hashable, ...]
    uses: list[_Use]
    nests: frozenset[Operation]
    is_result: bool = False

    def ends_before(self, other: _Life, order: Order) -> bool:
        """Whether every access to an element comes before any write of that element of `other`."""
        if self.is_result:
            return False
        writes = [use for use in other.uses if use.access.writes]
        if not writes or not self.uses:
            return True
        first_write, last_access = min(use.number for use in writes), self.uses[-1].number
        if self.nests.isdisjoint(other.nests) and (last_access < first_write or order == "free"):
            return last_access < first_write
        if order == "free" and any(
            use.number >= write.number and use.nest is not write.nest
            for use in self.uses
            if use.number >= first_write
            for write in writes
        ):
            return False
        return all(
            _is_ordered(use, write, order)
            for use in self.uses
            for write in writes
            if use.nest is write.nest or use.number >= write.number
        )


def _result(argument: SSAValue, places: _Places, order: Order) -> _Life | None:
    """The life of a result that overlaps nothing; None for any other argument."""
    role = argument_attribute(argument, ROLE)
    if not isinstance(role, StringAttr) or role.data != "out" or alias_set(argument) is not None:
        return None
    return _life(argument, places, order, is_result=True)


def _life(buffer: SSAValue, places: _Places, order: Order, is_result: bool = False) -> _Life | None:
    """The life of a buffer of which every use is known; None for scalars, and where it is seen through a view."""
    assert isinstance(buffer.type, MemRefType)
    if not buffer.type.get_num_dims():
        return None
    users = {use.operation for use in buffer.uses}
    if not all(
        isinstance(op, (LoadOp, StoreOp, AccumulateOp, memref.DimOp)) or OUTLINED in op.attributes
        for op in users
    ):
        return None
    uses = [
        _use(_position(op, places, order), access)
        for op in users
        for access in _accesses_of(op, buffer)
        if access.buffer is buffer
    ]
    extents = tuple(extent_key(buffer, axis) for axis in range(buffer.type.get_num_dims()))
    uses.sort(key=lambda use: use.number)
    return _Life(buffer, extents, uses, frozenset(use.nest for use in uses), is_result)


def _use(number: int, access: Access) -> _Use:
    around = [access.op]
    while not isinstance(parent := around[-1].parent_op(), FuncOp | ModuleOp | None):
        around.append(parent)
    return _Use(number, access, tuple(around[::-1]), _counters(access, around))


def _counters(access: Access, around: Sequence[Operation]) -> frozenset[SSAValue] | None:
    """The variables of the loops around an access that its indices are made of, with those of their bounds."""
    if access.indices is None or access.where is not None or any(isinstance(op, IfOp) for op in around):
        return None
    loops = {op.iv: op for op in around if isinstance(op, ForOp)}
    pending, found = list(access.indices.operands), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in loops and value not in found:
            found.add(value)
            pending += [*loops[value].lower.operands, *loops[value].upper.operands]
        elif value not in loops and isinstance(value.owner, Operation) and value.owner.parent_op() in around:
            return None  # computed in a loop
    return frozenset(found)


def _position(op: Operation, places: _Places, order: Order) -> int:
    """Where an access is at last: with a free order, a load outside of loops may be done as late as it is used."""
    if order == "free" and isinstance(op, LoadOp) and isinstance(op.parent_op(), FuncOp):
        return places.last_use(op)
    return places.numbers[op]


def _accesses_of(op: Operation, buffer: SSAValue) -> list[Access]:
    """The accesses of an operation; an outlined function may read and write any element of an argument."""
    return [Access(op, WRITE, buffer, None)] if OUTLINED in op.attributes else accesses_of(op)


def _is_ordered(one: _Use, other: _Use, order: Order) -> bool:
    """Whether one element is touched by `one` before `other`."""
    first, second, in_text = one.access, other.access, one.number < other.number
    shared = [op for op, same in zip(one.around, other.around, strict=False) if op is same]
    band = [op for op in shared if isinstance(op, ForOp)]
    if any(not isinstance(op, (ForOp, IfOp, scf.IfOp)) for op in shared if op is not first.op):
        return False
    if first.indices is None or second.indices is None:
        return in_text and not band
    if not band:
        return in_text or (order == "kept" and not _may_meet(first, second, lambda s, t: "true"))
    if in_text and equal_in_one_iteration(first.indices, second.indices, band):
        return True
    if _are_in_each(one, other, band):
        return False
    if order == "kept":
        from ....analysis.nest.sets.producers import runs_before

        return not _may_meet(first, second, lambda s, t: runs_before(band, t, s, not in_text))
    return in_text and not _may_meet(first, second, lambda s, t: _is_apart(band, s, t))


def _are_in_each(one: _Use, other: _Use, band: Sequence[ForOp]) -> bool:
    """Whether each iteration of the band touches the same elements by both: cheap, for thousands of pairs in long loops."""
    if one.counters is None or other.counters is None:
        return False
    return not any(loop.iv in one.counters or loop.iv in other.counters for loop in band)


def _is_apart(band: Sequence[ForOp], first: Moment, second: Moment) -> str:
    """The condition that two instances are in different iterations."""
    return f"({' or '.join(f'{first(loop)} != {second(loop)}' for loop in band)})"


def _may_meet(first: Access, second: Access, condition: Callable[[Moment, Moment], str]) -> bool:
    """Whether the two touch one element, by its indices, in instances for which a condition holds."""
    assert first.indices is not None and second.indices is not None
    outermost = [next(iter(enclosing_loops(access.op)), access.op) for access in (first, second)]
    system = pair_system(first, second, *outermost)
    indices = zip(system.linear(first.indices, "s"), system.linear(second.indices, "t"), strict=True)
    for index, other in indices:
        system.require_zero(difference(index, other))
    system.require(condition(lambda loop: system.name(loop.iv, "s"), lambda loop: system.name(loop.iv, "t")))
    return system.has_solution()


# ---- buffers that share memory ----------------------------------------------------------------------


@dataclass(eq=False)
class _Group:
    """Buffers that share memory, the one that remains first."""

    members: list[_Life]

    def admits(self, life: _Life, order: Order, within: Within) -> bool:
        """Whether `life` overlaps the life of no member, element by element."""
        first = self.members[0]
        if life.buffer.type != first.buffer.type or life.extents != first.extents:
            return False
        if within == "nest" and any(life.nests.isdisjoint(m.nests) for m in self.members):
            return False
        return all(life.ends_before(m, order) or m.ends_before(life, order) for m in self.members)

    def merge(self) -> int:
        """Put the first buffer in the place of the others; how many these are."""
        kept, *others = self.members
        for life in others:
            hint = kept.buffer.name_hint
            life.buffer.replace_all_uses_with(kept.buffer)
            kept.buffer.name_hint = hint
            allocation = life.buffer.owner
            assert isinstance(allocation, AllocOp)
            _erase(allocation)
        return len(others)


# ---- copies that are none ---------------------------------------------------------------------------


def _drop_self_copies(function: FuncOp) -> None:
    """Remove stores of an element to where it was loaded from, and the loops that are empty then."""
    for store in [op for op in function.walk() if isinstance(op, StoreOp)]:
        load = store.value.owner
        if not isinstance(load, LoadOp) or not _copies_to_itself(load, store):
            continue
        parent = store.parent_op()
        _erase(store)
        if not load.result.uses:
            _erase(load)
        while isinstance(parent, ForOp) and not parent.body.block.ops:
            empty, parent = parent, parent.parent_op()
            _erase(empty)


def _copies_to_itself(load: LoadOp, store: StoreOp) -> bool:
    if load.memref is not store.memref or load.indices != store.indices or load.parent is not store.parent:
        return False
    between = load.next_op
    while between is not store:
        assert between is not None
        if between.regions or any(access.writes for access in accesses_of(between)):
            return False
        between = between.next_op
    return True


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
