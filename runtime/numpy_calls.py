"""The functions of NumPy that compiled code calls, by name: operands in order, what else they take by keyword."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _lexsort(*keys: np.ndarray, axis: int, table: bool) -> np.ndarray:
    return np.lexsort(keys[0] if table else keys, axis=axis)


def _searchsorted(a: np.ndarray, v: np.ndarray, sorter: Any = None, *, side: Any) -> Any:
    return np.searchsorted(a, v, side=side, sorter=sorter)


def _put(
    a: np.ndarray, ind: np.ndarray, v: np.ndarray, *, mode: Any, out: np.ndarray | None = None
) -> np.ndarray:
    """The array after np.put."""
    after = _copied(a, out)
    np.put(after, ind, v, mode)
    return after


def _sort(a: np.ndarray, out: np.ndarray | None = None, **options: Any) -> np.ndarray:
    after = _copied(a, out)
    after.sort(**options)
    return after


def _partition(a: np.ndarray, out: np.ndarray | None = None, *, kth: Any, **options: Any) -> np.ndarray:
    after = _copied(a, out)
    after.partition(kth, **options)
    return after


def _copied(a: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """A copy in `out`, or in memory of its own."""
    if out is None:
        return a.copy(order="K")
    out[...] = a
    return out


def _histogram(a: np.ndarray, weights: Any = None, **options: Any) -> Any:
    return np.histogram(a, weights=weights, **options)


def _histogram_counts(a: np.ndarray, edges: np.ndarray, weights: Any = None, *, density: bool) -> np.ndarray:
    return np.histogram(a, edges, density=density, weights=weights)[0]


def _histogram2d(
    x: np.ndarray,
    y: np.ndarray,
    *more: np.ndarray,
    bins: tuple[int, ...],
    range: Any,
    density: bool,
    weighted: bool,
) -> Any:
    """`more` are the weights, if there are any, and the edges of each axis for which `bins` has a 0."""
    weights, edges = (more[0], iter(more[1:])) if weighted else (None, iter(more))
    chosen: list[Any] = [count or next(edges) for count in bins]
    return np.histogram2d(x, y, chosen, range=range, density=density, weights=weights)


def _histogramdd(points: np.ndarray, weights: Any = None, **options: Any) -> tuple[np.ndarray, ...]:
    table, edges = np.histogramdd(points, weights=weights, **options)
    return table, *edges


def _bincount(x: np.ndarray, minlength: np.ndarray, weights: Any = None, *, exact: bool) -> np.ndarray:
    length = int(minlength)
    counts = np.bincount(x, weights, length)
    if exact and len(counts) > length:
        raise ValueError(
            f"np.bincount of an element {len(counts) - 1} with minlength={length}: in compiled code that is the length "
            "of the result"
        )
    return counts


def _cofactors(a: np.ndarray) -> np.ndarray:
    """det(a) * inv(a).T, for singular matrices too: the derivative of the determinant."""
    u, values, vh = np.linalg.svd(a)
    n = a.shape[-1]
    others = np.where(np.eye(n, dtype=bool), np.ones_like(values)[..., None], values[..., None, :]).prod(
        axis=-1
    )
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.conj((u * others[..., None, :]) @ vh) * sign[..., None, None]


def _residuals(a: np.ndarray, b: np.ndarray, rcond: Any = None) -> np.ndarray:
    """The residuals of np.linalg.lstsq for a matrix of full rank with more rows than columns."""
    _, residuals, rank, _ = np.linalg.lstsq(a, b, rcond)
    if rank < a.shape[1]:
        raise np.linalg.LinAlgError(
            f"the residuals of np.linalg.lstsq are empty for a matrix of rank {rank} < {a.shape[1]}: in compiled code "
            "their shape is that for full rank"
        )
    return residuals


def _no_residuals(a: np.ndarray, b: np.ndarray, rcond: Any = None) -> np.ndarray:
    return np.linalg.lstsq(a, b, rcond)[1]


def _least_squares(a: np.ndarray, b: np.ndarray, rcond: Any = None) -> tuple[Any, ...]:
    x, _, rank, values = np.linalg.lstsq(a, b, rcond)
    return x, np.int32(rank), values


def _fourier(name: str) -> Callable[..., Any]:
    """A function of np.fft, which NumPy imports when it is asked for."""
    return lambda a, **options: getattr(np.fft, name)(a, **options)


NUMPY_CALLS: dict[str, Callable[..., Any]] = {
    "numpy.sort": _sort,
    "numpy.argsort": np.argsort,
    "numpy.partition": _partition,
    "numpy.argpartition": np.argpartition,
    "numpy.lexsort": _lexsort,
    "numpy.searchsorted": _searchsorted,
    "numpy.digitize": np.digitize,
    "numpy.interp": np.interp,
    "numpy.put": _put,
    "numpy.i0": np.i0,
    "numpy.histogram": _histogram,
    "numpy.histogram.counts": _histogram_counts,
    "numpy.histogram_bin_edges": np.histogram_bin_edges,
    "numpy.histogram2d": _histogram2d,
    "numpy.histogramdd": _histogramdd,
    "numpy.bincount": _bincount,
    "numpy.median": np.median,
    "numpy.nanmedian": np.nanmedian,
    "numpy.quantile": np.quantile,
    "numpy.percentile": np.percentile,
    "numpy.nanquantile": np.nanquantile,
    "numpy.nanpercentile": np.nanpercentile,
    "numpy.linalg.inv": np.linalg.inv,
    "numpy.linalg.det": np.linalg.det,
    "numpy.linalg.cofactors": _cofactors,
    "numpy.linalg.slogdet": np.linalg.slogdet,
    "numpy.linalg.cholesky": np.linalg.cholesky,
    "numpy.linalg.qr": np.linalg.qr,
    "numpy.linalg.svd": np.linalg.svd,
    "numpy.linalg.svdvals": np.linalg.svdvals,
    "numpy.linalg.eigh": np.linalg.eigh,
    "numpy.linalg.eigvalsh": np.linalg.eigvalsh,
    "numpy.linalg.pinv": np.linalg.pinv,
    "numpy.linalg.matrix_power": np.linalg.matrix_power,
    "numpy.linalg.matrix_rank": np.linalg.matrix_rank,
    "numpy.linalg.solve": np.linalg.solve,
    "numpy.linalg.cond": np.linalg.cond,
    "numpy.linalg.lstsq": _least_squares,
    "numpy.linalg.lstsq.residuals": _residuals,
    "numpy.linalg.lstsq.none": _no_residuals,
    **{
        f"numpy.fft.{name}": _fourier(name)
        for name in (
            *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
            *("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"),
        )
    },
}

FILL = frozenset({"numpy.sort", "numpy.partition", "numpy.put"})
"""Those that take `out`: the array in which they compute their result."""
