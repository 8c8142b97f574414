"""nt.dot: the cotangent of one operand is the product of the result's with the other operand.

  %r = nt.dot %a, %b contract [1] x [0] : tensor<3x5xf32>, tensor<5x4xf32> -> tensor<3x4xf32>
has the cotangents
  %ca = nt.dot %cr, %b contract [1] x [1]       // of %a: 3x5
  %cb = nt.dot %a, %cr contract [0] x [0]       // of %b: 5x4
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....dialects.nt.ops import DotOp, element_of, shape_of
from ..builder import Builder
from .convolutions import source_cotangent, windows_of
from .elementwise import add_all

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse


def dot_forward(op: DotOp, by: Forward) -> Sequence[SSAValue | None]:
    terms = []
    for side, value in enumerate((op.lhs, op.rhs)):
        tangent = by.of(value)
        if tangent is not None:
            pair = (tangent, op.rhs) if side == 0 else (op.lhs, tangent)
            terms.append(by.builder.value(DotOp(*pair, op.contract, op.batch)))
    return [add_all(terms, by.builder)]


def dot_reverse(op: DotOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    cotangent = cotangents[0]
    assert cotangent is not None
    b = to.builder
    # Halves have products in float32: their cotangents are of the halves' type when they meet the operands.
    narrow = b.cast(cotangent, element_of(op.lhs))
    for side, value in enumerate((op.lhs, op.rhs)):
        if not to.wants(value):
            continue
        window = windows_of(op, side)
        if window is None:
            to.add(value, b.cast(_of_side(op, narrow, side, b), element_of(value)))
        elif to.wants(window.source):
            product = source_cotangent(op, window, narrow, side, b)
            to.add(window.source, b.cast(product, element_of(value)))


def _of_side(op: DotOp, cotangent: SSAValue, side: int, b: Builder) -> SSAValue:
    """The cotangent of one operand. The operands of the product keep their sides, so that axes come in the right order."""
    other = (op.rhs, op.lhs)[side]
    batch, contract, free = op.batch, op.contract, op.free
    count = len(batch[0])
    # axes of the cotangent: batch, free axes of lhs, free axes of rhs
    middle = count + len(free[0])
    theirs = list(range(count, middle)) if side == 1 else list(range(middle, middle + len(free[1])))
    summed, batches = (theirs, list(free[1 - side])), (list(range(count)), list(batch[1 - side]))
    # what is left of the other operand are the axes that it shared, in its own order
    shared = [d for d in range(len(shape_of(other))) if d in contract[1 - side]]
    shared = [contract[side][contract[1 - side].index(d)] for d in shared]
    if side == 0:
        product = b.value(DotOp(cotangent, other, summed, batches))
        order = [*batch[0], *free[0], *shared]
    else:
        product = b.value(DotOp(other, cotangent, summed[::-1], batches[::-1]))
        order = [*batch[1], *shared, *free[1]]
    return b.transpose(product, [order.index(k) for k in range(len(order))])
