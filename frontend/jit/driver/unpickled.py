"""Compiled programs as `pickle` has them: what `compiled.save` writes to a file.

A worker that cannot run one has it all the same, and says why when it is called: an exception in the middle of what a worker
is sent takes the worker with it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ....dialects.diagnostic import NestorError
from ...interface.errors import NotPickledError, UnsupportedError
from .lowered import Compiled
from .saved import contents, name_of, opened

NAME = "the pickled program"


def pickled(compiled: Compiled) -> tuple[Any, ...]:
    """What makes a program again in another process. Raises NotPickledError."""
    try:
        compiled._check_outside()
    except UnsupportedError as error:
        name, diagnostic = name_of(compiled._owner), error.diagnostic
        raise NotPickledError(
            f"'{name}' cannot be pickled: {diagnostic.message}", hint=diagnostic.hint
        ) from None
    data = contents(compiled._owner, compiled.program, compiled._kernel, "pickled", NotPickledError)
    return unpickled, (data,)


def unpickled(data: bytes) -> Compiled | Refused:
    """The program that was pickled."""
    try:
        owner, program, kernel = opened(NAME, data)
    except NestorError as error:
        return Refused(unpickled, data, error)
    return Compiled(owner, program, kernel, kernel.engine)


class Refused:
    """A program that was pickled, and cannot run in this process. It can go on to another one."""

    def __init__(self, make: Any, data: Any, error: NestorError):
        self._make = make
        self._data = data
        self._error = error

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error.with_traceback(None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._make, (self._data,)

    def __repr__(self) -> str:
        return f"<a program that cannot run here: {self._error.diagnostic.message}>"
