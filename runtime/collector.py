"""The garbage collector, paused while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """IR and freshly imported modules are full of cycles and mostly alive: collecting garbage meanwhile frees little
    and costs up to a fifth of the time.

    What was made meanwhile then counts as old, as it would after the collections it was spared: otherwise the first
    allocation after a compilation would walk all of it at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:  # a program that froze objects keeps them frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
