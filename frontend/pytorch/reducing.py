"""ATen operations that reduce tensors, and those that say where something is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..nn.activations import log_softmax, logsumexp, softmax
from ..numpy_api.definitions import dtype_of, recorded, xp
from .shapes import axes_of, axis_of
from .table import row


def wide(x: Any) -> Any:
    """A tensor in the dtype in which PyTorch adds its elements up: float32 for those of 16 bits, int64 for integers."""
    dtype = dtype_of(x)
    if dtype.kind in "iub":
        return x.astype(np.int64)
    return x.astype(np.float32) if dtype.itemsize == 2 else x


def floating(x: Any) -> Any:
    """A tensor of floating-point numbers of at least 32 bits."""
    dtype = dtype_of(x)
    if dtype.kind in "iub":
        return x.astype(np.float32)
    return x.astype(np.float32) if dtype.itemsize == 2 else x


def _counted(self: Any, axes: tuple[int, ...]) -> Any:
    return math.prod([self.shape[a] for a in axes])


def _sum(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    self = self if dtype is None else self.astype(dtype)
    return xp.sum(wide(self), axis=axes_of(self, dim), keepdims=keepdim)


def _mean(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    self = self if dtype is None else self.astype(dtype)
    return xp.mean(wide(self), axis=axes_of(self, dim), keepdims=keepdim)


def _product(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    self = self if dtype is None else self.astype(dtype)
    return xp.prod(wide(self), axis=axes_of(self, dim), keepdims=keepdim)


def _extremes(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, dim=(), keepdim=False: (
        reduce(self, axis=axes_of(self, dim), keepdims=keepdim) if self.ndim else self
    )


def _truth(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def made(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return reduce(self != 0, axis=axes_of(self, dim), keepdims=keepdim)

    return made


def _place(find: Callable[..., Any]) -> Callable[..., Any]:
    """argmax and argmin, of the tensor in a row where no axis is named."""

    def made(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if self.ndim == 0:
            return recorded(np.zeros, (), np.int64)
        if dim is None:
            found = find(xp.reshape(self, (-1,)), axis=0)
            return xp.reshape(found, (1,) * self.ndim) if keepdim else found
        return find(self, axis=axis_of(self, dim), keepdims=keepdim)

    return made


def _with_place(reduce: Callable[..., Any], find: Callable[..., Any]) -> Callable[..., Any]:
    """max and min along an axis: values, and where they are."""

    def made(self: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
        if self.ndim == 0:
            return self, recorded(np.zeros, (), np.int64)
        axis = axis_of(self, dim)
        return reduce(self, axis=axis, keepdims=keepdim), find(self, axis=axis, keepdims=keepdim)

    return made


def _moments(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    x, axes = floating(self), axes_of(self, dim)
    mean = xp.mean(x, axis=axes, keepdims=True)
    squares = xp.sum((x - mean) * (x - mean), axis=axes, keepdims=True)
    left = _counted(x, axes) - (1 if correction is None else correction)
    variance = squares / (max(left, 0) if isinstance(left, int | float) else left)
    if not keepdim:
        mean, variance = (
            xp.squeeze(mean, axes) if axes else mean,
            xp.squeeze(variance, axes) if axes else variance,
        )
    return variance, mean


def _running(scan: Callable[..., Any]) -> Callable[..., Any]:
    def made(self: Any, dim: int, dtype: Any = None) -> Any:
        self = self if dtype is None else self.astype(dtype)
        return scan(wide(self), axis=axis_of(self, dim)) if self.ndim else self

    return made


def _soft(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(self: Any, dim: int, half_to_float: bool = False) -> Any:
        if self.ndim == 0:
            return _soft_of_one(function, self)
        return recorded(function, floating(self), axis_of(self, dim))

    return made


def _soft_of_one(function: Callable[..., Any], self: Any) -> Any:
    return xp.reshape(recorded(function, floating(xp.reshape(self, (1,))), 0), ())


def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    if self.ndim == 0:
        return floating(self)
    return recorded(logsumexp, floating(self), axes_of(self, dim), keepdim)


def _norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x, axes = floating(self if dtype is None else self.astype(dtype)), axes_of(self, dim)
    if ord == 2:
        return xp.sqrt(xp.sum(x * x, axis=axes, keepdims=keepdim))
    if ord == 1:
        return xp.sum(xp.abs(x), axis=axes, keepdims=keepdim)
    if math.isinf(ord):
        return (xp.max if ord > 0 else xp.min)(xp.abs(x), axis=axes, keepdims=keepdim)
    return xp.sum(xp.abs(x) ** ord, axis=axes, keepdims=keepdim) ** (1 / ord)


def _norm_takes(given: Mapping[str, Any]) -> str | None:
    return "a norm that counts" if given.get("ord") == 0 else None


row("aten.sum.default aten.sum.dim_IntList", _sum)
row("aten.mean.default aten.mean.dim", _mean)
row("aten.prod.default aten.prod.dim_int", _product)
row("aten.amax.default", _extremes(xp.max))
row("aten.amin.default", _extremes(xp.min))
row("aten.max.default", lambda self: xp.max(self))
row("aten.min.default", lambda self: xp.min(self))
row("aten.max.dim", _with_place(xp.max, xp.argmax))
row("aten.min.dim", _with_place(xp.min, xp.argmin))
row("aten.argmax.default", _place(xp.argmax))
row("aten.argmin.default", _place(xp.argmin))
row("aten.any.default aten.any.dim aten.any.dims", _truth(xp.any))
row("aten.all.default aten.all.dim aten.all.dims", _truth(xp.all))
row(
    "aten.var.correction",
    lambda self, dim=None, *, correction=None, keepdim=False: _moments(self, dim, correction, keepdim)[0],
)
row(
    "aten.std.correction",
    lambda self, dim=None, *, correction=None, keepdim=False: xp.sqrt(
        _moments(self, dim, correction, keepdim)[0]
    ),
)
row(
    "aten.var_mean.correction",
    lambda self, dim=None, *, correction=None, keepdim=False: _moments(self, dim, correction, keepdim),
)
row("aten.cumsum.default", _running(xp.cumsum))
row("aten.cumprod.default", _running(xp.cumprod))
row("aten._softmax.default", _soft(softmax))
row("aten._log_softmax.default", _soft(log_softmax))
row("aten.logsumexp.default", _logsumexp)
row("aten.linalg_vector_norm.default", _norm, takes=_norm_takes)
