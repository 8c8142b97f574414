"""Warnings and remarks: what a pass wants to say without failing ("a copy remains", "not vectorized: ...").

A pass calls `remark(op, "...")` or `warn(op, "...")`; who runs it listens: `with listening(handler):`.
`opt-tool` prints them and `--verify-diagnostics` matches them (`expected-remark`, `expected-warning`).
With nobody listening they go nowhere: a library does not write to its user's terminal.

>>> heard = []
>>> with listening(heard.append):
...     remark(None, "a copy of %x remains")
>>> print(heard[0].render())
remark: a copy of %x remains
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .diagnostic import Diagnostic, op_location

Handler = Callable[[Diagnostic], None]

_handler: ContextVar[Handler | None] = ContextVar("nestor_remark_handler", default=None)


def remark(op: Any, message: str, *, hint: str | None = None, notes: Iterable[tuple[Any, str]] = ()) -> None:
    """Say something about `op` that is worth knowing; `notes` are further `(op, text)` pairs."""
    _emit("remark", op, message, hint, notes)


def warn(op: Any, message: str, *, hint: str | None = None, notes: Iterable[tuple[Any, str]] = ()) -> None:
    """Say something about `op` that its author probably did not want."""
    _emit("warning", op, message, hint, notes)


@contextmanager
def listening(handler: Handler) -> Iterator[None]:
    """Send remarks and warnings to `handler` inside the `with` block."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


@contextmanager
def held() -> Iterator[None]:
    """Keep what is said inside the `with` block until it ends; where it ends in an exception, nothing was said."""
    handler = _handler.get()
    if handler is None:
        yield
        return
    heard: list[Diagnostic] = []
    with listening(heard.append):
        yield
    for said in heard:
        handler(said)


def _emit(severity: str, op: Any, message: str, hint: str | None, notes: Iterable[tuple[Any, str]]) -> None:
    handler = _handler.get()
    if handler is None:
        return
    children = [Diagnostic("note", text, op_location(other)) for other, text in notes]
    handler(Diagnostic(severity, message, op_location(op), children, hint))
