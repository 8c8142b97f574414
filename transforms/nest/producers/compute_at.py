"""nest-compute-at: compute, in each iteration of a loop, just the part of a buffer that the iteration reads.

    nest.for "i" %i = 0 to %n {
      ... nest.store "t" %b, %t[%i]
    }
    nest.for "o" %o = 0 to %n floordiv 16 {
      nest.for "j" %j = 0 to 16 {
        ... nest.load %t[16 * %o + %j] ... nest.load %t[16 * %o + %j + 1] ...
      }
    }

becomes with loop=o

    nest.for "o" %o = 0 to %n floordiv 16 {
      nest.for "i.at" %i = 16 * %o to min(%n, 16 * %o + 17) {
        ... nest.store "t" %b, %t[%i]
      }
      nest.for "j" %j = 0 to 16 { ... }
    }

and with storage=here the buffer is made in the loop, of the size of that part:

    nest.for "o" %o = 0 to %n floordiv 16 {
      %t = nest.alloc "t" : memref<17xf32>
      nest.for "i.at" %i = 16 * %o to min(%n, 16 * %o + 17) {
        ... nest.store "t" %b, %t[%i - 16 * %o]
      }
      nest.for "j" %j = 0 to 16 {
        ... nest.load %t[%j] ... nest.load %t[%j + 1] ...
      }
    }

The producer is the nest that writes the buffer, with the nest or store that initialises it when there is one
(a reduction). Elements that several iterations read are computed by each of them. Refused unless all reads are
inside of the loop, the producer writes nothing else and cannot fail, what it reads is not written in between,
and the part is a box with affine bounds. Called `compute_at` in Halide (storage is its `store_at`) and TVM,
`computeAt` in NNC; in Exo it takes `fuse` and `stage_mem`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import (
    READ,
    Access,
    accesses_of,
    is_defined_outside,
    is_private_to,
    may_overlap,
)
from ....analysis.nest.sets.footprint import Range, range_of, shortened
from ....analysis.nest.sets.integer_sets import System, difference
from ....analysis.nest.sets.producers import (
    Uses,
    allocation_of,
    common_loops,
    describe_instance,
    odd_ancestor,
    require_domain,
    require_same_element,
    runs_before,
    top_in,
    uses_of,
    writes_in,
)
from ....analysis.nest.sets.regions import NoWindow, Window, window_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import add_domain, fresh_names
from ..rewrite.sizes import reallocate, replace

Storage = Literal["root", "here"]


def why_not_compute_at(
    buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage = "root"
) -> NestorError | None:
    """The diagnostic that refuses to compute the buffer at the loop, None when it is legal."""
    try:
        _plan(buffer, loop, storage)
    except NestorError as refusal:
        return refusal
    return None


def compute_at(
    buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage = "root"
) -> tuple[Operation, Operation | None]:
    """Compute in each iteration of `loop` the part of `buffer` that it reads.

    Returns the producer, which is moved there, and what initialises the buffer when that is a nest or store of
    its own. With storage="here" the buffer is replaced by one in the loop. Raises the diagnostic of
    `why_not_compute_at`.
    """
    plan = _plan(buffer, loop, storage)
    bounds = {
        inner: shortened(inner, by, lambda e: _never_negative(plan, e)) for inner, by in plan.ranges.items()
    }
    for op, constraints in plan.domains.items():
        add_domain(op, constraints)
    if storage == "here":
        _move_storage(plan)
    block = loop.body.block
    for producer in plan.producers:
        producer.detach()
        block.insert_op_before(producer, plan.anchor)
    for inner, (lower, upper) in bounds.items():
        inner.set_bounds(lower, upper)
    for producer in plan.producers:
        for inner in loops_in(producer):
            inner.set_label(fresh_names(inner, f"{inner.label}.at")[0])
    *first, last = plan.producers
    return last, first[0] if first else None


# ---- what is moved ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Plan:
    """The producers of a buffer, the part of it that an iteration of `loop` reads, and what follows from it.

    `anchor` is the operation of the loop's body that reads first; `ranges` are the producers' loops that become
    shorter, `domains` what is added to the domains of statements.
    """

    uses: Uses
    loop: ForOp
    consumer: Operation
    producers: list[Operation]
    anchor: Operation
    part: Window
    ranges: dict[ForOp, Range] = field(default_factory=dict)
    domains: dict[StoreOp | AccumulateOp, AffineList] = field(default_factory=dict)

    def refusal(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        return _refusal(self.uses.alloc, self.loop, reason, notes, hint)


def _refusal(
    alloc: AllocOp,
    loop: ForOp,
    reason: str,
    notes: Sequence[tuple[Operation, str]] = (),
    hint: str | None = None,
):
    message = f'cannot compute the buffer "{alloc.label.data}" at the loop "{loop.label}": {reason}'
    return fail(loop, message, hint=hint, notes=notes)


def _plan(buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage) -> _Plan:
    """What is to be moved; raises the refusal when that is not legal."""
    alloc = allocation_of(buffer, "move")
    uses = uses_of(alloc, "move")
    parent = uses.block.parent_op()
    if parent is None or parent is loop or not is_inside(loop, parent):
        raise _refusal(
            alloc,
            loop,
            "the loop is not inside of the block that makes it",
            [(alloc, "the buffer is made here")],
        )
    consumer = uses.top(loop)
    producers = _producers(uses, loop, consumer)
    readers = _readers(uses, loop, producers)
    _check_loops(uses, loop, consumer, storage)
    part = window_of(loop, [access for load in readers for access in accesses_of(load)])
    if isinstance(part, NoWindow):
        raise _refusal(alloc, loop, part.reason, [(part.access.op, "this load reads it")])
    anchor = top_in(loop.body.block, readers[0])
    plan = _Plan(uses, loop, consumer, producers, anchor, part)
    for producer in producers:
        _check_producer(plan, producer)
    _restrict(plan)
    for producer in producers:
        _check_inputs(plan, producer)
    if storage == "here" and not isinstance(alloc.memref.type.layout, NoneAttr):  # pyright: ignore
        raise plan.refusal("its layout is fixed, and a smaller buffer has another")
    return plan


def _producers(uses: Uses, loop: ForOp, consumer: Operation) -> list[Operation]:
    """The operations of the buffer's block that write it."""
    alloc = uses.alloc
    producers = list(dict.fromkeys(uses.top(op) for op in uses.writes))
    if not producers:
        raise _refusal(alloc, loop, "nothing writes it")
    if len(producers) > 2:
        notes = [(op, "it is written here") for op in producers]
        raise _refusal(alloc, loop, f"it is written by {len(producers)} nests", notes)
    for producer in producers:
        place = [(producer, "it is written here")]
        if producer is consumer:
            raise _refusal(alloc, loop, "the loop is in the nest that writes it", place)
        if not isinstance(producer, (ForOp, StoreOp, AccumulateOp)):
            raise _refusal(alloc, loop, "what writes it is neither a nest nor a statement", place)
        if not producer.is_before_in_block(consumer):
            raise _refusal(alloc, loop, "it is written after the loop", place)
    return producers


def _readers(uses: Uses, loop: ForOp, producers: Sequence[Operation]) -> list[LoadOp]:
    """The loads inside of the loop, which are all but those of the producers themselves."""
    readers = []
    for load in uses.loads:
        if uses.top(load) in producers:
            continue
        if not is_inside(load, loop):
            raise _refusal(
                uses.alloc,
                loop,
                "it is read outside of the loop as well",
                [(load, "this load is not in the loop")],
            )
        if (odd := odd_ancestor(load, loop)) is not None:
            raise _refusal(
                uses.alloc, loop, "a load is inside an operation that is not known", [(odd, "this operation")]
            )
        readers.append(load)
    if not readers:
        raise _refusal(uses.alloc, loop, "nothing in the loop reads it")
    return readers


def _check_loops(uses: Uses, loop: ForOp, consumer: Operation, storage: Storage) -> None:
    if (odd := odd_ancestor(loop, consumer)) is not None:
        raise _refusal(
            uses.alloc, loop, "the loop is inside an operation that is not known", [(odd, "this operation")]
        )
    for outer in (o for o in (*enclosing_loops(loop), loop) if is_inside(o, consumer)):
        if outer.kind == "parallel" and storage == "root":
            raise _refusal(
                uses.alloc,
                loop,
                f'iterations of "{outer.label}" run in parallel and would write the same elements',
                [(outer, "the loop is marked here")],
                hint="use storage=here, or mark the loop afterwards",
            )
        if outer.kind not in ("serial", "unrolled", "parallel"):
            raise _refusal(
                uses.alloc,
                loop,
                f'the loop "{outer.label}" is {outer.kind} already',
                [(outer, "the loop is marked here")],
                hint="compute the buffer there before marking the loop",
            )


def _check_producer(plan: _Plan, producer: Operation) -> None:
    buffer = plan.uses.alloc.memref
    for inner in loops_in(producer):
        if (refusal := refuse_marked(inner, "move")) is not None:
            raise refusal
    for op in producer.walk():
        if may_fail_here(op):
            raise plan.refusal("its computation can fail", [(op, "this check can fail")])
        for access in accesses_of(op):
            if access.writes and access.root is not buffer and not is_private_to(access, producer):
                raise plan.refusal(
                    "the nest that writes it has other effects", [(op, "this operation has another effect")]
                )
    writes = [op for op in plan.uses.writes if is_inside(op, producer)]
    for load in (load for load in plan.uses.loads if is_inside(load, producer)):
        for write in writes:
            if load.indices != write.indices:
                raise plan.refusal(
                    "its elements are computed from others of them",
                    [(load, "this load reads an element"), (write, "this statement writes another")],
                )


def may_fail_here(op: Operation) -> bool:
    """Whether `op` itself can stop the kernel."""
    return not op.regions and may_fail(op) is not None  # pyright: ignore[reportArgumentType]


# ---- shorter loops ----------------------------------------------------------------------------------


def _restrict(plan: _Plan) -> None:
    """Find the iterations of the producers that write a part of the buffer which is read.

    Loops are made shorter; what they leave over is taken out by the domains of the statements.
    """
    for producer in plan.producers:
        for inner in loops_in(producer):
            writes = [op for op in plan.uses.writes if is_inside(op, inner)]
            for axis in range(len(plan.part.origin)):
                if writes and (found := range_of(plan.part, inner, writes, axis)) is not None:
                    _add_range(plan, inner, found)
    for op in plan.uses.writes:
        constraints = [c for c in _within(plan, op) if not _holds(plan, op, c)]
        if not constraints:
            continue
        plan.domains[op] = AffineList.of(*constraints)
        for load in plan.uses.loads:
            if plan.uses.top(load) is plan.uses.top(op):
                raise plan.refusal(
                    "some of its elements would be read and not be computed",
                    [(load, "this load reads an element"), (op, "this statement writes it")],
                )


def _within(plan: _Plan, op: StoreOp | AccumulateOp) -> Iterator[AffineList]:
    """What is not negative where `op` writes an element of the part."""
    for axis in range(len(plan.part.origin)):
        distance = op.indices[axis].minus(plan.part.origin[axis])
        yield distance
        yield plan.part.extents[axis].minus(distance).add(-1)


def _holds(plan: _Plan, op: StoreOp | AccumulateOp, constraint: AffineList) -> bool:
    """Whether a constraint holds wherever `op` runs in its new place."""
    system = System(plan.consumer)
    describe_instance(system, plan.anchor, "s")
    describe_instance(system, op, "s")
    for inner in (loop for loop in plan.ranges if is_inside(op, loop)):
        plan.ranges[inner].require(system, inner, "s")
    system.require_not_negative(difference({}, system.linear(constraint, "s")[0], -1))
    return not system.has_solution()


def _add_range(plan: _Plan, inner: ForOp, found: Range) -> None:
    if inner.step_value != 1:
        raise plan.refusal(
            f'the loop "{inner.label}" of the nest that writes it has a step',
            [(inner, "the loop is here")],
            hint="give the loop the step 1 before",
        )
    buffer = plan.uses.alloc.memref
    for access in (a for op in inner.walk() for a in accesses_of(op) if a.writes):
        root = access.root
        if root is not None and root is not buffer and is_defined_outside(root, inner):
            raise plan.refusal(
                f'iterations of "{inner.label}" that are left out write what later ones may read',
                [(access.op, "this statement writes it")],
            )
    plan.ranges.setdefault(inner, Range()).extend(found)


def _never_negative(plan: _Plan, expression: AffineList) -> bool:
    """Whether a one-expression list is >= 0 wherever the producer runs in its new place."""
    if (numbers := expression.constants()) is not None:
        return numbers[0] >= 0
    system = System(plan.consumer)
    describe_instance(system, plan.anchor, "s")
    system.require_not_negative(difference({}, system.linear(expression, "s")[0], -1))
    return not system.has_solution()


# ---- what the producer reads ------------------------------------------------------------------------


def _check_inputs(plan: _Plan, producer: Operation) -> None:
    """Refuse when an element that the producer reads may be written before it is read in the new place."""
    order = {op: k for k, op in enumerate(plan.uses.block.walk())}
    writes = [a for a in writes_in(plan.uses.block) if plan.uses.top(a.op) not in plan.producers]
    for read in _inputs(plan, producer):
        for write in writes:
            if may_overlap(read, write) and _may_change(plan, producer, read, write, order):
                raise plan.refusal(
                    "an element that it is computed from may be written before it is computed there",
                    [(read.op, "this load reads the element"), (write.op, "this operation may write it")],
                )


def _inputs(plan: _Plan, producer: Operation) -> Iterator[Access]:
    buffer = plan.uses.alloc.memref
    for access in (a for op in producer.walk() for a in accesses_of(op) if a.kind == READ):
        if access.root is not buffer and not is_private_to(access, producer):
            yield access


def _may_change(
    plan: _Plan, producer: Operation, read: Access, write: Access, order: dict[Operation, int]
) -> bool:
    """Whether `write` may touch an element of `read` after the old place of the producer and before the new one."""
    writer = plan.uses.top(write.op)
    if not order[producer] < order[writer] <= order[plan.consumer]:
        return False
    system = System(plan.consumer)
    describe_instance(system, plan.anchor, "s")
    describe_instance(system, read.op, "s")
    describe_instance(system, write.op, "t")
    require_domain(system, write, "t")
    for inner in (loop for loop in plan.ranges if is_inside(read.op, loop)):
        plan.ranges[inner].require(system, inner, "s")
    require_same_element(system, read, read.indices, write, ("s", "t"))
    if writer is plan.consumer:
        common = common_loops(write.op, plan.anchor, writer)
        system.require(
            runs_before(
                common,
                lambda loop: system.name(loop.iv, "t"),
                lambda loop: system.name(loop.iv, "s"),
                order[write.op] < order[plan.anchor],
            )
        )
    return system.has_solution()


# ---- storage ----------------------------------------------------------------------------------------


def _move_storage(plan: _Plan) -> None:
    """Make a buffer for the part in the loop, and use it instead."""
    uses, part = plan.uses, plan.part
    replace_extents(uses)
    extents = [part.extents[axis] for axis in range(len(part.extents))]
    new = reallocate(uses.alloc, extents, plan.anchor)
    for op in (*uses.loads, *uses.writes):
        op.set_indices(op.indices.minus(part.origin))
    replace(uses.alloc, new)
