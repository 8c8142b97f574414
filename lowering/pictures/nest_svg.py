"""`-t nest-svg`: functions at the nest level as one self-contained picture.

Loops are nested boxes, coloured by their mark; dependences are arrows on the right, from the access that runs
first to the one that depends on it, labelled with the loops that carry them (dotted, and without a label, where
both are in the same iteration). Details are in tooltips. Light and dark come from the viewer's preference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...analysis.nest.sets.dependence import analyse
from ...analysis.nest.sets.distances import DependenceVector
from ...analysis.nest.sets.readable import NestText
from .colours import in_both
from .nest_outline import Node, label_text, outline
from .xml_text import svg_text, xml_text

_CHAR, _ROW, _HEAD, _PAD, _GAP, _MARGIN = 7.3, 22.0, 26.0, 10.0, 6.0, 20.0
"""Sizes in pixels: a character, a row, the head of a box, padding inside a box, gap between nodes, outer margin."""

_MARKS = ("serial", "parallel", "vectorized", "unrolled", "block", "thread")
_KINDS = ("flow", "anti", "output", "reduction")
_BOXES = ("function", "loop", "branch", "other")

_LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#c4cad1", "row": "#f6f8fa",
    "serial": "#eef1f4", "parallel": "#d9f2df", "vectorized": "#dbeafe", "unrolled": "#fdecc8",
    "block": "#ecdffb", "thread": "#fbdfee",
    "flow": "#0a58ca", "anti": "#b54708", "output": "#b42318", "reduction": "#157f3b",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#3d444d", "row": "#161b22",
    "serial": "#1c2128", "parallel": "#12361f", "vectorized": "#122c52", "unrolled": "#45320c",
    "block": "#33204d", "thread": "#4a1c36",
    "flow": "#6cb0ff", "anti": "#f0a35e", "output": "#ff8a80", "reduction": "#5fd38a",
}  # fmt: skip


def emit_nest_svg(module: ModuleOp) -> str:
    """The picture of all functions of a module, one below the other."""
    return _Picture(outline(module, "nest-svg")).text()


def emit_nest_html(module: ModuleOp) -> str:
    """The picture inside a page of its own."""
    picture = _Picture(outline(module, "nest-html")).text()
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Loop nests</title>'
        "<style>:root{color-scheme:light dark}body{margin:0}</style></head>\n"
        f"<body>\n{picture}</body></html>\n"
    )


@dataclass(eq=False)
class _Arrow:
    source: Node
    sink: Node
    kind: str
    vectors: list[DependenceVector] = field(default_factory=list)
    start: float = 0.0
    end: float = 0.0
    lane: int = 0

    @property
    def label(self) -> str:
        return ", ".join(dict.fromkeys(v.carrier.label for v in self.vectors if v.carrier is not None))

    @property
    def within_an_iteration(self) -> bool:
        return all(v.carrier is None for v in self.vectors)


class _Picture:
    def __init__(self, functions: Sequence[Node]):
        self._functions = functions
        self._parts: list[str] = []
        self._right: dict[Node, float] = {}
        self._middle: dict[Node, float] = {}
        self._width = 0.0
        self._marks: set[str] = set()
        self._kinds: set[str] = set()

    def text(self) -> str:
        y = _MARGIN
        for function in self._functions:
            y = self._function(function, y) + _MARGIN
        y = self._legend(y) + _MARGIN
        width = self._width + _MARGIN
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
            f'viewBox="0 0 {width:.0f} {y:.0f}" role="img">'
        )
        paper = '<rect class="paper" width="100%" height="100%"/>'
        return "\n".join([head, _style(), _markers(), paper, *self._parts, "</svg>"]) + "\n"

    # ---- boxes ----

    def _function(self, function: Node, y: float) -> float:
        width = _width(function)
        bottom = self._draw(function, _MARGIN, y, width)
        self._width = max(self._width, _MARGIN + width)
        self._arrows(function, _MARGIN + width)
        return bottom

    def _draw(self, node: Node, x: float, y: float, width: float) -> float:
        """Draw a node and what is inside it at a place; the y below it."""
        self._right[node] = x + width
        if node.kind not in _BOXES:
            self._middle[node] = y + _ROW / 2
            self._rect("row", x, y, width, _ROW, node)
            self._write(node.kind, x + 8, y + 15, _row_text(node))
            return y + _ROW
        self._middle[node] = y + _HEAD / 2
        height = _height(node)
        style = _mark_class(node) if node.kind == "loop" else "plain"
        if node.kind == "loop":
            self._marks.add(style)
        self._rect(style, x, y, width, height, node)
        self._write("head", x + _PAD, y + 17, node.text)
        if node.mark:
            self._write("mark", x + width - _PAD, y + 17, node.mark)
        below = y + _HEAD
        for child in node.children:
            below = self._draw(child, x + _PAD, below, width - 2 * _PAD) + _GAP
        return y + height

    def _rect(self, style: str, x: float, y: float, width: float, height: float, node: Node) -> None:
        title = f"<title>{xml_text(node.place)}</title>" if node.place else ""
        self._parts.append(
            f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5">{title}</rect>'
        )

    def _write(self, style: str, x: float, y: float, text: str) -> None:
        self._parts.append(svg_text(style, x, y, text))

    # ---- arrows ----

    def _arrows(self, function: Node, edge: float) -> None:
        arrows = _arrows_of(function)
        if not arrows:
            return
        self._place_ends(arrows)
        widths = _assign_lanes(arrows)
        starts = [edge + 24 + sum(widths[:k]) for k in range(len(widths))]
        names = NestText(function.ops[0])
        for arrow in arrows:
            self._kinds.add(arrow.kind)
            self._arrow(arrow, starts[arrow.lane], names)
        self._width = max(self._width, starts[-1] + widths[-1])

    def _place_ends(self, arrows: list[_Arrow]) -> None:
        """Spread the ends of the arrows over the heights of their rows."""
        ends: dict[Node, list[tuple[_Arrow, str]]] = {}
        for arrow in arrows:
            ends.setdefault(arrow.source, []).append((arrow, "start"))
            ends.setdefault(arrow.sink, []).append((arrow, "end"))
        for node, places in ends.items():
            step = min(5.0, (_ROW - 6) / len(places))
            for k, (arrow, end) in enumerate(places):
                setattr(arrow, end, self._middle[node] + (k - (len(places) - 1) / 2) * step)

    def _arrow(self, arrow: _Arrow, lane: float, names: NestText) -> None:
        x1, x2, y1, y2 = self._right[arrow.source], self._right[arrow.sink], arrow.start, arrow.end
        r = min(6.0, abs(y2 - y1) / 2)
        turn = r if y2 > y1 else -r
        path = (
            f"M{x1:.1f} {y1:.1f}H{lane - r:.1f}q{r:.1f} 0 {r:.1f} {turn:.1f}"
            f"V{y2 - turn:.1f}q0 {turn:.1f} {-r:.1f} {turn:.1f}H{x2 + 3:.1f}"
        )
        dotted = " same" if arrow.within_an_iteration else ""
        title = "\n".join(_describe(vector, names) for vector in arrow.vectors)
        style = f"arrow {arrow.kind}{dotted}"
        head = f'<path class="{style}" marker-end="url(#{arrow.kind})" d="{path}">'
        self._parts.append(f"{head}<title>{xml_text(title)}</title></path>")
        if arrow.label:
            self._write(f"label {arrow.kind}", lane + 4, (y1 + y2) / 2 + 4, arrow.label)

    # ---- the legend ----

    def _legend(self, y: float) -> float:
        x = _MARGIN
        for mark in (m for m in _MARKS if m in self._marks):
            self._parts.append(
                f'<rect class="{mark}" x="{x:.1f}" y="{y:.1f}" width="14" height="14" rx="3"/>'
            )
            self._write("legend", x + 20, y + 12, mark)
            x += 34 + _CHAR * len(mark)
        for kind in (k for k in _KINDS if k in self._kinds):
            self._parts.append(
                f'<path class="arrow {kind}" marker-end="url(#{kind})" d="M{x:.1f} {y + 7:.1f}h22"/>'
            )
            self._write("legend", x + 30, y + 12, kind)
            x += 46 + _CHAR * len(kind)
        if self._kinds:
            self._parts.append(f'<path class="arrow legend-same same" d="M{x:.1f} {y + 7:.1f}h22"/>')
            self._write("legend", x + 30, y + 12, "in one iteration")
            x += 46 + _CHAR * 16
        self._width = max(self._width, x)
        return y + 14


def _row_text(node: Node) -> str:
    return "  ".join(filter(None, (node.text, label_text(node))))


def _width(node: Node) -> float:
    if node.kind not in _BOXES:
        return _CHAR * len(_row_text(node)) + 16
    head = _CHAR * (len(node.text) + len(node.mark) + 4) + 2 * _PAD
    return max([head, *(_width(child) + 2 * _PAD for child in node.children)])


def _height(node: Node) -> float:
    if node.kind not in _BOXES:
        return _ROW
    if not node.children:
        return _HEAD
    return _HEAD + sum(_height(child) + _GAP for child in node.children) - _GAP + _PAD


def _mark_class(node: Node) -> str:
    mark = node.mark.removeprefix("bound to ")
    return next((name for name in _MARKS if mark.startswith(name)), "serial")


def _arrows_of(function: Node) -> list[_Arrow]:
    """The dependences of a function, those between the same two nodes together, and none inside a node of reads."""
    nodes: dict[Operation, Node] = {op: node for node in function.walk() for op in node.ops}
    arrows: dict[tuple[Node, Node, str], _Arrow] = {}
    for vector in analyse(function.ops[0]).all():
        source, sink = nodes.get(vector.source), nodes.get(vector.sink)
        if source is None or sink is None:
            continue
        arrow = arrows.setdefault((source, sink, vector.kind), _Arrow(source, sink, vector.kind))
        arrow.vectors.append(vector)
    return list(arrows.values())


def _assign_lanes(arrows: list[_Arrow]) -> list[float]:
    """Give short arrows the inner lanes, so that none overlap; the width of each lane."""
    taken: list[list[tuple[float, float]]] = []
    widths: list[float] = []
    for arrow in sorted(arrows, key=lambda a: abs(a.end - a.start)):
        low, high = sorted((arrow.start, arrow.end))
        span = (min(low, (low + high) / 2 - 8) - 2, max(high, (low + high) / 2 + 8) + 2)
        free = (k for k, spans in enumerate(taken) if all(span[1] < a or span[0] > b for a, b in spans))
        arrow.lane = next(free, len(taken))
        if arrow.lane == len(taken):
            taken.append([])
            widths.append(0.0)
        taken[arrow.lane].append(span)
        widths[arrow.lane] = max(widths[arrow.lane], 16 + _CHAR * len(arrow.label))
    return widths


def _describe(vector: DependenceVector, names: NestText) -> str:
    buffer = "unknown memory" if vector.buffer is None else names.name(vector.buffer)
    where = f"carried by {vector.carrier.label}" if vector.carrier else "in one iteration"
    loops = ", ".join(loop.label for loop in vector.loops)
    distance = f", distance ({loops}) = {vector}" if vector.loops else ""
    return f"{vector.kind} dependence on {buffer}, {where}{distance}"


def _style() -> str:
    marks = "".join(f".{mark}{{fill:var(--{mark});stroke:var(--line)}}" for mark in _MARKS)
    kinds = "".join(
        f".arrow.{kind}{{stroke:var(--{kind})}}.head-{kind},.label.{kind}{{fill:var(--{kind})}}"
        for kind in _KINDS
    )
    colours = (
        "text{fill:var(--ink)}.paper{fill:var(--paper)}.plain{fill:none;stroke:var(--line)}"
        f".row{{fill:var(--row);stroke:var(--line)}}{marks}"
        ".mark,.reads,.buffer,.legend{fill:var(--soft)}.legend-same{stroke:var(--soft)}"
        f"{kinds}.label{{stroke:var(--paper)}}"
    )
    return (
        "<style>\n"
        "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}\n"
        ".head{font-weight:600}.mark{text-anchor:end}\n"
        ".arrow{fill:none;stroke-width:1.4}.same{stroke-dasharray:2 3}\n"
        ".label{font-size:11px;paint-order:stroke;stroke-width:3px}\n"
        f"{in_both(colours, _LIGHT, _DARK)}\n"
        "</style>"
    )


def _markers() -> str:
    arrows = "".join(
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="head-{kind}" d="M0 0L8 4L0 8z"/></marker>'
        for kind in _KINDS
    )
    return f"<defs>{arrows}</defs>"
