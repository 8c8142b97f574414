"""Whether nest-rolling-buffer may leave out what is not new: the buffer must hold already what would be computed again."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.accesses import READ, Access, accesses_of, may_overlap
from ....analysis.nest.sets.coverage import Coverage
from ....analysis.nest.sets.integer_sets import System, difference
from ....analysis.nest.sets.producers import describe_instance, require_domain, require_same_element, top_in
from ....analysis.nest.sets.rolling_window import (
    RollingPlan,
    Statement,
    deny,
    describe_accesses,
    instance_of,
    is_own,
    require,
    require_later,
)
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, StoreOp


def moves(plan: RollingPlan) -> bool:
    """Whether the window moves along the axis, and never the other way."""
    now = plan.end if plan.grows else plan.origin.times(-1)
    distance = now.minus(plan.before(now))
    if (numbers := distance.constants()) is not None:
        return numbers[0] > 0
    system = instance_of(plan, plan.producers[0])
    require_later(plan, system)
    deny(system, distance)
    return not system.has_solution()


def computes_again(plan: RollingPlan) -> bool:
    """Whether some element is not new in a later iteration."""
    for op in plan.writes():
        system = instance_of(plan, op)
        require_later(plan, system)
        require(system, plan.is_known(op.indices[plan.axis]))
        if system.has_solution():
            return True
    return False


def conditions_of(plan: RollingPlan, op: Statement) -> Iterator[tuple[AffineList, Operation]]:
    """What is not negative where `op` runs, as far as that depends on the iteration of the loop."""
    for inner in (
        loop for loop in enclosing_loops(op) if loop is not plan.loop and is_inside(loop, plan.loop)
    ):
        variable = AffineList.of(inner.iv)
        for k in range(len(inner.lower)):
            yield variable.minus(inner.lower[k]), inner
        for k in range(len(inner.upper)):
            yield inner.upper[k].minus(variable).add(-1), inner
    if op.where is not None:
        for k in range(len(op.where)):
            yield op.where[k], op


def check_known(plan: RollingPlan, op: Statement) -> None:
    """Refuse unless what is left out has run in the iteration before."""
    iv = plan.loop.iv
    for inner in (
        loop for loop in enclosing_loops(op) if is_inside(loop, plan.loop) and loop is not plan.loop
    ):
        if inner.step_value != 1 and iv in inner.lower.operands:
            raise plan.refusal(f'the loop "{inner.label}" has a step', [(inner, "the loop is here")])
    for condition, place in conditions_of(plan, op):
        if iv not in condition.operands:
            continue
        system = instance_of(plan, op)
        require_later(plan, system)
        require(system, plan.is_known(op.indices[plan.axis]))
        deny(system, plan.before(condition))
        if system.has_solution():
            raise plan.refusal(
                "an element that is not new may not have been computed in the iteration before",
                [(op, "this statement writes it"), (place, "here it may be left out")],
            )


def check_complete(plan: RollingPlan) -> None:
    """Refuse when the iteration before has done more to an element that is not new than this one would do."""
    iv, step = plan.loop.iv, plan.loop.step_value
    for other in plan.writes():
        conditions = [c for c, _ in conditions_of(plan, other) if iv in c.operands]
        for op in plan.writes() if conditions else ():
            for condition in conditions:
                system = instance_of(plan, op)
                describe_accesses(system, other, "t")
                require_later(plan, system)
                require(system, plan.is_known(op.indices[plan.axis]))
                now, then = system.variable(iv, "s"), system.variable(iv, "t")
                system.require_zero(difference(now, then, -step))
                for first, second in zip(accesses_of(op), accesses_of(other), strict=False):
                    require_same_element(system, first, op.indices, second, ("s", "t"))
                deny(system, condition.substitute(iv, AffineList.of(iv).add(step)), "t")
                if system.has_solution():
                    raise plan.refusal(
                        "the iteration before may compute another value for an element that is not new",
                        [(op, "this statement writes it"), (other, "it may be written here as well")],
                    )


def check_starts_anew(plan: RollingPlan) -> None:
    """Refuse when computing an element again starts from its old value."""
    stores = [a for op in plan.writes() if isinstance(op, StoreOp) for a in accesses_of(op)]
    own = [op for op in plan.uses.loads if op not in plan.readers()]
    coverage = Coverage(plan.loop)
    for op in (*(op for op in plan.writes() if isinstance(op, AccumulateOp)), *own):
        for access in accesses_of(op):
            if access.buffer is plan.uses.alloc.memref and not coverage.written_before(access, stores):
                raise plan.refusal(
                    "an element may be computed from its value of the iteration before",
                    [(op, "this operation uses the element before it is written")],
                )


def check_inputs(plan: RollingPlan) -> None:
    """Refuse when what the producers read may be written between two iterations that compute an element."""
    block = plan.loop.body.block
    others = [op for op in block.ops if op not in plan.producers]
    writes = [a for top in others for op in top.walk() for a in accesses_of(op) if a.writes]
    for producer in plan.producers:
        for read in (a for op in producer.walk() for a in accesses_of(op) if a.kind == READ):
            if read.root is plan.uses.alloc.memref or is_own(read, producer):
                continue
            for write in writes:
                if may_overlap(read, write) and _may_change(plan, producer, read, write):
                    raise plan.refusal(
                        "an element that it is computed from may be written by the loop",
                        [(read.op, "this load reads the element"), (write.op, "this operation may write it")],
                    )


def _may_change(plan: RollingPlan, producer: Operation, read: Access, write: Access) -> bool:
    system = System(plan.loop)
    describe_instance(system, read.op, "s")
    describe_instance(system, write.op, "t")
    require_domain(system, write, "t")
    require_same_element(system, read, read.indices, write, ("s", "t"))
    now, then = (system.variable(plan.loop.iv, instance) for instance in ("s", "t"))
    if top_in(plan.loop.body.block, write.op).is_before_in_block(producer):
        system.require_zero(difference(now, then))
    else:
        system.require_zero(difference(now, then, -plan.loop.step_value))
        for inner, by in plan.first.ranges.items():
            if is_inside(read.op, inner):
                by.require(system, inner, "s")
    return system.has_solution()
