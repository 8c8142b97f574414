"""Basic indexing: integers, slices, None and Ellipsis make views (a buffer seen through a window)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir.affine import AffineBinaryOpKind

from ...dialects.nest import IndexOp
from ..interface.errors import DTypeError, IndexRangeError, Respecialise, ShapeError, UnsupportedError
from ..values.arithmetic import affine_of, require_static
from ..values.contents import read
from ..values.extents import Affine, Atom
from ..values.graph import Graph
from ..values.indices import integer_of
from ..values.values import Array, Axis, Scalar, Static, Tensor, Value, describe


@dataclass(frozen=True, eq=False)
class Slice:
    """`start:stop:step` of a subscript; None where it is left out."""

    start: Value | None = None
    stop: Value | None = None
    step: Value | None = None


Item = Value | Slice


def view(graph: Graph, array: Array, items: Sequence[Item]) -> Array:
    """The view `array[items]`."""
    axes: list[Axis] = []
    fixed = list(array.fixed)
    source = iter(enumerate(array.axes))
    for item in expanded(graph, items, len(array.axes)):
        if isinstance(item, Static) and item.value is None:
            axes.append(Axis(None, Affine(0), 1, Affine(1)))
            continue
        k, axis = next(source)
        if isinstance(item, Slice):
            axes.append(_sliced(graph, axis, item))
            continue
        index = _checked(graph, item, axis, array.buffer.name, k)
        if axis.root is not None:
            fixed.append((axis.root, axis.offset + index * axis.stride))
    return replace(array, axes=tuple(axes), fixed=tuple(fixed))


def element(graph: Graph, array: Array) -> Value:
    """The scalar that a view of rank 0 made by integers stands for."""
    if graph.island is not None:
        return Scalar(graph.island.load(array, ()), array.dtype)
    tensor = read(graph, array)
    return Tensor(tensor.ssa, tensor.dtype, (), True)


def transposed(array: Array, perm: Sequence[int]) -> Array:
    """The view with its axes permuted."""
    return replace(array, axes=tuple([array.axes[p] for p in perm]))


def expanded(graph: Graph, items: Sequence[Item], rank: int) -> list[Item]:
    """Items with Ellipsis and missing trailing axes spelled out as full slices."""
    used = 0
    dots: int | None = None
    for k, item in enumerate(items):
        if isinstance(item, Static) and item.value is Ellipsis:
            if dots is not None:
                raise graph.error(IndexRangeError, "an index can only have a single ellipsis ('...')")
            dots = k
        elif not (isinstance(item, Static) and item.value is None):
            used += 1
    if used > rank:
        raise graph.error(
            IndexRangeError,
            f"too many indices for array: array is {rank}-dimensional, but {used} were indexed",
            "x.ndim says how many axes there are",
        )
    rest: list[Item] = [Slice()] * (rank - used)
    if dots is None:
        return [*items, *rest]
    return [*items[:dots], *rest, *items[dots + 1 :]]


def _checked(graph: Graph, item: Item, axis: Axis, name: str, position: int) -> Affine:
    """An integer index, in bounds."""
    assert not isinstance(item, Slice)
    if isinstance(item, Array) and not item.axes and item.dtype.kind in "iu":
        item = element(graph, item)
    index = affine_of(item)
    if isinstance(item, Static) and isinstance(item.value, bool | np.bool_):
        index = None
    elif index is None and _is_integer(item):
        index = integer_of(graph, item)
    if index is None:
        raise graph.error(
            UnsupportedError,
            f"indexing by {describe(item)} is not supported",
            "index with integers, slices, None and ...; write a[mask] = v as np.where(mask, v, a)",
        )
    if graph.island is not None:
        return graph.island.checked_index(index, axis.extent, name, position)
    if not graph.assumptions.normal(axis.extent).is_of_extents():
        return _checked_later(graph, index, axis.extent, name, position)
    if index.is_of_extents():
        try:
            return _known_in_bounds(graph, index, axis.extent, position)
        except IndexRangeError:
            if graph.is_certain:
                raise
            return _checked_later(graph, index, axis.extent, name, position)  # it may not be reached
    nonnegative = graph.assumptions.nonnegative
    if nonnegative(index, "an index") and nonnegative(axis.extent - index - 1, "an index"):
        return index
    return _checked_later(graph, index, axis.extent, name, position)


def _checked_later(graph: Graph, index: Affine, extent: Affine, name: str, position: int) -> Affine:
    """A Python index, checked and wrapped when the program runs."""
    if not graph.boundscheck:
        return graph.unchecked_index(index, extent)
    op = IndexOp(index.to_list(), extent.to_list(), name or "array", position)
    graph.has_acted = True
    value = graph.insert(op)
    assert value is not None
    return Affine.of(Atom(value, low=0, high=extent - 1))


def _known_in_bounds(graph: Graph, index: Affine, extent: Affine, position: int) -> Affine:
    """An index that depends on extents only, in bounds."""
    value = index.witness()
    if index.known is not None and (extent.known is not None or index.known >= 0):
        return _in_bounds(graph, index, extent, position)
    if value is not None and value < 0 and graph.assumptions.nonnegative(-index - 1, "a negative index"):
        return _in_bounds(graph, extent + index, extent, position, value)
    return _in_bounds(graph, index, extent, position)


def _in_bounds(graph: Graph, index: Affine, extent: Affine, axis: int, written: int | None = None) -> Affine:
    if index.known is not None and extent.known is not None:
        from ..values.islands import wrap_index

        return wrap_index(graph, index.known, extent.known, axis)
    nonnegative = graph.assumptions.nonnegative
    if nonnegative(index, "an index") and nonnegative(extent - index - 1, "an index"):
        return index
    size = extent.witness()
    if size is None:
        raise graph.error(
            UnsupportedError,
            "this index is not known to be in bounds",
            "read the element in a loop, or slice",
        )
    shown = written if written is not None else index.witness()
    raise graph.index_error(shown, axis, size)


def _is_integer(value: Value) -> bool:
    if isinstance(value, Tensor):
        return not value.extents and value.dtype.kind in "iu"
    return isinstance(value, Scalar) and value.dtype.kind in "iu"


# ---- slices -----------------------------------------------------------------------------------------


def _sliced(graph: Graph, axis: Axis, item: Slice) -> Axis:
    """The part of `axis` that a slice selects, clipped as Python does."""
    step = 1
    if item.step is not None:
        value = require_static(graph, item.step, "the step of a slice")
        step = 1 if value is None else int(value)
    if step == 0:
        raise graph.error(ShapeError, "slice step cannot be zero")
    n = axis.extent
    forward = step > 0
    start = _bound(graph, item.start, n, Affine(0) if forward else n - 1, forward)
    stop = _bound(graph, item.stop, n, n if forward else Affine(-1), forward)
    span = stop - start if forward else start - stop
    size = _clamp_low(graph, span, n)
    if abs(step) != 1:
        size = graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, size + (abs(step) - 1), abs(step))
    if size.known == 0:
        start = Affine(0)
    return Axis(axis.root, axis.offset + start * axis.stride, axis.stride * step, _extent(graph, size))


def _extent(graph: Graph, size: Affine) -> Affine:
    """Extents 0 and 1 are always static: an unknown extent that may be one compiles for its value."""
    witness = size.witness()
    if size.known is None and witness is not None and witness < 2 and size.is_of_extents():
        raise Respecialise(shapes=True, why="a slice of extent 0 or 1")
    if size.known is None:
        graph.assumptions.nonnegative(size - 2, "extents 0 and 1 are compiled for")
    return size


def _bound(graph: Graph, value: Value | None, n: Affine, default: Affine, forward: bool) -> Affine:
    if value is None or (isinstance(value, Static) and value.value is None):
        return default
    bound = integer_of(graph, value)
    if bound is None:
        raise graph.error(
            DTypeError,
            f"slice indices must be integers or None or have an __index__ method, not {describe(value)}",
        )
    if bound.known is not None:
        bound = bound if bound.known >= 0 else n + bound.known
    elif not graph.assumptions.nonnegative(bound, "a slice bound"):
        if bound.arguments():
            raise Respecialise(bound.arguments(), why="the sign of a slice bound must be known")
        if bound.is_of_extents():
            raise Respecialise(shapes=True, why="the sign of a slice bound must be known")
        bound = graph.wrapped(bound, n)
    low, high = (Affine(0), n) if forward else (Affine(-1), n - 1)
    return _clamp(graph, bound, low, high)


def _clamp(graph: Graph, value: Affine, low: Affine, high: Affine) -> Affine:
    if value.known is not None and high.known is not None and low.known is not None:
        return Affine(min(max(value.known, low.known), high.known))
    if not _nonnegative(graph, value - low):
        value = graph.larger(value, low)
    if not _nonnegative(graph, high - value):
        value = graph.smaller(value, high)
    return value


def _nonnegative(graph: Graph, affine: Affine) -> bool:
    """Whether a difference of slice bounds is not negative; where that hangs on extents alone, they must be known."""
    if graph.assumptions.nonnegative(affine, "a slice bound"):
        return True
    if affine.terms and affine.is_of_extents():
        raise Respecialise(shapes=True, why="a slice that is clipped")
    return False


def _clamp_low(graph: Graph, span: Affine, n: Affine) -> Affine:
    if span.known is not None:
        return Affine(max(0, span.known))
    if _nonnegative(graph, span):
        return span
    return graph.larger(span, Affine(0), n if n.is_of_extents() else None)
