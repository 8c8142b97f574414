"""Lists that a loop appends to: the rows of one array, which each iteration of the loop writes one of.

    ys = []                       %0 = scf.for %t = ... iter_args(%ys = zeros of shape (n, 4)) {
    for t in range(n):              ...
        h = np.tanh(h + xs[t])      %ys1 = nt.loops ins(%h1) outs(%ys) { row t of %ys is %h1 }
        ys.append(h)                scf.yield %ys1 }

The list has the length of the loop: each iteration appends once, on every path. What is appended is copied into its
row, so neither the row nor what was appended may be written afterwards: both are frozen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from ..frame.frame import Frame
from ..frame.objects import POPPED, current, place_of
from ..interface.errors import DTypeError, ListGrows, Respecialise
from ..values.arithmetic import apply, as_weak, index_value
from ..values.checks import check
from ..values.contents import as_tensor
from ..values.equal_extents import is_open, require_positive
from ..values.extents import Affine, Atom
from ..values.graph import Graph
from ..values.indices import integer_of
from ..values.islands import Island, open_island
from ..values.list_counts import counted, with_count
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES, Operand, result_dtype, same_operand, weak_result
from ..values.selection import as_index
from ..values.tensors import as_array, reshape
from ..values.values import (
    Array,
    Axis,
    Buffer,
    Extents,
    Group,
    Rows,
    Scalar,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
    memory_of,
    whole,
)
from .sharing import arrays_in

IN_A_LIST = "an array that is in a list"
IN_ROWS = "is in a list that a loop makes"
INT = WEAK_DTYPES[int]


def rows_array(rows: Rows) -> Array:
    """All items as one array, a view."""
    axes = whole(rows.buffer).axes
    return Array(rows.buffer, (Axis(0, Affine(0), 1, rows.count), *axes[1:]))


def row(graph: Graph, rows: Rows, index: Value) -> Value:
    """An item."""
    from ..indexing.subscripts import subscript

    if rows.columns:
        items = tuple([row(graph, column, index) for column in rows.columns])
        return Group(items, rows.record, rows.names, fixed=IN_ROWS if rows.record is list else None)
    item = subscript(graph, rows_array(rows), [index])
    if isinstance(rows.kind, type):
        return as_weak(item, rows.kind, None)
    if rows.shrinks and isinstance(item, Array):
        return _kept(graph, item)
    if rows.is_array and isinstance(item, Tensor):
        return as_array(item)
    return item


def _kept(graph: Graph, item: Array) -> Array:
    """An item of its own: another one may come to its place in the list."""
    from ..numpy_api.shapes.rearranging import copy_

    if graph.island is not None:
        array = graph.island.materialise(item, "item")
    else:
        array = copy_(graph, item)
    assert isinstance(array, Array)
    array.buffer.frozen = IN_A_LIST
    return array


def rows_item(frame: Frame, node: ast.AST, rows: Rows, items: Sequence[Value | Slice]) -> Value:
    """`rows[k]`, `rows[j:k]`."""
    from ..indexing.views import Slice

    frame.at(node)
    if len(items) == 1 and isinstance(items[0], Slice):
        return _part(frame, node, rows, items[0])
    if len(items) != 1:
        frame.fail(node, "a list has one index", None, DTypeError)
    return row(frame.graph, counted(frame.graph, rows), items[0])


def _part(frame: Frame, node: ast.AST, rows: Rows, part: Slice) -> Rows:
    """A list of some of the items."""
    from ..indexing.subscripts import subscript
    from ..numpy_api.shapes.rearranging import copy_

    if rows.is_open or (rows.is_array and rows.ref in frame.graph.shared_lists):
        frame.fail(
            node,
            "slicing a list inside of the loop that appends to it is not supported",
            "slice it after the loop, or an array: np.stack(ys)[1:]",
        )
    rows = counted(frame.graph, rows)
    if rows.columns:
        columns = tuple([_part(frame, node, column, part) for column in rows.columns])
        return replace(columns[0], columns=columns, record=rows.record, names=rows.names)
    items = copy_(frame.graph, subscript(frame.graph, rows_array(rows), [part]))
    array = items if isinstance(items, Array) else as_array(items)  # pyright: ignore
    array.buffer.frozen = IN_A_LIST
    return Rows(array.buffer, array.extents[0], rows.kind, rows.is_array, False)


def stacked(frame: Frame, node: ast.AST, rows: Rows, empty: str | None = None) -> Value:
    """The items as a new array; `empty` is NumPy's error where there must be one."""
    from ..numpy_api.shapes.rearranging import copy_

    if rows.is_open:
        frame.fail(
            node, "the array of a list that grows is not supported inside its loop", "use it after the loop"
        )
    rows = counted(frame.graph, rows)
    if rows.columns:
        return _columns_stacked(frame, node, rows, empty)
    if empty is not None and is_open(frame.graph, rows.count):
        require_positive(frame.graph, rows.count, empty)
    return copy_(frame.graph, rows_array(rows))


def _columns_stacked(frame: Frame, node: ast.AST, rows: Rows, empty: str | None) -> Value:
    """A list of tuples as an array, of a row for each."""
    from ..numpy_api.shapes.joining import stack

    if rows.record not in (tuple, list) or any(column.is_array for column in rows.columns):
        frame.fail(node, f"an array of {describe(rows)} is not supported", "append to a list for each item")
    parts = Group(tuple([stacked(frame, node, column, empty) for column in rows.columns]))
    return stack(frame.graph, parts, Static(1))


def joined_rows(frame: Frame, node: ast.AST, rows: Rows) -> Value:
    """`np.concatenate(rows)`."""
    rows = counted(frame.graph, rows)
    extents = rows.buffer.extents
    if len(extents) < 2:
        frame.fail(node, "zero-dimensional arrays cannot be concatenated", "use np.stack", DTypeError)
    inner = extents[1].known
    if inner is None:
        raise Respecialise(shapes=True, why="the length of what is concatenated")
    array = stacked(frame, node, rows, "need at least one array to concatenate")
    return as_array(reshape(frame.graph, as_tensor(frame.graph, array), (rows.count * inner, *extents[2:])))


def append(frame: Frame, node: ast.AST, rows: Rows, item: Value) -> None:
    """`ys.append(item)` in the loop that makes the list."""
    _refuse_part(frame, node, rows)
    assert rows.ref is not None
    growing = frame.graph.growing
    if rows.cell is not None and rows.is_open:
        place = place_of(frame, node)
        if place not in rows.places:
            raise ListGrows(rows.ref, item, place, tuple(frame.graph.turns))
        return append_counted(frame, node, rows, item)
    if not rows.is_open and growing is not None and rows.ref in growing:
        raise ListGrows(rows.ref, item, place_of(frame, node), tuple(frame.graph.turns))
    if rows.cell is not None and not frame.graph.turns and not frame.looping and not frame.depth:
        return append_counted(frame, node, rows, item)  # there is room for that
    if not rows.is_open:
        frame.fail(
            node, "appending to a list that a loop made is not supported after it", "use np.concatenate"
        )
    if not _fits(frame, rows, item):
        frame.fail(
            node,
            f"{describe(item)} is appended, and other iterations append {describe(row_like(rows))}",
            "append values of one type and shape",
        )
    graph = frame.graph
    frame.at(node)
    _write(graph, [(rows, item)], lambda island: rows.count)
    _share(graph, rows, item)
    frame.variables[rows.ref] = replace(rows, count=rows.count + 1)


def appended(frame: Frame, node: ast.AST, rows: Rows, item: Value) -> Value:
    """`ys.append(item)`, as an expression."""
    append(frame, node, rows, item)
    return Static(None)


def append_counted(frame: Frame, node: ast.AST, rows: Rows, item: Value) -> None:
    """Append to a list whose number of items is in a cell."""
    graph, cell = frame.graph, rows.cell
    assert cell is not None
    for column, value in _pairs(frame, node, rows, item):
        if not _fits(frame, column, value) and not _holds(frame, column, value):
            if _are_numbers(frame, column, value) and rows.ref is not None and rows.places:
                raise ListGrows(rows.ref, item, place_of(frame, node), tuple(graph.turns))
            frame.fail(
                node,
                f"{describe(value)} is appended, and elsewhere {describe(row_like(column))}",
                "append values of one type and shape",
            )
        if rows.ref is not None and is_array(value) and _has_owner(frame, value):
            graph.lists_of_named.add(rows.ref)
    frame.at(node)

    def next_row(island: Island) -> Affine:
        count, room = island.load(cell, ()), rows.buffer.extents[0]
        full = apply(graph, np.less, Scalar(count, INT, int), index_value(room))
        check(graph, full, "MemoryError", "a list grew beyond what its loop was taken to append")
        emitter = graph.emitter()
        island.store(cell, (), emitter.op(arith.AddiOp, (count, emitter.const(1, i64))))
        return Affine.of(Atom(as_index(graph, count), low=0, high=room + -1))

    pairs = _pairs(frame, node, rows, item)
    _write(graph, pairs, next_row)
    for column, value in pairs:
        _share(graph, column, value)


def _are_numbers(frame: Frame, column: Rows, value: Value) -> bool:
    """Whether the items are integers all, or floats all, which may have a type that holds them."""
    if column.is_array or not is_number(value) or is_array(value) or extents_of(value):
        return False
    kinds = [column.kind, number_kind(frame.graph, value)]
    return len({(WEAK_DTYPES[k] if isinstance(k, type) else k).kind for k in kinds}) == 1


def _holds(frame: Frame, column: Rows, value: Value) -> bool:
    """Whether a number of Python's may be an item of a list of numbers of a wider type."""
    if not _are_numbers(frame, column, value):
        return False
    kind = number_kind(frame.graph, value)
    if not isinstance(kind, type):
        return False
    if isinstance(column.kind, type):
        return weak_result((column.kind, kind)) is column.kind
    return result_dtype((column.kind, kind)) == column.kind


def _pairs(frame: Frame, node: ast.AST, rows: Rows, item: Value) -> list[tuple[Rows, Value]]:
    """The columns of a list, and what an item has for each."""
    if not rows.columns:
        return [(rows, item)]
    item = current(frame, item)
    if isinstance(item, Group) and item.kind is list and item.ref is not None:
        frame.fail(
            node,
            "appending a list that has a name to a list in a loop is not supported: later changes of it would be missed",
            "append a list that is made there: rows.append([a, b]), rows.append(list(row))",
        )
    is_like = isinstance(item, Group) and item.kind is rows.record and len(item.items) == len(rows.columns)
    if not is_like or item.names != rows.names:  # pyright: ignore
        frame.fail(
            node,
            f"{describe(item)} is appended, and elsewhere a {rows.record.__name__} of {len(rows.columns)}",
            "append values of one type and shape",
        )
    return list(zip(rows.columns, item.items, strict=True))  # pyright: ignore


def _has_owner(frame: Frame, value: Value) -> bool:
    """Whether an array that is appended may be seen, and written, by another name."""
    if not isinstance(value, Array):
        return False
    memory = memory_of(value.buffer)
    if memory.argument is not None or memory.serial < frame.entered or value.buffer.borrowed:
        return True
    return any(memory_of(one.buffer) is memory for one in arrays_in(frame.variables).values())


def take_over(graph: Graph, rows: Rows, old: Rows) -> None:
    """Begin a list with the items of another one."""
    assert rows.cell is not None
    with nullcontext(graph.island) if graph.island is not None else open_island(graph) as island:
        for column, before in zip(rows.columns or (rows,), old.columns or (old,), strict=True):
            frozen, column.buffer.frozen = column.buffer.frozen, None
            island.assign(rows_array(replace(column, count=old.count)), rows_array(before))
            column.buffer.frozen = frozen
        island.store(rows.cell, (), island.scalar(index_value(old.count), INT))


def pop(frame: Frame, node: ast.AST, rows: Rows, position: Value | None = None) -> Value:
    """`ys.pop()`, `ys.pop(k)`: an item, and the list without it."""
    graph = frame.graph
    _refuse_part(frame, node, rows)
    frame.at(node)
    growing = graph.growing
    now = counted(graph, rows)
    columns = tuple([replace(column, shrinks=True) for column in now.columns])
    place = _place_of_item(frame, node, now, position)
    item = row(graph, replace(now, shrinks=True, columns=columns), index_value(place))
    if not rows.is_open and growing is not None and rows.ref in growing:
        raise ListGrows(rows.ref, item, place_of(frame, node), None)
    left = now.count + -1
    if rows.cell is None:
        if position is not None and (frame.graph.island is not None or frame.looping):
            frame.fail(node, "taking an item out of a list that a loop made is supported at its end only")
        if position is not None:
            with open_island(graph) as island:
                for column in now.columns or (now,):
                    _close_up(island, column, place)
        frame.variables[rows.ref] = with_count(rows, left)  # pyright: ignore
        return item
    cell = rows.cell
    with nullcontext(graph.island) if graph.island is not None else open_island(graph) as island:
        for column in (now.columns or (now,)) if position is not None else ():
            _close_up(island, column, place)
        island.store(cell, (), island.scalar(index_value(left), INT))
    return item


def _place_of_item(frame: Frame, node: ast.AST, now: Rows, position: Value | None) -> Affine:
    """Where the item of a list is that is taken out, counted from the start; IndexError where there is none."""
    graph, count = frame.graph, index_value(now.count)
    check(graph, apply(graph, np.greater, count, Static(0)), "IndexError", "pop from empty list")
    if position is None:
        return now.count + -1
    if number_kind(graph, position) is bool or extents_of(position) or integer_of(graph, position) is None:
        frame.fail(node, f"{describe(position)} is not the place of an item", None, DTypeError)
    below = apply(graph, np.less, position, Static(0))
    from_start = apply(graph, np.add, position, apply(graph, np.multiply, below, count))
    place = integer_of(graph, from_start)
    assert place is not None
    for holds in (
        apply(graph, np.less, index_value(place), count),
        apply(graph, np.greater_equal, index_value(place), Static(0)),
    ):
        if not (isinstance(holds, Static) and holds.value):
            check(graph, holds, "IndexError", POPPED)
    return place


def _close_up(island: Island, rows: Rows, place: Affine) -> None:
    """Move what is behind an item that is taken out to its place."""
    rest = rows.count + place * -1 + -1
    inner = whole(rows.buffer).axes[1:]
    to, source = (Array(rows.buffer, (Axis(0, start, 1, rest), *inner)) for start in (place, place + 1))
    frozen, rows.buffer.frozen = rows.buffer.frozen, None
    island.assign(to, source)
    rows.buffer.frozen = frozen


def overwrite(frame: Frame, node: ast.AST, rows: Rows, items: Array, value: Value) -> None:
    """Give items of a list, a window of its memory, other values, which are read before."""
    _refuse_part(frame, node, rows)
    graph, buffer = frame.graph, items.buffer
    frame.at(node)
    frozen, buffer.frozen = buffer.frozen, None
    try:
        with open_island(graph) as island:
            island.assign(items, as_array(value) if isinstance(value, Tensor) else value)
    finally:
        buffer.frozen = frozen


def _refuse_part(frame: Frame, node: ast.AST, rows: Rows) -> None:
    """Refuse to change a list that a loop goes through, or a part of one."""
    if rows.ref is None:
        frame.fail(node, "changing a part of a list that a loop made is not supported", "make it an array")
    why = frame.graph.fixed_objects.get(rows.ref)
    if why is not None:
        frame.fail(node, f"changing a list that {why} is not supported", "change a copy of it: list(xs)")
    if rows.ref in frame.graph.iterated:
        frame.fail(node, "changing a list while a loop goes through it is not supported", "go through a copy")


def _write(graph: Graph, pairs: Sequence[tuple[Rows, Value]], at: Callable[[Island], Affine]) -> None:
    """Write an item to its row, each part to its column."""
    buffers = [rows.buffer for rows, _ in pairs]
    frozen = [buffer.frozen for buffer in buffers]
    for buffer in buffers:
        buffer.frozen = None
    try:
        with nullcontext(graph.island) if graph.island is not None else open_island(graph) as island:
            place = ((0, at(island)),)
            for buffer, (_, item) in zip(buffers, pairs, strict=True):
                value = as_array(item) if isinstance(item, Tensor) and item.extents else item
                island.assign(Array(buffer, whole(buffer).axes[1:], place), value)
    finally:
        for buffer, why in zip(buffers, frozen, strict=True):
            buffer.frozen = why


def _share(graph: Graph, rows: Rows, item: Value) -> None:
    """What is in a list is not written any more."""
    if isinstance(item, Array) and item.axes:
        owner = None if item.buffer.value is None else item.buffer.value.owner
        if (
            item.buffer.argument is not None
            or not isinstance(owner, Operation)
            or owner.parent is not graph.tensors
        ):
            graph.shared_lists.add(rows.ref)
        freeze(graph, item.buffer)


def freeze(graph: Graph, buffer: Buffer) -> None:
    """Refuse writes from here on."""
    graph.frozen_buffers.append((buffer, buffer.frozen))
    buffer.frozen = buffer.frozen or IN_A_LIST


def row_like(rows: Rows) -> Value:
    """For messages: something of the type of an item."""
    return Array(rows.buffer, whole(rows.buffer).axes[1:], ((0, Affine(0)),))


def _fits(frame: Frame, rows: Rows, item: Value) -> bool:
    if not is_number(item) or not same_operand(number_kind(frame.graph, item), rows.kind):
        return False
    extents = rows.buffer.extents[1:]
    mine = extents_of(item)
    return (
        is_array(item) == rows.is_array
        and len(mine) == len(extents)
        and all(
            frame.graph.assumptions.equal(a, b, "items of a list") for a, b in zip(mine, extents, strict=True)
        )
    )


# ---- the loop that makes the list -------------------------------------------------------------------

if TYPE_CHECKING:
    from ..indexing.views import Slice


@dataclass(eq=False)
class Growing:
    """The lists that a counted loop appends to, by ref: what they are at the loop's start."""

    trip: Affine
    lists: dict[str, Rows] = field(default_factory=dict)

    def found(self, frame: Frame, name: str, old: Value, new: Value) -> bool:
        """Whether the list grew by one item in an iteration; it becomes rows then."""
        if not isinstance(old, Group) or not isinstance(new, Group) or old.kind is not list:
            return False
        if len(new.items) != len(old.items) + 1 or any(
            a is not b for a, b in zip(old.items, new.items[:-1], strict=True)
        ):
            return False
        item = new.items[-1]
        if not is_number(item):
            return False
        kind = number_kind(frame.graph, item)
        self.wanted[name] = (kind, extents_of(item), is_array(item), old)
        return True

    wanted: dict[str, tuple[Operand, Extents, bool, Group]] = field(default_factory=dict)

    def make(self, frame: Frame, before: dict[str, Value]) -> None:
        """Make the arrays, before the loop, of lists that were found to grow."""
        from ..numpy_api.shapes.creation import zeros
        from ..numpy_api.shapes.reshaping import shape_argument

        graph = frame.graph
        for name, (kind, extents, is_an_array, old) in self.wanted.items():
            length = index_value(self.trip + len(old.items))
            (count,) = shape_argument(graph, [length])
            if not graph.assumptions.nonnegative(self.trip, "the length of a list"):
                raise Respecialise(shapes=True, why="the length of a list")
            dtype = WEAK_DTYPES[kind] if isinstance(kind, type) else kind
            shape = Group(tuple([index_value(e) for e in (count, *extents)]))
            array = zeros(graph, shape, Static(dtype))
            assert isinstance(array, Array)
            array.buffer.frozen = IN_A_LIST
            rows = Rows(array.buffer, Affine(0), kind, is_an_array, True, name)
            for item in old.items:
                append(frame, frame.source.node, rows, item)
                now = frame.variables[name]
                assert isinstance(now, Rows)
                rows = now
            before[name] = self.lists[name] = rows
        self.wanted.clear()

    def enter(self, frame: Frame, turn: Affine) -> None:
        """At the start of an iteration."""
        for name, rows in self.lists.items():
            frame.variables[name] = replace(rows, count=rows.count + turn)

    def leave(self, frame: Frame, node: ast.AST, turn: Affine) -> None:
        """At the end of an iteration: each list has one item more."""
        for name, rows in self.lists.items():
            now = frame.variables.get(name)
            if not isinstance(now, Rows) or not now.count.equals(rows.count + turn + 1):
                frame.fail(
                    node,
                    "a list that this loop appends to does not grow by one item in each iteration",
                    "append once in each iteration, on every path",
                )
            frame.variables[name] = rows

    def refuse_written(
        self,
        frame: Frame,
        node: ast.AST,
        inner: dict[str, Value],
        written: Sequence[Buffer],
        appended: Sequence[Buffer],
    ) -> None:
        """What is appended must not be an array that other iterations write in place."""
        if not self.lists:
            return
        names = {v.buffer: n for n, v in inner.items() if isinstance(v, Array)}
        shapes = [(r.buffer.dtype, len(r.buffer.extents) - 1) for r in self.lists.values() if r.is_array]
        for buffer in written:
            if buffer in appended or (buffer in names and (buffer.dtype, len(buffer.extents)) in shapes):
                frame.fail(
                    node,
                    f"'{buffer.name or names.get(buffer, 'an array')}' is written in place by iterations of this loop, and "
                    "arrays are appended to a list, which may be the same",
                    "append a copy made in the iteration, and give the variable a new value: h = h + 1",
                )

    def close(self, frame: Frame, finals: Sequence[Value]) -> None:
        """After the loop: the lists are whole, and what may be in them is frozen."""
        for name, rows in self.lists.items():
            frame.variables[name] = replace(rows, count=rows.count + self.trip, is_open=False)
            for value in finals:
                if isinstance(value, Array) and rows.is_array and value.dtype == rows.buffer.dtype:
                    freeze(frame.graph, value.buffer)


ROWS_METHODS: dict[str, tuple[Callable[..., Value], int, int]] = {
    "append": (appended, 1, 1),
    "pop": (pop, 0, 1),
}
"""The methods of lists that loops append to, with the least and the greatest number of their arguments."""

__all__ = ["Growing", "append", "joined_rows", "row", "rows_array", "rows_item", "stacked"]
