"""The garbage collector, paused while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

PENDING_OBJECTS = 400_000
"""So many objects of pauses, about 80 MB, before the first look through all that there is."""

_pending, _frozen = 0, False


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
            if not _has_frozen():
                _grow_old()
            gc.enable()


def _has_frozen() -> bool:
    """A program that froze objects keeps them frozen. It is left alone ever after: to count them takes milliseconds."""
    global _frozen
    _frozen = _frozen or gc.get_freeze_count() > 0
    return _frozen


def _grow_old() -> None:
    """Objects that are made old start the counts of Python's collector anew: a program that does little but compile would
    never collect what its compilations left, so they are counted here, against what is alive, as Python does it."""
    global _pending
    _pending += gc.get_count()[0]
    gc.freeze()
    alive = gc.get_freeze_count() if _pending > PENDING_OBJECTS else 0
    gc.unfreeze()
    if _pending > max(PENDING_OBJECTS, alive // 4):
        _pending = 0
        gc.collect()
