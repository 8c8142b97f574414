"""What nest-rolling-buffer leaves out, and whether that is legal.

In one iteration of a loop the producers write a window of a buffer: on one axis the elements `origin .. end`. Where
that moves up with the loop, `end` of the iteration before is where the new elements begin; where it moves down, they
are those below the `origin` of the iteration before. What is not new is left out, and computed once before the loop
for the first iteration. Then each element that is left out must hold already what would be computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...lowering.domains import is_computation
from .bounds import largest, refuse_several
from .coverage import Coverage
from .dependence import READ, Access, accesses_of, is_defined_outside, is_private, may_overlap
from .footprint import Range, range_of
from .integer_sets import System, difference, is_never_negative
from .loops import enclosing_loops, is_inside, loops_in, may_fail, refuse_marked
from .producers import (
    Uses,
    allocation_of,
    describe_instance,
    odd_ancestor,
    require_domain,
    require_needed,
    require_same_element,
    top_in,
    uses_of,
)
from .regions import NoWindow, Window, window_of

Storage = Literal["circular", "whole"]
Statement = StoreOp | AccumulateOp


@dataclass(frozen=True, eq=False)
class Part:
    """What is left of the producers: shorter loops, and domains where no shorter loop does it."""

    ranges: dict[ForOp, Range] = field(default_factory=dict)
    domains: dict[Statement, AffineList] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RollingPlan:
    """The producers of a buffer in the body of `loop`, and how the part that they write moves along `axis`.

    `new` is what an iteration still computes, `first` what is computed before the loop; `needed` is what the
    producers use of the loop's body. `length` is the extent of a circular buffer.
    """

    uses: Uses
    loop: ForOp
    producers: list[Operation]
    needed: list[Operation]
    window: Window
    axis: int
    grows: bool
    new: Part = field(default_factory=Part)
    first: Part = field(default_factory=Part)
    length: int | None = None

    def refusal(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        return _refusal(self.uses.alloc, self.loop, reason, notes, hint)

    def before(self, expression: AffineList) -> AffineList:
        """The expression in the iteration before."""
        iv = self.loop.iv
        return expression.substitute(iv, AffineList.of(iv).add(-self.loop.step_value))

    @property
    def origin(self) -> AffineList:
        return self.window.origin[self.axis]

    @property
    def end(self) -> AffineList:
        return self.origin.plus(self.window.extents[self.axis])

    def is_new(self, index: AffineList) -> AffineList:
        """What is not negative where the element of an index along the axis is new."""
        if self.grows:
            return index.minus(self.before(self.end))
        return self.before(self.origin).minus(index).add(-1)

    def is_known(self, index: AffineList) -> AffineList:
        """What is not negative where the element is not new."""
        return self.is_new(index).times(-1).add(-1)

    def parts(self) -> tuple[Window, Window]:
        """The windows of the new elements, and of the others."""
        low, high = self.origin, self.end
        point = self.before(self.end) if self.grows else self.before(self.origin)
        lower, upper = self._between(low, point), self._between(point, high)
        return (upper, lower) if self.grows else (lower, upper)

    def _between(self, low: AffineList, high: AffineList) -> Window:
        origin = [self.window.origin[k] for k in range(len(self.window.origin))]
        extents = [self.window.extents[k] for k in range(len(self.window.extents))]
        origin[self.axis], extents[self.axis] = low, high.minus(low)
        return Window(AffineList.of(*origin), AffineList.of(*extents))

    def writes(self) -> list[Statement]:
        return self.uses.writes

    def readers(self) -> list[LoadOp]:
        """The loads of the buffer that are not the producers' own."""
        return [op for op in self.uses.loads if not any(is_inside(op, p) for p in self.producers)]


def _refusal(
    alloc: AllocOp,
    loop: ForOp,
    reason: str,
    notes: Sequence[tuple[Operation, str]] = (),
    hint: str | None = None,
) -> NestorError:
    message = f'cannot roll the buffer "{alloc.label.data}" in the loop "{loop.label}": {reason}'
    return fail(loop, message, hint=hint, notes=notes)


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
        raise _refusal(alloc, loop, window.reason, [(window.access.op, "this statement writes it")])
    refusals: list[NestorError] = []
    for axis in range(len(window.origin)):
        for grows in (True, False):
            plan = RollingPlan(uses, loop, producers, needed, window, axis, grows)
            if not _moves(plan) or not _computes_again(plan):
                continue
            try:
                return _completed(plan, storage)
            except NestorError as refusal:
                refusals.append(refusal)
    if refusals:
        raise refusals[0]
    raise _refusal(
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
        raise _refusal(
            alloc,
            loop,
            "the loop is not inside of the block that makes it",
            [(alloc, "the buffer is made here")],
            hint="compute it at the loop with storage=root: what an iteration has made is to be there in the next",
        )
    if (odd := odd_ancestor(loop, uses.top(loop))) is not None:
        raise _refusal(
            alloc, loop, "the loop is inside an operation that is not known", [(odd, "this operation")]
        )


def _producers(uses: Uses, loop: ForOp) -> list[Operation]:
    """The operations of the loop's body that write the buffer; they are complete before anything reads it."""
    alloc, block = uses.alloc, loop.body.block
    for op in uses.writes:
        if not is_inside(op, loop):
            raise _refusal(
                alloc, loop, "it is written outside of the loop", [(op, "this statement writes it")]
            )
    producers = list(dict.fromkeys(top_in(block, op) for op in uses.writes))
    if not producers:
        raise _refusal(alloc, loop, "nothing writes it")
    for producer in producers:
        if not isinstance(producer, (ForOp, StoreOp, AccumulateOp)):
            raise _refusal(
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
            raise _refusal(
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
            raise _refusal(alloc, loop, "its computation can fail", [(op, "this check can fail")])
        for access in accesses_of(op):
            if access.writes and access.root is not alloc.memref and not _is_own(access, producer):
                raise _refusal(
                    alloc,
                    loop,
                    "what writes it has other effects",
                    [(op, "this operation has another effect")],
                )
    writes = [op for op in uses.writes if is_inside(op, producer)]
    for load in (load for load in uses.loads if is_inside(load, producer)):
        for write in writes:
            if load.indices != write.indices:
                raise _refusal(
                    alloc,
                    loop,
                    "its elements are computed from others of them",
                    [(load, "this load reads an element"), (write, "this statement writes another")],
                )


def _is_own(access: Access, producer: Operation) -> bool:
    """Whether the buffer is made in the producer."""
    return isinstance(producer, ForOp) and is_private(access, producer)


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
            raise _refusal(
                uses.alloc,
                loop,
                "what is computed depends on the iteration",
                [(op, "this operation uses it")],
            )
        if isinstance(owner, Block) or owner.parent is not block or owner in found or owner in producers:
            continue
        if not is_computation(owner) and not isinstance(owner, memref.DimOp):
            raise _refusal(
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


# ---- what is computed again -------------------------------------------------------------------------


def _instance(plan: RollingPlan, op: Operation, instance: str = "s") -> System:
    """An instance of `op` within one run of the loop."""
    system = System(plan.loop)
    _describe(system, op, instance)
    return system


def _describe(system: System, op: Operation, instance: str) -> None:
    describe_instance(system, op, instance)
    for access in accesses_of(op):
        require_domain(system, access, instance)


def _require(system: System, expression: AffineList, instance: str = "s") -> None:
    system.require_not_negative(system.linear(expression, instance)[0])


def _deny(system: System, expression: AffineList, instance: str = "s") -> None:
    """Require that a one-expression list is negative."""
    system.require_not_negative(difference({}, system.linear(expression, instance)[0], -1))


def _require_later(plan: RollingPlan, system: System) -> None:
    """Require that it is not the first iteration."""
    before = plan.before(AffineList.of(plan.loop.iv))
    for k in range(len(plan.loop.lower)):
        _require(system, before.minus(plan.loop.lower[k]))


def _moves(plan: RollingPlan) -> bool:
    """Whether the window moves along the axis, and never the other way."""
    now = plan.end if plan.grows else plan.origin.times(-1)
    distance = now.minus(plan.before(now))
    if (numbers := distance.constants()) is not None:
        return numbers[0] > 0
    system = _instance(plan, plan.producers[0])
    _require_later(plan, system)
    _deny(system, distance)
    return not system.has_solution()


def _computes_again(plan: RollingPlan) -> bool:
    """Whether some element is not new in a later iteration."""
    for op in plan.writes():
        system = _instance(plan, op)
        _require_later(plan, system)
        _require(system, plan.is_known(op.indices[plan.axis]))
        if system.has_solution():
            return True
    return False


def _completed(plan: RollingPlan, storage: Storage) -> RollingPlan:
    """The plan with its ranges; raises the refusal when it is not legal."""
    for op in plan.writes():
        _check_known(plan, op)
    _check_complete(plan)
    _check_starts_anew(plan)
    new, known = plan.parts()
    _restrict(plan, plan.new, new, plan.is_new)
    _restrict(plan, plan.first, known, plan.is_known)
    _check_inputs(plan)
    if storage == "whole":
        return plan
    return _circular(plan)


def _conditions(plan: RollingPlan, op: Statement) -> Iterator[tuple[AffineList, Operation]]:
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


def _check_known(plan: RollingPlan, op: Statement) -> None:
    """Refuse unless what is left out has run in the iteration before."""
    iv = plan.loop.iv
    for inner in (
        loop for loop in enclosing_loops(op) if is_inside(loop, plan.loop) and loop is not plan.loop
    ):
        if inner.step_value != 1 and iv in inner.lower.operands:
            raise plan.refusal(f'the loop "{inner.label}" has a step', [(inner, "the loop is here")])
    for condition, place in _conditions(plan, op):
        if iv not in condition.operands:
            continue
        system = _instance(plan, op)
        _require_later(plan, system)
        _require(system, plan.is_known(op.indices[plan.axis]))
        _deny(system, plan.before(condition))
        if system.has_solution():
            raise plan.refusal(
                "an element that is not new may not have been computed in the iteration before",
                [(op, "this statement writes it"), (place, "here it may be left out")],
            )


def _check_complete(plan: RollingPlan) -> None:
    """Refuse when the iteration before has done more to an element that is not new than this one would do."""
    iv, step = plan.loop.iv, plan.loop.step_value
    for other in plan.writes():
        conditions = [c for c, _ in _conditions(plan, other) if iv in c.operands]
        for op in plan.writes() if conditions else ():
            for condition in conditions:
                system = _instance(plan, op)
                _describe(system, other, "t")
                _require_later(plan, system)
                _require(system, plan.is_known(op.indices[plan.axis]))
                now, then = system.variable(iv, "s"), system.variable(iv, "t")
                system.require_zero(difference(now, then, -step))
                for first, second in zip(accesses_of(op), accesses_of(other), strict=False):
                    require_same_element(system, first, op.indices, second, ("s", "t"))
                _deny(system, condition.substitute(iv, AffineList.of(iv).add(step)), "t")
                if system.has_solution():
                    raise plan.refusal(
                        "the iteration before may compute another value for an element that is not new",
                        [(op, "this statement writes it"), (other, "it may be written here as well")],
                    )


def _check_starts_anew(plan: RollingPlan) -> None:
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


# ---- shorter loops ----------------------------------------------------------------------------------


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
        system = _instance(plan, op)
        for inner, by in part.ranges.items():
            if is_inside(op, inner):
                by.require(system, inner, "s")
        _deny(system, kept)
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


# ---- what the producers read ------------------------------------------------------------------------


def _check_inputs(plan: RollingPlan) -> None:
    """Refuse when what the producers read may be written between two iterations that compute an element."""
    block = plan.loop.body.block
    others = [op for op in block.ops if op not in plan.producers]
    writes = [a for top in others for op in top.walk() for a in accesses_of(op) if a.writes]
    for producer in plan.producers:
        for read in (a for op in producer.walk() for a in accesses_of(op) if a.kind == READ):
            if read.root is plan.uses.alloc.memref or _is_own(read, producer):
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
            _deny(system, bound)
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


def start_of(loop: ForOp) -> AffineList:
    """The first value of the loop's variable."""
    return largest(loop.lower, loop)


def runs_always(loop: ForOp) -> bool:
    """Whether the loop runs at least once."""
    low = start_of(loop)
    return all(is_never_negative(loop.upper[k].minus(low).add(-1), loop) for k in range(len(loop.upper)))
