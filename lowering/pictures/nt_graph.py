"""`low.graph()` and `-t nt-graph`: functions at the nt level as graphs of their operations.

    [ x  f64[4, 5] ]   [ w ]        boxes are operations, with the type of their result and their line of Python
           |   \\         |          fusions, loops and branches are boxes around others
    +- fusion t ---------+-+        the backward half of a derivative stands beside the forward half
    |  [ dot ] -> [ tanh ] |

Constants are said where they are used. Colours are plain ones, with others for viewers that ask for dark pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.tensor.amounts import Sizes
from ...dialects.diagnostic import fail, op_location
from ...dialects.nest import ForOp, StatementOp
from ...dialects.nt.halves import half_of
from ...dialects.nt.ops import (
    BroadcastOp,
    CompositeOp,
    ConstantOp,
    DimOp,
    FusionOp,
    LoopsOp,
    YieldOp,
    element_of,
)
from ...dialects.nt.work import Role, role_of
from .colours import in_both
from .layered import GAP_Y, PAD, Box, Edge, lay_out
from .xml_text import svg_text, xml_text

_CHAR, _LINE, _MARGIN = 7.0, 17.0, 16.0
"""In pixels: a character, a line of text, the margin of the picture."""

_LONGEST = 40
"""Characters of a line in a box; longer ones end in dots."""

_COLOURS = {
    "paper": ("#ffffff", "#0d1117"), "ink": ("#1f2328", "#e6edf3"), "soft": ("#59636e", "#9198a1"),
    "line": ("#8c959f", "#6e7681"), "argument": ("#f6f8fa", "#161b22"), "point": ("#dbeafe", "#122c52"),
    "reads": ("#fdecc8", "#45320c"), "view": ("#eef1f4", "#1c2128"), "control": ("#f3eafd", "#241a36"),
    "fusion": ("#eefaf1", "#10281a"), "result": ("#d9f2df", "#12361f"), "other": ("#fbdfee", "#4a1c36"),
    "function": ("#ffffff", "#0d1117"),
}  # fmt: skip
"""Of each kind of box: on white, and on black."""

_WORDS = {
    "point": "element by element",
    "reads": "reduction, product, or loops of its own",
    "view": "moves elements",
    "fusion": "one nest",
    "control": "loop or branch",
    "other": "call",
}
_KINDS: dict[Role | None, str] = {
    Role.COMPUTES: "point",
    Role.VIEW: "view",
    Role.SOURCE: "view",
    Role.APART: "reads",
}


def emit_nt_graph(module: ModuleOp) -> str:
    """The graphs of all functions of a module as one SVG. Raises NestorError where nothing is at the nt level."""
    return _Picture(module, "nt-graph").text()


def emit_nt_graph_html(module: ModuleOp) -> str:
    """The same inside a page of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Operations</title>'
        "<style>:root{color-scheme:light dark}body{margin:0}</style></head>\n"
        f"<body>\n{_Picture(module, 'nt-graph-html').text()}</body></html>\n"
    )


# ---- what is in it --------------------------------------------------------------------------------------


class Graph:
    """The boxes of a function, nested, and the edges between them."""

    def __init__(self, function: FuncOp):
        self.root = Box("function", [f"@{function.sym_name.data}"])
        self.edges: list[Edge] = []
        self._makers: dict[SSAValue, Box] = {}
        self._same: dict[SSAValue, SSAValue] = {}
        self._sizes = Sizes()
        block = function.body.blocks[0]
        for value in block.args:
            self._makers[value] = self.root.add(self._box("argument", [value.name_hint or "argument"], value))
        self._fill(self.root, block)

    def _fill(self, outer: Box, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, FusionOp | CompositeOp):
                self._cluster(outer, op)
            elif isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp | scf.IndexSwitchOp):
                self._control(outer, op)
            elif isinstance(op, LoopsOp):
                self._leaf(outer, op, "reads", [_island(op)])
            elif isinstance(op, YieldOp) and isinstance(op.parent_op(), FusionOp | CompositeOp):
                continue
            elif isinstance(op, ReturnOp | YieldOp | scf.YieldOp | scf.ConditionOp):
                self._end(outer, op)
            elif not _is_said_elsewhere(op):
                self._leaf(outer, op, _kind(op), [_title(op)])

    def _leaf(self, outer: Box, op: Operation, style: str, head: list[str]) -> None:
        first = op.results[0] if op.results else None
        constants = [text for value in op.operands if (text := _constant(value)) is not None]
        lines = [*head, f"with {', '.join(constants)}"] if constants else head
        box = outer.add(self._box(style, lines, first, op))
        box.column = self._column(outer, op)
        for value in op.results:
            self._makers[value] = box
        values = dict.fromkeys(op.operands)
        if op.regions and not isinstance(op, LoopsOp):
            values |= dict.fromkeys(_captured(op))
        self._read(box, values)

    def _cluster(self, outer: Box, op: FusionOp | CompositeOp) -> None:
        """A fusion: what is inside reads outer values, and is read from outside."""
        box = outer.add(Box("fusion", [_title(op)], _place(op)))
        box.column = self._column(outer, op)
        block = op.body.block
        for inner, given in zip(block.args, op.operands, strict=False):
            self._same[inner] = given
        self._fill(box, block)
        end = block.last_op
        for result, value in zip(op.results, end.operands if end is not None else (), strict=False):
            self._same[result] = value
            if _constant(value) is not None:
                self._makers[value] = box.add(self._box("view", [f"= {_constant(value)}"], value))
        if not box.children:
            self._size(box)

    def _control(self, outer: Box, op: Operation) -> None:
        box = outer.add(Box("control", [_title(op)], _place(op)))
        box.column = self._column(outer, op)
        for value in op.results:
            self._makers[value] = box
        starts = list(op.iter_args) if isinstance(op, scf.ForOp) else []
        starts = list(op.arguments) if isinstance(op, scf.WhileOp) else starts
        named = isinstance(op, scf.IfOp | scf.WhileOp)
        for k, region in enumerate(op.regions):
            if not region.blocks:
                continue
            part = box.add(Box("control", [_part(op, k)])) if named else box
            block = region.block
            carried = block.args[1:] if isinstance(op, scf.ForOp) else block.args
            if isinstance(op, scf.ForOp) and any(
                not isinstance(u.operation, DimOp) for u in block.args[0].uses
            ):
                name = block.args[0].name_hint or "i"
                self._makers[block.args[0]] = part.add(self._box("argument", [name, "loop variable"], None))
            for n, value in enumerate(carried):
                inner = part.add(self._box("argument", [value.name_hint or "carried"], value))
                self._makers[value] = inner
                if k == 0 and n < len(starts):
                    self._read(inner, [starts[n]])
            self._fill(part, block)
            if not part.children:
                self._size(part)
        if not starts:
            self._read(box, op.operands)
        elif isinstance(op, scf.ForOp):
            self._read(box, [op.lb, op.ub, op.step])

    def _end(self, outer: Box, op: Operation) -> None:
        """What a function, or a round, gives."""
        style = "result" if isinstance(op, ReturnOp) else "argument"
        if not op.operands:
            return
        constants = [text for value in op.operands if (text := _constant(value)) is not None]
        title = {"func.return": "return", "scf.condition": "go on while", "scf.yield": "yield"}.get(
            op.name, "yield"
        )
        box = outer.add(self._box(style, [title, *(f"with {one}" for one in constants)], None, op))
        box.column = (
            max((child.column for child in outer.children[:-1]), default=0) if outer is self.root else 0
        )
        self._read(box, op.operands)

    def _column(self, outer: Box, op: Operation) -> int:
        return _half(op) if outer is self.root else 0

    def _read(self, sink: Box, values: Any) -> None:
        seen: set[Box] = set()
        for value in values:
            origin = value
            while origin in self._same:
                origin = self._same[origin]
            source = self._makers.get(origin)
            if source is None or source in seen or source in sink.path():
                continue
            seen.add(source)
            self.edges.append(Edge(source, sink, origin.name_hint or ""))

    # ---- boxes ----

    def _box(
        self, style: str, lines: Sequence[str], value: SSAValue | None, op: Operation | None = None
    ) -> Box:
        about = [self._type(value)] if value is not None else []
        where = op_location(op) if op is not None else None
        if where is not None and where.line:
            about.append(f"line {where.line}")
        box = Box(style, [*lines, "  ".join(about)] if about else list(lines), _place(op))
        self._size(box)
        return box

    def _size(self, box: Box) -> None:
        box.lines = [one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…" for one in box.lines]
        box.width = _CHAR * max(map(len, box.lines)) + 2 * PAD
        box.height = _LINE * len(box.lines) + PAD

    def _type(self, value: SSAValue) -> str:
        if not isinstance(value.type, TensorType):
            return str(value.type)
        return f"{element_of(value)}[{', '.join(map(str, self._sizes.shape(value)))}]"


def _title(op: Operation) -> str:
    """What an operation is called, and the variable that it computes."""
    if isinstance(op, FusionOp):
        return f"fusion {op.label.data}"
    name = {"scf.for": "for", "scf.while": "while", "scf.if": "if"}.get(op.name, op.name.partition(".")[2])
    if isinstance(op, scf.ForOp):
        return f"for {op.body.block.args[0].name_hint or 'i'}"
    if isinstance(op, CallOp):
        name = f"call {op.callee.string_value()}"
    for key in ("combiner", "kind", "name_"):
        detail = getattr(op, key, None)
        data = getattr(detail, "data", None)
        if isinstance(data, str):
            name = f"{name} {data}"
            break
    variable = next((r.name_hint for r in op.results if r.name_hint), None)
    return f"{variable} = {name}" if variable and not op.regions else name


def _kind(op: Operation) -> str:
    if op.name in ("nt.reduce", "nt.scan"):
        return "reads"
    is_call = isinstance(op, CallOp) or op.name == "nt.custom_call"
    return "other" if is_call else _KINDS.get(role_of(op), "view")


def _part(op: Operation, k: int) -> str:
    return ("then", "else")[k] if isinstance(op, scf.IfOp) else ("condition", "round")[k]


def _island(op: LoopsOp) -> str:
    loops = [inner.label for inner in op.walk() if isinstance(inner, ForOp)]
    written = dict.fromkeys(inner.statement for inner in op.walk() if isinstance(inner, StatementOp))
    names = ", ".join(filter(None, written))
    return f"{names or 'loops'}: for {', '.join(loops)}" if loops else f"{names or 'loops'}: assignments"


def _place(op: Operation | None) -> str:
    where = op_location(op) if op is not None else None
    return f"{Path(where.file).name}:{where.line}" if where is not None and where.line else ""


def _half(op: Operation) -> int:
    """1 for what only the backward half of a derivative does."""
    inner = list(op.walk()) if isinstance(op, FusionOp) or op.name.startswith("scf.") else [op]
    halves = {half.is_backward for one in inner if (half := half_of(one)) is not None}
    own = half_of(op)
    if own is not None and not isinstance(op, FusionOp):
        return int(own.is_backward)
    return int(halves == {True})


def _captured(op: Operation) -> Iterator[SSAValue]:
    """The values that the regions of an operation read from around it."""
    for inner in op.walk():
        for value in inner.operands if inner is not op else ():
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            if owner is not None and owner is not op and not op.is_ancestor(owner):
                yield value


def _is_said_elsewhere(op: Operation) -> bool:
    """Whether it is no box: a constant, or an extent."""
    if isinstance(op, DimOp) or (bool(op.results) and _constant(op.results[0]) is not None):
        return True
    return bool(op.results) and op.name.startswith("arith.") and str(op.results[0].type) == "index"


def _constant(value: SSAValue) -> str | None:
    """A number that a value repeats."""
    op = value.owner
    while isinstance(op, BroadcastOp):
        op = op.source.owner
    if not isinstance(op, arith.ConstantOp | ConstantOp):
        return None
    found = op.value
    if isinstance(found, DenseIntOrFPElementsAttr):
        if not found.is_splat():
            return None
        found = found.get_values()[0]
    elif isinstance(found, FloatAttr | IntegerAttr):
        found = found.value.data
    return f"{found:.6g}" if isinstance(found, float) else str(found) if isinstance(found, int) else None


# ---- drawing --------------------------------------------------------------------------------------------


class _Picture:
    def __init__(self, module: ModuleOp, target: str):
        functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
        if not any(map(_is_tensor_program, functions)):
            raise fail(
                module,
                f"target '{target}' draws programs of the nt level, and there is no operation of it",
                hint="later levels have pictures of their own: -t nest-svg",
            )
        self._parts: list[str] = []
        self._styles: set[str] = set()
        self._width, self._height = 0.0, _MARGIN
        for function in functions:
            self._function(Graph(function))

    def text(self) -> str:
        self._legend()
        width, height = self._width + _MARGIN, self._height
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="nt-graph" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        )
        paper = '<rect class="g-paper" width="100%" height="100%"/>'
        return "\n".join([head, _style(), _MARKER, paper, *self._parts, "</svg>"]) + "\n"

    def _function(self, graph: Graph) -> None:
        root = graph.root
        root.width = _CHAR * len(root.lines[0]) + 2 * PAD
        lay_out(root, graph.edges)
        for box in _all(root):
            box.x += _MARGIN
            box.y += self._height
        for edge in graph.edges:
            for point in edge.points:
                point.x += _MARGIN
                point.y += self._height
        boxes = list(_all(root))
        self._draw([box for box in boxes if box.children])
        self._columns(root)
        self._parts += [_edge(edge) for edge in graph.edges]
        self._draw([box for box in boxes if not box.children])
        self._width = max(self._width, root.x + root.width)
        self._height += root.height + _MARGIN

    def _draw(self, boxes: Sequence[Box]) -> None:
        """Boxes, each behind those after it."""
        for box in boxes:
            self._styles.add(box.style)
            title = f"<title>{xml_text(box.title)}</title>" if box.title else ""
            dashed = ' stroke-dasharray="4 3"' if box.style == "control" else ""
            self._parts.append(
                f'<rect class="g-{box.style}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
                f'height="{box.height:.1f}" rx="5"{dashed}>{title}</rect>'
            )
            for k, line in enumerate(box.lines):
                style = "g-head" if k == 0 else "g-more"
                self._parts.append(svg_text(style, box.x + PAD, box.y + _LINE * (k + 1) - 1, line))

    def _columns(self, root: Box) -> None:
        """The names of the halves of a derivative."""
        for column, name in ((0, "forward half"), (1, "backward half")):
            members = [child for child in root.children if child.column == column]
            if members and any(child.column for child in root.children):
                x = min(child.x for child in members)
                offset = _CHAR * (len(root.lines[0]) + 3) if column == 0 else 0.0
                self._parts.append(svg_text("g-more", x + offset, root.y + _LINE - 1, name))

    def _legend(self) -> None:
        x = _MARGIN
        for style, words in _WORDS.items():
            if style not in self._styles:
                continue
            self._parts.append(
                f'<rect class="g-{style}" x="{x:.1f}" y="{self._height:.1f}" width="14" height="14" rx="3"/>'
            )
            self._parts.append(svg_text("g-more", x + 20, self._height + 12, words))
            x += 36 + _CHAR * len(words)
        self._width = max(self._width, x)
        self._height += 14 + _MARGIN


def _is_tensor_program(function: FuncOp) -> bool:
    """Whether a function is at the nt level; one that only gives back arguments is at that of their types."""
    if any(op.name.startswith("nt.") for op in function.walk()):
        return True
    types = [*function.function_type.inputs, *function.function_type.outputs]
    return any(isinstance(one, TensorType) for one in types)


def _all(box: Box) -> Iterator[Box]:
    yield box
    for child in box.children:
        yield from _all(child)


def _edge(edge: Edge) -> str:
    """A line from below the source to above the sink; from one column to the other from side to side."""
    source, sink = edge.source, edge.sink
    if edge.turns:
        path = _turn(source, sink)
    else:
        ends = (source.middle, source.y + source.height), (sink.middle, sink.y - 4)
        points = [ends[0], *((p.x, p.y) for p in edge.points), ends[1]]
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(_bend(a, b) for a, b in pairwise(points))
    title = f"<title>{xml_text(edge.title)}</title>" if edge.title else ""
    return f'<path class="g-edge" marker-end="url(#g-end)" d="{path}">{title}</path>'


def _turn(source: Box, sink: Box) -> str:
    x1, x2 = source.x + source.width, sink.x - 4
    if sink.x < source.x:
        x1, x2 = source.x, sink.x + sink.width + 4
    y1, y2 = source.y + source.height / 2, sink.y + sink.height / 2
    reach = max(24.0, abs(x2 - x1) / 2) * (1 if x2 >= x1 else -1)
    return f"M{x1:.1f} {y1:.1f}C{x1 + reach:.1f} {y1:.1f} {x2 - reach:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _bend(a: tuple[float, float], b: tuple[float, float]) -> str:
    reach = max(min(abs(b[1] - a[1]) / 2, GAP_Y * 2), 8.0) * (1 if b[1] >= a[1] else -1)
    return f"C{a[0]:.1f} {a[1] + reach:.1f} {b[0]:.1f} {b[1] - reach:.1f} {b[0]:.1f} {b[1]:.1f}"


_MARKER = (
    '<defs><marker id="g-end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    '<path class="g-tip" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def _style() -> str:
    boxes = [name for name in _COLOURS if name not in ("paper", "ink", "soft", "line")]
    fills = "".join(f".g-{name}{{fill:var(--{name});stroke:var(--line)}}" for name in boxes)
    colours = (
        f".g-paper{{fill:var(--paper)}}{fills}.nt-graph .g-head{{fill:var(--ink)}}.nt-graph .g-more{{fill:var(--soft)}}"
        ".g-edge{stroke:var(--line)}.g-tip{fill:var(--line)}"
    )
    light, dark = ({name: pair[k] for name, pair in _COLOURS.items()} for k in (0, 1))
    return (
        "<style>\n"
        ".nt-graph text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}\n"
        ".nt-graph .g-head{font-weight:600}.g-edge{fill:none;stroke-width:1.2}\n"
        f"{in_both(colours, light, dark)}\n"
        "</style>"
    )
