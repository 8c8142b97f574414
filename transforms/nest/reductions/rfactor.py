"""nest-rfactor: give each iteration of a reduction loop an accumulator of its own.

    nest.for "j.o" %o = 0 to %n floordiv 16 {
      nest.for "j.i" %v = 0 to 16 {
        nest.accumulate "s" add %x, %s[] : memref<f32>
      }
    }
  with loop=j.i becomes
    %s_lanes = nest.alloc "s_lanes" : memref<16xf32>
    nest.for "j.i.init" %l = 0 to 16 {
      nest.store "s" %zero, %s_lanes[%l] : memref<16xf32>
    }
    nest.for "j.o" %o = 0 to %n floordiv 16 {
      nest.for "j.i" %v = 0 to 16 {
        nest.accumulate "s" add %x, %s_lanes[%v] : memref<16xf32>
      }
    }
    nest.for "j.i.combine" %l = 0 to 16 {
      %p = nest.load %s_lanes[%l] : memref<16xf32>
      nest.accumulate "s" add %p, %s[] : memref<f32>
    }

The loop carries no dependence afterwards, so it can be vectorized. It may start anywhere and have a step; how often it
runs must be known before the loop around it. Refused unless the reduction may run in any order (a custom combiner says
so by stating its identity), its element is the same in all iterations of both loops, and nothing else in the outer loop
looks at it but reductions by the same combiner. The total is taken where the loops may have run: the part of the domain
that is fixed during them goes to it as well, and a domain that says that the outer loop runs, where the element may not
exist otherwise. `rfactor` in Halide, TVM and NNC.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.kernels.combiners import identities
from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, parent_loop
from ....analysis.nest.sets.accesses import is_defined_outside, may_overlap
from ....analysis.nest.sets.dependence import Dependences, analyse, kind_of
from ....analysis.nest.sets.integer_sets import System, is_never_negative
from ....analysis.nest.values.extent_keys import bound_key, extent_key
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.loops import fresh_names
from ..rewrite.sizes import size_of


def why_not_rfactor(lanes: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to factor the reductions of `lanes`, None when it is legal."""
    if (refusal := refuse_marked(lanes, "factor") or refuse_in_vector(lanes, "factor")) is not None:
        return refusal
    reductions = reductions_of(lanes)
    if not reductions:
        return _refuse(lanes, "no reduction in its body goes to one element in all iterations")
    outer = parent_loop(lanes)
    if outer is None or lanes.parent_op() is not outer:
        return _refuse(lanes, "no loop is directly around it", hint="split the reduction loop first")
    span = _span(lanes)
    if span is None or not all(is_defined_outside(value, outer) for value in span[1].operands):
        return _refuse(
            lanes, f'how often it runs is not known before the loop "{outer.label}"', hint="split it first"
        )
    if span[1].constants() is None:
        for loop in enclosing_loops(lanes):
            if loop.kind in BIND_AXES:
                return _refuse(
                    lanes,
                    "how often it runs is not a constant, and a kernel allocates only what is",
                    hint="split it first",
                    notes=[(loop, f'the loop "{loop.label}" is bound to {loop.kind}')],
                )
    for op in reductions:
        if (reason := _why_not_reduction(op)) is not None:
            return _refuse(lanes, reason, notes=[(op, "the reduction is here")])
        if _domain_of_total(op, lanes, outer) is None:
            return _refuse(
                lanes,
                "its domain may leave out all iterations, and the total would touch an element that they do not",
                notes=[(op, "the reduction is here")],
            )
    return _why_not_private(lanes, outer, reductions, dependences or analyse(lanes))


def _span(lanes: ForOp) -> tuple[AffineList, AffineList] | None:
    """The first value of the loop's variable, and how often the loop runs; None where no affine expressions say so.

    The second may be negative, where the loop does not run.
    """
    if (trips := lanes.constant_trip_count()) is not None:
        starts = lanes.lower.constants()
        assert starts is not None
        return AffineList.of(max(starts)), AffineList.of(trips)
    if len(lanes.lower) != 1 or len(lanes.upper) != 1:
        return None
    distance = lanes.upper.minus(lanes.lower)
    return lanes.lower, distance.divided(AffineBinaryOpKind.CeilDiv, lanes.step_value)


def _refuse(lanes: ForOp, reason: str, hint: str | None = None, notes=()) -> NestorError:
    return fail(
        lanes, f'cannot factor the reductions of the loop "{lanes.label}": {reason}', hint=hint, notes=notes
    )


def _why_not_reduction(op: AccumulateOp) -> str | None:
    if op.order_name != "any":
        return f"the reduction's order is {op.order_name}"
    if op.combiner.data == "custom" and op.identity is None:
        return "the custom combiner is not declared associative (it states no identity)"
    return None


def _why_not_private(
    lanes: ForOp, outer: ForOp, reductions: Sequence[AccumulateOp], dependences: Dependences
) -> NestorError | None:
    accesses = dependences.accesses_in(outer)
    for target in (a for a in accesses if a.op in reductions):
        for other in accesses:
            if other.op is target.op or kind_of(target, other) == "reduction":
                continue
            if may_overlap(target, other):
                return _refuse(
                    lanes,
                    f'the reduction\'s element is used elsewhere in the loop "{outer.label}"',
                    notes=[(target.op, "the reduction is here"), (other.op, "the other access is here")],
                )
    return None


# ---- where a total is taken -------------------------------------------------------------------------


def _domain_of_total(op: AccumulateOp, lanes: ForOp, outer: ForOp) -> AffineList | None:
    """Where the total of `op` may be taken; None when no domain says where some iteration of `op` runs.

    Adding the identity to an element is harmless, unless nothing else touches the element: it may lie outside
    of the buffer, or belong to another iteration of a parallel loop around.
    """
    fixed, varying = AffineList((), ()), AffineList((), ())
    for k in range(0 if op.where is None else len(op.where)):
        constraint = op.where[k]  # pyright: ignore[reportOptionalSubscript]
        if all(is_defined_outside(value, outer) for value in constraint.operands):
            fixed = fixed.concat(constraint)
        else:
            varying = varying.concat(constraint)
    if _is_touched_anyway(op, outer) or _is_inside_buffer(op, outer):
        return fixed.canonical()
    runs = [
        outer.upper[k].minus(outer.lower[j]).add(-1)
        for k in range(len(outer.upper))
        for j in range(len(outer.lower))
    ]
    needed = [entry for entry in runs if not is_never_negative(entry, outer)]
    domain = AffineList((), ()).concat(fixed)
    for entry in needed:
        domain = domain.concat(entry)
    if op.mask is not None and not is_defined_outside(op.mask, outer):
        return None
    if len(varying) and not _runs_first(varying, domain, lanes, outer):
        return None
    return domain.canonical()


def _runs_first(varying: AffineList, domain: AffineList, lanes: ForOp, outer: ForOp) -> bool:
    """Whether the first iteration of both loops satisfies `varying` wherever `domain` holds."""
    span = _span(lanes)
    if len(outer.lower) != 1 or span is None:
        return False
    first = varying.substitute(lanes.iv, span[0]).substitute(outer.iv, outer.lower)
    if not all(is_defined_outside(value, outer) for value in first.operands):
        return False
    for k in range(len(first)):
        system = System(outer)
        for loop in enclosing_loops(outer):
            system.name(loop.iv, "s")
        for given in system.expressions(domain, "s"):
            system.require(f"{given} >= 0")
        system.require(f"{system.expressions(first[k], 's')[0]} < 0")
        if system.has_solution():
            return False
    return True


def _is_touched_anyway(op: AccumulateOp, outer: ForOp) -> bool:
    """Whether another statement beside `outer` touches the element whenever `outer` is reached."""
    assert outer.parent is not None
    return any(
        isinstance(other, (StoreOp, AccumulateOp))
        and other.where is None
        and other.mask is None
        and other.indices == op.indices
        and all(buffer in other.operands for buffer in op.memrefs)
        for other in outer.parent.ops
    )


def _is_inside_buffer(op: AccumulateOp, outer: ForOp) -> bool:
    """Whether the element exists even if no iteration runs, and no loop around shares elements out to threads."""
    if any(loop.kind not in ("serial", "unrolled") for loop in enclosing_loops(outer)):
        return False
    return all(
        _is_inside_axis(op.indices[axis], b, axis) for b in op.memrefs for axis in range(len(op.indices))
    )


def _is_inside_axis(index: AffineList, buffer: SSAValue, axis: int) -> bool:
    """A cheap proof that an index is in its range: a constant, or the variable of a loop over the axis."""
    extent = extent_key(buffer, axis)
    number = index.constants()
    if number is not None:
        return isinstance(extent, int) and 0 <= number[0] < extent
    value = index.single_value()
    loop = None if value is None or not isinstance(value.owner, Block) else value.owner.parent_op()
    if not isinstance(loop, ForOp):
        return False
    starts = [loop.lower[k].constants() for k in range(len(loop.lower))]
    return any(start is not None and start[0] >= 0 for start in starts) and any(
        bound_key(loop.upper[k]) == extent for k in range(len(loop.upper))
    )


# ---- rewriting --------------------------------------------------------------------------------------


def reductions_of(lanes: ForOp) -> list[AccumulateOp]:
    """The accumulates in the body of `lanes` whose element is the same in all iterations of it and its parent."""
    outer = parent_loop(lanes)
    scope = outer if outer is not None else lanes
    return [
        op
        for op in lanes.body.block.ops
        if isinstance(op, AccumulateOp)
        and all(is_defined_outside(value, scope) for value in (*op.indices.operands, *op.memrefs))
    ]


def rfactor(lanes: ForOp, dependences: Dependences | None = None) -> tuple[ForOp, ForOp]:
    """Factor every reduction of `lanes`; returns the loops that set the accumulators up and combine them."""
    if (refusal := why_not_rfactor(lanes, dependences)) is not None:
        raise refusal
    outer, span = parent_loop(lanes), _span(lanes)
    assert outer is not None and span is not None and outer.parent is not None
    start, extent = span
    init_name, combine_name = fresh_names(lanes, f"{lanes.label}.init", f"{lanes.label}.combine")
    init, combine = ForOp(init_name, 0, extent), ForOp(combine_name, 0, extent)
    init.location = combine.location = lanes.location
    outer.parent.insert_op_before(init, outer)
    outer.parent.insert_op_after(combine, outer)
    size = size_of(extent, init)
    position = AffineList.of(lanes.iv).minus(start).divided(AffineBinaryOpKind.FloorDiv, lanes.step_value)
    for op in reductions_of(lanes):
        domain = _domain_of_total(op, lanes, outer)
        assert domain is not None
        _factor(op, position, size, outer, init, combine, domain)
    return init, combine


def _factor(
    op: AccumulateOp,
    position: AffineList,
    size: int | SSAValue,
    outer: ForOp,
    init: ForOp,
    combine: ForOp,
    domain: AffineList,
) -> None:
    buffers = [_lane_buffer(op, memref, size, init) for memref in op.memrefs]
    for buffer, neutral in zip(buffers, identities(op), strict=True):
        zero = arith.ConstantOp(neutral)
        store = StoreOp(zero.result, buffer, AffineList.of(init.iv), label=op.statement)
        zero.location = store.location = op.location
        init.parent.insert_op_before(zero, init)  # pyright: ignore[reportOptionalMemberAccess]
        init.body.block.add_op(store)
    partials = [LoadOp(buffer, AffineList.of(combine.iv)) for buffer in buffers]
    total = AccumulateOp(
        op.combiner.data,
        [partial.result for partial in partials],
        op.memrefs,
        op.indices,
        label=op.statement,
        where=domain if domain else None,
        mask=op.mask if op.mask is not None and is_defined_outside(op.mask, outer) else None,
        identity=op.identity,
        combine=None if op.combine is None else op.combine.clone(),
    )
    for new in (*partials, total):
        new.location = op.location
        combine.body.block.add_op(new)
    for k in range(len(buffers)):
        op.operands[len(op.values) + k] = buffers[k]
    op.set_access(position, op.where)


def _lane_buffer(op: AccumulateOp, memref: SSAValue, size: int | SSAValue, before: Operation) -> SSAValue:
    assert isinstance(memref.type, MemRefType) and before.parent is not None
    name = f"{memref.name_hint or op.statement or 'acc'}_lanes"
    shape, sizes = ([size], []) if isinstance(size, int) else ([DYNAMIC_INDEX], [size])
    alloc = AllocOp(name, MemRefType(memref.type.element_type, shape), sizes)
    alloc.location = op.location
    before.parent.insert_op_before(alloc, before)
    return alloc.memref
