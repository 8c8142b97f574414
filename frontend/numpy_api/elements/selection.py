"""np.where and np.clip, and the minimum and maximum of Python."""

from __future__ import annotations

import builtins
from collections.abc import Callable

import numpy as np

from ....dialects.nt import ELEMENTWISE
from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import (
    UFUNC_CLIP,
    affine_of,
    apply,
    as_weak,
    copy,
    emit,
    index_value,
    operate,
    require_static,
    scalar_arguments,
)
from ...values.graph import Graph
from ...values.integer_ranges import require_fit
from ...values.numbers import number_kind
from ...values.promotion import WEAK_DTYPES, Operand, fits, result_dtype, weak_result
from ...values.tensors import BOOL
from ...values.values import Buffer, Group, Index, Static, Tensor, Value, whole
from ..registry import handles, refuse_out

NONE = Static(None)


@handles(np.where)
def numpy_where(graph: Graph, condition: Value, x: Value | None = None, y: Value | None = None) -> Value:
    from ...values.nested import array_of

    def operand(value: Value) -> Value:
        """Tuples and lists as arrays."""
        is_list = isinstance(value, Group) or (
            isinstance(value, Static) and isinstance(value.raw, tuple | list)
        )
        return array_of(graph, value) if is_list else value

    if x is None and y is None:
        from ...indexing.masks import positions_of_true

        return positions_of_true(graph, operand(condition))
    if x is None or y is None:
        raise graph.error(ShapeError, "either both or neither of x and y should be given")
    result = where(graph, operand(condition), operand(x), operand(y))
    if isinstance(result, Tensor) and not result.extents:
        return whole(Buffer(result.ssa, result.dtype, ()))  # unlike a ufunc, it gives an array of rank 0
    return result


def where(graph: Graph, condition: Value, x: Value, y: Value) -> Value:
    """The elements of x where a condition holds, else those of y; a number where all three are."""
    kinds = tuple([number_kind(graph, o) for o in (x, y)])
    dtype = result_dtype(kinds)
    # A Python integer that the type of the other operand cannot hold is cut off, as by astype.
    operands = [cut(graph, o, kind, dtype) for o, kind in zip((x, y), kinds, strict=True)]
    # The condition is true where it is not zero.
    truth = (
        apply(graph, np.not_equal, condition, Static(0))
        if number_kind(graph, condition) not in (BOOL, bool)
        else condition
    )
    result = emit(graph, ELEMENTWISE["select"], [truth, *operands], (BOOL, dtype, dtype))
    return result


def cut(graph: Graph, value: Value, kind: Operand, dtype: np.dtype) -> Value:
    """What becomes `dtype`: a Python integer that it cannot hold as astype makes it."""
    if kind is not int or dtype.kind not in "iu":
        return value
    if isinstance(value, Static):
        return value if fits(value.value, dtype) else Static(np.asarray(value.value).astype(dtype)[()])
    return value if dtype == WEAK_DTYPES[int] else copy(graph, value, WEAK_DTYPES[int])


@handles(np.clip, method="clip")
def clip(
    graph: Graph,
    a: Value,
    a_min: Value = NONE,
    a_max: Value = NONE,
    out: Value | None = None,
    *,
    min: Value = NONE,
    max: Value = NONE,
) -> Value:
    refuse_out(graph, out)
    given = [_one_name(graph, a_min, min), _one_name(graph, a_max, max)]
    low, high = [None if isinstance(v, Static) and v.value is None else v for v in given]
    kind = number_kind(graph, a)
    if isinstance(kind, type):  # a Python number becomes an array first
        kind = WEAK_DTYPES[kind]
        a = Static(np.asarray(a.value)[()]) if isinstance(a, Static) else copy(graph, a, kind)
    if isinstance(kind, np.dtype) and kind.kind in "iu":
        # A Python integer that the dtype cannot pass does not bound, as in NumPy.
        low = _bound(graph, low, np.iinfo(kind).min, python_max)
        high = _bound(graph, high, np.iinfo(kind).max, python_min)
    if low is None and high is None:
        return operate(graph, "positive", a)
    if high is None:
        assert low is not None
        return apply(graph, np.maximum, a, low)
    if low is None:
        return apply(graph, np.minimum, a, high)
    return apply(graph, UFUNC_CLIP, a, low, high)


def _one_name(graph: Graph, old: Value, new: Value) -> Value:
    """A bound, which has two names."""
    if new is not NONE and old is not NONE:
        raise graph.error(
            DTypeError, "a bound of np.clip is given twice", "a_min and min are one, as a_max and max"
        )
    return old if new is NONE else new


def _bound(graph: Graph, bound: Value | None, end: int, clipped: Callable[..., Value]) -> Value | None:
    if bound is None or number_kind(graph, bound) is not int:
        return bound
    if isinstance(bound, Static):
        return None if clipped(graph, bound, Static(int(end))).value == end else bound  # pyright: ignore
    in_64_bits = -(1 << 63) < end < (1 << 63) - 1
    return clipped(graph, bound, Static(int(end))) if in_64_bits else bound


@handles(builtins.max)
def python_max(graph: Graph, *values: Value) -> Value:
    return _extreme(graph, "greater", values)


@handles(builtins.min)
def python_min(graph: Graph, *values: Value) -> Value:
    return _extreme(graph, "less", values)


def _extreme(graph: Graph, name: str, values: tuple[Value, ...]) -> Value:
    """Python's max and min: the first of the largest."""
    if len(values) == 1 and isinstance(values[0], Group):
        values = values[0].items
    if len(values) < 2:
        raise graph.error(
            UnsupportedError, "max and min of one value are not supported", "x.max() reduces an array"
        )
    best = values[0]
    for value in values[1:]:
        best = _better(graph, name, value, best)
    return best


def _better(graph: Graph, name: str, value: Value, best: Value) -> Value:
    decided = operate(graph, name, value, best)
    if isinstance(decided, Static):
        return value if decided.value else best
    kinds = [number_kind(graph, v) for v in (value, best)]
    if kinds == [int, int] and isinstance(value, Index | Static) and isinstance(best, Index | Static):
        a, b = affine_of(value), affine_of(best)
        assert a is not None and b is not None
        return index_value(graph.larger(a, b) if name == "greater" else graph.smaller(a, b))
    if isinstance(decided, Tensor) and not decided.scalar:
        raise graph.error(DTypeError, "max and min of arrays are ambiguous", "use np.maximum or np.minimum")
    arguments = scalar_arguments([value, best])
    for operand in (value, best):
        require_fit(graph, operand, result_dtype(tuple(kinds)))
    chosen = where(graph, decided, value, best)
    if all(isinstance(k, type) for k in kinds):
        if kinds[0] is not kinds[1] and arguments:
            raise Respecialise(arguments, why="max and min of Python numbers of two types")
        return as_weak(chosen, weak_result(tuple(kinds)), arguments)  # pyright: ignore
    return chosen


__all__ = ["clip", "require_static", "where"]
