"""Reductions and running results.

    %s = nt.reduce add %x over [1]         // the cotangent of %x is that of %s, repeated
    %m = nt.reduce maximum %x over [1]     // it goes to the elements that are the maximum, which share
    %p = nt.reduce multiply %x over [1]    // times the product of all other elements, zeros or not
    %c = nt.scan multiply %x along 0       // a recurrence that runs backwards: c[i] = t[i] + x[i + 1] * c[i + 1]

A scan by any operation f has r[i] = f(r[i - 1], x[i]): with the partial derivatives a of the first operand and b of the
second, forward mode is t[i] = a[i] * t[i - 1] + b[i] * tx[i], reverse mode is the same from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i64
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.ops import DimOp, IotaOp, ReduceOp, ScanOp, SliceOp, element_of, shape_of
from ..builder import Builder, Formula
from ..loops import linear_recurrence, shift
from ..masks import CHOOSING, Mask
from ..missing import missing

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse


def _kept(op: ReduceOp) -> list[int]:
    return [d for d in range(len(shape_of(op.inputs[0]))) if d not in op.reduced]


def reduce_forward(op: ReduceOp, by: Forward) -> Sequence[SSAValue | None]:
    b, combiner = by.builder, op.combiner.data
    source = op.inputs[0]
    tangent = by.of(source)
    if combiner == "add" and tangent is not None:
        return [b.value(ReduceOp("add", [tangent], op.reduced, order=op.order_name))]
    if combiner in ("maximum", "minimum") and tangent is not None:
        return [b.sum(_of_winners(op, tangent, b), op.reduced)]
    if combiner == "multiply" and tangent is not None:
        return [b.sum(b.elementwise("multiply", tangent, _others_product(source, op.reduced, b)), op.reduced)]
    raise missing(op)


def reduce_reverse(op: ReduceOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    b, combiner, source = to.builder, op.combiner.data, op.inputs[0]
    if combiner not in ("add", "maximum", "minimum", "multiply"):
        raise missing(op)
    assert cotangents[0] is not None
    if not to.wants(source):
        return
    repeated = b.broadcast(cotangents[0], _kept(op), source)
    if combiner == "add":
        to.add(source, repeated)
    elif combiner == "multiply":
        product = b.elementwise("multiply", repeated, _others_product(source, op.reduced, b))
        if to.masked is Mask.ALL:
            product = b.formula(repeated).equals(0.0).where(0.0, b.formula(product)).value
        to.add(source, product)
    else:
        to.add(source, _of_winners(op, repeated, b), masked=Mask.ALL)


def _of_winners(op: ReduceOp, values: SSAValue, b: Builder) -> SSAValue:
    """`values` where an element is the extreme one, divided by how many are; zero elsewhere."""
    source = op.inputs[0]
    extreme = b.broadcast(op.results_[0], _kept(op), source)
    wins = b.formula(source).equals(b.formula(extreme))
    count = b.sum(b.cast(wins.value, element_of(source)), op.reduced)
    share = b.elementwise("divide", values, b.broadcast(count, _kept(op), source))
    return wins.where(b.formula(share), 0.0).value


def _others_product(source: SSAValue, axes: Sequence[int], b: Builder) -> SSAValue:
    """For each element, the product of all others along `axes`: those before it times those behind it."""
    result: SSAValue | None = None
    rest, remaining = source, list(range(len(shape_of(source))))
    for axis in sorted(axes, reverse=True):
        at = remaining.index(axis)
        before = _exclusive(rest, at, b)
        behind = flipped(_exclusive(flipped(rest, at, b), at, b), at, b)
        others = b.broadcast(b.elementwise("multiply", before, behind), remaining, source)
        result = others if result is None else b.elementwise("multiply", result, others)
        rest = b.value(ReduceOp("multiply", [rest], [at]))
        remaining.remove(axis)
    assert result is not None
    return result


def _exclusive(value: SSAValue, axis: int, b: Builder) -> SSAValue:
    """Products of the elements before each one; 1 before the first."""
    return b.value(ScanOp("multiply", shift(b, value, axis, b.uniform(1.0, value)), axis))


# ---- running results -------------------------------------------------------------------------------------


def scan_forward(op: ScanOp, by: Forward) -> Sequence[SSAValue | None]:
    b, tangent = by.builder, by.of(op.source)
    assert tangent is not None
    if op.combiner.data == "add":
        return [b.value(ScanOp("add", tangent, op.along))]
    of_result, of_element = _partials(op, b)
    return [linear_recurrence(b, of_result, of_element(tangent), op.along)]


def scan_reverse(op: ScanOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    b, cotangent, axis = to.builder, cotangents[0], op.along
    assert cotangent is not None
    if not to.wants(op.source):
        return
    back = flipped(cotangent, axis, b)
    if op.combiner.data == "add":
        to.add(op.source, flipped(b.value(ScanOp("add", back, axis)), axis, b))
        return
    of_result, of_element = _partials(op, b)
    # what the next element took of this one: the factors, one place further
    factors = shift(b, flipped(of_result, axis, b), axis, b.zeros(cotangent))
    total = flipped(linear_recurrence(b, factors, back, axis), axis, b)
    to.add(op.source, of_element(total), masked=Mask.ALL if op.row.name in CHOOSING else Mask.NONE)


def _partials(op: ScanOp, b: Builder) -> tuple[SSAValue, Callable[[SSAValue], SSAValue]]:
    """The partial derivatives by the result before (zero at the start), and the product with those by the element."""
    if op.row.partials is None:
        raise missing(op)
    axis, of_before, of_element = op.along, op.row.partials[0], op.row.partials[1]
    first = _is_first(op.source, axis, b)
    before = b.formula(shift(b, op.result, axis, op.source))
    x, r = b.formula(op.source), b.formula(op.result)
    one = b.formula(b.uniform(1.0, op.source))
    factor = of_before(one, before, x, r)
    factors = b.zeros(op.source) if factor is None else first.where(0.0, factor).value

    def product(tangent: SSAValue) -> SSAValue:
        t = b.formula(tangent)
        changed = of_element(t, before, x, r)
        return first.where(t, 0.0 if changed is None else changed).value

    return factors, product


def _is_first(like: SSAValue, axis: int, b: Builder) -> Formula:
    """A bool tensor of the shape of `like`: whether an element is the first along an axis."""
    extent = shape_of(like)[axis]
    numbers = b.value(IotaOp(TensorType(i64, [extent]), b.sizes_of(like, [axis])))
    return b.formula(b.broadcast(numbers, [axis], like)).equals(0.0)


def flipped(value: SSAValue, axis: int, b: Builder) -> SSAValue:
    """The elements in the opposite order along an axis."""
    shape = shape_of(value)
    if shape[axis] == DYNAMIC_INDEX:
        last = AffineList.of(b.value(DimOp(value, axis))).map_exprs(lambda e: e - 1)
    else:
        last = AffineList.of(max(shape[axis] - 1, 0))
    offsets = AffineList.of(*[last if k == axis else 0 for k in range(len(shape))])
    strides = [-1 if k == axis else 1 for k in range(len(shape))]
    return b.value(SliceOp(value, offsets, strides, value.type, b.sizes_of(value)))  # pyright: ignore
