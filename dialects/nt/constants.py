"""Constants of `nt` as NumPy arrays and back, and what NumPy computes on them.

bfloat16, which NumPy lacks, is held as float32 arrays whose values are bfloat16 numbers; arithmetic on it is that
of float32, rounded (exact for + - * / and sqrt: float32 has more than twice the digits plus two).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    TensorType,
    bf16,
    i1,
)
from xdsl.ir import Attribute

from .elementwise import Elementwise
from .types import TO_NAME, kind_of, part_type

_FUNCTIONS = {"where": np.where, "clip": np.clip}
_EXACT_IN_FLOAT32 = 1 << 24


def dtype_of(element: Attribute) -> np.dtype:
    """The NumPy dtype of an element type; float32 for bfloat16."""
    return np.dtype(np.float32 if element == bf16 else TO_NAME[element])


def to_numpy(value: DenseIntOrFPElementsAttr) -> np.ndarray:
    """The constant as an array of its shape."""
    element, data = value.get_element_type(), value.data.data
    if element == i1:
        array = np.frombuffer(data, np.int8) != 0
    elif isinstance(element, BFloat16Type):
        array = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        array = np.frombuffer(data, dtype_of(element))
    return array.reshape(value.get_shape())


def from_numpy(array: np.ndarray, element: Attribute) -> DenseIntOrFPElementsAttr:
    """The array as a constant; for bfloat16 the values are rounded to nearest, ties to even."""
    array = np.asarray(array)
    assert array.dtype == dtype_of(element), f"{array.dtype} does not hold {element}"
    if element == i1:
        data = (-array.astype(np.int8)).tobytes()
    elif isinstance(element, BFloat16Type):
        data = element.pack([float(x) for x in array.ravel()])
    else:
        data = array.tobytes()
    return DenseIntOrFPElementsAttr(TensorType(element, array.shape), BytesAttr(data))  # pyright: ignore


def compute(row: Elementwise, operands: Sequence[np.ndarray]) -> np.ndarray:
    """What NumPy gives for an elementwise operation; no warnings."""
    function = row.reference or _FUNCTIONS.get(row.ufunc) or getattr(np, row.ufunc)
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands))


def convert(array: np.ndarray, source: Attribute, result: Attribute) -> np.ndarray | None:
    """`astype`; None where NumPy leaves the result open (a float out of an integer's range) or it rounds twice."""
    kinds = kind_of(source), kind_of(result)
    if kinds[0] == "c" and kinds[1] not in "cb":
        return convert(array.real, part_type(source), result)
    if kinds[0] == "f" and kinds[1] in "iu" and not _fits(array, dtype_of(result)):
        return None
    if result == bf16 and array.dtype != np.float32 and not _is_exact(array):
        return None
    with np.errstate(all="ignore"):
        return array.astype(dtype_of(result))


def _fits(array: np.ndarray, dtype: np.dtype) -> bool:
    limits = np.iinfo(dtype)
    whole = np.trunc(array.astype(np.float64))
    return bool(np.all((whole >= float(limits.min)) & (whole < float(limits.max) + 1.0)))


def _is_exact(array: np.ndarray) -> bool:
    """Whether every value is a float32 number."""
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return bool(np.all((array.astype(np.float32) == array) | np.isnan(array)))
    return array.dtype.kind == "b" or bool(np.all(np.abs(array.astype(np.float64)) <= _EXACT_IN_FLOAT32))
