"""`--verify-diagnostics`: the diagnostics of a run against the `expected-...` comments of its input.

    // expected-error @below {{text that the message contains}}
    // expected-note @+2 {{...}}   @above, @below, @-1, @unknown (no place), nothing: the same line
    // expected-error-re @below {{unknown loop {{.*}}}}     the inner braces hold a regular expression

`@above` and `@below` skip lines that hold nothing but such comments. Every diagnostic must be expected and
every expectation met, notes included, as in mlir-opt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...dialects.diagnostic import Diagnostic, SourceLocation
from .source import Chunk

_EXPECTATION = re.compile(
    r"expected-(?P<kind>error|note|remark|warning)(?P<regex>-re)?\s*"
    r"(?P<place>@(?:above|below|unknown|[+-]\d+))?\s*(?P<count>\d+)?\s*\{\{(?P<text>.*?)\}\}(?!\})"
)
_ONLY_EXPECTATION = re.compile(r"\s*//.*expected-(?:error|note|remark|warning)")
_ATTEMPT = re.compile(r"//\s*expected-\w+")


@dataclass
class Expectation:
    """One `expected-...` comment: where it stands, which line it speaks of (0: none), and what it wants."""

    kind: str
    line: int
    comment: SourceLocation
    text: str
    is_regex: bool

    def matches(self, message: str) -> bool:
        if not self.is_regex:
            return self.text in message
        return re.search(_to_regex(self.text), message) is not None


def check_expectations(chunk: Chunk, name: str, diagnostics: list[Diagnostic]) -> Iterator[Diagnostic]:
    """An error for each diagnostic that no comment expects, and for each comment that nothing met."""
    pending, malformed = _expectations(chunk, name)
    yield from malformed
    for kind, place, message, source in _flatten(diagnostics):
        line = place.line if place is not None and place.file == name else 0
        found = next((e for e in pending if e.kind == kind and e.line == line and e.matches(message)), None)
        if found is not None:
            pending.remove(found)
            continue
        yield Diagnostic("error", f"unexpected {kind}: {message}", source.location or place)
    for expectation in pending:
        yield Diagnostic(
            "error", f'expected {expectation.kind} "{expectation.text}" was not produced', expectation.comment
        )


def _flatten(
    diagnostics: list[Diagnostic],
) -> Iterator[tuple[str, SourceLocation | None, str, Diagnostic]]:
    """Diagnostics and their notes; a note without a place speaks of its parent's."""
    for diagnostic in diagnostics:
        yield diagnostic.severity, diagnostic.location, diagnostic.message, diagnostic
        for note in diagnostic.notes:
            yield note.severity, note.location or diagnostic.location, note.message, note


def _expectations(chunk: Chunk, name: str) -> tuple[list[Expectation], list[Diagnostic]]:
    lines = chunk.text.split("\n")
    found: list[Expectation] = []
    malformed: list[Diagnostic] = []
    for row, line in enumerate(lines):
        matches = list(_EXPECTATION.finditer(line))
        if not matches and (attempt := _ATTEMPT.search(line)):
            place = SourceLocation(name, row + chunk.first_line, attempt.start() + 1)
            malformed.append(Diagnostic("error", "malformed expected-... comment", place))
        for match in matches:
            target = _target_row(lines, row, match["place"])
            expectation = Expectation(
                match["kind"],
                0 if target is None else target + chunk.first_line,
                SourceLocation(name, row + chunk.first_line, match.start() + 1),
                match["text"],
                match["regex"] is not None,
            )
            found += [expectation] * int(match["count"] or 1)
    return found, malformed


def _target_row(lines: list[str], row: int, place: str | None) -> int | None:
    if place is None:
        return row
    if place == "@unknown":
        return None
    if place not in ("@above", "@below"):
        return row + int(place[1:])
    step = 1 if place == "@below" else -1
    row += step
    while 0 <= row < len(lines) and _ONLY_EXPECTATION.match(lines[row]):
        row += step
    return row


def _to_regex(text: str) -> str:
    pieces = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(piece if odd % 2 else re.escape(piece) for odd, piece in enumerate(pieces))
