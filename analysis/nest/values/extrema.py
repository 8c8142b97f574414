"""Comparisons and selections that are the larger or the smaller one of two numbers, as Python's `max` and `min` are.

    %c = arith.cmpf ogt, %v, %old : f64
    %m = arith.select %c, %v, %old : f64                           max(old, v)

Of integers that is `arith.maxsi`. Of floating-point numbers it is not `arith.maximumf`: a NaN that comes does not win, and
one that is there stays; of two zeros the one that was there stays. Over many that come the result is the same in any
order where those that are NaN count as the smallest, and no two zeros differ: where none is -0.0, or where no zero wins over
what was there at first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from ....dialects.nest import AccumulateOp, LoadOp, StoreOp

_GREATER = {
    "sgt": "maxsi",
    "sge": "maxsi",
    "slt": "minsi",
    "sle": "minsi",
    "ugt": "maxui",
    "uge": "maxui",
    "ult": "minui",
    "ule": "minui",
}
"""What `a` selected over `b` is where `a` compares so with `b`."""

_SWAPPED = {
    "sgt": "slt",
    "sge": "sle",
    "slt": "sgt",
    "sle": "sge",
    "ugt": "ult",
    "uge": "ule",
    "ult": "ugt",
    "ule": "uge",
}


@dataclass(frozen=True)
class Extremum:
    """`combiner` of two values. `keeps` is the one that stays unless the other one wins, of floating-point numbers."""

    combiner: str
    values: tuple[SSAValue, SSAValue]
    keeps: SSAValue | None = None


def extremum_of(value: SSAValue) -> Extremum | None:
    """The larger or smaller one of two numbers that a selection is, None where it is something else."""
    select = value.owner
    if not isinstance(select, arith.SelectOp):
        return None
    compared, (a, b) = select.cond.owner, (select.lhs, select.rhs)
    if not isinstance(compared, arith.CmpiOp | arith.CmpfOp) or {compared.lhs, compared.rhs} != {a, b}:
        return None
    predicate = _predicate(compared)
    if isinstance(compared, arith.CmpiOp):
        predicate = predicate if compared.lhs is a else _SWAPPED.get(predicate, "")
        combiner = _GREATER.get(predicate)
        return None if combiner is None else Extremum(combiner, (a, b))
    if predicate not in ("ogt", "olt"):
        return None
    is_greater = (predicate == "ogt") == (compared.lhs is a)
    return Extremum("maximum" if is_greater else "minimum", (a, b), b)


def _predicate(compared: arith.CmpiOp | arith.CmpfOp) -> str:
    names = (
        arith.CMPI_COMPARISON_OPERATIONS
        if isinstance(compared, arith.CmpiOp)
        else arith.CMPF_COMPARISON_OPERATIONS
    )
    return names[compared.predicate.value.data]


def is_never_negative_zero(value: SSAValue) -> bool:
    """Whether a floating-point value is known not to be -0.0."""
    op = stored_before(value).owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.value.data != 0:
        return True
    return isinstance(op, arith.SIToFPOp) or is_at_least_zero(value)


def is_at_least_zero(value: SSAValue) -> bool:
    """Whether a floating-point value is known to be 0.0, more, or NaN: never -0.0, never less."""
    op = stored_before(value).owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr):
        return op.value.value.data > 0 or (op.value.value.data == 0 and copysign(1, op.value.value.data) > 0)
    if isinstance(op, arith.MulfOp):
        return op.lhs is op.rhs
    if isinstance(op, arith.SelectOp):
        found = extremum_of(op.result)
        return (
            found is not None
            and found.combiner == "maximum"
            and found.keeps is not None
            and is_at_least_zero(found.keeps)
        )
    return isinstance(op, math.AbsFOp | math.ExpOp | arith.UIToFPOp)


def stored_before(value: SSAValue) -> SSAValue:
    """What was stored to an element in the same block, of a value that is loaded from it; the value itself elsewhere."""
    load = value.owner
    if not isinstance(load, LoadOp):
        return value
    op = load.prev_op
    while op is not None and not op.regions:
        if isinstance(op, AccumulateOp):
            return value
        if isinstance(op, StoreOp):
            is_same = op.memref is load.memref and op.indices.canonical() == load.indices.canonical()
            return op.value if is_same and op.where is None and op.mask is None else value
        op = op.prev_op
    return value
