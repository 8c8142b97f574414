"""A program that was pickled, and cannot run in the process that has it now: it says why when it is called.

An exception in the middle of what a worker is sent would take the worker with it, and who sent it would wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ....dialects.diagnostic import NestorError


class Refused:
    """It can go on to another process."""

    def __init__(self, make: Callable[[Any], Any], data: Any, error: NestorError):
        self._make = make
        self._data = data
        self._error = error

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error.with_traceback(None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._make, (self._data,)

    def __repr__(self) -> str:
        return f"<a program that cannot run here: {self._error.diagnostic.message}>"
