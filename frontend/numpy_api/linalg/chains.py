"""np.linalg beside decompositions: multi_dot, vector_norm, matrix_norm, and the names of the array API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..definitions import call, defines, is_symbol, known, reshaped, xp


@defines(np.linalg.multi_dot)
def multi_dot(arrays, out=None):
    """Products in the order that multiplies fewest numbers, where the extents are known; else from the left."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    arrays = [xp.asarray(a) for a in arrays]
    if any(a.ndim not in (1, 2) for a in (arrays[0], arrays[-1])) or any(a.ndim != 2 for a in arrays[1:-1]):
        raise np.linalg.LinAlgError("arrays between the first and the last must be two-dimensional")
    sizes = [a.shape[0] for a in arrays[1:]]
    if arrays[0].ndim == 1 or arrays[-1].ndim == 1 or any(map(is_symbol, sizes)):
        return _from_one_end(arrays)
    rows = [*[a.shape[0] for a in arrays], arrays[-1].shape[1]]
    return _multiplied(arrays, rows) if not any(map(is_symbol, rows)) else _from_one_end(arrays)


def _from_one_end(arrays: Sequence[Any]) -> Any:
    """From the end that is a vector, so that the results are vectors; from the left otherwise."""
    if arrays[-1].ndim == 1:
        result = arrays[-1]
        for a in arrays[-2::-1]:
            result = xp.dot(a, result)
        return result
    result = arrays[0]
    for a in arrays[1:]:
        result = xp.dot(result, a)
    return result


def _multiplied(arrays: Sequence[Any], sizes: Sequence[int]) -> Any:
    n = len(arrays)
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], cut[i, j] = min(options)

    def product(i: int, j: int) -> Any:
        return arrays[i] if i == j else xp.dot(product(i, cut[i, j]), product(cut[i, j] + 1, j))

    return product(0, n - 1)


@defines(np.linalg.vector_norm)
def vector_norm(x, *, axis=None, keepdims=False, ord=2):
    x = xp.asarray(x)
    rank = x.ndim
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [k % rank for k in axes]
    if len(axes) == 1:
        return call(np.linalg.norm, x, ord, axes[0], keepdims)
    rest = [k for k in range(rank) if k not in axes]
    count = 1
    for k in axes:
        count = count * known(x.shape[k])
    flat = xp.transpose(x, (*axes, *rest)) if rank else x
    result = call(np.linalg.norm, reshaped(flat, (count, *[x.shape[k] for k in rest])), ord, 0)
    if not keepdims:
        return result
    shape = tuple([1 if k in axes else x.shape[k] for k in range(rank)])
    return reshaped(xp.asarray(result), shape)


@defines(np.linalg.matrix_norm)
def matrix_norm(x, *, keepdims=False, ord="fro"):
    return call(np.linalg.norm, x, ord, (-2, -1), keepdims)


@defines(np.linalg.matmul)
def matmul(x1, x2):
    return xp.matmul(x1, x2)


@defines(np.linalg.outer)
def outer(x1, x2):
    if xp.ndim(x1) != 1 or xp.ndim(x2) != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={xp.ndim(x1)} and x2.ndim={xp.ndim(x2)}."
        )
    return xp.outer(x1, x2)


@defines(np.linalg.tensordot)
def tensordot(x1, x2, *, axes=2):
    return xp.tensordot(x1, x2, axes=axes)


@defines(np.linalg.vecdot)
def vecdot(x1, x2, *, axis=-1):
    return xp.vecdot(xp.moveaxis(x1, axis, -1), xp.moveaxis(x2, axis, -1))


@defines(np.linalg.trace)
def trace(x, *, offset=0, dtype=None):
    return xp.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@defines(np.linalg.diagonal)
def diagonal(x, *, offset=0):
    return xp.diagonal(x, offset=offset, axis1=-2, axis2=-1)


@defines(np.linalg.matrix_transpose)
def matrix_transpose(x):
    return xp.matrix_transpose(x)
