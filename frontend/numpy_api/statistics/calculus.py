"""Differences, sums and products along an axis: gradient, trapezoid, convolve, correlate, cross, kron, cov, corrcoef."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..definitions import (
    assembled,
    broadcast_shape,
    call,
    defines,
    dtype_of,
    known,
    reshaped,
    unsupported,
    xp,
)
from ..elements.complex_parts import with_parts


def _axis(axis: int, rank: int) -> int:
    """A non-negative axis."""
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return axis % rank


def _along(axis: int, part: Any) -> tuple[Any, ...]:
    """The subscript that takes a part of an axis."""
    return (*[slice(None)] * axis, part)


# ---- derivatives and integrals ----------------------------------------------------------------------


@defines(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Central differences; at the ends those of one side, of first or second order."""
    f = xp.asarray(f)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [_axis(k, f.ndim) for k in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    kind = dtype_of(f).kind
    if kind in "iu":
        f = f.astype(np.float64)
    elif kind == "b":
        raise TypeError(
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor instead."
        )
    steps = _spacings(f, varargs, axes)
    results = [_derivative(f, k, step, edge_order) for k, step in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _spacings(f: Any, given: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """For each axis the distance of its points, or the array of distances."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and xp.ndim(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    steps: list[Any] = []
    for axis, points in zip(axes, given, strict=True):
        if xp.ndim(points) == 0:
            steps.append(points)
            continue
        points = xp.asarray(points)
        if points.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if points.shape[0] != f.shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps.append(xp.diff(points.astype(np.float64) if dtype_of(points).kind in "iu" else points))
    return steps


def _derivative(f: Any, axis: int, step: Any, edge_order: int) -> Any:
    if f.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def part(start: int | None, stop: int | None) -> Any:
        return f[_along(axis, slice(start, stop))]

    is_even = xp.ndim(step) == 0
    if is_even:
        width = 2.0 * step

        def inside() -> Any:
            return (part(2, None) - part(None, -2)) / width
    else:
        before, after = step[:-1], step[1:]
        shape = [1] * f.ndim
        shape[axis] = -1
        a = (-after / (before * (before + after))).reshape(shape)
        b = ((after - before) / (before * after)).reshape(shape)
        c = (before / (after * (before + after))).reshape(shape)

        def inside() -> Any:
            return a * part(None, -2) + b * part(1, -1) + c * part(2, None)

    if edge_order == 1:
        low, high = (step, step) if is_even else (step[0], step[-1])

        def first() -> Any:
            return (part(1, 2) - part(0, 1)) / low

        def last() -> Any:
            return (part(-1, None) - part(-2, -1)) / high
    else:
        p = _first_weights(step, step) if is_even else _first_weights(step[0], step[1])
        q = _last_weights(step, step) if is_even else _last_weights(step[-2], step[-1])

        def first() -> Any:
            return p[0] * part(0, 1) + p[1] * part(1, 2) + p[2] * part(2, 3)

        def last() -> Any:
            return q[0] * part(-3, -2) + q[1] * part(-2, -1) + q[2] * part(-1, None)

    ends = ((slice(None, 1), first), (slice(1, -1), inside), (slice(-1, None), last))
    parts = [(_along(axis, place), compute) for place, compute in ends]
    return assembled(f.shape, dtype_of(f), parts, like=f)


def _first_weights(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Of the derivative at the first of three points, at distances p and q."""
    if p is q:
        return -1.5 / p, 2.0 / p, -0.5 / p
    return -(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))


def _last_weights(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Of the derivative at the last of three points."""
    if p is q:
        return 0.5 / p, -2.0 / p, 1.5 / p
    return q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q))


@defines(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The sum of distances by the means of two values."""
    y = xp.asarray(y)
    along = _axis(axis, y.ndim)
    step = dx
    if x is not None:
        x = xp.asarray(x)
        step = xp.diff(x) if x.ndim == 1 else xp.diff(x, axis=axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[along] = -1
            step = step.reshape(shape)
    pairs = y[_along(along, slice(1, None))] + y[_along(along, slice(None, -1))]
    return (step * pairs / 2.0).sum(axis)  # of the array with more axes, where one is counted from the last


# ---- sliding sums -----------------------------------------------------------------------------------


def _mode(mode: Any) -> str:
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return mode


def _slid(a: Any, v: Any, mode: str) -> Any:
    """The sums of products of the shorter `v` laid at each place of `a`, over its ends as the mode says."""
    n = known(v.shape[0])
    dtype = xp.result_type(a, v)
    left, right = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}[mode]
    a, v = a.astype(dtype), v.astype(dtype)
    if left or right:
        a = xp.pad(a, (left, right))
    return xp.matmul(call(np.lib.stride_tricks.sliding_window_view, a, n), v)


def _vectors(a: Any, v: Any) -> tuple[Any, Any]:
    a, v = xp.atleast_1d(a), xp.atleast_1d(v)
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    for name, value in (("a", a), ("v", v)):
        if value.shape[0] == 0:
            raise ValueError(f"{name} cannot be empty")
    return a, v


@defines(np.convolve)
def convolve(a, v, mode="full"):
    a, v = _vectors(a, v)
    if known(v.shape[0]) > known(a.shape[0]):
        a, v = v, a
    return _slid(a, v[::-1], _mode(mode))


@defines(np.correlate)
def correlate(a, v, mode="valid"):
    if not xp.ndim(a) or not xp.ndim(v):
        raise ValueError("object of too small depth for desired array")
    a, v = _vectors(a, v)
    v = v.conj()
    if known(v.shape[0]) > known(a.shape[0]):
        return _slid(v, a, _mode(mode))[::-1].copy()
    return _slid(a, v, _mode(mode))


# ---- products ---------------------------------------------------------------------------------------


@defines(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = xp.asarray(a), xp.asarray(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a, b = xp.moveaxis(a, axisa, -1), xp.moveaxis(b, axisb, -1)
    m, n = known(a.shape[-1]), known(b.shape[-1])
    if not {m, n} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    dtype = xp.promote_types(a.dtype, b.dtype)

    def product(i: int, j: int) -> Any:
        """a[i] * b[j]; None where a third number is missing, which is a zero."""
        return a[..., i].astype(dtype) * b[..., j].astype(dtype) if i < m and j < n else None

    def minor(i: int, j: int) -> Any:
        first, second = product(i, j), product(j, i)
        if first is None:
            return -second
        return first if second is None else first - second

    if m == n == 2:
        return xp.asarray(minor(0, 1))
    shape = broadcast_shape(a.shape[:-1], b.shape[:-1])
    parts = [((..., k), lambda i=i, j=j: minor(i, j)) for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1)))]
    return xp.moveaxis(assembled((*shape, 3), dtype, parts), -1, axisc)


@defines(np.linalg.cross)
def cross_of_three(x1, x2, axis=-1):
    x1, x2 = xp.asarray(x1), xp.asarray(x2)
    if known(x1.shape[axis]) != 3 or known(x2.shape[axis]) != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {known(x1.shape[axis])} and {known(x2.shape[axis])} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


@defines(np.kron)
def kron(a, b):
    """Every element of a by every element of b, in blocks."""
    a, b = xp.asarray(a), xp.asarray(b)
    if not a.ndim or not b.ndim:
        return xp.multiply(a, b)
    rank = max(a.ndim, b.ndim)
    a = xp.expand_dims(a, tuple(range(rank - a.ndim)))
    b = xp.expand_dims(b, tuple(range(rank - b.ndim)))
    shape = [m * n for m, n in zip(a.shape, b.shape, strict=True)]
    product = xp.expand_dims(a, tuple(range(1, 2 * rank, 2))) * xp.expand_dims(
        b, tuple(range(0, 2 * rank, 2))
    )
    return reshaped(product, shape)


# ---- statistics of several variables ----------------------------------------------------------------


@defines(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if fweights is not None or aweights is not None:
        raise unsupported("np.cov with weights is not supported", "scale the deviations: (x - mean) * w")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    variables = _variables(m, "m", rowvar, dtype or xp.result_type(xp.asarray(m), np.float64, *_and(y)))
    if y is not None:
        more = xp.asarray(y)
        more = _variables(more, "y", rowvar or more.ndim == 1, dtype_of(variables))
        variables = xp.concatenate([variables, more], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = variables.shape[1] - ddof
    centred = variables - xp.mean(variables, axis=1)[:, None]
    product = xp.dot(centred, centred.T.conj()) * xp.true_divide(1, xp.maximum(count, 0))
    return xp.squeeze(product.astype(dtype_of(variables)))


def _and(y: Any) -> list[Any]:
    return [] if y is None else [xp.asarray(y)]


def _variables(m: Any, name: str, rowvar: bool, dtype: np.dtype) -> Any:
    """A row for each variable."""
    m = xp.asarray(m)
    if m.ndim > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    rows = xp.atleast_2d(m).astype(dtype)
    return rows.T if not rowvar and m.ndim != 1 else rows


@defines(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = xp.sqrt(xp.real(xp.diagonal(c)))
    result = c / deviation[:, None] / deviation[None, :]
    if dtype_of(result).kind != "c":
        return xp.clip(result, -1, 1)
    return with_parts(*[xp.clip(part(result), -1, 1) for part in (xp.real, xp.imag)])
