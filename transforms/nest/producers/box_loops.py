"""Loops of restricted functions that run over a box, from 0 to the extent of the result (part of nest-restrict).

    nest.for "i" %i = %lo - 1 to %hi + 1 { ... nest.store "t" %a, %t[%i - %lo + 1] }

becomes with from-zero

    %n = memref.dim %y, %c0
    nest.for "i" %i = 0 to %n + 2 { ... nest.store "t" %a, %t[%i] }

An extent is never negative, where `hi - lo` may be for all that is known: loops are split without masks, and
those over a box and those over a result run alike. The other bounds stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nest import ForOp
from ....dialects.nest.common import INDEX
from ..loops.normalise import normalise, why_not_normalise

Box = tuple[SSAValue, int, SSAValue, SSAValue]
"""A result, an axis of it, and the arguments that say where the box of it begins and ends along that."""


def run_from_zero(function: FuncOp, boxes: Iterable[Box]) -> None:
    """Let loops over a box run from 0 to the extent of the result, in place."""
    sizes = [(result, axis, AffineList.of(hi).minus(AffineList.of(lo))) for result, axis, lo, hi in boxes]
    for loop in [op for op in function.walk() if isinstance(op, ForOp)]:
        if len(loop.lower) != 1 or len(loop.upper) != 1 or loop.step_value != 1:
            continue
        for result, axis, size in sizes:
            beyond = loop.upper.minus(loop.lower).minus(size).canonical().constants()
            if beyond is None or beyond[0] < 0 or why_not_normalise(loop) is not None:
                continue
            extent = AffineList.of(_extent(function, result, axis)).add(beyond[0])
            normalise(loop).set_bounds(AffineList.of(0), extent.canonical())
            break


def _extent(function: FuncOp, result: SSAValue, axis: int) -> SSAValue:
    block = function.body.block
    first = block.first_op
    assert first is not None
    at = arith.ConstantOp(IntegerAttr(axis, INDEX))
    size = memref.DimOp(result, at.result)
    for op in (at, size):
        op.location = first.location
        block.insert_op_before(op, first)
    return size.result
