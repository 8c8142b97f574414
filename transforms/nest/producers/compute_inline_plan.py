"""What nest-compute-inline inlines, and whether that is legal.

The plan is the one store that writes the buffer, the loops around it and the operations that compute what it stores.
Then each load is checked: that the store has written its element by then, and that what the element is computed from
has not been written since; and, where work must not be done again, that no element is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.accesses import Access, accesses_of, is_defined_outside, may_overlap
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.producers import (
    Uses,
    allocation_of,
    common_loops,
    describe_instance,
    odd_ancestor,
    require_domain,
    require_needed,
    require_same_element,
    runs_before,
    substitute,
    top_in,
    uses_of,
    writes_in,
)
from ....dialects.affine import AffineList, linear_terms
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, BarrierOp, ForOp, IfOp, LoadOp, StoreOp

Duplicate = Literal["allow", "refuse"]


# ---- what is inlined --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """A store, the loops around it, and the operations around it that compute what it stores.

    `part` is a store after it that sets some of the elements again: those of its domain, as at the border of an image.
    """

    uses: Uses
    store: StoreOp
    nest: Operation
    loops: list[ForOp]
    steps: list[Operation]
    part: StoreOp | None = None

    @property
    def label(self) -> str:
        return self.uses.alloc.label.data

    def refusal(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        return _refusal(self.uses.alloc, reason, notes, hint)

    def instance(self, indices: AffineList) -> dict[SSAValue, AffineList]:
        """The iteration of each loop in which the element at `indices` is written."""
        found: dict[SSAValue, AffineList] = {}
        for axis, loop, sign in self.order:
            rest = _without(self.store.indices[axis], loop.iv, sign)
            found[loop.iv] = indices[axis].minus(substitute(rest, found)).times(sign)
        return found

    def forwards(self, load: LoadOp) -> bool:
        """Whether `load` reads what the store wrote before it in the same iteration: the value is at hand."""
        block = self.store.parent
        assert block is not None
        if not is_inside(load, block.parent_op() or load) or load.parent is None:
            return False
        if any(i != AffineList.of(v) for v, i in self.instance(load.indices).items()):
            return False
        return self.store.is_before_in_block(top_in(block, load))

    @property
    def order(self) -> list[tuple[int, ForOp, int]]:
        """Axes, the loops that they determine, and the sign of the loop's variable; each from those before."""
        solved: list[tuple[int, ForOp, int]] = []
        open_loops = list(self.loops)
        progress = True
        while progress:
            progress = False
            for axis in range(len(self.store.indices)):
                solution = _sole_loop(self.store.indices[axis], open_loops)
                if solution is not None:
                    solved.append((axis, *solution))
                    open_loops.remove(solution[0])
                    progress = True
        return solved


def _refusal(
    alloc: AllocOp, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None
):
    return fail(alloc, f'cannot inline the buffer "{alloc.label.data}": {reason}', hint=hint, notes=notes)


def _sole_loop(index: AffineList, loops: Sequence[ForOp]) -> tuple[ForOp, int] | None:
    """The only one of `loops` whose variable is in `index`, with its factor, when that is 1 or -1."""
    involved = [loop for loop in loops if loop.iv in index.operands]
    if len(involved) != 1:
        return None
    terms, _ = linear_terms(index.exprs[0])
    position = index.operands.index(involved[0].iv)
    factor = terms.pop(AffineDimExpr(position), 0)
    if factor not in (1, -1) or involved[0].iv in _without(index, involved[0].iv, factor).operands:
        return None
    return involved[0], factor


def _without(index: AffineList, value: SSAValue, factor: int) -> AffineList:
    """`index` less `factor` times `value`."""
    return index.minus(AffineList.of(value).times(factor))


def plan_inline(buffer: AllocOp | SSAValue, duplicate: Duplicate) -> Plan:
    """What is to be inlined; raises the refusal when that is not legal."""
    alloc = allocation_of(buffer, "inline")
    uses = uses_of(alloc, "inline")
    store, part = _stores(uses)
    nest = uses.top(store)
    if (odd := odd_ancestor(store, nest)) is not None or (odd := _branch_around(store, nest)) is not None:
        raise _refusal(alloc, "its store does not run in every iteration", [(odd, "it is inside of this")])
    loops = [loop for loop in enclosing_loops(store) if is_inside(loop, nest)]
    values = [store.value] if part is None else [store.value, part.value]
    plan = Plan(uses, store, nest, loops, _steps(alloc, values, nest), part)
    _check_indices(plan)
    for load in uses.loads:
        _check_load(plan, load)
    if duplicate == "refuse":
        _check_duplicates(plan)
    return plan


def _stores(uses: Uses) -> tuple[StoreOp, StoreOp | None]:
    """The store of all elements, and the one of a part of them that follows it."""
    writes = uses.writes
    if not writes:
        raise _refusal(uses.alloc, "nothing writes it")
    for op in writes:
        if isinstance(op, AccumulateOp):
            raise _refusal(
                uses.alloc,
                "it holds a reduction",
                [(op, "the reduction is here")],
                hint="use nest-compute-at, which moves the whole reduction",
            )
    stores = [op for op in writes if isinstance(op, StoreOp)]
    store, *others = stores
    if len(stores) != len(writes) or not _is_part(store, others):
        notes = [(op, "this statement writes it") for op in writes]
        raise _refusal(uses.alloc, f"{len(writes)} statements write it", notes)
    if store.where is not None or store.mask is not None:
        raise _refusal(
            uses.alloc, "its store has a domain, outside of which elements are not written", [(store, "here")]
        )
    return store, others[0] if others else None


def _is_part(store: StoreOp, others: Sequence[StoreOp]) -> bool:
    """Whether what follows a store is nothing, or one that sets its element again in a part of the iterations."""
    if not others:
        return True
    part = others[0]
    is_alone = len(others) == 1 and part.parent is store.parent and part.where is not None
    return is_alone and part.mask is None and part.indices == store.indices and store.is_before_in_block(part)


def _branch_around(store: StoreOp, nest: Operation) -> Operation | None:
    op: Operation = store
    while op is not nest:
        parent = op.parent_op()
        assert parent is not None
        op = parent
        if isinstance(op, IfOp):
            return op
    return None


def _check_indices(plan: Plan) -> None:
    """Each loop around the store is determined by one index, so that an element is written once."""
    solved = [loop for _, loop, _ in plan.order]
    for loop in plan.loops:
        if loop not in solved:
            raise plan.refusal(
                f'its store\'s indices are not one variable each, plus something fixed, for the loop "{loop.label}"',
                [(plan.store, "the store is here"), (loop, "the loop is here")],
                hint="inline the buffer before splitting the loops that write it",
            )
        if len(loop.lower) != 1 and loop.step_value != 1:
            raise plan.refusal(
                f'the loop "{loop.label}" has a step and several lower bounds', [(loop, "the loop is here")]
            )
    for value in (*plan.store.indices.operands, *(v for loop in plan.loops for v in loop.operands)):
        if value not in {loop.iv for loop in plan.loops} and not is_defined_outside(value, plan.nest):
            raise plan.refusal(
                "an index or bound is computed in the nest that writes it",
                [(plan.store, "the store is here")],
            )


def _steps(alloc: AllocOp, values: Sequence[SSAValue], nest: Operation) -> list[Operation]:
    """The operations inside `nest` that compute the stored values, in program order."""
    found: set[Operation] = set()
    wanted = list(values)
    while wanted:
        owner = wanted.pop().owner
        if isinstance(owner, Block) or owner in found or not is_inside(owner, nest):
            continue
        _check_step(alloc, owner, nest)
        found.add(owner)
        wanted += owner.operands
    return [op for op in nest.walk() if op in found]


def _check_step(alloc: AllocOp, op: Operation, nest: Operation) -> None:
    if isinstance(op, LoadOp):
        if op.memref is alloc.memref:
            raise _refusal(
                alloc, "its elements are computed from others of them", [(op, "this load reads them")]
            )
        if not is_defined_outside(op.memref, nest):
            raise _refusal(
                alloc,
                "its value comes from a buffer that is made inside the nest that writes it",
                [(op, "this load reads it")],
                hint="a reduction is moved by nest-compute-at",
            )
    elif not is_computation(op) and not isinstance(op, memref.DimOp):
        raise _refusal(
            alloc, "its value needs more than loads and arithmetic", [(op, "this operation is needed")]
        )


# ---- one load ---------------------------------------------------------------------------------------


def _check_load(plan: Plan, load: LoadOp) -> None:
    reader = plan.uses.top(load)
    if (odd := odd_ancestor(load, reader)) is not None:
        raise plan.refusal("a load is inside an operation that is not known", [(odd, "this operation")])
    place = [(load, "this load reads it"), (plan.store, "the store is here")]
    order = {op: k for k, op in enumerate(plan.uses.block.walk())}
    instance = plan.instance(load.indices)
    if plan.part is not None and (reader is plan.nest or plan.forwards(load) or plan.nest is plan.store):
        raise plan.refusal("it is read where it is written, and two statements do that", place)
    if reader is not plan.nest and order[reader] < order[plan.nest]:
        raise plan.refusal("it is read before it is written", place)
    system = _system(reader, load)
    if _add_unwritten(system, plan, load, instance):
        raise plan.refusal("an element that is read may be one that the store does not write", place)
    if reader is plan.nest:
        system = _system(reader, load)
        common = common_loops(load, plan.store, reader)
        written = _at(system, instance)
        system.require(runs_before(common, _at(system), written, order[load] < order[plan.store]))
        if system.has_solution():
            raise plan.refusal("it is read before it is written", place)
    if plan.forwards(load):
        return
    for step in plan.steps:
        for source in accesses_of(step):
            _check_source(plan, load, source, order)


def _system(reader: Operation, load: LoadOp) -> System:
    """The instances of `load` whose values are needed, called `s`."""
    system = System(reader)
    describe_instance(system, load, "s")
    require_needed(system, load, "s")
    return system


def _at(system: System, instance: dict[SSAValue, AffineList] | None = None, name: str = "s"):
    """The moments of an instance: the loops' variables, or the expressions that stand for them."""

    def iteration(loop: ForOp) -> str:
        if instance is not None and loop.iv in instance:
            return system.expressions(instance[loop.iv], name)[0]
        return system.name(loop.iv, name)

    return iteration


def _add_unwritten(system: System, plan: Plan, load: LoadOp, instance: dict[SSAValue, AffineList]) -> bool:
    """Whether the store has no instance for some element that `load` needs."""
    failures = []
    for axis in range(len(load.indices)):
        written = substitute(plan.store.indices[axis], instance)
        difference = written.minus(load.indices[axis])
        if difference.constants() != (0,):
            failures.append(f"{system.expressions(difference, 's')[0]} != 0")
    for loop in plan.loops:
        position = instance[loop.iv]
        lower, upper = substitute(loop.lower, instance), substitute(loop.upper, instance)
        at = system.expressions(position, "s")[0]
        failures += [f"{at} < {bound}" for bound in system.expressions(lower, "s")]
        failures += [f"{at} >= {bound}" for bound in system.expressions(upper, "s")]
        if loop.step_value != 1:
            start = system.expressions(lower, "s")[0]
            failures.append(f"(({at}) - ({start})) mod {loop.step_value} != 0")
    if not failures:
        return False
    system.require(f"({' or '.join(failures)})")
    return system.has_solution()


def _check_source(plan: Plan, load: LoadOp, source: Access, order: dict[Operation, int]) -> None:
    """Refuse when what `source` reads for the store may be another value when `load` reads the result."""
    for write in writes_in(plan.uses.block):
        if (
            write.op in (plan.store, plan.part)
            or isinstance(write.op, BarrierOp)
            or not may_overlap(source, write)
        ):
            continue
        if _may_change(plan, load, source, write, order):
            raise plan.refusal(
                "an element that it is computed from may be written before it is read",
                [
                    (source.op, "it is computed from this element"),
                    (write.op, "this operation may write that"),
                    (load, "this load comes later"),
                ],
            )


def _may_change(plan: Plan, load: LoadOp, source: Access, write: Access, order: dict[Operation, int]) -> bool:
    """Whether `write` may touch the element of `source` after that is read for the store and before `load`."""
    reader, writer = plan.uses.top(load), plan.uses.top(write.op)
    if not order[plan.nest] <= order[writer] <= order[reader]:
        return False
    system = _system(reader, load)
    describe_instance(system, write.op, "t")
    require_domain(system, write, "t")
    instance = plan.instance(load.indices)
    require_same_element(system, source, _indices_at(plan, source, instance), write, ("s", "t"))
    if writer is plan.nest:
        common = common_loops(source.op, write.op, writer)
        after = order[source.op] < order[write.op]
        system.require(runs_before(common, _at(system, instance), _at(system, name="t"), after))
    if writer is reader:
        common = common_loops(write.op, load, writer)
        before = order[write.op] < order[load]
        system.require(runs_before(common, _at(system, name="t"), _at(system), before))
    return system.has_solution()


def _indices_at(plan: Plan, source: Access, instance: dict[SSAValue, AffineList]) -> AffineList | None:
    """The indices of `source` in an iteration of the nest; None where they are computed in it."""
    assert source.indices is not None
    for value in source.indices.operands:
        if value not in instance and not is_defined_outside(value, plan.nest):
            return None
    return substitute(source.indices, instance)


# ---- work that is done again ------------------------------------------------------------------------


def _check_duplicates(plan: Plan) -> None:
    """Refuse when some element would be computed more than once."""
    distinct: list[LoadOp] = []
    for load in plan.uses.loads:
        if not any(shares_value(other, load) for other in distinct):
            distinct.append(load)
    for load in distinct:
        again = [other for other in distinct if other is not load and _may_meet(plan, load, other)]
        loops = _repeating_loops(plan, load)
        if not again and not loops:
            continue
        trips = [loop.constant_trip_count() for loop in loops]
        count = len(again) + 1
        for trip in trips:
            count *= trip or 1
        each = "".join(
            f' in each iteration of "{loop.label}"'
            for loop, trip in zip(loops, trips, strict=True)
            if trip is None
        )
        times = f"up to {count} times" if count > 1 else "again"
        raise plan.refusal(
            f"its elements would be computed {times}{each}",
            [(op, "this load would compute one") for op in (load, *again)],
            hint="use duplicate=allow, or nest-compute-at",
        )


def _may_meet(plan: Plan, first: LoadOp, second: LoadOp) -> bool:
    """Whether two loads may read one element."""
    system = System(plan.uses.top(first))
    for load, instance in ((first, "s"), (second, "t")):
        describe_instance(system, load, instance)
        require_needed(system, load, instance)
    second_access = accesses_of(second)[0]
    require_same_element(system, accesses_of(first)[0], first.indices, second_access, ("s", "t"))
    return system.has_solution()


def _repeating_loops(plan: Plan, load: LoadOp) -> list[ForOp]:
    """The loops around `load` in two iterations of which it may read one element."""
    loops = [loop for loop in enclosing_loops(load) if is_inside(loop, plan.uses.top(load))]
    repeating = []
    for loop in loops:
        system = System(plan.uses.top(load))
        for instance in ("s", "t"):
            describe_instance(system, load, instance)
            require_needed(system, load, instance)
        access = accesses_of(load)[0]
        require_same_element(system, access, load.indices, access, ("s", "t"))
        for other in loops:
            relation = "!=" if other is loop else "="
            system.require(f"{system.name(other.iv, 's')} {relation} {system.name(other.iv, 't')}")
        if system.has_solution():
            repeating.append(loop)
    return repeating


def shares_value(first: LoadOp, second: LoadOp) -> bool:
    """Whether the value computed for `first` serves `second`, which comes later in the same block."""
    return first.parent is second.parent and first.indices == second.indices
