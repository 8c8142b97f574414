"""nest-rolling-buffer: keep what an iteration of a loop has computed of a buffer, and compute the new elements only.

    %t = nest.alloc "t"(%n) : memref<?xf32>
    nest.for "o" %o = 0 to %n - 2 {
      nest.for "i" %i = %o to %o + 3 {
        ... nest.store "t" %b, %t[%i]
      }
      ... nest.load %t[%o] ... nest.load %t[%o + 2] ...
    }

becomes with buffer=t, loop=o

    %t = nest.alloc "t" : memref<3xf32>
    nest.for "o.first" %f = 0 to min(1, %n - 2) {
      nest.for "i.first" %i = 0 to 2 {
        ... nest.store "t" %b, %t[%i mod 3]
      }
    }
    nest.for "o" %o = 0 to %n - 2 {
      nest.for "i" %i = %o + 2 to %o + 3 {
        ... nest.store "t" %b, %t[%i mod 3]
      }
      ... nest.load %t[%o mod 3] ... nest.load %t[(%o + 2) mod 3] ...
    }

The producer is in the body of the loop, as nest-compute-at leaves it: each iteration computes a window of the
buffer, and windows of neighbours overlap along one axis. What the first iteration would have found of an iteration
before is computed before the loop (without the loop "o.first" where "o" is known to run). With storage=whole the
buffer stays as large as it is; a circular one has the elements of one window along that axis. Refused unless an
element that is left out holds what would be computed again: the iteration before has computed it, from the same things.
The sliding window and storage folding of Halide, `rolling_buffer` in TVM; Exo and NNC have no name for it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.footprint import Range
from ....analysis.nest.sets.producers import allocation_of, substitute
from ....analysis.nest.sets.rolling_window import (
    Part,
    RollingPlan,
    Statement,
    Storage,
    runs_always,
    start_of,
)
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, StoreOp
from ..loops.normalise import runs_twice
from ..rewrite.buffers import replace_extents
from ..rewrite.loops import add_domain, fresh_names, replace_index, simplify_bounds
from ..rewrite.sizes import like, replace
from .rolling_buffer_plan import plan_rolling


def why_not_rolling_buffer(
    buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage = "circular"
) -> NestorError | None:
    """The diagnostic that refuses to roll the buffer in the loop, None when it is legal."""
    if not runs_twice(loop):
        return None
    try:
        plan_rolling(buffer, loop, storage)
    except NestorError as refusal:
        return refusal
    return None


def rolling_buffer(
    buffer: AllocOp | SSAValue, loop: ForOp, storage: Storage = "circular"
) -> tuple[AllocOp, Operation | None]:
    """Compute in each iteration of `loop` only those elements of `buffer` that the one before has not computed.

    Returns the buffer, a new one where it became smaller, and the producer that runs before the loop (its last nest; None
    where the first iteration finds nothing). A loop of one iteration has nothing to keep, and stays as it is. Raises the
    diagnostic of `why_not_rolling_buffer`.
    """
    if not runs_twice(loop):
        return allocation_of(buffer, "roll"), None
    plan = plan_rolling(buffer, loop, storage)
    alloc = plan.uses.alloc if plan.length is None else _fold(plan, plan.length)
    first = _compute_first(plan)
    _shorten(plan.new)
    return alloc, first


def _fold(plan: RollingPlan, length: int) -> AllocOp:
    """Replace the buffer by one that has `length` elements along the axis, used in turn."""
    uses, axis = plan.uses, plan.axis
    replace_extents(uses)
    old = uses.alloc
    assert isinstance(old.memref.type, MemRefType)
    rest = iter(old.sizes)
    sizes: list[int | SSAValue] = [
        next(rest) if n == DYNAMIC_INDEX else n for n in old.memref.type.get_shape()
    ]
    sizes[axis] = length
    new = like(old, sizes, old)
    for op in (*uses.loads, *uses.writes):
        indices = [op.indices[k] for k in range(len(op.indices))]
        indices[axis] = indices[axis].divided(AffineBinaryOpKind.Mod, length)
        op.set_indices(AffineList.of(*indices).canonical())
    replace(old, new)
    return new


def _compute_first(plan: RollingPlan) -> Operation | None:
    """Compute before the loop what its first iteration finds there; the last nest that does."""
    loop, block = plan.loop, plan.loop.parent
    assert block is not None
    start = start_of(loop)
    known = plan.parts()[1].extents[plan.axis].substitute(loop.iv, start).constants()
    if known is not None and known[0] <= 0:
        return None
    once = ForOp(fresh_names(loop, f"{loop.label}.first")[0], start, loop.upper.concat(start.add(1)))
    once.location, once.iv.name_hint = loop.location, loop.iv.name_hint
    block.insert_op_before(once, loop)
    values: dict[SSAValue, SSAValue] = {loop.iv: once.iv}
    copy_of: dict[Operation, Operation] = {}
    for op in loop.body.block.ops:
        if op in plan.needed or op in plan.producers:
            copy = op.clone(values)
            once.body.block.add_op(copy)
            copy_of |= dict(zip(op.walk(), copy.walk(), strict=True))
    for inner in (inner for op in plan.producers for inner in loops_in(copy_of[op])):
        inner.set_label(fresh_names(loop, f"{inner.label}.first")[0])
    change = {old: AffineList.of(new) for old, new in values.items()}
    change[loop.iv] = start
    replace_index(once.iv, start)
    if runs_always(loop):
        for op in list(once.body.block.ops):
            op.detach()
            block.insert_op_before(op, once)
        once.detach()
        once.erase()
    else:
        simplify_bounds(once)
    _shorten(
        Part(
            {_loop(copy_of[inner]): _moved(by, change) for inner, by in plan.first.ranges.items()},
            {_statement(copy_of[op]): substitute(c, change) for op, c in plan.first.domains.items()},
        )
    )
    return copy_of[plan.producers[-1]]


def _moved(by: Range, change: dict[SSAValue, AffineList]) -> Range:
    return Range([substitute(b, change) for b in by.lowers], [substitute(b, change) for b in by.uppers])


def _loop(op: Operation) -> ForOp:
    assert isinstance(op, ForOp)
    return op


def _statement(op: Operation) -> Statement:
    assert isinstance(op, (StoreOp, AccumulateOp))
    return op


def _shorten(part: Part) -> None:
    for inner, by in part.ranges.items():
        inner.set_bounds(
            inner.lower.concat(AffineList.of(*by.lowers)), inner.upper.concat(AffineList.of(*by.uppers))
        )
        simplify_bounds(inner)
    for op, constraint in part.domains.items():
        add_domain(op, constraint)
