"""What a call does whose program is refused, or is not there yet: `nt.jit(f, fallback=...)`.

The plain function runs in the place of a program, never after one has begun: whatever it changes is changed once. What it
raises arrives as it is.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from ....dialects.diagnostic import NestorError
from ...interface.errors import DTypeError

MODES = (None, "numpy", "compile-later")

MOST_REFUSED = 4096
"""Maximum number of kinds of calls that are remembered as refused; beyond, all are forgotten and tried again."""


class Unserved(Exception):
    """No program serves a call, and none has begun: the plain function answers it. `refusal` is None while one is made."""

    def __init__(self, refusal: BaseException | None):
        self.refusal = refusal
        super().__init__()


class Fallback:
    """Which kinds of calls have no program, and why; the threads that make programs."""

    def __init__(self, mode: str, name: str, log: Callable[[str, str], None]):
        self.mode = mode
        self.later = mode == "compile-later"
        self._name = name
        self._log = log
        self._refused: dict[Any, tuple[int, BaseException]] = {}
        """How often calls of a kind were refused, and why the last time."""
        self._said: set[str] = set()
        self._making: dict[Any, threading.Thread] = {}
        self.calls = 0
        """How many calls the plain function has answered."""

    def forget(self) -> None:
        """The function is another one."""
        self._refused.clear()
        self._making.clear()

    def is_known(self, key: Any) -> BaseException | None:
        """Why calls of this kind have no program, where that need not be tried again.

        What was refused may depend on values outside: it is tried again at the second call, the fourth, the eighth.
        """
        count, refusal = self._refused.get(key, (0, None))
        if refusal is None:
            return None
        self._refused[key] = count + 1, refusal
        return refusal if (count + 1) & count else None

    def refuse(self, key: Any, refusal: BaseException) -> None:
        """Note that calls of this kind have no program."""
        if len(self._refused) >= MOST_REFUSED:
            self._refused.clear()
        count, _ = self._refused.get(key, (1, None))
        self._refused[key] = count, refusal

    def accept(self, key: Any) -> None:
        """Calls of this kind have a program."""
        self._refused.pop(key, None)

    def make(self, key: Any, work: Callable[[], Any]) -> None:
        """Do `work` in a thread, unless one does it for this kind of calls. What it raises is why there is no program."""
        thread = self._making.get(key)
        if thread is not None and thread.is_alive():  # in a child that fork made, none of its parent's is
            return

        def run() -> None:
            try:
                work()
            except Exception as error:
                self.refuse(key, error)
            else:
                self.accept(key)
            finally:
                self._making.pop(key, None)

        thread = threading.Thread(target=run, name=f"nestor compiles {self._name}")
        self._making[key] = thread
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter ends
            del self._making[key]
            self.refuse(key, error)

    def warn(self, refusal: BaseException | None) -> None:
        """Say why the plain function runs, once for each reason."""
        self.calls += 1
        if refusal is None:
            return
        why = str(refusal) if isinstance(refusal, NestorError) else f"{type(refusal).__name__}: {refusal}"
        if why in self._said:
            return
        self._said.add(why)
        self._log("compile", f"runs in Python: {short_text(refusal)}")
        warnings.warn(
            f"{self._name} is not compiled, and runs in Python: {why}", RuntimeWarning, stacklevel=4
        )


def short_text(refusal: BaseException) -> str:
    """What is refused, and in which line."""
    if not isinstance(refusal, NestorError):
        return f"{type(refusal).__name__}: {refusal}"
    found = refusal.diagnostic
    line = found.location.line if found.location is not None else 0
    return f"{found.message}{f' (line {line})' if line else ''}"


def fallback_mode(fallback: str | None, strict: bool | str, target: str) -> str | None:
    """The option `fallback`, checked. Raises DTypeError."""
    if not (fallback is None or isinstance(fallback, str)) or fallback not in MODES:
        raise DTypeError(f"fallback={fallback!r}", hint='fallback is None, "numpy", or "compile-later"')
    if fallback is not None and strict:
        raise DTypeError(
            f"fallback={fallback!r} with strict={strict!r}: strict makes an error of what Python runs",
            hint="leave one of them out",
        )
    if fallback is not None and target == "cuda":
        raise DTypeError(
            f"fallback={fallback!r} on target 'cuda': NumPy does not take arrays of the device",
            hint="leave it out, and call the plain function for what is refused",
        )
    return fallback
