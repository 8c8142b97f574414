"""How an automatic scheduler does its steps, so that a recorder can write them down as schedule IR."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ....dialects.diagnostic import NestorError


class Steps:
    """Does each step and keeps no record; `transforms/schedule/recorder.py` has the one that does."""

    done = 0
    """How many steps were done."""

    def do(self, primitive: Callable[..., Any], *targets: Any, **options: Any) -> Any:
        """Call a primitive: what it refuses, it refuses."""
        result = primitive(*targets, **options)
        self.done += 1
        return result

    def attempt(self, primitive: Callable[..., Any], *targets: Any, **options: Any) -> Any:
        """Call a primitive that may refuse: what it gives, or None and nothing changed.

        Each proves what it does before it does it; to ask `why_not` first would prove it twice.
        """
        try:
            return self.do(primitive, *targets, **options)
        except NestorError:
            return None

    def undone_when_refused(self) -> AbstractContextManager[None]:
        """Forgets the steps that are done meanwhile where one of them is refused: their IR is put back."""
        return nullcontext()


UNRECORDED = Steps()
"""Keeps no record."""
