"""Arrays compared as wholes, and questions about arrays: isclose, array_equal, isin, ndim, shape, size, isscalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...values.arithmetic import index_value
from ...values.graph import Graph
from ...values.values import Array, Group, Index, Scalar, Static, Value, extents_of, is_array
from ..definitions import defines, dtype_of, is_symbol, known, number, unsupported, xp
from ..registry import handles, normal_axis, static
from ..shapes.orders import is_fortran
from .attributes import size as size_of
from .rounding import plain

FEW, MANY = 16, 256
"""Elements that np.isin compares each element with: in one expression, and in a loop."""


@defines(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|a - b| <= atol + rtol * |b|, or equal."""
    a, b, rtol, atol = [_number_or_array(v) for v in (a, b, rtol, atol)]
    if isinstance(b, int):
        b = float(b)
    elif not isinstance(b, float) and dtype_of(b).kind in "biu":
        b = b.astype(xp.result_type(b, 1.0)) if hasattr(b, "astype") else float(b)
    result = (abs(xp.subtract(a, b)) <= atol + rtol * abs(b)) & xp.isfinite(b) | xp.equal(a, b)
    if equal_nan:
        result = result | (xp.isnan(a) & xp.isnan(b))
    return plain(result)


def _number_or_array(value: Any) -> Any:
    """A list as an array; numbers as they are."""
    return xp.asarray(value) if isinstance(value, list | tuple) else value


@defines(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return number(bool, xp.all(isclose(a, b, rtol, atol, equal_nan)))


@defines(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    a1, a2 = xp.asarray(a1), xp.asarray(a2)
    if a1.ndim != a2.ndim or any(m != n for m, n in zip(a1.shape, a2.shape, strict=True)):
        return False
    same = a1 == a2
    if equal_nan and dtype_of(a1).kind == "f" and dtype_of(a2).kind == "f":
        same = same | (xp.isnan(a1) & xp.isnan(a2))
    return number(bool, xp.all(same))


@defines(np.array_equiv)
def array_equiv(a1, a2):
    a1, a2 = xp.asarray(a1), xp.asarray(a2)
    for m, n in zip(reversed(a1.shape), reversed(a2.shape), strict=False):
        if m != n and m != 1 and n != 1:
            return False
    return number(bool, xp.all(a1 == a2))


@defines(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Each element is compared with all of the others, which suits a few."""
    others = xp.ravel(xp.asarray(test_elements))
    count = known(len(others)) if is_symbol(others) else others.size
    if count > MANY:
        raise unsupported(
            f"np.isin with {count} elements to look for is not supported (at most {MANY})",
            "np.searchsorted in a sorted array finds elements",
        )
    element = xp.asarray(element)
    if count > FEW or not count:
        found = xp.any(xp.expand_dims(element, -1) == others, axis=-1)
    else:
        found = element == others[0]
        for k in range(1, count):
            found = found | (element == others[k])
    return xp.asarray((~found if invert else found).copy())


# ---- questions about arrays -------------------------------------------------------------------------


def _as_array(graph: Graph, value: Value) -> Value:
    from ...values.nested import array_of

    is_list = isinstance(value, Group) or (
        isinstance(value, Static) and isinstance(value.value, tuple | list | np.ndarray)
    )
    return array_of(graph, value) if is_list else value


@handles(np.ndim)
def ndim(graph: Graph, a: Value) -> Value:
    return Static(len(extents_of(_as_array(graph, a))))


@handles(np.shape)
def shape(graph: Graph, a: Value) -> Value:
    return Group(tuple([index_value(e) for e in extents_of(_as_array(graph, a))]))


@handles(np.size)
def size(graph: Graph, a: Value, axis: Value | None = None) -> Value:
    value = _as_array(graph, a)
    request = static(graph, axis, "axis")
    if request is None:
        return size_of(graph, value) if extents_of(value) else Static(1)
    extents = extents_of(value)
    total: Any = 1
    for k in request if isinstance(request, tuple) else (request,):
        total = extents[normal_axis(graph, k, len(extents))] if total == 1 else total * extents[k].constant
    return Static(total) if isinstance(total, int) else index_value(total)


@handles(np.isscalar)
def isscalar(graph: Graph, element: Value) -> Value:
    if isinstance(element, Static):
        return Static(np.isscalar(element.value))
    return Static(not isinstance(element, Group) and not is_array(element))


@handles(np.isfortran)
def isfortran(graph: Graph, a: Value) -> Value:
    return Static(isinstance(a, Array) and is_fortran(a))


@handles(np.iterable)
def iterable(graph: Graph, y: Value) -> Value:
    if isinstance(y, Static):
        return Static(np.iterable(y.value))
    return Static(not isinstance(y, Scalar | Index) and (isinstance(y, Group) or bool(extents_of(y))))
