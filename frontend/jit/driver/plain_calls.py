"""`nt.disable_jit()`: calls run the Python functions as they are, for a debugger, `print` and tracebacks of one's own lines.

Native calls ask nobody: while there are plain calls in some thread, no function has any, and none is made.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import numpy as np

from ...interface.errors import NestorError
from ...interface.forwarders import ATTRIBUTES

_VARIABLE = "NESTOR_DISABLE_JIT"
_NATIVE: WeakSet[Any] = WeakSet()
"""The functions that have native calls."""
_LOCK = threading.Lock()
_plain_blocks = 0
"""How many blocks of `nt.disable_jit()` run now, in all threads."""


def _from_environment() -> bool:
    """Whether NESTOR_DISABLE_JIT asks for plain calls. Raises the diagnostic for other values than 0 and 1."""
    given = os.environ.get(_VARIABLE, "")
    if given not in ("", "0", "1"):
        raise NestorError(
            f"{_VARIABLE} is {given!r}", hint="1: functions run as plain Python; 0: they are compiled"
        )
    return given == "1"


_FOR_ALL = _from_environment()
_disabled: ContextVar[bool] = ContextVar("_disabled", default=_FOR_ALL)


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Run functions of `nt.jit` as plain Python inside of this block, in this thread (in this context, where there are
    several); `disable=False` compiles again inside of it. It is a decorator, too. NESTOR_DISABLE_JIT=1 does the same for a
    process.

    with nt.disable_jit():
        y = f(x)            # breakpoints in f stop, print shows arrays

    Results are those of NumPy: other bits than those of the compiled function where sums are added in another order.
    Derivatives, `nt.vmap` and `nt.checkpoint` are made of compiled functions, and stay so; so do `low.compile()` and what
    `nt.load` gives.
    """
    global _plain_blocks
    token = _disabled.set(disable)
    with _LOCK:
        _plain_blocks += disable
        functions = list(_NATIVE) if disable else []
        _NATIVE.difference_update(functions)
    try:
        for function in functions:
            function._leave_native()
        yield
    finally:
        with _LOCK:
            _plain_blocks -= disable
        _disabled.reset(token)


def is_plain(function: Callable[..., Any]) -> bool:
    """Whether a call of this function runs it as it is now: not what Nestor itself made of others."""
    return _disabled.get() and vars(function).keys().isdisjoint(ATTRIBUTES)


def may_be_native(function: Any) -> bool:
    """Whether native calls of a jitted function may be made now; it is told when they are to go."""
    with _LOCK:
        if _plain_blocks or _disabled.get():
            return False
        _NATIVE.add(function)
        return True


def plain_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], has_out: bool
) -> Any:
    """`function(*args, **kwargs)`; with `out`, where the function has none itself, results are copied into it."""
    if has_out or kwargs.get("out") is None:
        return function(*args, **(kwargs if has_out else {k: v for k, v in kwargs.items() if k != "out"}))
    out = kwargs.pop("out")
    _copy_into(out, function(*args, **kwargs))
    return out


def _copy_into(out: Any, result: Any) -> None:
    if isinstance(out, tuple | list):
        for target, part in zip(out, result, strict=True):
            _copy_into(target, part)
    elif out is not None and result is not None:
        np.copyto(out, result)
