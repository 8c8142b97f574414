"""Arrays in a subscript: which elements they name, checked against the bounds.

x[idx]    ->   Places: axis 0 of x is indexed by the elements of idx, a negative one counted from the end
x[mask]   ->   the view of x that the mask is laid over

All indices are checked before anything is read or written, as NumPy does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region

from ...dialects.nest import IfOp
from ...dialects.nt import ELEMENTWISE, ConstantOp
from ..interface.errors import IndexRangeError, ShapeError
from ..values.arithmetic import broadcast_extents, copy, emit, index_value
from ..values.assemble import INT
from ..values.contents import as_view
from ..values.equal_extents import require_equal
from ..values.extents import Affine, Atom
from ..values.graph import INDEX, Graph
from ..values.islands import Island
from ..values.selection import indices_of_true, settled
from ..values.tensors import BOOL
from ..values.values import Array, Extents, Group, Lazy, Masked, Static, Tensor, Value, extents_of, shape_text
from .views import Item, Slice, expanded, view


def index_array(graph: Graph, item: Item) -> Array | None:
    """The array that an item of a subscript is; None for integers, slices, None and Ellipsis."""
    if isinstance(item, Slice):
        return None
    if isinstance(item, Masked):
        item = settled(graph, item)
    if isinstance(item, Group) or (isinstance(item, Static) and isinstance(item.value, list)):
        from ..values.nested import array_of

        item = array_of(graph, item)
        if item.axes and item.axes[0].extent.known == 0:
            return as_view(graph, copy(graph, item, INT))
    if isinstance(item, Array | Lazy | Tensor) and extents_of(item):
        array = as_view(graph, item)
        if array.dtype != BOOL and array.dtype.kind not in "iu":
            raise graph.error(IndexRangeError, "arrays used as indices must be of integer (or boolean) type")
        return array
    return None


def is_advanced(items: Sequence[Item]) -> bool:
    """Whether a subscript has arrays or lists in it."""
    return any(
        isinstance(i, Group | Masked)
        or (isinstance(i, Static) and isinstance(i.value, list))
        or (isinstance(i, Array | Lazy | Tensor) and bool(extents_of(i)))
        for i in items
    )


@dataclass(frozen=True, eq=False)
class Places:
    """Elements of `base` named by arrays: axis `axes[k]` is indexed by `arrays[k]`.

    The result has the axes of the arrays (`shape`) at `position` among those of `base` that remain (`kept`).
    """

    base: Array
    axes: tuple[int, ...]
    arrays: tuple[Array, ...]
    kept: tuple[int, ...]
    position: int
    shape: Extents
    tables: tuple[np.ndarray | None, ...]
    """The indices that are known at compile time."""
    certain: bool = False
    """Whether all indices are in bounds: a mask of the same axes gave them."""

    @property
    def extents(self) -> Extents:
        rest = [self.base.extents[k] for k in self.kept]
        return (*rest[: self.position], *self.shape, *rest[self.position :])

    @property
    def order(self) -> tuple[int, ...] | None:
        """NumPy puts the axes of the index arrays outermost in memory."""
        count = len(self.shape)
        if not self.position or not count:
            return None
        inside = range(self.position, self.position + count)
        return (*inside, *[k for k in range(len(self.extents)) if k not in inside])

    def check(self, island: Island) -> None:
        """Raise IndexError at run time unless all indices are in bounds."""
        if self.certain:
            return
        for axis, array, table in zip(self.axes, self.arrays, self.tables, strict=True):
            check_indices(island, array, self.base.extents[axis], self.base.buffer.name, axis, table)

    def source(self, island: Island) -> Callable[[Sequence[Affine]], list[Affine]]:
        """The index into `base` for an index of the result; `check` has run."""
        graph, rank = island.graph, len(self.shape)
        wrapped = [
            wrapped_indices(graph, array, self.base.extents[axis], table)
            for axis, array, table in zip(self.axes, self.arrays, self.tables, strict=True)
        ]

        def at(index: Sequence[Affine]) -> list[Affine]:
            inside = index[self.position : self.position + rank]
            outside = [*index[: self.position], *index[self.position + rank :]]
            result: list[Affine] = [Affine(0)] * len(self.base.axes)
            for k, i in zip(self.kept, outside, strict=True):
                result[k] = i
            for axis, values in zip(self.axes, wrapped, strict=True):
                result[axis] = as_place(island, values, inside, self.base.extents[axis])
            return result

        return at


def as_place(island: Island, values: Value, index: Sequence[Affine], extent: Affine) -> Affine:
    """An element of an array of indices, in bounds, as an index."""
    scalar = island.element(values, INT, index)
    op = arith.IndexCastOp.create(operands=[scalar], result_types=[INDEX])
    island.graph.insert(op)
    return Affine.of(Atom(op.results[0], low=0, high=extent - 1))


def wrapped_indices(graph: Graph, array: Array, extent: Affine, table: np.ndarray | None) -> Value:
    """Indices of an axis, the negative ones counted from its end. Only inside islands."""
    if array.dtype.kind == "u" or (table is not None and table.min(initial=0) >= 0):
        return array
    values = copy(graph, array, INT)
    end = copy(graph, index_value(extent), INT) if extent.terms else Static(np.int64(extent.constant))
    negative = emit(graph, ELEMENTWISE["less"], [values, Static(np.int64(0))], (INT, INT))
    shifted = emit(graph, ELEMENTWISE["add"], [values, end], (INT, INT))
    return emit(graph, ELEMENTWISE["select"], [negative, shifted, values], (BOOL, INT, INT))


def constant_table(graph: Graph, array: Array) -> np.ndarray | None:
    """The elements of an array known at compile time, at the level of whole arrays."""
    value = array.buffer.value
    if graph.island is not None or value is None or not array.whole or not isinstance(value.owner, Operation):
        return None
    if not isinstance(value.owner, ConstantOp) or array.dtype.kind != "i":
        return None
    return np.asarray(value.owner.value.get_values(), np.int64)


def check_indices(
    island: Island, array: Array, extent: Affine, name: str, axis: int, table: np.ndarray | None = None
) -> None:
    """A pass over the indices finds whether one is outside; only then each is looked at, for the error."""
    graph = island.graph
    if table is not None and extent.known is not None:
        bad = table[(table < -extent.known) | (table >= extent.known)]
        if bad.size:
            raise graph.index_error(bad[0], axis, extent.known)
        return
    if any(e.known == 0 for e in array.extents) or not graph.boundscheck:
        return
    values = copy(graph, array, INT)
    end = copy(graph, index_value(extent), INT) if extent.terms else Static(np.int64(extent.constant))
    high = emit(graph, ELEMENTWISE["greater_equal"], [values, end], (INT, INT))
    start = (
        emit(graph, ELEMENTWISE["negative"], [end], (INT,))
        if extent.terms
        else Static(np.int64(-extent.constant))
    )
    low = emit(graph, ELEMENTWISE["less"], [values, start], (INT, INT))
    outside = emit(graph, ELEMENTWISE["logical_or"], [low, high], (BOOL, BOOL))
    failed = island.reduce("or", outside, BOOL)
    block = Block()
    with graph.inside(block):

        def look(index: list[Affine]) -> None:
            scalar = island.element(array, INT, index)
            op = arith.IndexCastOp.create(operands=[scalar], result_types=[INDEX])
            graph.insert(op)
            island.checked_index(Affine.of(Atom(op.results[0])), extent, name, axis)

        island.for_each(array.extents, look)
    graph.insert(IfOp(failed.ssa, Region(block), None))
    island.keeps()


def places(
    graph: Graph, array: Array, items: Sequence[Item], reads: bool = False
) -> Places | tuple[Array, Array, int]:
    """What a subscript with arrays in it names: places; or, for one mask, (view, mask, its first axis).

    A mask beside other arrays (in what is read: beside integers, which count as such for the order of axes) stands for
    the indices of its True elements.
    """
    given: list[tuple[Item, Array | None]] = []
    masks = 0
    for item in items:
        found = index_array(graph, item)
        masks += found is not None and found.dtype == BOOL
        given.append((item, found))
    # A mask of rank r stands for r axes.
    spelled: list[Item] = []
    arrays: dict[int, Array] = {}
    for item, found in given:
        if found is None:
            spelled.append(item)
            continue
        arrays[len(spelled)] = found
        spelled.extend([_MARK] * (len(found.axes) if found.dtype == BOOL else 1))
    total = expanded(graph, spelled, len(array.axes))
    shift = len(total) - len(spelled)
    dots = next(
        (k for k, i in enumerate(spelled) if isinstance(i, Static) and i.value is Ellipsis), len(spelled)
    )
    at = {k if k < dots else k + shift: a for k, a in arrays.items()}
    if masks and len(at) == 1 and not (reads and _has_integers(total)):
        return _masked_view(graph, array, total, at)
    if masks:
        at = _without_masks(graph, array, total, at)
    return _places_in(graph, array, total, at)


_MARK = Slice()


def _masked_view(
    graph: Graph, array: Array, items: Sequence[Item], at: dict[int, Array]
) -> tuple[Array, Array, int]:
    ((place, mask),) = at.items()
    base = view(graph, array, items)
    axis = sum(not _is_integer(i) for i in items[:place])
    _require_shape(graph, mask, base, axis)
    return base, mask, axis


def _is_integer(item: Item) -> bool:
    return not isinstance(item, Slice) and not (isinstance(item, Static) and item.value is None)


def _has_integers(items: Sequence[Item]) -> bool:
    return any(map(_is_integer, items))


def _without_masks(
    graph: Graph, array: Array, items: Sequence[Item], at: dict[int, Array]
) -> dict[int, Array]:
    """Index arrays by their place in the subscript, those of the True elements of masks among them."""
    # Integers are axes here: a mask is compared with the axes that it stands for.
    whole = view(graph, array, [Slice() if _is_integer(i) else i for i in items])
    found: dict[int, Array] = {}
    for place, index in at.items():
        if index.dtype != BOOL:
            found[place] = index
            continue
        _require_shape(graph, index, whole, place)
        found |= {place + k: one for k, one in enumerate(indices_of_true(graph, index))}
    return found


def places_of_mask(graph: Graph, base: Array, mask: Array, axis: int) -> Places:
    """The elements that a mask of the axes from `axis` on selects."""
    rank = len(mask.axes)
    arrays = tuple(indices_of_true(graph, mask))
    axes = tuple(range(axis, axis + rank))
    kept = tuple([k for k in range(len(base.axes)) if k not in axes])
    return Places(base, axes, arrays, kept, axis, arrays[0].extents, (None,) * rank, True)


def _require_shape(graph: Graph, mask: Array, base: Array, axis: int) -> None:
    for k, extent in enumerate(mask.extents):
        own = base.extents[axis + k]
        if not require_equal(graph, own, extent, "a boolean index", "IndexError"):
            raise graph.error(
                IndexRangeError,
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                f"{own.witness()} but size of corresponding boolean axis is {extent.witness()}",
            )


def _places_in(graph: Graph, array: Array, items: Sequence[Item], at: dict[int, Array]) -> Places:
    base = view(graph, array, items)
    axes: list[int] = []
    kept: list[int] = []
    advanced: list[int] = []
    before = 0
    axis = 0
    for k, item in enumerate(items):
        if k in at:
            advanced.append(k)
            axes.append(axis)
            axis += 1
            continue
        if isinstance(item, Slice) or (isinstance(item, Static) and item.value is None):
            kept.append(axis)
            axis += 1
            before += not advanced
            continue
        advanced.append(k)
    together = advanced == list(range(advanced[0], advanced[0] + len(advanced)))
    arrays = tuple([at[k] for k in sorted(at)])
    try:
        shape = broadcast_extents(graph, [a.extents for a in arrays])
    except ShapeError:
        shapes = " ".join(shape_text(a.extents).replace(" ", "") for a in arrays)
        raise graph.error(
            IndexRangeError,
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}",
        ) from None
    tables = tuple([constant_table(graph, a) for a in arrays])
    return Places(base, tuple(axes), arrays, tuple(kept), before if together else 0, shape, tables)
