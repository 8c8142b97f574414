"""What a notebook shows of texts, pictures, schedules and differences: HTML that needs nothing else.

Pictures are images of their own, so that their styles and those of the notebook do not meet; texts have the notebook's
colours. What is long is shown by its head, and says so; what cannot be shown says why.
"""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ....dialects.diagnostic import NestorError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp


MOST_LINES = 150
"""Lines of a text that are shown."""

MOST_COLUMNS = 300
"""Characters of a line that are shown: constants may be long."""

MOST_LOOPS = 60
"""Maximum number of loops that are drawn."""

_FONT = (
    "font:12px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;text-align:left"
)
_BOX = f"{_FONT};margin:.3em 0;padding:.6em;overflow:auto;max-height:34em;background:rgba(127,127,127,.09);border-radius:5px"
_GONE, _NEW = "background:rgba(220,60,60,.16)", "background:rgba(50,170,80,.18)"

Part = tuple[str, Callable[[], str]]
"""The title of a part, and what makes its HTML."""


def of_schedule(schedule: Any) -> str:
    """The steps of a schedule (`nt.schedule`), and the nests as they are now."""
    function = schedule.recorder.state.functions[0]
    title = f"schedule of <b>{escape(function.sym_name.data)}</b>"
    parts: list[Part] = [
        ("steps", lambda: code(str(schedule), "print(schedule)")),
        ("nests, as the steps leave them", lambda: picture_of(function)),
        ("the same as text", lambda: code(schedule.nest, "print(schedule.nest)")),
    ]
    return shown(title, parts)


def of_difference(before: str, after: str, heads: tuple[str, str]) -> str:
    """Two texts side by side: lines that both have stand in one row."""
    old, new = before.splitlines(), after.splitlines()
    rows = "\n".join(_rows(old[:MOST_LINES], new[:MOST_LINES]))
    head = "".join(f'<th style="text-align:left">{escape(one)}</th>' for one in heads)
    more = _more(max(len(old), len(new)), "")
    style = f"{_BOX};white-space:normal"
    return f'<div style="{style}"><table style="border-collapse:collapse"><tr>{head}</tr>\n{rows}\n</table></div>{more}'


def code(text: str, whole: str) -> str:
    """A text, or its head; `whole` is what a user writes to see all of it."""
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(_line(one) for one in lines[:MOST_LINES])
    return f'<pre style="{_BOX}">{shown}</pre>{_more(len(lines), whole)}'


def picture(svg: str) -> str:
    """A picture, as an image."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<div style="overflow:auto"><img style="max-width:none" src="data:image/svg+xml;base64,{data}"></div>'


def shown(title: str, parts: Sequence[Part]) -> str:
    """A title, and parts that open by a click; the first is open."""
    made = [f"<div><div>{title}</div>"]
    for k, (name, make) in enumerate(parts):
        try:
            inside = make()
        except NestorError as error:
            inside = note(error.diagnostic.message)
        is_open = " open" if k == 0 else ""
        made.append(
            f'<details{is_open}><summary style="cursor:pointer">{escape(name)}</summary>{inside}</details>'
        )
    return "\n".join([*made, "</div>"])


def picture_of(function: FuncOp) -> str:
    """The nests of a function as a picture, where they are not too many."""
    from ....dialects.nest import ForOp
    from ....lowering.pictures.nest_svg import emit_nest_svg

    count = sum(isinstance(op, ForOp) for op in function.walk())
    if count > MOST_LOOPS:
        return note(f"not drawn: there are {count} loops")
    return picture(emit_nest_svg(module_of(function)))


def module_of(function: FuncOp) -> ModuleOp:
    """A module of a copy of a function."""
    from xdsl.dialects.builtin import ModuleOp

    return ModuleOp([function.clone()])


def _rows(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        count = max(b - a, d - c)
        left, right = ("", "") if kind == "equal" else (_GONE, _NEW)
        for k in range(count):
            cells = (_cell(old[a:b], k, left), _cell(new[c:d], k, right))
            yield f"<tr>{''.join(cells)}</tr>"


def _cell(lines: Sequence[str], k: int, style: str) -> str:
    is_there = k < len(lines)
    text = _line(lines[k]) if is_there else ""
    return (
        f'<td style="{_FONT};padding:0 1.5em 0 0;vertical-align:top;{style if is_there else ""}">{text}</td>'
    )


_NOT_HTML = re.compile("[^\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _line(text: str) -> str:
    cut = text if len(text) <= MOST_COLUMNS else f"{text[:MOST_COLUMNS]} ... ({len(text)} characters)"
    return escape(_NOT_HTML.sub("\ufffd", cut))


def _more(count: int, whole: str) -> str:
    if count <= MOST_LINES:
        return ""
    return note(f"the first {MOST_LINES} of {count} lines{f'; all of them: {whole}' if whole else ''}")


def note(text: str) -> str:
    """A remark."""
    return f'<div style="opacity:.7">{_line(text)}</div>'
