"""Diagnostics: what went wrong, where (source line and caret), why, and what to do.

One class serves every level: the frontend raises it with a Python location, passes raise it with an
operation (whose location may be a Python line or a line of textual IR). This module imports no
xDSL, so that it costs nothing at start-up; operations are only duck-typed (`op.location`).

>>> d = Diagnostic("error", "unknown loop \\"k\\"", SourceLocation("a.mlir", 3, 7), hint="loops here: i, j")
>>> print(d.render(lambda path: "\\n\\n  nest.for"))
a.mlir:3:7: error: unknown loop "k"
  nest.for
      ^
  help: loops here: i, j
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from .cells import cell_of
from .records import record


@record
class SourceLocation:
    """A place in a source text. `line` and `column` count from 1; 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [cell_of(self.file) or self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


class Diagnostic:
    """One message: severity (`error`, `warning`, `note`, `remark`), text, place, notes, and a way out."""

    def __init__(
        self,
        severity: str,
        message: str,
        location: SourceLocation | None = None,
        notes: Iterable[Diagnostic] = (),
        hint: str | None = None,
    ):
        self.severity = severity
        self.page: str | None = None
        self.message = message
        self.location = location
        self.notes = list(notes)
        self.hint = hint

    def __repr__(self) -> str:
        return f"Diagnostic({self.severity!r}, {self.message!r}, {self.location!r}, {self.notes!r}, {self.hint!r})"

    def render(self, read_source: Callable[[str], str | None] | None = None) -> str:
        """The diagnostic as MLIR prints it: `file:line:col: error: ...`, the source line, a caret."""
        where = f"{self.location}: " if self.location else ""
        lines = [f"{where}{self.severity}: {self.message}"]
        lines += _excerpt(self.location, read_source)
        if self.hint:
            lines.append(f"  help: {self.hint}")
        for note in self.notes:
            lines.append(note.render(read_source))
        if self.page:
            lines.append(f"  see: {self.page}")
        return "\n".join(lines)


def _excerpt(location: SourceLocation | None, read_source: Callable[[str], str | None] | None) -> list[str]:
    if location is None or not location.line:
        return []
    text = read_source(location.file) if read_source else None
    if text is not None:
        rows = text.splitlines()
        source = rows[location.line - 1] if location.line <= len(rows) else ""
    else:
        source = linecache.getline(location.file, location.line).rstrip("\n")
    if not source.strip():
        return []
    if not location.column:
        return [source]
    lead = source[: location.column - 1]
    blank = "".join("\t" if c == "\t" else " " for c in lead)
    return [source, blank + "^"]


class NestorError(Exception):
    """Base of every error Nestor reports on purpose. `str(e)` is the rendered diagnostic."""

    is_fault = False
    """Whether Nestor itself is at fault: then its frames stay in the traceback."""

    is_late = False
    """Whether Python would have done something before it, or might not get there."""

    is_misfit = False
    """Whether a call has arguments that the parameters do not take."""

    def __init__(
        self,
        message: str,
        location: SourceLocation | None = None,
        *,
        hint: str | None = None,
        notes: Iterable[Diagnostic] = (),
    ):
        self.diagnostic = Diagnostic("error", message, location, list(notes), hint)
        super().__init__(message)

    def __str__(self) -> str:
        return self.diagnostic.render()


def page_of(kind: type[NestorError]) -> str | None:
    """The section of the documentation on an error: on those whose docstring has an example."""
    from inspect import cleandoc

    has_example = "\n\n    " in cleandoc(kind.__doc__ or "")
    return f"docs/errors.md#{kind.__name__.lower()}" if has_example else None


class CallError(NestorError, TypeError):
    """A function of Nestor called with arguments that it does not take.

        nt.grad()

    The help shows the parameters that there are.
    """


class FileError(NestorError, OSError):
    """A file or folder that cannot be read or written.

        nt.load("not_there.nestor")

    `compiled.save(path)` writes what `nt.load` reads, `s.save(path)` what `compile(schedule=path)` reads; the message says
    what the system answered.
    """


def text_of_file(path: str | PathLike[str], what: str, hint: str) -> str:
    """The text of a file that a user names. Raises FileError where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise FileError(f"cannot read {what} '{path}': {reason}", hint=hint) from None


class PassFailure(NestorError):
    """A pass cannot do what it was asked. Raised with the operation at fault: `fail(op, "...")`.

        @nt.jit
        def f(x):
            return nt.custom_call(np.sort, x, result=nt.spec(x.shape, x.dtype)).sum()

        nt.grad(f)(np.ones(3))

    The message names the operation and its Python line, and what can be done.
    """


class LoweringError(PassFailure):
    """A conversion met an operation or type it has no translation for."""


def op_location(op: Any) -> SourceLocation | None:
    """The source place of an operation or attribute location: the first FileLineCol inside it."""
    loc = getattr(op, "location", op)
    return _location(loc)


def _location(loc: Any) -> SourceLocation | None:
    if isinstance(loc, SourceLocation):
        return loc
    if hasattr(loc, "filename") and hasattr(loc, "column"):
        return SourceLocation(loc.filename.data, loc.line.data, loc.column.data)
    for name in ("locations", "callee", "location"):
        child = getattr(loc, name, None)
        if child is None:
            continue
        members = child if isinstance(child, (list, tuple)) else getattr(child, "data", [child])
        for member in members:
            if (found := _location(member)) is not None:
                return found
    return None


def fail(
    op: Any,
    message: str,
    *,
    hint: str | None = None,
    notes: Iterable[tuple[Any, str]] = (),
    error: type[NestorError] = PassFailure,
) -> NestorError:
    """Build (do not raise) a pass failure at `op`; `notes` are further `(op, text)` pairs.

    Use: `raise fail(loop, "cannot vectorize ...", notes=[(store, "this write ...")])`.
    """
    children = [Diagnostic("note", text, op_location(other)) for other, text in notes]
    return error(message, op_location(op), hint=hint, notes=children)
