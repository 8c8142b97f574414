"""A line on the terminal while a compilation takes long: which function, and which pass or stage is at work.

    compiling simulate: nest-schedule-cpu (4 s)

It is shown after two seconds, on a terminal, where the package `rich` is installed, which is not imported before; it is
gone when the program is there. NESTOR_PROGRESS=0 turns it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

VARIABLE = "NESTOR_PROGRESS"

DELAY = 2.0
"""Seconds before the line is shown."""

REFRESH = 0.2
"""Seconds between two looks at what is done."""

_present: _Line | None = None
"""The line of the compilation that is under way: there is one at a time."""


def at(stage: str) -> None:
    """Note which stage begins."""
    if _present is not None:
        _present.stage = stage


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Show that a function is compiled inside of the `with` block, where that takes long."""
    global _present
    if _present is not None or not _is_wanted():
        yield
        return
    _present = _Line(name)
    try:
        yield
    finally:
        line, _present = _present, None
        line.end()


def _is_wanted() -> bool:
    try:
        return os.environ.get(VARIABLE) != "0" and sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class _Line:
    """Waits in a thread of its own: what compiles does not look at a clock."""

    def __init__(self, name: str):
        self.name = name
        self.stage = "Python to nt"
        self._began = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nestor-progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Take the line away."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        if self._done.wait(DELAY):
            return
        try:
            from rich.console import Console
            from rich.live import Live
            from rich.spinner import Spinner
        except ImportError:
            return
        spinner = Spinner("dots", self._text())
        # Nothing of Python's is changed: Live would replace sys.stdout and sys.stderr.
        live = Live(
            spinner,
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with suppress(Exception), live:  # a terminal that cannot show it is no reason to disturb who compiles
            while not self._done.wait(REFRESH):
                spinner.update(text=self._text())
                live.refresh()

    def _text(self) -> str:
        seconds = time.monotonic() - self._began
        return f"compiling {self.name}: {self.stage} ({seconds:.0f} s)".replace("[", r"\[")
