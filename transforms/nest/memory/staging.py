"""Staging: one iteration of a loop works on a copy of the part of a buffer that it touches.

What nest-cache-read, nest-cache-write and nest-stage-mem share: the options, what is asked for, and the checks, which
end in a plan. It says which accesses go to the copy, what box of the buffer that is (`regions.py`), whether the copy is
loaded first, starts at the identity of a reduction or is simply written, and whether it goes back at the end;
`staging_copies.py` carries it out.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StringAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in, may_fail
from ....analysis.nest.sets.accesses import (
    FRESH,
    READ,
    WRITE,
    Access,
    access_notes,
    argument_attribute,
    atomic_update,
    is_defined_outside,
    may_alias,
    root_of,
)
from ....analysis.nest.sets.coverage import Coverage
from ....analysis.nest.sets.dependence import Dependences, analyse, combines_alike
from ....analysis.nest.sets.integer_sets import pair_system
from ....analysis.nest.sets.producers import common_loops, runs_before
from ....analysis.nest.sets.regions import NoWindow, Window, window_of
from ....dialects.attributes import ROLE
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, THREAD_AXES, AccumulateOp, AllocOp, ForOp, IfOp
from ..rewrite.buffers import why_not_space

Notes = Sequence[tuple[Operation, str]]

LOAD, IDENTITY = "load", "identity"

CONVERSIONS = (
    arith.ExtFOp,
    arith.TruncFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
)
"""Conversions that are defined for all numbers: they may be done to elements that no one asks for."""


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
    conversion: Operation | None = None
    """What its readers convert an element by: the copy holds what they get."""

    partners: tuple[Plan, ...] = ()
    """The other buffers that the same reductions update: they are staged with it."""

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
    dependences: Dependences | None = None
    along: str | None = None
    """Only the reads that move with the loop of this name, which is inside of the loop, go to the copy."""
    axis: int | None = None
    """And of these only those that it moves along this axis of the buffer."""
    converted: bool = False
    """The copy holds what the readers convert its elements to."""

    def refuse(self, reason: str, hint: str | None = None, notes: Notes = ()) -> NestorError:
        return fail(self.loop, f"cannot {self.action}: {reason}", hint=hint, notes=notes)

    @property
    def action(self) -> str:
        return f'{self.verb} the buffer "{buffer_name(self.buffer)}" in the loop "{self.loop.label}"'


def request_for(
    verb: str,
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    space: str,
    axes: tuple[int, ...],
    dependences: Dependences | None,
    along: str | None = None,
    axis: int | None = None,
    converted: bool = False,
) -> Request:
    """The request that the arguments of a primitive make."""
    value = buffer.memref if isinstance(buffer, AllocOp) else buffer
    return Request(
        verb, value, loop, axes, space, dependences=dependences, along=along, axis=axis, converted=converted
    )


# ---- plans ------------------------------------------------------------------------------------------


def plan_reads(request: Request) -> Plan | NestorError:
    """The plan for a copy that is read only."""
    found = _accesses(request)
    if isinstance(found, NestorError):
        return found
    own, others = found
    reads = [a for a in own if a.kind == READ]
    if request.axis is not None and request.along is None:
        return request.refuse("an axis is given, and no loop along it", hint="say along= as well")
    if request.along is not None:
        moving = _moving(request, reads)
        if isinstance(moving, NestorError):
            return moving
        reads = moving
    if not reads:
        return request.refuse("nothing in the loop reads it")
    for write in (a for a in (*own, *others) if a.writes):
        if any(may_meet_before(write, read, request.loop) for read in reads):
            return request.refuse(
                "the loop writes it as well, before it reads it",
                hint="nest-stage-mem works on a copy that is written back",
                notes=access_notes([write], "writes"),
            )
    plan = _plan(request, reads, loads=True, goes_back=False)
    if isinstance(plan, NestorError):
        return plan
    if request.converted:
        conversion = conversion_of([read.op for read in reads])
        if conversion is None:
            return request.refuse(
                "its readers do not all convert an element to one type, and do nothing else with it",
                notes=[(reads[0].op, "it is read here")],
            )
        plan = replace(plan, conversion=conversion)
    earlier = _earlier(request)
    for reason, before in ((_may_be_unwritten(request.buffer), earlier), (_written_by_threads(request), [])):
        if reason is not None and not Coverage(request.loop).fills(
            plan.window, request.buffer, reads, before
        ):
            text, note = reason
            return request.refuse(
                f"the copy would hold elements that the loop may not read, and {text}", notes=note
            )
    return plan


def conversion_of(loads: Sequence[Operation]) -> Operation | None:
    """The one conversion of a type to another that all these loads go through; None where there is no such."""
    users = [use.operation for load in loads for use in load.results[0].uses]
    if not users or type(users[0]) not in CONVERSIONS or any(not load.results[0].uses for load in loads):
        return None
    first = users[0]
    same = (type(op) is type(first) and op.results[0].type == first.results[0].type for op in users)
    return first if all(same) else None


def _moving(request: Request, reads: list[Access]) -> list[Access] | NestorError:
    """The reads with an index that the variable of the loop `along` is in."""
    named = [inner for inner in loops_in(request.loop)[1:] if inner.label == request.along]
    if not named:
        return request.refuse(f'there is no loop "{request.along}" in it')
    variable = named[0].iv
    moving = [a for a in reads if a.indices is not None and variable in a.indices.operands]
    if not moving or request.axis is None:
        return moving or request.refuse(f'no read of it moves with the loop "{request.along}"')
    rank = len(moving[0].indices or ())
    if not 0 <= request.axis < rank:
        return request.refuse(f"there is no axis {request.axis}", hint=f"the axes are 0 to {rank - 1}")
    moving = [a for a in moving if a.indices is not None and variable in a.indices[request.axis].operands]
    return moving or request.refuse(
        f'no read of it moves with the loop "{request.along}" along axis {request.axis}'
    )


def plan_updates(request: Request, init: str = LOAD) -> Plan | NestorError:
    """The plan for a copy that is written, or read and written; for buffers that are reduced together, copies of all."""
    if init not in (LOAD, IDENTITY):
        return request.refuse(f'there is no init "{init}"', hint="it is load or identity")
    plan = _plan_updates_of_one(request, init)
    if isinstance(plan, NestorError):
        return plan
    partners: list[Plan] = []
    for buffer in _reduced_together(request)[1:]:
        partner = _plan_updates_of_one(replace(request, buffer=buffer), init)
        if isinstance(partner, NestorError):
            return partner
        if not _is_same_window(partner.window, plan.window):
            return request.refuse(
                f'"{buffer_name(buffer)}", which is reduced together with it, is touched in another part',
                notes=[(partner.accesses[0].op, "here")],
            )
        partners.append(partner)
    return replace(plan, partners=tuple(partners))


def _is_same_window(first: Window, second: Window) -> bool:
    pairs = (first.origin, second.origin), (first.extents, second.extents)
    return all(a.canonical() == b.canonical() for a, b in pairs)


def _reduced_together(request: Request) -> list[SSAValue]:
    """The buffer, and those that reductions in the loop update together with it, or with one of these."""
    found = [request.buffer]
    for buffer in found:
        for use in buffer.uses:
            op = use.operation
            if isinstance(op, AccumulateOp) and is_inside(op, request.loop):
                found += [other for other in op.memrefs if other not in found]
    return found


def _plan_updates_of_one(request: Request, init: str) -> Plan | NestorError:
    found = _accesses(request)
    if isinstance(found, NestorError):
        return found
    own, others = found
    if (shared := atomic_update(own)) is not None:
        reason = "other iterations update it at the same time"
        return request.refuse(reason, notes=[(shared, "by this statement")])
    if not any(a.writes for a in own):
        return request.refuse("nothing in the loop writes it", hint="nest-cache-read copies what is read")
    for other in others:
        if any(a.writes and may_meet_before(a, other, request.loop) for a in own):
            return _refuse_other(request, other)
    if (check := may_fail(request.loop)) is not None:
        return request.refuse(
            "an error in the loop would lose what was written before it",
            hint="nest-prove-bounds removes the checks that cannot fail",
            notes=[(check, "this check can fail")],
        )
    if init == IDENTITY:
        return _plan_reduction(request, own)
    return _plan_written(request, own, [a for a in others if a.writes])


def _refuse_other(request: Request, other: Access) -> NestorError:
    return request.refuse(
        "another access in the loop may touch the same memory", notes=access_notes([other], "touches")
    )


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
        if op is not first and not combines_alike(first, op):
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


def _plan_written(request: Request, own: list[Access], written: list[Access]) -> Plan | NestorError:
    """The plan for a copy that is loaded where need be; `written` is what else may write the same memory."""
    plan = _plan(request, own, loads=False, goes_back=True)
    if isinstance(plan, NestorError):
        return plan
    coverage = Coverage(request.loop)
    stores = [a for a in own if a.kind == WRITE]
    early = [a for a in own if a.kind != WRITE and not coverage.written_before(a, stores)]
    if not early and coverage.fills(plan.window, request.buffer, stores):
        return plan
    # what is read with no store before it in the iteration was written before the loop
    before = [a for a in early if not any(_may_precede(store, a, request.loop) for store in stores)]
    if (reason := _may_be_unwritten(request.buffer)) is not None and not coverage.fills(
        plan.window, request.buffer, before, _earlier(request)
    ):
        text, note = reason
        return request.refuse(
            f"it is not proved that the loop writes all of the copy before it reads it, and {text}",
            notes=note,
        )
    for other in written:
        if any(may_meet_before(other, a, request.loop) for a in early):
            return _refuse_other(request, other)
    if written and not coverage.fills(plan.window, request.buffer, [a for a in own if a.writes]):
        return _refuse_other(request, written[0])
    plan = Plan(plan.buffer, plan.loop, own, plan.window, plan.order, loads=True, goes_back=True)
    return _why_not_back(request, plan) or plan


def may_meet_before(first: Access, second: Access, loop: ForOp) -> bool:
    """Whether `first` may touch an element before `second` does, in one iteration of `loop`."""
    if not _may_precede(first, second, loop):
        return False
    if first.buffer is not second.buffer or first.indices is None or second.indices is None:
        return True
    order = [op for op in loop.walk() if op is first.op or op is second.op]
    system = pair_system(first, second, *loop.body.block.ops)
    common = [around for around in common_loops(first.op, second.op, loop) if around is not loop]
    system.require(
        runs_before(
            common,
            lambda around: system.name(around.iv, "s"),
            lambda around: system.name(around.iv, "t"),
            order[0] is first.op,
        )
    )
    return system.has_solution()


def _may_precede(first: Access, second: Access, loop: ForOp) -> bool:
    """Whether `first` may come before `second` in one iteration of `loop`: by the text, or in a loop around both."""
    around = first.op.parent_op()
    while around is not None and around is not loop:
        if not isinstance(around, IfOp) and is_inside(second.op, around):
            return True
        around = around.parent_op()
    order = [op for op in loop.walk() if op is first.op or op is second.op]
    return order[0] is first.op


def _earlier(request: Request) -> list[Access]:
    """The accesses to the buffer outside of the loop."""
    accesses = (request.dependences or analyse(request.loop)).accesses_through(request.buffer)
    return [a for a in accesses if not is_inside(a.op, request.loop)]


def _why_not_back(request: Request, plan: Plan, always: bool = False) -> NestorError | None:
    """Elements that the loop does not write go back too: nothing else may write them meanwhile, or find them unwritten."""
    writes = [a for a in plan.accesses if a.writes]
    coverage = Coverage(request.loop)
    marked = _threads_around(request.loop)
    if marked is not None and not coverage.fills(plan.window, request.buffer, writes):
        return request.refuse(
            "elements that the loop may not write would be written back, and other iterations may write them concurrently",
            notes=[(marked, "in parallel here")],
        )
    unwritten = _may_be_unwritten(request.buffer) if always else None
    if unwritten is None or coverage.fills(plan.window, request.buffer, writes, _earlier(request)):
        return None
    text, notes = unwritten
    return request.refuse(
        f"elements that the loop may not write would be written back, and {text}", notes=notes
    )


def _accesses(request: Request) -> tuple[list[Access], list[Access]] | NestorError:
    """The accesses in the loop through the buffer itself, and those that may touch its memory in another way."""
    buffer, loop = request.buffer, request.loop
    if not is_defined_outside(buffer, loop):
        return request.refuse("it is made inside the loop", notes=_made(buffer))
    if (refusal := _why_not_marks(request)) is not None:
        return refusal
    if not isinstance(buffer.type, MemRefType):
        return request.refuse("it is not a buffer")
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
    if not any(loop.kind in THREAD_AXES for loop in around):
        return None
    for loop in loops_in(request.loop)[1:]:
        if loop.kind in THREAD_AXES:
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
        return request.refuse(f"axes={given} is not an order of the buffer's {rank} axes")
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
    role = argument_attribute(root, ROLE)
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
            return "other iterations may write them concurrently", access_notes([access], "writes")
    return None
