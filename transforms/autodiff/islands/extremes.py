"""Cotangents of running extremes and products: each term is compared with what came of all of them.

    nest.accumulate maximum %v, %m[]        cv = %v == %m ? cm / (how many terms are equal to it) : 0
    nest.accumulate mul %v, %p[]            cv = cp * (the product of all other terms), zeros or not

The final contents, the number of equal terms, the product of the terms that are not zero: each is in a buffer that the
statements fill again. It works for buffers that the island makes for itself, starts from constants, and reads when all
terms are in: what a reduction of an array inside of a loop is.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.sets.accesses import buffer_name
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from .primal import END, Primal
from .recompute import Recompute
from .refusals import refused
from .scalars import Scalars

COMBINERS = ("maximum", "minimum", "mul")


def require_reduction(op: AccumulateOp, primal: Primal) -> AllocOp:
    """The buffer of an accumulate that is part of a reduction. Raises the diagnostic where it is none."""
    buffer, combiner = op.memrefs[0], op.combiner.data
    alloc = buffer.owner
    if combiner not in COMBINERS or not isinstance(alloc, AllocOp):
        raise refused(op, f"'accumulate {combiner}' into {buffer_name(buffer)} is not differentiated yet")
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, LoadOp):
            if user.result in primal.active and primal.free(user) != END:
                raise refused(
                    user, f"{buffer_name(buffer)} is read before 'accumulate {combiner}' has all terms"
                )
        elif isinstance(user, StoreOp):
            if user.value in primal.active or primal.dependences.distance(op, user):
                raise refused(user, f"{buffer_name(buffer)} is stored to, and a reduction by '{combiner}'")
        elif not isinstance(user, AccumulateOp) or user.combiner.data != combiner:
            raise refused(user, f"{buffer_name(buffer)} is a reduction by '{combiner}', and more")
    return alloc


def of_term(
    op: AccumulateOp, cotangent: SSAValue, at: AffineList, values: Recompute, by: Scalars
) -> SSAValue:
    """The cotangent of the value that `op` accumulates, by that of the result; `at` is its element."""
    alloc = require_reduction(op, values.primal)
    term = by.formula(values.value(op.values[0]))
    c = by.formula(cotangent)

    def load(buffer: SSAValue) -> SSAValue:
        new = LoadOp(buffer, at)
        new.location = op.location
        by.insert(new)
        return new.result

    if op.combiner.data == "mul":
        rest = by.formula(load(values.beside(alloc, "_others", _not_zero)))
        zeros = by.formula(load(values.beside(alloc, "_zeros", _is_zero)))
        is_zero = term.equals(0.0)
        others = is_zero.where(
            zeros.equals(1.0).where(rest, 0.0), zeros.equals(0.0).where(rest / is_zero.where(1.0, term), 0.0)
        )
        return (c * others).value
    final = values.beside(alloc, "", None)
    ties = values.beside(alloc, "_ties", _equal_to(final))
    wins = term.equals(by.formula(load(final)))
    return wins.where(c / by.formula(load(ties)), 0.0).value


Insert = Callable[[Operation], object]


def _scalars(op: Operation, insert: Insert) -> Scalars:
    def put(new: Operation) -> None:
        new.location = op.location
        insert(new)

    return Scalars(put, op.location)


def _not_zero(op: Operation, value: SSAValue, at: AffineList, insert: Insert) -> tuple[SSAValue, str]:
    v = _scalars(op, insert).formula(value)
    return v.equals(0.0).where(1.0, v).value, "mul"


def _is_zero(op: Operation, value: SSAValue, at: AffineList, insert: Insert) -> tuple[SSAValue, str]:
    v = _scalars(op, insert).formula(value)
    return _one_where(v.equals(0.0), v), "add"


def _equal_to(final: SSAValue) -> Callable[..., tuple[SSAValue, str]]:
    def change(op: Operation, value: SSAValue, at: AffineList, insert: Insert) -> tuple[SSAValue, str]:
        by = _scalars(op, insert)
        total = LoadOp(final, at)
        total.location = op.location
        insert(total)
        v = by.formula(value)
        return _one_where(v.equals(by.formula(total.result)), v), "add"

    return change


def _one_where(condition, like) -> SSAValue:
    by = like.builder
    return condition.where(by.formula(by.uniform(1.0, like.value)), 0.0).value
