"""Canonicalisation of elementwise operations: folding through NumPy, and identities that hold to the bit.

The tables say which identities: `x + 0.0` is not one (it changes -0.0), `x + -0.0` is; `x * 0.0` is not (NaN, infinities,
signs), `x * 0` of integers is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import ComplexType, bf16
from xdsl.ir import SSAValue

from ...dialects.nt.constants import compute, dtype_of, from_numpy
from ...dialects.nt.elementwise_ops import ElementwiseOp
from ...dialects.nt.ops import BroadcastOp, element_of, shape_of
from ...dialects.nt.types import kind_of
from .rules import FOLD_LIMIT, New, constant_of, uniform_of

_NEUTRAL: dict[tuple[str, str], float] = {
    ("add", "i"): 0,
    ("add", "u"): 0,
    ("add", "f"): -0.0,
    ("add", "b"): 0,
    ("subtract", "i"): 0,
    ("subtract", "u"): 0,
    ("subtract", "f"): 0.0,
    ("multiply", "f"): 1.0,
    ("multiply", "i"): 1,
    ("multiply", "u"): 1,
    ("multiply", "b"): 1,
    ("divide", "f"): 1.0,
    ("floor_divide", "i"): 1,
    ("floor_divide", "u"): 1,
    ("logical_and", "b"): 1,
    ("logical_or", "b"): 0,
    ("logical_xor", "b"): 0,
    ("bitwise_and", "i"): -1,
    ("bitwise_and", "b"): 1,
    ("bitwise_or", "i"): 0,
    ("bitwise_or", "u"): 0,
    ("bitwise_or", "b"): 0,
    ("bitwise_xor", "i"): 0,
    ("bitwise_xor", "u"): 0,
    ("bitwise_xor", "b"): 0,
}
"""(operation, kind) -> the right operand that leaves the left one as it is, sign of zero included."""

_ABSORBING: dict[tuple[str, str], float] = {
    ("multiply", "i"): 0,
    ("multiply", "u"): 0,
    ("multiply", "b"): 0,
    ("logical_and", "b"): 0,
    ("logical_or", "b"): 1,
    ("bitwise_and", "i"): 0,
    ("bitwise_and", "u"): 0,
    ("bitwise_and", "b"): 0,
    ("bitwise_or", "i"): -1,
    ("bitwise_or", "b"): 1,
}
"""(operation, kind) -> the right operand that is the result, whatever the left one."""

_SAME_TWICE = {
    *("maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "logical_and", "logical_or"),
}
"""f(x, x) is x."""

_INVOLUTIONS = {"negative", "logical_not", "invert"}
"""f(f(x)) is x."""

_IDEMPOTENT = {"absolute", "floor", "ceil", "rint", "trunc", "sign"}
"""f(f(x)) is f(x)."""

_EVEN = {("absolute", "negative"), ("square", "negative"), ("square", "absolute")}
"""f(g(x)) is f(x). (Of an unsigned -x, which wraps around, the absolute value is -x itself.)"""


def fold(op: ElementwiseOp, new: New) -> SSAValue | None:
    """Constant operands: NumPy computes the result."""
    values = [uniform_of(v) for v in op.inputs]
    result = element_of(op.result)
    if all(v is not None for v in values):
        scalar = _computed(op, values)  # pyright: ignore
        return None if scalar is None else new.uniform(scalar, op.inputs[0], op.result.type)
    arrays = [constant_of(v) for v in op.inputs]
    shape = shape_of(op.result)
    if 0 in shape or any(a is None and v is None for a, v in zip(arrays, values, strict=True)):
        return None
    if any(extent < 0 for extent in shape) or np.prod(shape) > FOLD_LIMIT:
        return None
    full = [np.broadcast_to(v, shape) if a is None else a for a, v in zip(arrays, values, strict=True)]  # pyright: ignore
    array = _computed(op, full)
    return None if array is None else new.constant(from_numpy(array, result))


def _computed(op: ElementwiseOp, operands: list[np.ndarray]) -> np.ndarray | None:
    if op.row.on_bits and element_of(op.result) == bf16:
        return None
    try:
        array = compute(op.row, operands)
    except ValueError:  # an integer to a negative power
        return None
    return array if array.dtype == dtype_of(element_of(op.result)) else None


def order_operands(op: ElementwiseOp, new: New) -> SSAValue | None:
    """A constant operand of a commutative operation goes to the right."""
    if not op.row.commutative or (_is_complex(op) and op.row.name in _SAME_TWICE):
        return None  # of two complex NaN the first is the result, and they may differ
    left, right = op.inputs
    if uniform_of(left) is None or uniform_of(right) is not None:
        return None
    return new.elementwise(op.row.name, right, left)


def _is_complex(op: ElementwiseOp) -> bool:
    return isinstance(element_of(op.inputs[-1]), ComplexType)


def neutral_operand(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`x * 1`, `x / 1`, `x - 0`, `x + -0.0`, `b and true`: x."""
    return op.inputs[0] if _right_is(op, _NEUTRAL) else None


def absorbing_operand(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`i * 0`, `b and false`, `b or true`: the constant."""
    return op.inputs[1] if _right_is(op, _ABSORBING) else None


def _right_is(op: ElementwiseOp, table: dict[tuple[str, str], float]) -> bool:
    element = element_of(op.inputs[-1])
    wanted = table.get((op.row.name, kind_of(element)))
    if wanted is None:
        return False
    value = uniform_of(op.inputs[1])
    return value is not None and value.tobytes() == np.array(wanted, dtype_of(element)).tobytes()


def same_operands(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`maximum(x, x)`: x."""
    return op.inputs[0] if op.row.name in _SAME_TWICE and op.inputs[0] is op.inputs[1] else None


def nested_unary(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`-(-x)`: x; `floor(floor(x))`: floor(x); `abs(-x)`: abs(x)."""
    inner = op.inputs[0].owner
    if op.row.arity != 1 or not isinstance(inner, ElementwiseOp):
        return None
    outer_name, inner_name = op.row.name, inner.row.name
    if outer_name == inner_name and outer_name in _INVOLUTIONS:
        return inner.inputs[0]
    if outer_name == inner_name and outer_name in _IDEMPOTENT and not _is_complex(op):
        return inner.result
    is_abs_of_unsigned = outer_name == "absolute" and kind_of(element_of(op.result)) == "u"
    is_square_of_size = _is_complex(inner) and inner_name == "absolute"
    if (outer_name, inner_name) in _EVEN and not is_abs_of_unsigned and not is_square_of_size:
        return new.elementwise(outer_name, inner.inputs[0])
    return None


def divide_by_power_of_two(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`x / 8.0` is `x * 0.125`: where the reciprocal is a normal number, both round the same exact value."""
    if op.row.name != "divide" or _is_complex(op):
        return None
    value = uniform_of(op.inputs[1])
    if value is None or not np.isfinite(value) or np.abs(np.frexp(value)[0]) != 0.5:
        return None
    element = element_of(op.result)
    limits = np.finfo(np.float32 if element == bf16 else dtype_of(element))
    inverse = 1.0 / float(value)
    if not limits.smallest_normal <= abs(inverse) <= limits.max:
        return None
    factor = new.uniform(np.array(inverse, value.dtype), op.inputs[1], op.result.type)
    return None if factor is None else new.elementwise("multiply", op.inputs[0], factor)


def known_select(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`select(true, x, y)`: x; `select(c, x, x)`: x; `select(not c, x, y)`: select(c, y, x)."""
    if op.row.name != "select":
        return None
    condition, a, b = op.inputs
    if a is b:
        return a
    value = uniform_of(condition)
    if value is not None:
        return a if value else b
    inverted = condition.owner
    if isinstance(inverted, ElementwiseOp) and inverted.row.name == "logical_not":
        return new.elementwise("select", inverted.inputs[0], b, a)
    return None


def before_broadcast(op: ElementwiseOp, new: New) -> SSAValue | None:
    """`f(broadcast(x))` is `broadcast(f(x))`, for unary f and for operands broadcast alike: fewer elements."""
    first = op.inputs[0].owner
    if not isinstance(first, BroadcastOp):
        return None
    sources = [_source_of_broadcast(v, first) for v in op.inputs]
    if any(source is None for source in sources):
        return None
    result = new.elementwise(op.row.name, *sources)  # pyright: ignore
    return new.broadcast(result, first.dims, op.result.type, first.sizes)


def _source_of_broadcast(value: SSAValue, like: BroadcastOp) -> SSAValue | None:
    owner = value.owner
    if not isinstance(owner, BroadcastOp) or owner.along != like.along or owner.sizes != like.sizes:
        return None
    return owner.source if shape_of(owner.source) == shape_of(like.source) else None


UNARY: tuple[Callable[[ElementwiseOp, New], SSAValue | None], ...] = (fold, nested_unary, before_broadcast)
BINARY: tuple[Callable[[ElementwiseOp, New], SSAValue | None], ...] = (
    fold,
    order_operands,
    neutral_operand,
    absorbing_operand,
    same_operands,
    divide_by_power_of_two,
    before_broadcast,
)
TERNARY: tuple[Callable[[ElementwiseOp, New], SSAValue | None], ...] = (fold, known_select, before_broadcast)
"""The rules by arity."""

BY_ARITY = {1: UNARY, 2: BINARY, 3: TERNARY}
