"""Indexing by arrays: gathers `x[idx]`, scatters `x[idx] = v`, and masks `x[mask]`.

x[idx] * 2      ->   nt.loops: is any index outside? (then each one is checked, for the error), and
                     for i: out[i] = x[idx[i]], a negative index counted from the end
x[mask] = v     ->   x = where(mask, v, x)
x[mask].sum()   ->   where(mask, x, 0).sum()

All indices are checked before anything is read or written, as NumPy does it. What a mask selects has a length that only
the run knows: it can be reduced, computed with, and assigned under the same mask, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from ..dialects.nest import IfOp
from ..dialects.nt import ELEMENTWISE, ConstantOp
from .arithmetic import BOOL, apply, broadcast_extents, emit, index_value, number_kind, operate
from .assemble import INT, fresh, opaque
from .errors import DTypeError, IndexRangeError, NestorError, ShapeError, UnsupportedError
from .extents import Affine, Atom
from .graph import INDEX, Graph
from .islands import Island, check_assignable, check_writable, open_island, reads_of, strip_leading
from .tensors import as_array, read
from .values import (
    INSTEAD,
    UNKNOWN_LENGTH,
    Array,
    Extents,
    Group,
    Lazy,
    Masked,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    shape_text,
)
from .views import Item, Slice, as_view, expanded, view

# ---- what an index is -------------------------------------------------------------------------------


def index_array(graph: Graph, item: Item) -> Array | None:
    """The array that an item of a subscript is; None for integers, slices, None and Ellipsis."""
    if isinstance(item, Slice):
        return None
    if isinstance(item, Group) or (isinstance(item, Static) and isinstance(item.value, list)):
        from .numpy_api.creation import array_of

        item = array_of(graph, item)
        if item.axes and item.axes[0].extent.known == 0:
            return as_view(graph, _converted(graph, item, INT))
    if isinstance(item, Array | Lazy | Tensor) and extents_of(item):
        array = as_view(graph, item)
        if array.dtype != BOOL and array.dtype.kind not in "iu":
            raise graph.error(IndexRangeError, "arrays used as indices must be of integer (or boolean) type")
        return array
    return None


def is_advanced(items: Sequence[Item]) -> bool:
    """Whether a subscript has arrays or lists in it."""
    return any(
        isinstance(i, Group)
        or (isinstance(i, Static) and isinstance(i.value, list))
        or (isinstance(i, Array | Lazy | Tensor) and bool(extents_of(i)))
        for i in items
    )


def _converted(graph: Graph, value: Value, dtype: np.dtype) -> Value:
    from .arithmetic import copy

    return copy(graph, value, dtype)


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
    values = _converted(graph, array, INT)
    end = _converted(graph, index_value(extent), INT) if extent.terms else Static(np.int64(extent.constant))
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
            raise graph.error(
                IndexRangeError, f"index {bad[0]} is out of bounds for axis {axis} with size {extent.known}"
            )
        return
    if any(e.known == 0 for e in array.extents):
        return
    values = _converted(graph, array, INT)
    end = _converted(graph, index_value(extent), INT) if extent.terms else Static(np.int64(extent.constant))
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


def places(graph: Graph, array: Array, items: Sequence[Item]) -> Places | tuple[Array, Array, int]:
    """What a subscript with arrays in it names: places; or, for one mask, (view, mask, its first axis)."""
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
    if masks:
        return _masked_view(graph, array, total, at)
    return _gathered(graph, array, total, at)


_MARK = Slice()


def _masked_view(
    graph: Graph, array: Array, items: Sequence[Item], at: dict[int, Array]
) -> tuple[Array, Array, int]:
    if len(at) > 1:
        raise graph.error(
            UnsupportedError,
            "a mask together with another array as an index is not supported",
            "index one after the other, or use np.where",
        )
    ((place, mask),) = at.items()
    if any(not isinstance(i, Slice) and not (isinstance(i, Static) and i.value is None) for i in items):
        # Integers count as arrays for the order of the result's axes; the assignment and reductions do not mind.
        pass
    base = view(graph, array, items)
    axis = sum(isinstance(i, Slice) or (isinstance(i, Static) and i.value is None) for i in items[:place])
    for k, extent in enumerate(mask.extents):
        own = base.extents[axis + k]
        if not graph.assumptions.equal(own, extent, "a mask"):
            raise graph.error(
                IndexRangeError,
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                f"{own.witness()} but size of corresponding boolean axis is {extent.witness()}",
            )
    return base, mask, axis


def _gathered(graph: Graph, array: Array, items: Sequence[Item], at: dict[int, Array]) -> Places:
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


# ---- reading ----------------------------------------------------------------------------------------


def gather(graph: Graph, value: Value, items: Sequence[Item]) -> Value:
    """`value[items]` with arrays among the items."""
    found = places(graph, as_view(graph, value), items)
    if isinstance(found, Places):
        return gathered(graph, found)
    base, mask, axis = found
    if axis:
        raise graph.error(
            UnsupportedError, "reading by a mask of other than the first axes is not supported", INSTEAD
        )
    if graph.island is None:
        base, mask = as_array(read(graph, base)), as_array(read(graph, mask))
    return Masked(base, mask)


def gathered(graph: Graph, found: Places, checked: bool = True) -> Value:
    """The elements at the places, as a new array."""
    island = graph.island
    if island is not None:
        if checked:
            found.check(island)
        source = found.source(island)
        reads = [opaque(found.base), *map(opaque, found.arrays)]
        return Lazy(
            found.base.dtype,
            found.extents,
            lambda index: island.load(found.base, source(index)),
            tuple(reads),
        )

    def write(island: Island, target: Array) -> None:
        if checked:
            found.check(island)
        source = found.source(island)
        island.for_each(
            target.extents,
            lambda index: island.store(target, index, island.load(found.base, source(index))),
        )

    result = fresh(graph, found.base.dtype, found.extents, write)
    result.buffer.order = found.order
    return result


# ---- writing ----------------------------------------------------------------------------------------


def scatter(graph: Graph, array: Array, items: Sequence[Item], value: Value) -> None:
    """`array[items] = value`: the last of several values for one element stays."""
    check_writable(graph, array.buffer)
    found = places(graph, array, items)
    if not isinstance(found, Places):
        return _assign_masked(graph, *found, value)
    if isinstance(value, Masked):
        raise unknown_length(graph)
    check_assignable(graph, found.extents, extents_of(value))
    _in_island(graph, lambda island: _scattered(island, found, _as_readable(graph, value)))


def _as_readable(graph: Graph, value: Value) -> Value:
    return as_array(value) if isinstance(value, Tensor) and value.extents else value


def _in_island(graph: Graph, run: Callable[[Island], None]) -> None:
    if graph.island is not None:
        return run(graph.island)
    with open_island(graph) as island:
        run(island)


def _scattered(island: Island, found: Places, value: Value) -> None:
    base = found.base
    if isinstance(value, Lazy) or any(_shares(r, base) for r in reads_of([value])):
        value = island.materialise(value, "values") if extents_of(value) else value
    found.check(island)
    arrays = [island.materialise(a, "indices") if _shares(a, base) else a for a in found.arrays]
    found = Places(base, found.axes, tuple(arrays), found.kept, found.position, found.shape, found.tables)
    source = found.source(island)
    value = strip_leading(value, len(found.extents))
    if not extents_of(value):
        ssa = island.scalar(value, base.dtype)
        return island.for_each(found.extents, lambda index: island.store(base, source(index), ssa))
    return island.for_each(
        found.extents,
        lambda index: island.store(base, source(index), island.element(value, base.dtype, index)),
    )


def scatter_along(
    graph: Graph,
    array: Array,
    indices: Array,
    axis: int,
    extents: Extents,
    value: Value,
    place: Callable[[Island, Value, Array, int, Sequence[Affine]], list[Affine]],
) -> None:
    """np.put_along_axis; `place` gives the index of an element of `array`."""
    check_assignable(graph, extents, extents_of(value))
    table = constant_table(graph, indices)
    value = _as_readable(graph, value)

    def run(island: Island) -> None:
        given, index = value, indices
        if isinstance(given, Lazy) or any(_shares(r, array) for r in reads_of([given])):
            given = island.materialise(given, "values") if extents_of(given) else given
        if _shares(index, array):
            index = island.materialise(index, "indices")
        extent = array.extents[axis]
        check_indices(island, index, extent, array.buffer.name, axis, table)
        wrapped = wrapped_indices(graph, index, extent, table)
        given = strip_leading(given, len(extents))
        if not extents_of(given):
            given = Scalar(island.scalar(given, array.dtype), array.dtype)
        island.for_each(
            extents,
            lambda at: island.store(
                array, place(island, wrapped, array, axis, at), island.element(given, array.dtype, at)
            ),
        )

    _in_island(graph, run)


def store_window(graph: Graph, target: Array, value: Value) -> None:
    """`target[...] = value`."""
    value = _as_readable(graph, value)
    _in_island(graph, lambda island: island.assign(target, value))


def _shares(a: Array, b: Array) -> bool:
    """Whether two views may be of the same memory."""
    return a.buffer is b.buffer or (a.buffer.shared is not None and a.buffer.shared == b.buffer.shared)


def update(graph: Graph, array: Array, items: Sequence[Item], name: str, operand: Value) -> None:
    """`array[items] op= operand`: of an element named twice the last update stays, as in NumPy."""
    check_writable(graph, array.buffer)
    found = places(graph, array, items)
    if not isinstance(found, Places):
        base, mask, axis = found
        if axis:
            raise graph.error(
                UnsupportedError, "updating by a mask of other than the first axes is not supported", INSTEAD
            )
        result = operate(graph, name, Masked(base, mask), operand)
        _require_same_kind(graph, name, result, array.dtype)
        return _assign_masked(graph, base, mask, axis, result)
    result = operate(graph, name, gathered(graph, found), operand)
    _require_same_kind(graph, name, result, array.dtype)
    check_assignable(graph, found.extents, extents_of(result))
    return _in_island(graph, lambda island: _scattered(island, found, _as_readable(graph, result)))


def _require_same_kind(graph: Graph, name: str, result: Value, dtype: np.dtype) -> None:
    kind = number_kind(graph, result)
    if isinstance(kind, np.dtype) and not np.can_cast(kind, dtype, "same_kind"):
        raise graph.error(
            DTypeError,
            f"Cannot cast ufunc '{name}' output from {kind!r} to {dtype!r} with casting rule 'same_kind'",
        )


def update_each(graph: Graph, ufunc: np.ufunc, array: Value, indices: Value, operand: Value | None) -> Static:
    """`np.add.at(array, indices, operand)`: every update counts, one after the other."""
    if not isinstance(array, Array):
        raise graph.error(DTypeError, f"np.{ufunc.__name__}.at needs an array, not {describe(array)}")
    check_writable(graph, array.buffer)
    items: list[Item] = (
        list(indices.items) if isinstance(indices, Group) and indices.kind is tuple else [indices]
    )
    if not is_advanced(items):
        raise graph.error(
            UnsupportedError,
            f"np.{ufunc.__name__}.at without an array of indices is not supported",
            "use x[i] += v",
        )
    found = places(graph, array, items)
    if not isinstance(found, Places):
        raise graph.error(
            UnsupportedError, f"np.{ufunc.__name__}.at with a mask is not supported", "use x[mask] += v"
        )
    if operand is not None:
        check_assignable(graph, found.extents, extents_of(operand))

    def run(island: Island) -> None:
        value = None if operand is None else _as_readable(graph, operand)
        if value is not None and extents_of(value):
            if isinstance(value, Lazy) or any(_shares(r, found.base) for r in reads_of([value])):
                value = island.materialise(value, "values")
            value = strip_leading(value, len(found.extents))
        found.check(island)
        source = found.source(island)

        def one(index: list[Affine]) -> None:
            place = source(index)
            operands: list[Value] = [Scalar(island.load(found.base, place), array.dtype)]
            if value is not None and extents_of(value):
                dtype = value.dtype  # pyright: ignore
                operands.append(Scalar(island.element(value, dtype, index), dtype))
            elif value is not None:
                operands.append(value)
            result = apply(graph, ufunc, *operands)
            _require_same_kind(graph, ufunc.__name__, result, array.dtype)
            island.store(found.base, place, island.scalar(result, array.dtype))

        island.for_each(found.extents, one)

    _in_island(graph, run)
    return Static(None)


# ---- masks ------------------------------------------------------------------------------------------


def unknown_length(graph: Graph) -> NestorError:
    """The refusal of what needs the elements that a mask selects side by side."""
    return graph.error(UnsupportedError, UNKNOWN_LENGTH, INSTEAD)


def spread_mask(graph: Graph, mask: Array, rank: int, axis: int = 0) -> Array:
    """A mask of some axes of an array of `rank`, as one that broadcasts over all of it."""
    rest = rank - axis - len(mask.axes)
    return view(graph, mask, [*[Slice()] * len(mask.axes), *[Static(None)] * rest])


def same_mask(a: Array, b: Array) -> bool:
    """Whether two masks are the same array with the same contents."""
    if a is b:
        return True
    if not a.whole or not b.whole or a.buffer.value is None or b.buffer.value is None:
        return False
    return _same_value(a.buffer.value, b.buffer.value)


def _same_value(a: SSAValue, b: SSAValue) -> bool:
    """Whether two values are computed alike from the same values."""
    if a is b:
        return True
    one, other = a.owner, b.owner
    if not isinstance(one, Operation) or type(one) is not type(other) or not one.has_trait(Pure):
        return False
    assert isinstance(other, Operation)
    alike = a.type == b.type and one.properties == other.properties and one.attributes == other.attributes
    alike = alike and len(one.operands) == len(other.operands) and not one.regions
    return alike and all(_same_value(x, y) for x, y in zip(one.operands, other.operands, strict=True))


def masked_operation(graph: Graph, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """An elementwise operation on what masks select: on everything, and selected then."""
    masked = [o for o in operands if isinstance(o, Masked)]
    first = masked[0]
    for other in masked[1:]:
        same = same_mask(first.mask, other.mask)
        if not same or len(first.values.extents) != len(other.values.extents):
            raise unknown_length(graph)
    plain: list[Value] = []
    for operand in operands:
        if isinstance(operand, Masked):
            plain.append(operand.values)
            continue
        rest = len(first.values.extents) - len(first.mask.extents)
        shape = extents_of(operand)
        if len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]):
            raise unknown_length(graph)
        plain.append(operand)
    result = compute(*plain)
    return Masked(as_view(graph, result), first.mask)


def _assign_masked(graph: Graph, base: Array, mask: Array, axis: int, value: Value) -> None:
    if isinstance(value, Masked):
        if axis or not same_mask(value.mask, _snapshot(graph, mask)):
            raise unknown_length(graph)
        value = value.values
        if len(extents_of(value)) != len(base.extents):
            raise unknown_length(graph)
    else:
        rest = len(base.extents) - axis - len(mask.extents)
        shape = extents_of(value)
        if len(shape) > rest and any(e.known != 1 for e in shape[: len(shape) - rest]):
            raise graph.error(
                UnsupportedError,
                f"an array of shape {shape_text(shape)} is assigned to what a mask selects; {UNKNOWN_LENGTH}",
                "assign a number, or elements selected by the same mask: x[mask] = y[mask]",
            )
        value = strip_leading(_as_readable(graph, value), rest)
        check_assignable(graph, base.extents[len(base.extents) - rest :], extents_of(value))
    whole_mask = spread_mask(graph, mask, len(base.extents), axis)

    def run(island: Island) -> None:
        chosen = emit(
            graph,
            ELEMENTWISE["select"],
            [whole_mask, _as_readable(graph, value), base],
            (BOOL, base.dtype, base.dtype),
        )
        island.assign(base, chosen)

    _in_island(graph, run)


def _snapshot(graph: Graph, mask: Array) -> Array:
    return mask if graph.island is not None else as_array(read(graph, mask))


# ---- what a mask selects, reduced -------------------------------------------------------------------


def masked_attribute(graph: Graph, masked: Masked, name: str) -> Value:
    """`x[mask].size` and `x[mask].dtype`; the others say how long it is."""
    from .arithmetic import as_weak

    if name == "dtype":
        return Static(masked.values.dtype)
    if name == "size":
        return as_weak(_count(graph, masked), int, None)
    raise unknown_length(graph)


def masked_call(
    graph: Graph, name: str, handler: Callable[..., Value], args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """A NumPy function or method of what a mask selects: the reductions over all of it."""
    if name == "np.where":
        return masked_operation(graph, lambda *plain: handler(graph, *plain), args)
    reduce = _REDUCED.get(name.strip(".()").removeprefix("np."))
    if reduce is None or len(args) != 1 or not isinstance(args[0], Masked):
        raise unknown_length(graph)
    for key, item in kwargs.items():
        if key != "axis" or not isinstance(item, Static) or item.value not in (None, 0, -1):
            raise unknown_length(graph)
    if kwargs and len(args[0].values.extents) != len(args[0].mask.extents):
        raise unknown_length(graph)
    return reduce(graph, args[0])


def _filled(graph: Graph, masked: Masked, other: Value) -> Value:
    """The array with `other` where the mask does not select."""
    dtype = masked.values.dtype
    mask = spread_mask(graph, masked.mask, len(masked.values.extents))
    return emit(graph, ELEMENTWISE["select"], [mask, masked.values, other], (BOOL, dtype, dtype))


def _count(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import sum_

    total = sum_(graph, masked.mask)
    for extent in masked.values.extents[len(masked.mask.extents) :]:
        total = apply(graph, np.multiply, total, index_value(extent))
    return total


def _sum(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import sum_

    return sum_(graph, _filled(graph, masked, Static(0)))


def _prod(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import prod

    return prod(graph, _filled(graph, masked, Static(1)))


def _extreme(graph: Graph, masked: Masked, largest: bool) -> Value:
    from .checks import check
    from .numpy_api.reductions import any_, max_, min_

    dtype = masked.values.dtype
    name = "maximum" if largest else "minimum"
    text = f"zero-size array to reduction operation {name} which has no identity"
    check(graph, any_(graph, masked.mask), "ValueError", text)
    if dtype == BOOL:
        end: object = not largest
    elif dtype.kind in "iu":
        end = np.iinfo(dtype).min if largest else np.iinfo(dtype).max
    else:
        end = -np.inf if largest else np.inf
    filled = _filled(graph, masked, Static(dtype.type(end)))
    return (max_ if largest else min_)(graph, filled)


def _mean(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import sum_

    dtype = masked.values.dtype
    result = np.dtype(np.float64) if dtype.kind in "biu" else dtype
    compute = np.dtype(np.float32) if result.name in ("float16", "bfloat16") else result
    total = sum_(graph, _filled(graph, masked, Static(0)), dtype=Static(compute))
    count = _converted(graph, _count(graph, masked), compute)
    return _converted(graph, apply(graph, np.divide, total, count), result)


def _any(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import any_

    return any_(graph, _filled(graph, masked, Static(0)))


def _all(graph: Graph, masked: Masked) -> Value:
    from .numpy_api.reductions import all_

    return all_(graph, _filled(graph, masked, Static(1)))


_REDUCED: dict[str, Callable[[Graph, Masked], Value]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "any": _any,
    "len": lambda graph, masked: _length(graph, masked),
    "all": _all,
    "max": lambda graph, masked: _extreme(graph, masked, True),
    "min": lambda graph, masked: _extreme(graph, masked, False),
    "amax": lambda graph, masked: _extreme(graph, masked, True),
    "amin": lambda graph, masked: _extreme(graph, masked, False),
}


def _length(graph: Graph, masked: Masked) -> Value:
    """How many elements along the first axis a mask selects: a Python integer known at run time."""
    from .arithmetic import as_weak
    from .numpy_api.reductions import sum_

    return as_weak(sum_(graph, masked.mask), int, None)
