"""nest-flatten: two perfectly nested loops into one, where every buffer is contiguous over both.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        %v = nest.load %x[%i, %j] : memref<?x?xf32>
        nest.store "y" %v, %out[%i, %j] : memref<?x?xf32>
      }
    }
  becomes
    %x_flat = memref.collapse_shape %x [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    %out_flat = memref.collapse_shape %out [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    %0 = arith.muli %n, %m : index
    nest.for "i_j" %i_j = 0 to %0 {
      %v = nest.load %x_flat[%i_j] : memref<?xf32>
      nest.store "y" %v, %out_flat[%i_j] : memref<?xf32>
    }

Each access uses both variables as two adjacent indices of an identity layout, the second of which spans its
axis, or uses neither; anything else (a broadcast row, a stencil, a stride) is refused by name. The
order of iterations stays, so no dependence forbids it. `fuse` in Halide and TVM (there with div and mod),
`fuse_loops`'s cousin in Exo, `flatten` in NNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import AffineList
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...dialects.nest.common import name_hint_of
from .dependence import is_defined_outside
from .integer_sets import bound_key, extent_key, is_never_negative
from .loops import (
    find_loop,
    fresh_names,
    materialise,
    refuse_marked,
    rewrite_indices,
    sole_inner_loop,
)
from .steps import UNRECORDED, Steps


def why_not_flatten(outer: ForOp, inner: ForOp) -> NestorError | None:
    """The diagnostic that refuses to flatten, None when it is legal."""
    for loop in (outer, inner):
        if (refusal := refuse_marked(loop, "flatten")) is not None:
            return refusal
        if loop.lower.constants() != (0,) or loop.step_value != 1 or len(loop.upper) != 1:
            return _refusal(outer, inner, loop, "the loops must run from 0 to one bound in steps of 1")
    if sole_inner_loop(outer) is not inner:
        return _refusal(outer, inner, inner, "it is not all of the body of the outer loop")
    if outer.iv in inner.upper.operands:
        return _refusal(outer, inner, inner, "its extent depends on the outer loop")
    uses = dict.fromkeys(use.operation for loop in (outer, inner) for use in loop.iv.uses)
    for op in uses:
        if (refusal := _why_not_use(outer, inner, op)) is not None:
            return refusal
    # an axis that the inner loop spans is not of negative extent; the product of two negative numbers is positive
    if not uses and not any(is_never_negative(loop.upper, outer) for loop in (outer, inner)):
        return _refusal(outer, inner, inner, "neither bound is known not to be negative")
    return None


def _why_not_use(outer: ForOp, inner: ForOp, op: Operation) -> NestorError | None:
    if not isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
        return _refusal(outer, inner, op, "this operation uses a loop variable as a number")
    if isinstance(op, (StoreOp, AccumulateOp)) and op.where is not None:
        return _refusal(outer, inner, op, "the statement has a domain of its own")
    axis = _axis_pair(op.indices, outer.iv, inner.iv)
    if axis is None:
        return _refusal(
            outer, inner, op, f"the access does not use {_pair(outer, inner)} as adjacent indices"
        )
    for buffer in _buffers(op):
        assert isinstance(buffer.type, MemRefType)
        if not is_defined_outside(buffer, outer):
            return _refusal(outer, inner, op, "the buffer is made in each iteration")
        if not isinstance(buffer.type.layout, NoneAttr):
            return _refusal(outer, inner, op, "the buffer is not known to be contiguous")
        if extent_key(buffer, axis + 1) != bound_key(inner.upper):
            return _refusal(outer, inner, op, f'the loop "{inner.label}" does not span the axis {axis + 1}')
    return None


def _refusal(outer: ForOp, inner: ForOp, at: Operation, reason: str) -> NestorError:
    return fail(
        outer, f'cannot flatten the loops "{outer.label}" and "{inner.label}": {reason}', notes=[(at, "here")]
    )


def _pair(outer: ForOp, inner: ForOp) -> str:
    return f"[%{outer.iv.name_hint}, %{inner.iv.name_hint}]"


def _buffers(op: LoadOp | StoreOp | AccumulateOp) -> list[SSAValue]:
    return list(op.memrefs) if isinstance(op, AccumulateOp) else [op.memref]


def _axis_pair(indices: AffineList, outer: SSAValue, inner: SSAValue) -> int | None:
    """The axis k with indices k, k + 1 = outer, inner, when neither variable occurs elsewhere."""
    entries = [indices[k] for k in range(len(indices))]
    using = [k for k, entry in enumerate(entries) if outer in entry.operands or inner in entry.operands]
    if len(using) != 2 or using[1] != using[0] + 1:
        return None
    first, second = (entries[k].single_value() for k in using)
    return using[0] if first is outer and second is inner else None


def flatten(outer: ForOp, inner: ForOp) -> ForOp:
    """Make one loop of the two; both are consumed. Raises the diagnostic of `why_not_flatten`."""
    if (refusal := why_not_flatten(outer, inner)) is not None:
        raise refusal
    return _merge(outer, inner)


def _merge(outer: ForOp, inner: ForOp) -> ForOp:
    name = fresh_names(outer, f"{outer.label}_{inner.label}")[0]
    block = outer.parent
    assert block is not None
    flat = ForOp(name, 0, _total(outer, inner), body=inner.detach_region(inner.body))
    flat.location = outer.location
    flat.attributes.update({**inner.attributes, **outer.attributes})
    flat.iv.name_hint = name_hint_of(name)
    block.insert_op_before(flat, outer)
    views: dict[tuple[SSAValue, int], SSAValue] = {}
    for op in list(flat.body.block.walk()):
        if isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
            _flatten_access(op, outer.iv, flat, views)
    for buffer, _ in views:
        if isinstance(buffer.owner, memref.CollapseShapeOp) and not buffer.uses:
            buffer.owner.detach()
            buffer.owner.erase()
    outer.detach()
    outer.erase()
    return flat


def flatten_neighbours(band: Sequence[ForOp], steps: Steps = UNRECORDED) -> list[ForOp]:
    """Make neighbours of a perfect band one loop wherever that is legal; the band as it is then."""
    done = [band[0]]
    for loop in band[1:]:
        if why_not_flatten(done[-1], loop) is None:
            done[-1] = steps.do(flatten, done[-1], loop)
        else:
            done.append(loop)
    return done


def _total(outer: ForOp, inner: ForOp) -> AffineList:
    rows, columns = outer.upper.constants(), inner.upper.constants()
    if columns is not None:
        return outer.upper.times(columns[0])
    if rows is not None:
        return inner.upper.times(rows[0])
    block = outer.parent
    assert block is not None
    from xdsl.dialects import arith

    n = materialise(outer.upper, block, outer)
    m = materialise(inner.upper, block, outer)
    product = arith.MuliOp(n, m)
    product.location = outer.location
    block.insert_op_before(product, outer)
    return AffineList.of(product.result)


def _flatten_access(
    op: LoadOp | StoreOp | AccumulateOp,
    row: SSAValue,
    flat: ForOp,
    views: dict[tuple[SSAValue, int], SSAValue],
) -> None:
    axis = _axis_pair(op.indices, row, flat.iv)
    if axis is None:
        return
    for k, operand in enumerate(op.operands):
        if operand in _buffers(op):
            op.operands[k] = _collapsed(operand, axis, flat, views)
    entries = [op.indices[k] for k in range(len(op.indices))]
    entries[axis : axis + 2] = [AffineList.of(flat.iv)]
    rewrite_indices(op, lambda _: AffineList.of(*entries))


def _collapsed(
    buffer: SSAValue, axis: int, flat: ForOp, views: dict[tuple[SSAValue, int], SSAValue]
) -> SSAValue:
    """A view of `buffer` with `axis` and the one after it as one, made before the loop."""
    if (buffer, axis) in views:
        return views[buffer, axis]
    source, groups = buffer, [[k] for k in range(len(buffer.type.get_shape()))]  # pyright: ignore
    if isinstance(buffer.owner, memref.CollapseShapeOp):
        source = buffer.owner.src
        groups = [[n.value.data for n in group.data] for group in buffer.owner.reassociation.data]
    groups[axis : axis + 2] = [groups[axis] + groups[axis + 1]]
    view = memref.CollapseShapeOp.create(
        operands=[source],
        properties={
            "reassociation": ArrayAttr([ArrayAttr([IntegerAttr(k, i64) for k in group]) for group in groups])
        },
        result_types=[_merge_axes(buffer.type, axis)],
    )
    view.location = flat.location
    base = source.name_hint
    view.results[0].name_hint = f"{base}_flat" if base else None
    block = flat.parent
    assert block is not None
    block.insert_op_before(view, flat)
    views[buffer, axis] = view.results[0]
    return view.results[0]


def _merge_axes(buffer_type, axis: int) -> MemRefType:
    shape = list(buffer_type.get_shape())
    pair = shape[axis : axis + 2]
    shape[axis : axis + 2] = [DYNAMIC_INDEX if DYNAMIC_INDEX in pair else pair[0] * pair[1]]
    return MemRefType(buffer_type.element_type, shape, buffer_type.layout, buffer_type.memory_space)


@dataclass(frozen=True, eq=False)
class NestFlattenPass(ModulePass):
    """Flatten a loop and the one that is all of its body into one loop over contiguous buffers."""

    name = "nest-flatten"

    loop: str
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outer = find_loop(op, self.loop, self.func)
        inner = sole_inner_loop(outer)
        if inner is None:
            raise fail(outer, f'cannot flatten the loop "{outer.label}": its body is not one loop')
        flatten(outer, inner)
