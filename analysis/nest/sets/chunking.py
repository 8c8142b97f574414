"""How the results of a function may be computed in chunks: which parts of the inputs a box of a result needs.

    nest.for "i" %i = 0 to %n - 2 {                    chunking(f)  ==  y axis 0, in boxes of lo to hi:
      %a = nest.load %x[%i]                                                x axis 0, lo to hi + 2
      %b = nest.load %x[%i + 2]
      ...
      nest.store "y" %c, %y[%i]

A box is cut along one axis and whole along the others. What it needs is followed back through all nests (`flow.py`), exactly
where accesses are affine. Three things end the way back:
- an input: its axis moves with the box, by bounds that are linear in `lo` and `hi` (their distances are the halo), or all of
  it is needed;
- a reduction of which every box needs the same elements: it is computed first (`after`), in chunks of its own. Each chunk
  gives partial results, which its combiner makes one;
- what is not understood: `whole`, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, ForOp, LoadOp
from ..loop_structure import enclosing_loops
from .accesses import argument_attribute
from .boxes import (
    Bound,
    add_to,
    along,
    box_of,
    dim_kinds,
    is_equal,
    is_the_same,
    limit_of,
    union_of,
    with_value,
)
from .flow import MOST_OPERATIONS, Flow, Read
from .readable import NestText

if TYPE_CHECKING:
    import islpy as isl

MOST_ROUNDS = 8
"""Iterations of a loop of constant length that are followed one by one; of another, all earlier ones at once."""


LO, HI = (("lo", 1),), (("hi", 1),)


@dataclass(frozen=True)
class AxisReach:
    """The indices of one axis that a box of `lo` to `hi` needs: `lower` to `upper` (exclusive), as far as they exist.

    None: from the start, or to the end.
    """

    axis: int
    lower: Bound | None
    upper: Bound | None

    @property
    def halo(self) -> tuple[int, int] | None:
        """How many more are needed before `lo` and after `hi`; None where the axis does not move as the box does."""
        if self.lower is None or self.upper is None:
            return None
        if (self.lower.factors, self.upper.factors) != (LO, HI):
            return None
        return -self.lower.constant, self.upper.constant

    @property
    def moves(self) -> bool:
        """Whether both ends move with the box."""
        return self.lower is not None and self.upper is not None


@dataclass(frozen=True, eq=False)
class Need:
    """What a box needs of one input: the axes that move with it, all of the others.

    `cause` is the operation because of which no axis does, where the box needs all or an end of the input.
    """

    buffer: SSAValue
    axes: tuple[AxisReach, ...]
    cause: Operation | None = None

    @property
    def is_undivided(self) -> bool:
        """Whether more is done with the input than is read for each element of the box: all that there is, for every box."""
        return self.cause is not None and not isinstance(self.cause, LoadOp)

    @property
    def is_cut(self) -> bool:
        return any(axis.moves for axis in self.axes)


@dataclass(frozen=True, eq=False)
class Cut:
    """A result computed in boxes along `axis`, or the updates of a reduction made in boxes along `loop`.

    `after` are the reductions that are complete before.
    """

    what: SSAValue
    axis: int | None
    loop: ForOp | None
    update: AccumulateOp | None
    needs: tuple[Need, ...]
    after: tuple[AccumulateOp, ...]

    @property
    def kind(self) -> str:
        """`blockwise`; `halo`; `moving` (by another step, or the other way round); `running` (all before the box, or all
        after it); `whole` (nothing is divided)."""
        reaches = [axis for need in self.needs for axis in need.axes]
        if any(not axis.moves for axis in reaches):
            return "running"
        if not reaches and any(need.is_undivided for need in self.needs):
            return "whole"
        if any(axis.halo is None for axis in reaches):
            return "moving"
        return "halo" if any(axis.halo != (0, 0) for axis in reaches) else "blockwise"


@dataclass(frozen=True, eq=False)
class Chunking:
    """The cuts of each axis of each result, and of the reductions that they come after. `obstacle`: nothing is known."""

    function: FuncOp
    results: tuple[Cut, ...]
    reductions: tuple[Cut, ...]
    obstacle: tuple[Operation, str] | None = None


def chunking(function: FuncOp) -> Chunking:
    """How the results of a function at nest level may be computed in chunks."""
    flow = Flow(function)
    if flow.obstacle is not None:
        return Chunking(function, (), (), (flow.obstacle.op, flow.obstacle.why))
    import islpy

    context = islpy.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        return _Chunks(flow).found()
    except islpy.Error as error:
        if not is_too_long(error):
            raise
        return Chunking(function, (), (), (function, "it has too many accesses to follow"))
    finally:
        context.set_max_operations(0)


def is_too_long(error: Exception) -> bool:
    """Whether isl gave up because it had worked for longer than it may."""
    return "number of operations exceeded" in str(error)


@dataclass(eq=False)
class _Way:
    """What was found on the way back from a box."""

    elements: dict[str, isl.Set]
    """What each read takes of an argument as the caller gave it."""
    instances: dict[str, isl.Set]
    stops: dict[str, None]


class _Chunks:
    def __init__(self, flow: Flow):
        self._flow = flow
        self._names = NestText(flow.function)
        self._order = _components(flow)
        self._update = {name: op for name, op in flow.statements.items() if isinstance(op, AccumulateOp)}

    def found(self) -> Chunking:
        results = [cut for result in self._flow.written_arguments for cut in self._of_result(result)]
        return Chunking(self._flow.function, tuple(results), tuple(self._reductions()))

    # ---- cuts ---------------------------------------------------------------------------------------

    def _of_result(self, result: SSAValue) -> Iterator[Cut]:
        ends = self._flow.ends_of(result)
        for axis, extent in enumerate(result.type.get_shape()):  # pyright: ignore
            if extent == 1:
                continue
            way = self._back({end.name: box_of(self._flow.domains[end.name], axis) for end in ends})
            yield Cut(result, axis, None, None, self._needs(way), self._after(way))

    def _reductions(self) -> Iterator[Cut]:
        """The reductions that results need, and those that these need, cut along each loop that an input moves with."""
        todo, seen = [], set()
        for result in self._flow.written_arguments:
            todo += self._back(
                {end.name: self._flow.domains[end.name] for end in self._flow.ends_of(result)}
            ).stops
        found: list[tuple[str, Cut]] = []
        while todo:
            name = todo.pop(0)
            op = self._update[name]
            if op in seen:
                continue
            seen.add(op)
            reads = self._flow.reads_of(name)
            instances = self._flow.domains[name]
            todo += self._back({r.name: instances.set_tuple_name(r.name) for r in reads}).stops
            for position, loop in enumerate(enclosing_loops(op)):
                if loop in _reduced_loops(op, self._flow.elements(name)) and self._is_complete(
                    name, position
                ):
                    box = box_of(instances, position)
                    way = self._back({r.name: box.set_tuple_name(r.name) for r in reads})
                    needs = self._needs(way)
                    if any(need.is_cut for need in needs):
                        found.append((name, Cut(op.memrefs[0], None, loop, op, needs, self._after(way))))
        order = list(self._flow.statements)
        yield from (cut for _, cut in sorted(found, key=lambda pair: order.index(pair[0])))

    def _is_complete(self, name: str, position: int) -> bool:
        """Whether everyone who reads what is reduced sees all iterations of the loop at `position`."""
        kinds = dim_kinds()
        for (_, source), relation in self._flow.sources.items():
            if source != name:
                continue
            every = relation.project_out(kinds.out, position, 1).insert_dims(kinds.out, position, 1)
            every = every.set_tuple_name(kinds.out, name).intersect_range(self._flow.domains[name])
            if not every.is_subset(relation):
                return False
        return True

    def _after(self, way: _Way) -> tuple[AccumulateOp, ...]:
        order = list(self._flow.statements)
        return tuple(dict.fromkeys(self._update[name] for name in sorted(way.stops, key=order.index)))

    # ---- the way back -------------------------------------------------------------------------------

    def _back(self, start: dict[str, isl.Set]) -> _Way:
        """What the instances of reads need, through all statements up to the inputs and the reductions before."""
        way = _Way({}, {}, {})
        pending: dict[str, isl.Set] = {}
        for read, instances in start.items():
            self._take(way, pending, read, instances)
        for component in self._order:
            needed = {name: pending.pop(name) for name in component if name in pending}
            if not needed:
                continue
            if self._is_recurrence(component):
                needed = self._closed(component, needed)
            for name, instances in needed.items():
                way.instances[name] = instances
                if (
                    name in self._update
                    and not self._is_recurrence(component)
                    and self._is_first(name, instances)
                ):
                    way.stops[name] = None
                    continue
                for read in self._flow.reads_of(name):
                    self._take(way, pending, read.name, instances.set_tuple_name(read.name), component)
        return way

    def _take(
        self,
        way: _Way,
        pending: dict[str, isl.Set],
        read: str,
        instances: isl.Set,
        done: Sequence[str] = (),
    ) -> None:
        """Follow a read: what it takes from statements (other than `done`) is pending, what from the caller is found."""
        if (taken := self._flow.taken.get(read)) is not None:
            add_to(way.elements, read, instances.apply(taken))
        for (reader, source), relation in self._flow.sources.items():
            if reader == read and source not in done:
                add_to(pending, source, instances.apply(relation))

    def _is_first(self, name: str, instances: isl.Set) -> bool:
        """Whether a reduction is one that every box needs the same elements of, and so computed before."""
        op = self._update[name]
        return bool(_reduced_loops(op, self._flow.elements(name))) and is_the_same(instances)

    def _is_recurrence(self, component: Sequence[str]) -> bool:
        return any(self._steps(component, name) for name in component)

    def _steps(self, component: Sequence[str], name: str) -> list[tuple[str, isl.Map]]:
        """What instances of a statement need of the statements of a component: where from, and the relation."""
        found = []
        for read in self._flow.reads_of(name):
            for source in component:
                if (relation := self._flow.sources.get((read.name, source))) is not None:
                    found.append((source, relation.set_tuple_name(dim_kinds().in_, name)))
        return found

    def _closed(self, component: Sequence[str], needed: dict[str, isl.Set]) -> dict[str, isl.Set]:
        """All instances of a recurrence that some of them need; where finding out takes too long, a larger set."""
        import islpy

        context = islpy.DEFAULT_CONTEXT
        context.reset_operations()
        context.set_max_operations(MOST_OPERATIONS // 32)
        try:
            return self._followed(component, needed)
        except islpy.Error as error:
            if not is_too_long(error):
                raise
            context.reset_operations()
            return self._kept_in_place(component, needed)
        finally:
            context.reset_operations()
            context.set_max_operations(MOST_OPERATIONS)

    def _kept_in_place(self, component: Sequence[str], needed: dict[str, isl.Set]) -> dict[str, isl.Set]:
        """All instances of a recurrence, but for loop variables that no step of it changes: these keep their values."""
        kinds = dim_kinds()
        boxes = union_of(instances.params() for instances in needed.values())
        found = {name: self._flow.domains[name].intersect_params(boxes) for name in component}  # pyright: ignore
        first = component[0]
        for position in range(self._flow.domains[first].dim(kinds.set)):
            places = self._unchanged(component, {first: position})
            if places is None:
                continue
            values = union_of(along(instances, places[name]) for name, instances in needed.items())
            for name, instances in found.items():
                found[name] = instances.intersect(with_value(instances, places[name], values))  # pyright: ignore
        return found

    def _unchanged(self, component: Sequence[str], places: dict[str, int]) -> dict[str, int] | None:
        """The variable of each statement of a recurrence that is equal in every step, from that of the first one."""
        todo = list(places)
        while todo:
            name = todo.pop()
            for source, relation in self._steps(component, name):
                equal = [
                    k for k in range(relation.dim(dim_kinds().out)) if is_equal(relation, places[name], k)
                ]
                if not equal or places.get(source, equal[0]) not in equal:
                    return None
                if source not in places:
                    places[source] = equal[0]
                    todo.append(source)
        return places

    def _followed(self, component: Sequence[str], needed: dict[str, isl.Set]) -> dict[str, isl.Set]:
        import islpy

        for _ in range(_rounds(self._flow.statements[component[0]])):
            more = dict(needed)
            for name, instances in needed.items():
                for source, relation in self._steps(component, name):
                    add_to(more, source, instances.apply(relation))
            if all(name in needed and one.is_subset(needed[name]) for name, one in more.items()):
                return needed
            needed = more
        steps = islpy.UnionMap("{ }")
        for name in component:
            for _, relation in self._steps(component, name):
                steps = steps.union(islpy.UnionMap.from_map(relation))
        every, _ = steps.transitive_closure()
        start = islpy.UnionSet("{ }")
        for one in needed.values():
            start = start.union(islpy.UnionSet.from_set(one))
        found: list[isl.Set] = []
        start.union(start.apply(every)).foreach_set(found.append)
        return {
            one.get_tuple_name(): one.intersect(self._flow.domains[one.get_tuple_name()]).coalesce()
            for one in found
        }

    # ---- what is needed of inputs -------------------------------------------------------------------

    def _needs(self, way: _Way) -> tuple[Need, ...]:
        found = []
        for argument in self._flow.function.args:
            if not isinstance(argument.type, MemRefType) or _is_only_written(argument):
                continue
            reads = [r for r in self._flow.reads if r.buffer is argument and r.name in way.elements]
            elements = union_of(way.elements[r.name] for r in reads)
            if elements is None or elements.is_empty():
                continue
            shape = argument.type.get_shape()
            reaches = [self._reach(elements, axis) for axis in range(len(shape))]
            axes = tuple(reach for reach in reaches if reach is not None)
            cause = None if any(axis.moves for axis in axes) else self._cause(way, reads)
            found.append(Need(argument, axes, cause))
        return tuple(found)

    def _cause(self, way: _Way, reads: Sequence[Read]) -> Operation | None:
        """The first operation on the way back to `reads` that does not move with the box."""
        leading = self._leading_to(way, reads)
        wanted = {read.name for read in reads}
        for name in (n for component in self._order for n in component if n in leading):
            instances = way.instances[name]
            if not self._moves(instances):
                return self._flow.statements[name]
            for read in self._flow.reads_of(name):
                if read.name not in wanted and not any((read.name, n) in self._flow.sources for n in leading):
                    continue
                touched = instances.set_tuple_name(read.name).apply(self._flow.elements(read.name))
                if not self._moves(touched):
                    return read.loads
        return None

    def _leading_to(self, way: _Way, reads: Sequence[Read]) -> set[str]:
        """The statements on the way back that need what `reads` take."""
        users = {read.statement for read in reads}
        found = {name for name in way.instances if self._flow.statements[name] in users} - way.stops.keys()
        todo = list(found)
        while todo:
            made = todo.pop()
            users = {r.statement for r in self._flow.reads if (r.name, made) in self._flow.sources}
            for name in way.instances.keys() - found - way.stops.keys():
                if self._flow.statements[name] in users:
                    found.add(name)
                    todo.append(name)
        return found

    def _moves(self, elements: isl.Set) -> bool:
        reaches = [self._reach(elements, axis) for axis in range(elements.dim(dim_kinds().set))]
        return any(reach is not None and reach.moves for reach in reaches)

    def _reach(self, elements: isl.Set, axis: int) -> AxisReach | None:
        """The indices of one axis; None where every box needs the same ones."""
        one = along(elements, axis).coalesce()
        if is_the_same(one):
            return None
        lower = self._bound(one, "lo", least=True)
        upper = self._bound(one, "hi", least=False)
        return None if lower is None and upper is None else AxisReach(axis, lower, upper)

    def _bound(self, one: isl.Set, end: str, least: bool) -> Bound | None:
        """The least (or one more than the largest) index as an expression with names; None where it does not move."""
        limit = limit_of(one, end, least)
        return None if limit is None else Bound(self._named(limit.factors), limit.constant)

    def _named(self, factors: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """The factors with names for the parameters."""
        keys = {parameter: key for key, parameter in self._flow.parameters.items()}
        named = [
            (self._names.of_key(keys[name]) if name in keys else name, factor) for name, factor in factors
        ]
        return tuple(sorted(named, key=lambda pair: (-pair[1], pair[0])))


def _components(flow: Flow) -> list[list[str]]:
    """The statements in such an order that who reads comes before who wrote; those that need each other are together."""
    makers: dict[str, list[str]] = {name: [] for name in flow.statements}
    users: dict[str, list[str]] = {name: [] for name in flow.statements}
    readers: dict[str, list[str]] = {}
    for name in flow.statements:
        for read in flow.reads_of(name):
            readers.setdefault(read.name, []).append(name)
    for read, source in flow.sources:
        for name in readers.get(read, ()):
            makers[name].append(source)
            users[source].append(name)
    done = list(_finished(flow.statements, makers))
    found: list[list[str]] = []
    seen: set[str] = set()
    for name in reversed(done):
        if name not in seen:
            found.append(list(_finished([name], users, seen)))
    return found


def _finished(
    names: Iterable[str], following: dict[str, list[str]], seen: set[str] | None = None
) -> Iterator[str]:
    """All that can be reached from `names`, each after what follows it; `seen` are left out, and grow."""
    seen = set() if seen is None else seen
    for start in names:
        todo = [(start, iter(following[start]))] if start not in seen else []
        seen.add(start)
        while todo:
            name, others = todo[-1]
            other = next((one for one in others if one not in seen), None)
            if other is None:
                todo.pop()
                yield name
            else:
                seen.add(other)
                todo.append((other, iter(following[other])))


def _rounds(statement: Operation) -> int:
    """How many iterations of the loops around a recurrence are followed one by one."""
    counts = [
        count for loop in enclosing_loops(statement) if (count := loop.constant_trip_count()) is not None
    ]
    return min(max([count for count in counts if count <= MOST_ROUNDS], default=0) * 2, MOST_ROUNDS * 2)


def _reduced_loops(op: AccumulateOp, touched: isl.Map) -> list[ForOp]:
    """The loops around an update whose iterations update the same elements."""
    owner = op.memrefs[0].owner
    private = enclosing_loops(owner) if isinstance(owner, Operation) else []
    kept = set(op.indices.operands)
    return [loop for loop in enclosing_loops(op) if loop.iv not in kept and loop not in private]


def _is_only_written(argument: SSAValue) -> bool:
    role = argument_attribute(argument, ROLE)
    return isinstance(role, StringAttr) and role.data == "out"
