"""Lists that a loop appends to on some paths, or at several places: the run counts how long they get.

    out = []                   %out = nt.empty: room for all items that the loop may append
    for v in x:                %n = 0
        if v > 0:              ... if: row %n of %out is v, %n = %n + 1
            out.append(v)
    np.array(out)              the first %n rows of %out

The room is the number of iterations, once for each place that appends; of loops in each other it is the product. What is
appended, and where, is found by compiling the loop: an append that has no room yet ends the attempt (`ListGrows`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block

from ..frame.frame import Frame
from ..frame.objects import current
from ..interface.errors import ListGrows, UnsupportedError
from ..values.assemble import fresh
from ..values.extents import Affine, Atom, greatest
from ..values.graph import INDEX, Graph
from ..values.list_counts import counted
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES, Operand, same_operand
from ..values.tensors import as_array, constant
from ..values.values import (
    Array,
    Buffer,
    Closure,
    Extents,
    Group,
    Rows,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
    whole,
)
from .attempts import attempt
from .facts import facts
from .nest_loops import join_numbers
from .rows import IN_A_LIST, append_counted, take_over
from .sweeps import sweeps

INT = WEAK_DTYPES[int]


@dataclass(frozen=True, eq=False)
class _Column:
    """What is known of the items of a list, or of one item of the tuples that it holds."""

    kind: Operand
    extents: Extents
    is_array: bool

    @property
    def dtype(self) -> np.dtype:
        return WEAK_DTYPES[self.kind] if isinstance(self.kind, type) else self.kind


@dataclass(eq=False)
class _Room:
    """What is known of a list that grows: its items, and how often each place appends at most."""

    columns: tuple[_Column, ...]
    record: type = tuple
    names: tuple[Any, ...] | None = None
    is_tuple: bool = False
    shrinks: bool = False
    places: dict[Any, tuple[Affine, ...] | None] = field(default_factory=dict)
    """For each place the iterations of the loops around it; None where nothing bounds them."""


def grows(frame: Frame, node: ast.For | ast.While | ast.If) -> list[str]:
    """The refs of the lists that a loop may append to, and a loop around it does not."""
    around = frame.graph.growing or set()
    return [ref for ref in dict.fromkeys(_appended(frame, node, [])) if ref not in around]


def _appended(frame: Frame, node: ast.AST, inside: list[ast.AST]) -> Iterator[str]:
    """The lists of a frame that what is in `node` appends to, functions defined in it included."""
    for call in facts(node).calls:
        if isinstance(call.func, ast.Name):
            called = frame.variables.get(call.func.id)
            if isinstance(called, Closure) and called.node not in inside and isinstance(called.home, Frame):
                yield from _appended(called.home, called.node, [*inside, called.node])
        elif isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "pop"):
            name = call.func.value.id if isinstance(call.func.value, ast.Name) else None
            owner = frame.variables.get(name or "")
            is_list = isinstance(owner, Rows) or (isinstance(owner, Group) and owner.kind is list)
            if is_list and owner.ref is not None:  # pyright: ignore
                yield owner.ref  # pyright: ignore


def with_grown_lists(
    frame: Frame,
    node: ast.For | ast.While | ast.If,
    refs: list[str],
    run: Callable[[], None],
    found: ListGrows | None = None,
) -> None:
    """Compile a loop that appends to lists, by ref, a number of times that only the run knows; `found` is an append that is
    known to need room."""
    graph = frame.graph
    variables, around = dict(frame.variables), graph.growing
    rooms: dict[str, _Room] = {}
    versions = {v.buffer: v.buffer.version for v in variables.values() if isinstance(v, Array)}
    if found is not None:
        _make_room(frame, node, rooms, found)
    with sweeps(graph).loop(frame, node, "room"):
        while True:
            graph.growing = {*(around or ()), *refs}
            try:
                with attempt(frame):
                    made = {ref: _made(frame, ref, variables[ref], room) for ref, room in rooms.items()}
                    frame.variables.update(made)
                    run()
                break
            except ListGrows as more:
                if more.ref not in refs:
                    raise
                _make_room(frame, node, rooms, more)
            finally:
                graph.growing = around
    if not graph.lists_of_named.isdisjoint(rooms):
        _refuse_written(frame, node, variables, versions)
    for ref, rows in made.items():
        columns = tuple([replace(column, is_open=False) for column in rows.columns])
        frame.variables[ref] = replace(rows, is_open=False, places=frozenset(), columns=columns)


def _make_room(frame: Frame, node: ast.AST, rooms: dict[str, _Room], found: ListGrows) -> None:
    """Room for what a place appends."""
    new = _room(frame, found)
    room = rooms.setdefault(found.ref, new)
    _widen(frame, node, room, new)
    if found.turns is None:
        room.shrinks = True
    else:
        room.places[found.place] = _most(frame.graph, found)


def _refuse_written(
    frame: Frame, node: ast.For | ast.While | ast.If, before: dict[str, Value], versions: dict[Buffer, int]
) -> None:
    """Refuse a loop that appends arrays and writes to arrays in place: Python's list has the arrays themselves, which an
    iteration may write that comes later."""
    written = [b.name for b, version in versions.items() if b.version != version]
    for part in ast.walk(node):
        targets: list[ast.expr] = []
        if isinstance(part, ast.Assign):
            targets = [t for t in part.targets if isinstance(t, ast.Subscript)]
        elif isinstance(part, ast.AugAssign) and not _is_count(before, part.target):
            targets = [part.target]
        written += [ast.unparse(t.value if isinstance(t, ast.Subscript) else t) for t in targets]
    if written:
        frame.fail(
            node,
            f"'{written[0] or 'an array'}' is written in place by iterations of this loop, and arrays are appended to a "
            "list, which may be the same",
            "append a copy made in the iteration, and give the variable a new value: h = h + 1",
        )


def _is_count(before: dict[str, Value], target: ast.expr) -> bool:
    """Whether a variable is a number before the loop: `op=` gives it a new value."""
    value = before.get(target.id) if isinstance(target, ast.Name) else None
    return value is not None and is_number(value) and not extents_of(value)


def _room(frame: Frame, found: ListGrows) -> _Room:
    """The room for items like the first one that was found."""
    item = current(frame, found.item)
    is_row = isinstance(item, Group) and item.kind is list and item.ref is None
    if not isinstance(item, Group) or not (is_row or issubclass(item.kind, tuple)):
        return _Room((_column(frame, item),))
    return _Room(tuple([_column(frame, one) for one in item.items]), item.kind, item.names, True)


def _widen(frame: Frame, node: ast.AST, room: _Room, new: _Room) -> None:
    """Let a list hold numbers of another type as well, where one type holds both."""
    if len(room.columns) != len(new.columns):
        return  # refused where it is appended
    room.columns = tuple(
        [
            a
            if same_operand(a.kind, b.kind) or a.is_array or b.is_array
            else replace(a, kind=join_numbers(frame, node, "an item of this list", a.kind, b.kind))
            for a, b in zip(room.columns, new.columns, strict=True)
        ]
    )


def _column(frame: Frame, item: Value) -> _Column:
    graph = frame.graph
    if not is_number(item):
        raise graph.error(
            UnsupportedError, f"appending {describe(item)} to a list in a loop is not supported"
        )
    extents = extents_of(item)
    for extent in extents:
        if not _is_known(graph, extent):
            raise graph.error(
                UnsupportedError,
                "the shape of what is appended to a list is found in the loop itself, which is not supported",
                "write to an array of the most elements that there can be, and return the first ones",
            )
    return _Column(number_kind(graph, item), extents, is_array(item))


def _most(graph: Graph, found: ListGrows) -> tuple[Affine, ...] | None:
    """The iterations of the loops around an append, or more; None where they are not known before the outermost one."""
    factors: list[Affine] = []
    for turns in found.turns or ():
        if turns is None:
            return None
        factors.append(greatest(turns))
        if not _is_known(graph, factors[-1]):
            return None
    return tuple(factors)


def _is_known(graph: Graph, affine: Affine) -> bool:
    """Whether an integer is not computed in the loop."""
    for atom in affine.atoms():
        if atom.key is not None or atom.dim is not None or atom.argument is not None:
            continue
        if graph.island is not None:
            return False
        owner = atom.value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if block not in (graph.entry, graph.tensors):
            return False
    return True


RESERVED, RESERVED_INSIDE = 1 << 27, 1 << 22
"""Bytes of address space for a list that nothing bounds, and for one that each iteration of a loop makes. Memory comes
with the first write to a page."""


def _made(frame: Frame, ref: str, old: Value, room: _Room) -> Rows:
    """A list with room for what the loop may append, and the items that it has."""
    graph = frame.graph
    old = current(frame, old)
    assert isinstance(old, Group | Rows)
    if isinstance(old, Rows):
        old = counted(graph, old)
        _hold(frame, room, old)
    capacity = (old.count if isinstance(old, Rows) else Affine(len(old.items))) + _later(frame)
    for most in room.places.values():
        capacity = capacity + (Affine(_reserved(frame, room)) if most is None else _product(graph, most))
    arrays = [
        fresh(graph, c.dtype, (capacity, *c.extents), lambda island, target: None, "items")
        for c in room.columns
    ]
    columns = []
    for array, column in zip(arrays, room.columns, strict=True):
        array.buffer.frozen = IN_A_LIST
        columns.append(
            Rows(array.buffer, _NOT_ASKED, column.kind, column.is_array, True, ref, shrinks=room.shrinks)
        )
    rows = replace(
        columns[0],
        cell=_zero(graph),
        places=frozenset(room.places),
        columns=tuple(columns) if room.is_tuple else (),
        record=room.record,
        names=room.names,
    )
    if isinstance(old, Rows):
        take_over(graph, rows, old)
        return rows
    for item in old.items:
        try:
            append_counted(frame, frame.source.node, rows, item)
        except UnsupportedError:
            kinds = {describe(one) for one in old.items}
            if len(kinds) == 1:
                raise
            raise graph.error(
                UnsupportedError,
                f"a list of {' and '.join(sorted(kinds))} whose length the run changes is not supported",
                "keep items of one type and shape in it, or arrays of the largest shape and their counts",
            ) from None
    return rows


def _zero(graph: Graph) -> Array:
    """A cell for the number of items."""
    if graph.island is None:
        return as_array(Tensor(constant(graph, 0, INT), INT), "count")
    cell = whole(graph.island.allocate("count", INT, ()))
    graph.island.store(cell, (), graph.island.scalar(Static(0), INT))
    return cell


def _hold(frame: Frame, room: _Room, old: Rows) -> None:
    """Make room for items that an earlier loop has appended."""
    columns = [_Column(c.kind, c.buffer.extents[1:], c.is_array) for c in old.columns or (old,)]
    alike = room.record is old.record and room.names == old.names and room.is_tuple == bool(old.columns)
    if not alike or len(columns) != len(room.columns):
        frame.fail(
            frame.source.node,
            "a list that loops append to has items of other types in each",
            "append values of one type and shape",
        )
    _widen(frame, frame.source.node, room, _Room(tuple(columns)))
    room.shrinks = room.shrinks or old.shrinks


def _later(frame: Frame) -> int:
    """Items that statements outside of loops may append."""
    return sum(
        isinstance(n, ast.Attribute) and n.attr == "append"
        for statement in frame.source.node.body
        for n in _outside_loops(statement)
    )


def _outside_loops(node: ast.AST) -> Iterator[ast.AST]:
    is_loop = isinstance(node, ast.For | ast.While)
    if not is_loop:
        yield node
    for child in node.orelse if is_loop else ast.iter_child_nodes(node):
        yield from _outside_loops(child)


_NOT_ASKED = Affine(0)
"""In place of the number of items, which is in a cell."""


def _reserved(frame: Frame, room: _Room) -> int:
    """The items that there is room for where nothing bounds them."""
    size = 0
    for column in room.columns:
        elements = 1
        for extent in column.extents:
            elements *= extent.known if extent.known is not None else 64
        size += column.dtype.itemsize * max(1, elements)
    is_inside = frame.graph.island is not None or frame.looping
    return max(1024, (RESERVED_INSIDE if is_inside else RESERVED) // max(1, size))


def _product(graph: Graph, factors: tuple[Affine, ...]) -> Affine:
    total = Affine(1)
    for factor in factors:
        if (factor.lower_bound() or 0) < 0 or factor.lower_bound() is None:
            factor = graph.larger(factor, Affine(0))
        if total.known is not None:
            total = factor * total.known
        elif factor.known is not None:
            total = total * factor.known
        else:
            op = arith.MuliOp(graph.index(total), graph.index(factor), INDEX)
            graph.insert(op)
            total = Affine.of(Atom(op.results[0], low=0))
    return total
