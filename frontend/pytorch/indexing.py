"""ATen operations that pick elements by tensors of indices, and put them there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..numpy_api.definitions import dtype_of, is_symbol, recorded, require, xp
from .numbers import number
from .reducing import wide
from .shapes import axis_of
from .table import row


def _not_negative(index: Any, what: str) -> Any:
    """An index that does not count from the end, which it would in NumPy. Raises when the program runs."""
    if is_symbol(index):
        require(xp.all(index >= 0), f"{what}: an index is negative")
    return index


def _grid(index: Any, axis: int) -> tuple[Any, ...]:
    """What places the elements of an index tensor: itself along `axis`, their own places along the others."""
    rank = index.ndim
    places = []
    for k in range(rank):
        if k == axis:
            places.append(index)
            continue
        along = [1] * rank
        along[k] = index.shape[k]
        places.append(xp.reshape(recorded(np.arange, index.shape[k]), tuple(along)))
    return tuple(places)


def _as_vector(x: Any) -> Any:
    return xp.reshape(x, (1,)) if x.ndim == 0 else x


def _gathered(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    if index.ndim == 0:
        return xp.reshape(_gathered(_as_vector(self), dim, _as_vector(index)), ())
    self = _as_vector(self)
    index = _not_negative(index, "gather")
    return self[_grid(index, axis_of(self, dim))]


def _part_like(src: Any, index: Any) -> Any:
    """The elements of `src` that the elements of an index tensor are for."""
    return src[tuple([slice(0, n) for n in index.shape])]


def _scattered(self: Any, dim: int, index: Any, src: Any, adds: bool) -> Any:
    if self.ndim == 0:
        src = _as_vector(src) if is_symbol(src) and src.ndim == 0 else src
        made = _scattered(_as_vector(self), dim, _as_vector(index), src, adds)
        return xp.reshape(made, ())
    index = _not_negative(_as_vector(index), "scatter")
    if is_symbol(src) and src.ndim:
        src = _part_like(src, index)
    elif not is_symbol(src):
        src = number(src, dtype_of(self))
    made = xp.copy(self)
    places = _grid(index, axis_of(self, dim))
    if adds:
        recorded(np.add.at, made, places, src)
    else:
        made[places] = src
    return made


def _full_index(indices: Any) -> tuple[Any, ...]:
    return tuple([slice(None) if one is None else one for one in indices])


def _put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    if accumulate:
        return _accumulated(self, indices, values)
    made = xp.copy(self)
    made[_full_index(indices)] = values
    return made


def _accumulated(self: Any, indices: Any, values: Any) -> Any:
    """`self` with `values` added where the indices say, as often as they say it. Axes with an index are first meanwhile."""
    own = [k for k, one in enumerate(indices) if one is not None]
    rest = [k for k in range(self.ndim) if k not in own]
    values = xp.broadcast_to(values, self[_full_index(indices)].shape)
    if all(indices[k].ndim == 0 for k in own):
        indices = [None if one is None else _as_vector(one) for one in indices]
        values = xp.expand_dims(values, own[0] if own == list(range(own[0], own[0] + len(own))) else 0)
    count = values.ndim - len(rest)
    is_together = own == list(range(own[0], own[0] + len(own)))
    first = own[0] if is_together else 0
    moved = list(range(first, first + count))
    values = xp.transpose(values, (*moved, *[k for k in range(values.ndim) if k not in moved]))
    made = xp.copy(xp.transpose(self, (*own, *rest)))
    recorded(np.add.at, made, tuple([indices[k] for k in own]), values)
    back = [*own, *rest]
    return xp.transpose(made, tuple([back.index(k) for k in range(self.ndim)]))


def _has_mask(name: str):
    def takes(given: Mapping[str, Any]) -> str | None:
        dtypes = given["dtypes"].get(name, ())
        return (
            "an index of booleans, whose result has as many elements as are true"
            if "bool" in dtypes
            else None
        )

    return takes


def _embedded(weight: Any, indices: Any, *rest: Any) -> Any:
    return weight[_not_negative(indices, "embedding")]


def _selected(self: Any, dim: int, index: Any) -> Any:
    if self.ndim == 0:
        return xp.reshape(self, ())
    index = _not_negative(_as_vector(index), "index_select")
    return self[(slice(None),) * axis_of(self, dim) + (index,)]


def _embedding_gradient(
    grad_output: Any, indices: Any, num_weights: Any, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    width = grad_output.shape[-1]
    grad = wide(grad_output)
    if padding_idx >= 0:
        grad = xp.where(xp.expand_dims(indices, -1) == padding_idx, dtype_of(grad).type(0), grad)
    made, count = recorded(np.zeros, (num_weights, width), dtype_of(grad)), math.prod(indices.shape)
    recorded(np.add.at, made, xp.reshape(indices, (count,)), xp.reshape(grad, (count, width)))
    return made


def _embedding_gradient_takes(given: Mapping[str, Any]) -> str | None:
    return "gradients scaled by how often an index comes" if given.get("scale_grad_by_freq") else None


def _added_at(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    if self.ndim == 0:
        return self + source * alpha if source.ndim == 0 else self + xp.sum(source) * alpha
    index = _not_negative(_as_vector(index), "index_add")
    added = source if alpha == 1 else source * number(alpha, dtype_of(source))
    return _accumulated(self, (None,) * axis_of(self, dim) + (index,), added)


row("aten.index.Tensor", lambda self, indices: self[_full_index(indices)], takes=_has_mask("indices"))
row("aten._unsafe_index.Tensor", lambda self, indices: self[_full_index(indices)], takes=_has_mask("indices"))
row("aten.index_put.default aten._unsafe_index_put.default", _put, takes=_has_mask("indices"))
row("aten.index_select.default", _selected)
row("aten.gather.default", _gathered)
row(
    "aten.scatter.src aten.scatter.value",
    lambda self, dim, index, src=None, value=None: _scattered(
        self, dim, index, value if src is None else src, False
    ),
)
row("aten.scatter_add.default", lambda self, dim, index, src: _scattered(self, dim, index, src, True))
row("aten.index_add.default", _added_at)
row(
    "aten.embedding.default",
    lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: _embedded(
        weight, indices
    ),
)
row("aten.embedding_dense_backward.default", _embedding_gradient, takes=_embedding_gradient_takes)
