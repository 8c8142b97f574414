"""Polynomials by their coefficients, highest power first: polyval, polyadd, polysub, polyder, polyint, polyfit, vander."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls_back import calls_back
from ..definitions import call, defines, dtype_of, known, unsupported, xp
from ..registry import FUNCTIONS


@defines(np.polyval)
def polyval(p, x):
    """Horner's rule."""
    x = xp.asarray(x) if isinstance(x, list | tuple) else x
    result = xp.zeros_like(x)
    for coefficient in xp.asarray(p):
        result = result * x + coefficient
    return result


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Two polynomials with as many coefficients."""
    a1, a2 = xp.atleast_1d(a1), xp.atleast_1d(a2)
    m, n = known(a1.shape[0]), known(a2.shape[0])
    if m < n:
        a1 = xp.concatenate([xp.zeros(n - m, a1.dtype), a1])
    if n < m:
        a2 = xp.concatenate([xp.zeros(m - n, a2.dtype), a2])
    return a1, a2


@defines(np.polyadd)
def polyadd(a1, a2):
    return xp.add(*_aligned(a1, a2))


@defines(np.polysub)
def polysub(a1, a2):
    return xp.subtract(*_aligned(a1, a2))


@defines(np.polyder)
def polyder(p, m=1):
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = xp.asarray(p)
    for _ in range(m):
        p = p[:-1] * xp.arange(known(p.shape[0]) - 1, 0, -1)
    return p


@defines(np.polyint)
def polyint(p, m=1, k=None):
    """The integral, `k` its constants, the first one of the innermost."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = [0.0] if k is None else list(k) if isinstance(k, list | tuple) else [k]
    if len(constants) == 1:
        constants = constants * m
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = xp.asarray(p)
    for constant in constants[:m]:
        powers = np.arange(known(p.shape[0]), 0, -1)
        p = xp.concatenate([xp.true_divide(p, powers), xp.asarray([constant])])
    return p


@defines(np.vander)
def vander(x, N=None, increasing=False):
    """Powers by repeated products, one to a column."""
    x = xp.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = known(x.shape[0] if N is None else N)
    dtype = xp.promote_types(x.dtype, np.int64)
    rows = x.shape[0]
    if count < 2:
        return xp.ones((rows, count), dtype)
    column = x[:, None].astype(dtype)
    parts = [xp.ones_like(column), xp.broadcast_to(column, (rows, count - 1))]
    powers = xp.cumprod(xp.concatenate(parts, axis=1), axis=1, dtype=dtype)
    return powers if increasing else xp.flip(powers, 1).copy()


@defines(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The coefficients of least squares: LAPACK solves it, on columns of unit length."""
    if full or cov:
        raise unsupported("np.polyfit with full= or cov= is not supported", "np.linalg.lstsq gives residuals")
    x, y = xp.asarray(x) + 0.0, xp.asarray(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    count = known(x.shape[0])
    if count != known(y.shape[0]):
        raise TypeError("expected x and y to have same length")
    columns = vander(x, deg + 1)
    if w is not None:
        w = xp.asarray(w) + 0.0
        columns = columns * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    length = xp.sqrt((columns * columns).sum(axis=0))
    bound = count * float(np.finfo(dtype_of(x)).eps) if rcond is None else rcond
    solution = call(np.linalg.lstsq, columns / length, y, bound)[0]
    return solution / (length[:, None] if y.ndim == 2 else length)


calls_back(FUNCTIONS[np.polyfit])
