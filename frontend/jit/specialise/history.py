"""What became of a function: lines for `explain`, and events for Python's `logging` as NESTOR_LOG asks.

    NESTOR_LOG=compile,cache python program.py          nestor.compile: f: compiled for x: float64[9]

Each topic is a logger (`logging.getLogger("nestor.compile")`); without the variable they are silent, as loggers are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

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


class History:
    """What became of one function."""

    def __init__(self, name: str):
        self._name = name
        self.lines: list[str] = []
        """What `explain` shows."""

    def note(self, topic: str, text: str) -> None:
        """A line of `explain`, and an event."""
        self.lines.append(text)
        self.tell(topic, text)

    def tell(self, topic: str, text: str) -> None:
        tell(topic, f"{self._name}: {text}")
