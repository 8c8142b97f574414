"""Composites: some have a closed form, some a rule of the user's, the others are what they stand for.

    %y = nt.composite "softmax"(%x) {axis = -1}      // cotangent of %x: y * (c - sum(c * y))

One that the user gave a rule (`user_rules.py`) has that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ....dialects.nt.composite_op import CompositeOp
from ....dialects.nt.ops import shape_of
from . import user_rules

if TYPE_CHECKING:
    from ..builder import Builder
    from ..forward import Forward
    from ..reverse import Reverse

CLOSED_FORMS = ("softmax", "log_softmax")
"""Composites that are differentiated whole; `nt-differentiate` decomposes the others that are active."""


def _axis(op: CompositeOp) -> int | None:
    axis = op.parameters.data.get("axis")
    return axis.value.data % len(shape_of(op.inputs[0])) if isinstance(axis, IntegerAttr) else None


def is_whole(op: CompositeOp) -> bool:
    """Whether the composite is differentiated as it is: by a rule of the user's, or its closed form."""
    return user_rules.has_rule(op) or _has_closed_form(op)


def _has_closed_form(op: CompositeOp) -> bool:
    return op.label.data in CLOSED_FORMS and _axis(op) is not None and len(op.inputs) == 1


def reverse(op: CompositeOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    if user_rules.has_rule(op):
        return user_rules.reverse(op, cotangents, to)
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    y = op.results_[0]
    if op.label.data == "softmax":
        product = b.elementwise("multiply", cotangent, y)
        rest = b.elementwise("multiply", y, _summed(product, op, b))
        to.add(op.inputs[0], b.elementwise("subtract", product, rest))
    else:
        share = b.elementwise("multiply", b.elementwise("exp", y), _summed(cotangent, op, b))
        to.add(op.inputs[0], b.elementwise("subtract", cotangent, share))


def forward(op: CompositeOp, by: Forward) -> Sequence[SSAValue | None]:
    if user_rules.has_rule(op):
        return user_rules.forward(op, by)
    b, tangent = by.builder, by.of(op.inputs[0])
    assert tangent is not None
    y = op.results_[0]
    if op.label.data == "softmax":
        product = b.elementwise("multiply", tangent, y)
        return [b.elementwise("subtract", product, b.elementwise("multiply", y, _summed(product, op, b)))]
    mean = _summed(b.elementwise("multiply", b.elementwise("exp", y), tangent), op, b)
    return [b.elementwise("subtract", tangent, mean)]


def _summed(value: SSAValue, op: CompositeOp, b: Builder) -> SSAValue:
    """The sum along the axis of the composite, repeated along it."""
    axis = _axis(op)
    assert axis is not None
    kept = [k for k in range(len(shape_of(value))) if k != axis]
    return b.broadcast(b.sum(value, [axis]), kept, value)
