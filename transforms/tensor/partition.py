"""What to store and what to compute again: a minimum cut between what is known and what is needed.

Values are nodes. A value that is needed is stored where it is first known, and loaded; or it is computed again from its
operands, which must be stored or computed again themselves. Both have a price. In the network a value is two nodes with an
edge between them, whose capacity is the price of storing it; an edge from the source to the first of them has the price of
computing it again as its capacity. A cut of the first is a stored value, a cut of the second one that is computed again
(torch's partitioner of forward and backward programs cuts such a network, without a price of computing).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

Value = Hashable


@dataclass(frozen=True)
class Prices:
    """Of one value: to store and load it, and to compute it again (`inf`: that cannot be done)."""

    store: float
    compute: float = inf
    operands: Sequence[Value] = ()
    """What it is computed from."""


@dataclass(frozen=True)
class Partition:
    """What is stored, what is computed again, and what both cost."""

    stored: frozenset[Value]
    computed: frozenset[Value]
    cost: float


def partition(prices: Mapping[Value, Prices], needed: Iterable[Value]) -> Partition:
    """The cheapest way to have the values `needed`. Raises ValueError where there is none of a finite price."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(("known", "needed"))
    for value, price in prices.items():
        _edge(graph, "known", (value, "in"), price.compute)
        _edge(graph, (value, "in"), (value, "out"), price.store)
        for operand in price.operands:
            _edge(graph, (operand, "out"), (value, "in"), inf)
    for value in needed:
        _edge(graph, (value, "out"), "needed", inf)
    try:
        cost, (known, _) = networkx.minimum_cut(graph, "known", "needed")
    except networkx.NetworkXUnbounded:
        raise ValueError("a value that is needed can neither be stored nor computed") from None
    stored = frozenset(v for v in prices if (v, "in") in known and (v, "out") not in known)
    return Partition(stored, frozenset(v for v in prices if (v, "in") not in known), cost)


def _edge(graph, start: Hashable, end: Hashable, capacity: float) -> None:
    """An edge; networkx takes one without a capacity for infinite."""
    if capacity == inf:
        graph.add_edge(start, end)
    else:
        graph.add_edge(start, end, capacity=capacity)
