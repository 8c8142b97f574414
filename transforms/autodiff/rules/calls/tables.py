"""Functions that look up places in a table: np.interp, and sums of weights by np.bincount.

    y = interp(x, xp, fp)       y = f0 + w * (f1 - f0), w = (x - x0) / (x1 - x0): linear in f0, f1
    y = bincount(i, weights)    ty = bincount(i, tw), cw = cy[i]

Where x is a knot, the slope is that of the interval behind it, as in JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import SSAValue

from .....dialects.affine import AffineList
from .....dialects.nt.ops import CustomCallOp, DimOp, EmptyOp, FromScalarOp, element_of, shape_of
from .....dialects.nt.types import with_element
from ...builder import Builder, Formula
from ...loops import Island, extents_of
from ...matrices import call, part_of
from ...missing import missing

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

Tangents = Sequence["SSAValue | None"]


def looked_up(b: Builder, table: SSAValue, places: SSAValue) -> SSAValue:
    """`table[places]`, where all places are within the table, which has one axis."""
    kind = places.type
    assert isinstance(kind, TensorType)
    empty = b.value(EmptyOp(with_element(kind, element_of(table)), b.sizes_of(places)))
    island = Island(b, [places, table], [empty])
    at = AffineList.of(*island.loops(extents_of(b, places)))
    place = island.load(island.ins[0], at)
    index = island.add(arith.IndexCastOp(place, IndexType())).results[0]
    island.store(island.load(island.ins[1], AffineList.of(index)), island.outs[0], at)
    return island.done()[0]


def last_place(b: Builder, table: SSAValue, like: SSAValue) -> Formula:
    """The last place of a table with one axis, in a tensor of the shape of `like`."""
    extent = shape_of(table)[0]
    if extent != DYNAMIC_INDEX:
        return b.formula(b.uniform(float(extent - 1), like))
    number = b.value(arith.IndexCastOp(b.value(DimOp(table, 0)), i64))
    count = b.value(FromScalarOp(number, TensorType(i64, [])))
    return b.formula(b.broadcast(count, (), like)) - 1.0


def interp(op: CustomCallOp, by: Forward) -> Tangents:
    b = by.builder
    given = op.arguments.data
    if not isinstance(given["period"], UnitAttr):
        raise missing(op)
    element = element_of(op.results_[0])
    x, knots = (b.cast(v, part_of(element)) for v in op.inputs[:2])
    kind = x.type
    assert isinstance(kind, TensorType)
    side = {"side": StringAttr("right")}
    (places,) = call(b, "searchsorted", [knots, x], [with_element(kind, i64)], b.sizes_of(x), side)
    upper = b.formula(places).apply("maximum", 1.0).apply("minimum", last_place(b, knots, places))
    lower = (upper - 1.0).apply("maximum", 0.0)

    def at(table: SSAValue | None, place: Formula) -> Formula | None:
        if table is None:
            return None
        return b.formula(b.cast(looked_up(b, b.cast(table, element), place.value), element))

    here = b.formula(b.cast(x, element))
    x0, x1 = at(knots, lower), at(knots, upper)
    f0, f1 = at(op.inputs[2], lower), at(op.inputs[2], upper)
    assert x0 is not None and x1 is not None and f0 is not None and f1 is not None
    width = x1 - x0
    width = width.equals(0.0).where(1.0, width)
    slope, share = (f1 - f0) / width, (here - x0) / width
    tx, tk, tf = (by.of(v) for v in op.inputs)
    tf0, tf1, tx0, tx1 = at(tf, lower), at(tf, upper), at(tk, lower), at(tk, upper)
    terms: list[Formula] = []
    if tf0 is not None and tf1 is not None:
        terms.append(tf0 * (1.0 - share) + tf1 * share)
    if tx is not None:
        terms.append(b.formula(b.cast(tx, element)) * slope)
    if tx0 is not None and tx1 is not None:
        terms.append(tx0 * (slope * (share - 1.0)) - tx1 * (slope * share))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    zero = b.formula(b.zeros(total.value))
    first = tf0 if tf0 is not None and isinstance(given["left"], UnitAttr) else zero
    last = tf1 if tf1 is not None and isinstance(given["right"], UnitAttr) else zero
    below = b.formula(x) < b.formula(b.cast(x0.value, part_of(element)))
    above = b.formula(x) > b.formula(b.cast(x1.value, part_of(element)))
    return [below.where(first, above.where(last, total)).value]


# ---- sums of weights -------------------------------------------------------------------------------------


def bincount_forward(op: CustomCallOp, by: Forward) -> Tangents:
    if len(op.inputs) != 3 or "selected" in op.arguments.data:
        raise missing(op)
    b, tangent = by.builder, by.of(op.inputs[2])
    assert tangent is not None
    inputs = [*op.inputs[:2], tangent]
    types = [r.type for r in op.results_]
    copy = CustomCallOp(op.target.data, inputs, types, op.arguments.data, op.sizes, op.is_ordered)
    return list(b.add(copy).results)


def bincount_reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    if len(op.inputs) != 3 or "selected" in op.arguments.data:
        raise missing(op)
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    places = b.cast(op.inputs[0], i64)
    to.add(op.inputs[2], b.cast(looked_up(b, cotangent, places), element_of(op.inputs[2])))
