"""docs/house.md and docs/house.svg: the rooms of the source tree, and who imports whom, read from the source.

python -m nestor.tools.docs.house > docs/house.md
python -m nestor.tools.docs.house --svg > docs/house.svg
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("tools", "frontend", "transforms", "runtime", "lowering", "analysis", "dialects")
"""From the top of the house down: a package imports only packages below it."""

COLOURS = ("#8c6bb1", "#2b8cbe", "#d95f0e", "#888888", "#31a354", "#c51b8a", "#b58900")
"""One per package, legible on white and on black."""

Graph = dict[str, set[str]]

INTRODUCTION = """\
# The house: which room a line of Nestor lives in

Facts about IR, rewrites of it, and the policy that decides what to rewrite live apart. The folder says whether a line may
change IR, and whom it may call. The sentences below are those of each room's `__init__.py`; `make docs` writes this page.

![rooms and imports](house.svg)

A column at the right is what a package imports: it starts at the package and has an arrow into each one that it uses.
Inside a package a room imports only rooms in rows below its own; a row that goes on is indented, `*.py` are the package's
own files. Rooms with a dashed border import each other in a circle; `tests/unit/repository/test_import_direction.py` says
whether modules do. Passes that a registry names as text, to be imported when one is asked for, are not drawn.
"""


def page() -> str:
    """The text of docs/house.md."""
    rooms = rooms_of(ROOT)
    parts = [INTRODUCTION]
    for package in PACKAGES:
        parts.append(f"## {package}\n\n{_sentence(package)}\n")
        inner = [room for room in rooms if room.startswith(f"{package}.")]
        if inner:
            rows = [f"| `{room.replace('.', '/')}/` | {_sentence(room)} |" for room in inner]
            parts.append("\n".join(["| room | what lives there |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def rooms_of(root: Path) -> list[str]:
    """The folders that hold modules, by their dotted names in order; a package of rooms alone is none."""
    folders = {path.parent for package in PACKAGES for path in (root / package).rglob("*.py")}
    dotted = {
        ".".join(folder.relative_to(root).parts): [p for p in folder.glob("*.py") if p.stem != "__init__"]
        for folder in folders
    }
    is_group = {name for name in dotted if any(other.startswith(f"{name}.") for other in dotted)}
    return sorted(name for name, files in dotted.items() if files or name not in is_group)


def imports_between_rooms(root: Path) -> Graph:
    """For each room the rooms that its modules import, wherever in a module the import stands."""
    modules = {_dotted(path, root): path for package in PACKAGES for path in (root / package).rglob("*.py")}
    rooms = rooms_of(root)
    graph: Graph = {room: set() for room in rooms}
    for name, path in modules.items():
        room = _room_of(name, rooms)
        targets = {_room_of(target, rooms) for target in imported_modules(name, path, modules)}
        if room:
            graph[room] |= targets - {room, None}
    return graph


def imported_modules(name: str, path: Path, modules: Iterable[str]) -> Iterator[str]:
    """The modules of ours that a module imports; imports for type checkers alone do not count."""
    tree = ast.parse(path.read_text())
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in _run_nodes(tree):
        if isinstance(node, ast.Import):
            bases = [alias.name.removeprefix("nestor.") for alias in node.names]
            yield from (base for base in bases if base in modules)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            targets = [".".join([*base, alias.name]) for alias in node.names]
            yield from (t if t in modules else ".".join(base) for t in targets)


def _base(node: ast.ImportFrom, package: list[str]) -> list[str]:
    """What is after `from`, seen from the root of Nestor."""
    if node.level:
        return package[: len(package) - node.level + 1] + (node.module or "").split(".") * bool(node.module)
    return (node.module or "").removeprefix("nestor.").split(".") if "nestor" in (node.module or "") else []


def _run_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements, without those for type checkers, and the clauses that hold some; no import is in an expression."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.If) or not _is_for_type_checkers(node):
            todo += [one for one in reversed([*ast.iter_child_nodes(node)]) if not isinstance(one, ast.expr)]


def _is_for_type_checkers(node: ast.If) -> bool:
    return any("TYPE_CHECKING" in (vars(n).get("id"), vars(n).get("attr")) for n in ast.walk(node.test))


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _room_of(module: str, rooms: list[str]) -> str | None:
    """The innermost room that a module, or a room, lies in."""
    while module and module not in rooms:
        module = module.rpartition(".")[0]
    return module or None


def _sentence(room: str) -> str:
    """The first paragraph of a room's docstring, on one line."""
    tree = ast.parse((ROOT / room.replace(".", "/") / "__init__.py").read_text())
    return " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split())


def circles(graph: Graph) -> dict[str, frozenset[str]]:
    """For each node of a graph those that it reaches and that reach it, itself among them."""
    reached = {node: _reached(graph, node) for node in graph}
    return {node: frozenset({node} | {n for n in reached[node] if node in reached[n]}) for node in graph}


def _reached(graph: Graph, node: str) -> set[str]:
    seen: set[str] = set()
    todo = [node]
    while todo:
        fresh = graph[todo.pop()] - seen
        seen |= fresh
        todo += fresh
    return seen


def rows_of(graph: Graph) -> list[list[str]]:
    """The nodes of a graph in rows, so that each imports only what is below it, or in a circle with it in its row."""
    together = circles(graph)
    height: dict[frozenset[str], int] = {}

    def of(group: frozenset[str]) -> int:
        if group not in height:
            below = {together[target] for node in group for target in graph[node]} - {group}
            height[group] = 1 + max((of(other) for other in below), default=-1)
        return height[group]

    rows = defaultdict(list)
    for node in sorted(graph):
        rows[of(together[node])].append(node)
    return [rows[k] for k in sorted(rows, reverse=True)]


# The picture -----------------------------------------------------------------------------------------------------

LEFT, RIGHT, LANE = 20, 780, 20
"""Where boxes begin and end, and how far apart the columns of imports are."""

ROOM, ROW, TITLE, GAP, LEAST = 24, 32, 30, 18, 106
"""Heights: of a room, a row of rooms, a package's title, between packages, and of a package at least."""

STYLE = """\
  text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
  .paper { fill: #ffffff; }
  .package { fill: none; stroke-width: 1.5; }
  .title { font-weight: bold; font-size: 15px; }
  .room { fill: #eef1f4; stroke: #b8c0c8; }
  .circle { stroke-dasharray: 4 3; }
  .lane { fill: none; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .paper { fill: #0d1117; }
    .room { fill: #212830; stroke: #57606a; }
  }"""


def picture() -> str:
    """The text of docs/house.svg."""
    graph = imports_between_rooms(ROOT)
    body: list[str] = []
    boxes: dict[str, tuple[int, int]] = {}
    y = 20
    for package, colour in zip(PACKAGES, COLOURS, strict=True):
        rooms, bottom = _package(package, graph, y)
        body.append(
            f'<rect class="package" x="{LEFT}" y="{y}" width="{RIGHT - LEFT}" height="{bottom - y}" rx="8"'
            f' stroke="{colour}"/>'
        )
        body += rooms
        boxes[package] = (y, bottom)
        y = bottom + GAP
    body += _lanes(boxes, _imports_between_packages(graph))
    width = RIGHT + LANE * (len(PACKAGES) + 1) + 20
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 4}" width="{width}" height="{y + 4}">',
            "<title>Rooms of Nestor, and who imports whom</title>",
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="paper" width="{width}" height="{y + 4}" rx="10"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _package(package: str, graph: Graph, top: int) -> tuple[list[str], int]:
    """A package's title and rooms, and where its box ends."""
    inside = {
        a: {b for b in graph[a] if _package_of(b) == package} for a in graph if _package_of(a) == package
    }
    together = circles(inside)
    parts = [f'<text class="title" x="{LEFT + 12}" y="{top + 22}">{package}/</text>']
    y = top + TITLE
    for row in rows_of(inside):
        x = LEFT + 12
        for room in row:
            label = _label(room, package)
            width = 8 * len(label) + 16
            if x + width > RIGHT - 12:
                x, y = LEFT + 36, y + ROW  # a row that goes on is indented
            kind = "room circle" if len(together[room]) > 1 else "room"
            parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{ROOM}" rx="4"/>')
            parts.append(f'<text x="{x + 8}" y="{y + 17}">{escape(label)}</text>')
            x += width + 8
        y += ROW
    return parts, max(y + 4, top + LEAST)


def _label(room: str, package: str) -> str:
    return room.removeprefix(package).lstrip(".").replace(".", "/") or "*.py"


def _package_of(room: str) -> str:
    return room.partition(".")[0]


def _imports_between_packages(graph: Graph) -> Graph:
    return {
        package: {_package_of(b) for a in graph if _package_of(a) == package for b in graph[a]} - {package}
        for package in PACKAGES
    }


def _lanes(boxes: dict[str, tuple[int, int]], imports: Graph) -> list[str]:
    """A column for each package that imports others, the topmost the farthest out, with an arrow into each of those."""
    parts: list[str] = []
    for k, (package, colour) in enumerate(zip(PACKAGES, COLOURS, strict=True)):
        targets = sorted(imports[package], key=PACKAGES.index)
        if not targets:
            continue
        x = RIGHT + LANE * (len(PACKAGES) - k)
        start = boxes[package][0] + TITLE // 2
        ends = {target: _entry(boxes[target], k) for target in targets}
        low, high = min(start, *ends.values()), max(start, *ends.values())
        parts.append(
            f'<path class="lane" stroke="{colour}" d="M{RIGHT} {start}H{x}M{x} {low}V{high}'
            + "".join(f"M{x} {end}H{RIGHT + 8}" for end in ends.values())
            + '"/>'
        )
        parts.append(f'<circle cx="{x}" cy="{start}" r="3" fill="{colour}"/>')
        parts += [
            f'<path fill="{colour}" d="M{RIGHT + 1} {end}l9 -4v8z"><title>{package} imports {target}</title></path>'
            for target, end in ends.items()
        ]
    return parts


def _entry(box: tuple[int, int], k: int) -> int:
    """Where the column of package number k comes into a box: below where the box's own column starts."""
    top, bottom = box
    return top + TITLE + (bottom - top - TITLE - 6) * k // len(PACKAGES)


if __name__ == "__main__":
    sys.stdout.write(picture() if "--svg" in sys.argv[1:] else page())
