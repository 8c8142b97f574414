"""Staging: one iteration of a loop works on a copy of the part of a buffer that it touches.

What nest-cache-read, nest-cache-write and nest-stage-mem share: the checks, and the rewriting. A plan says which
accesses go to the copy, what box of the buffer that is (`regions.py`), whether the copy is loaded first, starts
at the identity of a reduction or is simply written, and whether it goes back at the end.

    nest.for "i" %i = 0 to %n {
      %u = nest.alloc "u" : memref<16xf32>
      nest.for "u.load.ax0" %d = 0 to 16 {     // loads the box; as far as it lies in the buffer
        ...
      }
      ... the body, on %u
      nest.for "u.back.ax0" %d = 0 to 16 {     // stores the box
        ...
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...dialects.nest.common import INDEX
from .buffers import (
    buffer_name,
    erase_unused,
    extent_before,
    fresh_buffer_name,
    space_attribute,
    why_not_space,
)
from .dependence import (
    FRESH,
    READ,
    WRITE,
    Access,
    Dependences,
    access_notes,
    analyse,
    argument_attribute,
    is_defined_outside,
    may_alias,
    root_of,
)
from .integer_sets import is_never_negative
from .loops import enclosing_loops, fresh_names, loops_in, materialise, may_fail
from .nest_rfactor import identities
from .regions import Coverage, NoWindow, Window, window_of

Notes = Sequence[tuple[Operation, str]]

LOAD, IDENTITY = "load", "identity"


@dataclass(frozen=True, eq=False)
class Plan:
    """What is staged, and how. `order`: the axes of the buffer in the order in which the copy has them."""

    buffer: SSAValue
    loop: ForOp
    accesses: list[Access]
    window: Window
    order: tuple[int, ...]
    loads: bool
    goes_back: bool
    reduction: AccumulateOp | None = None

    @property
    def kept(self) -> list[int]:
        """The axes that the copy has: not those along which the window is one element."""
        return [axis for axis in self.order if self.window.extents[axis].constants() != (1,)]

    @property
    def shape(self) -> list[int]:
        numbers = [self.window.extents[axis].constants() for axis in self.kept]
        return [DYNAMIC_INDEX if n is None else n[0] for n in numbers]


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked for: `verb` is how the diagnostics name it ("cache")."""

    verb: str
    buffer: SSAValue
    loop: ForOp
    axes: tuple[int, ...] = ()
    space: str = "global"
    window: Window | None = None
    dependences: Dependences | None = field(default=None)

    def refuse(self, reason: str, hint: str | None = None, notes: Notes = ()) -> NestorError:
        return fail(self.loop, f"cannot {self.action}: {reason}", hint=hint, notes=notes)

    @property
    def action(self) -> str:
        return f'{self.verb} the buffer "{buffer_name(self.buffer)}" in the loop "{self.loop.label}"'


# ---- plans ------------------------------------------------------------------------------------------


def plan_reads(request: Request) -> Plan | NestorError:
    """The plan for a copy that is read only."""
    found = _accesses(request)
    if isinstance(found, NestorError):
        return found
    own, others = found
    writes = [a for a in (*own, *others) if a.writes]
    if writes:
        return request.refuse(
            "the loop writes it as well",
            hint="nest-stage-mem works on a copy that is written back",
            notes=access_notes(writes[:1], "writes"),
        )
    if not own:
        return request.refuse("nothing in the loop reads it")
    plan = _plan(request, own, loads=True, goes_back=False)
    if isinstance(plan, NestorError):
        return plan
    if (reason := _may_be_unwritten(request.buffer) or _written_by_threads(request)) is not None:
        text, note = reason
        if not Coverage(request.loop).fills(plan.window, request.buffer, own):
            return request.refuse(
                f"the copy would hold elements that the loop may not read, and {text}", notes=note
            )
    return plan


def plan_updates(request: Request, init: str = LOAD) -> Plan | NestorError:
    """The plan for a copy that is written, or read and written."""
    if init not in (LOAD, IDENTITY):
        return request.refuse(f'there is no init "{init}"', hint="it is load or identity")
    found = _accesses(request)
    if isinstance(found, NestorError):
        return found
    own, others = found
    if others:
        return request.refuse(
            "another access in the loop may touch the same memory", notes=access_notes(others[:1], "touches")
        )
    if not any(a.writes for a in own):
        return request.refuse("nothing in the loop writes it", hint="nest-cache-read copies what is read")
    if (check := may_fail(request.loop)) is not None:
        return request.refuse(
            "an error in the loop would lose what was written before it",
            hint="nest-prove-bounds removes the checks that cannot fail",
            notes=[(check, "this check can fail")],
        )
    for access in own:
        if isinstance(access.op, AccumulateOp) and len(access.op.memrefs) > 1:
            return request.refuse(
                "a reduction updates it together with another buffer, at the same indices",
                notes=[(access.op, "the reduction is here")],
            )
    if init == IDENTITY:
        return _plan_reduction(request, own)
    return _plan_written(request, own)


def _plan_reduction(request: Request, own: list[Access]) -> Plan | NestorError:
    first = own[0].op
    for access in own:
        op = access.op
        if not isinstance(op, AccumulateOp) or not isinstance(first, AccumulateOp):
            return request.refuse(
                "only a buffer that is nothing but accumulated into can start from an identity",
                hint="use init=load",
                notes=access_notes([access], "reads" if access.kind == READ else "writes"),
            )
        if op.order_name != "any":
            return request.refuse(
                f"the reduction's order is {op.order_name}", hint="use init=load", notes=[(op, "it is here")]
            )
        if op.combiner.data == "custom" and op.identity is None:
            return request.refuse(
                "the custom combiner states no identity", hint="use init=load", notes=[(op, "it is here")]
            )
        if op.combiner != first.combiner or (op is not first and op.combiner.data == "custom"):
            return request.refuse(
                "it is accumulated into by different combiners",
                hint="use init=load",
                notes=[(first, "one is here"), (op, "another one is here")],
            )
    assert isinstance(first, AccumulateOp)
    plan = _plan(request, own, loads=False, goes_back=True, reduction=first)
    if isinstance(plan, NestorError):
        return plan
    return _why_not_back(request, plan, always=True) or plan


def _plan_written(request: Request, own: list[Access]) -> Plan | NestorError:
    plan = _plan(request, own, loads=False, goes_back=True)
    if isinstance(plan, NestorError):
        return plan
    coverage = Coverage(request.loop)
    stores = [a for a in own if a.kind == WRITE]
    early = [a for a in own if a.kind != WRITE and not coverage.written_before(a, stores)]
    if not early and coverage.fills(plan.window, request.buffer, stores):
        return plan
    if (reason := _may_be_unwritten(request.buffer)) is not None and not coverage.fills(
        plan.window, request.buffer, early
    ):
        text, note = reason
        return request.refuse(
            f"it is not proved that the loop writes all of the copy before it reads it, and {text}",
            notes=note,
        )
    plan = Plan(plan.buffer, plan.loop, own, plan.window, plan.order, loads=True, goes_back=True)
    return _why_not_back(request, plan) or plan


def _why_not_back(request: Request, plan: Plan, always: bool = False) -> NestorError | None:
    """Elements that the loop does not write go back too: nothing else may write them meanwhile, or find them unwritten."""
    marked = _threads_around(request.loop)
    unwritten = _may_be_unwritten(request.buffer) if always else None
    if marked is None and unwritten is None:
        return None
    writes = [a for a in plan.accesses if a.writes]
    if Coverage(request.loop).fills(plan.window, request.buffer, writes):
        return None
    text, notes = unwritten or ("other iterations may write them meanwhile", [(marked, "in parallel here")])
    return request.refuse(
        f"elements that the loop may not write would be written back, and {text}",
        notes=notes,  # pyright: ignore[reportArgumentType]
    )


def _accesses(request: Request) -> tuple[list[Access], list[Access]] | NestorError:
    """The accesses in the loop through the buffer itself, and those that may touch its memory in another way."""
    buffer, loop = request.buffer, request.loop
    if not is_defined_outside(buffer, loop):
        return request.refuse("it is made inside the loop", notes=_made(buffer))
    if (refusal := _why_not_marks(request)) is not None:
        return refusal
    if not isinstance(buffer.type, MemRefType):
        return request.refuse("it is no buffer")
    root = root_of(buffer)
    own, others = [], []
    for access in (request.dependences or analyse(loop)).accesses_in(loop):
        if access.buffer is buffer:
            own.append(access)
        elif access.root is None:
            return request.refuse(
                "it is not known which memory an operation in the loop touches",
                notes=[(access.op, "this operation")],
            )
        elif may_alias(root, access.root):
            others.append(access)
    return own, others


def _made(buffer: SSAValue) -> Notes:
    return [(buffer.owner, "here")] if isinstance(buffer.owner, Operation) else []


def _why_not_marks(request: Request) -> NestorError | None:
    around = [*enclosing_loops(request.loop), request.loop]
    for loop in around:
        if loop.kind == "vectorized":
            return request.refuse(
                "its iterations run together as a vector",
                hint="stage before vectorizing",
                notes=[(loop, f'the loop "{loop.label}" is vectorized')] if loop is not request.loop else [],
            )
    if not any(loop.kind.startswith("thread.") for loop in around):
        return None
    for loop in loops_in(request.loop)[1:]:
        if loop.kind.startswith("thread."):
            return request.refuse(
                "some loops over threads are around the copy and some are inside, so that it belongs to neither "
                "a thread nor a block",
                notes=[(loop, f'the loop "{loop.label}" is bound to {loop.kind}')],
            )
    return None


def _plan(
    request: Request,
    own: list[Access],
    *,
    loads: bool,
    goes_back: bool,
    reduction: AccumulateOp | None = None,
) -> Plan | NestorError:
    rank = request.buffer.type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]
    order = request.axes or tuple(range(rank))
    if sorted(order) != list(range(rank)):
        given = ", ".join(map(str, order))
        return request.refuse(f"axes={given} is no order of the buffer's {rank} axes")
    window = request.window or window_of(request.loop, own)
    if isinstance(window, NoWindow):
        hint = None
        if "computed" in window.reason:
            hint = "nest-prove-bounds replaces the checked indices that cannot fail"
        return request.refuse(window.reason, hint=hint, notes=[(window.access.op, "the access is here")])
    plan = Plan(request.buffer, request.loop, own, window, order, loads, goes_back, reduction)
    around = [*enclosing_loops(request.loop), request.loop]
    element = request.buffer.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    users = [a.op for a in own]
    refusal = why_not_space(request.loop, request.action, request.space, plan.shape, element, around, users)
    return refusal or plan


def _may_be_unwritten(buffer: SSAValue) -> tuple[str, Notes] | None:
    """Why elements of the buffer may never have been written; None when its contents are given."""
    root = root_of(buffer)
    role = argument_attribute(root, "nest.role")
    if isinstance(root.owner, FRESH):
        return "they may never have been written", [(root.owner, "it is made here")]
    if isinstance(role, StringAttr) and role.data == "out":
        return "they may never have been written: it is a result", []
    return None


def _threads_around(loop: ForOp) -> ForOp | None:
    """The outermost loop, `loop` or around it, whose iterations run at the same time."""
    marks = ("parallel", *BIND_AXES)
    return next((o for o in (*enclosing_loops(loop), loop) if o.kind in marks), None)


def _written_by_threads(request: Request) -> tuple[str, Notes] | None:
    """A write to the buffer by other iterations of a parallel loop around."""
    marked = _threads_around(request.loop)
    if marked is None:
        return None
    root = root_of(request.buffer)
    for access in analyse(request.loop).accesses_in(marked):
        if access.writes and (access.root is None or may_alias(root, access.root)):
            return "other iterations may write them meanwhile", access_notes([access], "writes")
    return None


# ---- rewriting --------------------------------------------------------------------------------------


def carry_out(plan: Plan, space: str, name: str | None) -> tuple[AllocOp, ForOp | None, ForOp | None]:
    """Make the copy and the loops that fill it and store it back; loops that are not needed are None.

    A copy of one element needs no loop either.
    """
    return _Staging(plan, space, name).run()


class _Staging:
    def __init__(self, plan: Plan, space: str, name: str | None):
        self.plan = plan
        self.loop = plan.loop
        self.block = plan.loop.body.block
        first = self.block.first_op
        assert first is not None
        self.first: Operation = first
        suffix = "shared" if space == "shared" else "local"
        self.name = fresh_buffer_name(plan.loop, name or f"{buffer_name(plan.buffer)}_{suffix}")
        self.space = space
        self.made: list[Operation] = []

    def run(self) -> tuple[AllocOp, ForOp | None, ForOp | None]:
        plan = self.plan
        alloc = self._allocate()
        for access in plan.accesses:
            self._redirect(access.op, alloc.memref)
        before: ForOp | None = None
        if plan.reduction is not None:
            before = self._fill(alloc.memref, plan.reduction)
        elif plan.loads:
            before = self._transfer(
                "load", self._insert_first, lambda there, here: self._load(alloc, there, here)
            )
        after: ForOp | None = None
        if plan.goes_back:
            after = self._transfer("back", self._append, lambda there, here: self._store(alloc, there, here))
        erase_unused(self.made)
        return alloc, before, after

    def _insert_first(self, op: Operation) -> None:
        self.block.insert_op_before(op, self.first)

    def _append(self, op: Operation) -> None:
        self.block.add_op(op)

    def _allocate(self) -> AllocOp:
        source = self.plan.buffer.type
        assert isinstance(source, MemRefType)
        sizes = []
        for axis in self.plan.kept:
            extent = self.plan.window.extents[axis]
            if extent.constants() is None:
                sizes.append(self._size(extent))
        space = space_attribute(self.space)
        alloc = AllocOp(
            self.name, MemRefType(source.element_type, self.plan.shape, memory_space=space), sizes
        )
        alloc.location = self.loop.location
        self._insert_first(alloc)
        return alloc

    def _size(self, extent: AffineList) -> SSAValue:
        """The extent as a value, 0 where it would be negative."""
        value = materialise(extent, self.block, self.first)
        if is_never_negative(extent, self.first):
            return value
        zero = arith.ConstantOp(IntegerAttr(0, INDEX))
        size = arith.MaxSIOp(value, zero.result)
        for op in (zero, size):
            op.location = self.loop.location
            self._insert_first(op)
        return size.result

    def _redirect(self, op: Operation, copy: SSAValue) -> None:
        assert isinstance(op, LoadOp | StoreOp | AccumulateOp)
        indices = op.indices.minus(self.plan.window.origin)
        local = AffineList.of(*(indices[axis] for axis in self.plan.kept)).canonical()
        for k, operand in enumerate(op.operands):
            if operand is self.plan.buffer:
                op.operands[k] = copy
        if isinstance(op, LoadOp):
            op.set_indices(local)
        else:
            op.set_access(local, op.where)

    # ---- copying ----

    def _transfer(
        self,
        what: str,
        insert: Callable[[Operation], None],
        statement: Callable[[AffineList, AffineList], list[Operation]],
    ) -> ForOp | None:
        """Loops over the part of the window that is in the buffer, around `statement`; the outermost one."""
        plan, origin = self.plan, self.plan.window.origin
        names = fresh_names(self.loop, *(f"{self.name}.{what}.ax{k}" for k in range(len(plan.kept))))
        ranges = [self._inside(axis) for axis in plan.kept]
        domain = [c for axis in plan.order if axis not in plan.kept for c in self._single(axis)]
        loops = [ForOp(n, lower, upper) for n, (lower, upper) in zip(names, ranges, strict=True)]
        position = {axis: loop.iv for axis, loop in zip(plan.kept, loops, strict=True)}
        there = AffineList.of(
            *(
                origin[axis].plus(AffineList.of(position[axis])) if axis in position else origin[axis]
                for axis in range(len(origin))
            )
        )
        here = AffineList.of(*(loop.iv for loop in loops))
        ops = statement(there, here)
        for op in ops:
            op.location = self.loop.location
            if isinstance(op, StoreOp | AccumulateOp) and domain:
                op.set_access(op.indices, AffineList.of(*domain).canonical())
        return self._nest(loops, ops, insert)

    def _nest(
        self, loops: list[ForOp], ops: Sequence[Operation], insert: Callable[[Operation], None]
    ) -> ForOp | None:
        for loop, inner in pairwise(loops):
            loop.body.block.add_op(inner)
        for k, loop in enumerate(loops):
            loop.location = self.loop.location
            loop.iv.name_hint = f"ax{k}"
        for op in ops:
            if loops:
                loops[-1].body.block.add_op(op)
            else:
                insert(op)
        if not loops:
            return None
        insert(loops[0])
        return loops[0]

    def _load(self, alloc: AllocOp, there: AffineList, here: AffineList) -> list[Operation]:
        load = LoadOp(self.plan.buffer, there)
        return [load, StoreOp(load.result, alloc.memref, here, label=self.name)]

    def _store(self, alloc: AllocOp, there: AffineList, here: AffineList) -> list[Operation]:
        load, buffer, update = LoadOp(alloc.memref, here), self.plan.buffer, self.plan.reduction
        if update is None:
            label = next((a.op.statement for a in self.plan.accesses if isinstance(a.op, StoreOp)), "")
            return [load, StoreOp(load.result, buffer, there, label=label or buffer_name(buffer))]
        total = AccumulateOp(
            update.combiner.data,
            [load.result],
            [buffer],
            there,
            label=update.statement,
            identity=update.identity,
            combine=None if update.combine is None else update.combine.clone(),
        )
        return [load, total]

    def _fill(self, copy: SSAValue, update: AccumulateOp) -> ForOp | None:
        """Every element of the copy set to the identity of the reduction."""
        zero = arith.ConstantOp(identities(update)[0])
        zero.location = self.loop.location
        self._insert_first(zero)
        names = fresh_names(self.loop, *(f"{self.name}.init.ax{k}" for k in range(len(self.plan.kept))))
        loops = [ForOp(n, 0, self.plan.window.extents[a]) for n, a in zip(names, self.plan.kept, strict=True)]
        store = StoreOp(
            zero.result, copy, AffineList.of(*(loop.iv for loop in loops)), label=update.statement
        )
        store.location = self.loop.location
        return self._nest(loops, [store], self._insert_first)

    # ---- the part of the window that is in the buffer ----

    def _extent(self, axis: int) -> AffineList:
        extent, made = extent_before(self.plan.buffer, axis, self.loop)
        self.made += made
        return extent

    def _inside(self, axis: int) -> tuple[AffineList, AffineList]:
        """The bounds of a copying loop: where the window sticks out of the buffer, it ends at the buffer's edge."""
        origin, extent = self.plan.window.origin[axis], self.plan.window.extents[axis]
        lower, upper = AffineList.of(0), extent
        if not is_never_negative(origin, self.first):
            lower = AffineList.of(lower, origin.times(-1)).canonical()
        room = self._extent(axis).minus(origin)
        if not is_never_negative(room.minus(extent), self.first):
            ends_first = is_never_negative(extent.minus(room), self.first)
            upper = room if ends_first else AffineList.of(extent, room).canonical()
        return lower, upper

    def _single(self, axis: int) -> list[AffineList]:
        """The constraints under which an axis' only index is in the buffer, without those that always hold."""
        origin = self.plan.window.origin[axis]
        constraints = [origin, self._extent(axis).minus(origin).add(-1)]
        return [c for c in constraints if not is_never_negative(c, self.first)]
