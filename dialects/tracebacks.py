"""Errors leave Nestor as diagnostics: without the frames of its own, at the place of the call where they name no other.

    @nt.jit
    def f(x, y): ...
    f(x)                    Traceback (most recent call last):
                              File "user.py", line 4, in <module>
                                f(x)
                            nestor...DTypeError: user.py:4:1: error: f() missing a required argument: 'y'
                            f(x)
                            ^

NESTOR_TRACEBACK=full keeps everything. So does an error that nobody raised on purpose, a fault of Nestor: whoever reports it
needs to see where it is.

An `except` block that sets `error.__traceback__` and ends with a bare `raise` adds no line of its own: Python goes on with
the traceback that the exception has then, and with the caller's frame.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

from .diagnostic import CallError, NestorError, SourceLocation, page_of

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOMS = ("analysis", "dialects", "frontend", "lowering", "runtime", "tools", "transforms")
_OWN = tuple([os.path.join(_ROOT, room) + os.sep for room in _ROOMS])
_BETWEEN = (f"{os.sep}xdsl{os.sep}", f"{os.sep}contextlib.py", f"{os.sep}functools.py")
"""What Nestor calls, and is called back by."""

_MADE = ("<nt.", "<the ")
"""What the names of texts that Nestor makes begin with (`frontend/interface/forwarders.py`)."""

_RAISE_FOR_A_PROGRAM = (
    os.path.join(_ROOT, "frontend", "jit", "call", "cpu_kernel.py"),
    os.path.join(_ROOT, "frontend", "jit", "specialise", "stages.py"),
)
"""The files that raise what a `raise` of the user's program makes, whatever its class is."""


def boundary(function: Function) -> Function:
    """A public function: errors leave it as diagnostics."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise
                raise _refused_call(entered, error) from None
        except Exception as error:
            leave(error, sys._getframe(1))
            raise

    return entered  # pyright: ignore


def is_boundary(function: Any) -> bool:
    """Whether a function is what `boundary` made."""
    return isinstance(function, FunctionType) and function.__code__ is _ENTERED


def _refused_call(function: Callable[..., Any], error: TypeError) -> CallError:
    """What Python says of a call that the parameters do not take, with the parameters."""
    import inspect

    parameters = list(inspect.signature(function).parameters.values())
    shown = [one.replace(annotation=one.empty) for one in parameters if one.name != "self"]
    return CallError(str(error), hint=f"it is {function.__name__}{inspect.Signature(shown)}")


_ENTERED = boundary(lambda: None).__code__


def boundaries(kind: Class) -> Class:
    """A public class: errors leave its public methods, those that are defined in it, as diagnostics."""
    for name, value in list(vars(kind).items()):
        is_public = not name.startswith("_") or name in ("__call__", "__init__")
        if is_public and callable(value) and hasattr(value, "__code__"):
            setattr(kind, name, boundary(value))
    return kind


def leave(error: Exception, caller: FrameType) -> None:
    """Make an error ready to leave Nestor to `caller`: right before a bare `raise`."""
    if is_own(caller.f_code.co_filename) or os.environ.get("NESTOR_TRACEBACK") == "full":
        return
    if isinstance(error, NestorError):
        if error.is_fault:
            return
        location = error.diagnostic.location
        if location is None or location.file.startswith(_MADE):
            error.diagnostic.location = place_of(caller)
        error.diagnostic.page = page_of(type(error))
    elif not _is_of_the_program(error):
        return
    error.__traceback__ = _without_own(error.__traceback__)
    _trim_context(error)


def is_own(file: str) -> bool:
    """Whether a file is one of Nestor's modules."""
    return file.startswith(_OWN)


def place_of(frame: FrameType) -> SourceLocation | None:
    """Where in its source a frame is: file, line and column of the call that is under way."""
    file = frame.f_code.co_filename
    is_known = os.path.exists(file) or (file in linecache.cache and file not in _OF_MANY)
    if frame.f_lineno is None or not is_known:
        return None
    spans = list(frame.f_code.co_positions())
    at = frame.f_lasti // 2
    column = spans[at][2] if 0 <= at < len(spans) else None
    return SourceLocation(file, frame.f_lineno, 0 if column is None else column + 1)


_OF_MANY = ("<string>", "<stdin>", "<console>")
"""Names that many texts have."""


def _is_of_the_program(error: Exception) -> bool:
    """Whether the user's code raised an exception, in Python or as a kernel."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file = "" if last is None else last.tb_frame.f_code.co_filename
    return file in _RAISE_FOR_A_PROGRAM or not (is_own(file) or any(part in file for part in _BETWEEN))


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    """A traceback of the frames that are the user's."""
    kept: list[TracebackType] = []
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_own(file) and not file.startswith(_MADE) and not any(part in file for part in _BETWEEN):
            kept.append(trace)
        trace = trace.tb_next
    found: TracebackType | None = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found


def _trim_context(error: BaseException) -> None:
    """Drop what was met on the way to an error inside of Nestor; an exception that the user's code was handling stays."""
    context = error.__context__
    while context is not None and _began_inside(context):
        context = context.__context__
    error.__context__ = context
    cause = error.__cause__
    if cause is None or not _began_inside(cause):
        return
    if isinstance(cause, NestorError):
        error.__cause__ = None
        error.__suppress_context__ = context is None
    else:
        cause.__traceback__ = _without_own(cause.__traceback__)


def _began_inside(error: BaseException) -> bool:
    """Whether an exception was caught by Nestor itself."""
    trace = error.__traceback__
    return trace is None or is_own(trace.tb_frame.f_code.co_filename)
