"""Rules for operations on whole tensors: most of them do the same with one axis more.

  %1 = nt.reduce add %0 over [0] : tensor<4xf32> -> tensor<f32>
becomes
  %1 = nt.reduce add %0 over [1] : tensor<8x4xf32> -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nest import LoadOp, StoreOp
from ...dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    DimOp,
    DotOp,
    FromScalarOp,
    OptimizationBarrierOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    StopGradientOp,
    ToScalarOp,
    TransposeOp,
    WindowOp,
)
from ...dialects.nt.common import int_array
from ...dialects.nt.ops import EmptyOp, element_of, shape_of
from .batcher import Batcher, Rule, joined, reads_of, slice_element
from .islands import for_each, island, load_scalar


def _same(b: Batcher, op: Operation, operands: Sequence[SSAValue], **properties: Attribute) -> bool:
    """The operation on stacks, with some properties of its own."""
    made = type(op).create(
        operands=operands,
        result_types=[b.stack_type(r.type) for r in op.results],
        properties={**op.properties, **properties},
        attributes=dict(op.attributes),
    )
    b.add(made)
    for old, result in zip(op.results, made.results, strict=True):
        b.put(old, result)
    return True


def elementwise(b: Batcher, op: Operation) -> bool:
    """Operations on elements: operands that depend on no slice are repeated."""
    return _same(b, op, [b.stack(v) for v in op.operands])


def _broadcast(b: Batcher, op: BroadcastOp) -> bool:
    dims = [0, *[d + 1 for d in op.dims]]
    new = BroadcastOp(b.stack(op.source), dims, b.stack_type(op.result.type), b.sizes_of(op))
    b.put(op.result, b.value(new))
    return True


def _window(b: Batcher, op: WindowOp) -> bool:
    dims = [d + 1 for d in op.dims]
    new = WindowOp(b.stack(op.source), dims, b.stack_type(op.result.type), b.sizes_of(op))
    b.put(op.result, b.value(new))
    return True


def _reshape(b: Batcher, op: ReshapeOp) -> bool:
    new = ReshapeOp(b.stack(op.source), b.stack_type(op.result.type), b.sizes_of(op))
    b.put(op.result, b.value(new))
    return True


def _transpose(b: Batcher, op: TransposeOp) -> bool:
    return _same(b, op, [b.values[op.source]], perm=int_array([0, *[p + 1 for p in op.permutation]]))


def _slice(b: Batcher, op: SliceOp) -> bool:
    sizes, kind = b.sizes_of(op), b.stack_type(op.result.type)
    if any(b.is_stacked(v) for v in op.offset_operands):
        return _slice_of_each(b, op)
    offsets = joined(AffineList.of(0), op.offsets.substitute_all(b.values))
    new = SliceOp(b.stack(op.source), offsets, [1, *op.stride_values], kind, sizes)
    b.put(op.result, b.value(new))
    return True


def _slice_of_each(b: Batcher, op: SliceOp) -> bool:
    """Windows that start elsewhere in each slice: an island looks up where."""
    kind = b.stack_type(op.result.type)
    unknown = iter(b.mapped(op.sizes, op))
    extents = [
        next(unknown) if extent == DYNAMIC_INDEX else AffineList.of(extent) for extent in shape_of(op.result)
    ]
    moving = [v for v in dict.fromkeys(op.offset_operands) if b.is_stacked(v)]

    def body(inputs: list[SSAValue], outputs: list[SSAValue]) -> None:
        with b.loop("slice", b.count) as number:
            offsets = op.offsets
            for value, memref in zip(moving, inputs[1:], strict=True):
                offsets = offsets.substitute(value, load_scalar(b, memref, value.type, number))
            offsets = offsets.substitute_all(b.values)

            def element(at: list[SSAValue]) -> None:
                own = [
                    offsets[k].plus(AffineList.of(i).times(stride))
                    for k, (i, stride) in enumerate(zip(at, op.stride_values, strict=True))
                ]
                first = [AffineList.of(number)] if b.is_stacked(op.source) else []
                loaded = b.value(LoadOp(inputs[0], joined(*first, *own)))
                b.add(StoreOp(loaded, outputs[0], AffineList.of(number, *at), label="slice"))

            for_each(b, extents, element)

    empty = b.value(EmptyOp(kind, b.sizes_of(op)))
    inputs = [b.values[op.source], *[b.values[v] for v in moving]]
    b.put(op.result, island(b, inputs, [empty], body)[0])
    return True


def _reduce(b: Batcher, op: ReduceOp) -> bool:
    if any(b.is_stacked(v) for v in reads_of(op) if v not in op.operands):
        return False  # its combiner differs from slice to slice
    made = ReduceOp.create(
        operands=[b.stack(v) for v in op.inputs],
        result_types=[b.stack_type(r.type) for r in op.results_],
        properties={**op.properties, "dims": int_array([d + 1 for d in op.reduced])},
        attributes=dict(op.attributes),
        regions=[_copied(region, b) for region in op.regions],
    )
    b.add(made)
    for old, result in zip(op.results_, made.results_, strict=True):
        b.put(old, result)
    return True


def _copied(region: Region, b: Batcher) -> Region:
    new = Region()
    region.clone_into(new, value_mapper=dict(b.values))
    return new


def _scan(b: Batcher, op: ScanOp) -> bool:
    return _same(b, op, [b.values[op.source]], axis=IntegerAttr(op.along + 1, i64))


def _dot(b: Batcher, op: DotOp) -> bool:
    """Slices on both sides go side by side; those on one side are an axis of it like any other."""
    left, right = b.is_stacked(op.lhs), b.is_stacked(op.rhs)
    shift = left, right
    batch, contract = [
        tuple([[d + 1 if moved else d for d in axes] for axes, moved in zip(pair, shift, strict=True)])
        for pair in (op.batch, op.contract)
    ]
    operands = b.values[op.lhs], b.values[op.rhs]
    if left and right:
        batch = [0, *batch[0]], [0, *batch[1]]
    before = len(op.free[0])
    if right and not left and not op.free[1]:  # the other way round, slices come first as they are
        operands, batch, contract, before = operands[::-1], batch[::-1], contract[::-1], 0
    value = b.value(DotOp(*operands, contract, batch))  # pyright: ignore
    place = 0
    if not (left and right):
        place = len(op.batch[0]) + (0 if left else before)
    if place:
        rank = len(shape_of(value))
        value = b.value(TransposeOp(value, [place, *[k for k in range(rank) if k != place]]))
    b.put(op.result, value)
    return True


def _dim(b: Batcher, op: DimOp) -> bool:
    b.put(op.result, b.value(DimOp(b.values[op.tensor], op.axis.value.data + 1)), stacked=False)
    return True


def _to_scalar(b: Batcher, op: ToScalarOp) -> bool:
    b.put(op.result, b.cast(b.values[op.tensor], slice_element(op.result.type)))
    return True


def _from_scalar(b: Batcher, op: FromScalarOp) -> bool:
    b.put(op.result, b.cast(b.values[op.scalar], element_of(op.result)))
    return True


def _barrier(b: Batcher, op: OptimizationBarrierOp) -> bool:
    made = b.add(OptimizationBarrierOp([b.values[v] for v in op.inputs]))
    for value, old, new in zip(op.inputs, op.results_, made.results, strict=True):
        b.put(old, new, stacked=b.is_stacked(value))
    return True


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys((*ELEMENTWISE_OPS.values(), CastOp, StopGradientOp), elementwise),
    BroadcastOp: _broadcast,
    WindowOp: _window,
    ReshapeOp: _reshape,
    TransposeOp: _transpose,
    SliceOp: _slice,
    ReduceOp: _reduce,
    ScanOp: _scan,
    DotOp: _dot,
    OptimizationBarrierOp: _barrier,
    DimOp: _dim,
    ToScalarOp: _to_scalar,
    FromScalarOp: _from_scalar,
}  # pyright: ignore
