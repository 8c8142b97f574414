"""Products of tensors as fusions: the sum of a product of broadcast operands.

    %c = nt.dot %a, %b contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  becomes
    %c = nt.fusion "c" {
      %0 = nt.broadcast %a along [0, 2] : tensor<4x5xf32> -> tensor<4x6x5xf32>
      %1 = nt.transpose %b perm [1, 0] : tensor<5x6xf32> -> tensor<6x5xf32>
      %2 = nt.broadcast %1 along [1, 2] : tensor<6x5xf32> -> tensor<4x6x5xf32>
      %3 = nt.multiply %0, %2 : tensor<4x6x5xf32>
      %4 = nt.reduce add %3 over [2] : tensor<4x6x5xf32> -> tensor<4x6xf32>
      nt.yield %4 : tensor<4x6xf32>
    } : tensor<4x6xf32>

The space is the batch axes, the free axes of both sides, and last the axes that are summed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    DimOp,
    DotOp,
    FusionOp,
    ReduceOp,
    TransposeOp,
    YieldOp,
)
from ...dialects.nt.ops import element_of, shape_of


def expand_dots(function: Operation) -> None:
    """Replace every nt.dot in `function` by the fusion that computes it."""
    for op in list(function.walk()):
        if isinstance(op, DotOp):
            _expand(op)


def _expand(op: DotOp) -> None:
    block = op.parent
    assert block is not None
    body = Block()

    def extent_of(value: SSAValue, axis: int) -> SSAValue:
        dim = DimOp(value, axis)
        dim.location = op.location
        block.insert_op_before(dim, op)
        return dim.result

    value = sum_of_products(op, body.add_op, extent_of)
    add_end = YieldOp(value)
    add_end.location = op.location
    body.add_op(add_end)
    fusion = FusionOp(op.result.name_hint or "dot", Region(body), [op.result.type])
    fusion.location = op.location
    fusion.results[0].name_hint = op.result.name_hint
    block.insert_op_before(fusion, op)
    op.result.replace_all_uses_with(fusion.results[0])
    block.erase_op(op)


def sum_of_products(
    op: DotOp, emit: Callable[[Operation], None], extent_of: Callable[[SSAValue, int], SSAValue]
) -> SSAValue:
    """Emit the operations that compute a product; gives their result. `extent_of`: the unknown extent of an axis."""
    element = element_of(op.result)

    def add(inner: Operation) -> SSAValue:
        inner.location = op.location
        emit(inner)
        return inner.results[0]

    shape, sizes = _space(op, extent_of)
    operands: list[SSAValue] = []
    for value, along, order in zip((op.lhs, op.rhs), _places(op), _orders(op), strict=True):
        if element_of(value) != element:
            value = add(CastOp(value, TensorType(element, shape_of(value))))
        if list(order) != sorted(order):
            value = add(TransposeOp(value, order))
        operands.append(add(BroadcastOp(value, along, TensorType(element, shape), sizes)))
    is_bool = element == i1
    product = ELEMENTWISE_OPS["logical_and" if is_bool else "multiply"]
    value = add(product.create(operands=operands, result_types=[operands[0].type]))
    summed = range(len(shape) - len(op.contract[0]), len(shape))
    if summed:
        value = add(ReduceOp("or" if is_bool else "add", [value], list(summed)))
    value.name_hint = op.result.name_hint
    return value


def _orders(op: DotOp) -> list[list[int]]:
    """The axes of each operand in the order of the space."""
    return [[*b, *f, *c] for b, f, c in zip(op.batch, op.free, op.contract, strict=True)]


def _places(op: DotOp) -> list[list[int]]:
    """The axis of the space that each of these axes is."""
    batch, contract = len(op.batch[0]), len(op.contract[0])
    left, right = map(len, op.free)
    last = batch + left + right
    summed = list(range(last, last + contract))
    first = list(range(batch))
    return [
        [*first, *range(batch, batch + left), *summed],
        [*first, *range(batch + left, last), *summed],
    ]


def _space(op: DotOp, extent_of: Callable[[SSAValue, int], SSAValue]) -> tuple[Sequence[int], AffineList]:
    """The extents of the space, and values for the unknown ones."""
    axes = [(op.lhs, d) for d in (*op.batch[0], *op.free[0])]
    axes += [(op.rhs, d) for d in op.free[1]] + [(op.lhs, d) for d in op.contract[0]]
    other = {(op.lhs, a): (op.rhs, b) for pair in (op.batch, op.contract) for a, b in zip(*pair, strict=True)}
    shape: list[int] = []
    unknown: list[SSAValue] = []
    for place in axes:
        if shape_of(place[0])[place[1]] == DYNAMIC_INDEX and place in other:
            place = other[place]
        extent = shape_of(place[0])[place[1]]
        shape.append(extent)
        if extent == DYNAMIC_INDEX:
            unknown.append(extent_of(*place))
    return shape, AffineList.of(*unknown)
