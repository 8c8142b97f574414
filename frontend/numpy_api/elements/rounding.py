"""Numbers mended or rounded: round, around, fix, nan_to_num, sinc, unwrap, isposinf, isneginf."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...values.values import is_array
from ..definitions import defines, dtype_of, is_symbol, shape_of, xp
from .complex_parts import with_parts


def plain(x: Any) -> Any:
    """An array of rank 0 as a number; other arrays as they are."""
    return x[()] if is_symbol(x) and is_array(x._value) and not x.shape else x


@defines(np.round, np.around, method="round")
def round(a, decimals=0, out=None):
    """As NumPy does it: scaled by a power of ten, rounded to even, and scaled back."""
    dtype, decimals = dtype_of(a), operator.index(decimals)
    if dtype.kind in "iu" and decimals >= 0:
        return +plain(xp.asarray(a))
    if dtype.kind == "b":
        if decimals:
            raise TypeError("Cannot cast ufunc output from dtype('float64') to dtype('bool')")
        return xp.rint(a)
    if dtype.kind in "iu":
        tens = 10.0**-decimals
        return (xp.rint(xp.true_divide(a, tens, dtype=np.float64)) * tens).astype(dtype)
    if decimals == 0:
        return xp.rint(a)
    if dtype.kind == "c":
        return with_parts(*[round(part(a), decimals) for part in (xp.real, xp.imag)])
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return xp.rint(a * scale) / scale
    return xp.rint(a / scale) * scale


@defines(np.fix)
def fix(x, out=None):
    """Toward zero; integers stay as they are."""
    return xp.trunc(x)


@defines(np.isposinf)
def isposinf(x, out=None):
    if dtype_of(x).kind in "biu":
        return xp.isinf(x)
    return xp.isinf(x) & ~xp.signbit(x)


@defines(np.isneginf)
def isneginf(x, out=None):
    if dtype_of(x).kind in "biu":
        return xp.isinf(x)
    return xp.isinf(x) & xp.signbit(x)


@defines(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    dtype = dtype_of(x)
    if dtype.kind == "c":
        parts = [nan_to_num(part(x), True, nan, posinf, neginf) for part in (xp.real, xp.imag)]
        result = with_parts(*parts)
        if copy or not shape_of(x):
            return plain(result)
        xp.copyto(x, result)
        return x
    if dtype.kind in "biu":
        return +plain(xp.asarray(x)) if copy and dtype.kind != "b" else plain(xp.array(x, copy=copy or None))
    high, low = np.finfo(dtype).max, np.finfo(dtype).min
    high, low = [end if new is None else new for end, new in ((high, posinf), (low, neginf))]
    result = xp.where(xp.isnan(x), _in(nan, dtype), x)
    result = xp.where(isposinf(x), _in(high, dtype), result)
    result = xp.where(isneginf(x), _in(low, dtype), result)
    if copy or not shape_of(x):
        return plain(result)
    xp.copyto(x, result)
    return x


def _in(value: Any, dtype: np.dtype) -> Any:
    """What is stored for `value` in an array of `dtype`."""
    if shape_of(value):
        return xp.asarray(value).astype(dtype)
    return plain(value).astype(dtype) if is_symbol(value) else np.asarray(value).astype(dtype)[()]


@defines(np.sinc)
def sinc(x):
    """sin(pi x) / (pi x); a number close to zero stands for zero, where it is 1."""
    angle = xp.multiply(np.pi, x)
    return xp.sin(_nonzero(angle)) / _nonzero(angle)


def _nonzero(angle: Any) -> Any:
    return plain(xp.where(angle, angle, np.finfo(dtype_of(angle)).eps))


@defines(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Differences of more than half a period are brought within it, and what that takes adds up."""
    p = xp.asarray(p)
    rise = xp.diff(p, axis=axis)
    if discont is None:
        discont = period / 2
    dtype = xp.result_type(rise, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        is_even = rest == 0
    else:
        high, is_even = period / 2, True
    low = -high
    within = xp.mod(rise - low, period) + low
    if is_even:
        within = xp.where((within == low) & (rise > 0), high, within)
    change = within - rise
    change = xp.where(abs(rise) < discont, 0, change)
    first, rest = _split_first(p, axis)
    return xp.concatenate([first.astype(dtype), (rest + xp.cumsum(change, axis)).astype(dtype)], axis=axis)


def _split_first(p: Any, axis: int) -> tuple[Any, Any]:
    """The first element along an axis, and the others."""
    before = [slice(None)] * (axis % p.ndim)
    return p[(*before, slice(None, 1))], p[(*before, slice(1, None))]
