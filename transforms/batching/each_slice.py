"""What has no form for stacks runs for one slice after the other, in a loop that fills the stacks of its results.

    %y = nt.custom_call "numpy.bincount"(%x, %n) ... : (tensor<4xi64>, tensor<i64>) -> tensor<9xi64>
  becomes
    %r = scf.for %s = %c0 to %c8 step %c1 iter_args(%stack = %start) -> (tensor<8x9xi64>) {
      %0 = nt.slice %x[%s, 0] strides [1, 1] : tensor<8x4xi64> -> tensor<1x4xi64>
      %1 = nt.reshape %0 : tensor<1x4xi64> -> tensor<4xi64>
      %2 = nt.custom_call "numpy.bincount"(%1, %n) ... : (tensor<4xi64>, tensor<i64>) -> tensor<9xi64>
      %3 = nt.loops ins(%2 : tensor<9xi64>) outs(%stack : tensor<8x9xi64>) { ... }
      scf.yield %3 : tensor<8x9xi64>
    }

It is right for any operation, with effects and without, and slow: results that differ between slices in shape have no
stack. What such values are made for runs slice by slice with them (`slice_by_slice`): the tape of a loop that each slice
runs another number of times.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.affine import AffineList
from ...dialects.nest import LoadOp, StoreOp
from ...dialects.nt import (
    BroadcastOp,
    ConstantOp,
    CustomCallOp,
    ElementwiseOp,
    LoopsOp,
    ReshapeOp,
    SliceOp,
    ToScalarOp,
)
from ...dialects.nt.common import SizedOp
from ...dialects.nt.ops import CastOp, DotOp, ReduceOp, ScanOp, TransposeOp, element_of, shape_of
from ...dialects.nt.types import kind_of
from ...dialects.remarks import remark
from .batcher import INDEX, Batcher, SlicesDiffer, joined, reads_of
from .islands import for_each, island


def each_slice(b: Batcher, group: Sequence[Operation]) -> None:
    """Run the operations of `group` for each slice, in order."""
    if len(group) == 1:
        name = _name(group[0])
        remark(group[0], f"{name} runs for one slice after the other: it has no form for all slices at once")
    made = {result for op in group for result in op.results}
    inside = {inner for op in group for inner in op.walk()}
    results = [
        result
        for op in group
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ]
    for result in results:
        if not isinstance(result.type, TensorType | IndexType | IntegerType) and not _is_number(result.type):
            raise b.fail(
                group[0], f"nt.batch: {group[0].name} gives {result.type}, of which there are no stacks"
            )
    starts = [_start(b, result) for result in results]
    reads = dict.fromkeys(v for op in group for v in reads_of(op) if v not in made)
    block = Block(arg_types=[INDEX, *[v.type for v in starts]])
    number, *carried = block.args
    number.name_hint = "slice"
    with b.inside(block):
        here = dict(b.values)
        for value in reads:
            if b.is_stacked(value):
                here[value] = _slice_of(b, value, number)
        for op in group:
            b.add_copy(op, here)
        ends = [
            _with_slice(b, here[result], stack, number)
            for result, stack in zip(results, carried, strict=True)
        ]
        b.add(scf.YieldOp(*ends))
    bounds = [_index(b, 0), _count(b), _index(b, 1)]
    loop = b.add(scf.ForOp(*bounds, starts, Region(block)))
    for result, stack in zip(results, loop.results, strict=True):
        b.put(result, stack)
    for value in made.difference(results):
        b.values.pop(value, None)


def slice_by_slice(b: Batcher, ops: Sequence[Operation], differ: SlicesDiffer) -> None:
    """Run a whole function for each slice, but for what depends on none: what differs in shape stays inside a slice."""
    group: list[Operation] = []
    sliced = set(b.stacked)
    try:
        for op in ops:
            b.location = op.location
            if not sliced.isdisjoint(reads_of(op)):
                sliced.update(op.results)
                group.append(op)
                continue
            if group and not is_side_effect_free(op):
                each_slice(b, group)  # effects keep their order
                group = []
            b.copy(op)
        if group:
            b.location = group[0].location
            each_slice(b, group)
    except SlicesDiffer:
        raise differ.error from None
    remark(ops[0], f"this function runs for one slice after the other: {differ.error.diagnostic.message}")


def _name(op: Operation) -> str:
    target = op.properties.get("target")
    return f'{op.name} "{target.data}"' if isinstance(target, StringAttr) else op.name


def _is_number(kind: Attribute) -> bool:
    try:
        return bool(kind_of(kind))
    except TypeError:
        return False


def _index(b: Batcher, value: int) -> SSAValue:
    return b.value(arith.ConstantOp(IntegerAttr(value, INDEX)))


def _count(b: Batcher) -> SSAValue:
    return _index(b, b.slices) if b.slices != DYNAMIC_INDEX else b.count.operands[0]


def _slice_of(b: Batcher, value: SSAValue, number: SSAValue) -> SSAValue:
    """What a stacked value is in one slice."""
    stack = b.values[value]
    shape = shape_of(stack)
    rest = b.dims(stack, range(1, len(shape)))
    element = element_of(stack)
    offsets = AffineList.of(number, *[0] * (len(shape) - 1))
    one = b.value(SliceOp(stack, offsets, [1] * len(shape), TensorType(element, [1, *shape[1:]]), rest))
    own = b.value(ReshapeOp(one, TensorType(element, shape[1:]), rest))
    own.name_hint = value.name_hint
    if isinstance(value.type, TensorType):
        return own
    scalar = b.value(ToScalarOp(own))
    return b.value(arith.IndexCastOp(scalar, INDEX)) if isinstance(value.type, IndexType) else scalar


def _with_slice(b: Batcher, value: SSAValue, stack: SSAValue, number: SSAValue) -> SSAValue:
    """The stack in which slice `number` is `value`."""
    if not isinstance(value.type, TensorType):
        value = b.as_tensor(value)

    def body(inputs: list[SSAValue], outputs: list[SSAValue]) -> None:
        def element(at: list[SSAValue]) -> None:
            loaded = b.value(LoadOp(inputs[0], AffineList.of(*at) if at else AffineList(())))
            b.add(StoreOp(loaded, outputs[0], AffineList.of(number, *at), label="slice"))

        for_each(b, extents, element)

    extents = b.extents(value)
    return island(b, [value], [stack], body)[0]


def _start(b: Batcher, result: SSAValue) -> SSAValue:
    """A stack of the type of all results, before any is known."""
    kind = b.stack_type(result.type)
    sizes = joined(b.sizes, *_unknown(b, result)) if isinstance(result.type, TensorType) else b.sizes
    zero = DenseIntOrFPElementsAttr.from_list(TensorType(kind.element_type, []), [_zero(kind.element_type)])
    return b.value(BroadcastOp(b.value(ConstantOp(zero)), (), kind, sizes))


def _zero(element: Attribute) -> object:
    kind = kind_of(element)
    return (0.0, 0.0) if kind == "c" else (0.0 if kind == "f" else 0)


def _unknown(b: Batcher, value: SSAValue) -> list[AffineList]:
    """The unknown extents of a tensor of the function, told from what is known before it is computed."""
    return [_extent(b, value, axis) for axis, extent in enumerate(shape_of(value)) if extent == DYNAMIC_INDEX]


def _extent(b: Batcher, value: SSAValue, axis: int) -> AffineList:
    """One extent, from what the value is computed of."""
    if value in b.values:
        return b.extents(b.values[value])[axis + (1 if b.is_stacked(value) else 0)]
    owner = value.owner
    if isinstance(owner, BlockArgument | Block):
        return _extent_of_argument(b, value, axis)
    source = _same_extent(owner, value, axis)  # pyright: ignore
    if source is not None:
        return _extent(b, *source)
    if isinstance(owner, SizedOp):
        sizes = owner.sizes_of(value.index) if isinstance(owner, CustomCallOp) else owner.sizes  # pyright: ignore
        place = sum(extent == DYNAMIC_INDEX for extent in shape_of(value)[:axis])
        if all(v in b.values for v in sizes[place].operands):
            return b.mapped(sizes[place], owner)  # pyright: ignore
    raise _unforeseen(b, owner, f"what {owner.name} gives")  # pyright: ignore


def _unforeseen(b: Batcher, op: Operation, what: str) -> SlicesDiffer:
    error = b.fail(
        op,
        f"nt.batch: the shape of {what} is only known once it has run",
        hint="give all slices one shape that the arguments have or that is a constant",
    )
    return SlicesDiffer(error)


def _extent_of_argument(b: Batcher, value: SSAValue, axis: int) -> AffineList:
    """Of what a loop carries: that of what it starts from."""
    loop = value.owner.parent_op()  # pyright: ignore
    if isinstance(loop, scf.ForOp):
        return _extent(b, loop.iter_args[value.index - 1], axis)  # pyright: ignore
    if isinstance(loop, scf.WhileOp):
        return _extent(b, loop.arguments[value.index], axis)  # pyright: ignore
    assert loop is not None
    raise _unforeseen(b, loop, "what it carries")


def _same_extent(op: Operation, value: SSAValue, axis: int) -> tuple[SSAValue, int] | None:
    """A value and its axis with the extent that axis `axis` of a result of `op` has."""
    if isinstance(op, ElementwiseOp | CastOp | ScanOp):
        return op.operands[-1], axis
    if isinstance(op, TransposeOp):
        return op.source, op.permutation[axis]
    if isinstance(op, ReduceOp):
        kept = [d for d in range(len(shape_of(op.inputs[0]))) if d not in op.reduced]
        return op.inputs[0], kept[axis]
    if isinstance(op, DotOp):
        places = [*[(op.lhs, d) for d in op.batch[0]], *[(op.lhs, d) for d in op.free[0]]]
        return [*places, *[(op.rhs, d) for d in op.free[1]]][axis]
    index = value.index  # pyright: ignore
    if isinstance(op, LoopsOp):
        return op.outputs[index], axis
    if isinstance(op, scf.ForOp):
        return op.iter_args[index], axis
    if isinstance(op, scf.WhileOp):
        return op.arguments[index], axis
    if isinstance(op, scf.IfOp):
        return op.true_region.block.last_op.operands[index], axis  # pyright: ignore
    return None
