"""`--print-ir-diff=DIR`: what each pass changed, as HTML pages with the IR before and after side by side.

DIR gets `index.html`, which lists the passes that ran, and a page for each that changed something, `001-cse.html`. Files are
replaced in one step; the index is up to date after every pass, so that it can be read when a pass fails or hangs.
Files of an earlier run that this one does not write again stay, but the index does not name them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import zip_longest

from xdsl.ir import Operation

from ...dialects.diagnostic import NestorError
from .instrumentation import anchor_text
from .pipeline_syntax import Element
from .printing import PrintOptions, print_ir
from .source import write_bytes

_CONTEXT = 4
"""Unchanged lines that are shown around a change."""

_ALIKE = 0.6
"""The share of words from which on a removed and an added line count as one line that changed."""

_MAX_PAIRS = 2500
"""Maximum number of line comparisons in one change; beyond, lines are paired in their order."""

_STYLE = """
:root{--paper:#fff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--gone:#ffebe9;--came:#dafbe1;--gone2:#ffc1ba;--came2:#94e2a8}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;
--gone:#3c1618;--came:#12301d;--gone2:#7d2a2c;--came2:#1f6a36}}
body{background:var(--paper);color:var(--ink);font:15px system-ui,sans-serif;margin:1.5em}
a{color:inherit}.soft,.soft td{color:var(--soft)}
table{border-collapse:collapse}td,th{padding:2px 10px;text-align:left;vertical-align:top}
.diff{width:100%;table-layout:fixed;font:13px ui-monospace,Menlo,Consolas,monospace;border:1px solid var(--line)}
.diff td{white-space:pre-wrap;overflow-wrap:anywhere;padding:0 8px}.diff .n{width:3em;color:var(--soft);text-align:right}
.gone{background:var(--gone)}.came{background:var(--came)}.gone b{background:var(--gone2);font-weight:inherit}
.came b{background:var(--came2);font-weight:inherit}
.skip td{color:var(--soft);text-align:center;border:1px solid var(--line)}
"""


@dataclass(frozen=True)
class _Run:
    """A pass that ran: its page (none where it changed nothing), lines removed and added, and whether it failed."""

    title: str
    page: str | None
    removed: int
    added: int
    failed: bool = False


class IRDiff:
    """Watches passes and writes the pages."""

    def __init__(self, directory: str, printing: PrintOptions):
        """Makes the directory. Raises `NestorError` when that fails."""
        self._directory = directory
        self._printing = printing
        self._before = ""
        self._runs: list[_Run] = []
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise NestorError(f"--print-ir-diff: cannot make directory '{directory}': {reason}") from error
        self._write_index()

    def before_pass(self, element: Element, op: Operation) -> None:
        self._before = print_ir(op, self._printing)

    def after_pass(self, element: Element, op: Operation) -> None:
        before, after = self._before.splitlines(), print_ir(op, self._printing).splitlines()
        title = f"{element}{anchor_text(op)}"
        page, removed, added = None, 0, 0
        self._before = ""  # of an operation that the pass put beside this one
        if before != after:
            page = f"{len(self._runs) + 1:03d}-{re.sub('[^A-Za-z0-9_.-]', '_', element.name)}.html"
            rows, removed, added = _diff(before, after)
            self._write(page, _page(title, f'<p><a href="index.html">all passes</a></p>{rows}'))
        self._runs.append(_Run(title, page, removed, added))
        self._write_index()

    def pass_failed(self, element: Element, op: Operation) -> None:
        self._runs.append(_Run(f"{element}{anchor_text(op)}", None, 0, 0, failed=True))
        self._write_index()

    def _write(self, name: str, text: str) -> None:
        write_bytes(os.path.join(self._directory, name), text.encode("utf-8"))

    def _write_index(self) -> None:
        rows = "".join(map(_index_row, range(1, len(self._runs) + 1), self._runs))
        head = "<tr><th></th><th>pass</th><th>lines</th></tr>"
        body = f"<table>{head}{rows}</table>" if rows else "<p>No pass has run.</p>"
        self._write("index.html", _page("What each pass changed", body))


def _index_row(number: int, run: _Run) -> str:
    title = _text(run.title)
    if run.page is not None:
        lines = f"&minus;{run.removed} +{run.added}"
        return f'<tr><td>{number}</td><td><a href="{run.page}">{title}</a></td><td>{lines}</td></tr>\n'
    word = "failed" if run.failed else "no change"
    return f'<tr class="soft"><td>{number}</td><td>{title}</td><td>{word}</td></tr>\n'


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{_text(title)}</h1>\n{body}\n</body></html>\n"
    )


def _diff(before: list[str], after: list[str]) -> tuple[str, int, int]:
    """The table of a comparison; the numbers of lines removed and added."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    rows: list[str] = []
    removed = added = shown = 0
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        rows += _skipped(group[0][1] - shown)
        shown = group[-1][2]
        for tag, i1, i2, j1, j2 in group:
            if tag != "equal":
                removed, added = removed + i2 - i1, added + j2 - j1
            rows += _rows(tag, (before, i1, i2), (after, j1, j2))
    rows += _skipped(len(before) - shown)
    columns = '<colgroup><col class="n"><col><col class="n"><col></colgroup>'
    table = "\n".join(rows)
    return f'<table class="diff">{columns}\n{table}\n</table>', removed, added


def _skipped(count: int) -> list[str]:
    words = f"{count} line{'s' * (count != 1)} the same"
    return [f'<tr class="skip"><td colspan="4">{words}</td></tr>'] if count else []


def _rows(tag: str, old: tuple[list[str], int, int], new: tuple[list[str], int, int]) -> Iterator[str]:
    """Rows of equal lines, or of removed lines beside the added ones that are like them."""
    (lines, i, i_end), (others, j, j_end) = old, new
    if tag == "equal":
        for k in range(i_end - i):
            text = _text(lines[i + k])
            yield f"<tr>{_cell(text, i + k)}{_cell(text, j + k)}</tr>"
        return
    for left, right in _pairs([_words(x) for x in lines[i:i_end]], [_words(x) for x in others[j:j_end]]):
        line = lines[i + left] if left is not None else None
        other = others[j + right] if right is not None else None
        marked, other_marked = _mark_changes(line, other)
        gone = _cell(marked, i + left, "gone") if left is not None else _NOTHING
        came = _cell(other_marked, j + right, "came") if right is not None else _NOTHING
        yield f"<tr>{gone}{came}</tr>"


_NOTHING = "<td></td><td></td>"


def _pairs(lines: list[list[str]], others: list[list[str]]) -> list[tuple[int | None, int | None]]:
    """Which removed line is beside which added one: in their order, the sum of likenesses being greatest."""
    if len(lines) * len(others) > _MAX_PAIRS:
        return list(zip_longest(range(len(lines)), range(len(others))))
    best = [[0.0] * (len(others) + 1) for _ in range(len(lines) + 1)]
    alike = [[_likeness(line, other) for other in others] for line in lines]
    for i in reversed(range(len(lines))):
        for j in reversed(range(len(others))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + alike[i][j])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(lines) and j < len(others):
        if alike[i][j] and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return [*pairs, *((k, None) for k in range(i, len(lines))), *((None, k) for k in range(j, len(others)))]


def _likeness(line: list[str], other: list[str]) -> float:
    ratio = SequenceMatcher(None, line, other, autojunk=False).ratio()
    return ratio if ratio >= _ALIKE else 0.0


def _cell(marked: str, index: int, style: str = "") -> str:
    text = f'<td class="{style}">{marked}</td>' if style else f"<td>{marked}</td>"
    return f'<td class="n">{index + 1}</td>{text}'


def _mark_changes(left: str | None, right: str | None) -> tuple[str, str]:
    """Both lines as HTML, what differs between them marked; one that stands alone is not."""
    if left is None or right is None:
        return _text(left or ""), _text(right or "")
    words, others = _words(left), _words(right)
    opcodes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return (
        "".join(_piece(tag, words[i1:i2]) for tag, i1, i2, _, _ in opcodes),
        "".join(_piece(tag, others[j1:j2]) for tag, _, _, j1, j2 in opcodes),
    )


def _words(line: str) -> list[str]:
    return re.findall(r"\s+|[\w%.$#@]+|.", line)


def _piece(tag: str, words: list[str]) -> str:
    text = _text("".join(words))
    return text if tag == "equal" or not text else f"<b>{text}</b>"


def _text(text: str) -> str:
    return escape(text, quote=False)
