"""Python builtins on values: len, abs, int, float, bool, range, tuple, list, sum, and NumPy's scalar types."""

from __future__ import annotations

import builtins

import numpy as np

from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...values.arithmetic import (
    affine_of,
    apply,
    as_weak,
    copy,
    index_value,
    nt_kind,
    operate,
    refuse_own_code,
    scalar_arguments,
)
from ...values.checks import check
from ...values.contents import as_tensor
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.indices import integer_of
from ...values.list_counts import counted
from ...values.numbers import number_kind
from ...values.promotion import WEAK_DTYPES
from ...values.tensors import cast, reshape
from ...values.values import (
    Array,
    Group,
    Index,
    Iteration,
    Lazy,
    Range,
    Rows,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_number,
)
from ..registry import handles, static
from .selection import where


@handles(builtins.len)
def len_(graph: Graph, x: Value) -> Value:
    if isinstance(x, Group):
        return Static(len(x.items))
    if isinstance(x, Range):
        return _length(graph, x)
    if isinstance(x, Rows):
        x = counted(graph, x)
    if isinstance(x, Rows | Iteration):
        if isinstance(x, Iteration) and x.once:
            raise graph.error(DTypeError, "an iterator has no len()")
        return index_value(x.count)
    extents = extents_of(x)
    if not extents:
        raise graph.error(DTypeError, f"{describe(x)} has no len()")
    return index_value(extents[0])


def _length(graph: Graph, span: Range) -> Value:
    """How many items a range has."""
    size = span.stop - span.start if span.step > 0 else span.start - span.stop
    count = operate(graph, "floor_divide", index_value(size + abs(span.step) - 1), Static(abs(span.step)))
    if isinstance(count, Static):
        return Static(max(0, count.value))
    affine = affine_of(count)
    if affine is not None and (affine.lower_bound() or -1) >= 0:
        return count
    some = operate(graph, "greater", count, Static(0))
    return as_weak(where(graph, some, count, Static(0)), int, scalar_arguments([count]))


@handles(builtins.abs)
def abs_(graph: Graph, x: Value) -> Value:
    return operate(graph, "absolute", x)


@handles(builtins.range)
def range_(graph: Graph, *bounds: Value) -> Value:
    if not 1 <= len(bounds) <= 3:
        raise graph.error(DTypeError, f"range expected 1 to 3 arguments, got {len(bounds)}")
    if len(bounds) == 3 and not isinstance(bounds[2], Static):
        return _stepping(graph, *bounds)
    step = static(graph, bounds[2], "the step of a range") if len(bounds) == 3 else 1
    if step == 0:
        raise graph.error(ShapeError, "range() arg 3 must not be zero")
    ends = [_bound(graph, b) for b in bounds[:2]]
    start, stop = (Affine(0), ends[0]) if len(ends) == 1 else ends
    return Range(start, stop, step)


def _stepping(graph: Graph, start: Value, stop: Value, step: Value) -> Iteration:
    """A range whose step is known at run time only: its items are counted."""
    check(graph, apply(graph, np.not_equal, step, Static(0)), "ValueError", "range() arg 3 must not be zero")
    span = operate(graph, "subtract", start, stop)
    count = operate(graph, "negative", operate(graph, "floor_divide", span, step))

    def at(index: Value) -> Value:
        return operate(graph, "add", start, operate(graph, "multiply", index, step))

    return Iteration(_bound(graph, count), at)


def _bound(graph: Graph, value: Value) -> Affine:
    affine = affine_of(value)
    if affine is not None:
        return affine
    if isinstance(value, Array) and not extents_of(value) and value.dtype.kind in "iu":
        return _bound(graph, _converted(graph, value, int))
    if isinstance(value, Scalar | Tensor) and not extents_of(value) and value.dtype.kind in "iu":
        integer = integer_of(graph, value)
        assert integer is not None
        return integer
    raise graph.error(DTypeError, f"a bound of range must be an integer, not {describe(value)}")


_COMPLEX = (complex, np.dtype(np.complex64), np.dtype(np.complex128))


def to_python(graph: Graph, value: Value) -> Value:
    """A number of NumPy as a Python number of its kind."""
    kind = number_kind(graph, value)
    if isinstance(kind, type):
        return value
    target = {"b": bool, "i": int, "u": int, "c": complex}.get(kind.kind, float)
    return _converted(graph, value, target)


def _converted(graph: Graph, value: Value, target: type) -> Value:
    """`target(value)` for a number; array elements of one element only."""
    if isinstance(value, Static):
        return Static(target(value.value))
    if isinstance(value, Index) and target is int:
        return value
    if target in (int, float) and number_kind(graph, value) in _COMPLEX:
        text = f"{target.__name__}() argument must be a string or a real number, not 'complex'"
        raise graph.error(DTypeError, text, f"take a part of it: {target.__name__}(x.real)")
    if any(e.known != 1 for e in extents_of(value)):
        text = "only length-1 arrays can be converted to Python scalars"
        raise graph.error(
            DTypeError,
            text,
            "functions of NumPy take whole arrays: np.sin for math.sin, x.astype(int) for int(x)",
        )
    if target is int and number_kind(graph, value) == np.uint64 and not extents_of(value):
        fits = apply(graph, np.less, value, Static(np.uint64(2**63)))
        check(
            graph,
            fits,
            "OverflowError",
            "compiled Python integers have 64 bits, which do not hold this number",
        )
    arguments = scalar_arguments([value])
    dtype = WEAK_DTYPES[target]
    if graph.island is not None:
        if isinstance(value, Array | Lazy) and value.extents:
            raise graph.error(UnsupportedError, "index the array to get a number")
        return Scalar(graph.island.scalar(value, dtype), dtype, target)
    tensor = as_tensor(graph, value)
    if tensor.extents:
        tensor = reshape(graph, tensor, ())
    return as_weak(Tensor(cast(graph, tensor, dtype).ssa, dtype, (), True), target, arguments)


@handles(builtins.int)
def int_(graph: Graph, x: Value) -> Value:
    """Of a float that is in no loop and no branch checked, as by math.trunc."""
    if graph.is_straight and is_number(x) and not isinstance(x, Static) and not extents_of(x):
        kind = number_kind(graph, x)
        if kind is float or (isinstance(kind, np.dtype) and nt_kind(kind) == "f"):
            return to_integer(graph, x)
    return _converted(graph, x, int)


def to_integer(graph: Graph, x: Value) -> Value:
    """A float as a Python integer. ValueError for nan, OverflowError for what 64 bits do not hold."""
    kind = number_kind(graph, x)
    if isinstance(kind, np.dtype) and kind.itemsize == 2:
        x = copy(graph, x, np.dtype(np.float32))  # in which 2**63 is not infinite
    check(graph, apply(graph, np.equal, x, x), "ValueError", "cannot convert float NaN to integer")
    not_above = apply(graph, np.less, x, Static(2.0**63))
    not_below = apply(graph, np.greater_equal, x, Static(-(2.0**63)))
    inside = apply(graph, np.logical_and, not_above, not_below)
    check(graph, inside, "OverflowError", "the float does not fit in a 64-bit integer")
    return _converted(graph, x, int)


@handles(builtins.float)
def float_(graph: Graph, x: Value) -> Value:
    return _converted(graph, x, float)


@handles(builtins.bool)
def bool_(graph: Graph, x: Value) -> Value:
    return _converted(graph, x, bool)


@handles(builtins.slice)
def slice_(graph: Graph, *bounds: Value) -> Value:
    """A slice as a value: its bounds may be known at run time only."""
    if not 1 <= len(bounds) <= 3:
        raise graph.error(DTypeError, f"slice expected 1 to 3 arguments, got {len(bounds)}")
    none = Static(None)
    start, stop, step = (none, bounds[0], none) if len(bounds) == 1 else (*bounds, none)[:3]
    if all(isinstance(b, Static) for b in bounds):
        return Static(slice(start.value, stop.value, step.value))  # pyright: ignore
    return Group((start, stop, step), slice, ("start", "stop", "step"))


@handles(builtins.tuple)
def tuple_(graph: Graph, x: Value) -> Value:
    return _group(graph, x, tuple)


@handles(builtins.list)
def list_(graph: Graph, x: Value) -> Value:
    return _group(graph, x, list)


def _group(graph: Graph, x: Value, kind: type) -> Value:
    if isinstance(x, Group):
        return Group(x.items, kind)
    if isinstance(x, Static) and isinstance(x.value, tuple | list):
        return Static(kind(x.value))
    raise graph.error(UnsupportedError, f"{kind.__name__}() of {describe(x)} is not supported")


def numpy_scalar(graph: Graph, dtype: np.dtype, x: Value) -> Value:
    """`np.float32(x)` of a number: a NumPy scalar. Of an array: the array converted."""
    if isinstance(x, Group) or (isinstance(x, Static) and isinstance(x.value, tuple | list)):
        from ...values.nested import array_of

        return array_of(graph, x, dtype)
    if isinstance(x, Static):
        refuse_own_code(graph, [x.value])
        return Static(dtype.type(x.value))
    return copy(graph, x, dtype)
