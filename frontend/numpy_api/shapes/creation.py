"""New arrays: zeros, ones, full, empty, their `_like` forms, arange, linspace, eye, array."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineBinaryOpKind

from ...indexing.views import Slice, view
from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import (
    affine_of,
    apply,
    convert,
    copy,
    index_value,
    reads_extents,
    scalar_arguments,
)
from ...values.arithmetic import copy as copied
from ...values.assemble import INT, axis_order, dtype_of_value, positions
from ...values.contents import as_view
from ...values.equal_extents import require_size
from ...values.extents import Affine, is_never_negative
from ...values.graph import Graph
from ...values.indices import integer_of
from ...values.islands import check_assignable
from ...values.nested import array_of, constant_array
from ...values.numbers import number_kind
from ...values.promotion import WEAK_DTYPES
from ...values.tensors import broadcast
from ...values.values import (
    NOTHING,
    Array,
    Buffer,
    Extents,
    Group,
    Static,
    Tensor,
    Value,
    extents_of,
    is_array,
    whole,
)
from ..elements.selection import where
from ..registry import dtype_of, handles, static
from .orders import lay_out, repeats, requested, stays
from .rearranging import atleast, copy_, number_as_array
from .reshaping import array_shape, shape_argument

ZERO, FIFTY, TRUE, FALSE = Static(0), Static(50), Static(True), Static(False)


def _filled(graph: Graph, extents: Extents, fill: Value, dtype: np.dtype) -> Array:
    check_size(graph, extents, dtype)
    check_assignable(graph, extents, extents_of(fill))
    if graph.island is not None:
        array = whole(graph.island.allocate("t", dtype, extents))
        graph.island.assign(array, fill)
        return array
    tensor = broadcast(graph, convert(graph, fill, dtype), extents)
    return whole(Buffer(tensor.ssa, dtype, extents))


_ZERO = Static(0)


def check_size(graph: Graph, extents: Extents, dtype: np.dtype) -> None:
    """Raise what NumPy raises for a shape that no array can have."""
    known = [e.known for e in extents if e.known is not None]
    if any(n < 0 for n in known):
        raise graph.error(ShapeError, "negative dimensions are not allowed")
    if prod(known) * dtype.itemsize >= 1 << 63:
        text = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
        raise graph.error(ShapeError, text)
    require_size(graph, extents, dtype.itemsize)


@handles(np.zeros)
def zeros(graph: Graph, shape: Value, dtype: Value | None = None, order: Value | None = None) -> Value:
    extents = shape_argument(graph, [shape])
    array = _filled(graph, extents, Static(0), dtype_of(graph, dtype) or np.dtype(float))
    return lay_out(graph, array, requested(graph, order))


@handles(np.ones)
def ones(graph: Graph, shape: Value, dtype: Value | None = None, order: Value | None = None) -> Value:
    extents = shape_argument(graph, [shape])
    array = _filled(graph, extents, Static(1), dtype_of(graph, dtype) or np.dtype(float))
    return lay_out(graph, array, requested(graph, order))


@handles(np.empty)
def empty(graph: Graph, shape: Value, dtype: Value | None = None, order: Value | None = None) -> Value:
    """Elements that are never written are zero: reproducible, where NumPy's are whatever memory held."""
    return zeros(graph, shape, dtype, order)


@handles(np.ndarray)
def ndarray(graph: Graph, shape: Value, dtype: Value | None = None, *, order: Value | None = None) -> Value:
    """Elements that are never written are zero, as those of `np.empty`."""
    return zeros(graph, shape, dtype, order)


@handles(np.full)
def full(
    graph: Graph, shape: Value, fill_value: Value, dtype: Value | None = None, order: Value | None = None
) -> Value:
    kind = number_kind(graph, fill_value)
    own = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    array = _filled(graph, shape_argument(graph, [shape]), fill_value, dtype_of(graph, dtype) or own)
    return lay_out(graph, array, requested(graph, order))


def _like(
    graph: Graph, a: Value, fill: Value, dtype: Value | None, shape: Value | None, order: Value | None
) -> Value:
    if shape is not None:
        extents = shape_argument(graph, [shape])
    else:
        extents = extents_of(a)
    kind = number_kind(graph, a)
    own = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
    array = _filled(graph, extents, fill, dtype_of(graph, dtype) or own)
    if shape is None and isinstance(a, Array):
        array.buffer.order = axis_order(a)
    return lay_out(graph, array, requested(graph, order, "K"), a)


@handles(np.zeros_like)
def zeros_like(
    graph: Graph,
    a: Value,
    dtype: Value | None = None,
    order: Value | None = None,
    *,
    shape: Value | None = None,
) -> Value:
    return _like(graph, a, Static(0), dtype, shape, order)


@handles(np.ones_like)
def ones_like(
    graph: Graph,
    a: Value,
    dtype: Value | None = None,
    order: Value | None = None,
    *,
    shape: Value | None = None,
) -> Value:
    return _like(graph, a, Static(1), dtype, shape, order)


@handles(np.empty_like)
def empty_like(
    graph: Graph,
    prototype: Value,
    dtype: Value | None = None,
    order: Value | None = None,
    *,
    shape: Value | None = None,
) -> Value:
    return _like(graph, prototype, Static(0), dtype, shape, order)


@handles(np.full_like)
def full_like(
    graph: Graph,
    a: Value,
    fill_value: Value,
    dtype: Value | None = None,
    order: Value | None = None,
    *,
    shape: Value | None = None,
) -> Value:
    return _like(graph, a, fill_value, dtype, shape, order)


@handles(np.ascontiguousarray)
def ascontiguousarray(graph: Graph, a: Value, dtype: Value | None = None) -> Value:
    """An array in row-major order, of rank 1 at least: the array itself where it is one."""
    array = asarray(graph, a, dtype)
    if not extents_of(array):
        return atleast(graph, array, 1)
    if isinstance(array, Array) and (repeats(array) or not array.is_row_major):
        return copy_(graph, array)
    return array


@handles(np.asarray, np.asanyarray)
def asarray(
    graph: Graph,
    a: Value,
    dtype: Value | None = None,
    order: Value | None = None,
    *,
    copy: Value | None = None,
) -> Value:
    """A conversion where the dtype or the order differs; lists and numbers become new arrays."""
    if static(graph, copy, "copy"):
        return array(graph, a, dtype, order=order)
    target, wanted = dtype_of(graph, dtype), requested(graph, order, "K")
    if is_array(a) and (target is None or target == number_kind(graph, a)) and stays(graph, a, wanted):
        return a
    if static(graph, copy, "copy") is False:
        raise graph.error(ShapeError, "Unable to avoid copy while creating an array as requested.")
    return array(graph, a, dtype, order=order)


@handles(np.asfortranarray)
def asfortranarray(graph: Graph, a: Value, dtype: Value | None = None) -> Value:
    return asarray(graph, atleast(graph, a, 1) if is_array(a) else a, dtype, Static("F"))


@handles(np.require)
def require(graph: Graph, a: Value, dtype: Value | None = None, requirements: Value | None = None) -> Value:
    """An array of that dtype and order; a copy where it does not own its memory or must not be written."""
    flags = {str(f).upper()[:1] for f in static(graph, requirements, "requirements") or ()}
    if flags >= {"C", "F"}:
        raise graph.error(ShapeError, 'Cannot specify both "C" and "F" order')
    order = Static("F" if "F" in flags else "C" if "C" in flags else None)
    result = asarray(graph, a, dtype, order)
    if isinstance(result, Array) and (
        ("O" in flags and not result.whole) or ("W" in flags and result.buffer.read_only)
    ):
        return array(graph, result, order=order)
    return result


@handles(np.array)
def array(
    graph: Graph,
    object: Value,
    dtype: Value | None = None,
    copy: Value = TRUE,
    order: Value | None = None,
    ndmin: Value = ZERO,
) -> Value:
    target = dtype_of(graph, dtype)
    if static(graph, copy, "copy") is not True:
        result = asarray(graph, object, dtype, order, copy=copy)
    elif is_array(object):
        new = copied(graph, object, target or dtype_of_value(graph, object))
        result = number_as_array(graph, new) if graph.island is None else new
        result = lay_out(graph, result, requested(graph, order, "K"), object)
    else:
        result = lay_out(graph, array_of(graph, object, target), requested(graph, order, "K"))
    missing = static(graph, ndmin, "ndmin") - len(extents_of(result))
    if missing > 0:
        return view(graph, as_view(graph, result), [Static(None)] * missing)
    return result


# ---- sequences --------------------------------------------------------------------------------------


@handles(np.arange)
def arange(
    graph: Graph,
    *bounds: Value,
    start: Value = NOTHING,
    stop: Value = NOTHING,
    step: Value = NOTHING,
    dtype: Value = NOTHING,
) -> Value:
    """`arange(stop)`, `arange(start, stop)`, `arange(start, stop, step, dtype)`; each by its name as well."""
    given = {"start": start, "stop": stop, "step": step, "dtype": dtype}
    for position, (name, value) in enumerate(zip(given, bounds, strict=False)):
        if given[name] is not NOTHING:
            text = f"argument for arange() given by name ('{name}') and position (position {position})"
            raise graph.error(DTypeError, text)
        given[name] = value
    absent = [name for name, value in given.items() if isinstance(value, Static) and value.value is None]
    if len(bounds) > 4:
        raise graph.error(
            DTypeError, f"arange() takes from 0 to 4 positional arguments but {len(bounds)} were given"
        )
    if "stop" in absent and (not bounds or "start" in absent):
        raise graph.error(DTypeError, "arange() requires stop to be specified.")
    first, last = (_ZERO, given["start"]) if "stop" in absent else (given["start"], given["stop"])
    first = _ZERO if first is NOTHING else first
    if "step" not in absent:
        return _arange(graph, (first, last, given["step"]), given["dtype"])
    return _arange(graph, (last,) if first is _ZERO else (first, last), given["dtype"])


def _arange(graph: Graph, bounds: tuple[Value, ...], dtype: Value) -> Value:
    """Integers of constant step may have an unknown length; else the bounds are compiled for."""
    request = dtype_of(graph, dtype)
    affine = [_counted_bound(graph, b) for b in bounds]
    if request is None and any(number_kind(graph, b) == np.uint64 for b in bounds):
        request = np.dtype(float)  # what holds them and int64, which a range has at least
    if any(a is None or a.known is None for a in affine):
        if all(a is not None for a in affine) and (len(affine) < 3 or affine[2].known):  # pyright: ignore
            return _counting(graph, affine, request)  # pyright: ignore
        bounds = tuple([Static(static(graph, b, "a bound of np.arange")) for b in bounds])
    values: list[Any] = [static(graph, b, "a bound of np.arange") for b in bounds]
    try:
        table = np.arange(*values, dtype=request)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise graph.error(ShapeError, str(error)) from None
    return _as_sequence(graph, table)


def _counted_bound(graph: Graph, value: Value) -> Affine | None:
    """A bound as an integer that the run may know; None for what is to be known at compile time."""
    if isinstance(value, Tensor) and not value.extents and _is_of_arguments(value):
        return affine_of(value)
    return integer_of(graph, value)


def _is_of_arguments(value: Tensor) -> bool:
    return bool(scalar_arguments([value])) or reads_extents(value.ssa)


def _as_sequence(graph: Graph, table: np.ndarray) -> Value:
    """A sequence whose elements are `first + k * (second - first)`, as NumPy computes them."""
    if table.size < 2 or table.dtype.kind == "b":
        return constant_array(graph, table)
    first, delta = table[0], table[1] - table[0]
    count = positions(graph, Affine(table.size))
    k = copy(graph, count, table.dtype)
    # NumPy's fill: start + k * delta, in the dtype of the result; in float16 it goes through float32.
    if table.dtype.name == "float16":
        k = copy(graph, count, np.dtype(np.float32))
        first, delta = np.float32(table[0]), np.float32(table[1]) - np.float32(table[0])
    scaled = apply(graph, np.multiply, k, Static(delta))
    return copy(graph, apply(graph, np.add, scaled, Static(first)), table.dtype)


def _counting(graph: Graph, bounds: list[Affine], request: np.dtype | None) -> Value:
    """Integers from bounds known at run time."""
    start, stop = (Affine(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    step = bounds[2].constant if len(bounds) == 3 else 1
    if step == 0:
        raise graph.error(ShapeError, "Maximum allowed size exceeded")
    span = stop - start if step > 0 else start - stop
    is_open = not span.is_of_extents()
    if is_open and span.arguments() and graph.island is None:
        raise Respecialise(span.arguments(), why="the length of np.arange depends on it")
    count = graph.larger(span, Affine(0)) if is_open and not is_never_negative(span) else span
    if abs(step) != 1:
        count = graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, count + (abs(step) - 1), abs(step))
    if is_open:
        require_size(graph, (count,), INT.itemsize)
    elif count.known is None and not graph.assumptions.nonnegative(count - 2, "a range of two or more"):
        raise Respecialise(shapes=True, why="an np.arange of fewer than two items")
    count = Affine(max(count.known, 0)) if count.known is not None else count
    values = positions(graph, count)
    if step != 1:
        values = apply(graph, np.multiply, values, Static(np.int64(step)))
    if start.known != 0:
        first = convert_index(graph, start)
        values = apply(graph, np.add, values, first)
    return values if request is None or request == np.int64 else copy(graph, values, request)


def convert_index(graph: Graph, affine: Affine) -> Value:
    """A Python integer known at run time as an int64."""
    return (
        Static(np.int64(affine.constant))
        if affine.known is not None
        else copy(graph, index_value(affine), INT)
    )


@handles(np.linspace)
def linspace(
    graph: Graph,
    start: Value,
    stop: Value,
    num: Value = FIFTY,
    endpoint: Value = TRUE,
    retstep: Value = FALSE,
    dtype: Value | None = None,
) -> Value:
    """`k * step + start`, the last item `stop` itself, as NumPy computes it."""
    count = static(graph, num, "the number of items of np.linspace")
    closed, with_step = static(graph, endpoint, "endpoint"), static(graph, retstep, "retstep")
    if extents_of(start) or extents_of(stop):
        raise graph.error(UnsupportedError, "np.linspace between arrays is not supported")
    if count < 0:
        raise graph.error(ShapeError, f"Number of samples, {count}, must be non-negative.")
    ends = [static(graph, v, "an end of np.linspace") for v in (start, stop)]
    request = dtype_of(graph, dtype)
    table, step = np.linspace(ends[0], ends[1], count, endpoint=closed, retstep=True, dtype=request)
    double = np.dtype(np.float64)
    if table.size < 3 or np.result_type(*ends, 0.0) != double or step == 0:
        values: Value = constant_array(graph, table)
    else:
        k = copy(graph, positions(graph, Affine(count)), double)
        low, high = [np.float64(end) for end in ends]
        values = apply(graph, np.add, apply(graph, np.multiply, k, Static(np.float64(step))), Static(low))
        if closed:
            last = apply(graph, np.equal, k, Static(np.float64(count - 1)))
            values = where(graph, last, Static(high), values)
        if request is not None and request.kind in "iu":
            values = apply(graph, np.floor, values)
        values = copy(graph, values, table.dtype)
    return Group((values, Static(np.float64(step)))) if with_step else values


# ---- matrices ---------------------------------------------------------------------------------------


def diagonal_mask(graph: Graph, rows: Affine, columns: Affine, offset: Value, ufunc: np.ufunc) -> Value:
    """`ufunc(column, row + offset)` at each place of a matrix."""
    down = as_view(graph, positions(graph, rows))
    across = as_view(graph, positions(graph, columns))
    column = view(graph, down, [Slice(), Static(None)])
    amount = static(graph, offset, "the diagonal")
    if not isinstance(amount, int | np.integer):
        raise graph.error(DTypeError, f"the diagonal must be an integer, not {amount!r}")
    shifted: Value = column
    if amount:
        shifted = apply(graph, np.add, column, Static(np.int64(amount)))
    return apply(graph, ufunc, view(graph, across, [Static(None), Slice()]), shifted)


@handles(np.eye)
def eye(graph: Graph, N: Value, M: Value | None = None, k: Value = ZERO, dtype: Value | None = None) -> Value:
    rows = array_shape(graph, [N])
    columns = rows if M is None or (isinstance(M, Static) and M.value is None) else array_shape(graph, [M])
    mask = diagonal_mask(graph, rows[0], columns[0], k, np.equal)
    return copy(graph, mask, dtype_of(graph, dtype) or np.dtype(float))


@handles(np.identity)
def identity(graph: Graph, n: Value, dtype: Value | None = None) -> Value:
    return eye(graph, n, None, Static(0), dtype)


@handles(np.tri)
def tri(graph: Graph, N: Value, M: Value | None = None, k: Value = ZERO, dtype: Value | None = None) -> Value:
    rows = array_shape(graph, [N])
    columns = rows if M is None or (isinstance(M, Static) and M.value is None) else array_shape(graph, [M])
    mask = diagonal_mask(graph, rows[0], columns[0], k, np.less_equal)
    return copy(graph, mask, dtype_of(graph, dtype) or np.dtype(float))
