"""How many items a list has that a loop appends to: at the place where that is asked, what its cell holds then."""

from __future__ import annotations

from dataclasses import replace

from .contents import read
from .extents import Affine, Atom
from .graph import Graph
from .selection import as_index
from .tensors import to_scalar
from .values import Rows


def counted(graph: Graph, rows: Rows) -> Rows:
    """The list with the number of items that it has now."""
    if rows.cell is None:
        return rows
    if graph.island is not None:
        number = graph.island.load(rows.cell, ())
    else:
        number = to_scalar(graph, read(graph, rows.cell))
    count = Affine.of(Atom(as_index(graph, number), low=0, high=rows.buffer.extents[0]))
    return with_count(rows, count)


def with_count(rows: Rows, count: Affine) -> Rows:
    """The list with `count` items, in each of its columns."""
    columns = tuple([replace(column, count=count, cell=None) for column in rows.columns])
    return replace(rows, count=count, cell=None, columns=columns)
