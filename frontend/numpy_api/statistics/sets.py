"""Sets of elements: np.unique, and what is sorted and compared with the neighbours for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..definitions import defines, known, unsupported, xp


@defines(np.unique)
def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    ar = xp.asanyarray(ar)
    if axis is not None and (ar.ndim != 1 or known(axis) not in (0, -1)):
        raise unsupported(
            "np.unique of rows or columns (axis=) is not supported",
            "call it outside the compiled function, and pass the result",
        )
    flat = xp.ravel(ar)
    need_order = return_index or return_inverse
    order: Any = xp.argsort(flat, kind="stable") if need_order else None
    aux = flat[order] if need_order else xp.sort(flat)
    first = _first_of_equals(aux, equal_nan)
    results = [aux[first]]
    if return_index:
        results.append(order[first])
    if return_inverse:
        inverse = xp.zeros_like(order)
        inverse[order] = xp.cumsum(first) - 1
        results.append(xp.reshape(inverse, ar.shape) if axis is None else inverse)
    if return_counts:
        starts = xp.nonzero(first)[0]
        ends = xp.concatenate([starts[1:], xp.asarray([aux.size])])
        results.append(ends - starts)
    return tuple(results) if len(results) > 1 else results[0]


def _first_of_equals(aux: Any, equal_nan: bool = True) -> Any:
    """Of sorted elements those that differ from the one before; `equal_nan`: all NaNs are equal."""
    differ = aux[1:] != aux[:-1]
    if equal_nan and aux.dtype.kind in "fV":
        differ = differ & ~(xp.isnan(aux[1:]) & xp.isnan(aux[:-1]))
    return xp.concatenate([xp.ones_like(aux[:1], dtype=bool), differ])


@defines(np.union1d)
def union1d(ar1, ar2):
    return xp.unique(_joined(ar1, ar2))


@defines(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    ar1, ar2 = xp.asanyarray(ar1), xp.asanyarray(ar2)
    ind1 = ind2 = None
    if not assume_unique:
        if return_indices:
            ar1, ind1 = xp.unique(ar1, return_index=True)
            ar2, ind2 = xp.unique(ar2, return_index=True)
        else:
            ar1, ar2 = xp.unique(ar1), xp.unique(ar2)
    else:
        ar1, ar2 = xp.ravel(ar1), xp.ravel(ar2)
    both = _joined(ar1, ar2)
    order: Any = xp.argsort(both, kind="stable") if return_indices else None
    aux = both[order] if return_indices else xp.sort(both)
    twice = aux[1:] == aux[:-1]
    common = aux[:-1][twice]
    if not return_indices:
        return common
    of1, of2 = order[:-1][twice], order[1:][twice] - ar1.size
    if ind1 is not None and ind2 is not None:
        of1, of2 = ind1[of1], ind2[of2]
    return common, of1, of2


@defines(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    if assume_unique:
        ar1 = xp.ravel(xp.asarray(ar1))
    else:
        ar1, ar2 = xp.unique(ar1), xp.unique(ar2)
    return ar1[~_is_in(ar1, xp.ravel(xp.asarray(ar2)))]


@defines(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    if not assume_unique:
        ar1, ar2 = xp.unique(ar1), xp.unique(ar2)
    aux = xp.sort(_joined(ar1, ar2))
    differ = aux[1:] != aux[:-1]
    one = xp.ones_like(aux[:1], dtype=bool)
    return aux[xp.concatenate([one, differ]) & xp.concatenate([differ, one])]


def _joined(ar1: Any, ar2: Any) -> Any:
    return xp.concatenate([xp.ravel(xp.asarray(ar1)), xp.ravel(xp.asarray(ar2))])


def _is_in(ar1: Any, ar2: Any) -> Any:
    """Whether elements of `ar1` are in `ar2`: after a stable sort of both, one that is has an equal one behind it that
    comes from `ar2`."""
    others = xp.sort(ar2)
    right = xp.searchsorted(others, ar1, side="right")
    return right != xp.searchsorted(others, ar1, side="left")
