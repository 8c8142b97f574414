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
from dataclasses import dataclass, field
from typing import Any, NoReturn

from xdsl.dialects import arith
from xdsl.ir import Block

from ..frame.frame import Frame
from ..frame.objects import current
from ..interface.errors import ListGrows, UnsupportedError
from ..values.assemble import fresh
from ..values.contents import read
from ..values.extents import Affine, Atom, greatest
from ..values.graph import INDEX, Graph
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES, Operand
from ..values.selection import as_index
from ..values.tensors import as_array, constant, to_scalar
from ..values.values import (
    Array,
    Buffer,
    Closure,
    Extents,
    Group,
    Rows,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)
from .rows import IN_A_LIST, append_counted

INT = WEAK_DTYPES[int]


@dataclass(eq=False)
class _Room:
    """What is known of a list that grows: its items, and how often each place appends at most."""

    kind: Operand
    extents: Extents
    is_array: bool
    places: dict[Any, tuple[Affine, ...]] = field(default_factory=dict)


def grows(frame: Frame, node: ast.For | ast.While) -> list[str]:
    """The refs of the lists that a loop outside of others may append to."""
    if frame.graph.island is not None or frame.looping or frame.graph.growing is not None:
        return []
    return list(dict.fromkeys(_appended(frame, node, [])))


def _appended(frame: Frame, node: ast.AST, inside: list[ast.AST]) -> Iterator[str]:
    """The lists of a frame that what is in `node` appends to, functions defined in it included."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name):
            called = frame.variables.get(call.func.id)
            if isinstance(called, Closure) and called.node not in inside and isinstance(called.home, Frame):
                yield from _appended(called.home, called.node, [*inside, called.node])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            name = call.func.value.id if isinstance(call.func.value, ast.Name) else None
            owner = frame.variables.get(name or "")
            if isinstance(owner, Group) and owner.kind is list and owner.ref is not None:
                yield owner.ref


def with_grown_lists(
    frame: Frame, node: ast.For | ast.While, refs: list[str], run: Callable[[], None]
) -> None:
    """Compile a loop that appends to lists, by ref, a number of times that only the run knows."""
    graph = frame.graph
    variables, lost = dict(frame.variables), dict(frame.scope.lost)
    frozen = len(graph.frozen_buffers)
    rooms: dict[str, _Room] = {}
    versions = {v.buffer: v.buffer.version for v in variables.values() if isinstance(v, Array)}
    while True:
        made = {ref: _made(frame, ref, variables[ref], room) for ref, room in rooms.items()}
        frame.variables.update(made)
        graph.growing = set(refs)
        try:
            with graph.journal():
                run()
            break
        except ListGrows as found:
            if found.ref not in rooms:
                rooms[found.ref] = _room(frame, found)
            rooms[found.ref].places[found.place] = _most(graph, found)
        finally:
            graph.growing = None
        graph.unfreeze(frozen)
        frame.scope.variables, frame.scope.lost = dict(variables), dict(lost)
    if any(room.is_array and room.extents for room in rooms.values()):
        _refuse_written(frame, node, variables, versions)
    for ref, rows in made.items():
        frame.variables[ref] = _closed(graph, rows)


def _refuse_written(
    frame: Frame, node: ast.For | ast.While, before: dict[str, Value], versions: dict[Buffer, int]
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
    graph, item = frame.graph, found.item
    if not is_number(item):
        raise graph.error(
            UnsupportedError, f"appending {describe(item)} to a list in a loop is not supported"
        )
    extents = extents_of(item)
    for extent in extents:
        _require_known(graph, extent, "the shape of what is appended to a list")
    return _Room(number_kind(graph, item), extents, is_array(item))


def _most(graph: Graph, found: ListGrows) -> tuple[Affine, ...]:
    """The iterations of the loops around an append, or more."""
    factors: list[Affine] = []
    for turns in found.turns:
        if turns is None:
            raise graph.error(
                UnsupportedError,
                "how long the list gets is not known before this loop",
                "write to an array of the most elements that there can be, and return the first ones",
            )
        factors.append(greatest(turns))
        _require_known(graph, factors[-1], "how often this loop appends to a list")
    return tuple(factors)


def _require_known(graph: Graph, affine: Affine, what: str) -> None:
    """Refuse an integer that is computed in the loop."""
    for atom in affine.atoms():
        if atom.key is not None or atom.dim is not None or atom.argument is not None:
            continue
        owner = atom.value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if block not in (graph.entry, graph.tensors):
            raise graph.error(
                UnsupportedError,
                f"{what} is found in the loop itself, which is not supported",
                "write to an array of the most elements that there can be, and return the first ones",
            )


def _made(frame: Frame, ref: str, old: Value, room: _Room) -> Rows:
    """A list with room for what the loop may append, and the items that it has."""
    graph = frame.graph
    old = current(frame, old)
    assert isinstance(old, Group)
    capacity = Affine(len(old.items))
    for most in room.places.values():
        capacity = capacity + _product(graph, most)
    dtype = WEAK_DTYPES[room.kind] if isinstance(room.kind, type) else room.kind
    array = fresh(graph, dtype, (capacity, *room.extents), lambda island, target: None, "items")
    array.buffer.frozen = IN_A_LIST
    cell = as_array(Tensor(constant(graph, 0, INT), INT), "count")
    rows = Rows(
        array.buffer,
        Affine.of(Atom(lambda: _unknown(graph))),
        room.kind,
        room.is_array,
        True,
        ref,
        cell,
        frozenset(room.places),
    )
    for item in old.items:
        append_counted(frame, frame.source.node, rows, item)
    return rows


def _unknown(graph: Graph) -> NoReturn:
    raise graph.error(
        UnsupportedError,
        "how long a list is that grows is not known inside of its loop",
        "count what is appended in a variable of its own",
    )


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


def _closed(graph: Graph, rows: Rows) -> Rows:
    """The list after its loop."""
    assert rows.cell is not None
    number = as_index(graph, to_scalar(graph, read(graph, rows.cell)))
    count = Affine.of(Atom(number, low=0, high=rows.buffer.extents[0]))
    return Rows(rows.buffer, count, rows.kind, rows.is_array, False, rows.ref)
