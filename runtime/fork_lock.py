"""A lock for what all threads of a process share: a child that `fork` makes has it anew."""

from __future__ import annotations

import contextlib
import os
from _thread import RLock  # what `threading.RLock` makes: importing that takes a millisecond
from typing import Any


class ForkLock:
    """A re-entrant lock. The thread that holds it during a fork does not exist in the child, and would never release it."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the thread that holds it has forked meanwhile
            self._lock.release()
