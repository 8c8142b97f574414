"""`nt.reduce`: reductions by a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.tracebacks import boundary
from ..interface.errors import DTypeError, ShapeError, UnsupportedError

ORDERS = ("any", "sequential")


@boundary
def reduce(
    function: Callable[[Any, Any], Any],
    x: Any,
    /,
    *,
    identity: Any,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    order: str = "any",
) -> Any:
    """Reduce `x` over `axis` (None: over all axes) by `function(a, b)`, from `identity` on.

        nt.reduce(lambda a, b: a + b, x, identity=0.0, axis=1)              # as x.sum(axis=1)

        def larger(a, b):                                                   # tuples: the largest |x|, and where it is
            return a if abs(a[0]) >= abs(b[0]) else b
        value, place = nt.reduce(larger, (x, np.arange(len(x))), identity=(0.0, 0))

    `x` is an array, or a tuple of arrays that broadcast to one shape. `function` gets two numbers (of the dtype of `x`), or
    two tuples of numbers, and returns what it got: it computes with numbers and constants only, and may choose with `if`.
    `identity` are numbers that are known when the function is compiled: the result where there is no element.

    With order="any", `function` must be associative and commutative, and `identity` neutral: elements are combined in an
    order that is fixed, but chosen for speed; `nt.testing.check_reduction` tries it. order="sequential" combines from the
    first element to the last: function(function(identity, x[0]), x[1]), ..., whatever the function is.

    The result has the dtype of `x` and its shape without `axis` (with `keepdims`, axes of length 1); a tuple for a tuple.
    It is differentiable, and can be mapped by `nt.vmap`. Raises DTypeError where `function` returns another dtype,
    ShapeError for shapes that do not broadcast, UnsupportedError for what it cannot do.
    """
    items = x if isinstance(x, tuple) else (x,)
    for one in items:
        if not isinstance(one, np.ndarray) and hasattr(one, "__array_function__"):
            # An array that is being traced: the reduction is part of what is compiled.
            given = {"identity": identity, "axis": axis, "keepdims": keepdims, "order": order}
            return one.__array_function__(reduce, (type(one),), (function, x), given)
    check_order(order)
    arrays = broadcast_operands(items)
    starts = identities(identity, isinstance(x, tuple), [a.dtype for a in arrays])
    axes = _axes_of(axis, arrays[0].ndim)
    kept = [k for k in range(arrays[0].ndim) if k not in axes]
    moved = [np.transpose(a, [*kept, *axes]) for a in arrays]
    shape = moved[0].shape[: len(kept)]
    results = [np.empty(shape, a.dtype) for a in arrays]
    for place in np.ndindex(shape):
        total = starts
        for element in zip(*[m[place].ravel() for m in moved], strict=True):
            total = combined(function, total, element, isinstance(x, tuple))
        for result, value in zip(results, total, strict=True):
            result[place] = value
    if keepdims:
        results = [np.expand_dims(r, axes) for r in results]
    ended = tuple(r if r.ndim else r[()] for r in results)
    return ended if isinstance(x, tuple) else ended[0]


def check_order(order: Any) -> None:
    """Raise UnsupportedError for an unknown order."""
    if order not in ORDERS:
        raise UnsupportedError(f"nt.reduce: unknown order {order!r}; one of {', '.join(map(repr, ORDERS))}")


def identities(identity: Any, is_tuple: bool, dtypes: Sequence[np.dtype]) -> tuple[Any, ...]:
    """The numbers that a reduction starts from, in its dtypes. Raises DTypeError."""
    given = tuple(identity) if is_tuple and isinstance(identity, tuple | list) else (identity,)
    if len(given) != len(dtypes):
        raise DTypeError(
            f"nt.reduce: identity= has {len(given)} numbers, {len(dtypes)} arrays are reduced together",
            hint="give a number for each array: identity=(0.0, 0)",
        )
    result: list[Any] = []
    for one, dtype in zip(given, dtypes, strict=True):
        text = f"nt.reduce: the identity {one!r} is no number of dtype {dtype}"
        if not isinstance(one, bool | int | float | complex | np.generic):
            raise DTypeError(text, hint="give a number that is known when the function is compiled")
        try:
            number = dtype.type(one)
        except (OverflowError, TypeError, ValueError):
            raise DTypeError(text) from None
        if number != one and one == one and dtype.kind not in "fc":
            raise DTypeError(text)
        result.append(number)
    return tuple(result)


def fitting(dtype: np.dtype, found: np.dtype | type) -> bool:
    """Whether what `function` returns (a dtype, or the kind of a number of Python) is a number of the dtype reduced."""
    return (np.result_type(dtype, found(0)) if isinstance(found, type) else found) == dtype


def wrong_dtype(found: Any, dtype: np.dtype) -> tuple[str, str]:
    """The message for a function that returns another dtype, and its hint."""
    name = found.__name__ if isinstance(found, type) else found
    return (
        f"the function of nt.reduce returns {name} for {dtype}",
        f"convert in it: np.{dtype}(...), or reduce an array of another dtype: x.astype(...)",
    )


def wrong_structure(count: int) -> str:
    """The message for a function that returns something else than it got."""
    what = "a number" if count == 1 else f"a tuple of {count} numbers"
    return f"the function of nt.reduce must return what it gets: {what}"


def broadcast_operands(items: tuple[Any, ...]) -> list[np.ndarray]:
    """The arrays that are reduced together, of one shape. Raises DTypeError, ShapeError."""
    if not items:
        raise DTypeError("nt.reduce: an empty tuple has no arrays to reduce")
    arrays = [np.asarray(one) for one in items]
    for one in arrays:
        if one.dtype.kind not in "biufc" and one.dtype.name != "bfloat16":
            raise DTypeError(f"nt.reduce: arrays of dtype {one.dtype} are not supported")
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError as error:
        raise ShapeError(f"nt.reduce: {error}") from None


def _axes_of(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    if not rank and axis in (0, -1):
        return ()  # NumPy lets a scalar be reduced over its first or last axis
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, rank)))  # pyright: ignore


def combined(function: Any, total: tuple, element: tuple, is_tuple: bool) -> tuple:
    """What the function makes of two items, in the dtypes of the first. Raises DTypeError."""
    value = function(total, element) if is_tuple else function(total[0], element[0])
    values = value if is_tuple else (value,)
    if not isinstance(values, tuple) or len(values) != len(total):
        raise DTypeError(wrong_structure(len(total)))
    result: list[Any] = []
    for one, old in zip(values, total, strict=True):
        weak = type(one) if isinstance(one, bool | int | float | complex) else None
        found = weak if weak is not None and not isinstance(one, np.generic) else np.asarray(one).dtype
        if np.ndim(one):
            raise DTypeError(wrong_structure(len(total)))
        if not fitting(old.dtype, found):
            text, hint = wrong_dtype(found, old.dtype)
            raise DTypeError(text, hint=hint)
        result.append(old.dtype.type(one))
    return tuple(result)
