"""Where diagnostics go: standard error, or a list when `--verify-diagnostics` compares them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ...dialects.diagnostic import Diagnostic, NestorError

_MAX_ERRORS = 5
_MAX_WIDTH = 160


class Reporter:
    """Prints diagnostics with the source line they point at; counts the errors."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.error_count = 0

    def emit(self, diagnostic: Diagnostic) -> None:
        self.error_count += diagnostic.severity == "error"
        rendered = diagnostic.render(self.sources.get)
        print("\n".join(clip_lines(rendered.split("\n"))), file=sys.stderr)

    def fail(self, error: NestorError) -> None:
        """Report every diagnostic of an exception."""
        first = error.diagnostic
        others: Sequence[Diagnostic] = getattr(error, "errors", [first])[1:]
        for diagnostic in (first, *others[: _MAX_ERRORS - 1]):
            self.emit(diagnostic)
        self._summarise(others[_MAX_ERRORS - 1 :])

    def _summarise(self, rest: Sequence[Diagnostic]) -> None:
        if rest:
            print(f"... and {len(rest)} more errors", file=sys.stderr)


class CollectingReporter(Reporter):
    """Keeps the diagnostics instead of printing them."""

    def __init__(self) -> None:
        super().__init__()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def fail(self, error: NestorError) -> None:
        self.diagnostics.append(error.diagnostic)
        self.diagnostics += getattr(error, "errors", [error.diagnostic])[1:]


def clip_lines(lines: list[str]) -> list[str]:
    """Lines cut to the width of a screen; a source line is cut around its caret, and so is the caret line."""
    result: list[str] = []
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        is_caret = bool(number) and line.strip() == "^"
        start = 0
        if is_caret:
            start = _window_start(lines[number - 1], line)
        elif following.strip() == "^":
            start = _window_start(line, following)
        result.append(_clip(line, start))
    return result


def _window_start(source: str, caret: str) -> int:
    return max(0, len(caret) - _MAX_WIDTH // 2) if len(source) > _MAX_WIDTH else 0


def _clip(line: str, start: int) -> str:
    if start == 0 and len(line) <= 3 * _MAX_WIDTH:
        return line
    text = line[start : start + _MAX_WIDTH]
    return text + "..." if start + _MAX_WIDTH < len(line) else text
