"""Where values come from: which statement instances made the elements that others read, by the last write to each.

    nest.store "t" %a, %t[%i]        in a loop over i       sources of the read, as isl relations:
    ...                                                       R0[j] -> S0[j - 1]   and   R0[j] -> S0[j]
    %b = nest.load %t[%j - 1]        read twice by a
    %c = nest.load %t[%j]            statement in j

Array dataflow analysis (Feautrier) by isl's flow computation. Updates of a reduction are sources of whoever reads the
buffer next, not of each other. What is not affine is taken for larger than it is: an index that is loaded may be any, a
statement under a mask or a branch may run and may not. What is not understood at all is an `Obstacle`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, ForOp, IfOp, LoadOp, PrefetchOp, StoreOp
from ..calls import filled_by
from ..loop_structure import enclosing_loops
from .accesses import VIEWS, accesses_of, argument_attribute, may_alias, root_of
from .integer_sets import System, difference
from .mapped_calls import CallAxis, mapped_axes

if TYPE_CHECKING:
    import islpy as isl

Statement = StoreOp | AccumulateOp | CallOp

Dim = ForOp | CallAxis
"""What instances of a statement are counted by: a loop around it, or an axis that a call is mapped over."""

MOST_OPERATIONS = 8_000_000
"""Operations of isl for one question, some seconds: a program that takes more is not analysed."""


@dataclass(frozen=True, eq=False)
class Obstacle:
    """An operation that cannot be followed, and why."""

    op: Operation
    why: str


@dataclass(frozen=True, eq=False)
class Read:
    """One operation that reads a buffer for a statement (None: for whoever sees the results), called `name` in relations.

    Its instances are those of the statement. `loads` is a `LoadOp`, a call, or the end of the function. `along`: the
    read of a buffer that is reduced together with this one, whose elements depend on those of this one.
    """

    name: str
    loads: Operation
    buffer: SSAValue
    statement: Statement | None
    along: str | None = None


class Flow:
    """The reads and statements of a function at nest level, and the relations between their instances.

    `parameters` are the names in relations of the values that all instances share: extents, and scalars.
    """

    def __init__(self, function: FuncOp):
        self.function = function
        self.parameters: dict[Hashable, str] = {}
        self.obstacle = _obstacle(function)
        self.statements: dict[str, Statement] = {}
        self.reads: list[Read] = []
        self.domains: dict[str, isl.Set] = {}
        self.loaded: dict[str, isl.Map] = {}
        """Of a read whose load runs more often than its statement: the elements in each iteration of the load's loops."""
        self._touched: dict[str, isl.Map] = {}
        self._is_certain: dict[str, bool] = {}
        self._path_of: dict[Operation, tuple[int | SSAValue, ...]] = {}
        if self.obstacle is None:
            self._collect()
            self._add_reads_together()

    @cached_property
    def written_arguments(self) -> list[SSAValue]:
        """The arguments that the function writes, in their order."""
        written: set[SSAValue | None] = set()
        for op in self.function.walk():
            if isinstance(op, CallOp):
                written.update(map(root_of, _written_by(op)))
            else:
                written.update(access.root for access in accesses_of(op) if access.writes)
        return [argument for argument in self.function.args if argument in written]

    def ends_of(self, result: SSAValue) -> list[Read]:
        """The reads of a result when the function is done; their instances are the elements."""
        (end,) = (r for r in self.reads if r.statement is None and r.buffer is result and r.along is None)
        return [end, *(r for r in self.reads if r.along == end.name)]

    def reads_of(self, name: str) -> list[Read]:
        """What a statement reads."""
        return [read for read in self.reads if read.statement is self.statements[name]]

    @cached_property
    def sources(self) -> dict[tuple[str, str], isl.Map]:
        """For a read and a statement, which instances of the one take elements that instances of the other made."""
        kinds = _kinds()
        maps = [m for flow in self._computed for m in _maps_of(flow.get_may_dependence().reverse())]
        found = {(one.get_tuple_name(kinds.in_), one.get_tuple_name(kinds.out)): one for one in maps}
        return dict(
            sorted(found.items(), key=lambda pair: pair[0])
        )  # isl gives them in the order of addresses

    @cached_property
    def taken(self) -> dict[str, isl.Map]:
        """For a read of an argument, the elements that may be those which the caller gave."""
        maps = [m for flow in self._computed for m in _maps_of(flow.get_may_no_source())]
        return {one.get_tuple_name(_kinds().in_): one for one in maps}

    def elements(self, name: str) -> isl.Map:
        """The elements that a read or a statement touches in each instance."""
        return self._touched[name]

    def every_element(self, buffer: SSAValue) -> isl.Set:
        """All elements of a buffer."""
        return self._relation(self.function, "all", buffer, None, ())[0].range()

    def buffer_of(self, name: str) -> SSAValue:
        """The buffer that a read or a statement touches."""
        of_name = {f"B{k}": buffer for buffer, k in self._buffers.items()}
        return of_name[self._touched[name].get_tuple_name(_kinds().out)]

    @cached_property
    def _computed(self) -> list[isl.UnionFlow]:
        """The flow to the reads that there are, and, with no write hiding another, to those of what is reduced together."""
        import islpy

        def union(names: Iterable[str]) -> isl.UnionMap:
            total = islpy.UnionMap("{ }")
            for name in names:
                total = total.union(islpy.UnionMap.from_map(self._touched[name]))
            return total

        schedule, longest = islpy.UnionMap("{ }"), max(map(len, self._path_of.values()), default=0) + 1
        for read in self.reads:
            path = (
                (len(self.function.body.block.ops) + 1,) if read.statement is None else self._path(read.loads)
            )
            schedule = schedule.union(self._schedule(read.name, path, longest))
        for name, statement in self.statements.items():
            schedule = schedule.union(self._schedule(name, self._path(statement), longest))
        found = []
        for is_together in (False, True):
            readers = union(r.name for r in self.reads if (r.along is not None) is is_together)
            certain = [n for n in self.statements if self._is_certain[n] and not is_together]
            info = islpy.UnionAccessInfo.from_sink(readers).set_must_source(union(certain))
            info = info.set_may_source(union(n for n in self.statements if n not in certain))
            found.append(info.set_schedule_map(schedule).compute_flow())
        return found

    # ---- what there is ------------------------------------------------------------------------------

    def _collect(self) -> None:
        for op in self.function.walk():
            if isinstance(op, Statement):
                self._add_statement(op)
        for result in self.written_arguments:
            name = f"R{len(self.reads)}"
            self.reads.append(Read(name, self.function.body.block.last_op, result, None))  # pyright: ignore
            relation, _ = self._relation(self.function, name, result, None, ())
            self._touched[name] = relation
            self.domains[name] = relation.domain()

    def _add_reads_together(self) -> None:
        """Whoever reads one of the buffers of a reduction of several depends on what the others were."""
        together = reduced_together(self.function)
        for read in list(self.reads):
            for other in together.get(read.buffer, ()):
                name = f"R{len(self.reads)}"
                self.reads.append(Read(name, read.loads, other, read.statement, along=read.name))
                touched = self._touched[read.name].set_tuple_name(_kinds().in_, name)
                self._touched[name] = touched.set_tuple_name(_kinds().out, self._buffer_name(other))
                self.domains[name] = touched.domain()

    def _add_statement(self, op: Statement) -> None:
        targets = (
            _written_by(op)
            if isinstance(op, CallOp)
            else op.memrefs
            if isinstance(op, AccumulateOp)
            else (op.memref,)
        )
        names: list[str] = []
        for target in targets:
            name = f"S{len(self.statements)}"
            names.append(name)
            self.statements[name] = op
            indices = None if isinstance(op, CallOp) else op.indices
            relation, is_exact = self._relation(op, name, target, indices, dims_of(op))
            self._touched[name] = relation
            self.domains[name] = relation.domain()
            if isinstance(op, CallOp):
                is_certain = filled_by(op) is not None and root_of(target) is target
            else:
                is_certain = is_exact and isinstance(op, StoreOp) and op.mask is None
            self._is_certain[name] = is_certain and _runs_for_certain(op)
            self._path(op)
        for buffer in _read_by(op) if isinstance(op, CallOp) else ():
            self._add_read(op, buffer, None, op)
        for load in _loads_for(op):
            self._add_read(load, load.memref, load.indices, op)

    def _add_read(
        self, loads: Operation, buffer: SSAValue, indices: AffineList | None, op: Statement
    ) -> None:
        name = f"R{len(self.reads)}"
        self.reads.append(Read(name, loads, root_of(buffer), op))
        self._path(loads)
        self._touched[name], _ = self._relation(op, name, buffer, indices, dims_of(op))
        self.domains[name] = self._touched[name].domain()
        if isinstance(loads, LoadOp) and _runs_more_often(loads, op):
            loops = enclosing_loops(loads)
            self.loaded[name] = self._relation(loads, name, buffer, indices, loops)[0]

    # ---- relations ----------------------------------------------------------------------------------

    def _relation(
        self, op: Operation, name: str, buffer: SSAValue, indices: AffineList | None, dims: Sequence[Dim]
    ) -> tuple[isl.Map, bool]:
        """The elements of `buffer` at `indices` (None: all) in each instance of `op`; whether it is exact.

        An instance is an iteration of the loops of `dims`, and an index of the axes that a call is mapped over; for the end
        of a function it is an element. A buffer that loops make anew in each iteration has their variables before its own
        axes.
        """
        root = root_of(buffer)
        system = System(self.function)
        loops = [dim for dim in dims if isinstance(dim, ForOp)]
        mapped = [(dim, _index_along(system, dim)) for dim in dims if isinstance(dim, CallAxis)]
        if op is not self.function:
            system.require_reached(op, "s")
        for constraint in system.linear(getattr(op, "where", None) or AffineList((), ()), "s"):
            system.require_not_negative(constraint)
        element = [{system.name(loop.iv, "s"): 1} for loop in _loops_around(root)]
        assert isinstance(root.type, MemRefType)
        is_known = indices is not None and root is buffer
        for axis in range(root.type.get_num_dims()):
            place = {system.fresh(): 1}
            element.append(place)
            system.require_not_negative(place)
            system.require_not_negative(difference(system.extent(root, axis, "s"), place, -1))
            if is_known and indices is not None:
                system.require_zero(difference(place, system.linear(indices[axis], "s")[0]))
            for dim, index in mapped if root is buffer else ():
                if dim.place_in(buffer) == axis:
                    system.require_zero(difference(place, index))
        instance = element
        if op is not self.function:
            instance = [*({system.name(loop.iv, "s"): 1} for loop in loops), *(index for _, index in mapped)]
        return self._as_map(system, name, instance, self._buffer_name(root), element, loops, is_known)

    def _as_map(
        self,
        system: System,
        name: str,
        instance: Sequence[dict[str, int]],
        target: str,
        element: Sequence[dict[str, int]],
        loops: Sequence[ForOp],
        is_exact: bool,
    ) -> tuple[isl.Map, bool]:
        import islpy

        variables = {loop.iv for loop in loops}
        equal, parameters = [], []
        for key, variable in system.variables():
            if key == variable:
                continue
            value = key[0] if isinstance(key, tuple) and isinstance(key[1], str) else key
            if value in variables:
                continue
            if isinstance(value, SSAValue) and _is_made_in_a_loop(value):
                is_exact = False
                continue
            parameter = self.parameters.setdefault(value, f"p{len(self.parameters)}")
            parameters.append(parameter)
            equal.append(f"{variable} = {parameter}")
        columns = ", ".join(variable for _, variable in system.variables())
        ends = [
            f"{label}[{', '.join(map(_text, terms))}]"
            for label, terms in ((name, instance), (target, element))
        ]
        condition = f" : {' and '.join(equal)}" if equal else ""
        choice = islpy.Map(
            f"[{', '.join(parameters)}] -> {{ [{columns}] -> [{ends[0]} -> {ends[1]}]{condition} }}"
        )
        return system.solution_set().apply(choice).unwrap(), is_exact

    def _buffer_name(self, root: SSAValue) -> str:
        return f"B{self._buffers.setdefault(root, len(self._buffers))}"

    @cached_property
    def _buffers(self) -> dict[SSAValue, int]:
        return {}

    # ---- when ---------------------------------------------------------------------------------------

    def _path(self, op: Operation) -> tuple[int | SSAValue, ...]:
        """The moment of an operation: its place in the block, the iteration of the loop, the place in that, and so on."""
        if op not in self._path_of:
            self._path_of[op] = _moment(op, self.function)
        return self._path_of[op]

    def _schedule(self, name: str, path: Sequence[int | SSAValue], length: int) -> isl.UnionMap:
        import islpy

        variables = [f"i{k}" for k in range(self.domains[name].n_dim())]
        statement = self.statements.get(name) or next(r.statement for r in self.reads if r.name == name)
        loops = [] if statement is None else enclosing_loops(statement)
        known = {loop.iv: variable for loop, variable in zip(loops, variables, strict=False)}
        moment = [known[one] if isinstance(one, SSAValue) else str(one) for one in path]
        moment += ["0"] * (length - len(moment))
        return islpy.UnionMap(f"{{ {name}[{', '.join(variables)}] -> [{', '.join(moment)}] }}")


def dims_of(statement: Operation) -> list[Dim]:
    """What instances of a statement are counted by, loops first. Calls in loops are not taken apart."""
    loops = enclosing_loops(statement)
    if loops or not isinstance(statement, CallOp) or not isinstance(statement.parent_op(), FuncOp):
        return list(loops)
    return list(mapped_axes(statement))


def _index_along(system: System, dim: CallAxis) -> dict[str, int]:
    """The index of an instance along an axis that a call is mapped over."""
    index = {system.fresh(): 1}
    system.require_not_negative(index)
    system.require_not_negative(difference(system.extent(*dim.where, "s"), index, -1))
    return index


def _moment(op: Operation, function: Operation) -> tuple[int | SSAValue, ...]:
    path: list[int | SSAValue] = []
    while op is not function:
        block, parent = op.parent, op.parent_op()
        assert block is not None and parent is not None
        path.append(list(block.ops).index(op))
        if isinstance(parent, ForOp):
            path.append(parent.iv)
        elif isinstance(parent, IfOp):
            path.append(int(block.parent is not parent.then_region))
        op = parent
    return tuple(reversed(path))


def _runs_for_certain(op: Operation) -> bool:
    """Whether an operation runs in each iteration of the loops around it that their bounds, as isl knows them, give."""
    outer = op.parent_op()
    while isinstance(outer, ForOp):
        if outer.step_value != 1 and len(outer.lower) != 1:
            return False
        outer = outer.parent_op()
    return isinstance(outer, FuncOp)


def _runs_more_often(load: LoadOp, statement: Statement) -> bool:
    """Whether a load also runs where its statement does not: that is in more loops or branches, or bounded itself."""
    return load.parent is not statement.parent or getattr(statement, "where", None) is not None


def _loops_around(root: SSAValue) -> list[ForOp]:
    return enclosing_loops(root.owner) if isinstance(root.owner, Operation) else []


def _is_made_in_a_loop(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), ForOp)
    return bool(enclosing_loops(owner))


def _loads_for(statement: Statement) -> list[LoadOp]:
    """The loads that decide what a statement does: its values, where, and whether it runs."""
    todo = [value for op in statement.walk() for value in op.operands]
    outer = statement.parent_op()
    while isinstance(outer, ForOp | IfOp):
        todo += outer.operands
        outer = outer.parent_op()
    found: dict[LoadOp, None] = {}
    seen: set[SSAValue] = set()
    while todo:
        value = todo.pop()
        if value in seen or isinstance(value.owner, Block):
            continue
        seen.add(value)
        if isinstance(value.owner, LoadOp):
            found[value.owner] = None
        if not isinstance(value.type, MemRefType):
            todo += [v for v in value.owner.operands if not isinstance(v.type, MemRefType)]
    return sorted(found, key=lambda load: _place(load))


def reduced_together(function: FuncOp) -> dict[SSAValue, list[SSAValue]]:
    """For each buffer of a reduction of several, the others."""
    groups: list[set[SSAValue]] = []
    for op in function.walk():
        if isinstance(op, AccumulateOp) and len(op.memrefs) > 1:
            group = set(map(root_of, op.memrefs))
            apart = [g for g in groups if g.isdisjoint(group)]
            groups = [*apart, group.union(*(g for g in groups if g not in apart))]
    order = {access.root: k for k, op in enumerate(function.walk()) for access in accesses_of(op)}
    return {one: sorted(g - {one}, key=lambda b: order[b]) for g in groups for one in g}


def _place(op: Operation) -> tuple[int, ...]:
    return tuple(one for one in _moment(op, _outermost(op)) if isinstance(one, int))


def _outermost(op: Operation) -> Operation:
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _memrefs(call: CallOp) -> list[SSAValue]:
    return [operand for operand in call.operands if isinstance(operand.type, MemRefType)]


_KNOWN = (LoadOp, StoreOp, AccumulateOp, PrefetchOp, memref.DimOp, *VIEWS)


def _written_by(call: CallOp) -> list[SSAValue]:
    """The buffers that a call may write: its results, where it is known to have some; else any, but for arguments of the
    function that are there to be read."""
    filled = filled_by(call)
    return [b for b in _memrefs(call) if not _is_input(root_of(b))] if filled is None else list(filled)


def _read_by(call: CallOp) -> list[SSAValue]:
    """The buffers that a call may read: its operands, where it is known to have results."""
    filled = filled_by(call)
    buffers = _memrefs(call)
    return buffers if filled is None else buffers[: len(call.arguments) - len(filled)]


def _is_input(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, Block) and argument_attribute(buffer, ROLE) is None


def _obstacle(function: FuncOp) -> Obstacle | None:
    """The first operation that cannot be followed."""
    for op in function.walk():
        outer = op.parent_op()
        if isinstance(op, CallOp) and not op.results:
            continue
        if op.regions and not isinstance(op, FuncOp | ForOp | IfOp | AccumulateOp):
            return Obstacle(op, f"{op.name} decides while it runs what is done")
        if isinstance(op, CallOp) or any(access.buffer is None for access in accesses_of(op)):
            return Obstacle(op, f"{op.name} may read and write anything")
        if not isinstance(op, _KNOWN) and any(isinstance(v.type, MemRefType) for v in op.operands):
            return Obstacle(op, f"{op.name} is not followed")
        if isinstance(op, AccumulateOp) and len({tuple(_loops_around(root_of(b))) for b in op.memrefs}) > 1:
            return Obstacle(op, "it reduces buffers together that are made in different loops")
        if isinstance(op, VIEWS) and isinstance(outer, ForOp | IfOp):
            return Obstacle(op, f"{op.name} in a loop is not followed")
    arguments = [a for a in function.args if isinstance(a.type, MemRefType)]
    for k, first in enumerate(arguments):
        if any(may_alias(first, other) for other in arguments[k + 1 :]):
            return Obstacle(function, f'the argument "{first.name_hint}" may share memory with another one')
    return None


def _maps_of(union: isl.UnionMap) -> list[isl.Map]:
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found


def _text(terms: dict[str, int]) -> str:
    (variable,) = terms
    return variable


def _kinds():
    import islpy

    return islpy.dim_type
