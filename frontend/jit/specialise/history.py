"""What became of a function: lines for `explain`, and events for Python's `logging` as NESTOR_LOG asks.

    NESTOR_LOG=compile,cache python program.py          nestor.compile: f: compiled for x: float64[9]

Each topic is a logger (`logging.getLogger("nestor.compile")`); without the variable they are silent, as loggers are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ....dialects.diagnostic import NestorError

TOPICS = {
    "compile": "what is compiled, for which arguments, and how long it takes",
    "cache": "what is taken from the disk and kept there, and which programs are forgotten",
    "guards": "why there is another program: values that are compiled in, surroundings that have changed",
    "fusion": "what each kernel computes",
    "schedule": "which strategy each nest is scheduled by (`explain(strategies=True)` says which others were tried)",
}
VARIABLE = "NESTOR_LOG"


def _listen() -> None:
    """Print the topics of the environment variable on the standard error. Raises the diagnostic for others."""
    given = os.environ.get(VARIABLE)
    if not given:
        return
    import logging

    asked = [name for name in given.replace(" ", "").split(",") if name]
    for name in asked:
        if name not in TOPICS and name != "all":
            raise NestorError(
                f"{VARIABLE}: there is no topic '{name}'", hint=f"topics: {', '.join(TOPICS)}, all"
            )
    for name in TOPICS if "all" in asked else asked:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger = logging.getLogger(f"nestor.{name}")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False


_listen()


def is_heard(topic: str) -> bool:
    """Whether somebody listens; nobody does who has not imported `logging`."""
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger(f"nestor.{topic}").isEnabledFor(logging.INFO)


def tell(topic: str, text: str | Callable[[], str]) -> None:
    """An event, for whoever listens."""
    if is_heard(topic):
        sys.modules["logging"].getLogger(f"nestor.{topic}").info(
            "%s", text if isinstance(text, str) else text()
        )


class Entry(NamedTuple):
    """A line of the history of a function."""

    topic: str
    text: str
    times: int
    """How often it happened without anything else in between."""

    def __str__(self) -> str:
        return self.text if self.times == 1 else f"{self.text} ({self.times} times)"


class History:
    """What became of one function."""

    def __init__(self, name: str):
        self._name = name
        self.entries: list[Entry] = []
        """What `explain` shows: what has happened, in order. Events that only loggers hear are not among them."""
        self._is_quiet = False

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Note nothing: what is done again to be looked at has not happened again."""
        before, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = before

    def note(self, topic: str, text: str) -> None:
        """A line of `explain`, and an event."""
        self.keep(topic, text)
        self.tell(topic, text)

    def keep(self, topic: str, text: str) -> None:
        """A line of `explain`; one that is there already is counted."""
        last = self.entries[-1] if self.entries else None
        if self._is_quiet:
            return
        if last is not None and last[:2] == (topic, text):
            self.entries[-1] = last._replace(times=last.times + 1)
        else:
            self.entries.append(Entry(topic, text, 1))

    def tell(self, topic: str, text: str) -> None:
        """An event."""
        if not self._is_quiet:
            tell(topic, f"{self._name}: {text}")
