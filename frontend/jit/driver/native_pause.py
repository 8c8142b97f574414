"""Times without native calls: these ask nobody, and `nt.disable_jit()` and `nt.debug_nans()` want calls answered in Python.

While there is such a block in some thread no function has native calls, and none is made.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from ...interface.errors import NestorError

_LOCK = threading.Lock()
_native: WeakSet[Any] = WeakSet()
"""The functions that have native calls."""
_pauses = 0


def may_be_native(function: Any) -> bool:
    """Whether native calls of a jitted function may be made now; it is told to forget them when they are to go."""
    with _LOCK:
        if not _pauses:
            _native.add(function)
        return not _pauses


def pause_for_ever() -> None:
    """For what an environment variable asks for."""
    global _pauses
    with _LOCK:
        _pauses += 1


@contextmanager
def native_pause() -> Iterator[None]:
    """No native calls inside of this block, in any thread."""
    global _pauses
    with _LOCK:
        _pauses += 1
        functions = list(_native)
        _native.clear()
    try:
        for function in functions:
            function._leave_native()
        yield
    finally:
        with _LOCK:
            _pauses -= 1


def asked_for(variable: str, what: str) -> bool:
    """Whether an environment variable asks for calls in Python, which it is read for once.

    Raises the diagnostic for other values than 0 and 1; `what` says what 1 is for."""
    given = os.environ.get(variable, "")
    if given not in ("", "0", "1"):
        raise NestorError(f"{variable} is {given!r}", hint=f"1: {what}; 0: they do not")
    if given == "1":
        pause_for_ever()
    return given == "1"
