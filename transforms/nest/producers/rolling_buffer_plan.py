"""What nest-rolling-buffer leaves out: the producers and their window, the shorter loops, and the circular storage.

What is not new in an iteration is left out, and computed once before the loop for the first iteration. When that is
legal is in `rolling_buffer_checks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside
from ....analysis.nest.sets.coverage import Coverage
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.footprint import range_of
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.loop_bounds import refuse_several
from ....analysis.nest.sets.producers import (
    Uses,
    allocation_of,
    describe_instance,
    odd_ancestor,
    require_needed,
    top_in,
    uses_of,
)
from ....analysis.nest.sets.regions import NoWindow, Window, window_of
from ....analysis.nest.sets.rolling_window import (
    Part,
    RollingPlan,
    Statement,
    Storage,
    deny,
    instance_of,
    is_own,
    rolling_refusal,
)
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, StoreOp
from .rolling_buffer_checks import (
    check_complete,
    check_inputs,
    check_known,
    check_starts_anew,
    computes_again,
    moves,
)


def plan_rolling(buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage) -> RollingPlan:
    """What is left out of the producers; raises the refusal when that is not legal."""
    alloc = allocation_of(buffer, "roll")
    uses = uses_of(alloc, "roll")
    if (refusal := refuse_marked(loop, "roll a buffer in")) is not None:
        raise refusal
    if (refusal := refuse_several(loop, "roll a buffer in", "lower")) is not None:
        raise refusal
    _check_place(uses, loop)
    producers = _producers(uses, loop)
    needed = _needed(uses, loop, producers)
    window = window_of(loop, [access for op in uses.writes for access in accesses_of(op)])
    if isinstance(window, NoWindow):
        raise rolling_refusal(alloc, loop, window.reason, [(window.access.op, "this statement writes it")])
    refusals: list[NestorError] = []
    for axis in range(len(window.origin)):
        for grows in (True, False):
            plan = RollingPlan(uses, loop, producers, needed, window, axis, grows)
            if not moves(plan) or not computes_again(plan):
                continue
            try:
                return _completed(plan, storage)
            except NestorError as refusal:
                refusals.append(refusal)
    if refusals:
        raise refusals[0]
    raise rolling_refusal(
        alloc,
        loop,
        "no iteration computes what the one before has computed, in a window that moves one way",
        [(producers[-1], "it is computed here")],
    )


# ---- what is there ----------------------------------------------------------------------------------


def _check_place(uses: Uses, loop: ForOp) -> None:
    alloc = uses.alloc
    parent = uses.block.parent_op()
    assert parent is not None
    if parent is loop or not is_inside(loop, parent):
        raise rolling_refusal(
            alloc,
            loop,
            "the loop is not inside of the block that makes it",
            [(alloc, "the buffer is made here")],
            hint="compute it at the loop with storage=root: what an iteration has made is to be there in the next",
        )
    if (odd := odd_ancestor(loop, uses.top(loop))) is not None:
        raise rolling_refusal(
            alloc, loop, "the loop is inside an operation that is not known", [(odd, "this operation")]
        )


def _producers(uses: Uses, loop: ForOp) -> list[Operation]:
    """The operations of the loop's body that write the buffer; they are complete before anything reads it."""
    alloc, block = uses.alloc, loop.body.block
    for op in uses.writes:
        if not is_inside(op, loop):
            raise rolling_refusal(
                alloc, loop, "it is written outside of the loop", [(op, "this statement writes it")]
            )
    producers = list(dict.fromkeys(top_in(block, op) for op in uses.writes))
    if not producers:
        raise rolling_refusal(alloc, loop, "nothing writes it")
    for producer in producers:
        if not isinstance(producer, (ForOp, StoreOp, AccumulateOp)):
            raise rolling_refusal(
                alloc,
                loop,
                "what writes it is neither a nest nor a statement",
                [(producer, "it is written here")],
            )
        _check_producer(uses, loop, producer)
    for load in uses.loads:
        if not is_inside(load, loop):
            continue
        top = top_in(block, load)
        if top not in producers and top.is_before_in_block(producers[-1]):
            raise rolling_refusal(
                alloc,
                loop,
                "it is read before it is computed",
                [(load, "this load reads it"), (producers[-1], "it is computed here")],
            )
    return producers


def _check_producer(uses: Uses, loop: ForOp, producer: Operation) -> None:
    alloc = uses.alloc
    for inner in loops_in(producer):
        if (refusal := refuse_marked(inner, "roll")) is not None:
            raise refusal
    for op in producer.walk():
        if not op.regions and may_fail(op) is not None:  # pyright: ignore[reportArgumentType]
            raise rolling_refusal(alloc, loop, "its computation can fail", [(op, "this check can fail")])
        for access in accesses_of(op):
            if access.writes and access.root is not alloc.memref and not is_own(access, producer):
                raise rolling_refusal(
                    alloc,
                    loop,
                    "what writes it has other effects",
                    [(op, "this operation has another effect")],
                )
    writes = [op for op in uses.writes if is_inside(op, producer)]
    for load in (load for load in uses.loads if is_inside(load, producer)):
        for write in writes:
            if load.indices != write.indices:
                raise rolling_refusal(
                    alloc,
                    loop,
                    "its elements are computed from others of them",
                    [(load, "this load reads an element"), (write, "this statement writes another")],
                )


def _needed(uses: Uses, loop: ForOp, producers: Sequence[Operation]) -> list[Operation]:
    """What the producers use of the loop's body: the same in each iteration, and made before the loop as well."""
    block = loop.body.block
    found: set[Operation] = set()
    wanted = [
        (op, value) for producer in producers for op in producer.walk() for value in _fixed_operands(op)
    ]
    while wanted:
        op, value = wanted.pop()
        owner = value.owner
        if value is loop.iv:
            raise rolling_refusal(
                uses.alloc,
                loop,
                "what is computed depends on the iteration",
                [(op, "this operation uses it")],
            )
        if isinstance(owner, Block) or owner.parent is not block or owner in found or owner in producers:
            continue
        if not is_computation(owner) and not isinstance(owner, memref.DimOp):
            raise rolling_refusal(
                uses.alloc,
                loop,
                "what is computed uses a value of the iteration",
                [(op, "this operation uses it"), (owner, "the value is made here")],
            )
        found.add(owner)
        wanted += [(owner, operand) for operand in owner.operands]
    return [op for op in block.ops if op in found]


def _fixed_operands(op: Operation) -> Iterator[SSAValue]:
    """The operands that must not depend on the iteration: all but bounds and domains."""
    moving = set()
    if isinstance(op, ForOp):
        moving = {*op.lower.operands, *op.upper.operands}
    elif isinstance(op, (StoreOp, AccumulateOp)):
        moving = set(op.where.operands) if op.where is not None else set()
        moving -= {*op.indices.operands, *_values(op)}
    yield from (value for value in op.operands if value not in moving)
    # a value of the body that bounds use is made before the loop as well
    yield from (value for value in moving if not isinstance(value.owner, Block))


def _values(op: Statement) -> list[SSAValue]:
    values = [op.value] if isinstance(op, StoreOp) else list(op.values)
    return [*values, *([op.mask] if op.mask is not None else [])]


# ---- what is left out -------------------------------------------------------------------------------


def _completed(plan: RollingPlan, storage: Storage) -> RollingPlan:
    """The plan with its ranges; raises the refusal when it is not legal."""
    for op in plan.writes():
        check_known(plan, op)
    check_complete(plan)
    check_starts_anew(plan)
    new, known = plan.parts()
    _restrict(plan, plan.new, new, plan.is_new)
    _restrict(plan, plan.first, known, plan.is_known)
    check_inputs(plan)
    if storage == "whole":
        return plan
    return _circular(plan)


def _restrict(plan: RollingPlan, part: Part, window: Window, condition) -> None:
    """Find the iterations of the producers that write elements of the window."""
    for producer in plan.producers:
        for inner in loops_in(producer):
            writes = [op for op in plan.writes() if is_inside(op, inner)]
            if not writes or (found := range_of(window, inner, writes, plan.axis)) is None:
                continue
            _check_left_out(plan, inner)
            part.ranges[inner] = found
    for op in plan.writes():
        kept = condition(op.indices[plan.axis])
        system = instance_of(plan, op)
        for inner, by in part.ranges.items():
            if is_inside(op, inner):
                by.require(system, inner, "s")
        deny(system, kept)
        if not system.has_solution():
            continue
        part.domains[op] = kept
        for load in plan.uses.loads:
            if top_in(plan.loop.body.block, op) in plan.producers and is_inside(
                load, top_in(plan.loop.body.block, op)
            ):
                raise plan.refusal(
                    "some of its elements would be read and not be computed",
                    [(load, "this load reads an element"), (op, "this statement writes it")],
                )


def _check_left_out(plan: RollingPlan, inner: ForOp) -> None:
    if inner.step_value != 1:
        raise plan.refusal(
            f'the loop "{inner.label}" of the nest that writes it has a step',
            [(inner, "the loop is here")],
            hint="give the loop the step 1 before",
        )
    for access in (a for op in inner.walk() for a in accesses_of(op) if a.writes):
        root = access.root
        if root is not None and root is not plan.uses.alloc.memref and is_defined_outside(root, inner):
            raise plan.refusal(
                f'iterations of "{inner.label}" that are left out write what later ones may read',
                [(access.op, "this statement writes it")],
            )


# ---- circular storage -------------------------------------------------------------------------------


def _circular(plan: RollingPlan) -> RollingPlan:
    """The plan with the length of a buffer that holds the window of one iteration, and no more along the axis."""
    alloc, axis = plan.uses.alloc, plan.axis
    type_ = alloc.memref.type
    assert isinstance(type_, MemRefType)
    hint = "use storage=whole"
    extent = plan.window.extents[axis].constants()
    if extent is None:
        raise plan.refusal("the part that an iteration computes has no constant extent", hint=hint)
    length = max(1, extent[0])
    if 0 <= type_.get_shape()[axis] <= length:
        return plan
    if not isinstance(type_.layout, NoneAttr):
        raise plan.refusal("its layout is fixed, and a smaller buffer has another", hint=hint)
    for outer in enclosing_loops(plan.loop):
        if is_inside(outer, plan.uses.top(plan.loop)) and outer.kind not in ("serial", "unrolled"):
            raise plan.refusal(
                f'iterations of "{outer.label}" would share the few elements that are kept',
                [(outer, "the loop is marked here")],
                hint=hint,
            )
    _check_readers(plan, length, hint)
    return RollingPlan(
        plan.uses,
        plan.loop,
        plan.producers,
        plan.needed,
        plan.window,
        axis,
        plan.grows,
        plan.new,
        plan.first,
        length,
    )


def _check_readers(plan: RollingPlan, length: int, hint: str) -> None:
    coverage = Coverage(plan.loop)
    stores = [a for op in plan.writes() if isinstance(op, StoreOp) for a in accesses_of(op)]
    low = plan.end.add(-length) if plan.grows else plan.origin
    for load in plan.readers():
        if not is_inside(load, plan.loop):
            raise plan.refusal("it is read outside of the loop", [(load, "this load reads it")], hint=hint)
        for bound in (
            load.indices[plan.axis].minus(low),
            low.add(length - 1).minus(load.indices[plan.axis]),
        ):
            system = System(plan.loop)
            describe_instance(system, load, "s")
            require_needed(system, load, "s")
            deny(system, bound)
            if system.has_solution():
                raise plan.refusal(
                    "an element that is read may not be kept any more",
                    [(load, "this load reads it")],
                    hint=hint,
                )
        if plan.uses.block is plan.loop.parent:
            continue
        if not coverage.written_before(accesses_of(load)[0], stores):
            raise plan.refusal(
                "an element that is read may be one that another run of the loop has computed",
                [(load, "this load reads it")],
                hint=hint,
            )
