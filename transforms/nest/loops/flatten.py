"""nest-flatten: two perfectly nested loops into one, over buffers that are contiguous over both, or by division.

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

when each access uses both variables as two adjacent indices of an identity layout, the second of which spans its
axis, or uses neither. Where the inner loop has a constant number of iterations, say 16, the two indices may also be
`[8 * %o + %i, %j]`, or one index `16 * %i + %j`. There, where they are neither,

    nest.for "i" %i = 2 to %n {
      nest.for "j" %j = 0 to 4 {
        nest.store "y" %v, %y[%j, %i]
      }
    }
  becomes
    nest.for "i_j" %i_j = 0 to 4 * (%n - 2) {
      nest.store "y" %v, %y[%i_j mod 4, %i_j floordiv 4 + 2]
    }

and where the outer loop has one iteration it goes. Anything else (a broadcast row, a stencil, a stride over an unknown
extent) is refused by name. The order of iterations stays, so no dependence forbids it. `fuse` in Halide and TVM (there
with div and mod always), `fuse_loops`'s cousin in Exo, `flatten` in NNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.buffers import declared_space
from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import sole_inner_loop, trip_count
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.integer_sets import is_never_negative
from ....analysis.nest.values.extent_keys import bound_key, extent_key
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX, name_hint_of
from ..rewrite.loops import fresh_names, materialise, replace_index
from ..rewrite.steps import UNRECORDED, Steps


def why_not_flatten(outer: ForOp, inner: ForOp) -> NestorError | None:
    """The diagnostic that refuses to flatten, None when it is legal."""
    for loop in (outer, inner):
        if (refusal := refuse_marked(loop, "flatten")) is not None:
            return refusal
    refusal = why_not_contiguous(outer, inner, sums=True)
    if refusal is None or sole_inner_loop(outer) is not inner:
        return refusal
    return None if _divided(outer, inner) is not None else refusal


@dataclass(frozen=True, eq=False)
class _Divided:
    """The bounds and step of the flat loop, and the variables of the two loops as expressions of its own one."""

    lower: AffineList
    upper: AffineList
    step: int
    outer: AffineList
    inner: AffineList


def _divided(outer: ForOp, inner: ForOp) -> _Divided | None:
    """How to flatten by division; None where an unknown number would divide."""
    flat = AffineList.of(inner.iv)
    if outer.constant_trip_count() == 1:
        first = AffineList.of(max(outer.lower.constants() or (0,)))
        lower, upper = (bound.substitute(outer.iv, first) for bound in (inner.lower, inner.upper))
        return _Divided(lower, upper, inner.step_value, first, flat)
    rounds, counts = trip_count(outer), trip_count(inner)
    constants = counts.constants() if counts is not None else None
    if rounds is None or constants is None:
        return None
    count = min(constants)
    if count <= 0:
        return _Divided(AffineList.of(0), AffineList.of(0), 1, flat, flat)
    outside = outer.lower.plus(flat.divided(AffineBinaryOpKind.FloorDiv, count).times(outer.step_value))
    inside = flat.divided(AffineBinaryOpKind.Mod, count).times(inner.step_value)
    inside = inner.lower.substitute(outer.iv, outside).plus(inside)
    return _Divided(AffineList.of(0), rounds.times(count), 1, outside.canonical(), inside.canonical())


def why_not_contiguous(outer: ForOp, inner: ForOp, sums: bool = False) -> NestorError | None:
    """The diagnostic that refuses to flatten without divisions, by contiguous buffers.

    With `sums` the variables may be terms of indices, and domains may speak of other variables.
    """
    for loop in (outer, inner):
        if (refusal := refuse_marked(loop, "flatten")) is not None:
            return refusal
        starts = len(loop.lower) == 1 if loop is outer else loop.lower.constants() == (0,)
        if not starts or loop.step_value != 1 or len(loop.upper) != 1:
            return _refusal(
                outer, inner, loop, "they must run in steps of 1 to one bound each, the inner one from 0"
            )
    if sole_inner_loop(outer) is not inner:
        return _refusal(outer, inner, inner, "it is not all of the body of the outer loop")
    if outer.iv in inner.upper.operands:
        return _refusal(outer, inner, inner, "its extent depends on the outer loop")
    uses = dict.fromkeys(use.operation for loop in (outer, inner) for use in loop.iv.uses)
    for op in uses:
        if (refusal := _why_not_use(outer, inner, op, sums)) is not None:
            return refusal
    # an axis that the inner loop spans is not of negative extent; the product of two negative numbers is positive
    counts = (outer, inner) if outer.lower.constants() == (0,) else (inner,)
    if not uses and not any(is_never_negative(loop.upper, outer) for loop in counts):
        return _refusal(outer, inner, inner, "neither bound is known not to be negative")
    return None


def _why_not_use(outer: ForOp, inner: ForOp, op: Operation, sums: bool) -> NestorError | None:
    if not isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
        return _refusal(outer, inner, op, "this operation uses a loop variable as a number")
    where = op.where if isinstance(op, StoreOp | AccumulateOp) else None
    if where is not None and not (sums and {outer.iv, inner.iv}.isdisjoint(where.canonical().operands)):
        return _refusal(outer, inner, op, "the statement has a domain of its own")
    if sums and _sum(op.indices, outer.iv, inner.iv, _count(inner)) is not None:
        return None
    axis = _axis_pair(op.indices, outer.iv, inner.iv, sums and _count(inner) is not None)
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


def _count(inner: ForOp) -> int | None:
    return None if (constants := inner.upper.constants()) is None else min(constants)


def _axis_pair(indices: AffineList, outer: SSAValue, inner: SSAValue, sums: bool) -> int | None:
    """The axis k with indices k, k + 1 = outer, inner, when neither variable occurs elsewhere.

    With `sums` the first one may also be more than the variable: `[8 * %o + %i, %j]`.
    """
    entries = [indices[k].canonical() for k in range(len(indices))]
    using = [k for k, entry in enumerate(entries) if outer in entry.operands or inner in entry.operands]
    if len(using) != 2 or using[1] != using[0] + 1:
        return None
    first, second = (entries[k] for k in using)
    rest = _without(first, outer)
    # what is more than the variable is multiplied by the extent of the inner loop: one that is known
    is_pair = {outer, inner}.isdisjoint(rest.operands) and (sums or first.single_value() is outer)
    return using[0] if is_pair and second.single_value() is inner else None


def _sum(indices: AffineList, outer: SSAValue, inner: SSAValue, count: int | None) -> int | None:
    """The axis whose index is `count * outer + inner` and what does not use them, where they occur nowhere else."""
    entries = [indices[k].canonical() for k in range(len(indices))]
    using = [k for k, entry in enumerate(entries) if outer in entry.operands or inner in entry.operands]
    if count is None or len(using) != 1:
        return None
    rest = _without(_without(entries[using[0]], inner), outer, count)
    return using[0] if {outer, inner}.isdisjoint(rest.operands) else None


def _without(index: AffineList, variable: SSAValue, factor: int = 1) -> AffineList:
    if factor == 1 and index.single_value() is variable:  # most are
        return AffineList.of(0)
    return index.minus(AffineList.of(variable).times(factor)).canonical()


def flatten(outer: ForOp, inner: ForOp | None = None) -> ForOp:
    """Make one loop of the two; both are consumed. Raises the diagnostic of `why_not_flatten`.

    Where it is left out, the inner loop is the one that is all of the outer loop's body.
    """
    inner = inner or sole_inner_loop(outer)
    if inner is None:
        raise fail(outer, f'cannot flatten the loop "{outer.label}": its body is not one loop')
    divided = None
    if why_not_contiguous(outer, inner, sums=True) is not None:
        if (refusal := why_not_flatten(outer, inner)) is not None:
            raise refusal
        divided = _divided(outer, inner)
    return _merge(outer, inner) if divided is None else _divide(outer, inner, divided)


def _divide(outer: ForOp, inner: ForOp, divided: _Divided) -> ForOp:
    name = fresh_names(outer, f"{outer.label}_{inner.label}")[0]
    block, body = outer.parent, inner.body.block
    assert block is not None
    contiguous = _contiguous_accesses(outer, inner)
    views: dict[tuple[SSAValue, int], SSAValue] = {}
    for op in contiguous:
        _flatten_access(op, outer.iv, inner, _count(inner), views)
    numbers = []  # stand for the old variables while the flat loop's own takes the place of the inner one
    for variable in (outer.iv, inner.iv):
        number = UnrealizedConversionCastOp.create(operands=[], result_types=[INDEX])
        number.location = outer.location
        if body.first_op is None:
            body.add_op(number)
        else:
            body.insert_op_before(number, body.first_op)
        variable.replace_uses_with_if(number.results[0], lambda use: use.operation not in contiguous)
        numbers.append(number)
    for number, value in zip(numbers, (divided.outer, divided.inner), strict=True):
        replace_index(number.results[0], value)
        number.detach()
        number.erase()
    flat = ForOp(name, divided.lower, divided.upper, step=divided.step, body=inner.detach_region(inner.body))
    flat.location = outer.location
    flat.attributes.update({**inner.attributes, **outer.attributes})
    flat.iv.name_hint = name_hint_of(name)
    block.insert_op_before(flat, outer)
    _erase_unused(views)
    outer.detach()
    outer.erase()
    return flat


def _contiguous_accesses(outer: ForOp, inner: ForOp) -> list[LoadOp | StoreOp | AccumulateOp]:
    """The accesses that need no division: those that `_why_not_use` has nothing against, of loops that count from 0.

    Of tiles in shared memory, and of what a thread keeps, a kernel makes no views."""
    if any(loop.lower.constants() != (0,) or loop.step_value != 1 for loop in (outer, inner)):
        return []
    if len(outer.upper) != 1 or len(inner.upper) != 1 or outer.iv in inner.upper.operands:
        return []
    uses = {use.operation for loop in (outer, inner) for use in loop.iv.uses}
    accesses = [op for op in inner.walk() if isinstance(op, LoadOp | StoreOp | AccumulateOp) and op in uses]
    accesses = [op for op in accesses if not any(map(_is_of_kernel, op.operands))]
    return [op for op in accesses if _why_not_use(outer, inner, op, sums=True) is None]


def _is_of_kernel(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType) and declared_space(value.type) is not None


def _merge(outer: ForOp, inner: ForOp) -> ForOp:
    name = fresh_names(outer, f"{outer.label}_{inner.label}")[0]
    block = outer.parent
    assert block is not None
    lower, upper = (_rows(outer, bound, inner.upper) for bound in (outer.lower, outer.upper))
    flat = ForOp(name, lower, upper, body=inner.detach_region(inner.body))
    flat.location = outer.location
    flat.attributes.update({**inner.attributes, **outer.attributes})
    flat.iv.name_hint = name_hint_of(name)
    block.insert_op_before(flat, outer)
    views: dict[tuple[SSAValue, int], SSAValue] = {}
    for op in list(flat.body.block.walk()):
        if isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
            _flatten_access(op, outer.iv, flat, _count(inner), views)
    _erase_unused(views)
    outer.detach()
    outer.erase()
    return flat


def _erase_unused(views: dict[tuple[SSAValue, int], SSAValue]) -> None:
    """Remove views that views with fewer axes took the place of."""
    for buffer, _ in views:
        if isinstance(buffer.owner, memref.CollapseShapeOp) and not buffer.uses:
            buffer.owner.detach()
            buffer.owner.erase()


def flatten_neighbours(band: Sequence[ForOp], steps: Steps = UNRECORDED) -> list[ForOp]:
    """Make neighbours of a perfect band one loop wherever that is legal; the band as it is then."""
    done = [band[0]]
    for loop in band[1:]:
        starts = done[-1].lower.constants() == (0,)
        if starts and why_not_contiguous(done[-1], loop) is None:
            done[-1] = steps.do(flatten, done[-1], loop)
        else:
            done.append(loop)
    return done


def _rows(outer: ForOp, bound: AffineList, columns: AffineList) -> AffineList:
    """The elements of as many rows as a bound of the outer loop says."""
    rows, width = bound.constants(), columns.constants()
    if width is not None:
        return bound.times(width[0])
    if rows is not None:
        return columns.times(rows[0])
    place = outer  # or a loop around it that the extents do not depend on: a launch has to know how many blocks there are
    values = (*bound.operands, *columns.operands)
    while isinstance(loop := place.parent_op(), ForOp) and all(is_defined_outside(v, loop) for v in values):
        place = loop
    block = place.parent
    assert block is not None
    product = arith.MuliOp(materialise(bound, block, place), materialise(columns, block, place))
    product.location = outer.location
    block.insert_op_before(product, place)
    return AffineList.of(product.result)


def _flatten_access(
    op: LoadOp | StoreOp | AccumulateOp,
    row: SSAValue,
    flat: ForOp,
    count: int | None,
    views: dict[tuple[SSAValue, int], SSAValue],
) -> None:
    entries = [op.indices[k] for k in range(len(op.indices))]
    if (axis := _sum(op.indices, row, flat.iv, count)) is not None:
        assert count is not None
        entries[axis] = _without(entries[axis].canonical(), row, count)
        _set_indices(op, entries)
        return
    axis = _axis_pair(op.indices, row, flat.iv, sums=True)
    if axis is None:
        return
    for k, operand in enumerate(op.operands):
        if operand in _buffers(op):
            op.operands[k] = _collapsed(operand, axis, flat, views)
    flat_index = AffineList.of(flat.iv)
    rest = _without(entries[axis].canonical(), row)
    if rest.constants() != (0,):
        assert count is not None
        flat_index = rest.times(count).plus(flat_index)
    entries[axis : axis + 2] = [flat_index]
    _set_indices(op, entries)


def _set_indices(op: LoadOp | StoreOp | AccumulateOp, entries: Sequence[AffineList]) -> None:
    """Indices anew; a domain, which does not use the variables, stays."""
    indices = AffineList.of(*entries)
    if isinstance(op, LoadOp):
        op.set_indices(indices)
    else:
        op.set_access(indices, op.where)


def _collapsed(
    buffer: SSAValue, axis: int, flat: ForOp, views: dict[tuple[SSAValue, int], SSAValue]
) -> SSAValue:
    """A view of `buffer` with `axis` and the one after it as one, made before the loops that do not make the buffer."""
    if (buffer, axis) in views:
        return views[buffer, axis]
    source, groups = buffer, [[k] for k in range(len(buffer.type.get_shape()))]  # pyright: ignore
    if isinstance(buffer.owner, memref.CollapseShapeOp):
        source = buffer.owner.src
        groups = [[n.value.data for n in group.data] for group in buffer.owner.reassociation.data]
    groups[axis : axis + 2] = [groups[axis] + groups[axis + 1]]
    reassociation = ArrayAttr([ArrayAttr([IntegerAttr(k, i64) for k in group]) for group in groups])
    place: ForOp = flat
    while isinstance(loop := place.parent_op(), ForOp) and not _is_inside(source, loop):
        place = loop
    if (earlier := _view_before(source, reassociation, place)) is not None:
        views[buffer, axis] = earlier
        return earlier
    view = memref.CollapseShapeOp.create(
        operands=[source],
        properties={"reassociation": reassociation},
        result_types=[_merge_axes(buffer.type, axis)],
    )
    view.location = flat.location
    base = source.name_hint
    view.results[0].name_hint = f"{base}_flat" if base else None
    block = place.parent
    assert block is not None
    block.insert_op_before(view, place)
    views[buffer, axis] = view.results[0]
    return view.results[0]


def _view_before(source: SSAValue, reassociation: ArrayAttr, place: ForOp) -> SSAValue | None:
    """A view of the buffer that was made for an earlier nest of the block: nests then access one buffer."""
    for use in source.uses:
        view = use.operation
        if not isinstance(view, memref.CollapseShapeOp) or view.parent is not place.parent:
            continue
        if view.reassociation == reassociation and view.is_before_in_block(place):
            return view.results[0]
    return None


def _is_inside(value: SSAValue, loop: ForOp) -> bool:
    return loop.is_ancestor(value.owner)


def _merge_axes(buffer_type, axis: int) -> MemRefType:
    shape = list(buffer_type.get_shape())
    pair = shape[axis : axis + 2]
    shape[axis : axis + 2] = [DYNAMIC_INDEX if DYNAMIC_INDEX in pair else pair[0] * pair[1]]
    return MemRefType(buffer_type.element_type, shape, buffer_type.layout, buffer_type.memory_space)
