"""A layered layout of nested boxes: what is computed stands above what uses it, and boxes hold what is inside them.

    a   b          layers go down; an edge over several layers is led past the boxes between by points that take part
     \\ /  \\         in the layout as boxes without a width do
      c    |
       \\  /
        d

Layers are longest paths from above; the order in a layer follows the mean place of what its boxes are connected with.
`networkx` has layers but no such order, and knows nothing of nested boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X, GAP_Y, PAD, HEAD = 18.0, 30.0, 12.0, 24.0
"""In pixels: between boxes of a layer, between layers, inside a box, and the head of one that holds others."""

SWEEPS = 6
"""How often orders and places are improved."""


@dataclass(eq=False)
class Box:
    """Something at a place. Column 1 stands beside column 0."""

    style: str
    lines: list[str]
    title: str = ""
    children: list[Box] = field(default_factory=list)
    column: int = 0
    parent: Box | None = None
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    def add(self, child: Box) -> Box:
        """Put a box inside."""
        child.parent = self
        self.children.append(child)
        return child

    @property
    def middle(self) -> float:
        """The middle of its width."""
        return self.x + self.width / 2

    def path(self) -> list[Box]:
        """The boxes around it and itself, the outermost first."""
        found: list[Box] = []
        here: Box | None = self
        while here is not None:
            found.insert(0, here)
            here = here.parent
        return found


@dataclass(eq=False)
class Edge:
    """From what computes a value to what reads it."""

    source: Box
    sink: Box
    title: str = ""
    points: list[Box] = field(default_factory=list)
    """What it is led by, between the boxes that hold its ends."""
    turns: bool = False
    """Whether it goes from one column to the other."""


def lay_out(root: Box, edges: Sequence[Edge]) -> None:
    """Give all boxes their places. Boxes without children have their sizes already."""
    inside: dict[Box, list[tuple[Box, Box, Edge]]] = {}
    fed: set[Box] = set()
    for edge in edges:
        source, sink = edge.source.path(), edge.sink.path()
        depth = next((k for k, (a, b) in enumerate(zip(source, sink, strict=False)) if a is not b), None)
        fed.update(sink[depth or 0 :])
        if depth:
            inside.setdefault(source[depth - 1], []).append((source[depth], sink[depth], edge))
    _arrange(root, inside, fed)
    _move(root, 0.0, 0.0)
    points = {point: box for box in inside for _, _, edge in inside[box] for point in edge.points}
    for point, box in points.items():
        point.x += box.x
        point.y += box.y


def _move(box: Box, x: float, y: float) -> None:
    """From places in the box around to places in the picture."""
    box.x, box.y = box.x + x, box.y + y
    for child in box.children:
        _move(child, box.x, box.y)


def _arrange(box: Box, inside: dict[Box, list[tuple[Box, Box, Edge]]], fed: set[Box]) -> None:
    for child in box.children:
        if child.children:
            _arrange(child, inside, fed)
    width = height = 0.0
    links = inside.get(box, [])
    for column in sorted({child.column for child in box.children}):
        members = [child for child in box.children if child.column == column]
        own = [one for one in links if one[0].column == column == one[1].column]
        right, below = _column(members, own, fed, PAD if not width else width + 3 * GAP_X)
        width, height = right, max(height, below)
    for source, sink, edge in links:
        edge.turns = source.column != sink.column
    box.width = max(width + PAD, box.width)
    box.height = height + PAD


def _column(
    members: Sequence[Box], links: Sequence[tuple[Box, Box, Edge]], fed: set[Box], left: float
) -> tuple[float, float]:
    """Place the boxes of one column from `left` on; its right end, and its bottom."""
    layer = _layers(members, links, fed)
    layers: list[list[Box]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for member in members:
        layers[layer[member]].append(member)
    above: dict[Box, list[Box]] = {}
    below: dict[Box, list[Box]] = {}
    for source, sink, edge in links:
        chain = [source]
        for k in range(layer[source] + 1, layer[sink]):
            point = Box("point", [])
            layers[k].append(point)
            edge.points.append(point)
            chain.append(point)
        chain.append(sink)
        for a, b in pairwise(chain):
            below.setdefault(a, []).append(b)
            above.setdefault(b, []).append(a)
    _order(layers, above, below)
    _spread(layers, above, below)
    y = HEAD + 4
    for row in layers:
        tall = max((one.height for one in row), default=0.0)
        for one in row:
            one.y = y + (tall - one.height) / 2
        y += tall + GAP_Y
    least = min((one.x for row in layers for one in row), default=0.0)
    right = left
    for row in layers:
        for one in row:
            one.x += left - least
            right = max(right, one.x + one.width)
    return right, y - GAP_Y


def _layers(members: Sequence[Box], links: Sequence[tuple[Box, Box, Edge]], fed: set[Box]) -> dict[Box, int]:
    """The longest path from above to each box; members are in the order of the program, so that links go on in it."""
    layer = dict.fromkeys(members, 0)
    sinks: dict[Box, list[Box]] = {}
    for source, sink, _ in links:
        sinks.setdefault(source, []).append(sink)
    for member in members:
        for sink in sinks.get(member, ()):
            layer[sink] = max(layer[sink], layer[member] + 1)
    sources: dict[Box, int] = {}
    for source, sink, _ in links:
        sources[source] = min(sources.get(source, layer[sink]), layer[sink])
    for member in members:  # what needs nothing stands just above what needs it
        if member not in fed and member in sources and member.style != "argument":
            layer[member] = sources[member] - 1
    return layer


def _order(layers: list[list[Box]], above: dict[Box, list[Box]], below: dict[Box, list[Box]]) -> None:
    for sweep in range(SWEEPS):
        neighbours, rows = (above, layers[1:]) if sweep % 2 == 0 else (below, layers[-2::-1])
        place = {one: float(k) for row in layers for k, one in enumerate(row)}
        for row in rows:
            wanted = {
                one: sum(place[n] for n in near) / len(near) if (near := neighbours.get(one)) else place[one]
                for one in row
            }
            row.sort(key=lambda one, wanted=wanted: wanted[one])
            place.update({one: float(k) for k, one in enumerate(row)})


def _spread(layers: list[list[Box]], above: dict[Box, list[Box]], below: dict[Box, list[Box]]) -> None:
    """Give boxes places in their layers, near what they are connected with."""
    for row in layers:
        x = 0.0
        for one in row:
            one.x = x
            x += one.width + GAP_X
    for sweep in range(SWEEPS):
        rows = layers[1:] if sweep % 2 == 0 else layers[-2::-1]
        neighbours = above if sweep % 2 == 0 else below
        for row in rows:
            wanted = []
            for one in row:
                near = neighbours.get(one)
                middle = sum(n.middle for n in near) / len(near) if near else one.middle
                wanted.append(middle - one.width / 2)
            _settle(row, wanted)


def _settle(row: Sequence[Box], wanted: Sequence[float]) -> None:
    """The wanted places, moved apart where boxes would meet: half of what is needed to each side."""
    groups: list[tuple[list[Box], float, float]] = []
    for one, x in zip(row, wanted, strict=True):
        group, start, width = [one], x, one.width
        while groups and groups[-1][1] + groups[-1][2] + GAP_X > start:
            before, other, wide = groups.pop()
            count, more = len(before), len(group)
            middle = (count * other + more * (start - wide - GAP_X)) / (count + more)
            group, start, width = before + group, middle, wide + GAP_X + width
        groups.append((group, start, width))
    for group, start, _ in groups:
        for one in group:
            one.x = start
            start += one.width + GAP_X
