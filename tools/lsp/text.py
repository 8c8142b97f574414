"""The text of a file as an editor sees it: pieces, top-level parts, words. Nothing here knows IR.

All positions are offsets in characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

_SPLIT_MARKER = re.compile(r"^// -----[ \t\r]*$", re.MULTILINE)
_STARTS_PART = re.compile(
    r"(?:func\.func|func|schedule\.sequence|gpu\.module|memref\.global|llvm\.func|llvm\.mlir\.global)\b"
    r"|[#!][\w$.]+\s*=|\{-#"
)
_AT_LINE_START = re.compile(r"^[^\s/}]", re.MULTILINE)
_BRACE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|(?P<brace>[{}])')
_WORD = re.compile(r'[%@^#!](?:[\w$.\-]+|"[^"\n]*")|[A-Za-z_][\w$.]*')
_SYMBOL = re.compile(
    r"""^[ \t]*"?(?P<operation>[a-z_][\w.]*)"?\b[^@\n{("]*@(?P<name>[\w$.\-]+|"[^"\n]*")""", re.MULTILINE
)
_DEFINES_SYMBOL = {
    "func.func", "func", "schedule.sequence", "gpu.module", "gpu.func", "memref.global", "llvm.func",
    "llvm.mlir.global", "builtin.module", "module",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of a file that is parsed by itself, and where it starts."""

    text: str
    start: int


@dataclass(frozen=True)
class Word:
    """`%x`, `@f`, `^bb0`, `#map` or `nest.for`, and where it is."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Symbol:
    """A symbol's definition: its operation, its name, the name's place and the end of what it defines."""

    operation: str
    name: str
    start: int
    name_start: int
    name_end: int
    end: int


class Lines:
    """Offsets as (row, column) and back, rows and columns from 0."""

    def __init__(self, text: str):
        self._starts = [0]
        while (end := text.find("\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)
        self._text = text

    def text_of(self, row: int) -> str:
        """The text of a row, empty where there is no such row."""
        return self._text[self.offset(row, 0) : self.offset(row, len(self._text))]

    def position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._starts, offset) - 1
        return row, offset - self._starts[row]

    def offset(self, row: int, column: int) -> int:
        if row >= len(self._starts):
            return len(self._text)
        end = self._starts[row + 1] - 1 if row + 1 < len(self._starts) else len(self._text)
        return min(self._starts[row] + column, end)


def split_pieces(text: str) -> list[Part]:
    """What is between lines `// -----`: files of their own, as for `--split-input-file`."""
    marks = list(_SPLIT_MARKER.finditer(text))
    starts = [0, *[mark.end() for mark in marks]]
    ends = [*[mark.start() for mark in marks], len(text)]
    return [Part(text[start:end], start) for start, end in zip(starts, ends, strict=True)]


def split_parts(piece: Part) -> list[Part]:
    """The functions, schedules and aliases of a piece; the piece itself where something else is at a line's start."""
    starts: list[int] = []
    for line in _AT_LINE_START.finditer(piece.text):
        if _STARTS_PART.match(piece.text, line.start()) is None:
            return [piece]
        starts.append(line.start())
    if len(starts) < 2:
        return [piece]
    bounds = [0, *starts[1:], len(piece.text)]
    return [Part(piece.text[start:end], piece.start + start) for start, end in pairwise(bounds)]


def is_alias(part: Part) -> bool:
    """Whether it defines `#map` or `!type` for the parts after it."""
    found = _AT_LINE_START.search(part.text)
    return found is not None and found[0] in "#!"


def open_braces(text: str) -> int | None:
    """How many braces are open at the end; None where one is closed that was not open."""
    depth = 0
    for found in _BRACE.finditer(text):
        if found["brace"] is not None:
            depth += 1 if found["brace"] == "{" else -1
            if depth < 0:
                return None
    return depth


def word_at(text: str, offset: int) -> Word | None:
    """The word around `offset`, or right before it."""
    start = text.rfind("\n", 0, offset) + 1
    for found in _WORD.finditer(text, start):
        if found.start() > offset:
            return None
        if found.end() >= offset:
            return Word(found[0], found.start(), found.end())
        if "\n" in text[found.end() : offset]:
            return None
    return None


def symbols(part: Part) -> list[Symbol]:
    """The symbols that are defined in `part`, outer ones first."""
    found = []
    for match in _SYMBOL.finditer(part.text):
        if match["operation"] not in _DEFINES_SYMBOL:
            continue
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        name = match["name"].strip('"')
        place = (part.start + match.start("name") - 1, part.start + match.end("name"))
        found.append(
            Symbol(
                match["operation"],
                name,
                part.start + start,
                *place,
                part.start + _end_of(part.text, match.end()),
            )
        )
    return found


def _end_of(text: str, offset: int) -> int:
    """The end of what is defined at `offset`: of its last brace, or of its line where it has none.

    The braces of a function's attributes are before those of its body: what ends a line with depth 0 is the end.
    """
    depth = 0
    for found in _BRACE.finditer(text, offset):
        if depth == 0 and (line_end := text.find("\n", offset, found.start())) >= 0:
            return line_end
        if found["brace"] is None:
            continue
        depth += 1 if found["brace"] == "{" else -1
        if depth < 0:
            return found.start()
        offset = found.end()
    line_end = text.find("\n", offset)
    return len(text.rstrip()) if depth or line_end < 0 else line_end
