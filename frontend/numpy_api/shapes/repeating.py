"""Elements repeated and moved round: tile, repeat, roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64

from ...interface.errors import DTypeError, Respecialise, ShapeError, UnsupportedError
from ...values.arithmetic import apply, copy, scalar_arguments
from ...values.assemble import INT, concatenated, fresh, positions, repeated, window, with_axis
from ...values.checks import check
from ...values.contents import as_view, read
from ...values.equal_extents import require_equal
from ...values.extents import Affine, Atom
from ...values.graph import Graph
from ...values.indices import integer_of
from ...values.islands import Island
from ...values.numbers import number_kind
from ...values.selection import as_index, sum_of
from ...values.tensors import as_array
from ...values.values import Array, Group, Scalar, Static, Tensor, Value, extents_of, shape_text, whole
from ..registry import handles, normal_axis, static
from ..statistics.reductions import any_
from .joining import flat, known_extent
from .rearranging import atleast
from .reshaping import array_shape, reshape_to

ZERO = Static(0)


@handles(np.tile)
def tile(graph: Graph, A: Value, reps: Value) -> Value:
    if (tiled := _tile_of_the_run(graph, A, reps)) is not None:
        return tiled
    request: Any = static(graph, reps, "the repetitions")
    counts = [int(r) for r in (request if isinstance(request, tuple | list) else (request,))]
    array = as_view(graph, atleast(graph, A, 0))
    while len(array.axes) < len(counts):
        array = with_axis(array, 0)
    rank = len(array.axes)
    counts = [1] * (rank - len(counts)) + counts
    axes = [k for k in range(rank) if counts[k] != 1]
    for k in axes:
        if counts[k] < 0:
            raise graph.error(ShapeError, "negative dimensions are not allowed")
    extents = tuple([a.extent * c for a, c in zip(array.axes, counts, strict=True)])
    if not axes:
        return copy(graph, array, array.dtype)

    def write(island: Island, target: Array, axis: int = 0, source: Array = array) -> None:
        if axis == rank:
            return island.assign(target, source)
        for k in range(counts[axis]):
            extent = array.axes[axis].extent
            write(island, window(target, axis, extent * k, extent), axis + 1, source)

    pieces = int(np.prod(counts))
    if pieces <= 8 or any(a.extent.known is None for a in array.axes):
        if pieces > 256:
            raise Respecialise(shapes=True, why="np.tile of unknown extents")
        return fresh(graph, array.dtype, extents, write)
    # many copies: one nest with an axis for the repetitions
    spread: list[Affine] = []
    along: list[int] = []
    for k, axis in enumerate(array.axes):
        spread.append(Affine(counts[k]))
        along.append(len(spread))
        spread.append(axis.extent)
    return reshape_to(graph, repeated(graph, array, tuple(spread), along), extents, new=True)


def _tile_of_the_run(graph: Graph, A: Value, reps: Value) -> Value | None:
    """Copies along the last axis, as many as an integer of the run says; None where their number is to be known."""
    if not isinstance(reps, Tensor) or reps.extents or scalar_arguments([reps]) or graph.island is not None:
        return None
    array = as_view(graph, atleast(graph, A, 1))
    *outer, last = array.extents
    if last.known is None or reps.dtype.kind not in "iu":
        return None
    (count,) = array_shape(graph, [reps])
    axis, size = len(outer), last.known

    def write(island: Island, target: Array) -> None:
        with island.loop("r", Affine(0), count) as turn:
            island.assign(window(target, axis, turn * size, last), array)

    return fresh(graph, array.dtype, (*outer, count * size), write)


@handles(np.repeat, method="repeat")
def repeat(graph: Graph, a: Value, repeats: Value, axis: Value | None = None) -> Value:
    request: Any = static(graph, axis, "axis")
    if request is None:
        a, position = flat(graph, atleast(graph, a, 1)), 0
    else:
        a = atleast(graph, a, 1)
        position = normal_axis(graph, request, len(extents_of(a)))
    array = as_view(graph, a)
    if not _is_known(repeats):
        return _repeat_counted(graph, array, position, repeats)
    counts: Any = static(graph, repeats, "the repeats")
    extent = array.axes[position].extent
    if isinstance(counts, tuple | list | np.ndarray) and len(counts) == 1:
        counts = counts[0]
    if isinstance(counts, tuple | list | np.ndarray):
        n = known_extent(graph, extent, "np.repeat")
        if len(counts) != n:
            raise graph.error(
                ShapeError, f"operands could not be broadcast together with shape ({n},) ({len(counts)},)"
            )
        return _repeat_each(graph, array, position, [int(c) for c in counts])
    count = int(counts)
    if count < 0:
        raise graph.error(ShapeError, "repeats may not contain negative values.")
    wide = with_axis(array, position + 1)
    total = [x.extent for x in array.axes]
    total[position] = extent * count

    def write(island: Island, target: Array) -> None:
        old = target.axes[position]
        for k in range(count):
            every = type(old)(old.root, old.offset + old.stride * k, old.stride * count, extent)
            axes = (*target.axes[:position], every, *target.axes[position + 1 :])
            island.assign(Array(target.buffer, axes, target.fixed), array)

    if count == 0 or count <= 4 or any(x.extent.known is None for x in array.axes):
        if count > 256:
            raise Respecialise(shapes=True, why="np.repeat of unknown extents")
        return fresh(graph, array.dtype, tuple(total), write)
    spread = [x.extent for x in wide.axes]
    spread[position + 1] = Affine(count)
    along = [k if k <= position else k + 1 for k in range(len(array.axes))]
    return reshape_to(graph, repeated(graph, array, tuple(spread), along), tuple(total), new=True)


def _is_known(value: Value) -> bool:
    return isinstance(value, Static) or (isinstance(value, Group) and all(map(_is_known, value.items)))


def _repeat_counted(graph: Graph, array: Array, axis: int, repeats: Value) -> Array:
    """Repeats that only the run knows: their sum is the new extent."""
    repeats = atleast(graph, repeats, 1)
    if len(extents_of(repeats)) > 1:
        raise graph.error(ShapeError, "object too deep for desired array")
    kind = number_kind(graph, repeats)
    if not isinstance(kind, type) and kind.kind not in "biu":
        raise graph.error(
            DTypeError, f"Cannot cast array data from {kind!r} to dtype('int64') according to the rule 'safe'"
        )
    extent = array.axes[axis].extent
    every = apply(graph, np.multiply, positions(graph, extent), ZERO)
    counts = as_view(graph, apply(graph, np.add, copy(graph, repeats, INT), every))
    if not require_equal(graph, counts.extents[0], extent, "np.repeat"):
        raise graph.error(
            ShapeError,
            f"operands could not be broadcast together with shape {shape_text((extent,))} "
            f"{shape_text(extents_of(repeats))}",
        )
    if graph.island is None:
        counts = as_array(read(graph, counts))
    negative = any_(graph, apply(graph, np.less, counts, ZERO))
    message = "repeats may not contain negative values."
    check(graph, apply(graph, np.logical_not, negative), "ValueError", message)
    extents = [x.extent for x in array.axes]
    extents[axis] = sum_of(graph, counts)
    rest = tuple([e for k, e in enumerate(array.extents) if k != axis])

    def write(island: Island, target: Array) -> None:
        cell = whole(island.allocate("at", INT, ()))
        island.store(cell, (), graph.emitter().const(0, i64))

        def one(index: list[Affine]) -> None:
            start, count = island.load(cell, ()), island.load(counts, index)
            first = Affine.of(Atom(as_index(graph, start), low=0))
            times = Affine.of(Atom(as_index(graph, count), low=0))
            with island.loop("r", Affine(0), times) as turn:
                island.for_each(
                    rest,
                    lambda at: island.store(
                        target,
                        [*at[:axis], first + turn, *at[axis:]],
                        island.load(array, [*at[:axis], *index, *at[axis:]]),
                    ),
                )
            island.store(cell, (), graph.emitter().op(arith.AddiOp, (start, count)))

        island.for_each((extent,), one)

    return fresh(graph, array.dtype, tuple(extents), write)


def _repeat_each(graph: Graph, array: Array, axis: int, counts: Sequence[int]) -> Array:
    extents = [x.extent for x in array.axes]
    extents[axis] = Affine(sum(counts))

    def write(island: Island, target: Array) -> None:
        at = 0
        for k, count in enumerate(counts):
            if count:
                island.assign(
                    window(target, axis, Affine(at), Affine(count)), window(array, axis, Affine(k), Affine(1))
                )
            at += count

    return fresh(graph, array.dtype, tuple(extents), write)


@handles(np.roll)
def roll(graph: Graph, a: Value, shift: Value, axis: Value | None = None) -> Value:
    array = as_view(graph, a)
    shifts = _shifts(graph, shift)
    request: Any = static(graph, axis, "axis")
    if request is None:
        extents = array.extents
        rolled = _roll(graph, as_view(graph, flat(graph, array)), 0, shifts)
        return reshape_to(graph, rolled, extents, new=True)
    axes = request if isinstance(request, tuple | list) else (request,)
    if len(axes) != len(shifts) and 1 not in (len(axes), len(shifts)):
        raise graph.error(ShapeError, "shape mismatch: objects cannot be broadcast to a single shape")
    count = max(len(axes), len(shifts))
    by_axis: dict[int, list[Affine]] = {}
    for k in range(count):
        position = normal_axis(graph, axes[k % len(axes)], len(array.axes))
        by_axis.setdefault(position, []).append(shifts[k % len(shifts)])
    for position, amounts in by_axis.items():
        array = _roll(graph, array, position, amounts)
    return array


def _shifts(graph: Graph, shift: Value) -> list[Affine]:
    """How far to roll, along one axis or several: numbers of the run where they are integers of 64 bits."""
    items = shift.items if isinstance(shift, Group) and shift.kind is tuple else (shift,)
    is_known = all(isinstance(item, Static) for item in items) or any(isinstance(i, Group) for i in items)
    if is_known or graph.island is not None:
        known: Any = static(graph, shift, "the shift")
        return [Affine(int(one)) for one in (known if isinstance(known, tuple | list) else (known,))]
    return [_shift(graph, item) for item in items]


def _shift(graph: Graph, item: Value) -> Affine:
    is_wide = isinstance(item, Tensor | Scalar | Array) and item.dtype == np.uint64
    found = None if isinstance(item, Static) or is_wide else integer_of(graph, item)
    return Affine(int(static(graph, item, "the shift"))) if found is None else found


def _roll(graph: Graph, array: Array, axis: int, shifts: Sequence[Affine]) -> Array:
    extent = array.axes[axis].extent
    ahead = _ahead(graph, extent, shifts)
    parts = [window(array, axis, extent - ahead, ahead), window(array, axis, Affine(0), extent - ahead)]
    return concatenated(graph, [p for p in parts if p.extents[axis].known != 0] or [array], axis)


def _ahead(graph: Graph, extent: Affine, shifts: Sequence[Affine]) -> Affine:
    """How many of the last elements come first: the sum of the shifts modulo the extent."""
    amount = sum(one.known for one in shifts if one.known is not None)
    of_the_run = [one for one in shifts if one.known is None]
    if of_the_run:
        if not -(1 << 63) <= amount < 1 << 63:
            raise graph.error(UnsupportedError, f"a shift by {amount}, which does not fit in 64 bits")
        # each is smaller than the extent, so that the sum is exact, as that of Python's integers
        small = [
            _remainder(graph, one, extent) for one in (*of_the_run, *([Affine(amount)] if amount else []))
        ]
        return small[0] if len(small) == 1 else _remainder(graph, sum(small, Affine(0)), extent)
    if extent.known is not None:
        return Affine(amount % extent.known if extent.known else 0)
    if amount and not graph.assumptions.nonnegative(extent - abs(amount) - 2, "a shift below the extent"):
        raise Respecialise(shapes=True, why="np.roll by more than the extent")
    return Affine(amount) if amount >= 0 else extent + amount


def _remainder(graph: Graph, number: Affine, extent: Affine) -> Affine:
    """`number % extent` as Python has it; 0 where there are no elements."""
    most = graph.larger(extent, Affine(1))
    divisor, emitter = graph.index(most), graph.emitter()
    below = emitter.op(arith.RemSIOp, (graph.index(number), divisor))
    above = emitter.op(arith.AddiOp, (below, divisor))
    return Affine.of(Atom(emitter.op(arith.RemSIOp, (above, divisor)), low=0, high=extent))
