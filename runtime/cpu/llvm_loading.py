"""LLVM's library, loaded by a thread of its own while the compiler is imported.

A first call needs both. `ctypes` lets go of the interpreter's lock while the library (120 MB) is relocated.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from ..fork_lock import ForkLock, QuietLock

_thread: threading.Thread | None = None

_STARTING = ForkLock()
"""Held while the thread is started: it cannot be waited for before."""


def load_llvm_meanwhile() -> None:
    """Have another thread import llvmlite's binding. What needs it imports it as usual, and waits for it there."""
    global _thread
    with _STARTING:
        if _thread is None and "llvmlite.binding" not in sys.modules:
            _thread = threading.Thread(target=_import_llvm, name="nestor-load-llvm", daemon=True)
            _thread.start()


def _import_llvm() -> None:
    with contextlib.suppress(ImportError, OSError):  # who needs it will say so
        import llvmlite.binding  # noqa: F401


def _wait() -> None:
    """A child forked in the middle of it would wait for the lock of the import for ever."""
    with _STARTING:
        thread = _thread
    if thread is not None:
        thread.join(QuietLock.PATIENCE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
