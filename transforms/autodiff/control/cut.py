"""Which values of a block to keep for its reverse: a minimum cut between what only the forward run has and what is needed.

A node is a value, its capacity the bytes that keeping it costs; what is cheap is computed again from what is kept. Among
cuts of the same cost the one next to the uses is taken: less is computed again.

Source: Ford and Fulkerson's maximum flow, by shortest augmenting paths (Edmonds and Karp).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

INFINITE = 1 << 60

Node = TypeVar("Node", bound=Hashable)


def cheapest(
    operands: Mapping[Node, Iterable[Node]],
    cost: Mapping[Node, int],
    made_once: Iterable[Node],
    needed: Iterable[Node],
) -> set[Node] | None:
    """The nodes to keep, so that `needed` can be computed from them; None where nothing finite will do.

    `operands`: what each node is computed from; nodes that are not among its keys are there anyway. `made_once`: nodes
    that are kept or not there; `cost`: what keeping a node costs, `INFINITE` where it cannot be kept.
    """
    graph = _Graph()
    for node, sources in operands.items():
        graph.edge((node, 0), (node, 1), cost[node])
        for source in sources:
            if source in operands:
                graph.edge((source, 1), (node, 0), INFINITE)
    for node in made_once:
        graph.edge("source", (node, 0), INFINITE)
    for node in needed:
        graph.edge((node, 1), "sink", INFINITE)
    if graph.saturate() >= INFINITE:
        return None
    behind = graph.reaching_sink()
    return {node for node in operands if (node, 1) in behind and (node, 0) not in behind}


class _Graph:
    """What may still flow along each edge."""

    def __init__(self) -> None:
        self._rest: dict[Hashable, dict[Hashable, int]] = {"source": {}, "sink": {}}

    def edge(self, start: Hashable, end: Hashable, capacity: int) -> None:
        self._rest.setdefault(start, {})[end] = capacity
        self._rest.setdefault(end, {}).setdefault(start, 0)

    def saturate(self) -> int:
        """Send as much as possible from source to sink; gives how much."""
        total = 0
        while total < INFINITE and (path := self._path()):
            amount = min(self._rest[a][b] for a, b in path)
            for a, b in path:
                self._rest[a][b] -= amount
                self._rest[b][a] += amount
            total += amount
        return total

    def _path(self) -> list[tuple[Hashable, Hashable]]:
        came: dict[Hashable, Hashable] = {"source": "source"}
        queue = deque(["source"])
        while queue and "sink" not in came:
            at = queue.popleft()
            for end, rest in self._rest[at].items():
                if rest > 0 and end not in came:
                    came[end] = at
                    queue.append(end)  # pyright: ignore
        path: list[tuple[Hashable, Hashable]] = []
        at = "sink"
        while at in came and at != "source":
            path.append((came[at], at))
            at = came[at]  # pyright: ignore
        return path

    def reaching_sink(self) -> set[Hashable]:
        """The nodes from which more could flow to the sink."""
        found: set[Hashable] = {"sink"}
        queue = deque(["sink"])
        while queue:
            at = queue.popleft()
            for start in self._rest[at]:
                if start not in found and self._rest[start][at] > 0:
                    found.add(start)
                    queue.append(start)  # pyright: ignore
        return found
