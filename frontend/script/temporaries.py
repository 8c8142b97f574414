"""Arrays that only the expression knows: a reshaped view of one is the only name it has, and may be written.

m = np.zeros(n * n).reshape(n, n)
m[0] = 1                            the vector of zeros has no other name that could show it
"""

from __future__ import annotations

import ast

import numpy as np

from ..frame.frame import Frame
from ..frame.recursion import evaluate
from ..values.values import Array, Buffer, Static, Value, whole

_MAKERS = (
    np.zeros,
    np.ones,
    np.empty,
    np.full,
    np.arange,
    np.linspace,
    np.zeros_like,
    np.ones_like,
    np.full_like,
)
"""Functions whose result is an array that nothing else knows."""


def taken_over(frame: Frame, node: ast.Call, value: Value) -> Value:
    """What `node`, a call of `reshape`, gives: an array of its own where it is made of one without a name."""
    if not isinstance(value, Array) or not value.whole or value.buffer.derived is None:
        return value
    _, how, *_ = value.buffer.derived
    if how != "reshape" or not _is_made_by(frame, node):
        return value
    buffer = value.buffer
    return whole(Buffer(buffer.value, buffer.dtype, buffer.extents, order=buffer.order))


def _is_made_by(frame: Frame, node: ast.Call) -> bool:
    """Whether what is reshaped is the result of one of `_MAKERS`, called right there."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reshape":
        return False
    receiver = node.func.value
    if not isinstance(receiver, ast.Call) or not isinstance(receiver.func, ast.Attribute):
        return False
    if not isinstance(receiver.func.value, ast.Name):
        return False
    maker = evaluate(frame, receiver.func)
    return isinstance(maker, Static) and any(maker.raw is one for one in _MAKERS)
