"""`**` and np.power: where NumPy itself uses something simpler than pow(), so does this; integers multiply.

x ** 2    ->   nt.multiply %x, %x
x ** 0.5  ->   nt.sqrt %x
k ** 5    ->   nt.square twice, nt.multiply once (integers)
x ** y    ->   nt.power %x, %y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import RangeError, ShapeError, UnsupportedError
from ...values.arithmetic import (
    affine_of,
    apply,
    as_weak,
    compute_dtypes,
    copy,
    emit,
    nt_kind,
    operate,
    require_static,
    scalar_arguments,
)
from ...values.checks import check
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.overflow import check_arithmetic
from ...values.promotion import WEAK_DTYPES, fits
from ...values.tensors import BOOL
from ...values.values import Array, Index, Lazy, Static, Tensor, Value, extents_of
from ..statistics.reductions import all_

_HALVES = ("float16", "bfloat16")
_NEGATIVE = "Integers to negative integer powers are not allowed."


def power(graph: Graph, base: Value, exponent: Value, *, operator: bool = False) -> Value:
    """`base ** exponent` (`operator`) or `np.power(base, exponent)`."""
    if operator and all(isinstance(number_kind(graph, v), type) for v in (base, exponent)):
        return _python_power(graph, base, exponent)
    exponent = _baked(graph, exponent)
    if operator and isinstance(base, Array | Lazy) and base.dtype == np.bool_ and _is_two(exponent):
        return apply(
            graph, np.square, base
        )  # its own type: np.power would convert to that of Python's integers
    dtype = compute_dtypes(graph, np.power, (base, exponent), None)[0]
    if dtype.kind == "c":
        return _complex_power(graph, base, exponent, dtype, operator)
    if nt_kind(dtype) == "f":
        return _float_power(graph, base, exponent, dtype, operator)
    return _integer_power(graph, base, exponent, dtype)


def _is_two(exponent: Value) -> bool:
    return isinstance(exponent, Static) and type(exponent.value) is int and exponent.value == 2


def _baked(graph: Graph, exponent: Value) -> Value:
    """A Python integer that is an argument of the compiled function is compiled in: it is small, and speeds things up."""
    if isinstance(exponent, Tensor) and exponent.weak is int and scalar_arguments([exponent]):
        return Static(require_static(graph, exponent, "the exponent of **"))
    if isinstance(exponent, Index) and exponent.affine.arguments():
        return Static(require_static(graph, exponent, "the exponent of **"))
    return exponent


# ---- floats -----------------------------------------------------------------------------------------


def _float_power(graph: Graph, base: Value, exponent: Value, dtype: np.dtype, operator: bool) -> Value:
    is_number = not isinstance(base, Tensor) or not base.scalar  # NumPy's scalars know no short cuts
    # NumPy's half precision takes the square root for the operator with a Python number only.
    by_root = is_number and (
        dtype.name not in _HALVES or (operator and isinstance(number_kind(graph, exponent), type))
    )
    if isinstance(exponent, Static):
        return _float_constant_power(graph, base, float(exponent.value), dtype, by_root)
    result = emit(graph, ELEMENTWISE["power"], [base, exponent], (dtype, dtype))
    if not by_root or not extents_of(base) or extents_of(exponent):
        return result
    half = emit(graph, ELEMENTWISE["equal"], [exponent, Static(0.5)], (dtype, dtype))
    root = emit(graph, ELEMENTWISE["sqrt"], [base], (dtype,))
    return emit(graph, ELEMENTWISE["select"], [half, root, result], (BOOL, dtype, dtype))


def _float_constant_power(
    graph: Graph, base: Value, exponent: float, dtype: np.dtype, by_root: bool
) -> Value:
    if exponent == 1.0:
        return copy(graph, base, dtype)
    if exponent in (2.0, 3.0, 4.0):
        if exponent == 2.0:
            return emit(graph, ELEMENTWISE["multiply"], [base, base], (dtype, dtype))
        square = emit(graph, ELEMENTWISE["square"], [base], (dtype,))
        if exponent == 4.0:
            return emit(graph, ELEMENTWISE["square"], [square], (dtype,))
        return emit(graph, ELEMENTWISE["multiply"], [square, base], (dtype, dtype))
    if exponent == 0.5 and by_root:
        return emit(graph, ELEMENTWISE["sqrt"], [base], (dtype,))
    if exponent == -1.0:
        return emit(graph, ELEMENTWISE["reciprocal"], [base], (dtype,))
    return emit(graph, ELEMENTWISE["power"], [base, Static(exponent)], (dtype, dtype))


# ---- complex numbers --------------------------------------------------------------------------------


def _complex_power(graph: Graph, base: Value, exponent: Value, dtype: np.dtype, operator: bool) -> Value:
    """`**` of an array with a Python number has the short cuts of floats; whole exponents are products anyway."""
    is_short = operator and isinstance(base, Array | Lazy) and number_kind(graph, base) == dtype
    if is_short and isinstance(exponent, Static) and type(exponent.value) in (int, float):
        if exponent.value in (2, -1):
            name = "square" if exponent.value == 2 else "reciprocal"
            return emit(graph, ELEMENTWISE[name], [base], (dtype,))
        if exponent.value == 0.5:
            return emit(graph, ELEMENTWISE["sqrt"], [base], (dtype,))
    return emit(graph, ELEMENTWISE["power"], [base, exponent], (dtype, dtype))


# ---- integers ---------------------------------------------------------------------------------------


def _integer_power(graph: Graph, base: Value, exponent: Value, dtype: np.dtype) -> Value:
    if isinstance(exponent, Static):
        if not fits(exponent.value, dtype):
            raise graph.error(RangeError, f"Python integer {exponent.value} out of bounds for {dtype}")
        if exponent.value < 0 and all(e.known != 0 for e in extents_of(base)):
            raise graph.error(ShapeError, _NEGATIVE, "make the base a float: x.astype(np.float64) ** -1")
        return _integer_constant_power(graph, base, max(0, int(exponent.value)), dtype)
    if not _is_nonnegative(graph, exponent):
        _check_nonnegative(graph, exponent)
    return emit(graph, ELEMENTWISE["power"], [base, exponent], (dtype, dtype))


def _is_nonnegative(graph: Graph, exponent: Value) -> bool:
    affine = affine_of(exponent)
    if affine is not None:
        return graph.assumptions.nonnegative(affine, "an exponent is not negative")
    kind = number_kind(graph, exponent)
    return kind is bool or (isinstance(kind, np.dtype) and kind.kind in "ub")


def _check_nonnegative(graph: Graph, exponent: Value) -> None:
    """Raise at run time where any exponent is negative."""
    holds = apply(graph, np.greater_equal, exponent, Static(0))
    check(graph, all_(graph, holds) if extents_of(holds) else holds, "ValueError", _NEGATIVE)


def _integer_constant_power(graph: Graph, base: Value, exponent: int, dtype: np.dtype) -> Value:
    """Square and multiply; 1 to the power of 0, whatever the base."""
    if exponent == 1:
        return copy(graph, base, dtype)
    if exponent == 2:
        return emit(graph, ELEMENTWISE["multiply"], [base, base], (dtype, dtype))
    if exponent == 0:
        nothing = emit(graph, ELEMENTWISE["multiply"], [base, Static(0)], (dtype, dtype))
        return emit(graph, ELEMENTWISE["add"], [nothing, Static(1)], (dtype, dtype))
    result: Value | None = None
    square = base
    while exponent:
        if exponent & 1 and result is not None:
            result = emit(graph, ELEMENTWISE["multiply"], [result, square], (dtype, dtype))
        elif exponent & 1:
            result = square
        exponent >>= 1
        if exponent:
            square = emit(graph, ELEMENTWISE["square"], [square], (dtype,))
    assert result is not None
    return result


# ---- Python numbers ---------------------------------------------------------------------------------


def _python_power(graph: Graph, base: Value, exponent: Value) -> Value:
    """`base ** exponent` of Python numbers, of which one is known at run time only.

    An integer to a negative power is a float in Python: where both are integers, the exponent must be known at compile time,
    or not negative.
    """
    kinds = [number_kind(graph, v) for v in (base, exponent)]
    if complex in kinds:
        return _power_of_complex(graph, base, exponent, kinds)
    is_complex = (
        isinstance(base, Static) and base.value < 0 and kinds[1] is float and scalar_arguments([exponent])
    )
    if float in kinds and not isinstance(exponent, Static) and not is_complex:
        return _power_of_floats(graph, base, exponent)
    if isinstance(exponent, Index) and _is_nonnegative(graph, _baked(graph, exponent)):
        result = emit(graph, ELEMENTWISE["power"], [base, exponent], (WEAK_DTYPES[int],) * 2)
        check_arithmetic(graph, "power", [base, exponent], result)
        return as_weak(result, int, scalar_arguments([base, exponent]))
    value = require_static(
        graph, exponent, "the exponent of **", "make the base a NumPy number: np.float64(x) ** y"
    )
    if value == 2 and (kinds[0] is float or type(value) is not float):
        return operate(graph, "multiply", base, base)
    if value == 1 and type(value) in (int, bool):
        return operate(graph, "positive", base)
    if kinds[0] is not float and type(value) in (int, bool) and value >= 0:
        if value == 0:
            return Static(1)
        result = _integer_constant_power(graph, base, int(value), WEAK_DTYPES[int])
        check_arithmetic(graph, "power", [base, Static(int(value))], result)
        return as_weak(result, int, scalar_arguments([base]))
    return _power_of_floats(graph, base, Static(float(value)))


MOST_PRODUCTS = 100
"""The largest exponent for which Python multiplies complex numbers; beyond, it computes by angles."""


def _power_of_complex(graph: Graph, base: Value, exponent: Value, kinds: Sequence[Any]) -> Value:
    """A complex number of Python to a whole exponent from 0 to 100, by the products that Python computes, in their order.

    A result that is too large raises, infinite operands or not.
    """
    value: Any = None
    if kinds[0] is complex and (isinstance(exponent, Static) or scalar_arguments([exponent])):
        value = complex(require_static(graph, exponent, "the exponent of **"))
    if value is None or value.imag or not value.real.is_integer() or not 0 <= value.real <= MOST_PRODUCTS:
        raise graph.error(
            UnsupportedError,
            "** of Python's complex numbers known at run time is supported for whole exponents from 0 to "
            f"{MOST_PRODUCTS}: others Python computes in its own way",
            "make it a number of NumPy: np.complex128(z) ** w",
        )
    result, square, left = Static(complex(1)), base, int(value.real)
    while left:
        result = operate(graph, "multiply", result, square) if left & 1 else result
        left >>= 1
        square = operate(graph, "multiply", square, square) if left else square
    if not isinstance(result, Static):
        fine = apply(graph, np.logical_not, apply(graph, np.isinf, result))
        check(graph, fine, "OverflowError", "complex exponentiation")
    return result


def _power_of_floats(graph: Graph, base: Value, exponent: Value) -> Value:
    """A power that is a float in Python. Zero to a negative power raises, and so does a result that is too large; a negative
    number to a fraction, which is complex in Python, is refused when it is met."""
    kinds = [number_kind(graph, v) for v in (base, exponent)]
    positive = isinstance(base, Static) and base.value > 0
    affine = affine_of(exponent)
    rises = (isinstance(exponent, Static) and exponent.value >= 0) or (
        affine is not None and graph.assumptions.nonnegative(affine, "an exponent is not negative")
    )
    if not positive and not rises:
        is_zero = apply(graph, np.equal, base, Static(0.0))
        _refuse(graph, is_zero, apply(graph, np.less, exponent, Static(0)), "ZeroDivisionError", _OF_ZERO)
    if not positive and not _is_whole(exponent, kinds[1]) and not _has_no_sign(graph, base):
        is_fraction = apply(graph, np.less, apply(graph, np.floor, exponent), exponent)
        _refuse(graph, apply(graph, np.less, base, Static(0)), is_fraction, "UnsupportedError", _COMPLEX)
    value = exponent.value if isinstance(exponent, Static) else None
    dtypes = (WEAK_DTYPES[float],) * 2
    if value == 0.5:
        root = emit(graph, ELEMENTWISE["sqrt"], [base], dtypes[:1])
        result = emit(graph, ELEMENTWISE["add"], [root, Static(0.0)], dtypes)  # of -0.0 it is 0.0
    elif value == -1:
        result = emit(graph, ELEMENTWISE["reciprocal"], [base], dtypes[:1])
    else:
        result = emit(graph, ELEMENTWISE["power"], [base, exponent], dtypes)
    is_small = (isinstance(base, Static) and abs(base.value) <= 1 and rises) or (
        value is not None and 0 <= value <= 1
    )
    if not is_small:
        grew = apply(graph, np.isinf, result)
        for operand, kind in zip((base, exponent), kinds, strict=True):
            if kind is float and not isinstance(operand, Static):
                grew = apply(graph, np.logical_and, grew, apply(graph, np.isfinite, operand))
        fine = apply(graph, np.logical_not, grew)
        check(graph, fine, "OverflowError", "(34, 'Numerical result out of range')")
    return as_weak(result, float, scalar_arguments([base, exponent]))


_OF_ZERO = "0.0 cannot be raised to a negative power"
_COMPLEX = (
    "a negative number of Python to a fraction is a complex number, and this is compiled for floats: make it a NumPy "
    "number, np.float64(x) ** y, whose power is nan there"
)


def _refuse(graph: Graph, one: Value, other: Value, kind: str, message: str) -> None:
    """Raise where both of two conditions hold."""
    both = apply(graph, np.logical_and, one, other)
    if not isinstance(both, Static) or both.value:
        check(graph, apply(graph, np.logical_not, both), kind, message)


def _is_whole(exponent: Value, kind: Any) -> bool:
    return kind is not float or (isinstance(exponent, Static) and float(exponent.value).is_integer())


def _has_no_sign(graph: Graph, base: Value) -> bool:
    """Whether a base is an integer that is known not to be negative."""
    affine = affine_of(base)
    return affine is not None and graph.assumptions.nonnegative(
        affine, "a root of a number that is not negative"
    )
