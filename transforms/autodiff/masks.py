"""Zeros of cotangents that say "not chosen", and the products with partial derivatives that they mask.

np.where(c, x * w, 0.0)      where c does not hold, the cotangent of x * w is zero, and so is that of w: 0 * x would be
                             NaN of an x that is NaN, and the result does not depend on it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import IntEnum

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue

from ...dialects.nt.elementwise import Elementwise
from ...dialects.nt.ops import BroadcastOp, ConstantOp


class Mask(IntEnum):
    """What zeros of a cotangent may say; of two, the greater one holds for their sum."""

    NONE = 0
    SINGULAR = 1
    """Something did not run: derivatives that are infinite at finite points (`sqrt` at 0) do not count there."""
    ALL = 2
    """Elements were left out: whatever they are, NaN and infinities too, they do not count."""

    @staticmethod
    def any(masks: Iterable[Mask]) -> Mask:
        """The greatest of some; NONE of none."""
        return max(masks, default=Mask.NONE)


CHOOSING = frozenset(("select", "maximum", "minimum", "fmax", "fmin", "clamp", "heaviside"))
"""Elementwise operations that leave operands out."""

_LINEAR = CHOOSING | {"add", "subtract", "negative", "copysign", "radians", "degrees"}
"""Those whose derivatives are constants, or zero."""


def is_masked(mask: Mask, row: Elementwise, k: int, is_constant: Callable[[int], bool]) -> bool:
    """Whether the product with the partial derivative by operand k is zero where the cotangent is, whatever the operands
    are. `is_constant` says which of them are finite constants."""
    if mask is Mask.NONE or row.name in _LINEAR:
        return False
    if row.singular or mask is Mask.SINGULAR:
        return row.singular
    if row.name == "multiply":
        return not is_constant(1 - k)
    return row.name != "divide" or k == 1 or not is_constant(1)


def is_finite_constant(value: SSAValue) -> bool:
    """Whether a tensor or a scalar is of finite constants, other than zero."""
    op = value.owner
    while isinstance(op, BroadcastOp):
        op = op.source.owner
    if not isinstance(op, ConstantOp | arith.ConstantOp):
        return False
    number = op.value
    if isinstance(number, FloatAttr):
        parts = [(number.value.data,)]
    elif isinstance(number, DenseIntOrFPElementsAttr):
        parts = [v if isinstance(v, tuple) else (v,) for v in number.get_values()]
    else:
        return False
    return all(any(v) and all(map(math.isfinite, v)) for v in parts)
