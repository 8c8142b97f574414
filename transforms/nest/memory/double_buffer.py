"""nest-double-buffer: what the next iteration works on is copied while this one works: a buffer with two halves.

    nest.for "i" %i = 0 to %n {
      %u = nest.alloc "u" : memref<64xf32>
      nest.for "j" %j = 0 to 64 {
        %a = nest.load %x[%i, %j] : memref<?x64xf32>
        nest.store "u" %a, %u[%j] : memref<64xf32>
      }
      ... nest.load %u[%k]
    }

with buffer=u, loop=i becomes

    %u = nest.alloc "u" : memref<2x64xf32>
    nest.for "i.first" %f = 0 to min(%n, 1) {
      ... nest.load %x[%f, %j] ... nest.store "u" %a, %u[%f mod 2, %j]
    }
    nest.for "i" %i = 0 to %n - 1 {
      nest.for "j" %j = 0 to 64 {
        %a = nest.load %x[%i + 1, %j] : memref<?x64xf32>
        nest.store "u" %a, %u[(%i + 1) mod 2, %j] : memref<2x64xf32>
      }
      ... nest.load %u[%i mod 2, %k]
    }
    nest.for "i.tail" %t = max(0, %n - 1) to %n {
      ... nest.load %u[%t mod 2, %k]
    }

The copy, all that stores to the buffer, runs one iteration ahead: before the loop for the first iteration, and no
more in the last one. The buffer is made directly in the loop, as nest-cache-read leaves it. Refused unless the copy
does nothing but store to the buffer, before anything reads that, from elements that the loop does not write in
the iteration before; when the loop can fail or is marked; and when a bound is a max or min of several expressions.
`double_buffer_scope` in TVM; `async` in Halide does as much with a thread; without a name in Exo and NNC.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, is_inside, may_fail
from ....analysis.nest.sets.accesses import (
    Access,
    accesses_of,
    buffer_name,
    is_defined_outside,
    may_overlap,
)
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.loop_bounds import refuse_several, smallest
from ....analysis.nest.sets.own_buffers import name_of, why_not_of_function
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX
from ..loops.cut import copy_before
from ..loops.peel import peel
from ..rewrite.buffers import erase_unused, fresh_buffer_name, why_not_space
from ..rewrite.loops import fresh_names, rewrite_indices, simplify_bounds
from ..rewrite.reshaping import extents_of, reshape, why_not_reshape
from .hoist_alloc import hoist_alloc, why_not_known
from .sink_alloc import space_of


def why_not_double_buffer(
    alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to copy one iteration ahead, None when it is legal."""
    plan = plan_ahead(alloc, loop, dependences)
    return plan if isinstance(plan, NestorError) else None


@dataclass(frozen=True, eq=False)
class Plan:
    """What of the body runs ahead, in its order: the operations that store to the buffer, and all that they use."""

    copies: list[Operation]
    used: list[Operation]

    @property
    def ahead(self) -> list[Operation]:
        return [*self.used, *self.copies]


def plan_ahead(
    alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None, stages: int = 2
) -> Plan | NestorError:
    """What fills a buffer with `stages` parts `stages - 1` iterations ahead, or the refusal."""
    action = f'double the buffer "{name_of(alloc)}" in the loop "{loop.label}"'

    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        where = alloc if isinstance(alloc, AllocOp) else at or loop
        return fail(where, f"cannot {action}: {reason}", hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp)
    if alloc.parent is not loop.body.block:
        return refuse(
            "it is not made directly in that loop",
            hint="nest-sink-alloc makes it there",
            notes=[(loop, "the loop is here")],
        )
    refusal = (
        why_not_reshape(alloc, refuse)
        or refuse_marked(loop, "double-buffer")
        or refuse_several(loop, "double-buffer", "lower")
        or refuse_several(loop, "double-buffer", "upper")
    )
    if refusal is not None:
        return refusal
    if (check := may_fail(loop)) is not None:
        return refuse(
            "the loop can fail, and the copy would run before that",
            hint="nest-prove-bounds removes the checks that cannot fail",
            notes=[(check, "this check can fail")],
        )
    for size in alloc.sizes:
        if (origin := why_not_known(size, loop)) is not None:
            return refuse(
                "its extent is not known before the loop", notes=[(origin, "the extent comes from here")]
            )
    buffer = alloc.memref.type
    assert isinstance(buffer, MemRefType)
    if (space := space_of(buffer)) != "global":
        users = [use.operation for use in alloc.memref.uses]
        shape, around = [stages, *buffer.get_shape()], enclosing_loops(loop)
        refusal = why_not_space(alloc, action, space, shape, buffer.element_type, around, users)
        if refusal is not None:
            return refusal
    return _plan_copy(alloc, loop, dependences or analyse(loop), stages, refuse)


def _plan_copy(
    alloc: AllocOp, loop: ForOp, dependences: Dependences, stages: int, refuse
) -> Plan | NestorError:
    """What copies to the buffer, when it does nothing else, and that first."""
    copies: list[Operation] = []
    first_read: Operation | None = None
    for op in loop.body.block.ops:
        own = [a for inner in op.walk() for a in accesses_of(inner) if a.buffer is alloc.memref]
        if any(a.writes for a in own):
            if first_read is not None:
                return refuse(
                    "it is written after it was read", notes=[(first_read, "read here"), (op, "written here")]
                )
            copies.append(op)
        if first_read is None and any(not isinstance(a.op, StoreOp) for a in own):
            first_read = next(a.op for a in own if not isinstance(a.op, StoreOp))
    if not copies:
        return refuse("nothing in the loop stores to it")
    used = _used_by(copies, loop)
    own = {op.memref for copy in copies for op in copy.walk() if isinstance(op, AllocOp)}
    for op in (inner for outer in (*used, *copies) for inner in outer.walk()):
        is_store = isinstance(op, StoreOp) and (op.memref is alloc.memref or op.memref in own)
        is_load = isinstance(op, LoadOp) and (is_defined_outside(op.memref, loop) or op.memref in own)
        if not (is_store or is_load or isinstance(op, ForOp | AllocOp) or is_computation(op)):
            return refuse(
                "what stores to it does more than copy",
                hint="nest-distribute takes the loop apart",
                notes=[(op, "this operation would run an iteration ahead")],
            )
    if (pair := _written_source([*used, *copies], own, alloc, loop, dependences, stages)) is not None:
        load, write = pair
        return refuse(
            "the loop writes what is copied, and the copy of the next iteration would come before that",
            notes=[(load.op, f"copies from {buffer_name(load.buffer)}"), (write.op, "which this may write")],
        )
    return Plan(copies, used)


def _used_by(copies: list[Operation], loop: ForOp) -> list[Operation]:
    """The operations directly in the loop, besides `copies`, that compute what these use."""
    block = loop.body.block
    found: set[Operation] = set()
    work = list(copies)
    while work:
        for inner in work.pop().walk():
            for value in inner.operands:
                owner = value.owner
                if not isinstance(owner, Operation) or isinstance(owner, AllocOp) or owner in found:
                    continue
                if owner.parent is block:
                    found.add(owner)
                    work.append(owner)
    return [op for op in block.ops if op in found]


def _written_source(
    ahead: list[Operation],
    own: Container[SSAValue],
    alloc: AllocOp,
    loop: ForOp,
    dependences: Dependences,
    stages: int = 2,
) -> tuple[Access, Access] | None:
    """A load of the copy, and a write of its element that it would come before: less than `stages` iterations earlier.

    Buffers that are made in the copy (`own`) come with it.
    """
    accesses = dependences.accesses_in(loop)
    writes = [a for a in accesses if a.writes and a.buffer is not alloc.memref]
    for load in accesses:
        if not isinstance(load.op, LoadOp) or load.op.memref in own:
            continue
        if any(is_inside(load.op, op) for op in ahead):
            for write in writes:
                if may_overlap(load, write) and _comes_too_late(write, load, loop, dependences, stages):
                    return load, write
    return None


def _comes_too_late(write: Access, load: Access, loop: ForOp, dependences: Dependences, stages: int) -> bool:
    """Whether `load`, `stages - 1` iterations of `loop` earlier than it is, may not find what `write` writes."""
    depth = len(enclosing_loops(loop))
    for distance in dependences.distance(write.op, load.op):
        if any(isinstance(entry, int) and entry for entry in distance[:depth]):
            continue
        entry = distance[depth]
        if not isinstance(entry, int) or entry < stages * loop.step_value:
            return True
    return False


# ---- rewriting --------------------------------------------------------------------------------------


def double_buffer(
    alloc: AllocOp | SSAValue, loop: ForOp, dependences: Dependences | None = None
) -> tuple[AllocOp, ForOp, ForOp]:
    """Copy one iteration ahead: the buffer of two halves, the loop of the first copy, and that of the last iteration.

    `loop` stays the loop of all other iterations. Raises the diagnostic of `why_not_double_buffer`.
    """
    plan = plan_ahead(alloc, loop, dependences)
    if isinstance(plan, NestorError):
        raise plan
    assert isinstance(alloc, AllocOp)
    (halves,), first, last = run_ahead([alloc], loop, plan.copies, 2)
    return halves, first, last


def run_ahead(
    allocs: Sequence[AllocOp], loop: ForOp, copies: list[Operation], stages: int
) -> tuple[list[AllocOp], ForOp, ForOp]:
    """Give buffers `stages` parts, and let the copies to them, found legal, run so many iterations less one ahead."""
    simplify_bounds(loop)
    number = AffineList.of(loop.iv).minus(loop.lower)
    if loop.step_value != 1:
        number = number.divided(AffineBinaryOpKind.FloorDiv, loop.step_value)
    part = number.divided(AffineBinaryOpKind.Mod, stages)
    parts: list[AllocOp] = []
    for alloc in allocs:
        hoisted = hoist_alloc(alloc, loop)
        extents = [AffineList.of(stages), *extents_of(hoisted)]
        parts.append(reshape(hoisted, extents, lambda indices: part.concat(indices).canonical()))
    plan = Plan(copies, _used_by(copies, loop))  # extents of the buffer that were asked for are gone
    first = _first_copies(loop, plan, stages - 1)
    positions, inputs = (_positions(ops, loop) for ops in (copies, _inputs(plan)))
    last, _ = peel(loop, stages - 1, "tail")
    body = list(last.body.block.ops)
    _erase([body[k] for k in positions])
    erase_unused([body[k] for k in inputs])
    _run_ahead(loop, plan, stages - 1)
    return parts, first, last


def _inputs(plan: Plan) -> list[Operation]:
    """What only the copies may need: loads and arithmetic."""
    return [op for op in plan.ahead if op not in plan.copies and op.results]


def _positions(ops: list[Operation], loop: ForOp) -> list[int]:
    """The positions of `ops` in the body of `loop`."""
    chosen = set(ops)
    return [k for k, op in enumerate(loop.body.block.ops) if op in chosen]


def _first_copies(loop: ForOp, plan: Plan, count: int) -> ForOp:
    """A loop over the first iterations, before `loop`, with nothing but the copies."""
    first = copy_before(loop, fresh_names(loop, f"{loop.label}.first")[0])
    lower, upper = loop.lower, loop.upper
    first.set_bounds(lower, smallest(upper.concat(lower.add(count * loop.step_value)), loop))
    kept = set(_positions(plan.ahead, loop))
    _erase([op for k, op in enumerate(list(first.body.block.ops)) if k not in kept])
    for op in first.walk():
        if isinstance(op, AllocOp):
            op.label = StringAttr(fresh_buffer_name(loop, op.label.data))
    return first


def _run_ahead(loop: ForOp, plan: Plan, count: int) -> None:
    """Let the copies stand at the start of the body, and be those of the iteration that comes `count` later."""
    block = loop.body.block
    start = block.first_op
    assert start is not None
    next_variable = Block(arg_types=[INDEX]).args[0]
    mapper: dict[SSAValue, SSAValue] = {loop.iv: next_variable}
    following = AffineList.of(loop.iv).add(count * loop.step_value)
    for op in plan.ahead:
        copy = op.clone(value_mapper=mapper)
        block.insert_op_before(copy, start)
        for inner in copy.walk():
            rewrite_indices(inner, lambda indices: indices.substitute(next_variable, following))
    _erase(plan.copies)
    erase_unused(_inputs(plan))
    if next_variable.uses:
        step = arith.ConstantOp(IntegerAttr(count * loop.step_value, INDEX))
        total = arith.AddiOp(loop.iv, step.result)
        for op in (total, step):
            op.location = loop.location
            assert block.first_op is not None
            block.insert_op_before(op, block.first_op)
        next_variable.replace_all_uses_with(total.result)


def _erase(ops: list[Operation]) -> None:
    for op in reversed(ops):
        op.detach()
        op.erase()
