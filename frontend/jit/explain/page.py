"""What `f.explain(..., format="html")` gives: one page that needs nothing else, light or dark as the viewer prefers.

Arguments, assumptions, nests with their picture, derivatives with theirs, the lines of Python that the nests are of,
remarks and history, in that order; a part without anything in it is left out.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ....dialects.cells import cell_of
from ....dialects.diagnostic import NestorError
from ....lowering.pictures.nest_svg import emit_nest_svg
from ....lowering.pictures.xml_text import xml_text
from ..chunked.facts import chunk_lines
from .cell_html import code
from .derivative_picture import derivative_svg
from .explanation import Explanation, accesses_text, call_text, calls_by_kind, entry_text
from .precisions import precision_lines
from .quantised import quantised_lines

MOST_LINES = 400
"""Maximum number of lines of a file that are shown: what is further away is left out."""

MOST_LOOPS = 120
"""Maximum number of loops that are drawn: larger pictures say nothing, and dependences take their time."""

MOST_CHARACTERS = 1_000_000
"""Maximum size of a page that a notebook shows."""

_STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:70rem;padding:1.5rem;font:15px/1.5 system-ui,sans-serif;color:#1f2328;background:#ffffff}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
table{border-collapse:collapse}th,td{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}
th{font-weight:600;color:#59636e}
code,pre,td.code{font:13px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}
pre{overflow-x:auto;padding:.75rem;border-radius:6px;background:#f6f8fa;margin:.5rem 0}
figure{margin:.5rem 0;overflow-x:auto}
.soft{color:#59636e}.hit{background:#fff1c9}
.number{color:#59636e;user-select:none}
@media (prefers-color-scheme:dark){
body{color:#e6edf3;background:#0d1117}th,.soft,.number{color:#9198a1}pre{background:#161b22}.hit{background:#45320c}
}
"""


def page(one: Explanation) -> str:
    """The page."""
    title = f"{one.name} on {one.target}"
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head>",
        f'<body>\n<h1>{escape(one.name)}</h1>\n<p class="soft">on {escape(one.target)}, {escape(one.status)}</p>',
    ]
    if one.refusal is not None:
        parts += _refusal(one, one.refusal)
    else:
        parts += [*_arguments(one), *_nests(one), *_derivatives(one), *_source(one), *_said(one)]
    entries = [f"<li>{_xml(entry_text(entry))}</li>" for entry in one.history]
    parts += [
        _section("History"),
        f"<ol>{''.join(entries)}</ol>" if entries else "<p>Nothing has been compiled.</p>",
    ]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def framed(one: Explanation) -> str:
    """The page inside of another one, or the text where the page is very long."""
    made = page(one)
    if len(made) > MOST_CHARACTERS:
        return code(one.text(), "print(f.explain(...))")
    style = "width:100%;height:36em;border:0;resize:vertical"
    return f'<iframe style="{style}" srcdoc="{escape(made)}"></iframe>'


def _section(title: str) -> str:
    return f"<h2>{escape(title)}</h2>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "\n".join(
        "<tr>" + "".join(f'<td class="code">{_xml(c)}</td>' for c in row) + "</tr>" for row in rows
    )
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def _refusal(one: Explanation, refusal: dict[str, Any]) -> list[str]:
    """Why there is no program, and the ways out."""
    title = "Why a call raises an error" if one.status == "refused" else "Why Python runs it"
    ways = "".join([f"<li>{_xml(way)}</li>" for way in refusal["ways_out"]])
    return [
        *_arguments(one),
        _section(title),
        f"<pre>{_xml(refusal['why'])}</pre>",
        *([_section("What to do"), f"<ul>{ways}</ul>"] if ways else []),
    ]


def _arguments(one: Explanation) -> list[str]:
    words = {
        "compiled_in": "compiled in",
        "from_outside": "from outside, read at each call",
        "written": "written by the call",
        "frozen": "frozen: what is computed from it alone is computed once",
    }
    rows = [
        (a["name"], a["type"], ", ".join(text for key, text in words.items() if a[key]))
        for a in one.arguments
    ]
    parts = [_section("Arguments"), _table(("name", "type", ""), rows) if rows else "<p>None.</p>"]
    if one.assumes:
        guards = [(guard["guard"], guard["why"]) for guard in one.assumes]
        parts += [
            _section("Assumptions"),
            '<p class="soft">Checked before each call; a call that does not fit has another program.</p>',
            _table(("guard", "why"), guards),
        ]
    return parts


def _nests(one: Explanation) -> list[str]:
    if not one.nests:
        return [_section("Nests"), "<p>None: nothing is computed element by element.</p>"]
    rows = [(", ".join(n["loops"]), accesses_text(n), n["half"], _at(n)) for n in one.nests]
    heads = ("loops", "accesses in an innermost iteration", "half of a derivative", "Python")
    if not any(n["half"] for n in one.nests):
        heads, rows = (*heads[:2], heads[3]), [(*row[:2], row[3]) for row in rows]
    parts = [_section("Nests"), _table(heads, rows)]
    if sum(len(n["loops"]) for n in one.nests) <= MOST_LOOPS and one.module is not None:
        parts += _figure(lambda: emit_nest_svg(one.module))  # pyright: ignore[reportArgumentType]
    if one.products:
        rows_of = [(p["loop"], p["sizes"]) for p in one.products]
        parts += ["<p>Products, in tiles of our own:</p>", _table(("nest", "sizes"), rows_of)]
    return parts


def _derivatives(one: Explanation) -> list[str]:
    if not one.derivatives or one.program is None:
        return []
    module = one.program.module
    return [
        _section("Derivatives"),
        *_figure(lambda: derivative_svg(module)),
        f"<pre>{_xml(chr(10).join(one.derivative_text))}</pre>",
    ]


def _figure(draw: Any) -> list[str]:
    """A picture, or what cannot be drawn."""
    try:
        return [f"<figure>\n{draw()}</figure>"]
    except NestorError as error:
        return [f'<p class="soft">{_xml(error.diagnostic.message)}</p>']


def _source(one: Explanation) -> list[str]:
    """The lines of Python that nests are of, with what is between them."""
    nests: dict[str, dict[int, list[str]]] = {}
    for nest in one.nests:
        if nest["line"]:
            nests.setdefault(nest["file"], {}).setdefault(nest["line"], []).append(nest["loops"][0])
    parts: list[str] = []
    for file, lines in nests.items():
        first, last = max(min(lines) - 2, 1), max(lines) + 1
        rows: list[str] = []
        for number in range(first, min(last, first + MOST_LINES) + 1):
            text = linecache.getline(file, number).rstrip("\n")
            label = (
                f"   # nest{'s' * (len(lines[number]) > 1)} {', '.join(lines[number])}"
                if number in lines
                else ""
            )
            row = (
                f'<span class="number">{number:5}  </span>{_xml(text)}<span class="soft">{_xml(label)}</span>'
            )
            rows.append(f'<span class="hit">{row}</span>' if number in lines else row)
        if any(linecache.getline(file, number) for number in lines):
            parts += [f"<p><code>{_xml(_name(file))}</code></p>", "<pre>" + "\n".join(rows) + "</pre>"]
    return [_section("Python"), *parts] if parts else []


def _said(one: Explanation) -> list[str]:
    """Remarks, strategies, and calls of Python."""
    texts = {
        **{title.capitalize(): list(map(call_text, calls)) for title, calls in calls_by_kind(one.calls)},
        "Remarks of the schedule of a GPU": one.kernels,
        "Strategies, tried in this order for each nest until one applies": one.strategies or [],
        "Chunks": [] if one.chunks is None else chunk_lines(one.chunks),
        "Autocast": [] if one.precisions is None else precision_lines(one.precisions),
        "Quantised products": [] if one.quantised is None else quantised_lines(one.quantised),
        "Remarks": [remark["text"] for remark in one.remarks],
    }
    parts: list[str] = []
    for title, lines in texts.items():
        if lines:
            parts += [_section(title), f"<pre>{_xml(chr(10).join(lines))}</pre>"]
    return parts


def _at(nest: dict[str, Any]) -> str:
    return f"{_name(nest['file'])}:{nest['line']}" if nest["line"] else ""


def _name(file: str) -> str:
    return cell_of(file) or Path(file).name


def _xml(text: str) -> str:
    return xml_text(text, quote=True)
