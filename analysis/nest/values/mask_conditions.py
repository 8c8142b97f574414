"""What must hold of loop variables where a mask is true: comparisons of indices, as affine conditions.

%a = arith.index_cast %i : index to i64
%b = arith.index_cast %j : index to i64
%c = arith.cmpi sge, %a, %b : i64                      conditions_of(%d) == [%i - %j, 99 - (%i - %j)], each >= 0
%e = arith.cmpi slt, (%a - %b), 100 : i64
%d = arith.andi %c, %e : i1

They are necessary: a condition that is not affine is left out, so that the mask may be false where all of them hold.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList, constant_of

_LARGEST = 1 << 31
"""Constants below which sums of 64 bits of them and indices cannot overflow."""

_SIGNED = {2: (-1, 1, -1), 3: (-1, 1, 0), 4: (1, -1, -1), 5: (1, -1, 0)}
"""By predicate: factors of the two sides, and what is added, for a number that is >= 0 where it holds."""


def conditions_of(mask: SSAValue) -> list[AffineList]:
    """Expressions that are >= 0 wherever the mask is true."""
    op = mask.owner
    if isinstance(op, arith.AndIOp):
        return [*conditions_of(op.lhs), *conditions_of(op.rhs)]
    if isinstance(op, arith.SelectOp) and constant_of(op.rhs) == 0:
        return [*conditions_of(op.cond), *(conditions_of(op.lhs) if constant_of(op.lhs) is None else [])]
    if not isinstance(op, arith.CmpiOp):
        return []
    left, right = index_of(op.lhs), index_of(op.rhs)
    if left is None or right is None:
        return []
    predicate = op.predicate.value.data
    if predicate == 0:
        return [left.minus(right).canonical(), right.minus(left).canonical()]
    if predicate not in _SIGNED:
        return []
    a, b, more = _SIGNED[predicate]
    return [left.times(a).plus(right.times(b)).add(more).canonical()]


def index_of(value: SSAValue) -> AffineList | None:
    """The affine expression of indices that an integer is, None where it is none or could overflow."""
    if isinstance(value.type, IntegerType) and value.type.width.data < 64:
        return None
    number = constant_of(value)
    if number is not None:
        return AffineList.of(number) if abs(number) < _LARGEST else None
    op = value.owner
    if isinstance(op, arith.IndexCastOp):
        return index_of(op.input)
    if isinstance(op, arith.AddiOp | arith.SubiOp):
        left, right = index_of(op.lhs), index_of(op.rhs)
        if left is None or right is None:
            return None
        return left.plus(right) if isinstance(op, arith.AddiOp) else left.minus(right)
    if isinstance(op, arith.MuliOp):
        for value_side, factor_side in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            factor, rest = constant_of(factor_side), index_of(value_side)
            if factor is not None and rest is not None and abs(factor) < _LARGEST:
                return rest.times(factor)
        return None
    return AffineList.of(value) if isinstance(value.type, IndexType) else None
