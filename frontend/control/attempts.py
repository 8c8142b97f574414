"""Attempts: what may be refused is compiled, and where it is, nothing of it remains and another way is taken.

with attempt(frame):
    unroll(...)              # refused in the third iteration
                             # the operations, writes and variables of the first two are gone
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..frame.frame import Frame, ReturnSignal
from ..interface.errors import Stopped

ENDS = (Stopped, ReturnSignal)
"""What a `raise` or `return` ends statements with: no failure."""


@contextmanager
def attempt(frame: Frame) -> Iterator[None]:
    """What is compiled meanwhile is undone where it fails: operations, what arrays and variables were, what was checked."""
    scope, variables, lost = frame.scope, dict(frame.scope.variables), dict(frame.scope.lost)
    try:
        with frame.graph.attempt(ENDS):
            yield
    except ENDS:
        raise
    except BaseException:
        scope.variables, scope.lost = variables, lost
        raise
