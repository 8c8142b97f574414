"""Calls that end with an exception which is known while they are compiled: Python runs the function.

    x[0] = 9.0; xs.append(1.0); return xs[7]      IndexError, after the caller's array and list were changed
    return xs[7] if x[0] > 0 else 0.0             IndexError on one path only

There is no program of these. What Python does before it raises is done so, and it may not get there. An exception that is
known before anything has happened is raised at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ....dialects.diagnostic import NestorError, SourceLocation
from ...interface.carried_texts import file_of
from ...interface.errors import MissingKeyError, UnsupportedError
from ...interface.forwarders import is_text_made
from .fallback import short_text


def is_pythons(error: NestorError, function: Any, target: str) -> bool:
    """Whether Python can say what a call does that cannot be compiled for this exception.

    Not with arrays of a device, and not what a text stands for (`nt.grad(f)`), which Python would compile again.
    """
    return error.is_late and _is_exception(error) and can_run(function) and target != "cuda"


def refusal_of(error: NestorError, function: Any) -> UnsupportedError | None:
    """What to raise of a text (`nt.grad(f)`) for an exception that Python may not get to, and that nothing can run."""
    if not error.is_late or not _is_exception(error) or can_run(function):
        return None
    diagnostic = error.diagnostic
    message = f"what raises an exception on a path, or after a change, has no derivatives or slices: {diagnostic.message}"
    hint = "write `raise` there, or leave the path out"
    return UnsupportedError(message, diagnostic.location, hint=hint, notes=diagnostic.notes)


def _is_exception(error: NestorError) -> bool:
    is_refusal = isinstance(error, UnsupportedError) or "not supported" in error.diagnostic.message
    return isinstance(error, MissingKeyError) or not is_refusal


def can_run(function: Any) -> bool:
    """Whether a function can be called as it is: not where it is what a text stands for."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return not is_text_made(file) or file.startswith("<nt.jit of")


def run_instead(
    error: NestorError, function: Any, args: tuple, kwargs: dict[str, Any], note: Callable[[str, str], None]
) -> Any:
    """What Python makes of the call. Raises `error`, with Python's arguments, where Python raises such an exception at that
    line."""
    try:
        result = function(*args, **kwargs)
    except Exception as raised:
        if not isinstance(error, type(raised)) or not _is_raised_at(raised, error.diagnostic.location):
            raise
        error.args, error.__cause__ = raised.args, raised.__cause__
        error.__suppress_context__ = raised.__suppress_context__
    else:
        return _returned(error, function, result, note)
    raise error  # here it has no context


def _returned(error: NestorError, function: Any, result: Any, note: Callable[[str, str], None]) -> Any:
    """The result of a call that does not raise: there is no program for it all the same."""
    note("compile", f"runs in Python: {short_text(error)}")
    name = getattr(function, "__name__", "the function")
    warnings.warn(f"{name} is not compiled, and runs in Python: {error}", RuntimeWarning, stacklevel=5)
    return result


def _is_raised_at(error: BaseException, place: SourceLocation | None) -> bool:
    """Whether an exception of Python comes from a line."""
    trace = error.__traceback__
    while trace is not None:
        at = file_of(trace.tb_frame.f_code), trace.tb_lineno
        if place is not None and at == (place.file, place.line):
            return True
        trace = trace.tb_next
    return False
