"""ATen operations that put the same elements into other shapes, and join or cut tensors."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..nn.padding import padded
from ..numpy_api.definitions import dtype_of, is_symbol, recorded, xp
from .numbers import number
from .table import row


def axis_of(self: Any, dim: int) -> int:
    """An axis from the front; a tensor of rank 0 has the axis 0."""
    rank = max(self.ndim, 1)
    return dim + rank if dim < 0 else dim


def axes_of(self: Any, dims: Any) -> tuple[int, ...]:
    """Axes from the front: all, where none are named."""
    if self.ndim == 0 or dims is None or (isinstance(dims, tuple) and not dims):
        return tuple(range(self.ndim))
    return tuple([axis_of(self, d) for d in (dims if isinstance(dims, tuple) else (dims,))])


def _view(self: Any, size: Any) -> Any:
    """The elements in row-major order in another shape; -1 stands for what is left."""
    size = tuple(size)
    if any(not is_symbol(n) and n == 0 for n in size) or any(not is_symbol(n) and n == 0 for n in self.shape):
        known = math.prod([n for n in size if n != -1])
        rest = 0 if known == 0 else math.prod(self.shape) // known
        return recorded(np.zeros, tuple([rest if n == -1 else n for n in size]), dtype_of(self))
    return xp.reshape(self, size)


def _expand(self: Any, size: Any) -> Any:
    added = len(size) - self.ndim
    shape = [self.shape[k - added] if not is_symbol(n) and n == -1 else n for k, n in enumerate(size)]
    return xp.broadcast_to(self, tuple(shape))


def _squeeze(self: Any, dim: Any = None) -> Any:
    axes = (
        range(self.ndim) if dim is None else axes_of(self, dim) if not isinstance(dim, tuple) or dim else ()
    )
    if self.ndim == 0:
        return self
    ones = tuple([k for k in axes if not is_symbol(self.shape[k]) and self.shape[k] == 1])
    return xp.squeeze(self, ones) if ones else self


def _at(self: Any, axis: int, item: Any) -> Any:
    """Elements at an index or a slice of one axis."""
    return self[(slice(None),) * axis + (item,)]


def _bounds(self: Any, axis: int, start: Any, end: Any) -> tuple[Any, Any]:
    size = self.shape[axis]
    start = 0 if start is None else start
    if end is None or (not is_symbol(end) and end >= 2**62):
        end = size
    return start, end


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_of(self, dim)
    start, end = _bounds(self, axis, start, end)
    return _at(self, axis, slice(start, end, step))


def _slice_scatter(
    self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    axis = axis_of(self, dim)
    start, end = _bounds(self, axis, start, end)
    made = xp.copy(self)
    made[(slice(None),) * axis + (slice(start, end, step),)] = src
    return made


def _select_scatter(self: Any, src: Any, dim: int, index: Any) -> Any:
    made = xp.copy(self)
    made[(slice(None),) * axis_of(self, dim) + (index,)] = src
    return made


def _parts(self: Any, sizes: Any, dim: int) -> tuple[Any, ...]:
    axis, parts, start = axis_of(self, dim), [], 0
    for size in sizes:
        parts.append(_at(self, axis, slice(start, start + size)))
        start += size
    return tuple(parts)


def _split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    size = int(self.shape[axis_of(self, dim)])
    if size == 0 or split_size == 0:
        return (self,)
    return _parts(self, [min(split_size, size - k) for k in range(0, size, split_size)], dim)


def _joined(tensors: Any, *, dim: int = 0) -> Any:
    """Tensors one behind the other. PyTorch leaves out those of shape (0,) among others."""
    rank = max(one.ndim for one in tensors)
    kept = [one for one in tensors if one.ndim == rank]
    return xp.concatenate(kept, axis=axis_of(kept[0], dim)) if len(kept) > 1 else kept[0]


def _stacked(tensors: Any, *, dim: int = 0) -> Any:
    rank = tensors[0].ndim + 1
    return xp.stack(list(tensors), axis=dim + rank if dim < 0 else dim)


def _padded(self: Any, pad: Any, value: Any = 0) -> Any:
    """PyTorch's pairs are those of the last axis first; negative ones take elements away."""
    pairs = [(pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)][::-1]
    first = self.ndim - len(pairs)
    for k, (before, after) in enumerate(pairs):
        size = self.shape[first + k]
        if before < 0 or after < 0:
            self = _at(self, first + k, slice(max(-before, 0), size - max(-after, 0)))
    amounts = tuple([(max(b, 0), max(a, 0)) for b, a in pairs])
    return recorded(padded, self, amounts, number(value, dtype_of(self)))


def _flipped(self: Any, dims: Any) -> Any:
    axes = axes_of(self, dims) if dims else ()
    return xp.flip(self, axes) if axes and self.ndim else self


def _rolled(self: Any, shifts: Any, dims: Any = ()) -> Any:
    shifts = shifts if isinstance(shifts, tuple) else (shifts,)
    if not dims:
        return xp.reshape(xp.roll(xp.reshape(self, (-1,)), shifts[0]), self.shape)
    for shift, axis in zip(shifts, axes_of(self, dims), strict=True):
        self = xp.roll(self, shift, axis)
    return self


def _repeated(self: Any, repeats: Any) -> Any:
    return xp.tile(self, tuple(repeats))


def _diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return xp.diagonal(self, offset, axis_of(self, dim1), axis_of(self, dim2))


def _unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    axis = axis_of(self, dimension)
    windows = recorded(np.lib.stride_tricks.sliding_window_view, self, size, axis)
    return _at(windows, axis, slice(None, None, step))


def _integers(operate: Any) -> Any:
    return lambda self, other: operate(self, other)


row(
    "aten.view.default aten._unsafe_view.default",
    _view,
    is_view=True,
)
row("aten.reshape.default", lambda self, shape: _view(self, shape), is_view=True)
row(
    "aten.permute.default",
    lambda self, dims: xp.transpose(self, axes_of(self, dims)) if self.ndim else self,
    is_view=True,
)
row("aten.t.default", lambda self: xp.transpose(self) if self.ndim == 2 else self, is_view=True)
row(
    "aten.transpose.int",
    lambda self, dim0, dim1: (
        xp.swapaxes(self, axis_of(self, dim0), axis_of(self, dim1)) if self.ndim else self
    ),
    is_view=True,
)
row("aten.expand.default", _expand, is_view=True)
row(
    "aten.unsqueeze.default",
    lambda self, dim: xp.expand_dims(self, dim + self.ndim + 1 if dim < 0 else dim),
    is_view=True,
)
row("aten.squeeze.default aten.squeeze.dim aten.squeeze.dims", _squeeze, is_view=True)
row("aten.slice.Tensor", _slice, is_view=True)
row("aten.select.int", lambda self, dim, index: _at(self, axis_of(self, dim), index), is_view=True)
row("aten.slice_scatter.default", _slice_scatter)
row("aten.select_scatter.default", _select_scatter)
row("aten.split.Tensor", _split, is_view=True)
row(
    "aten.split_with_sizes.default",
    lambda self, split_sizes, dim=0: _parts(self, split_sizes, dim),
    is_view=True,
)
row(
    "aten.unbind.int",
    lambda self, dim=0: tuple(
        [_at(self, axis_of(self, dim), k) for k in range(int(self.shape[axis_of(self, dim)]))]
    ),
    is_view=True,
)
row("aten.cat.default", _joined, promotion="DEFAULT")
row("aten.stack.default", _stacked, promotion="DEFAULT")
row("aten.constant_pad_nd.default", _padded)
row("aten.flip.default", _flipped)
row("aten.roll.default", _rolled)
row("aten.repeat.default", _repeated)
row("aten.diagonal.default", _diagonal, is_view=True)
row("aten.unfold.default", _unfold, is_view=True)
row("aten.tril.default", lambda self, diagonal=0: xp.tril(self, diagonal))
row("aten.triu.default", lambda self, diagonal=0: xp.triu(self, diagonal))
row("aten.sym_size.int", lambda self, dim: self.shape[axis_of(self, dim)])
row("aten.sym_numel.default", lambda self: math.prod(self.shape))

for _name in ("add", "sub", "mul", "floordiv", "mod"):
    row(f"operator.{_name}", _integers(getattr(operator, _name)))

__all__ = ["axes_of", "axis_of"]
