"""np.histogram is linear in its weights; the places of the values are steps, and have no derivative.

    counts, edges = histogram(x, w)       tangent histogram(x, tw), cotangent of w: c[place of x], zero outside of the edges
    density: r = n / (d * s)              tangent tn / (d * s) - r * sum(tn) / s, of widths d and all weights s = sum(n)

Edges that are computed of the values depend on these: that is refused where it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, f64, i1, i64
from xdsl.ir import SSAValue

from .....dialects.affine import AffineList
from .....dialects.nt.ops import CustomCallOp, SliceOp, element_of
from .....dialects.nt.types import kind_of, with_element
from ...builder import Builder
from ...masks import Mask
from ...matrices import call
from ...missing import missing
from ...transposed import add_transposed
from .tables import last_place, looked_up

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

Tangents = Sequence["SSAValue | None"]


def _edges(op: CustomCallOp) -> SSAValue:
    """The edges: an operand, or the result that NumPy computes."""
    return op.inputs[1] if op.target.data == "numpy.histogram.counts" else op.results_[1]


def _weights(op: CustomCallOp) -> SSAValue | None:
    place = 2 if op.target.data == "numpy.histogram.counts" else 1
    return op.inputs[place] if len(op.inputs) > place else None


def _is_density(op: CustomCallOp) -> bool:
    flag = op.arguments.data["density"]
    return isinstance(flag, IntegerAttr) and flag.value.data != 0


def _counts(op: CustomCallOp, weights: SSAValue, b: Builder) -> SSAValue:
    """The sums of other weights."""
    inputs = [*op.inputs[:-1], weights]
    arguments = {**op.arguments.data, "density": IntegerAttr(0, i1)}
    types = [r.type for r in op.results_]
    copy = CustomCallOp(op.target.data, inputs, types, arguments, op.sizes, op.is_ordered)
    return b.add(copy).results[0]


def forward(op: CustomCallOp, by: Forward) -> Tangents:
    weights = _weights(op)
    moved = [v for v in (op.inputs[0], _edges(op)) if by.of(v) is not None]
    is_moved = bool(moved) and (_is_density(op) or any(r in by.useful for r in op.results_[1:]))
    if "selected" in op.arguments.data or is_moved:
        raise missing(op)
    tangent = None if weights is None else by.of(weights)
    rest = [None] * (len(op.results_) - 1)
    if weights is None or tangent is None:
        return [None, *rest]
    counts = _counts(op, tangent, by.builder)
    return [_of_density(op, weights, counts, by.builder) if _is_density(op) else counts, *rest]


def _of_density(op: CustomCallOp, weights: SSAValue, counts: SSAValue, b: Builder) -> SSAValue:
    """The tangent of a density from that of the sums."""
    element = element_of(op.results_[0])
    kind = with_element(counts.type, element_of(_edges(op)))  # pyright: ignore

    def bound(k: int) -> SSAValue:
        return b.value(SliceOp(_edges(op), AffineList.of(k), [1], kind, b.sizes_of(counts)))

    def total(of: SSAValue) -> SSAValue:
        return b.broadcast(b.sum(b.cast(of, element), [0]), (), op.results_[0])

    width = b.cast(b.elementwise("subtract", bound(1), bound(0)), element)
    every = total(_counts(op, weights, b))
    own = b.formula(b.cast(counts, element)) / (b.formula(width) * b.formula(every))
    return (own - b.formula(op.results_[0]) * (b.formula(total(counts)) / b.formula(every))).value


def reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    weights, b = _weights(op), to.builder
    moved = [v for v in (op.inputs[0], _edges(op)) if v in op.inputs and to.wants(v)]
    is_moved = bool(moved) and (_is_density(op) or any(c is not None for c in cotangents[1:]))
    if "selected" in op.arguments.data or is_moved:
        raise missing(op)
    if weights is None or not to.wants(weights) or cotangents[0] is None:
        return
    if _is_density(op):
        return add_transposed(op, [weights], cotangents, to, forward)
    places, is_inside = _places(op, b)
    own = b.formula(b.cast(looked_up(b, cotangents[0], places), element_of(weights)))
    to.add(weights, b.formula(is_inside).where(own, 0.0).value, masked=Mask.ALL)


def _places(op: CustomCallOp, b: Builder) -> tuple[SSAValue, SSAValue]:
    """The bin of each value, the first or the last one for those outside, and which are inside: the last edge is."""
    values, edges = op.inputs[0], _edges(op)
    if element_of(values) != element_of(edges) or kind_of(element_of(values)) != "f":
        values, edges = b.cast(values, f64), b.cast(edges, f64)
    kind = values.type
    assert isinstance(kind, TensorType)
    side = {"side": StringAttr("right")}
    (behind,) = call(b, "searchsorted", [edges, values], [with_element(kind, i64)], b.sizes_of(values), side)
    places = (b.formula(behind) - 1.0).apply("maximum", 0.0)
    places = places.apply("minimum", last_place(b, op.results_[0], behind))

    def edge(place: SSAValue) -> SSAValue:
        return looked_up(b, edges, place)

    x, zero = b.formula(values), b.zeros(behind)
    first, last = b.formula(edge(zero)), b.formula(edge(last_place(b, edges, behind).value))
    is_inside = x.apply("greater_equal", first).apply("logical_and", x.apply("less_equal", last))
    return places.value, is_inside.value
