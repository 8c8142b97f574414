"""Scalars of NumPy that wrap and round as those of compiled code do: what expressions of `scalar_eval` call.

Nothing here imports xDSL: host functions of GPU programs that were kept on the disk run without it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def bf16_round(value: Any) -> np.float32:
    """The nearest bfloat16 (ties to even), as float32."""
    return bf16_from_bits(bf16_to_bits(value))


def bf16_to_bits(value: Any) -> np.int16:
    """The bits of the nearest bfloat16."""
    bits = int(np.float32(value).view(np.uint32))
    if bits & 0x7FFFFFFF > 0x7F800000:
        return np.uint16(bits >> 16 | 0x40).view(np.int16)
    bits += 0x7FFF + (bits >> 16 & 1)
    return np.uint16(bits >> 16 & 0xFFFF).view(np.int16)


def bf16_from_bits(bits: Any) -> np.float32:
    """The bfloat16 with these bits, as float32."""
    return np.uint32((int(bits) & 0xFFFF) << 16).view(np.float32)


def _larger(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


def _smaller(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


def _truncated_quotient(a: Any, b: Any) -> Any:
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _divide(a: Any, b: Any) -> Any:
    return _wrap(_truncated_quotient(a, b), type(a))


def _remainder(a: Any, b: Any) -> Any:
    return _wrap(int(a) - int(b) * _truncated_quotient(a, b), type(a))


def _floor_divide(a: Any, b: Any) -> Any:
    return _wrap(int(a) // int(b), type(a))


def _ceil_divide(a: Any, b: Any) -> Any:
    return _wrap(-(-int(a) // int(b)), type(a))


def _trailing_zeros(a: Any) -> Any:
    """The position of the lowest bit that is set; the width of the type for 0."""
    value = int(a)
    return type(a)((value & -value).bit_length() - 1 if value else 8 * a.itemsize)


def _wrap(value: int, scalar: type) -> Any:
    """`value` modulo two to the width of the NumPy integer `scalar`; an index stays an int."""
    return value if scalar is int else np.uint64(value & 0xFFFFFFFFFFFFFFFF).astype(scalar)


NAMESPACE: dict[str, Any] = {
    "np": np,
    "i1": np.bool_,
    **{f"i{w}": getattr(np, f"int{w}") for w in (8, 16, 32, 64)},
    **{f"u{w}": getattr(np, f"uint{w}") for w in (8, 16, 32, 64)},
    **{f"f{w}": getattr(np, f"float{w}") for w in (16, 32, 64)},
    "bf16": bf16_round,
    "bf16_to_bits": bf16_to_bits,
    "bf16_from_bits": bf16_from_bits,
    "larger": _larger,
    "smaller": _smaller,
    "divide": _divide,
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "ceil_divide": _ceil_divide,
    "trailing_zeros": _trailing_zeros,
    "erf": math.erf,
    "erfc": math.erfc,
}
"""Names that expressions use, but for the functions of the `special` dialect."""


def named_scalar(value: Any, name: str) -> Any:
    """`value` as a scalar of the type called `name`: `f32`, `i64`, `int` for index."""
    if name == "int":
        return int(value)
    if name == "i1":
        return np.bool_(bool(value))
    if name.startswith("i"):
        return _wrap(int(value), NAMESPACE[name])
    return NAMESPACE[name](value)
