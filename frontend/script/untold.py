"""Functions whose text is not known: their calls are traced, where running them once is all the same; else refused.

exec("def f(x): return np.tanh(x) * 2", space)
nt.jit(space["f"])(x)       RuntimeWarning: the text of 'f' is not known: ..., so it is traced
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ...dialects.remarks import warn
from ..frame.frame import Frame
from ..interface.errors import UnsupportedError
from ..interface.source import no_text
from ..interface.traceable import why_not
from ..interface.typed_texts import SHARED
from ..values.values import Value

_SAID: dict[Any, Any] = {}
"""The warnings that were given, as `warnings` notes them."""

MOST_OPERATIONS = 10_000
"""Maximum number of operations of a function that nobody asked to trace: its loops are unrolled."""


def untold(
    frame: Frame, node: ast.expr, function: FunctionType, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """What a call of the function is worth. Raises UnsupportedError where it cannot be traced."""
    from .tracing import Trace

    code = function.__code__
    if code.co_filename not in SHARED:
        raise no_text(function)
    against = why_not(function)
    if against is not None:
        raise no_text(function, f"; and it is not traced, which runs it once: {against}")
    refusal = no_text(function)
    hint = f"{refusal.diagnostic.hint}, or write nt.trace, which says nothing"
    message = f"{refusal.diagnostic.message}, so it is traced: Python runs it once for each kind of arguments"
    warn(None, message, hint=hint)
    warnings.warn_explicit(
        f"{message} ({hint})", RuntimeWarning, code.co_filename, code.co_firstlineno, registry=_SAID
    )
    frame.captured.unkeyed = f"'{function.__name__}', whose text is not known"
    try:
        result = Trace(frame, MOST_OPERATIONS).run(function, list(args), dict(kwargs))
    except UnsupportedError as error:
        error.diagnostic.notes.append(refusal.diagnostic)
        refusal.diagnostic.severity = "note"
        raise
    if not frame.captured.hold():
        stale = next(read for read in frame.captured if not read.holds())
        raise no_text(
            function, f"; and it cannot be traced, for it changed {stale}, as it would in one call only"
        )
    return result
