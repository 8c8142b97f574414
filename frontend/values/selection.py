"""Arrays of what a mask selects: their length is counted when the program runs, and then they are filled.

y = x[mask]   ->   %n = sum of %mask                       // an extent that only the run knows
                   %e = nt.empty sizes(%n) : tensor<?xf64>
                   %y = nt.loops ins(%mask, %x) outs(%e) {  k = 0;  for i: if mask[i]: y[k] = x[i], k = k + 1 }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from ...dialects.nest import IfOp
from .assemble import INT, fresh
from .contents import as_view, read
from .extents import Affine, Atom
from .graph import INDEX, Graph
from .islands import Island
from .tensors import cast, reduce, to_scalar
from .values import Array, Masked, whole


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


def count_true(graph: Graph, mask: Array) -> Affine:
    """How many elements of a mask are True."""
    if graph.island is not None:
        return _counted(graph, mask)
    for known, block, count in graph.counts:
        if block in (graph.entry, graph.tensors) and same_mask(known, mask):
            return count
    count = _counted(graph, mask)
    graph.counts.append((mask, graph.tensors, count))
    return count


def _counted(graph: Graph, mask: Array) -> Affine:
    return sum_of(graph, mask, mask.extents[0] if len(mask.axes) == 1 else None)


def sum_of(graph: Graph, counts: Array, high: Affine | None = None) -> Affine:
    """The sum of integers of which none is negative, as an extent; `high` is what it does not exceed."""
    if graph.island is not None:
        number = graph.island.reduce("add", graph.island.converted(counts, INT), INT).ssa
    else:
        ones = cast(graph, read(graph, counts), INT)
        number = to_scalar(graph, reduce(graph, "add", ones, range(len(counts.axes))))
    return Affine.of(Atom(as_index(graph, number), low=0, high=high))


def as_index(graph: Graph, number: SSAValue) -> SSAValue:
    """An i64 as a value of type index."""
    op = arith.IndexCastOp.create(operands=[number], result_types=[INDEX])
    graph.insert(op)
    return op.results[0]


def each_true(
    island: Island, mask: Array, count: Affine, write: Callable[[Affine, Sequence[Affine]], None]
) -> None:
    """Call `write` with the number and the index of each True element, in order."""
    graph = island.graph
    cell = whole(island.allocate("k", INT, ()))
    island.store(cell, (), graph.emitter().const(0, i64))

    def look(index: list[Affine]) -> None:
        holds = island.load(mask, index)
        block = Block()
        with graph.inside(block), island.perhaps():
            k = island.load(cell, ())
            write(Affine.of(Atom(as_index(graph, k), low=0, high=count + -1)), index)
            one = graph.emitter().const(1, i64)
            island.store(cell, (), graph.emitter().op(arith.AddiOp, (k, one)))
        graph.insert(IfOp(holds, Region(block), None))

    island.for_each(mask.extents, look)


def selected(graph: Graph, values: Array, mask: Array) -> Array:
    """`values[mask]` as a new array."""
    rest = values.extents[len(mask.axes) :]
    count = count_true(graph, mask)

    def fill(island: Island, target: Array) -> None:
        def one(k: Affine, index: Sequence[Affine]) -> None:
            island.for_each(
                rest, lambda at: island.store(target, [k, *at], island.load(values, [*index, *at]))
            )

        each_true(island, mask, count, one)

    return fresh(graph, values.dtype, (count, *rest), fill)


def table_of_true(graph: Graph, mask: Array, across: bool = False) -> Array:
    """A row with the index of each True element; `across`, a row of indices for each axis."""
    count, rank = count_true(graph, mask), len(mask.axes)
    extents = (Affine(rank), count) if across else (count, Affine(rank))

    def fill(island: Island, target: Array) -> None:
        def one(k: Affine, index: Sequence[Affine]) -> None:
            for axis, at in enumerate(index):
                island.store(target, [Affine(axis), k] if across else [k, Affine(axis)], graph.integer(at))

        each_true(island, mask, count, one)

    return fresh(graph, INT, extents, fill)


def indices_of_true(graph: Graph, mask: Array) -> list[Array]:
    """`np.nonzero(mask)`: an array of indices for each axis, views of one table."""
    table = table_of_true(graph, mask)
    return [Array(table.buffer, table.axes[:1], ((1, Affine(k)),)) for k in range(len(mask.axes))]


def settled(graph: Graph, masked: Masked) -> Array:
    """What a mask selects, as an array of its own."""
    if graph.island is not None or masked.compact is None:
        array = selected(graph, masked.values, masked.mask)
    else:
        array = as_view(graph, masked.compact())
    if graph.island is None and array.buffer.value is not None:
        array.buffer.selection = (masked, array.buffer.value)
        graph.made_in_case.append(array.buffer.value)
    return array


def drop_unread(graph: Graph) -> None:
    """Drop arrays of what masks select that nobody reads: reductions went over everything, under the mask."""
    fills = {value.owner for value in graph.made_in_case}
    pending = [op for op in fills if isinstance(op, Operation)]
    while pending:
        op = pending.pop()
        drops = op in fills or op.has_trait(Pure)
        if op.parent is None or not drops or any(result.first_use is not None for result in op.results):
            continue
        before = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
        op.detach()
        op.erase()
        pending += before
