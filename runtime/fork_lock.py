"""Locks for what all threads of a process share: a child that `fork` makes has them anew."""

from __future__ import annotations

import contextlib
import os
from _thread import RLock, get_ident  # what `threading.RLock` makes: importing that takes a millisecond
from typing import Any, ClassVar

from ..dialects.diagnostic import NestorError


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


class QuietLock(ForkLock):
    """A lock that a fork waits for, so that the child finds what it guards at rest.

    In the child of a fork in the middle of it, modules would stay half imported, and their locks and those of LLVM held by
    a thread that does not exist. Where waiting was in vain (for a thread that waits for the one that forks, say), taking
    the lock in the child raises NestorError.
    """

    PATIENCE: ClassVar[float] = 30.0
    """Seconds that a fork waits."""

    def __init__(self) -> None:
        self._forking: dict[int, bool] = {}
        """The threads that fork, and whether they have the lock."""
        self._is_lost = False
        super().__init__()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._wait, after_in_parent=self._go_on)

    def _wait(self) -> None:
        self._forking[get_ident()] = self._lock.acquire(timeout=self.PATIENCE)

    def _go_on(self) -> None:
        if self._forking.pop(get_ident(), False):
            self._lock.release()

    def _renew(self) -> None:
        super()._renew()
        self._is_lost = self._is_lost or not self._forking.pop(get_ident(), True)
        self._forking.clear()

    def __enter__(self) -> None:
        if self._is_lost:
            raise NestorError(
                "another thread was compiling when this process was forked, and did not finish: nothing can be "
                "compiled here",
                hint="compile before the fork, or start new processes: multiprocessing.get_context('spawn')",
            )
        super().__enter__()
