"""Composites whose derivative is shorter, or safer, than that of what they stand for.

    standardised     y = (x - mean) / s                  t -> (t - mean(t) - y * mean(y * t)) / s
    divided_by_rms   y = x / s                           t -> (t - y * mean(y * t)) / s
    gelu             y = x * F(x)                        t -> t * (F(x) + x * F'(x))
    softmax          y = exp(x) / sum(exp(x))            t -> y * (t - sum(y * t))
    log_softmax      y = x - log(sum(exp(x)))            t -> t - sum(exp(y) * t)
    logsumexp        y = log(sum(exp(x)))                t -> sum(exp(x - y) * t)

The first four are maps that are their own transposes: one form serves both modes. Both sums of a row are of one pass over
it, and what they take is known forward: nothing is summed twice in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, TensorType, f32, f64, i64
from xdsl.ir import SSAValue

from ....dialects.nt.composite_op import CompositeOp
from ....dialects.nt.elementwise_ops import ELEMENTWISE_OPS, ElementwiseOp
from ....dialects.nt.ops import CastOp, DimOp, FromScalarOp, ReduceOp, element_of, shape_of
from ....dialects.nt.types import with_element

if TYPE_CHECKING:
    from ..builder import Builder

Map = Callable[[CompositeOp, SSAValue, "Builder"], SSAValue]
"""Of a composite and a tangent (or cotangent): its image."""


def axes_of(op: CompositeOp) -> list[int] | None:
    """The axes along which a composite sums; None where they are not known."""
    axis, rank = op.parameters.data.get("axis"), len(shape_of(op.inputs[0]))
    if axis is None:
        return list(range(rank))
    items = axis.data if isinstance(axis, ArrayAttr) else (axis,)
    if not all(isinstance(one, IntegerAttr) for one in items):
        return None
    return sorted(one.value.data % rank for one in items)  # pyright: ignore


def has_closed_form(op: CompositeOp) -> bool:
    """Whether the composite is differentiated as it is."""
    label = op.label.data
    if len(op.inputs) != 1 or element_of(op.inputs[0]) != element_of(op.results_[0]):
        return False
    if not _is_of_operand(op):
        return False
    if element_of(op.inputs[0]) not in (f32, f64):  # halves are computed in float32 inside
        return label in ("softmax", "log_softmax") and _one_axis(op)
    if label in ("standardised", "divided_by_rms"):
        return axes_of(op) is not None and _divide(op) is not None
    if label in ("softmax", "log_softmax"):
        return _one_axis(op)
    if label == "gelu":
        return op.parameters.data.get("approximate", StringAttr("none")) in map(StringAttr, ("none", "tanh"))
    return label == "logsumexp" and axes_of(op) is not None


def _is_of_operand(op: CompositeOp) -> bool:
    """Whether the region computes with the operand as it is, along the axes that the parameters say.

    A view that the caller made of an array (`softmax(x.T)`, `softmax(x[None])`) is made in the region.
    """
    argument, axes = op.body.block.args[0], axes_of(op)
    for use in argument.uses:
        if not isinstance(use.operation, ElementwiseOp | ReduceOp):
            return False
    reductions = [o for o in op.body.block.ops if isinstance(o, ReduceOp)]
    shape = shape_of(argument)
    return all(
        shape_of(o.inputs[0]) != shape or list(o.reduced) == axes for o in reductions if len(o.inputs) == 1
    )


def _one_axis(op: CompositeOp) -> bool:
    return isinstance(op.parameters.data.get("axis"), IntegerAttr)


def _divide(op: CompositeOp) -> SSAValue | None:
    """What the region divides by at its end."""
    end = op.body.block.last_op
    last = end.operands[0].owner if end is not None else None
    return last.operands[1] if isinstance(last, ELEMENTWISE_OPS["divide"]) else None


# ---- sums along the axes of a composite --------------------------------------------------------------------


def summed(value: SSAValue, op: CompositeOp, b: Builder) -> SSAValue:
    """The sum along the axes of the composite, repeated along them."""
    axes = axes_of(op)
    assert axes is not None
    kept = [k for k in range(len(shape_of(value))) if k not in axes]
    return b.broadcast(b.sum(value, axes), kept, value)


def _mean(value: SSAValue, op: CompositeOp, b: Builder) -> SSAValue:
    axes = axes_of(op)
    assert axes is not None
    kept = [k for k in range(len(shape_of(value))) if k not in axes]
    total = b.sum(value, axes)
    mean = b.elementwise("divide", total, _count(value, axes, total, b))
    return b.broadcast(mean, kept, value)


def _count(value: SSAValue, axes: list[int], like: SSAValue, b: Builder) -> SSAValue:
    """How many elements are summed, in a tensor like `like`."""
    extents = [shape_of(value)[k] for k in axes]
    if DYNAMIC_INDEX not in extents:
        return b.uniform(float(math.prod(extents)), like)
    result: SSAValue | None = None
    for k in axes:
        extent = b.value(arith.IndexCastOp(b.value(DimOp(value, k)), i64))
        number = b.value(FromScalarOp(extent, TensorType(i64, [])))
        number = b.value(CastOp(number, with_element(number.type, element_of(like))))  # pyright: ignore
        result = number if result is None else b.elementwise("multiply", result, number)
    assert result is not None
    return b.broadcast(result, (), like)


# ---- maps that are their own transposes --------------------------------------------------------------------


def _times(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.elementwise("multiply", x, y)


def _minus(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.elementwise("subtract", x, y)


def _divisor(op: CompositeOp, b: Builder) -> SSAValue:
    """What the region divides by, computed again: it is the same operations, and is computed once."""
    block = op.body.block
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    wanted = _divide(op)
    assert wanted is not None
    for inner in block.ops:
        if wanted in mapping:
            break
        b.add(inner.clone(mapping))
    return mapping[wanted]


def standardised(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    y = op.results_[0]
    along = _times(b, y, _mean(_times(b, y, t), op, b))
    moved = _minus(b, _minus(b, t, _mean(t, op, b)), along)
    return b.elementwise("divide", moved, _divisor(op, b))


def divided_by_rms(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    y = op.results_[0]
    along = _times(b, y, _mean(_times(b, y, t), op, b))
    return b.elementwise("divide", _minus(b, t, along), _divisor(op, b))


def softmax(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    y = op.results_[0]
    product = _times(b, t, y)
    return _minus(b, product, _times(b, y, summed(product, op, b)))


_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_FAR = 30.0
"""Where both forms of gelu are x, or zero, in float64 too."""


def gelu(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    """Far out the derivative is 1 or 0: products with the vanishing density would be 0 * inf there."""
    x = b.formula(op.inputs[0])
    far = x.apply("absolute") > _FAR
    near = far.where(0.0, x)
    if op.parameters.data.get("approximate") == StringAttr("tanh"):
        square = near * near
        share = (0.5 * ((near + near * square * 0.044715) * _ROOT_TWO_OVER_PI).apply("tanh")) + 0.5
        slope = (square * (3 * 0.044715) + 1.0) * _ROOT_TWO_OVER_PI
        change = share * (1.0 - share) * 2.0 * slope
    else:
        share = (-near * _ROOT_HALF).apply("erfc") * 0.5
        change = (near * near * -0.5).apply("exp") * (0.5 * _ROOT_TWO_OVER_PI)
    slope = far.where((x > 0.0).where(b.formula(b.uniform(1.0, t)), 0.0), share + near * change)
    return _times(b, t, slope.value)


SYMMETRIC: dict[str, Map] = {
    "standardised": standardised,
    "divided_by_rms": divided_by_rms,
    "gelu": gelu,
    "softmax": softmax,
}
"""Maps of tangents that are their own transposes."""


# ---- the others -------------------------------------------------------------------------------------------


def log_softmax_forward(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    y = b.elementwise("exp", op.results_[0])
    return _minus(b, t, summed(_times(b, y, t), op, b))


def log_softmax_reverse(op: CompositeOp, c: SSAValue, b: Builder) -> SSAValue:
    return _minus(b, c, _times(b, b.elementwise("exp", op.results_[0]), summed(c, op, b)))


def _shares(op: CompositeOp, b: Builder) -> SSAValue:
    """exp(x - y); all are zero of a row that has only -inf."""
    y = b.formula(op.results_[0])
    finite = y.equals(-math.inf).where(0.0, y)
    return b.elementwise("exp", _minus(b, op.inputs[0], _repeated(op, finite.value, b)))


def _kept_axes(op: CompositeOp) -> list[int]:
    axes = axes_of(op)
    assert axes is not None
    return [k for k in range(len(shape_of(op.inputs[0]))) if k not in axes]


def _repeated(op: CompositeOp, value: SSAValue, b: Builder) -> SSAValue:
    """A result of `logsumexp` in the shape of its operand, with or without the axes that were summed."""
    rank = len(shape_of(op.inputs[0]))
    along = list(range(rank)) if len(shape_of(value)) == rank else _kept_axes(op)
    return b.broadcast(value, along, op.inputs[0])


def logsumexp_forward(op: CompositeOp, t: SSAValue, b: Builder) -> SSAValue:
    axes = axes_of(op)
    assert axes is not None
    total = b.sum(_times(b, _shares(op, b), t), axes)
    kept = len(shape_of(op.results_[0])) == len(shape_of(op.inputs[0]))
    return b.expand(total, axes) if kept else total


def logsumexp_reverse(op: CompositeOp, c: SSAValue, b: Builder) -> SSAValue:
    return _times(b, _shares(op, b), _repeated(op, c, b))


FORWARD: dict[str, Map] = {
    **SYMMETRIC,
    "log_softmax": log_softmax_forward,
    "logsumexp": logsumexp_forward,
}
REVERSE: dict[str, Map] = {
    **SYMMETRIC,
    "log_softmax": log_softmax_reverse,
    "logsumexp": logsumexp_reverse,
}
