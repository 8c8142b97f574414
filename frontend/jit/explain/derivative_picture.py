"""`low.svg()`: the derivatives of a function as one self-contained picture.

    forward half | kept        | backward half
    [ dot      ] | ( h 8 KB )  | [ d_w    ]          time runs down on the left,
    [ h: tanh  ] |             | [ d_h    ]          and up again on the right
    [        both halves at once          ]

Boxes are kernels, in the order in which they run; values that are kept stand between those that compute and those that
read them. What is computed again is said in the box that does it. Light and dark come from the viewer's preference.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ....analysis.tensor.residuals import Derivative, Kept, Unit, short_name
from ....dialects.diagnostic import fail, op_location
from ....lowering.pictures.colours import in_both
from ....lowering.pictures.xml_text import svg_text, xml_text
from .derivatives import Halves, control_name, counted, kept_type, place_text, there_anyway_text

_CHAR, _LINE, _PAD, _GAP, _MARGIN, _LANE = 7.3, 18.0, 10.0, 14.0, 20.0, 56.0
"""Sizes in pixels: a character, a line of text, padding in a box, gap between boxes, outer margin, room for arrows."""

_WIDTH = 44
"""Characters of a line in a box; longer ones are broken."""

_LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#c4cad1",
    "forward": "#dbeafe", "backward": "#fbdfee", "both": "#ecdffb", "kept": "#fdecc8", "arrow": "#b54708",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#3d444d",
    "forward": "#122c52", "backward": "#4a1c36", "both": "#33204d", "kept": "#45320c", "arrow": "#f0a35e",
}  # fmt: skip


def derivative_svg(module: ModuleOp) -> str:
    """The picture of a program that is given at the nt level.

    Raises NestorError, at its first function, where it has no derivative in reverse mode.
    """
    derivatives = Halves(module).derivatives
    if not derivatives:
        raise fail(
            next((op for op in module.ops if isinstance(op, FuncOp)), module),
            "there is no derivative to draw",
            hint="nt.grad, nt.value_and_grad and nt.vjp have a forward and a backward half",
        )
    return _Picture(derivatives).text()


class _Box:
    """Some lines of text, the first one bold, at a place."""

    def __init__(self, style: str, lines: Sequence[str], title: str = ""):
        self.style, self.title = style, title
        self.lines = [part for line in lines for part in _broken(line)]
        self.width = _CHAR * max(map(len, self.lines)) + 2 * _PAD
        self.height = _LINE * len(self.lines) + _PAD
        self.x = self.y = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    def text(self) -> list[str]:
        title = f"<title>{xml_text(self.title)}</title>" if self.title else ""
        parts = [
            f'<rect class="{self.style}" x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}" '
            f'height="{self.height:.1f}" rx="{9 if self.style == "kept" else 5}">{title}</rect>'
        ]
        for k, line in enumerate(self.lines):
            style = "head" if k == 0 else "more"
            parts.append(svg_text(style, self.x + _PAD, self.y + _LINE * (k + 1) - 3, line))
        return parts


class _Picture:
    def __init__(self, derivatives: Sequence[Derivative]):
        self._parts: list[str] = []
        self._width = 0.0
        y = _MARGIN
        for one in derivatives:
            y = self._derivative(one, y) + _MARGIN
        self._height = y

    def text(self) -> str:
        width, height = self._width + _MARGIN, self._height
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        )
        paper = '<rect class="paper" width="100%" height="100%"/>'
        return "\n".join([head, _style(), _MARKER, paper, *self._parts, "</svg>"]) + "\n"

    def _derivative(self, one: Derivative, y: float) -> float:
        """Draw a derivative from `y` on; the y below it."""
        boxes = {unit: _unit_box(unit) for unit in one.units}
        values = {kept: _kept_box(kept) for kept in one.kept}
        columns = {kind: [boxes[unit] for unit in units] for kind, units in one.kernels.items()}
        columns["backward"].reverse()
        top = self._titles(one, y)
        sides = [columns["forward"], list(values.values()), columns["backward"]]
        heads = ["forward half", "kept" if values else "nothing is kept", "backward half"]
        x, below = _MARGIN, top
        for head, column in zip(heads, sides, strict=True):
            self._parts.append(svg_text("column", x, top + 12, head))
            bottom = _stacked(column, x, top + 24)
            below = max(below, bottom)
            x += max([_CHAR * len(head), *(box.width for box in column)]) + _LANE
        right = x - _LANE
        below = _stacked(columns["both"], _MARGIN, below)
        for box in columns["both"]:
            box.width = max(box.width, right - _MARGIN)
            right = max(right, _MARGIN + box.width)
        for kept, value in values.items():
            self._crossing(kept, value, boxes)
        for box in (*boxes.values(), *values.values()):
            self._parts += box.text()
        self._width = max(self._width, right)
        return below

    def _titles(self, one: Derivative, y: float) -> float:
        title = f"derivative of {one.name}"
        details = [f"kept: {one.total} bytes"]
        if one.there_anyway:
            details.append(f"read, and there anyway: {there_anyway_text(one)}")
        self._parts.append(svg_text("head", _MARGIN, y + 12, title))
        for k, line in enumerate(details):
            self._parts.append(svg_text("more", _MARGIN, y + 12 + _LINE * (k + 1), line))
        self._width = max(self._width, _MARGIN + _CHAR * max(map(len, (title, *details))))
        return y + _LINE * (len(details) + 1) + _GAP

    def _crossing(self, kept: Kept, value: _Box, boxes: dict[Unit, _Box]) -> None:
        """Arrows from the kernel that makes a value to it, and from it to the kernels that read it."""
        if kept.maker is not None:
            self._arrow(boxes[kept.maker], value, f"{kept.name} is computed")
        for reader in kept.readers:
            if reader in boxes:
                self._arrow(value, boxes[reader], f"{kept.name} is read")

    def _arrow(self, source: _Box, sink: _Box, title: str) -> None:
        x1, y1 = source.x + source.width, source.middle
        x2, y2 = sink.x - 3, sink.middle
        if source.style == "both":  # below, over all columns: in front of the values, and up
            x1 = sink.x - _LANE / 2
            path = f"M{x1:.1f} {source.y:.1f}V{y2 + 8:.1f}q0 -8 8 -8H{x2:.1f}"
        elif sink.style == "both":  # behind the values, and down
            x2 = source.x + source.width + _LANE / 3
            path = f"M{x1:.1f} {y1:.1f}H{x2 - 8:.1f}q8 0 8 8V{sink.y - 3:.1f}"
        elif source.x > sink.x:  # the backward half runs a loop again
            x1, x2 = source.x, sink.x + sink.width + 3
            path = f"M{x1:.1f} {y1:.1f}C{x1 - 24:.1f} {y1:.1f} {x2 + 24:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        else:
            reach = max(24.0, (x2 - x1) / 2)
            path = f"M{x1:.1f} {y1:.1f}C{x1 + reach:.1f} {y1:.1f} {x2 - reach:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        self._parts.append(
            f'<path class="arrow" marker-end="url(#end)" d="{path}"><title>{xml_text(title)}</title></path>'
        )


def _unit_box(unit: Unit) -> _Box:
    lines = [unit.label]
    for op in unit.loops:
        lines.append(f"in the {control_name(op)}{place_text(op_location(op))}")
    computed = ", ".join(counted([short_name(op) for op in unit.computes]))
    if computed and computed != unit.label:
        lines.append(computed)
    if unit.again:
        lines.append(f"again: {', '.join(counted([short_name(op) for op in unit.again]))}")
    places = [place_text(op_location(op)).removeprefix(" at ") for op in (*unit.computes, *unit.again)]
    return _Box(unit.kind, lines, "\n".join(dict.fromkeys(p for p in places if p)))


def _kept_box(kept: Kept) -> _Box:
    lines = [kept.name, kept_type(kept), f"{kept.bytes} bytes"]
    if kept.is_result:
        lines.append("a result")
    return _Box("kept", lines, place_text(op_location(kept.op)).removeprefix(" at "))


def _stacked(boxes: Sequence[_Box], x: float, y: float) -> float:
    """Put boxes below each other; the y below them."""
    for box in boxes:
        box.x, box.y = x, y
        y += box.height + _GAP
    return y


def _broken(line: str) -> list[str]:
    """A line in pieces of at most `_WIDTH` characters, broken at blanks."""
    pieces = [""]
    for word in line.split(" "):
        if pieces[-1] and len(pieces[-1]) + 1 + len(word) > _WIDTH:
            pieces.append(word)
        else:
            pieces[-1] = f"{pieces[-1]} {word}" if pieces[-1] else word
    return pieces


_MARKER = (
    '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def _style() -> str:
    kinds = "".join(
        f".{kind}{{fill:var(--{kind});stroke:var(--line)}}"
        for kind in ("forward", "backward", "both", "kept")
    )
    colours = (
        f"text{{fill:var(--ink)}}.paper{{fill:var(--paper)}}{kinds}.column,.more{{fill:var(--soft)}}"
        ".arrow{stroke:var(--arrow)}.tip{fill:var(--arrow)}"
    )
    return (
        "<style>\n"
        "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}\n"
        ".head{font-weight:600}.arrow{fill:none;stroke-width:1.4}\n"
        f"{in_both(colours, _LIGHT, _DARK)}\n"
        "</style>"
    )
