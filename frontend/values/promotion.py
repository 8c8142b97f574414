"""NumPy's type promotion (NEP 50). NumPy itself answers: Python scalars take part as `int`, `float` or `bool`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Operand = np.dtype | type
"""A dtype, or `bool`, `int`, `float`, `complex` for a weakly typed Python scalar."""


def same_operand(a: Operand, b: Operand) -> bool:
    """Whether two operands promote alike. NumPy calls `int` and `dtype("int64")` equal; they are not to promotion."""
    return isinstance(a, type) == isinstance(b, type) and a == b


WEAK_DTYPES: dict[type, np.dtype] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


@functools.lru_cache(maxsize=4096)
def ufunc_dtypes(
    ufunc: np.ufunc, operands: tuple[Operand, ...], dtype: np.dtype | None = None
) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """The dtypes in which `ufunc` computes: of its operands, and of its (first) result, which `dtype` may ask for.

    Raises TypeError as NumPy does.
    """
    # NumPy treats a Python bool as strongly typed.
    request = tuple([np.dtype(np.bool_) if operand is bool else operand for operand in operands])
    if all(isinstance(operand, type) for operand in request):
        request = tuple([WEAK_DTYPES[operand] for operand in request])  # pyright: ignore
    wanted = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)}
    resolved = ufunc.resolve_dtypes((*request, *(None,) * ufunc.nout), **wanted)  # pyright: ignore
    return tuple(resolved[: ufunc.nin]), resolved[ufunc.nin]


@functools.lru_cache(maxsize=4096)
def result_dtype(operands: tuple[Operand, ...]) -> np.dtype:
    """`np.result_type` of dtypes and Python scalar types."""
    samples: list[Any] = [operand(1) if isinstance(operand, type) else operand for operand in operands]
    return np.result_type(*samples)


def weak_result(operands: tuple[type, ...]) -> type:
    """The type of Python arithmetic on Python scalars (`+`, `*`, ...): the widest, bool counting as int."""
    return next((kind for kind in (complex, float) if kind in operands), int)


def as_dtype(value: Any, dtype: np.dtype) -> np.generic:
    """A number as `astype` converts it; without a warning where it loses an imaginary part."""
    array = np.asarray(value)
    return (array.real if array.dtype.kind == "c" and dtype.kind not in "cb" else array).astype(dtype)[()]


def fits(value: Any, dtype: np.dtype) -> bool:
    """Whether the Python integer `value` is within the range of the integer type `dtype`."""
    if type(value) is not int or dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return info.min <= value <= info.max
