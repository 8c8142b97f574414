"""nest-reverse-compute-at: use what an iteration of a loop has made at the end of that iteration.

    nest.for "o" %o = 0 to %n ceildiv 16 {
      nest.for "i" %i = 0 to min(16, %n - 16 * %o) {
        ... nest.store "t" %b, %t[16 * %o + %i]
      }
    }
    nest.for "j" %j = 0 to %n {
      ... nest.load %t[%j] ... nest.store "y" %c, %y[%j]
    }

becomes with consumer=j, loop=o

    nest.for "o" %o = 0 to %n ceildiv 16 {
      nest.for "i" %i = 0 to min(16, %n - 16 * %o) {
        ... nest.store "t" %b, %t[16 * %o + %i]
      }
      nest.for "j.at" %j = 16 * %o to min(%n, 16 * %o + 16) {
        ... nest.load %t[%j] ... nest.store "y" %c, %y[%j]
      }
    }

The consumer is a whole nest; its loops take the iterations that read the part of a buffer which the iteration of
the loop writes. A store between the nests to what only the consumer uses, as to a sum before it is added up, moves before
the loop. Refused unless each instance of the consumer runs exactly once so, everything that it touches
is complete by then, and neither nest can fail. `reverse_compute_at` in TVM; Halide says it as `compute_at` with the roles
exchanged, Exo as `fuse`, and NNC as `fuseLoops` of loops with the same bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import (
    Access,
    accesses_in,
    accesses_of,
    is_defined_outside,
    is_private_to,
    may_overlap,
)
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.footprint import Range, range_of, shortened
from ....analysis.nest.sets.integer_sets import System, difference
from ....analysis.nest.sets.producers import (
    common_loops,
    describe_instance,
    require_domain,
    require_same_element,
    runs_before,
    top_in,
)
from ....analysis.nest.sets.regions import NoWindow, window_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.loops import fresh_names


def why_not_reverse_compute_at(consumer: ForOp, loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to run the consumer at the loop, None when it is legal."""
    try:
        _plan(consumer, loop)
    except NestorError as refusal:
        return refusal
    return None


def reverse_compute_at(consumer: ForOp, loop: ForOp) -> ForOp:
    """Run, at the end of each iteration of `loop`, the iterations of `consumer` that use what it has made.

    Returns the consumer, which is moved there. Raises the diagnostic of `why_not_reverse_compute_at`.
    """
    plan = _plan(consumer, loop)
    bounds = {
        inner: shortened(inner, by, lambda e: _never_negative(plan, e)) for inner, by in plan.ranges.items()
    }
    for op in plan.needed:
        op.detach()
        plan.block.insert_op_before(op, plan.producer)
    consumer.detach()
    loop.body.block.add_op(consumer)
    for inner, (lower, upper) in bounds.items():
        inner.set_bounds(lower, upper)
    for inner in loops_in(consumer):
        inner.set_label(fresh_names(inner, f"{inner.label}.at")[0])
    return consumer


@dataclass(frozen=True, eq=False)
class _Plan:
    """A nest that moves into `loop` of another one of the same block, and the new bounds of its loops.

    `chain` are the loops of the producer around the new place, outermost first; `needed` are the operations between
    the nests that the consumer needs, or that start what it updates, and that move before the producer.
    """

    consumer: ForOp
    loop: ForOp
    producer: Operation
    chain: list[ForOp]
    needed: list[Operation] = field(default_factory=list)
    ranges: dict[ForOp, Range] = field(default_factory=dict)

    @property
    def block(self) -> Block:
        block = self.consumer.parent
        assert block is not None
        return block

    def refusal(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        message = f'cannot run the loop "{self.consumer.label}" at the loop "{self.loop.label}": {reason}'
        return fail(self.consumer, message, hint=hint, notes=notes)

    def system(self) -> System:
        """Iteration `s` of the loop, within one run of the block."""
        system = System(self.producer, self.consumer)
        for outer in (*enclosing_loops(self.loop), self.loop):
            system.name(outer.iv, "s")
        return system


def _plan(consumer: ForOp, loop: ForOp) -> _Plan:
    """What is to be moved; raises the refusal when that is not legal."""
    block = consumer.parent
    assert block is not None
    if not _is_below(loop, block) or is_inside(loop, consumer):
        raise _Plan(consumer, loop, loop, []).refusal(
            "the loop is not in another nest of the same block", [(loop, "the loop is here")]
        )
    producer = top_in(block, loop)
    chain = [o for o in (*enclosing_loops(loop), loop) if is_inside(o, producer)]
    plan = _Plan(consumer, loop, producer, chain)
    _check_nests(plan)
    _find_needed(plan)
    loads = _loads(plan)
    if not loads:
        raise plan.refusal("it reads nothing that the loop writes", [(loop, "the loop is here")])
    refusals = []
    for load in loads:
        plan.ranges.clear()
        refusal = _restrict(plan, load) or _why_not_once(plan) or _why_not_ordered(plan)
        if refusal is None:
            return plan
        refusals.append(refusal)
    raise refusals[0]


def _is_below(op: Operation, block: Block) -> bool:
    """Whether `op` is in `block`, or below an operation of it."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current is not None


def _check_nests(plan: _Plan) -> None:
    if not plan.producer.is_before_in_block(plan.consumer):
        raise plan.refusal("the loop comes after it", [(plan.loop, "the loop is here")])
    around: Operation = plan.loop
    while around is not plan.producer:
        parent = around.parent_op()
        assert parent is not None
        if not isinstance(parent, ForOp):
            raise plan.refusal("the loop does not run in every iteration", [(parent, "it is inside of this")])
        around = parent
    for outer in plan.chain:
        if outer.kind not in ("serial", "unrolled", "parallel"):
            raise plan.refusal(
                f'the loop "{outer.label}" is {outer.kind} already',
                [(outer, "the loop is marked here")],
                hint="move the consumer before marking the loop",
            )
    for inner in loops_in(plan.consumer):
        if (refusal := refuse_marked(inner, "move")) is not None:
            raise refusal
    for nest in (plan.producer, plan.consumer):
        if (op := may_fail(nest)) is not None:  # pyright: ignore[reportArgumentType]
            raise plan.refusal(
                "an error must leave behind what it does in program order", [(op, "this check can fail")]
            )


def _find_needed(plan: _Plan) -> None:
    """The operations between the nests that the consumer needs: they must be movable as well."""
    between = _between(plan)
    wanted = {value.owner for op in plan.consumer.walk() for value in op.operands}
    for op in reversed(between):
        starts = isinstance(op, StoreOp) and _may_go_first(plan, op)
        if op not in wanted and not starts:
            continue
        if not starts and not isinstance(op, (AllocOp, memref.DimOp)) and not is_computation(op):
            raise plan.refusal("it uses what is computed after the loop", [(op, "this operation is needed")])
        plan.needed.insert(0, op)
        wanted |= {value.owner for value in op.operands}


def _may_go_first(plan: _Plan, store: StoreOp) -> bool:
    """Whether the consumer uses what is stored between the nests, and nothing that the store would overtake does."""
    ops = list(plan.block.ops)
    overtaken = [a for op in ops[ops.index(plan.producer) : ops.index(store)] for a in accesses_in(op)]
    computed = {value.owner for value in store.operands if isinstance(value.owner, Operation)}
    if any(
        op in computed and not isinstance(op, AllocOp) and not is_computation(op) for op in _between(plan)
    ):
        return False
    written = accesses_of(store)
    return any(_conflicts(written, accesses_in(plan.consumer))) and not any(_conflicts(overtaken, written))


def _between(plan: _Plan) -> list[Operation]:
    ops = list(plan.block.ops)
    return ops[ops.index(plan.producer) + 1 : ops.index(plan.consumer)]


def _loads(plan: _Plan) -> list[LoadOp]:
    """The loads of the consumer from buffers that the loop writes; any may decide what runs in an iteration."""
    written = {a.buffer for a in accesses_in(plan.loop) if a.writes}
    return [op for op in plan.consumer.walk() if isinstance(op, LoadOp) and op.memref in written]


# ---- which iterations run where ---------------------------------------------------------------------


def _restrict(plan: _Plan, load: LoadOp) -> NestorError | None:
    """Find the new bounds that keep the iterations in which `load` reads what an iteration of the loop writes."""
    part = window_of(plan.loop, [a for a in accesses_in(plan.loop) if a.writes and a.buffer is load.memref])
    if isinstance(part, NoWindow):
        return plan.refusal(part.reason, [(part.access.op, "this statement writes the part")])
    for inner in _loops_of(plan, load):
        for axis in range(len(part.origin)):
            found = range_of(part, inner, [load], axis)
            if found is None or _is_within(plan, inner, found):
                continue
            if inner.step_value != 1:
                return plan.refusal(f'the loop "{inner.label}" has a step', [(inner, "the loop is here")])
            plan.ranges.setdefault(inner, Range()).extend(found)
    return None


def _is_within(plan: _Plan, inner: ForOp, found: Range) -> bool:
    """Whether the loop runs whole in each iteration anyway."""
    variable = AffineList.of(inner.iv)
    gaps = [variable.minus(lower) for lower in found.lowers]
    gaps += [upper.minus(variable).add(-1) for upper in found.uppers]
    return all(_never_negative(plan, gap) for gap in gaps)


def _never_negative(plan: _Plan, expression: AffineList) -> bool:
    """Whether a one-expression list is >= 0 wherever the consumer runs in its new place."""
    if (numbers := expression.constants()) is not None:
        return numbers[0] >= 0
    system = plan.system()
    system.require_not_negative(difference({}, system.linear(expression, "s")[0], -1))
    return not system.has_solution()


def _why_not_once(plan: _Plan) -> NestorError | None:
    """The refusal when some iteration of the consumer would run in no iteration of the loop, or in several."""
    variables = {loop.iv for loop in (*plan.chain, *loops_in(plan.consumer))}
    bounds = [e for by in plan.ranges.values() for e in (*by.lowers, *by.uppers)]
    bounds += [e for outer in plan.chain for e in (outer.lower, outer.upper)]
    fixed = list(dict.fromkeys(v for e in bounds for v in e.operands if v not in variables))
    if not all(is_defined_outside(value, plan.producer) for value in fixed):
        return plan.refusal("a bound is computed in the nest of the loop", [(plan.loop, "the loop is here")])
    around = dict.fromkeys(tuple(_loops_of(plan, a.op)) for a in accesses_in(plan.consumer) if a.writes)
    for loops in around:
        place = [(loops[-1], "the iterations of this loop"), (plan.loop, "the loop is here")]
        if not _covers(plan, loops, fixed):
            return plan.refusal("some of its iterations would run in no iteration of the loop", place)
        if not _is_disjoint(plan, loops):
            return plan.refusal("some of its iterations would run in several iterations of the loop", place)
    return None


def _loops_of(plan: _Plan, op: Operation) -> list[ForOp]:
    """The loops of the consumer around `op`."""
    return [loop for loop in enclosing_loops(op) if is_inside(loop, plan.consumer)]


def _covers(plan: _Plan, loops: Sequence[ForOp], fixed: Sequence[SSAValue]) -> bool:
    """Whether each iteration of `loops` is kept in some iteration of the chain."""
    import islpy

    system = System(plan.producer, plan.consumer)
    for loop in (*enclosing_loops(plan.consumer), *loops):
        system.name(loop.iv, "s")
    for value in fixed:
        system.name(value, "s")
    every = system.solution_set()
    size = every.dim(islpy.dim_type.set)
    for outer in plan.chain:
        system.name(outer.iv, "s")
    for loop in loops:
        if loop in plan.ranges:
            plan.ranges[loop].require(system, loop, "s")
    kept = system.solution_set()
    kept = kept.project_out(islpy.dim_type.set, size, kept.dim(islpy.dim_type.set) - size)
    return bool(every.subtract(kept).is_empty())


def _is_disjoint(plan: _Plan, loops: Sequence[ForOp]) -> bool:
    """Whether each iteration of `loops` is kept in one iteration of the chain at most."""
    system = System(plan.producer, plan.consumer)
    for instance in ("s", "t"):
        for loop in (*enclosing_loops(plan.consumer), *loops, *plan.chain):
            system.name(loop.iv, instance)
        for loop in loops:
            if loop in plan.ranges:
                plan.ranges[loop].require(system, loop, instance)
    for loop in loops:
        system.require_zero(difference(system.variable(loop.iv, "s"), system.variable(loop.iv, "t")))
    pairs = [(system.name(outer.iv, "s"), system.name(outer.iv, "t")) for outer in plan.chain]
    system.require(f"({' or '.join(f'{a} != {b}' for a, b in pairs)})")
    return not system.has_solution()


# ---- order ------------------------------------------------------------------------------------------


def _why_not_ordered(plan: _Plan) -> NestorError | None:
    """The refusal when two accesses to one element, one of them a write, would run the other way round."""
    order = {op: k for k, op in enumerate(plan.block.walk())}
    mine = [a for a in accesses_in(plan.consumer) if not is_private_to(a, plan.consumer)]
    between = [op for op in _between(plan) if op not in plan.needed]
    before = [a for op in (plan.producer, *between) for a in accesses_in(op)]
    for other, access in _conflicts(before, mine):
        if _runs_later(plan, other, access, order):
            return plan.refusal(
                "something that runs before it would run after it",
                [(other.op, "this access"), (access.op, "touches an element of this one")],
            )
    for first, second in _conflicts(mine, mine):
        if not _commute(plan, first, second) and _turns_around(plan, first, second, order):
            return plan.refusal(
                "its own iterations would run in another order",
                [(first.op, "this access"), (second.op, "touches an element of this one")],
            )
    return None


def _conflicts(firsts: Sequence[Access], seconds: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    for first in firsts:
        for second in seconds:
            if (first.writes or second.writes) and may_overlap(first, second):
                yield first, second


def _commute(plan: _Plan, first: Access, second: Access) -> bool:
    """Whether the two are one reduction in any order, in loops that run one iteration after the other."""
    op = first.op
    return (
        op is second.op
        and isinstance(op, AccumulateOp)
        and op.order_name == "any"
        and all(outer.kind != "parallel" for outer in plan.chain)
    )


def _require_moved(plan: _Plan, system: System, access: Access, instance: str) -> None:
    """An instance of an access of the consumer, in an iteration of the chain that keeps it."""
    describe_instance(system, access.op, instance)
    require_domain(system, access, instance)
    for outer in plan.chain:
        system.name(outer.iv, instance)
    for inner in _loops_of(plan, access.op):
        if inner in plan.ranges:
            plan.ranges[inner].require(system, inner, instance)


def _runs_later(plan: _Plan, other: Access, access: Access, order: dict[Operation, int]) -> bool:
    """Whether `other`, of the producer or between the nests, may touch an element after `access` does."""
    system = System(plan.producer, plan.consumer)
    _require_moved(plan, system, access, "s")
    describe_instance(system, other.op, "t")
    require_domain(system, other, "t")
    require_same_element(system, access, access.indices, other, ("s", "t"))
    if is_inside(other.op, plan.producer):
        common = [outer for outer in plan.chain if is_inside(other.op, outer)]
        behind = not is_inside(other.op, plan.loop) and order[other.op] > order[plan.loop]
        system.require(
            runs_before(common, lambda o: system.name(o.iv, "s"), lambda o: system.name(o.iv, "t"), behind)
        )
    return system.has_solution()


def _turns_around(plan: _Plan, first: Access, second: Access, order: dict[Operation, int]) -> bool:
    """Whether `first` touches an element before `second` does, and would do so after it."""
    system = System(plan.producer, plan.consumer)
    _require_moved(plan, system, first, "s")
    _require_moved(plan, system, second, "t")
    require_same_element(system, first, first.indices, second, ("s", "t"))
    common = common_loops(first.op, second.op, plan.consumer)
    text = order[first.op] < order[second.op]
    system.require(
        runs_before(common, lambda o: system.name(o.iv, "s"), lambda o: system.name(o.iv, "t"), text)
    )
    system.require(
        runs_before(plan.chain, lambda o: system.name(o.iv, "t"), lambda o: system.name(o.iv, "s"), False)
    )
    return system.has_solution()
