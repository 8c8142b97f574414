"""Whether a tangent or a cotangent belongs to a number or an array: its shape and dtype."""

from __future__ import annotations

import numpy as np

from ..frame.frame import Frame
from ..values.values import Value, describe, extents_of, operand_of, shape_text
from .leaves import dtype_of_number


def differs(frame: Frame, path: str, one: Value, other: Value) -> str | None:
    """What is wrong with a tangent or cotangent `other` of the number or array `one`."""
    wanted, given = dtype_of_number(frame, one), dtype_of_number(frame, other)
    if given is None:
        return f"{path} is {describe(other)} instead of {describe(one)}"
    assert wanted is not None
    is_weak = not extents_of(other) and _is_weak(other)
    if not is_weak and given != wanted:
        return f"{path} has the dtype {given} instead of {wanted}"
    if is_weak and not np.can_cast(given, wanted, "same_kind"):
        return f"{path} is {describe(other)} instead of {describe(one)}"
    a, b = extents_of(one), extents_of(other)
    equal = frame.graph.assumptions.equal
    if len(a) != len(b) or not all(equal(x, y, f"the shape of {path}") for x, y in zip(a, b, strict=True)):
        return f"{path} has the shape {shape_text(b)} instead of {shape_text(a)}"
    return None


def _is_weak(value: Value) -> bool:
    return isinstance(operand_of(value), type)
