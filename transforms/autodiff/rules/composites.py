"""Composites: some have a rule of the user's, some a closed form, the others are what they stand for.

%y = nt.composite "softmax"(%x) {axis = -1}      // cotangent of %x: y * (c - sum(c * y))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....dialects.nt.composite_op import CompositeOp
from . import attention, closed_forms, row_statistics, user_rules

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse


def is_whole(op: CompositeOp) -> bool:
    """Whether the composite is differentiated as it is: by a rule of the user's, or its closed form."""
    return user_rules.has_rule(op) or closed_forms.has_closed_form(op) or _is_attention(op)


def _is_attention(op: CompositeOp) -> bool:
    """Whether it is attention whose reverse computes the scores again."""
    return row_statistics.keeps_statistics(op) or attention.is_blocked(op)


def reverse(op: CompositeOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    if user_rules.has_rule(op):
        return user_rules.reverse(op, cotangents, to)
    assert cotangents[0] is not None
    if row_statistics.keeps_statistics(op):
        return row_statistics.reverse(op, cotangents[0], to)
    if attention.is_blocked(op):
        return attention.reverse(op, cotangents[0], to)
    to.add(op.inputs[0], closed_forms.REVERSE[op.label.data](op, cotangents[0], to.builder))


def forward(op: CompositeOp, by: Forward) -> Sequence[SSAValue | None]:
    if user_rules.has_rule(op):
        return user_rules.forward(op, by)
    if _is_attention(op):
        return attention.forward(op, by)
    tangent = by.of(op.inputs[0])
    assert tangent is not None
    return [closed_forms.FORWARD[op.label.data](op, tangent, by.builder)]
